"""The search index in one SQLite file: words ranked by BM25F, vectors searched exactly, both fused.

Implements `ports.SearchIndex`. Documents and queries enter, answers leave; the file's parts are in the modules
`search_*` beside this one. Several processes may write at once; each reader keeps the documents' facts (and, once a
vector search was asked, the vectors) in memory and catches up with the others at its next search.

Duplicates (`duplicate_of`, or the same `text_hash`) are one hit: the original where it matches, else the best of them.
`found` counts them once, facets count every document.
"""

import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Self

from news_assets.clients.search.embedded.hits import hits_of
from news_assets.clients.search.embedded.matching import Matcher
from news_assets.clients.search.embedded.postings import PostingsReader
from news_assets.clients.search.embedded.schema import connect, read_state, reading, retried, translated, writing
from news_assets.clients.search.embedded.table import DocumentTable
from news_assets.clients.search.embedded.vectors import VectorMatrix, unit_vector
from news_assets.clients.search.embedded.writing import DocumentWriter, count_write, remove_documents, stored_model
from news_assets.errors import IndexingError
from news_assets.ports import SearchAnswer, SearchDocument, SearchQuery
from news_assets.records import AgencyDays

if TYPE_CHECKING:
    import polars as pl


class SqliteSearchIndex:
    """A search index in one file. Safe to use from several threads; threads take turns."""

    backend = "sqlite"

    def __init__(self, path: Path, connection: sqlite3.Connection, dim: int | None) -> None:
        self.path = path
        self._connection = connection
        self._dim = dim
        self._lock = threading.RLock()
        self._begin_anew(None)

    def _begin_anew(self, generation: int | None) -> None:
        """Remember nothing: a rebuild took the place of what was there, and gave every number anew."""
        self._generation = generation
        self._seen_writes = -1
        self._writer = DocumentWriter(self._connection)
        self._table = DocumentTable(self._connection)
        postings, vectors = PostingsReader(self._connection), VectorMatrix(self._connection)
        self._matcher = Matcher(self._connection, self._table, postings, vectors)

    def _notice_rebuild(self) -> None:
        generation = read_state(self._connection, "generation")
        if generation != self._generation:
            self._begin_anew(generation)

    @classmethod
    def open(cls, path: Path, dim: int | None = None) -> Self:
        """Return the index in this file, which is made where there is none.

        Args:
            path: The file; two more stand beside it while it is open (`-wal`, `-shm`).
            dim: Length of the vectors that will be stored, where it is known.

        Raises:
            IndexingError: The file is no search index, is damaged, or holds vectors of another length.
        """
        connection = connect(path)
        with translated(path):
            stored = read_state(connection, "dim")
        if dim is not None and stored is not None and stored != dim:
            connection.close()
            raise _wrong_dim(path, "the embedding model", dim, stored)
        return cls(path, connection, dim)

    def close(self) -> None:
        """Close the file."""
        with self._lock, closing(self._connection):
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store documents; return {article_id: reason} for those that were refused.

        A document that is stored with the same hash is not written again. Of two with one id, the later one counts.
        Refused, whole: an empty id, and a vector that is not finite or of another length than the index's.
        """
        with self._lock, translated(self.path):
            self._notice_rebuild()
            return self._writer.upsert(documents, self._dim)

    def delete(self, article_ids: Sequence[str]) -> None:
        """Remove documents; an unknown id is no error."""
        with self._lock, translated(self.path):
            retried(lambda: self._delete(article_ids))

    def _delete(self, article_ids: Sequence[str]) -> None:
        with writing(self._connection):
            if remove_documents(self._connection, article_ids):
                count_write(self._connection)

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Return the answer; any text is a valid query.

        A hybrid search without a vector is a keyword search; an empty text without a vector lists the newest.

        Raises:
            IndexingError: The query's vector has another length than the index's, or no direction.
        """
        started = time.perf_counter()
        with self._lock, translated(self.path), reading(self._connection):
            self._refresh()
            self._check_vector(query)
            listed = self._matcher.listed(query)
            hits = hits_of(self._connection, listed)
        took_ms = (time.perf_counter() - started) * 1000
        return SearchAnswer(hits=hits, found=listed.found, facets=listed.facets, took_ms=took_ms)

    def _refresh(self) -> None:
        self._notice_rebuild()
        writes = read_state(self._connection, "writes") or 0
        if writes != self._seen_writes:
            self._seen_writes = -1  # an error half-way is caught up with next time
            self._table.refresh()
            self._matcher.refresh()
            self._seen_writes = writes

    def _check_vector(self, query: SearchQuery) -> None:
        if query.mode == "keyword" or query.vector is None:
            return
        dim = read_state(self._connection, "dim") or self._dim
        if dim is not None and len(query.vector) != dim:
            raise _wrong_dim(self.path, "the query", len(query.vector), dim)
        if unit_vector(query.vector) is None:
            raise IndexingError("the query's vector is empty, all zeros or holds a value that is not finite")

    def vector_dim(self) -> int | None:
        """Return the length of the stored vectors; None where there are none yet."""
        with self._lock, translated(self.path):
            return read_state(self._connection, "dim")

    def vector_model(self) -> str | None:
        """Return the name of the model that makes the vectors; None where it was not said yet."""
        with self._lock, translated(self.path):
            return stored_model(self._connection)

    def name_model(self, model: str) -> None:
        """Remember what makes the vectors; a name that is there already stays."""
        with self._lock, translated(self.path):
            retried(lambda: self._writer.name_model(model))

    def count(self) -> int:
        """Return how many documents there are."""
        with self._lock, translated(self.path):
            return int(self._connection.execute("SELECT count(*) FROM documents").fetchone()[0])

    def stored(self, desk: str, keys: AgencyDays | None = None, first_day: date | None = None) -> "pl.DataFrame":
        """Return article_id, agency, day and document_hash of what a desk has in the index: all, or of some days."""
        import polars as pl

        days = ({day for _, day in keys.pairs} or {date.max}) if keys else {first_day or date.min, date.max}
        query = "SELECT article_id, agency, day, document_hash FROM documents WHERE desk = ? AND day BETWEEN ? AND ?"
        with self._lock, translated(self.path):
            rows = self._connection.execute(query, (desk, str(min(days)), str(max(days)))).fetchall()
        schema = {"article_id": pl.String, "agency": pl.String, "day": pl.String, "document_hash": pl.String}
        frame = pl.DataFrame(rows, schema, orient="row").with_columns(pl.col("day").str.to_date())
        if keys is None:
            return frame
        wanted = pl.DataFrame(list(keys.pairs), {"agency": pl.String, "day": pl.Date}, orient="row")
        return frame.join(wanted, on=("agency", "day"), how="semi")


def _wrong_dim(path: Path, whose: str, dim: int, stored: int) -> IndexingError:
    return IndexingError(
        f"{path}: {whose} has {dim} dimensions, the index has {stored}; "
        "use the model the index was made with, or embed everything with the other, then `news-assets rebuild search`"
    )
