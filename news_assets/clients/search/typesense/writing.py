"""Putting documents into a collection: only what differs from what is stored, in batches, confirmed line by line.

`SearchDocument`s enter; reasons for those that were refused leave. What a batch left half done by an error is told by
the hashes that are stored: sending it again sends what is missing.

A partial update never erases a vector, and a vector that is dropped or replaced in place stays searchable: where it
changed, the document is deleted first, then made again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from news_assets.clients.search.typesense.connection import HITS_AT_ONCE, LINES_AT_ONCE, TypesenseConnection, id_filters
from news_assets.clients.search.typesense.documents import own_story, reason_refused, stored_forms, stories_of
from news_assets.clients.search.typesense.lines import (
    Float64s,
    partial_line,
    story_line,
    unit_rows,
    vector_hash,
    whole_lines,
)
from news_assets.ports import SearchDocument

_NOT_THERE = 404
_UNBOUNDED = 1 << 30  # filters in a request's body may be of any length
_STORED_FIELDS = "id,document_hash,vector_hash,story"

Lines = list[tuple[str, str]]


@dataclass(slots=True)
class DocumentWriter:
    """Writes to one collection, by its name or alias."""

    connection: TypesenseConnection
    name: str
    languages: tuple[str, ...]
    dim: int | None

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store documents that differ from what is there; return {article_id: reason} for those refused."""
        accepted, refused = accepted_documents(documents, self.dim)
        for start in range(0, len(accepted), LINES_AT_ONCE):
            refused |= self._upsert(accepted[start : start + LINES_AT_ONCE])
        return refused

    def _upsert(self, documents: list[SearchDocument]) -> dict[str, str]:
        stored = self._stored(documents)
        changed = [one for one in documents if not _is_stored(one, stored)]
        if not changed:
            return {}
        stories = stories_of(changed, {article_id: str(one.get("story", "")) for article_id, one in stored.items()})
        batch = _Batch()
        forms, rows = stored_forms(changed, self.languages, stories), unit_rows([one.vector for one in changed])
        for document, form, values in zip(changed, forms, rows, strict=True):
            batch.add(_Sent(document.article_id, form, values), stored.get(document.article_id))
        self.connection.delete(self.name, batch.deleted)
        refused = self.connection.import_lines(self.name, _whole(batch.whole), "upsert")
        refused |= self._update(batch)
        self._gather(changed, stories)
        return {article_id: reason for article_id, (_, reason) in refused.items()}

    def _update(self, batch: "_Batch") -> dict[str, tuple[int, str]]:
        """Send the partial lines; a document that another process deleted meanwhile is sent whole."""
        lines = [(one.article_id, partial_line(one.form)) for one in batch.partial]
        refused = self.connection.import_lines(self.name, lines, "update")
        gone = {article_id for article_id, (code, _) in refused.items() if code == _NOT_THERE}
        again = _whole([one for one in batch.partial if one.article_id in gone])
        kept = {article_id: reason for article_id, reason in refused.items() if article_id not in gone}
        return kept | self.connection.import_lines(self.name, again, "upsert")

    def _stored(self, documents: Iterable[SearchDocument]) -> dict[str, dict[str, Any]]:
        """Return what the collection has of these documents and of their originals, by id."""
        wanted = {one.article_id for one in documents} | {one.duplicate_of for one in documents if one.duplicate_of}
        common = {"collection": self.name, "q": "*", "include_fields": _STORED_FIELDS, "per_page": HITS_AT_ONCE}
        searches = [common | {"filter_by": one} for one in id_filters(sorted(wanted), _UNBOUNDED)]
        answers = self.connection.search(searches)
        return {str(hit["document"]["id"]): hit["document"] for answer in answers for hit in answer["hits"]}

    def _gather(self, changed: Iterable[SearchDocument], stories: Mapping[str, str]) -> None:
        """Let duplicates that came before their original join its story."""
        originals = [one.article_id for one in changed if one.duplicate_of is None]
        lines: Lines = []
        for filter_by in id_filters(sorted(originals), _UNBOUNDED, "duplicate_of:="):
            for one in self.connection.matching(self.name, filter_by, "id,duplicate_of,story"):
                story = stories.get(one["duplicate_of"], one["story"])
                if one["story"] != story:
                    lines.append((one["id"], story_line(one["id"], story)))
        self.connection.import_lines(self.name, lines, "update")


def accepted_documents(
    documents: Sequence[SearchDocument], dim: int | None
) -> tuple[list[SearchDocument], dict[str, str]]:
    """Return the documents that can be stored, the last of each id, and the reasons of the others."""
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
    """Return the length of the first vector that can be stored."""
    usable = (one.vector for one in documents if one.vector and reason_refused(one, None) is None)
    return next((len(vector) for vector in usable), None)


def _is_stored(document: SearchDocument, stored: Mapping[str, Mapping[str, Any]]) -> bool:
    there = stored.get(document.article_id)
    return there is not None and bool(document.document_hash) and there.get("document_hash") == document.document_hash


class _Sent(NamedTuple):
    """A document as it is sent: what is stored of it, and its vector."""

    article_id: str
    form: dict[str, Any]
    values: Float64s | None


@dataclass(slots=True)
class _Batch:
    """What is sent of one batch: ids to delete first, whole documents, and changes of documents whose vector stays."""

    deleted: list[str] = field(default_factory=list)
    whole: list[_Sent] = field(default_factory=list)
    partial: list[_Sent] = field(default_factory=list)

    def add(self, one: _Sent, there: Mapping[str, Any] | None) -> None:
        hash_there = "" if there is None else str(there.get("vector_hash") or "")
        if there is not None and hash_there == vector_hash(one.values):
            self.partial.append(one)
            return
        if hash_there:
            self.deleted.append(one.article_id)
        self.whole.append(one)


def _whole(documents: Sequence[_Sent]) -> Lines:
    lines = whole_lines([one.form for one in documents], [one.values for one in documents])
    return [(one.article_id, line) for one, line in zip(documents, lines, strict=True)]


def mended_stories(documents: Iterable[Mapping[str, Any]]) -> Lines:
    """Return the lines that put every document of a collection to its original's story.

    Args:
        documents: Each with id, story, and text_hash and duplicate_of where it has them.
    """
    listed = list(documents)
    own = {one["id"]: own_story(one["id"], one.get("text_hash")) for one in listed if one.get("duplicate_of") is None}
    copies = {one["id"]: one["duplicate_of"] for one in listed if one.get("duplicate_of") is not None}
    lines: Lines = []
    for one in listed:
        original, seen = one["id"], set[str]()
        while original in copies and original not in seen:
            seen.add(original)
            original = copies[original]
        story = own.get(original, original)
        if one["story"] != story:
            lines.append((one["id"], story_line(one["id"], story)))
    return lines
