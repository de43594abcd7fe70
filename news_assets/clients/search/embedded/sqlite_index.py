"""The search index in one SQLite file: BM25F over words, exact nearest vectors, and the
fusion of both.

Several processes may write at once. Each reader keeps the documents' facts in memory,
and the vectors after its first vector search, and reads what others wrote at its next
search.

Duplicates (`duplicate_of`, or the same `text_hash`) are one hit: the original if it
matches, else the best of them. `found` counts them once, facets count every document.
"""

import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Self

from news_assets.clients.search.embedded.document_writer import (
    DocumentWriter,
    count_write,
    remove_documents,
    stored_model,
)
from news_assets.clients.search.embedded.evaluation import Matcher, hits_of
from news_assets.clients.search.embedded.nearest_vectors import VectorMatrix
from news_assets.clients.search.embedded.postings import PostingsReader
from news_assets.clients.search.embedded.search_file import (
    connect,
    read_state,
    reading,
    retried,
    translated,
    writing,
)
from news_assets.clients.search.embedded.table import DocumentTable
from news_assets.clients.search.stored_documents import (
    check_query_vector,
    of_partitions,
)
from news_assets.ports.search_index import SearchAnswer, SearchDocument, SearchQuery
from news_assets.records.reading import AgencyDays

if TYPE_CHECKING:
    import polars as pl


class SqliteSearchIndex:
    """Implements `ports.SearchIndex`. Safe to use from several threads, one at a time."""

    backend = "embedded"

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._lock = threading.RLock()
        self._reset(None)

    def _reset(self, generation: int | None) -> None:
        """Drop what is cached of the file before a rebuild, which renumbers every
        document.
        """
        self._generation = generation
        self._seen_writes = -1
        self._writer = DocumentWriter(self._connection)
        self._table = DocumentTable(self._connection)
        postings, vectors = (
            PostingsReader(self._connection),
            VectorMatrix(self._connection),
        )
        self._matcher = Matcher(self._connection, self._table, postings, vectors)

    def _reset_after_rebuild(self) -> None:
        generation = read_state(self._connection, "generation")
        if generation != self._generation:
            self._reset(generation)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the index in this file, which is created if missing; `-wal` and `-shm`
        are beside it while it is open.

        Raises:
            IndexingError: The file is not a search index, or is damaged.
        """
        return cls(path, connect(path))

    def close(self) -> None:
        """Close the file."""
        with self._lock, closing(self._connection):
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store documents; return {article_id: reason} for refused ones.

        A document that is stored with the same hash is not written again. Of two with
        one id, the later one is stored. A document is refused if its id is empty, or
        its vector has other dimensions or no direction.
        """
        with self._lock, translated(self.path):
            self._reset_after_rebuild()
            return self._writer.upsert(documents)

    def delete(self, article_ids: Sequence[str]) -> None:
        """Remove documents; unknown ids are ignored."""
        with self._lock, translated(self.path):
            retried(lambda: self._delete(article_ids))

    def _delete(self, article_ids: Sequence[str]) -> None:
        with writing(self._connection):
            if remove_documents(self._connection, article_ids):
                count_write(self._connection)

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Return hits, their number and facets; any text is a valid query.

        A hybrid search without a vector is a keyword search; an empty text without a
        vector lists the newest.

        Raises:
            IndexingError: The query's vector has other dimensions than the index's, or
                no direction.
        """
        started = time.perf_counter()
        with self._lock, translated(self.path), reading(self._connection):
            self._refresh()
            if query.mode != "keyword" and query.vector is not None:
                dim = read_state(self._connection, "dim")
                check_query_vector(self.path, query.vector, dim)
            listed = self._matcher.listed(query)
            hits = hits_of(self._connection, listed)
        took_ms = (time.perf_counter() - started) * 1000
        return SearchAnswer(
            hits=hits, found=listed.found, facets=listed.facets, took_ms=took_ms
        )

    def _refresh(self) -> None:
        self._reset_after_rebuild()
        writes = read_state(self._connection, "writes") or 0
        if writes != self._seen_writes:
            self._seen_writes = -1  # after an error, the next search refreshes again
            self._table.refresh()
            self._matcher.refresh()
            self._seen_writes = writes

    def vector_dim(self) -> int | None:
        """Return the dimensions of the stored vectors; None if there are none."""
        with self._lock, translated(self.path):
            return read_state(self._connection, "dim")

    def vector_model(self) -> str | None:
        """Return the name of the embedding model; None if none is stored."""
        with self._lock, translated(self.path):
            return stored_model(self._connection)

    def name_model(self, model: str) -> None:
        """Store the name of the embedding model, unless one is stored."""
        with self._lock, translated(self.path):
            retried(lambda: self._writer.name_model(model))

    def count(self) -> int:
        """Return the number of documents."""
        with self._lock, translated(self.path):
            find = "SELECT count(*) FROM documents"
            return int(self._connection.execute(find).fetchone()[0])

    def stored(
        self, desk: str, keys: AgencyDays | None = None, first_day: date | None = None
    ) -> "pl.DataFrame":
        """Return article_id, agency, day and document_hash of a desk's documents, or of
        some partitions or days.
        """
        import polars as pl

        first, last = first_day or date.min, date.max
        if keys:
            days = {day for _, day in keys.pairs}
            first, last = min(days, default=last), max(days, default=last)
        query = (
            "SELECT article_id, agency, day, document_hash FROM documents"
            " WHERE desk = ? AND day BETWEEN ? AND ?"
        )
        with self._lock, translated(self.path):
            found = self._connection.execute(query, (desk, str(first), str(last)))
            rows = found.fetchall()
        names = ("article_id", "agency", "day", "document_hash")
        frame = pl.DataFrame(rows, dict.fromkeys(names, pl.String), orient="row")
        frame = frame.with_columns(pl.col("day").str.to_date())
        return of_partitions(frame, keys)
