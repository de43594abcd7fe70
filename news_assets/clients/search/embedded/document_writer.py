"""Writes documents into the search file, one transaction per batch."""

import logging
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from news_assets.clients.search.embedded.document_table import (
    CODE,
    NAMES,
    PATH_SEPARATOR,
)
from news_assets.clients.search.embedded.nearest_vectors import erase, packed_vectors
from news_assets.clients.search.embedded.postings import delete_postings, fold_fresh
from news_assets.clients.search.embedded.search_file import (
    FACTS,
    read_state,
    retried,
    without_surrogates,
    writing,
)
from news_assets.clients.search.embedded.terms import (
    DocumentTerms,
    batch_terms,
    correctable_forms,
    key_of,
)
from news_assets.clients.search.index_texts import is_stored
from news_assets.ports.search_index import COPIED_FACETS, SearchDocument
from news_assets.text.query_tree import labels

_logger = logging.getLogger(__name__)

_MAX_KNOWN_WORDS = 300_000

_IDS_PER_QUERY = 500
_MODEL = "model"  # the kind of code that holds the model's name

# because stems depend on the language
_WordsByLanguage = dict[str | None, set[str]]
_Codes = dict[tuple[str, str], int]  # by kind and value


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A document with what is computed before the write lock; `vector` is packed, None
    if it cannot be stored.
    """

    document: SearchDocument
    terms: DocumentTerms
    vector: bytes | None

    @property
    def dim(self) -> int | None:
        """Dimensions of its vector."""
        vector = self.document.vector
        if vector is None:
            return None
        return len(vector)


@dataclass(slots=True)
class DocumentWriter:
    """Stores documents, and caches the words that the file has, as most words of a
    batch are known.

    `fold_at` is the number of fresh documents that are folded into a part; None is the
    number that suits readers.
    """

    connection: sqlite3.Connection
    fold_at: int | None = None
    _known_words: _WordsByLanguage = field(default_factory=dict)

    def upsert(
        self, documents: Sequence[SearchDocument], dim: int | None = None
    ) -> dict[str, str]:
        """Store the documents whose hash is not stored yet; return {article_id: reason}
        for refused ones.

        A document whose vector is refused is refused as a whole. `dim` is required of
        the first vector of the file.
        """
        latest = {document.article_id: document for document in documents}
        stored = _stored_hashes(self.connection, latest)
        changed = [one for one in latest.values() if not is_stored(one, stored)]
        if not changed:
            return {}
        terms = batch_terms(changed)
        vectors = packed_vectors([one.vector for one in changed])
        prepared = list(map(_Prepared, changed, terms.documents, vectors))
        new_words = self._unknown(terms.words)
        return retried(lambda: self._write(prepared, new_words, dim))

    def _unknown(self, words: Mapping[str | None, set[str]]) -> _WordsByLanguage:
        unknown = {}
        for language, some in words.items():
            known = self._known_words.get(language, set())
            unknown[language] = some - known
        return unknown

    def name_model(self, model: str) -> None:
        """Store the name of the embedding model, unless one is stored."""
        with writing(self.connection):
            if stored_model(self.connection) is None:
                self.connection.execute(
                    "INSERT INTO codes (kind, value) VALUES (?, ?)", (_MODEL, model)
                )

    def fold(self) -> None:
        """Fold the fresh documents into a part if they are too many for readers."""
        with writing(self.connection):
            if fold_fresh(self.connection):
                count_write(self.connection)

    def _write(
        self,
        prepared: Sequence[_Prepared],
        new_words: _WordsByLanguage,
        dim: int | None,
    ) -> dict[str, str]:
        with writing(self.connection):
            ids = [one.document.article_id for one in prepared]
            stored = _stored_hashes(self.connection, ids)
            changed = [one for one in prepared if not is_stored(one.document, stored)]
            dim = read_state(self.connection, "dim") or dim or _first_dim(changed)
            refused = _refusals(prepared, dim)
            taken = [one for one in changed if one.document.article_id not in refused]
            if not taken:
                return refused
            _insert(self.connection, taken, dim, stored)
            _insert_words(self.connection, new_words)
            fold_fresh(self.connection, self.fold_at)
            count_write(self.connection)
        self._remember(new_words)
        return refused

    def _remember(self, words: _WordsByLanguage) -> None:
        count = sum(map(len, self._known_words.values()))
        if count > _MAX_KNOWN_WORDS:
            self._known_words.clear()
        for language, some in words.items():
            known = self._known_words.setdefault(language, set())
            known.update(some)


def stored_model(connection: sqlite3.Connection) -> str | None:
    """Return the name of the embedding model; None if none is stored."""
    row = connection.execute(
        "SELECT value FROM codes WHERE kind = ?", (_MODEL,)
    ).fetchone()
    return None if row is None else str(row[0])


def _first_dim(prepared: Sequence[_Prepared]) -> int | None:
    """Return the dimensions of the first vector that can be stored."""
    for one in prepared:
        if one.vector is not None and _refusal(one, None) is None:
            return one.dim
    return None


def _refusals(prepared: Sequence[_Prepared], dim: int | None) -> dict[str, str]:
    """Return why documents cannot be stored, by id."""
    found = {}
    for one in prepared:
        reason = _refusal(one, dim)
        if reason is not None:
            _logger.debug("%s is not indexed: %s", one.document.article_id, reason)
            found[one.document.article_id] = reason
    return found


def _refusal(one: _Prepared, dim: int | None) -> str | None:
    if not one.document.article_id.strip():
        return "the article_id is empty"
    if one.document.vector is None:
        return None
    if one.vector is None:
        return "the vector is empty, all zeros or holds a value that is not finite"
    if dim is not None and one.dim != dim:
        return f"the vector has {one.dim} dimensions, the index has {dim}"
    return None


def _insert(
    connection: sqlite3.Connection,
    taken: Sequence[_Prepared],
    dim: int | None,
    stored: dict[str, str],
) -> None:
    ids = [one.document.article_id for one in taken]
    remove_documents(connection, [one for one in ids if one in stored])
    codes = _all_codes(connection, taken)
    documents, texts, fresh, vectors = [], [], [], []
    for n, one in enumerate(taken, _last_number(connection) + 1):
        documents.append(_document_row(n, one, codes))
        texts.append(_texts_row(n, one.document))
        fresh.append((n, one.terms.packed))
        if one.vector is not None:
            vectors.append((n, one.vector))
    _insert_rows(connection, "documents", documents)
    _insert_rows(connection, "texts", texts)
    _insert_rows(connection, "fresh", fresh)
    _insert_rows(connection, "vectors", vectors)
    if dim is not None:
        connection.execute("INSERT OR IGNORE INTO state VALUES ('dim', ?)", (dim,))


def _last_number(connection: sqlite3.Connection) -> int:
    """Return the highest number that was ever given to a document."""
    (last,) = connection.execute(
        "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'documents'"
    ).fetchone()
    return int(last)


def _insert_rows(
    connection: sqlite3.Connection, table: str, rows: Sequence[tuple[object, ...]]
) -> None:
    if rows:
        places = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)


def _all_codes(connection: sqlite3.Connection, taken: Sequence[_Prepared]) -> _Codes:
    """Return the codes of all facet values of documents; new ones are stored."""
    coded: set[tuple[str, str]] = set()
    named: set[tuple[str, str]] = set()
    for one in taken:
        named.update(_entities(one.document))
        for kind, value in _values(one.document).items():
            if not value:
                continue
            if kind in NAMES:
                named.add((kind, value))
            else:
                coded.add((kind, value))
    return _codes(connection, "codes", coded) | _codes(connection, "names", named)


def _insert_words(connection: sqlite3.Connection, words: _WordsByLanguage) -> None:
    forms: set[str] = set()
    for language, some in words.items():
        for word in some:
            forms.update(correctable_forms(word, language))
    connection.executemany(
        "INSERT OR IGNORE INTO words VALUES (?)", [(form,) for form in sorted(forms)]
    )


def _document_row(n: int, one: _Prepared, codes: _Codes) -> tuple[object, ...]:
    document = one.document
    return (
        n,
        without_surrogates(document.article_id),
        document.desk,
        document.agency,
        document.day.isoformat(),
        document.document_hash,
        _facts(n, one, codes),
        _packed(document, codes),
    )


def _texts_row(n: int, document: SearchDocument) -> tuple[object, ...]:
    of_hit = (
        document.url,
        document.title,
        document.theme_code,
        document.language,
        document.summary,
    )
    shown = (*of_hit, labels(document), document.text)
    return (n, *(text if text is None else without_surrogates(text) for text in shown))


def _values(document: SearchDocument) -> dict[str, str]:
    """Return the values of the facets that `FACTS` has a column of; an empty one has
    code 0.
    """
    values = {
        "desk": document.desk,
        "agency": document.agency,
        "language": document.language,
        "theme": PATH_SEPARATOR.join(document.theme_path) or document.theme_code,
    }
    for facet in COPIED_FACETS:
        if not facet.is_list:
            values[facet.name] = getattr(document, facet.field)
    return {kind: without_surrogates(value or "") for kind, value in values.items()}


def _entities(document: SearchDocument) -> list[tuple[str, str]]:
    found = []
    for name in dict.fromkeys(document.entities):
        if name:
            found.append(("entity", without_surrogates(name)))
    return found


def _packed(document: SearchDocument, codes: _Codes) -> bytes:
    found = [codes[entity] for entity in _entities(document)]
    return np.array(found, CODE).tobytes()


def _codes(
    connection: sqlite3.Connection, table: str, pairs: set[tuple[str, str]]
) -> _Codes:
    connection.executemany(
        f"INSERT OR IGNORE INTO {table} (kind, value) VALUES (?, ?)", sorted(pairs)
    )
    find = f"SELECT code FROM {table} WHERE kind = ? AND value = ?"
    codes = {}
    for pair in pairs:
        (codes[pair],) = connection.execute(find, pair).fetchone()
    return codes


def _facts(n: int, one: _Prepared, codes: _Codes) -> bytes:
    """Return the facts of a document with this number."""
    document = one.document
    row = np.zeros((), FACTS)
    row["n"] = n
    row["day"] = document.day.toordinal()
    row["published"] = document.published_ts
    row["length"] = one.terms.length
    row["id_key"] = _key("id", document.article_id)
    row["original_key"] = _key("id", document.duplicate_of)
    row["text_key"] = _key("text", document.text_hash)
    for kind, value in _values(document).items():
        row[kind] = codes.get((kind, value), 0)
    return row.tobytes()


def _key(kind: str, value: str | None) -> int:
    if not value:
        return 0
    return key_of(f"{kind} {value}")


def remove_documents(connection: sqlite3.Connection, article_ids: Sequence[str]) -> int:
    """Delete documents within an open transaction; return how many were stored."""
    ns: list[int] = []
    for article_id in article_ids:
        row = connection.execute(
            "DELETE FROM documents WHERE article_id = ? RETURNING n", (article_id,)
        ).fetchone()
        if row is not None:
            ns.append(row[0])
    for table in ("texts", "vectors"):
        connection.executemany(f"DELETE FROM {table} WHERE n = ?", [(n,) for n in ns])
    delete_postings(connection, ns)
    erase(connection, ns)
    connection.executemany("INSERT INTO deleted (n) VALUES (?)", [(n,) for n in ns])
    return len(ns)


def count_write(connection: sqlite3.Connection) -> None:
    """Signal readers of all processes to refresh."""
    connection.execute("UPDATE state SET value = value + 1 WHERE key = 'writes'")


def _stored_hashes(
    connection: sqlite3.Connection, article_ids: Iterable[str]
) -> dict[str, str]:
    """Return {article_id: document_hash} of the stored ones of these documents."""
    ids, found = list(article_ids), dict[str, str]()
    for start in range(0, len(ids), _IDS_PER_QUERY):
        some = ids[start : start + _IDS_PER_QUERY]
        places = ",".join("?" * len(some))
        query = (
            "SELECT article_id, document_hash FROM documents"
            f" WHERE article_id IN ({places})"
        )
        found.update(connection.execute(query, some))
    return found
