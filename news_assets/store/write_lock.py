"""Whose turn it is to write: one writer of a lake at a time, in about the order they came.

In: where the catalog is. Out: a `Turn` to hold while a transaction runs. It makes writers wait instead of failing; that
no commit is lost does not depend on it (see `lake.py`). A holder that dies lets go at once, because the kernel or
Postgres does it for him.
"""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Protocol

import duckdb
from filelock import FileLock, Timeout

from news_assets.errors import LakeError

_LOCK_ID = 0x6E657773  # "news"; advisory locks count per database


class Turn(Protocol):
    """The right to write."""

    def held(self, wait_s: float) -> AbstractContextManager[None]:
        """Hold it. Raises LakeError where it does not come within `wait_s` seconds, or is already held here."""
        ...


class _ThreadTurn:
    """One thread of this process at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None

    @contextmanager
    def held(self, wait_s: float) -> Iterator[None]:
        if self._owner == threading.get_ident():
            raise LakeError("a transaction cannot begin inside another one of the same thread")
        if not self._lock.acquire(timeout=wait_s):
            raise _too_long("the lake", wait_s)
        self._owner = threading.get_ident()
        try:
            yield
        finally:
            self._owner = None
            self._lock.release()


class FileTurn:
    """For a catalog in a file: two lock files beside it.

    Whoever waits for the second one holds the first, so a writer that begins again at once has to queue behind him.
    Four writers that commit without a pause beside one of three two-second transactions waited 7.9 s at most; with one
    lock file 7.9 to 11.5 s, because who polled at the right moment won.
    """

    def __init__(self, catalog: Path) -> None:
        self._threads = _ThreadTurn()
        self._queue = FileLock(f"{catalog}.queue.lock", poll_interval=0.01)
        self._writer = FileLock(f"{catalog}.writer.lock", poll_interval=0.002)

    @contextmanager
    def held(self, wait_s: float) -> Iterator[None]:
        """Hold it; see `Turn`."""
        with ExitStack() as stack:
            stack.enter_context(self._threads.held(wait_s))
            try:
                with self._queue.acquire(timeout=wait_s):
                    stack.enter_context(self._writer.acquire(timeout=wait_s))
            except Timeout as error:
                raise _too_long(error.lock_file, wait_s) from error
            except OSError as error:
                raise LakeError(f"{error.filename}: cannot be locked: {error.strerror}") from error
            yield


class PostgresTurn:
    """For a catalog in Postgres: an advisory lock, which Postgres hands on in the order of asking."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, database: str) -> None:
        self._threads = _ThreadTurn()
        self._connection = connection
        self._database = database

    @contextmanager
    def held(self, wait_s: float) -> Iterator[None]:
        """Hold it; see `Turn`."""
        with self._threads.held(wait_s), self._connection.cursor() as cursor:
            cursor.begin()
            try:
                cursor.execute(f"CALL postgres_execute('{self._database}', '{_lock_statement(wait_s)}')")
            except duckdb.Error as error:
                if "lock timeout" in str(error):
                    raise _too_long("the Postgres catalog", wait_s) from error
                raise
            try:
                yield
            finally:
                _end(cursor)


def _end(cursor: duckdb.DuckDBPyConnection) -> None:
    """End the cursor's transaction, and the lock with it; a server that is gone has ended it already.

    Closing the cursor would end it, too, but an error within that ends the process (DuckDB 1.5.5).
    """
    with suppress(duckdb.Error):
        cursor.rollback()


def _lock_statement(wait_s: float) -> str:
    return f"SET LOCAL lock_timeout = {round(wait_s * 1000)}; SELECT pg_advisory_xact_lock({_LOCK_ID})"


def _too_long(what: str, wait_s: float) -> LakeError:
    error = LakeError(f"{what}: other writers held it for more than {wait_s:g} s; try again")
    error.is_transient = True
    return error
