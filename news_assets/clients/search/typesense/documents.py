"""Documents as the server stores them, and their import: fields, stems, lines of JSON,
and the result of each line.

Only documents that differ from the stored ones are sent. Sending a batch again after an
error sends only what is missing, as it is compared by stored hashes.

A partial update cannot erase a vector, and a vector that is replaced in place stays
searchable. So a document whose vector changed is deleted and created again.
"""

import io
import json
import logging
import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date
from functools import cache, lru_cache
from hashlib import sha256
from types import NoneType
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

from news_assets.clients.search.index_texts import (
    MAX_WORD_CHARS,
    Float64s,
    is_stored,
    unit_vectors,
)
from news_assets.clients.search.typesense.server import (
    LINES_PER_IMPORT,
    TypesenseConnection,
)
from news_assets.ports.search_index import COPIED_FACETS, SearchColumn, SearchDocument
from news_assets.text.query_tree import MAX_TEXT_WORDS, field_values, secondary_text
from news_assets.text.words import shared_stem, words_of_texts

_logger = logging.getLogger(__name__)

_CACHED_STEMS = 300_000
_MAX_VECTOR_VALUE = 3.4e38  # the server stores 1e39 as infinity
_NAMES = tuple(
    field.name
    for field in fields(SearchDocument)
    if field.name not in ("article_id", "vector", "trace_id", "day")
)

_TYPES: dict[Any, str] = {
    str: "string",
    int: "int64",
    date: "int32",  # yyyymmdd
    tuple[str, ...]: "string[]",
    tuple[float, ...]: "float[]",
}
_OWN_FIELDS: tuple[dict[str, Any], ...] = (
    {"name": "title_stems", "type": "string", "optional": True},
    {"name": "stems", "type": "string", "optional": True},
    # hex of the key: a filter by the key itself would match ab and AB for a-b
    {"name": "desk_key", "type": "string"},
    {"name": "agency_key", "type": "string"},
    # the same of the values of other facets
    {"name": "facet_keys", "type": "string[]", "optional": True},
    # the same of what `author:`, `publisher:` and `theme:` find
    {"name": "value_keys", "type": "string[]", "optional": True},
    {"name": "languages", "type": "string[]", "optional": True},  # pt-br and pt
    {"name": "vector_hash", "type": "string", "optional": True, "index": False},
)


@cache
def _declared_fields() -> tuple[dict[str, Any], ...]:
    hints = get_type_hints(SearchDocument, include_extras=True)
    declared = []
    for name, hint in hints.items():
        if name in ("article_id", "vector"):
            continue
        if get_origin(hint) is Annotated:
            declared.append(_field(name, *get_args(hint)))
    return tuple(declared)


def _field(name: str, kind: Any, column: SearchColumn) -> dict[str, Any]:
    parts = [part for part in get_args(kind) if part is not NoneType]
    is_nullable = NoneType in get_args(kind)
    field: dict[str, Any] = {
        "name": name,
        "type": _TYPES[parts[0] if is_nullable else kind],
    }
    if column.facet:
        field["facet"] = True
    if column.is_sorted:
        field["sort"] = True
    if column.is_stored_only:
        field["index"] = False
    if is_nullable or column.is_stored_only or field["type"].endswith("[]"):
        field["optional"] = True
    return field


def vector_field(dim: int) -> dict[str, Any]:
    """Return the field of vectors with these dimensions; without `num_dim` it is not
    searchable.
    """
    return {
        "name": "vector",
        "type": "float[]",
        "num_dim": dim,
        "vec_dist": "cosine",
        "optional": True,
    }


def fields_of(dim: int | None) -> list[dict[str, Any]]:
    """Return the fields of a collection, with one for vectors if `dim` is given."""
    fields = [*_declared_fields(), *_OWN_FIELDS]
    if dim:
        fields.append(vector_field(dim))
    return fields


def reason_refused(document: SearchDocument, dim: int | None) -> str | None:
    """Return why a document cannot be stored; None if it can.

    The server accepts vectors of zeros and values beyond float32, and generates an id
    if there is none.
    """
    if not document.article_id.strip():
        return "the article_id is empty"
    if "`" in document.article_id or "\n" in document.article_id:
        return "the article_id has a backtick or a line break, which filters cannot contain"
    vector = document.vector
    if vector is None:
        return None
    if dim is not None and len(vector) != dim:
        return f"the vector has {len(vector)} dimensions, the index has {dim}"
    # True of nearly all vectors, at a sixth of the cost of what follows.
    if 0.0 < math.hypot(*vector) <= _MAX_VECTOR_VALUE:
        return None
    return _reason_without_direction(vector)


def _reason_without_direction(vector: Sequence[float]) -> str | None:
    highest = max(max(vector, default=0.0), -min(vector, default=0.0))
    is_finite = math.isfinite(sum(vector))  # NaN and infinity propagate
    if not vector or not is_finite or highest > _MAX_VECTOR_VALUE:
        return "the vector is empty or holds a value that is not finite"
    if not highest:
        return "the vector is all zeros"
    return None


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
        "facet_keys": list(dict.fromkeys(_facet_keys(document))),
        "value_keys": _value_keys(document),
        "languages": list(language_levels(document.language)),
        "title_stems": title_stems,
        "stems": stems,
    }
    required = {"title": "", "text": "", "published_ts": 0}
    filled = {name: value for name, value in (given | own).items() if value}
    return required | filled


def _facet_keys(document: SearchDocument) -> Iterator[str]:
    for facet in COPIED_FACETS:
        value = getattr(document, facet.field)
        for one in value if facet.is_list else (value,):
            if one:
                yield facet_key(facet.name, one)


def facet_key(facet: str, value: str) -> str:
    """Return the key of a value in `facet_keys`, which filters match exactly."""
    return exact_key(f"{facet} {value}")


def _value_keys(document: SearchDocument) -> list[str]:
    keys: list[str] = []
    for name, values in field_values(document).items():
        keys += [value_key(name, value) for value in sorted(values)]
    return keys


def value_key(name: str, value: str) -> str:
    """Return the key of a value of a field of searches in `value_keys`."""
    return exact_key(f"{name} {value}")


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
    distinct = map(_stem_of(languages).__getitem__, found.distinct)
    stem_of = np.array([*distinct, ""], object)
    ends = np.cumsum(found.counts)
    starts = ends - found.counts
    ends = np.minimum(ends, starts + MAX_TEXT_WORDS)
    stems = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        of_text = stem_of[found.codes[start:end]]
        stems.append(" ".join(of_text.tolist()))
    return stems


@lru_cache(maxsize=1_000)
def language_levels(language: str | None) -> tuple[str, ...]:
    """Return a language tag and its prefixes in lower case: `pt-BR` gives `pt` and
    `pt-br`.
    """
    if not language:
        return ()
    first, *others = language.lower().split("-")
    if not first:
        return ()
    levels = [first]
    for part in others:
        levels.append(f"{levels[-1]}-{part}")
    return tuple(levels)


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
    return in_nfc(_encoded(stored))  # one pass instead of one per field


def in_nfc(text: str) -> str:
    """Return a text in NFC, which queries are in, with `?` for lone surrogates."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))


def sent_vectors(vectors: Sequence[Sequence[float] | None]) -> list[Float64s | None]:
    """Return unit vectors rounded as they are sent; None for None."""
    sent: list[Float64s | None] = []
    for unit in unit_vectors(vectors):
        if unit is None:
            sent.append(None)
        else:
            sent.append(np.round(unit, _VECTOR_DIGITS))
    return sent


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
    of_dim: dict[int, list[tuple[int, Float64s]]] = {}
    for position, row in enumerate(rows):
        if row is not None:
            of_dim.setdefault(len(row), []).append((position, row))
    for positioned in of_dim.values():
        lines = _lines_of_vectors([row for _, row in positioned])
        for (position, _), line in zip(positioned, lines, strict=True):
            yield position, line


def _lines_of_vectors(rows: Sequence[Float64s]) -> list[str]:
    import polars as pl

    file = io.BytesIO()
    vectors = pl.Series(np.stack(rows))
    pl.DataFrame({"vector": vectors}).write_ndjson(file)
    return file.getvalue().decode().splitlines()


def partial_line(stored: Mapping[str, Any]) -> str:
    """Return the line that updates everything but the vector; fields that are empty now
    are erased by null.
    """
    return _as_json({**dict.fromkeys(_ERASABLE), **stored})


# --- import ---------------------------------------------------------------------------


_NOT_FOUND = 404
_STORED_FIELDS = "id,document_hash,vector_hash"

_Lines = list[tuple[str, str]]


@dataclass(slots=True)
class DocumentWriter:
    """Writes to one collection, by its own name."""

    connection: TypesenseConnection
    name: str
    languages: tuple[str, ...]
    dim: int | None

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store the documents that differ from the stored ones; return {article_id:
        reason} for refused ones.
        """
        accepted, refused = accepted_documents(documents, self.dim)
        for batch in batched(accepted, LINES_PER_IMPORT):
            refused |= self._upsert(batch)
        return refused

    def _upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        ids = [one.article_id for one in documents]
        stored = self.connection.documents(self.name, ids, _STORED_FIELDS)
        batch = self._batch_of(documents, stored)
        if batch is None:
            return {}
        self.connection.delete(self.name, batch.deleted)
        refused = self.connection.import_lines(self.name, _whole(batch.whole), "upsert")
        refused |= self._update(batch)
        return reasons_of(refused)

    def _batch_of(
        self,
        documents: Sequence[SearchDocument],
        stored: Mapping[str, Mapping[str, Any]],
    ) -> "_Batch | None":
        """Return what is to be sent of these documents; None if all are stored."""
        hashes = {}
        for article_id, one in stored.items():
            hashes[article_id] = str(one.get("document_hash") or "")
        changed = [one for one in documents if not is_stored(one, hashes)]
        if not changed:
            return None
        batch = _Batch()
        forms = stored_forms(changed, self.languages)
        rows = sent_vectors([one.vector for one in changed])
        for document, form, values in zip(changed, forms, rows, strict=True):
            prepared = _Prepared(document.article_id, form, values)
            batch.add(prepared, stored.get(document.article_id))
        return batch

    def _update(self, batch: "_Batch") -> dict[str, tuple[int, str]]:
        """Send the partial updates; documents that another process deleted meanwhile
        are sent whole.
        """
        lines = [(one.article_id, partial_line(one.form)) for one in batch.partial]
        refused = self.connection.import_lines(self.name, lines, "update")
        missing = []
        for one in batch.partial:
            code, _ = refused.get(one.article_id, (0, ""))
            if code == _NOT_FOUND:
                missing.append(one)
                del refused[one.article_id]
        whole = _whole(missing)
        return refused | self.connection.import_lines(self.name, whole, "upsert")


def batched(
    documents: Sequence[SearchDocument], size: int
) -> Iterator[Sequence[SearchDocument]]:
    """Yield the documents in groups of this size; the last one may be smaller."""
    for start in range(0, len(documents), size):
        yield documents[start : start + size]


def reasons_of(refused: Mapping[str, tuple[int, str]]) -> dict[str, str]:
    """Return the reasons of refusals, which are pairs of a code and a reason."""
    return {article_id: reason for article_id, (_, reason) in refused.items()}


def accepted_documents(
    documents: Sequence[SearchDocument], dim: int | None
) -> tuple[list[SearchDocument], dict[str, str]]:
    """Return the documents that can be stored, the last one of each id, and the refusal
    reasons of the others.
    """
    accepted: list[SearchDocument] = []
    refused: dict[str, str] = {}
    for document in {one.article_id: one for one in documents}.values():
        reason = reason_refused(document, dim)
        if reason is None:
            accepted.append(document)
        else:
            _logger.debug("%s is not indexed: %s", document.article_id, reason)
            refused[document.article_id] = reason
    return accepted, refused


def first_dim(documents: Iterable[SearchDocument]) -> int | None:
    """Return the dimensions of the first vector that can be stored; None if there is
    none.
    """
    for one in documents:
        if one.vector and reason_refused(one, None) is None:
            return len(one.vector)
    return None


class _Prepared(NamedTuple):
    """The stored fields of a document, and its vector as it is sent."""

    article_id: str
    form: dict[str, Any]
    values: Float64s | None


@dataclass(slots=True)
class _Batch:
    """One batch: ids to delete first, whole documents, and partial updates of documents
    whose vector is unchanged.
    """

    deleted: list[str] = field(default_factory=list)
    whole: list[_Prepared] = field(default_factory=list)
    partial: list[_Prepared] = field(default_factory=list)

    def add(self, one: _Prepared, stored: Mapping[str, Any] | None) -> None:
        if stored is None:
            self.whole.append(one)
            return
        stored_hash = str(stored.get("vector_hash") or "")
        if stored_hash == vector_hash(one.values):
            self.partial.append(one)
            return
        if stored_hash:
            self.deleted.append(one.article_id)
        self.whole.append(one)


def _whole(documents: Sequence[_Prepared]) -> _Lines:
    lines = whole_lines(
        [one.form for one in documents], [one.values for one in documents]
    )
    return [(one.article_id, line) for one, line in zip(documents, lines, strict=True)]
