"""Writes the documents that differ from the stored ones, in batches; reads the result
of each line.

Sending a batch again after an error sends only what is missing, as it is compared by
stored hashes.

A partial update cannot erase a vector, and a vector that is replaced in place stays
searchable. So a document whose vector changed is deleted and created again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from news_assets.clients.search.stored_documents import Float64s, is_stored
from news_assets.clients.search.typesense.document_lines import (
    partial_line,
    reason_refused,
    sent_vectors,
    stored_forms,
    vector_hash,
    whole_lines,
)
from news_assets.clients.search.typesense.server_requests import (
    LINES_PER_IMPORT,
    TypesenseConnection,
)
from news_assets.ports.search_index import SearchDocument

_NOT_FOUND = 404
_STORED_FIELDS = "id,document_hash,vector_hash"

Lines = list[tuple[str, str]]


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
        for start in range(0, len(accepted), LINES_PER_IMPORT):
            refused |= self._upsert(accepted[start : start + LINES_PER_IMPORT])
        return refused

    def _upsert(self, documents: list[SearchDocument]) -> dict[str, str]:
        ids = [one.article_id for one in documents]
        stored = self.connection.documents(self.name, ids, _STORED_FIELDS)
        hashes = {
            article_id: str(one.get("document_hash") or "")
            for article_id, one in stored.items()
        }
        changed = [one for one in documents if not is_stored(one, hashes)]
        if not changed:
            return {}
        batch = _Batch()
        forms = stored_forms(changed, self.languages)
        rows = sent_vectors([one.vector for one in changed])
        for document, form, values in zip(changed, forms, rows, strict=True):
            prepared = _Prepared(document.article_id, form, values)
            batch.add(prepared, stored.get(document.article_id))
        self.connection.delete(self.name, batch.deleted)
        refused = self.connection.import_lines(self.name, _whole(batch.whole), "upsert")
        refused |= self._update(batch)
        return {article_id: reason for article_id, (_, reason) in refused.items()}

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
        stored_hash = "" if stored is None else str(stored.get("vector_hash") or "")
        if stored is not None and stored_hash == vector_hash(one.values):
            self.partial.append(one)
            return
        if stored_hash:
            self.deleted.append(one.article_id)
        self.whole.append(one)


def _whole(documents: Sequence[_Prepared]) -> Lines:
    lines = whole_lines(
        [one.form for one in documents], [one.values for one in documents]
    )
    return [(one.article_id, line) for one, line in zip(documents, lines, strict=True)]
