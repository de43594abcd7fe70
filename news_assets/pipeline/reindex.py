"""A search index built anew from the lake: what it lacks is sent, what it has too much is removed.

What the lake expects and what the index has enter, as ids and hashes; documents go to the index, and receipts leave.
The same comparison fills an empty index, goes on with an interrupted one, catches up with what changed meanwhile, and
mends one that lost something.

    expected  ─┐
               ├─ differ ─ read rows ─ build documents ─ send       a few thousand at a time, in the order of the files
    stored    ─┘

When the new index takes the old one's place is decided by the caller.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Protocol

from news_assets.pipeline.index import build_documents
from news_assets.pipeline.stage_state.failures import drop_failures, record_outcomes
from news_assets.pipeline.stages import stage_named
from news_assets.ports import Lake, Reader, Rows, SearchDocument
from news_assets.records import ArticleEmbedding, EnrichedArticle, IndexedDocument, RawArticle

if TYPE_CHECKING:
    import polars as pl

SENT_TOGETHER = 5_000  # with texts and vectors some 120 MB, and two chunks are held at once
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

    `expected` has the columns of `index_drift.expected_documents`. `hashes` says what was made of it: an article that
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
    with closing(_read_ahead(lake, wanted.agency_names, _in_order(lacking))) as chunks:
        for ids, documents in chunks:
            extra += _send(index, wanted, ids, documents)
            note(len(ids))
    for start in range(0, len(extra), SENT_TOGETHER):
        index.delete(extra[start : start + SENT_TOGETHER])
    return lacking.height + len(extra)


def _in_order(lacking: "pl.DataFrame") -> Iterator["pl.DataFrame"]:
    """Yield what is lacking as the lake's files have it, by month and then by id: each row group is unpacked once.

    Small months come together; a large one never with another, as both would be unpacked for it.
    """
    import polars as pl

    by_month = lacking.with_columns(pl.col("day").dt.month_start().alias("month")).sort("month", "article_id")
    together: list[pl.DataFrame] = []
    for month in by_month.partition_by("month", maintain_order=True):
        if together and sum(one.height for one in together) + month.height > SENT_TOGETHER:
            yield pl.concat(together)
            together = []
        *whole, rest = month.iter_slices(SENT_TOGETHER)
        yield from whole
        together.append(rest)
    if together:
        yield pl.concat(together)


def _read_ahead(
    lake: Reader, agency_names: Mapping[str, str], chunks: Iterator["pl.DataFrame"]
) -> Generator[tuple[list[str], list[SearchDocument]], None, None]:
    """Yield each chunk's ids and documents; the next one is read meanwhile, by another processor."""
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="read-ahead") as reader:
        upcoming: Future[tuple[list[str], list[SearchDocument]]] | None = None
        for chunk in chunks:
            following = reader.submit(_read_chunk, lake, agency_names, chunk)
            if upcoming is not None:
                yield upcoming.result()
            upcoming = following
        if upcoming is not None:
            yield upcoming.result()


def _read_chunk(
    lake: Reader, agency_names: Mapping[str, str], chunk: "pl.DataFrame"
) -> tuple[list[str], list[SearchDocument]]:
    """Read from their days alone; what is not as expected then is read from all, as rows may have stayed on another."""
    expected = dict(chunk.select("article_id", "document_hash").iter_rows())
    read = read_documents(lake, list(expected), agency_names, chunk["day"].unique().to_list())
    found = {one.article_id: one for one in read if one.document_hash == expected[one.article_id]}
    others = [article_id for article_id in expected if article_id not in found]
    found |= {one.article_id: one for one in read_documents(lake, others, agency_names)} if others else {}
    return list(expected), list(found.values())


def _send(index: Filled, wanted: DeskIndex, ids: Sequence[str], documents: Sequence[SearchDocument]) -> list[str]:
    """Send the documents of these articles; return those that are no articles any more, or were refused."""
    refused = index.upsert(documents)
    hashes = {document.article_id: document.document_hash for document in documents}
    wanted.refused |= {one: (hashes[one], reason) for one, reason in refused.items()}
    gone = [one for one in ids if one not in hashes or one in refused]
    for one in gone:
        wanted.hashes.pop(one, None)
    wanted.hashes |= {one: hash_ for one, hash_ in hashes.items() if one not in refused}
    return gone


def read_documents(
    lake: Reader, ids: Sequence[str], agency_names: Mapping[str, str], days: Sequence[date] | None = None
) -> list[SearchDocument]:
    """Return the documents of these articles as the lake is now, or as these days alone have them."""
    of_days: dict[str, Any] = {} if days is None else {"day": days}
    return build_documents(
        lake.read(RawArticle, article_id=ids, outcome=["ok"], **of_days),
        {row.article_id: row for row in lake.read(EnrichedArticle, article_id=ids, **of_days)},
        {row.article_id: row for row in lake.read(ArticleEmbedding, article_id=ids, **of_days)},
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
        record_outcomes(rows, stage_named("search_index"), some, now)

    for start in range(0, len(made), _RECEIPTS_TOGETHER):
        some = made[start : start + _RECEIPTS_TOGETHER]
        lake.transact(lambda rows: store(rows, some))  # noqa: B023 - run at once
    if gone:
        lake.transact(lambda rows: _drop(rows, gone))
    return len(made) + len(gone)


def _drop(rows: Rows, article_ids: Sequence[str]) -> None:
    rows.delete(IndexedDocument, article_id=article_ids)
    drop_failures(rows, stage_named("search_index"), article_ids)


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
