"""Documents as the server stores them: fields, stems, which are refused, and lines of
JSON for the import API, for whole documents and for partial updates.
"""

import io
import json
import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import date
from functools import cache, lru_cache
from hashlib import sha256
from typing import Any

import numpy as np

from news_assets.clients.search.stored_documents import (
    MAX_TEXT_WORDS,
    MAX_WORD_CHARS,
    Float64s,
    secondary_text,
    unit_vectors,
)
from news_assets.clients.search.typesense.collection_schema import fields_of
from news_assets.ports.search_index import SearchDocument
from news_assets.text.words import shared_stem, words_of_texts

# and entities; fields of documents and queries
KEYED_FACETS = ("sentiment", "body", "matter", "meeting_status")

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
    # True of nearly all vectors, at a sixth of the cost of what follows.
    if 0.0 < math.hypot(*document.vector) <= _MAX_VECTOR_VALUE:
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
    texts: list[str] = []
    for one in documents:
        texts += (one.title, f"{one.text}\n{secondary_text(one)}")
    stems = stems_of_texts(texts, languages)
    titles_and_texts = (stems[::2], stems[1::2])
    return list(map(_stored_form, documents, *titles_and_texts))


def _stored_form(
    document: SearchDocument, title_stems: str, stems: str
) -> dict[str, Any]:
    given = {name: getattr(document, name) for name in _NAMES}
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
    filled = {name: value for name, value in (given | own).items() if value}
    return required | filled


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
    if not parts[0]:
        return ()
    return tuple("-".join(parts[:count]) for count in range(1, len(parts) + 1))


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


_encoded = json.JSONEncoder(ensure_ascii=False).encode
# changes cosines in the sixth digit, and halves the length of a line
_VECTOR_DIGITS = 6
_ERASABLE = [
    field["name"]
    for field in fields_of(None)
    if field.get("optional") and field["name"] != "vector_hash"
]


def _as_json(stored: Mapping[str, Any]) -> str:
    return clean(_encoded(stored))  # one pass instead of one per field


def clean(text: str) -> str:
    """Return a text in NFC, which queries are in, with `?` for lone surrogates."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))


def sent_vectors(vectors: Sequence[Sequence[float] | None]) -> list[Float64s | None]:
    """Return unit vectors rounded as they are sent; None for None."""
    return [
        None if unit is None else np.round(unit, _VECTOR_DIGITS)
        for unit in unit_vectors(vectors)
    ]


def vector_hash(values: Float64s | None) -> str:
    """Return a short hash of a vector, to detect changes; empty for None."""
    if values is None:
        return ""
    return sha256(values.astype("<f4").tobytes()).hexdigest()[:16]


def whole_lines(
    forms: Sequence[Mapping[str, Any]], rows: Sequence[Float64s | None]
) -> list[str]:
    """Return the lines that create or replace documents, each from its stored fields
    and its vector.
    """
    lines = []
    for form, values in zip(forms, rows, strict=True):
        hashed = {} if values is None else {"vector_hash": vector_hash(values)}
        lines.append(_as_json({**form, **hashed}))
    for position, vector in _vector_lines(rows):
        lines[position] = f"{lines[position][:-1]}, {vector[1:]}"
    return lines


def _vector_lines(rows: Sequence[Float64s | None]) -> Iterator[tuple[int, str]]:
    """Yield each vector's position and `{"vector": ...}`, written by Polars in a sixth
    of the time of `json`.
    """
    import polars as pl

    of_dim: dict[int, list[tuple[int, Float64s]]] = {}
    for position, row in enumerate(rows):
        if row is not None:
            of_dim.setdefault(len(row), []).append((position, row))
    for positioned in of_dim.values():
        file = io.BytesIO()
        matrix = np.stack([row for _, row in positioned])
        pl.DataFrame({"vector": pl.Series(matrix)}).write_ndjson(file)
        lines = file.getvalue().decode().splitlines()
        for (position, _), line in zip(positioned, lines, strict=True):
            yield position, line


def partial_line(stored: Mapping[str, Any]) -> str:
    """Return the line that updates everything but the vector; fields that are empty now
    are erased by null.
    """
    return _as_json({**dict.fromkeys(_ERASABLE), **stored})
