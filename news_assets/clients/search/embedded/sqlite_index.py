"""The search index in one SQLite file: BM25F over words, exact nearest vectors, and the
fusion of both; and its rebuild.

Several processes may write at once. Each reader maps the saved arrays of the documents'
facts, and of the vectors at its first vector search, and reads what others wrote since at
its next search.

Duplicates (`duplicate_of`, or the same `text_hash`) are one hit: the original if it
matches, else the best of them. `found` counts them once, facets once for a value.

A rebuild fills a new file beside the one in use, and swaps it in. The swap replaces the
pages of the file in use by the new ones in one transaction. Other processes may have
the file open: readers keep their snapshot, writers wait, and a killed swap changes
nothing. (Moving the new file over the old one would leave other processes with a
deleted file, and the new file with a foreign write-ahead log.) An interrupted rebuild
leaves its file, which the next rebuild resumes.
"""

import logging
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Self

from news_assets.clients.search.embedded.document_table import DocumentTable
from news_assets.clients.search.embedded.document_writer import (
    DocumentWriter,
    count_write,
    remove_documents,
    stored_model,
)
from news_assets.clients.search.embedded.evaluation import Matcher, hits_of
from news_assets.clients.search.embedded.nearest_vectors import VectorMatrix, erase
from news_assets.clients.search.embedded.postings import PostingsReader
from news_assets.clients.search.embedded.search_file import (
    ARRAYS_KEY,
    BUSY_TIMEOUT_S,
    arrays_are_due,
    as_indexing_errors,
    check_owner,
    connect,
    is_empty,
    read_state,
    reading,
    remove_unused_arrays,
    retried,
    store_arrays,
    writing,
)
from news_assets.clients.search.index_texts import (
    check_query_vector,
    of_partitions,
    parity_problems,
)
from news_assets.errors import IndexingError
from news_assets.ports.search_index import SearchAnswer, SearchDocument, SearchQuery
from news_assets.records.reading import AgencyDays

if TYPE_CHECKING:
    import polars as pl


_logger = logging.getLogger(__name__)

_LEAST_ALIVE = 0.5  # of saved vectors
_LAST_DELETION = "SELECT coalesce(max(deletion), 0) FROM deleted"


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
        with self._lock, as_indexing_errors(self.path):
            self._reset_after_rebuild()
            refused = self._writer.upsert(documents)
            self._save_arrays()
            return refused

    def save_rebuilt(self) -> None:
        """Replace the arrays of before a rebuild."""
        with self._lock, as_indexing_errors(self.path):
            self._save_arrays()
            retried(self._remove_unused_arrays)

    def _remove_unused_arrays(self) -> None:
        with writing(self._connection):
            remove_unused_arrays(self._connection)

    def _save_arrays(self) -> None:
        """Save what readers map if many documents are new. The documents are stored
        already, so a failure is logged, and the next write tries again.
        """
        if not arrays_are_due(self._connection):
            return
        try:
            save_arrays(self._connection)
        except (OSError, sqlite3.OperationalError) as error:
            _logger.warning("%s: no arrays are saved: %s", self.path, error)

    def delete(self, article_ids: Sequence[str]) -> None:
        """Remove documents; unknown ids are ignored."""
        with self._lock, as_indexing_errors(self.path):
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
        with self._lock, as_indexing_errors(self.path), reading(self._connection):
            self._refresh()
            if query.mode != "keyword" and query.vector is not None:
                dim = read_state(self._connection, "dim")
                check_query_vector(self.path, query.vector, dim)
            matched = self._matcher.matched_page(query)
            hits = hits_of(self._connection, matched)
        took_ms = (time.perf_counter() - started) * 1000
        return SearchAnswer(
            hits=hits,
            found=matched.found,
            facets=matched.facets,
            took_ms=took_ms,
            languages=matched.languages,
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
        with self._lock, as_indexing_errors(self.path):
            return read_state(self._connection, "dim")

    def vector_model(self) -> str | None:
        """Return the name of the embedding model; None if none is stored."""
        with self._lock, as_indexing_errors(self.path):
            return stored_model(self._connection)

    def name_model(self, model: str) -> None:
        """Store the name of the embedding model, unless one is stored."""
        with self._lock, as_indexing_errors(self.path):
            retried(lambda: self._writer.name_model(model))

    def count(self) -> int:
        """Return the number of documents."""
        with self._lock, as_indexing_errors(self.path):
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
        with self._lock, as_indexing_errors(self.path):
            found = self._connection.execute(query, (desk, str(first), str(last)))
            rows = found.fetchall()
        names = ("article_id", "agency", "day", "document_hash")
        frame = pl.DataFrame(rows, dict.fromkeys(names, pl.String), orient="row")
        frame = frame.with_columns(pl.col("day").str.to_date())
        return of_partitions(frame, keys)


def save_arrays(connection: sqlite3.Connection) -> None:
    """Save the facts and vectors of all documents as arrays, which readers map.

    They are made without the write lock; what is deleted meanwhile is erased.
    """
    with reading(connection):
        before = _generation_and_arrays(connection)
        table = DocumentTable(connection, maps_saved=False)
        table.refresh()
        vectors = _all_vectors(connection, table)
        (deletion,) = connection.execute(_LAST_DELETION).fetchone()
    with writing(connection):
        if _generation_and_arrays(connection) != before:
            return  # a rebuild was swapped in, or another writer saved arrays
        arrays = {**table.arrays(), **vectors.arrays()}
        store_arrays(connection, arrays, table.size - 1)
        find = "SELECT n FROM deleted WHERE deletion > ?"
        deleted = connection.execute(find, (deletion,))
        erase(connection, [n for (n,) in deleted])


def _generation_and_arrays(connection: sqlite3.Connection) -> tuple[int | None, ...]:
    names = ("generation", ARRAYS_KEY)
    return tuple(read_state(connection, name) for name in names)


def _all_vectors(connection: sqlite3.Connection, table: DocumentTable) -> VectorMatrix:
    """Return all vectors: the saved ones with the new ones, without the saved ones if
    most of these are deleted.
    """
    vectors = VectorMatrix(connection)
    dim = read_state(connection, "dim")
    if dim is None:
        return vectors
    vectors.refresh(dim)
    if vectors.share_of(table.is_alive) < _LEAST_ALIVE:
        vectors = VectorMatrix(connection, maps_saved=False)
        vectors.refresh(dim)
    return vectors


# --- rebuild --------------------------------------------------------------------------


_SWAP_WAIT_S = 120.0  # for writers of the file in use
# documents; parts as large as merged ones are written once instead of twice
FOLD_AT = 32_000
_SUFFIXES = ("", "-wal", "-shm")


class SqliteRebuild:
    """A search file that is being filled. `is_resumed`: it has documents of an
    interrupted rebuild.
    """

    def __init__(
        self,
        path: Path,
        index: SqliteSearchIndex,
        writer: DocumentWriter,
        dim: int | None,
        *,
        is_resumed: bool,
    ) -> None:
        self.path = path
        self.is_resumed = is_resumed
        self._index = index
        self._writer = writer
        self._dim = dim

    @classmethod
    def begin(cls, path: Path, dim: int | None, model: str | None) -> Self:
        """Return a new file beside this one, or the file of an interrupted rebuild with
        this model and dimensions.

        Raises:
            IndexingError: The folder cannot be written.
        """
        new_path = path.with_name(f"{path.name}.rebuild")
        is_resumed = new_path.exists()
        try:
            index, writer = _open(new_path, dim, model)
        except IndexingError:
            if not is_resumed:
                raise
            is_resumed = False  # of another version, model or dimensions, or damaged
            _remove(new_path)
            index, writer = _open(new_path, dim, model)
        return cls(path, index, writer, dim, is_resumed=is_resumed)

    def close(self) -> None:
        """Close the file, which stays on disk until the swap."""
        self._index.close()

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store documents; return {article_id: reason} for refused ones."""
        with as_indexing_errors(self._index.path):
            return self._writer.upsert(documents, self._dim)

    def delete(self, article_ids: Sequence[str]) -> None:
        """Remove documents; unknown ids are ignored."""
        self._index.delete(article_ids)

    def stored(self, desk: str) -> "pl.DataFrame":
        """Return article_id, agency, day and document_hash of a desk's documents in the
        new file.
        """
        return self._index.stored(desk)

    def swap(self, expected: Mapping[str, Mapping[str, str]]) -> None:
        """Replace the file in use by the new one, if it has exactly the expected
        document hashes by desk and article.

        Raises:
            IndexingError: The new file differs from what is expected, or the file in
                use could not be written; the file in use is unchanged.
        """
        problems = parity_problems(expected, self.stored, self._index.count())
        if problems:
            raise IndexingError(
                f"{self._index.path}: incomplete: {'; '.join(problems)}; {self.path} is unchanged"
            )
        with as_indexing_errors(self._index.path):
            self._writer.fold()
        self.close()
        with as_indexing_errors(self.path):
            _copy_over(self._index.path, self.path)
            _remove(self._index.path)
        with SqliteSearchIndex.open(self.path) as used:
            used.save_rebuilt()


def _open(
    path: Path, dim: int | None, model: str | None
) -> tuple[SqliteSearchIndex, DocumentWriter]:
    """Return a search file without concurrent readers, and its writer, which writes
    larger parts.
    """
    connection = connect(path)
    try:
        with as_indexing_errors(path):
            for stored, wanted in (
                (read_state(connection, "dim"), dim),
                (stored_model(connection), model),
            ):
                if stored not in (None, wanted):
                    raise IndexingError(
                        f"{path}: its vectors are of {stored}, the lake's of {wanted}"
                    )
            # Without a write-ahead log only overwritten pages are written twice: 190 us
            # a document instead of 290.
            connection.execute("PRAGMA journal_mode = TRUNCATE")
            # mapped pages count as memory of this process
            connection.execute("PRAGMA mmap_size = 0")
            writer = DocumentWriter(connection, fold_at=FOLD_AT)
            if model is not None:
                writer.name_model(model)
    except BaseException:
        connection.close()
        raise
    return SqliteSearchIndex(path, connection), writer


def _copy_over(source: Path, target: Path) -> None:
    with (
        closing(sqlite3.connect(source, isolation_level=None)) as new,
        closing(
            sqlite3.connect(target, timeout=BUSY_TIMEOUT_S, isolation_level=None)
        ) as used,
    ):
        check_owner(used, target)
        _take_page_size(new, used)
        new.execute(
            "INSERT OR REPLACE INTO state VALUES ('generation', ?)",
            (secrets.randbits(62),),
        )
        used.execute("PRAGMA journal_mode = WAL")
        used.execute("PRAGMA synchronous = NORMAL")
        new.backup(
            used,
            progress=_give_up_after(target, time.monotonic() + _SWAP_WAIT_S),
            sleep=0.05,
        )
        used.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _take_page_size(new: sqlite3.Connection, used: sqlite3.Connection) -> None:
    """Give both files the same page size, which SQLite cannot change in a file with a
    write-ahead log.
    """
    (new_bytes,) = new.execute("PRAGMA page_size").fetchone()
    (used_bytes,) = used.execute("PRAGMA page_size").fetchone()
    if is_empty(used):
        used.execute(f"PRAGMA page_size = {new_bytes}")  # a new file
    elif new_bytes != used_bytes:
        new.execute("PRAGMA journal_mode = DELETE")
        new.execute(f"PRAGMA page_size = {used_bytes}")
        new.execute("VACUUM")


def _give_up_after(path: Path, deadline: float) -> Callable[[int, int, int], None]:
    def check(status: int, remaining: int, total: int) -> None:
        if (
            status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            and time.monotonic() >= deadline
        ):
            error = IndexingError(
                f"{path}: another process keeps the search index locked; run the rebuild again"
            )
            error.is_transient = True
            raise error

    return check


def _remove(path: Path) -> None:
    for suffix in _SUFFIXES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
