"""Rebuilds the index in a new file beside the one in use, and swaps it in.

The swap replaces the pages of the file in use by the new ones in one transaction. Other
processes may have the file open: readers keep their snapshot, writers wait, and a
killed swap changes nothing. (Moving the new file over the old one would leave other
processes with a deleted file, and the new file with a foreign write-ahead log.)

An interrupted rebuild leaves its file, which the next rebuild resumes.
"""

import secrets
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Self

from news_assets.clients.search.embedded.document_writer import (
    DocumentWriter,
    stored_model,
)
from news_assets.clients.search.embedded.search_file import (
    BUSY_TIMEOUT_S,
    check_owner,
    connect,
    is_empty,
    read_state,
    translated,
)
from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.clients.search.stored_documents import parity_problems
from news_assets.errors import IndexingError
from news_assets.ports.search_index import SearchDocument

if TYPE_CHECKING:
    import polars as pl

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
        with translated(self._index.path):
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
        with translated(self._index.path):
            self._writer.fold()
        self.close()
        with translated(self.path):
            _copy_over(self._index.path, self.path)
            _remove(self._index.path)


def _open(
    path: Path, dim: int | None, model: str | None
) -> tuple[SqliteSearchIndex, DocumentWriter]:
    """Return a search file without concurrent readers, and its writer, which writes
    larger parts.
    """
    connection = connect(path)
    try:
        with translated(path):
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
