"""What is sent for one article.

The instructions, the article as data, and the schema of the answer.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from news_assets.pipeline.enrich.model.prompt import Prompt
from news_assets.pipeline.enrich.model.schema import answer_schema
from news_assets.pipeline.enrich.model.themes import list_text
from news_assets.pipeline.enrich.rows import MadeBy, input_hash
from news_assets.ports.services import ModelRequest
from news_assets.records.articles import RawArticle
from news_assets.records.desks import ReasoningEffort
from news_assets.taxonomy.taxonomy_files import Taxonomy, Theme

ENRICHER = "model"  # `enricher` of rows that a language model made
MAX_SENT_CHARS = 24_000  # some 6,000 tokens: the whole text of 99 articles in 100
MAX_TITLE_CHARS = 500
_MIN_SENT_CHARS = 300  # of an article that is cut to a context window
_CHARS_PER_TOKEN_OF_WINDOW = 2.5  # fewer than texts have, so that what is sent fits

# Characters without a shape of their own, in which a text can carry what no reader
# sees: controls but for tab and newline, soft hyphens, zero-width and directional
# marks, variation selectors, tags.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True, slots=True)
class AnswerRules:
    """Most tokens of an answer, effort of reasoning and temperature.

    None for the model's default.
    """

    max_tokens: int = 4000
    reasoning: ReasoningEffort | None = None
    temperature: float | None = None


def request_hash(
    article: RawArticle, model: str, prompt: Prompt, taxonomy: Taxonomy
) -> str:
    """Return the `input_hash` of the request for an article.

    Entities do not depend on the taxonomy.
    """
    version = "" if prompt.kind == "entities" else taxonomy.version
    made_by = MadeBy(f"{ENRICHER}/{prompt.kind}", model, prompt.version, version)
    return input_hash(article.title or "", article.text or "", made_by)


def build_request(
    article: RawArticle,
    prompt: Prompt,
    themes: Sequence[Theme],
    input_hash: str,
    rules: AnswerRules,
) -> ModelRequest:
    """Return the request for an article; `themes` are those that its answer may choose
    from.
    """
    return ModelRequest(
        input_hash=input_hash,
        article_id=article.article_id,
        desk=article.desk,
        agency=article.agency,
        day=article.day,
        kind=prompt.kind,
        prompt_version=prompt.version,
        instructions=prompt.body.replace("{themes}", list_text(themes)),
        text=_delimited(article, marker=input_hash[:16]),
        schema=answer_schema(
            prompt.kind, prompt.answers, [theme.code for theme in themes]
        ),
        max_sentences=prompt.sentences,
        max_tokens=rules.max_tokens,
        reasoning=rules.reasoning,
        temperature=rules.temperature,
    )


def fitted(request: ModelRequest, window_tokens: int | None) -> ModelRequest:
    """Return a request whose article is cut so that it fits into a context window.

    It stays as it is where the window is not known, or too small for the instructions:
    then only the provider knows.
    """
    room = _room(request, window_tokens)
    return (
        _cut(request, room) if _MIN_SENT_CHARS <= room < len(request.text) else request
    )


def shortened(request: ModelRequest, window_tokens: int | None) -> ModelRequest | None:
    """Return a refused request with less of the article; None if too little is left.

    Half of the article where the window is not known, or would not make it shorter.
    """
    room = _room(request, window_tokens)
    kept = (
        room if _MIN_SENT_CHARS <= room < len(request.text) else len(request.text) // 2
    )
    return _cut(request, kept) if kept >= _MIN_SENT_CHARS else None


def _room(request: ModelRequest, window_tokens: int | None) -> int:
    """Return how many characters of the article fit beside instructions, schema and
    answer.

    0 if it is not known.
    """
    if window_tokens is None:
        return 0
    fixed = request.chars - len(request.text)
    return max(
        0,
        round((window_tokens - request.max_tokens) * _CHARS_PER_TOKEN_OF_WINDOW)
        - fixed,
    )


def _cut(request: ModelRequest, kept: int) -> ModelRequest:
    """Return a request with so many characters of text, its last line among them."""
    body, _, last_line = request.text.rpartition("\n")
    return replace(
        request, text=f"{body[: kept - len(last_line) - 1].rstrip()}\n{last_line}"
    )


def _delimited(article: RawArticle, marker: str) -> str:
    """Return the article between two lines that it cannot contain.

    They hold a part of its own hash.
    """
    title = " ".join(visible(article.title or "").split())[:MAX_TITLE_CHARS]
    text = visible(article.text or "")[:MAX_SENT_CHARS]
    return f"<article {marker}>\nTitle: {title}\n\n{text}\n</article {marker}>"


def visible(text: str) -> str:
    """Return a text without the characters that no reader sees."""
    return INVISIBLE.sub("", text)
