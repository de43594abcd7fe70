"""Documents as the server stores them: fields, stems, and which documents are refused."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import date
from functools import cache, lru_cache
from typing import Any

import numpy as np

from news_assets.clients.search.documents import (
    MAX_TEXT_WORDS,
    MAX_WORD_CHARS,
    secondary_text,
)
from news_assets.ports.search import SearchDocument
from news_assets.text.words import shared_stem, words_of_texts

KEYED_FACETS = (
    "sentiment",
    "body",
    "matter",
    "meeting_status",
)  # and entities; fields of documents and queries

_CACHED_STEMS = 300_000
_MAX_VECTOR_VALUE = 3.4e38  # the server stores 1e39 as infinity
_NAMES = tuple(
    field.name
    for field in fields(SearchDocument)
    if field.name not in ("article_id", "vector", "trace_id", "day")
)


def reason_refused(document: SearchDocument, dim: int | None) -> str | None:
    """Return why a document cannot be stored; None if it can.

    The server accepts vectors of zeros and values beyond float32, and generates an id
    if there is none.
    """
    if not document.article_id.strip():
        return "the article_id is empty"
    if "`" in document.article_id or "\n" in document.article_id:
        return "the article_id has a backtick or a line break, which filters cannot contain"
    if document.vector is None:
        return None
    if dim is not None and len(document.vector) != dim:
        return f"the vector has {len(document.vector)} dimensions, the index has {dim}"
    if (
        0.0 < math.hypot(*document.vector) <= _MAX_VECTOR_VALUE
    ):  # nearly all, at a sixth of the cost
        return None
    highest = max(max(document.vector, default=0.0), -min(document.vector, default=0.0))
    is_finite = math.isfinite(sum(document.vector))  # NaN and infinity propagate
    if not document.vector or not is_finite or highest > _MAX_VECTOR_VALUE:
        return "the vector is empty or holds a value that is not finite"
    return None if highest else "the vector is all zeros"


def stored_forms(
    documents: Sequence[SearchDocument], languages: tuple[str, ...]
) -> list[dict[str, Any]]:
    """Return the stored fields of each document without its vector. Empty fields are
    left out.
    """
    texts = [
        text
        for one in documents
        for text in (one.title, f"{one.text}\n{secondary_text(one)}")
    ]
    stems = stems_of_texts(texts, languages)
    return [
        _stored_form(one, title_stems, text_stems)
        for one, title_stems, text_stems in zip(
            documents, stems[::2], stems[1::2], strict=True
        )
    ]


def _stored_form(
    document: SearchDocument, title_stems: str, stems: str
) -> dict[str, Any]:
    given = {name: value for name in _NAMES if (value := getattr(document, name))}
    own = {
        "id": document.article_id,
        "day": day_number(document.day),
        "desk_key": exact_key(document.desk),
        "agency_key": exact_key(document.agency),
        "facet_keys": list(_facet_keys(document)),
        "languages": list(language_levels(document.language)),
        "title_stems": title_stems,
        "stems": stems,
    }
    required = {"title": "", "text": "", "published_ts": 0}
    return required | given | {name: value for name, value in own.items() if value}


def _facet_keys(document: SearchDocument) -> Iterator[str]:
    for facet in KEYED_FACETS:
        if value := getattr(document, facet):
            yield facet_key(facet, value)
    for entity in dict.fromkeys(document.entities):
        yield facet_key("entity", entity)


def facet_key(facet: str, value: str) -> str:
    """Return the key of a value in `facet_keys`, which filters match exactly."""
    return exact_key(f"{facet} {value}")


class _StemOf(dict[str, str]):
    """Caches the stem of each word. A dictionary lookup takes a twentieth of the time
    of an `lru_cache` call.
    """

    def __init__(self, languages: tuple[str, ...]) -> None:
        super().__init__()
        self._languages = languages

    def __missing__(self, word: str) -> str:
        if len(self) >= _CACHED_STEMS:
            self.clear()
        self[word] = stem = shared_stem(word[:MAX_WORD_CHARS], self._languages)
        return stem


@cache
def _stem_of(languages: tuple[str, ...]) -> _StemOf:
    return _StemOf(languages)


def stems_of_texts(texts: Sequence[str], languages: tuple[str, ...]) -> list[str]:
    """Return the stems of each text's words, separated by spaces."""
    found = words_of_texts(texts)
    stem_of = np.array(
        [*map(_stem_of(languages).__getitem__, found.distinct), ""], object
    )
    ends = np.cumsum(found.counts)
    starts = ends - found.counts
    ends = np.minimum(ends, starts + MAX_TEXT_WORDS)
    cuts = zip(starts.tolist(), ends.tolist(), strict=True)
    return [" ".join(stem_of[found.codes[start:end]].tolist()) for start, end in cuts]


@lru_cache(maxsize=1_000)
def language_levels(language: str | None) -> tuple[str, ...]:
    """Return a language tag and its prefixes in lower case: `pt-BR` gives `pt` and
    `pt-br`.
    """
    parts = (language or "").lower().split("-")
    return tuple(
        "-".join(parts[:count]) for count in range(1, len(parts) + 1) if parts[0]
    )


@lru_cache(maxsize=10_000)
def exact_key(key: str) -> str:
    """Return a key in hex, which filters match exactly."""
    return key.encode("utf-8", "replace").hex()


def day_number(day: date) -> int:
    """Return a day as it is stored: 20260131."""
    return day.year * 10_000 + day.month * 100 + day.day


def day_of(number: int) -> date:
    """Return the day of a stored number."""
    return date(number // 10_000, number // 100 % 100, number % 100)
