"""A search index built anew from the lake: what it lacks is sent, what it has too much is removed.

What the lake expects and what the index has enter, as ids and hashes; documents go to the index, and receipts leave.
The same comparison fills an empty index, goes on with an interrupted one, catches up with what changed meanwhile, and
mends one that lost something.

    expected  ─┐
               ├─ differ ─ read rows ─ build documents ─ send       a few thousand at a time, in the order of the files
    stored    ─┘

When the new index takes the old one's place is decided by the caller.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from news_assets.pipeline.failures import drop_failures, note_outcomes
from news_assets.pipeline.index import build_documents
from news_assets.ports import Lake, Reader, Rows, SearchDocument
from news_assets.records import ArticleEmbedding, EnrichedArticle, IndexedDocument, RawArticle

if TYPE_CHECKING:
    import polars as pl

SENT_TOGETHER = 5_000  # with texts and vectors some 120 MB; a chunk's first and last row groups are unpacked twice
_RECEIPTS_TOGETHER = 10_000


class Filled(Protocol):
    """An index in use, or one that is being built."""

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store documents; return {article_id: reason} for those that were refused."""
        ...

    def delete(self, article_ids: Sequence[str]) -> None:
        """Remove documents."""
        ...

    def stored(self, desk: str) -> "pl.DataFrame":
        """Return article_id and document_hash of what a desk has in it."""
        ...


@dataclass(slots=True)
class DeskIndex:
    """What one desk should have in the index.

    `expected` has the columns of `store.behind.documents_expected`. `hashes` says what was made of it: an article that
    changed since it was read is sent as it is now, and one that was refused is in `refused` with its hash and reason.
    """

    desk: str
    agency_names: Mapping[str, str]
    expected: "pl.DataFrame" = field(init=False)
    hashes: dict[str, str] = field(default_factory=dict)
    refused: dict[str, tuple[str, str]] = field(default_factory=dict)

    def expect(self, expected: "pl.DataFrame") -> None:
        """Look again: this is what the lake says now."""
        self.expected = expected
        self.hashes = dict(expected.select("article_id", "document_hash").iter_rows())
        self.refused = {one: said for one, said in self.refused.items() if self.hashes.get(one) == said[0]}
        for one in self.refused:
            del self.hashes[one]


def bring_up(lake: Reader, index: Filled, wanted: DeskIndex, note: Callable[[int], None]) -> int:
    """Send what the index lacks of a desk and remove what it has too much; return how many there were of both.

    Args:
        lake: Where the rows are read.
        index: What is filled.
        wanted: What it should have; what was sent and what was refused is noted in it.
        note: Told how many documents were settled, each time that some were.

    Raises:
        IndexingError: The index could not be read or written; what was sent is found the next time.
    """
    import polars as pl

    stored = index.stored(wanted.desk).select("article_id", "document_hash")
    lacking = wanted.expected.join(stored, on=["article_id", "document_hash"], how="anti")
    lacking = lacking.filter(~pl.col("article_id").is_in(list(wanted.refused)))
    extra = stored.join(wanted.expected, on="article_id", how="anti")["article_id"].to_list()
    note(wanted.expected.height - lacking.height)
    for ids in _in_order(lacking):
        extra += _send(lake, index, wanted, ids)
        note(len(ids))
    for start in range(0, len(extra), SENT_TOGETHER):
        index.delete(extra[start : start + SENT_TOGETHER])
    return lacking.height + len(extra)


def _in_order(lacking: "pl.DataFrame") -> Iterator[list[str]]:
    """Yield the ids as the lake's files have them, by month and then by id: each row group is unpacked once."""
    import polars as pl

    ids = lacking.sort(pl.col("day").dt.month_start(), "article_id")["article_id"]
    for start in range(0, len(ids), SENT_TOGETHER):
        yield ids.slice(start, SENT_TOGETHER).to_list()


def _send(lake: Reader, index: Filled, wanted: DeskIndex, ids: Sequence[str]) -> list[str]:
    """Send the documents of these articles; return those that are no articles any more, or were refused."""
    documents = read_documents(lake, ids, wanted.agency_names)
    refused = index.upsert(documents)
    hashes = {document.article_id: document.document_hash for document in documents}
    wanted.refused |= {one: (hashes[one], reason) for one, reason in refused.items()}
    gone = [one for one in ids if one not in hashes or one in refused]
    for one in gone:
        wanted.hashes.pop(one, None)
    wanted.hashes |= {one: hash_ for one, hash_ in hashes.items() if one not in refused}
    return gone


def read_documents(lake: Reader, ids: Sequence[str], agency_names: Mapping[str, str]) -> list[SearchDocument]:
    """Return the documents of these articles as the lake is now."""
    return build_documents(
        lake.read(RawArticle, article_id=ids, outcome=["ok"]),
        {row.article_id: row for row in lake.read(EnrichedArticle, article_id=ids)},
        {row.article_id: row for row in lake.read(ArticleEmbedding, article_id=ids)},
        agency_names,
    )


# --- receipts --------------------------------------------------------------------------------------------------------


def store_receipts(lake: Lake, wanted: DeskIndex, now: datetime) -> int:
    """Let the receipts say what the index has now; return how many were not so."""
    stored = lake.frame(IndexedDocument, None, ("article_id", "document_hash", "outcome"), desk=[wanted.desk])
    said = {one: (state, outcome) for one, state, outcome in stored.iter_rows()}
    made = [row for row in _receipts(wanted, now) if said.get(row.article_id) != (row.document_hash, row.outcome)]
    known = set(wanted.expected["article_id"])
    gone = [one for one in said if one not in known]

    def store(rows: Rows, some: Sequence[IndexedDocument]) -> None:
        rows.upsert(some)
        note_outcomes(rows, some, now)

    for start in range(0, len(made), _RECEIPTS_TOGETHER):
        some = made[start : start + _RECEIPTS_TOGETHER]
        lake.transact(lambda rows: store(rows, some))  # noqa: B023 - run at once
    if gone:
        lake.transact(lambda rows: _drop(rows, gone))
    return len(made) + len(gone)


def _drop(rows: Rows, article_ids: Sequence[str]) -> None:
    rows.delete(IndexedDocument, article_id=article_ids)
    drop_failures(rows, IndexedDocument, article_ids)


def _receipts(wanted: DeskIndex, now: datetime) -> Iterator[IndexedDocument]:
    rows: Iterator[dict[str, Any]] = wanted.expected.iter_rows(named=True)
    for row in rows:
        article_id = row["article_id"]
        document_hash, reason = wanted.refused.get(article_id, (wanted.hashes.get(article_id, ""), None))
        if document_hash:
            yield IndexedDocument(
                article_id=article_id,
                desk=wanted.desk,
                agency=row["agency"],
                day=row["day"],
                document_hash=document_hash,
                has_vector=row["has_vector"] and reason is None,
                indexed_at=now,
                outcome="ok" if reason is None else "failed",
                reason=reason,
                trace_id=row["trace_id"],
            )
