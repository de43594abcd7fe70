"""Makes a search index equal to what the lake expects: sends missing and outdated
documents, deletes extra ones.

The same comparison fills a new index, resumes an interrupted rebuild, applies later
changes, and repairs an index that lost documents.

    expected hashes (lake) ─┐
                            ├─ differences ─ read rows ─ build documents ─ send,
                            │  in chunks ordered like the lake's files
    stored hashes (index)  ─┘

The caller decides when a new index replaces the old one.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Protocol

from news_assets.pipeline.index import (
    IndexChanges,
    Upserting,
    build_documents,
    send,
    store_changes,
)
from news_assets.pipeline.stages import stage_named
from news_assets.ports.search_index import SearchDocument
from news_assets.ports.services import Lake, Reader, Sandbox
from news_assets.records.articles import RawArticle
from news_assets.records.derived import (
    ArticleEmbedding,
    EnrichedArticle,
    IndexedDocument,
)

if TYPE_CHECKING:
    import polars as pl

# about 120 MB with texts and vectors; two chunks are in memory at once
_CHUNK_DOCUMENTS = 5_000
_RECEIPTS_PER_TRANSACTION = 10_000


class WritableIndex(Upserting, Protocol):
    """An index in use, or one that is being rebuilt."""

    def delete(self, article_ids: Sequence[str]) -> None:
        """Remove documents; unknown ids are ignored."""
        ...

    def stored(self, desk: str) -> "pl.DataFrame":
        """Return article_id, agency, day and document_hash of a desk's documents."""
        ...


class IndexRebuild(WritableIndex, Protocol):
    """An index that is filled beside the one in use. `is_resumed`: it has documents of
    an interrupted rebuild.
    """

    is_resumed: bool

    def swap(self, expected: Mapping[str, Mapping[str, str]]) -> None:
        """Replace the index in use. Raises IndexingError if the documents are not those
        expected, by desk and hash.
        """
        ...


@dataclass(slots=True)
class DeskDocuments:
    """The documents of one desk that the index should have, updated while they are
    sent.

    `expected` has the columns of `freshness.expected_documents`. `hashes` has the
    document hash of each article as it was sent, which differs from `expected` if the
    article changed meanwhile. `refused` has the hash and reason of each refused
    document.
    """

    key: str
    agency_names: Mapping[str, str]
    expected: "pl.DataFrame" = field(init=False)
    hashes: dict[str, str] = field(default_factory=dict)
    refused: dict[str, tuple[str, str]] = field(default_factory=dict)

    def refresh(self, expected: "pl.DataFrame") -> None:
        """Replace the expectation by the current state of the lake; refusals stay while
        their hash is expected.
        """
        self.expected = expected
        self.hashes = dict(expected.select("article_id", "document_hash").iter_rows())
        refused, self.refused = self.refused, {}
        for one, refusal in refused.items():
            if self.hashes.get(one) == refusal[0]:
                self.refused[one] = refusal
                del self.hashes[one]


def sync_desk(
    lake: Reader,
    index: WritableIndex,
    sandbox: Sandbox,
    desk: DeskDocuments,
    on_progress: Callable[[int], None],
) -> int:
    """Send missing and outdated documents of a desk and delete extra ones; return the
    number of both.

    Args:
        lake: The lake to read rows from.
        index: The index to change.
        sandbox: Where the Markdown of the documents is removed.
        desk: The expected documents; hashes and refusals are updated.
        on_progress: Called with the number of documents that were just found current,
            sent or refused.

    Raises:
        IndexingError: The index could not be read or written. The next call continues
            from what was sent.
    """
    import polars as pl

    stored = index.stored(desk.key).select("article_id", "document_hash")
    changed = desk.expected.join(stored, on=["article_id", "document_hash"], how="anti")
    changed = changed.filter(~pl.col("article_id").is_in(list(desk.refused)))
    unexpected = stored.join(desk.expected, on="article_id", how="anti")
    extra = unexpected["article_id"].to_list()
    on_progress(desk.expected.height - changed.height)
    with closing(_read_ahead(lake, desk.agency_names, _chunks(changed))) as chunks:
        for ids, documents in chunks:
            extra += _send(index, sandbox, desk, ids, documents)
            on_progress(len(ids))
    for start in range(0, len(extra), _CHUNK_DOCUMENTS):
        index.delete(extra[start : start + _CHUNK_DOCUMENTS])
    return changed.height + len(extra)


def _chunks(changed: "pl.DataFrame") -> Iterator["pl.DataFrame"]:
    """Yield chunks in the order of the lake's files, by month and id, so that each row
    group is decompressed once.

    Small months share a chunk. A large month does not, because the files of both would
    be decompressed for each chunk.
    """
    import polars as pl

    by_month = changed.with_columns(pl.col("day").dt.month_start().alias("month")).sort(
        "month", "article_id"
    )
    together: list[pl.DataFrame] = []
    for month in by_month.partition_by("month", maintain_order=True):
        height = sum(one.height for one in together)
        if together and height + month.height > _CHUNK_DOCUMENTS:
            yield pl.concat(together)
            together = []
        *whole, rest = month.iter_slices(_CHUNK_DOCUMENTS)
        yield from whole
        together.append(rest)
    if together:
        yield pl.concat(together)


def _read_ahead(
    lake: Reader, agency_names: Mapping[str, str], chunks: Iterator["pl.DataFrame"]
) -> Generator[tuple[list[str], list[SearchDocument]], None, None]:
    """Yield each chunk's ids and documents, while another thread reads the next chunk."""
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
    """Read the days of a chunk, then all days for documents that differ: their rows may
    be on another day.
    """
    expected = dict(chunk.select("article_id", "document_hash").iter_rows())
    days = chunk["day"].unique().to_list()
    found: list[SearchDocument] = []
    for one in read_documents(lake, list(expected), agency_names, days):
        if one.document_hash == expected[one.article_id]:
            found.append(one)
    others = expected.keys() - {one.article_id for one in found}
    if others:
        found += read_documents(lake, sorted(others), agency_names)
    return list(expected), found


def _send(
    index: WritableIndex,
    sandbox: Sandbox,
    desk: DeskDocuments,
    ids: Sequence[str],
    documents: Sequence[SearchDocument],
) -> list[str]:
    """Send the documents of these articles; return the ids that have no document any
    more, or were refused.
    """
    refused = send(documents, index, sandbox)
    sent: set[str] = set()
    for document in documents:
        key = document.article_id
        if key in refused:
            desk.refused[key] = document.document_hash, refused[key]
        else:
            desk.hashes[key] = document.document_hash
            sent.add(key)
    dropped = [one for one in ids if one not in sent]
    for one in dropped:
        desk.hashes.pop(one, None)
    return dropped


def read_documents(
    lake: Reader,
    ids: Sequence[str],
    agency_names: Mapping[str, str],
    days: Sequence[date] | None = None,
) -> list[SearchDocument]:
    """Return the documents of these articles from the current lake, or from these days
    of it.
    """
    of_days: dict[str, Any] = {} if days is None else {"day": days}
    articles = lake.read(RawArticle, article_id=ids, outcome=["ok"], **of_days)
    enriched = lake.read(EnrichedArticle, article_id=ids, **of_days)
    embeddings = lake.read(ArticleEmbedding, article_id=ids, **of_days)
    return build_documents(articles, enriched, embeddings, agency_names)


# --- receipts -------------------------------------------------------------------------


def store_receipts(lake: Lake, desk: DeskDocuments, now: datetime) -> int:
    """Make the receipts of a desk equal to what the index has; return how many were
    changed.
    """
    columns = ("article_id", "document_hash", "outcome")
    stored = lake.frame(IndexedDocument, None, columns, desk=[desk.key])
    states: dict[Any, tuple[Any, Any]] = {}
    for one, document_hash, outcome in stored.iter_rows():
        states[one] = (document_hash, outcome)
    changed: list[IndexedDocument] = []
    for row in _receipts(desk, now):
        if states.get(row.article_id) != (row.document_hash, row.outcome):
            changed.append(row)
    orphaned = list(states.keys() - set(desk.expected["article_id"]))
    for start in range(0, len(changed), _RECEIPTS_PER_TRANSACTION):
        some = changed[start : start + _RECEIPTS_PER_TRANSACTION]
        _store_changes(lake, IndexChanges(tuple(some), ()), now)
    if orphaned:
        _store_changes(lake, IndexChanges((), tuple(orphaned)), now)
    return len(changed) + len(orphaned)


def _store_changes(lake: Lake, changes: IndexChanges, now: datetime) -> None:
    stage = stage_named("search_index")
    lake.transact(lambda rows: store_changes(rows, stage, changes, now))


def _receipts(desk: DeskDocuments, now: datetime) -> Iterator[IndexedDocument]:
    rows: Iterator[dict[str, Any]] = desk.expected.iter_rows(named=True)
    for row in rows:
        article_id = row["article_id"]
        document_hash, reason = desk.refused.get(
            article_id, (desk.hashes.get(article_id, ""), None)
        )
        if document_hash:
            yield IndexedDocument(
                article_id=article_id,
                desk=desk.key,
                agency=row["agency"],
                day=row["day"],
                document_hash=document_hash,
                has_vector=row["has_vector"] and reason is None,
                indexed_at=now,
                outcome="ok" if reason is None else "failed",
                reason=reason,
                trace_id=row["trace_id"],
            )
