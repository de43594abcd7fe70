"""What is sent for one article: the instructions, the article as data, and the schema of the answer."""

import hashlib
import json
import re
from collections.abc import Sequence

from news_assets.pipeline.enrich.model.prompt import Prompt
from news_assets.pipeline.enrich.model.schema import answer_schema
from news_assets.ports.enrichment import ModelRequest
from news_assets.records.articles import RawArticle
from news_assets.taxonomy.loader import Taxonomy, Theme

ENRICHER = "model"  # `enricher` of rows that a language model made
MAX_SENT_CHARS = 24_000  # some 6,000 tokens: the whole text of 99 articles in 100
MAX_TITLE_CHARS = 500

# Characters without a shape of their own, in which a text can carry what no reader sees: controls but for tab and
# newline, soft hyphens, zero-width and directional marks, variation selectors, tags.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def input_hash(title: str, text: str, model: str, prompt: Prompt, taxonomy_version: str) -> str:
    """Return the SHA-256 of everything an answer depends on: the key of its cache entry."""
    parts = (title, text, f"{ENRICHER}/{prompt.kind}", model, prompt.version, taxonomy_version)
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()


def request_hash(article: RawArticle, model: str, prompt: Prompt, taxonomy: Taxonomy) -> str:
    """Return the `input_hash` of the request for an article. Entities do not depend on the taxonomy."""
    version = taxonomy.version if prompt.kind == "enrich" else ""
    return input_hash(article.title or "", article.text or "", model, prompt, version)


def build_request(article: RawArticle, prompt: Prompt, candidates: Sequence[Theme], input_hash: str) -> ModelRequest:
    """Return the request for an article; `candidates` are the themes that its answer may choose from."""
    themes = "\n".join(f"{'  ' * (theme.level - 1)}{theme.code} {_described(theme)}" for theme in candidates)
    return ModelRequest(
        input_hash=input_hash,
        article_id=article.article_id,
        desk=article.desk,
        agency=article.agency,
        day=article.day,
        kind=prompt.kind,
        instructions=prompt.body.replace("{themes}", themes),
        text=_delimited(article, marker=input_hash[:16]),
        schema=answer_schema(prompt.kind, prompt.answers, [theme.code for theme in candidates]),
        max_sentences=prompt.sentences,
    )


def _described(theme: Theme) -> str:
    description = next((texts[0] for texts in theme.descriptions.values() if texts), "")
    return f"{theme.label('en')}: {description}" if description else theme.label("en")


def _delimited(article: RawArticle, marker: str) -> str:
    """Return the article between two lines that it cannot contain: they hold a part of its own hash."""
    title = " ".join(visible(article.title or "").split())[:MAX_TITLE_CHARS]
    text = visible(article.text or "")[:MAX_SENT_CHARS]
    return f"<article {marker}>\nTitle: {title}\n\n{text}\n</article {marker}>"


def visible(text: str) -> str:
    """Return a text without the characters that no reader sees."""
    return INVISIBLE.sub("", text)
