"""Writing documents into the search file, in one transaction a batch.

`SearchDocument`s enter; rows and the reasons of refusals leave. Reading does not belong here.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from news_assets.clients.search_parts import delete_postings, fold_fresh
from news_assets.clients.search_schema import FACTS, read_state, retried, writing
from news_assets.clients.search_table import PATH_SEPARATOR, month_number
from news_assets.clients.search_terms import DocumentTerms, correctable_forms, document_terms, key_of
from news_assets.clients.search_vectors import packed_vector, unit_vector
from news_assets.ports import SearchDocument

MAX_KNOWN_WORDS = 300_000

_IDS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A document with everything computed that needs no lock."""

    document: SearchDocument
    terms: DocumentTerms
    vector: tuple[float, ...] | None


@dataclass(slots=True)
class DocumentWriter:
    """Stores documents, and remembers which words of theirs the file has: most words of a batch are old ones."""

    connection: sqlite3.Connection
    _known_words: dict[str | None, set[str]] = field(default_factory=dict)  # by language, which their stems depend on

    def upsert(self, documents: Sequence[SearchDocument], dim: int | None) -> dict[str, str]:
        """Store the documents whose hash is not stored yet; return {article_id: reason} of those that cannot be.

        `dim` is the vector length that is asked for where the file has none yet. A document with a refused vector is
        refused as a whole: what an index says it has, it has. An empty hash is never the same.
        """
        latest = {document.article_id: document for document in documents}
        stored = stored_hashes(self.connection, latest)
        changed = [document for document in latest.values() if not _is_stored(document, stored)]
        prepared = [_Prepared(document, document_terms(document), _vector(document)) for document in changed]
        return retried(lambda: self._write(prepared, dim)) if prepared else {}

    def _write(self, prepared: Sequence[_Prepared], dim: int | None) -> dict[str, str]:
        refused: dict[str, str] = {}
        new_words = {(word, one.document.language) for one in prepared for word in self._unknown(one)}
        with writing(self.connection):
            stored = stored_hashes(self.connection, [one.document.article_id for one in prepared])
            dim = read_state(self.connection, "dim") or dim
            taken = []
            for one in prepared:
                reason = _refusal(one, dim)
                if reason is not None:
                    refused[one.document.article_id] = reason
                elif not _is_stored(one.document, stored):
                    taken.append(one)
                    dim = dim or (len(one.vector) if one.vector else None)
            if taken:
                _insert(self.connection, taken, dim, stored)
                _insert_words(self.connection, new_words)
        self._remember(new_words if taken else ())
        return refused

    def _unknown(self, one: _Prepared) -> frozenset[str]:
        return one.terms.words.difference(self._known_words.get(one.document.language, ()))

    def _remember(self, words: Iterable[tuple[str, str | None]]) -> None:
        if sum(map(len, self._known_words.values())) > MAX_KNOWN_WORDS:
            self._known_words.clear()
        for word, language in words:
            self._known_words.setdefault(language, set()).add(word)


def _is_stored(document: SearchDocument, stored: dict[str, str]) -> bool:
    return bool(document.document_hash) and stored.get(document.article_id) == document.document_hash


def _vector(document: SearchDocument) -> tuple[float, ...] | None:
    return None if document.vector is None else unit_vector(document.vector)


def _refusal(one: _Prepared, dim: int | None) -> str | None:
    document = one.document
    if not document.article_id.strip():
        return "the document has no id"
    if document.vector is None:
        return None
    if one.vector is None:
        return "the vector is empty, all zeros or holds a value that is not finite"
    if dim is not None and len(one.vector) != dim:
        return (
            f"the vector has {len(one.vector)} dimensions, the index {dim}: another embedding model needs a new index"
        )
    return None


def _insert(
    connection: sqlite3.Connection, taken: Sequence[_Prepared], dim: int | None, stored: dict[str, str]
) -> None:
    remove_documents(connection, [one.document.article_id for one in taken if one.document.article_id in stored])
    codes = _codes(connection, {pair for one in taken for pair in _coded(one.document)})
    for one in taken:
        _insert_one(connection, one, codes)
    if dim is not None:
        connection.execute("INSERT OR IGNORE INTO state VALUES ('dim', ?)", (dim,))
    fold_fresh(connection)
    count_write(connection)


def _insert_words(connection: sqlite3.Connection, words: Iterable[tuple[str, str | None]]) -> None:
    forms = {form for word, language in words for form in correctable_forms(word, language)}
    connection.executemany("INSERT OR IGNORE INTO words VALUES (?)", ((form,) for form in sorted(forms)))


def _insert_one(connection: sqlite3.Connection, one: _Prepared, codes: dict[tuple[str, str], int]) -> None:
    document = one.document
    n = connection.execute(
        "INSERT INTO documents (article_id, desk, agency, day, document_hash, facts) VALUES (?, ?, ?, ?, ?, ?)",
        (
            _clean(document.article_id),
            document.desk,
            document.agency,
            document.day.isoformat(),
            document.document_hash,
            b"",
        ),
    ).lastrowid
    assert n is not None
    connection.execute("UPDATE documents SET facts = ? WHERE n = ?", (_facts(one, n, codes), n))
    shown = (document.url, document.title, document.theme_code, document.language, document.summary, document.text)
    connection.execute("INSERT INTO texts VALUES (?, ?, ?, ?, ?, ?, ?)", (n, *map(_clean, shown)))
    connection.execute("INSERT INTO fresh VALUES (?, ?)", (n, one.terms.packed))
    if one.vector is not None:
        connection.execute("INSERT INTO vectors VALUES (?, ?)", (n, packed_vector(one.vector)))


def _clean(text: str | None) -> str | None:
    """Return the text without what SQLite does not take: lone surrogates."""
    return text if text is None or text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _coded(document: SearchDocument) -> tuple[tuple[str, str], ...]:
    return (
        ("desk", document.desk),
        ("agency", document.agency),
        ("language", document.language or ""),
        ("theme", PATH_SEPARATOR.join(document.theme_path or filter(None, [document.theme_code]))),
    )


def _codes(connection: sqlite3.Connection, pairs: set[tuple[str, str]]) -> dict[tuple[str, str], int]:
    connection.executemany("INSERT OR IGNORE INTO codes (kind, value) VALUES (?, ?)", sorted(pairs))
    find = "SELECT code FROM codes WHERE kind = ? AND value = ?"
    return {pair: connection.execute(find, pair).fetchone()[0] for pair in pairs}


def _facts(one: _Prepared, n: int, codes: dict[tuple[str, str], int]) -> bytes:
    document = one.document
    facts = np.zeros(1, FACTS)
    facts["n"] = n
    facts["day"] = document.day.toordinal()
    facts["month"] = month_number(document.day)
    facts["published"] = document.published_ts
    facts["length"] = one.terms.length
    facts["id_key"] = key_of(f"id {document.article_id}")
    facts["original_key"] = key_of(f"id {document.duplicate_of}") if document.duplicate_of else 0
    facts["text_key"] = key_of(f"text {document.text_hash}") if document.text_hash else 0
    for pair in _coded(document):
        facts[pair[0]] = codes[pair]
    return facts.tobytes()


def remove_documents(connection: sqlite3.Connection, article_ids: Sequence[str]) -> int:
    """Delete documents within a transaction that is open; return how many there were."""
    ns: list[int] = []
    for article_id in article_ids:
        row = connection.execute("DELETE FROM documents WHERE article_id = ? RETURNING n", (article_id,)).fetchone()
        if row is not None:
            ns.append(row[0])
    for table in ("texts", "vectors"):
        connection.executemany(f"DELETE FROM {table} WHERE n = ?", [(n,) for n in ns])
    delete_postings(connection, ns)
    connection.executemany("INSERT INTO deleted (n) VALUES (?)", [(n,) for n in ns])
    return len(ns)


def count_write(connection: sqlite3.Connection) -> None:
    """Tell every reader, of this process and of others, that there is something new."""
    connection.execute("UPDATE state SET value = value + 1 WHERE key = 'writes'")


def stored_hashes(connection: sqlite3.Connection, article_ids: Iterable[str]) -> dict[str, str]:
    """Return {article_id: document_hash} of those of these documents that are stored."""
    ids, found = list(article_ids), dict[str, str]()
    for start in range(0, len(ids), _IDS_AT_ONCE):
        some = ids[start : start + _IDS_AT_ONCE]
        marks = ",".join("?" * len(some))
        query = f"SELECT article_id, document_hash FROM documents WHERE article_id IN ({marks})"
        found.update(connection.execute(query, some))
    return found
