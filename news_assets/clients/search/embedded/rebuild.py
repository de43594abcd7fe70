"""A new search file beside the one in use, until it takes its place.

Documents enter; at the swap the new file's pages replace the old ones' within one transaction of the file in use. So
other processes may have it open all the while: who reads keeps to what he began with, who writes waits, and whoever
was killed half-way has changed nothing. (A file moved over the old one would leave them at a file that is gone, and
beside the new one a write-ahead log that is not its own.)

An interrupted rebuild leaves its file, and the next one goes on with it.
"""

import secrets
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Self

from news_assets.clients.search.embedded.index import SqliteSearchIndex
from news_assets.clients.search.embedded.schema import APPLICATION_ID, BUSY_TIMEOUT_S, connect, read_state, translated
from news_assets.clients.search.embedded.writing import DocumentWriter, stored_model
from news_assets.clients.search.parity import parity_problems
from news_assets.errors import IndexingError
from news_assets.ports import SearchDocument
from news_assets.records import AgencyDays

if TYPE_CHECKING:
    import polars as pl

SWAP_WAIT_S = 120.0  # for those who write into the file in use
FOLD_AT = 32_000  # documents: parts as large as merging makes them, written once in place of twice
_PARTS = ("", "-wal", "-shm")


class SqliteRebuild:
    """A search file that is being filled. `is_resumed`: an interrupted one goes on."""

    def __init__(
        self, path: Path, index: SqliteSearchIndex, writer: DocumentWriter, dim: int | None, *, is_resumed: bool
    ) -> None:
        self.path = path
        self.is_resumed = is_resumed
        self._index = index
        self._writer = writer
        self._dim = dim

    @classmethod
    def begin(cls, path: Path, dim: int | None, model: str | None) -> Self:
        """Return a new file to fill beside this one, or an unfinished one for vectors of this length and model.

        Raises:
            IndexingError: The folder cannot be written.
        """
        beside = path.with_name(f"{path.name}.rebuild")
        is_resumed = beside.exists()
        try:
            index, writer = _open(beside, dim, model)
        except IndexingError:
            if not is_resumed:
                raise
            is_resumed = False  # of another version, length or model, or damaged: only worth a new beginning
            _remove(beside)
            index, writer = _open(beside, dim, model)
        return cls(path, index, writer, dim, is_resumed=is_resumed)

    def close(self) -> None:
        """Close the file, which stays for the next time."""
        self._index.close()

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store documents; return {article_id: reason} for those that were refused."""
        with translated(self._index.path):
            return self._writer.upsert(documents, self._dim)

    def delete(self, article_ids: Sequence[str]) -> None:
        """Remove documents; an unknown id is no error."""
        self._index.delete(article_ids)

    def stored(self, desk: str, keys: AgencyDays | None = None, first_day: date | None = None) -> "pl.DataFrame":
        """Return article_id, agency, day and document_hash of what a desk has in the new file."""
        return self._index.stored(desk, keys, first_day)

    def swap(self, expected: Mapping[str, Mapping[str, str]]) -> None:
        """Let the new file take the place of the one in use, if it has what is expected, by desk.

        Raises:
            IndexingError: Something is missing, left over or in another state, or the file in use could not be
                written; it is as it was then.
        """
        problems = parity_problems(expected, self.stored, self._index.count())
        if problems:
            raise IndexingError(f"{self._index.path}: not complete: {'; '.join(problems)}; {self.path} is as it was")
        with translated(self._index.path):
            self._writer.fold()
        self.close()
        with translated(self.path):
            _copy_over(self._index.path, self.path)
            _remove(self._index.path)


def _open(path: Path, dim: int | None, model: str | None) -> tuple[SqliteSearchIndex, DocumentWriter]:
    """Return a file that nobody else reads, and its writer: written in fewer and larger steps than one in use."""
    connection = connect(path)
    try:
        with translated(path):
            for stored, wanted in ((read_state(connection, "dim"), dim), (stored_model(connection), model)):
                if stored not in (None, wanted):
                    raise IndexingError(f"{path}: its vectors are of {stored}, those of the lake of {wanted}")
            # Only what is overwritten is written twice, and not everything: 190 us a document in place of 290.
            connection.execute("PRAGMA journal_mode = TRUNCATE")
            connection.execute("PRAGMA mmap_size = 0")  # what is mapped counts as memory of this process
            writer = DocumentWriter(connection, fold_at=FOLD_AT)
            if model is not None:
                writer.name_model(model)
    except BaseException:
        connection.close()
        raise
    return SqliteSearchIndex(path, connection, dim), writer


def _copy_over(source: Path, target: Path) -> None:
    with (
        closing(sqlite3.connect(source, isolation_level=None)) as new,
        closing(sqlite3.connect(target, timeout=BUSY_TIMEOUT_S, isolation_level=None)) as used,
    ):
        _check_owner(used, target)
        _take_page_size(new, used)
        new.execute("INSERT OR REPLACE INTO state VALUES ('generation', ?)", (secrets.randbits(62),))
        used.execute("PRAGMA journal_mode = WAL")
        used.execute("PRAGMA synchronous = NORMAL")
        new.backup(used, progress=_until(target, time.monotonic() + SWAP_WAIT_S), sleep=0.05)
        used.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _take_page_size(new: sqlite3.Connection, used: sqlite3.Connection) -> None:
    """Give the new file's pages the size of those they replace: SQLite changes none in a file with a log beside it."""
    (made,), (wanted,) = (one.execute("PRAGMA page_size").fetchone() for one in (new, used))
    if used.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None:
        used.execute(f"PRAGMA page_size = {made}")  # there was no file
    elif made != wanted:
        new.execute("PRAGMA journal_mode = DELETE")
        new.execute(f"PRAGMA page_size = {wanted}")
        new.execute("VACUUM")


def _check_owner(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse another program's file; one of an earlier version of ours is what a rebuild is for."""
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    is_empty = connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None
    if owner != APPLICATION_ID and not is_empty:
        raise IndexingError(f"{path}: not a search index of news_assets; move the file away or choose another path")


def _until(path: Path, ends: float) -> Callable[[int, int, int], None]:
    def check(status: int, remaining: int, total: int) -> None:
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() >= ends:
            error = IndexingError(f"{path}: another process keeps the search index locked; run the rebuild again")
            error.is_transient = True
            raise error

    return check


def _remove(path: Path) -> None:
    for part in _PARTS:
        path.with_name(path.name + part).unlink(missing_ok=True)
