"""Prompts, and what is sent for an article, or why it is not sent.

Sent are the instructions with the themes to choose from, the article as data, and the
schema of the answer. An agenda item is summarised as fully as what it decides deserves.

Prompts are versioned Markdown files with a front matter:

    ---
    kind: enrich                    # or entities, theme
    version: "1"
    answers: [theme, summary]       # the fields of the answer (`answer_schema.py` has all)
    sentences: 2                    # most sentences of the summary; optional
    ---
    Instructions. `{themes}` stands for the list of themes to choose from.

The version that results are stored with also has a hash of the file: a changed prompt
has other results.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal, get_args

import yaml

from news_assets.errors import SettingsError
from news_assets.pipeline.enrich.enriched_rows import MadeBy, input_hash, title_and_text
from news_assets.pipeline.enrich.model.answer_schema import (
    FIELDS,
    REQUIRED,
    answer_schema,
    visible,
)
from news_assets.ports.services import ModelRequest
from news_assets.records.articles import RawArticle
from news_assets.records.desks import DepthRules, EnrichRules, ReasoningEffort
from news_assets.records.model_calls import Kind
from news_assets.taxonomy import Taxonomy, Theme
from news_assets.text.words import fold

# --- prompts --------------------------------------------------------------------------

_BUILT_IN = Path(__file__).with_name("prompts")
_FILE = re.compile(r"---\n(.*?\n)---\n(.*)", re.DOTALL)
_PLACEHOLDER = re.compile(r"\{(\w*)\}")
_PLACEHOLDERS = {"theme": {"themes"}, "enrich": {"themes"}, "entities": set[str]()}
_KEYS = {"kind", "version", "answers"}
_SENTENCES, _MOST_SENTENCES = 2, 8


@dataclass(frozen=True, slots=True)
class Prompt:
    """The instructions of one kind of call, and the fields of its answer.

    `version` is part of the cache key.
    """

    kind: Kind
    version: str
    answers: tuple[str, ...]
    body: str
    sentences: int


def load_prompt(kind: Kind, folder: Path | None = None, depth: str = "") -> Prompt:
    """Return the prompt of this kind of a folder, by default the built-in one.

    A prompt of a `depth` (`brief`, `full`) has a file of that name. A folder may lack
    it, and that of kind `theme`: then the built-in one counts.

    Raises:
        SettingsError: The file is missing or wrong; one line that says what and where.
    """
    path = (folder or _BUILT_IN) / f"{depth or kind}.md"
    if (depth or kind == "theme") and not path.exists():
        path = _BUILT_IN / path.name
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{path}: cannot be read ({type(error).__name__}); put a prompt there, in UTF-8"
        ) from error
    prompt, mistake = _parsed(text)
    if prompt is None:
        raise SettingsError(f"{path}: {mistake}")
    if prompt.kind != kind:
        raise SettingsError(
            f"{path}: a prompt of kind {prompt.kind}; write `kind: {kind}`"
        )
    return prompt


def _parsed(text: str) -> tuple[Prompt | None, str]:
    match = _FILE.fullmatch(text)
    if match is None:
        return None, "no front matter; begin with `---`, keys, `---`"
    try:
        front = yaml.safe_load(match[1])
    except yaml.YAMLError as error:
        return None, f"its front matter is not YAML: {' '.join(str(error).split())}"
    if mistake := _mistake(front, match[2]):
        return None, mistake
    version = f"{front['version']}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    sentences = front.get("sentences", _SENTENCES)
    return Prompt(
        front["kind"], version, tuple(front["answers"]), match[2].strip(), sentences
    ), ""


def _mistake(front: object, body: str) -> str:
    if not isinstance(front, dict) or set(front) - {"sentences"} != _KEYS:
        keys = ", ".join(sorted(_KEYS))
        return (
            f"its front matter has the keys {keys}, all of them, and may have sentences"
        )
    kind, answers = front["kind"], front["answers"]
    if kind not in get_args(Kind):
        return f"kind `{kind}` is unknown; there are {', '.join(get_args(Kind))}"
    if not isinstance(front["version"], str):
        return "`version` takes a short text in quotes"
    if not re.fullmatch(r"[\w.-]{1,20}", front["version"]):
        return "`version` takes a short text in quotes"
    if not isinstance(answers, list):
        return "`answers` takes a list of fields"
    if not all(isinstance(name, str) for name in answers):
        return "`answers` takes a list of fields"
    if front.get("sentences", 1) not in range(1, _MOST_SENTENCES + 1):
        return f"`sentences` takes a number from 1 to {_MOST_SENTENCES}"
    return _mistake_of_fields(kind, answers, body)


def _mistake_of_fields(kind: Kind, answers: Sequence[str], body: str) -> str:
    if unknown := [name for name in answers if name not in FIELDS[kind]]:
        known = ", ".join(FIELDS[kind])
        return (
            f"requests the field `{unknown[0]}`, which no answer has; there are {known}"
        )
    if missing := [name for name in REQUIRED[kind] if name not in answers]:
        return f"does not ask for the field `{missing[0]}`, which every answer needs"
    if wrong := [
        name for name in _PLACEHOLDER.findall(body) if name not in _PLACEHOLDERS[kind]
    ]:
        known = (
            ", ".join(f"{{{name}}}" for name in sorted(_PLACEHOLDERS[kind]))
            or "no placeholder"
        )
        return (
            f"has the placeholder `{{{wrong[0]}}}`, for which there is no value; "
            f"it takes {known}"
        )
    if absent := [name for name in _PLACEHOLDERS[kind] if f"{{{name}}}" not in body]:
        return f"lacks the placeholder `{{{absent[0]}}}`"
    return ""


ENRICHER = "model"  # `enricher` of rows that a language model made
MAX_SENT_CHARS = 24_000  # some 6,000 tokens: the whole text of 99 articles in 100
_MAX_TITLE_CHARS = 500
_MIN_SENT_CHARS = 300  # of an article that is cut to a context window
_CHARS_PER_TOKEN_OF_WINDOW = 2.5  # fewer than texts have, so that what is sent fits


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
    return input_hash(*title_and_text(article), made_by)


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
    if _MIN_SENT_CHARS <= room < len(request.text):
        return _cut(request, room)
    return request


def shortened(request: ModelRequest, window_tokens: int | None) -> ModelRequest | None:
    """Return a refused request with less of the article; None if too little is left.

    Half of the article where the window is not known, or would not make it shorter.
    """
    kept = _room(request, window_tokens)
    if not _MIN_SENT_CHARS <= kept < len(request.text):
        kept = len(request.text) // 2
    return _cut(request, kept) if kept >= _MIN_SENT_CHARS else None


def _room(request: ModelRequest, window_tokens: int | None) -> int:
    """Return how many characters of the article fit beside instructions, schema and
    answer.

    0 if it is not known.
    """
    if window_tokens is None:
        return 0
    fixed = request.chars - len(request.text)
    tokens = window_tokens - request.max_tokens
    return max(0, round(tokens * _CHARS_PER_TOKEN_OF_WINDOW) - fixed)


def _cut(request: ModelRequest, kept: int) -> ModelRequest:
    """Return a request with so many characters of text, its last line among them."""
    body, _, last_line = request.text.rpartition("\n")
    beginning = body[: kept - len(last_line) - 1].rstrip()
    return replace(request, text=f"{beginning}\n{last_line}")


def _delimited(article: RawArticle, marker: str) -> str:
    """Return the article between two lines that it cannot contain.

    They hold a part of its own hash.
    """
    title, text = map(visible, title_and_text(article))
    title = " ".join(title.split())[:_MAX_TITLE_CHARS]
    text = text[:MAX_SENT_CHARS]
    return f"<article {marker}>\nTitle: {title}\n\n{text}\n</article {marker}>"


# Some 8,000 tokens: codes and labels have 2.9 characters a token. The list is the same
# for all articles, so providers bill most of it at the price of cached tokens.
MAX_LIST_CHARS = 23_000


def is_descended(taxonomy: Taxonomy) -> bool:
    """Whether the taxonomy is too large for one list, so that a first call chooses the
    branch.
    """
    return not _fits(list(taxonomy.themes.values()))


def upper_themes(taxonomy: Taxonomy) -> list[Theme]:
    """Return the themes of as many levels as fit, parents before their children.

    Level 1 is always among them.
    """
    return _fitting(list(taxonomy.themes.values()))


def themes_below(taxonomy: Taxonomy, chosen: str | None) -> list[Theme]:
    """Return the themes to choose from after the first call chose one.

    They are the branch of its theme of level 1, else its own; the upper themes where it
    chose none.
    """
    if chosen is None:
        return upper_themes(taxonomy)
    path = taxonomy.path(chosen)
    branch = _branch(taxonomy, path[0])
    if _fits(branch):
        return branch
    return _fitting(_branch(taxonomy, chosen))


def list_text(themes: Sequence[Theme]) -> str:
    """Return the list as it is sent.

    It has indented codes and labels, with descriptions where they fit.
    """
    described = _text(themes, has_descriptions=True)
    if len(described) <= MAX_LIST_CHARS:
        return described
    return _text(themes, has_descriptions=False)


def _branch(taxonomy: Taxonomy, code: str) -> list[Theme]:
    found: list[Theme] = []
    for theme in taxonomy.themes.values():
        if code in taxonomy.path(theme.code):
            found.append(theme)
    return found


def _fitting(themes: Sequence[Theme]) -> list[Theme]:
    for deepest in sorted({theme.level for theme in themes}, reverse=True):
        found = [theme for theme in themes if theme.level <= deepest]
        if _fits(found):
            return found
    return [theme for theme in themes if theme.level == 1]


def _fits(themes: Sequence[Theme]) -> bool:
    return len(_text(themes, has_descriptions=False)) <= MAX_LIST_CHARS


def _text(themes: Sequence[Theme], *, has_descriptions: bool) -> str:
    lines: list[str] = []
    for theme in themes:
        line = f"{'  ' * (theme.level - 1)}{theme.code} {theme.label('en')}"
        described: list[str] = []
        for texts in theme.descriptions.values():
            if texts:
                described.append(texts[0])
        if described and has_descriptions:
            line += f": {described[0]}"
        lines.append(line)
    return "\n".join(lines)


# Texts of set form: a summary would say no more than the title.
_PROCEDURAL = (
    "agenda",
    "pauta",
    "ata",
    "edital",
    "retificação",
    "errata",
    "extrato",
    "aviso de licitação",
    "nota de pesar",
    "agenda do ministro",
    "agenda da ministra",
    "press briefing",
    "media advisory",
    "meeting minutes",
    "daily schedule",
)


def reason_not_sent(title: str, text: str, rules: EnrichRules) -> str | None:
    """Return why an article is left to the local enricher; None if it is sent."""
    if len(text.strip()) < rules.min_chars:
        return (
            f"not sent: the text has {len(text.strip())} characters, "
            f"fewer than {rules.min_chars}"
        )
    if found := _any_phrase(rules.skip_titles).search(_plain(title)):
        return (
            f"not sent: the title has “{found[0].strip()}”, which the desk file skips"
        )
    if found := _procedural().match(_plain(title)):
        return f"not sent: a text of set form, as its title begins with “{found[1]}”"
    return None


def _plain(text: str) -> str:
    """Return a text in the form in which `_any_phrase` finds phrases."""
    return fold(text).lower()


@lru_cache(maxsize=64)
def _any_phrase(phrases: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of any of these phrases as whole words, in plain text.

    Of none it matches nothing.
    """
    if not phrases:
        return re.compile("(?!)")
    return re.compile(rf"(?<!\w)(?:{_alternatives(phrases)})(?!\w)")


@lru_cache(maxsize=1)
def _procedural() -> re.Pattern[str]:
    return re.compile(rf"\A\W*+({_alternatives(_PROCEDURAL)})(?: |:|$)")


def _alternatives(phrases: Iterable[str]) -> str:
    return "|".join(re.escape(_plain(phrase)) for phrase in phrases)


Depth = Literal["brief", "usual", "full"]

_MAX_SUM_CHARS: Final = (
    # the sum that an item decides on stands at the beginning; later ones are of other
    # things
    6_000
)
_SUM = re.compile(
    r"\$ ?(\d[\d,]{0,15}(?:\.\d{1,2})?)(?: ?(thousand|million|billion|k|m|b)\b)?",
    re.IGNORECASE,
)
_TIMES: Final = {
    "": 1,
    "k": 1e3,
    "thousand": 1e3,
    "m": 1e6,
    "million": 1e6,
    "b": 1e9,
    "billion": 1e9,
}


def depth_of(item: RawArticle, rules: DepthRules) -> tuple[Depth, str]:
    """Return the depth of the summary of an agenda item, and why."""
    title, text = title_and_text(item)
    matter_type = item.category or ""
    section = item.section or ""
    full = _any_phrase(rules.full)
    brief = _any_phrase(rules.brief)
    looked_for: tuple[tuple[Depth, re.Pattern[str], str, str], ...] = (
        ("full", full, "title", title),
        ("full", full, "type", matter_type),
        ("brief", brief, "title", title),
        ("brief", brief, "type", matter_type),
        ("full", full, "section", section),
    )
    for depth, phrases, place, words in looked_for:
        if found := phrases.search(_plain(words)):
            return depth, f"its {place} has “{found[0]}”"
    largest = max(_sums(text[:_MAX_SUM_CHARS]), default=0)
    if largest >= rules.dollars:
        return "full", f"it names ${largest:,.0f}"
    if len(text) >= rules.chars:
        return "full", f"its text has {len(text):,} characters"
    return "usual", "neither its words, its sums nor its length say otherwise"


def _sums(text: str) -> Iterator[float]:
    """Yield the sums in dollars that a text names in digits."""
    for number, unit in _SUM.findall(text):
        yield float(number.replace(",", "")) * _TIMES[unit.lower()]
