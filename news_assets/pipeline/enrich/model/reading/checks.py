"""The checks of an answer before it is believed: schema, codes, lengths, language, evidence.

Pure functions over one answer and one article, which run in the sandbox: both come from outside.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from news_assets.errors import EnrichError
from news_assets.pipeline.enrich.model.reading.evidence import SearchedText
from news_assets.pipeline.enrich.model.requests import MAX_SENT_CHARS
from news_assets.text.language import language_of
from news_assets.text.words import fold, words

MAX_RAW_CHARS = 60_000
MAX_KEY_POINTS, MAX_KEYWORDS = 5, 8
MIN_SENTENCE_CHARS, MAX_SENTENCE_CHARS = 15, 450
MAX_KEYWORD_CHARS = 60
MAX_SHOWN_CHARS = 60

# A sentence whose words are not the article's is unsupported, whatever it quotes. Words count from four letters on,
# and are the same if their first five letters are: "ampliou" and "ampliação".
MIN_SHARED_WORDS = 0.4
_WORD_CHARS, _SAME_CHARS = 4, 5

_NO_SENTENCE = re.compile(r"https?:|www\.|\w@\w|<[a-z/!]|```|[{}]|\]\(|[\x00-\x08\x0b-\x1f]", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """An answer that passed the checks; its spans are as `Enrichment` has them."""

    theme: str | None
    summary: str
    summary_spans: tuple[str, ...]
    key_points: tuple[str, ...]
    key_point_spans: tuple[str, ...]
    keywords: tuple[str, ...]
    sentiment: str | None
    sentiment_score: float | None
    article_type: str | None


def parsed(raw: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return an answer as an object that has the schema.

    Raises:
        EnrichError: Says what is wrong with it.
    """
    if len(raw) > MAX_RAW_CHARS:
        raise EnrichError(f"the answer has {len(raw):,} characters, more than {MAX_RAW_CHARS:,}")
    try:
        value = json.loads(_unfenced(raw))
    except (ValueError, RecursionError) as error:
        raise EnrichError(f"the answer is not JSON: {shown(raw)}") from error
    if mistake := _mistake(value, schema, "the answer"):
        raise EnrichError(mistake)
    found: dict[str, Any] = value
    return found


def checked(
    raw: str, schema: dict[str, Any], title: str, text: str, language: str | None, max_sentences: int
) -> Checked:
    """Return what an answer to a request of kind `enrich` says about an article.

    Raises:
        EnrichError: Says which check failed.
    """
    answer = parsed(raw, schema)
    sent = text[:MAX_SENT_CHARS]
    summary, key_points = answer["summary"], answer.get("key_points", [])[:MAX_KEY_POINTS]
    if not 1 <= len(summary) <= max_sentences:
        raise EnrichError(f"length: the summary has {len(summary)} sentences, not 1 to {max_sentences}")
    for one in (*summary, *key_points):
        _check_sentence(one["sentence"])
    sentences = [" ".join(one["sentence"].split()) for one in (*summary, *key_points)]
    _check_language(sentences, language)
    spans = _spans((*summary, *key_points), title, sent)
    if "" in spans[: len(summary)]:
        unsupported = sentences[spans.index("")]
        raise EnrichError(f"evidence: nothing in the text supports the summary's “{shown(unsupported)}”")
    label, score = _sentiment(answer.get("sentiment"))
    return Checked(
        theme=answer["theme"],
        summary=" ".join(sentences[: len(summary)]),
        summary_spans=tuple(spans[: len(summary)]),
        key_points=tuple(sentences[len(summary) :]),
        key_point_spans=tuple(spans[len(summary) :]),
        keywords=_keywords(answer.get("keywords", []), f"{title}\n{sent}"),
        sentiment=label,
        sentiment_score=score,
        article_type=answer.get("article_type"),
    )


def shown(text: str) -> str:
    """Return the beginning of an outside text on one line."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 2 * MAX_SHOWN_CHARS]).split())
    return line if len(line) <= MAX_SHOWN_CHARS else f"{line[:MAX_SHOWN_CHARS]}…"


def _unfenced(raw: str) -> str:
    """Return what is between the fences of a block of code, if all of the answer is in one."""
    text = raw.strip()
    is_fenced = len(text) > 6 and text.startswith("```") and text.endswith("```")
    return text[3:-3].removeprefix("json") if is_fenced else raw


def _mistake(value: object, schema: dict[str, Any], place: str) -> str:
    """Return how a value differs from a schema, of the forms that `schema.py` uses; empty if it does not."""
    if choices := schema.get("anyOf"):
        mistakes = [_mistake(value, choice, place) for choice in choices]
        return "" if "" in mistakes else mistakes[0]
    kind = schema["type"]
    if not _is_of(value, kind):
        return f"schema: {place} is no {kind}: {shown(repr(value))}"
    if kind == "object" and isinstance(value, dict):
        return _mistake_in_object(value, schema, place)
    if kind == "array" and isinstance(value, list):
        return next((found for item in value if (found := _mistake(item, schema["items"], place))), "")
    if "enum" in schema and value not in schema["enum"]:
        return f"schema: {place} has a value that was not offered: {shown(str(value))}"
    return ""


def _is_of(value: object, kind: str) -> bool:
    if kind == "number":  # NaN and infinity are JSON for Python only
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9
    types: dict[str, type | None] = {"object": dict, "array": list, "string": str, "null": type(None)}
    return isinstance(value, types[kind] or object)


def _mistake_in_object(value: dict[str, object], schema: dict[str, Any], place: str) -> str:
    properties = schema["properties"]
    if missing := [name for name in properties if name not in value]:
        return f"schema: {place} lacks `{missing[0]}`"
    if unknown := [name for name in value if name not in properties]:
        return f"schema: {place} has the unknown field `{shown(unknown[0])}`"
    found = (_mistake(value[name], properties[name], f"`{name}`") for name in properties)
    return next((mistake for mistake in found if mistake), "")


def _check_sentence(sentence: str) -> None:
    if not MIN_SENTENCE_CHARS <= len(sentence.strip()) <= MAX_SENTENCE_CHARS:
        raise EnrichError(
            f"length: a sentence has {len(sentence.strip())} characters, not {MIN_SENTENCE_CHARS} to "
            f"{MAX_SENTENCE_CHARS}: “{shown(sentence)}”"
        )
    if found := _NO_SENTENCE.search(sentence):
        raise EnrichError(f"a sentence contains {shown(found[0])!r}, which belongs into no sentence: {shown(sentence)}")


def _check_language(sentences: Sequence[str], language: str | None) -> None:
    """Check that the sentences are in the language of the article, where both are long enough to tell."""
    found = language_of(" ".join(sentences), language)
    if language and found and found.partition("-")[0] != language.partition("-")[0]:
        raise EnrichError(f"language: the answer is in {found}, the article in {language}")


def _spans(quoted: Sequence[dict[str, str]], title: str, text: str) -> list[str]:
    """Return for each sentence the span of its quote; empty where nothing supports it."""
    searched = SearchedText(text)
    known = _stems(f"{title}\n{text}")
    spans = []
    for one in quoted:
        stems = _stems(one["sentence"])
        is_about_it = len(stems & known) >= MIN_SHARED_WORDS * len(stems)
        span = searched.find(one["quote"]) if is_about_it else None
        spans.append(str(span) if span else "")
    return spans


def _stems(text: str) -> set[str]:
    return {word[:_SAME_CHARS] for word in words(fold(text).lower()) if len(word) >= _WORD_CHARS or word.isdigit()}


def _keywords(given: Sequence[str], text: str) -> tuple[str, ...]:
    """Return the keywords that the article has, without repetitions."""
    searched = SearchedText(text)
    found: dict[str, str] = {}
    for keyword in given[: 3 * MAX_KEYWORDS]:
        word = " ".join(keyword.split())
        if 0 < len(word) <= MAX_KEYWORD_CHARS and searched.occurrences(word, 1):
            found.setdefault(word.casefold(), word)
    return tuple(found.values())[:MAX_KEYWORDS]


def _sentiment(given: dict[str, Any] | None) -> tuple[str | None, float | None]:
    if given is None:
        return None, None
    label, score = str(given["label"]), float(given["score"])
    if not -1 <= score <= 1:
        raise EnrichError(f"the sentiment's score is {score:g}, not from -1 to 1")
    if (label == "positive" and score < 0) or (label == "negative" and score > 0):
        raise EnrichError(f"the sentiment contradicts itself: {label} with a score of {score:g}")
    return label, score
