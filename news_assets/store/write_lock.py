"""Cross-process write lock of a lake, roughly first come, first served.

With it, writers wait instead of failing. It does not protect the rows: a commit fails
if another one came in between (see `lake.py`). The kernel or Postgres releases the lock
when the process that holds it dies.
"""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Protocol

import duckdb
from filelock import FileLock, Timeout

from news_assets.errors import LakeError

_LOCK_ID = 0x6E657773  # "news"; advisory locks are per database


class WriteLock(Protocol):
    """A lock that one writer of a lake holds at a time."""

    def held(self, wait_s: float) -> AbstractContextManager[None]:
        """Hold the lock. Raises LakeError after `wait_s` seconds without it, or if this
        thread already holds it.
        """
        ...


class _ThreadLock:
    """A lock between the threads of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None

    @contextmanager
    def held(self, wait_s: float) -> Iterator[None]:
        if self._owner == threading.get_ident():
            raise LakeError(
                "a transaction cannot begin inside another one of the same thread; use the"
                " outer one"
            )
        if not self._lock.acquire(timeout=wait_s):
            raise _too_long("the lake", wait_s)
        self._owner = threading.get_ident()
        try:
            yield
        finally:
            self._owner = None
            self._lock.release()


class FileWriteLock:
    """The write lock of a catalog in a file: two lock files beside it.

    The next writer holds the queue lock while it waits for the writer lock, so a writer
    that has just committed cannot overtake it. Among four writers that commit without a
    pause and one with three two-second transactions, the longest wait was 7.9 s; with a
    single lock file 7.9 to 11.5 s, because any waiting process could get the lock.
    """

    def __init__(self, catalog: Path) -> None:
        self._threads = _ThreadLock()
        self._queue = FileLock(f"{catalog}.queue.lock", poll_interval=0.01)
        self._writer = FileLock(f"{catalog}.writer.lock", poll_interval=0.002)

    @contextmanager
    def held(self, wait_s: float) -> Iterator[None]:
        """Hold the lock; see `WriteLock`."""
        with ExitStack() as stack:
            stack.enter_context(self._threads.held(wait_s))
            try:
                with self._queue.acquire(timeout=wait_s):
                    stack.enter_context(self._writer.acquire(timeout=wait_s))
            except Timeout as error:
                raise _too_long(error.lock_file, wait_s) from error
            except OSError as error:
                raise LakeError(
                    f"{error.filename}: cannot be locked: {error.strerror}; check permissions"
                ) from error
            yield


class NoWriteLock:
    """The write lock of a catalog in a folder that cannot be written: it is never free."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def held(self, wait_s: float) -> Iterator[None]:
        """Raise LakeError."""
        raise LakeError(
            f"{self._folder}: this folder is not writable, so the lake in it can only be read"
        )
        yield


class PostgresWriteLock:
    """The write lock of a catalog in Postgres: an advisory lock, which Postgres grants
    in the order of requests.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, database: str) -> None:
        self._threads = _ThreadLock()
        self._connection = connection
        self._database = database

    @contextmanager
    def held(self, wait_s: float) -> Iterator[None]:
        """Hold the lock; see `WriteLock`."""
        with self._threads.held(wait_s), self._connection.cursor() as cursor:
            cursor.begin()
            lock = (
                f"SET LOCAL lock_timeout = {round(wait_s * 1000)}; SELECT"
                f" pg_advisory_xact_lock({_LOCK_ID})"
            )
            try:
                cursor.execute(f"CALL postgres_execute('{self._database}', '{lock}')")
            except duckdb.Error as error:
                if "lock timeout" in str(error):
                    raise _too_long("the Postgres catalog", wait_s) from error
                raise
            try:
                yield
            finally:
                # This releases the lock. Closing the cursor would too, but an error in
                # that, such as a stopped server, aborts the process (DuckDB 1.5.5).
                with suppress(duckdb.Error):
                    cursor.rollback()


def _too_long(what: str, wait_s: float) -> LakeError:
    error = LakeError(
        f"{what}: other writers held the write lock for more than {wait_s:g} s; try again"
    )
    error.is_transient = True
    return error
