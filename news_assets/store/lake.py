"""The lake: every table of the pipeline, read and written by several processes.

Concurrent writers were measured with four processes that each read a row and write it
back (160 commits), and a fifth with two-second transactions (3 commits):

- With its own retries (`ducklake_max_retry_count` 10), DuckLake adds a commit that lost
  the race to the other one without reading again: on Postgres one of 160 updates was
  lost. So the count is 0: a commit fails if another one came in between, and `transact`
  runs its work again from the reads. No update was lost on either catalog.
- Retries alone starve slow writers: the two-second transactions got through only when
  the others had finished, after up to 10.4 s, and a third of all attempts failed. So a
  writer holds the write lock (`connection.py`) from its reads to its commit: no attempt
  failed, and the longest wait was 2.4 s on Postgres and 7.9 s on SQLite.

The lock orders the writers. The failing commit protects the rows, also from a writer
without the lock.

A SQLite catalog keeps a bounded number of snapshots. Every commit adds one, and each
transaction reads some tables of the catalog as a whole: with 20,000 snapshots it takes
14 ms, with 2,000 3 ms. Age alone bounds nothing on a busy day. A Postgres catalog has
indexes for them.
"""

import random
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import duckdb
from tenacity import (
    Retrying,
    retry_if_exception,
    stop_after_delay,
    wait_random_exponential,
)

from news_assets.errors import LakeError
from news_assets.records.reading import WITHDRAWN, AgencyDays
from news_assets.retry_table import LAKE_WRITE
from news_assets.store.address import (
    LAKE,
    Address,
    DataFolder,
    data_error,
    first_damaged_file,
    is_conflict,
)
from news_assets.store.connection import attach, connect, kept_open
from news_assets.store.transaction import Snapshot, Transaction, in_transaction

if TYPE_CHECKING:
    import polars


Mark = tuple[int, ...]

# all waiting sensors of a process together read a Postgres catalog at most so often
_SHARED_S = 0.2
# SQLite writes a commit to its log, syncs the file, and then lets readers see it
_SETTLED_S = 1.0


class Watch:
    """Reads when a catalog was last written. Thread-safe.

    Of a SQLite catalog that is the time and the size of the file and of its write-ahead
    log, some 20 microseconds for both. Opening the file here would release the locks
    that DuckDB holds on it. A Postgres catalog is on another machine: its last commit
    is read, once for all threads.
    """

    def __init__(
        self,
        address: Address,
        snapshot: Callable[[], int],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._catalog = None if address.is_postgres else Path(address.catalog)
        self._log = Path(f"{address.catalog}-wal")
        self._snapshot, self._clock = snapshot, clock
        self._reading = threading.Lock()
        self._read_at = float("-inf")
        self._mark: Mark = ()

    def mark(self) -> Mark:
        """Return the mark of now, see `Lake.mark`. Raises LakeError where Postgres is
        unavailable.
        """
        if self._catalog is not None:
            return self._of_files(self._catalog)
        with self._reading:
            # a clock may be set back
            if abs(self._clock() - self._read_at) >= _SHARED_S:
                self._mark = (self._snapshot(),)
                self._read_at = self._clock()
            return self._mark

    def _of_files(self, catalog: Path) -> Mark:
        """Return a mark that is another one at each call until all that was written can
        be read.
        """
        mark = *_state_of(catalog), *_state_of(self._log)
        now_ns = round(self._clock() * 1e9)
        is_settled = now_ns - max(mark[0], mark[2]) >= _SETTLED_S * 1e9
        return mark if is_settled else (*mark, now_ns)


def _state_of(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


# --- snapshots of a SQLite catalog ----------------------------------------------------


_MOST = 1_000  # that are kept, besides those of withdrawn articles
_STEP = 100  # deleted in one transaction

# `withdraw --undo` reads the texts from the commit before the withdrawal.
_NEEDED = f"""
SELECT withdrawn_after FROM raw_articles
WHERE outcome = '{WITHDRAWN}' AND withdrawn_after IS NOT NULL
"""


def delete_oldest(
    transaction: Transaction, most: int = _MOST, step: int = _STEP
) -> int:
    """Delete the oldest snapshots beyond the newest `most`, at most `step` of them;
    return how many.
    """
    old = transaction.query(
        f"""
        SELECT snapshot_id FROM (
            FROM ducklake_snapshots('{LAKE}') ORDER BY snapshot_id DESC OFFSET {most:d}
        )
        WHERE snapshot_id NOT IN ({_NEEDED}) ORDER BY snapshot_id LIMIT {step:d}
        """
    )["snapshot_id"].to_list()
    if old:
        transaction.cursor.execute(
            f"CALL ducklake_expire_snapshots('{LAKE}', versions => {old})"
        ).fetchall()
    return len(old)


# --- the lake -------------------------------------------------------------------------


_R = TypeVar("_R")
_T = TypeVar("_T")

_STREAM_ROWS = 5_000  # about 20 MB with texts of 2 kB


class Lake:
    """An open lake. Threads may share one; each process opens its own."""

    transactions_per_connection = 1_000  # to connect takes 0.3 s
    # of a SQLite catalog; one write in _STEP deletes the oldest of the others
    kept_snapshots = _MOST

    def __init__(
        self,
        address: Address,
        connect: Callable[[], duckdb.DuckDBPyConnection],
        wait_s: float,
    ) -> None:
        self.address = address
        self._connect = connect
        self._wait_s = wait_s
        self._counting = threading.Lock()
        self._in_progress = 0  # transactions
        self._random = random.Random()
        self._watch = Watch(address, self.snapshot)
        self._open_connection()

    def _open_connection(self) -> None:
        connection = self._connect()
        try:
            self._write_lock = attach(connection, self.address, self._wait_s)
            if not self.address.is_postgres:
                self._open_catalog = kept_open(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        self._begun = 0  # transactions of this connection

    @classmethod
    def open(
        cls,
        catalog: str | Path,
        data: str | Path,
        *,
        backups: str | Path = "",
        threads: int = 2,
        memory_mb: int = 512,
        wait_s: float = 120.0,
    ) -> Self:
        """Open the lake, or create it.

        Declared tables and columns that the lake lacks are added. A catalog that cannot
        be written is read as it is now.

        Args:
            catalog: SQLite file or postgresql://.
            data: Folder or s3://.
            backups: Folder of backups; errors name the newest one.
            threads: DuckDB's threads.
            memory_mb: DuckDB's memory limit.
            wait_s: How long a writer waits for the lock.

        Raises:
            LakeError: The catalog cannot be opened; the message has its address and
                what to do.
        """
        address = Address(str(catalog), str(data), str(backups))
        return cls(address, partial(connect, address, threads, memory_mb), wait_s)

    def close(self) -> None:
        """Close the lake; may be called again."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def read(
        self, record: type[_R], keys: AgencyDays | None = None, **isin: Collection[Any]
    ) -> list[_R]:
        """Return records of the latest commit; see `Snapshot.read`."""
        with self._snapshot() as snapshot:
            return snapshot.read(record, keys, **isin)

    def frame(
        self,
        record: type,
        keys: AgencyDays | None = None,
        columns: Sequence[str] | None = None,
        **isin: Collection[Any],
    ) -> "polars.DataFrame":
        """Return rows of the latest commit as a frame; see `Snapshot.frame`."""
        with self._snapshot() as snapshot:
            return snapshot.frame(record, keys, columns, **isin)

    def query(
        self, sql: str, params: "Collection[Any] | Mapping[str, Any]" = ()
    ) -> "polars.DataFrame":
        """Return the result of one SELECT over the latest commit; see `Snapshot.query`."""
        with self._snapshot() as snapshot:
            return snapshot.query(sql, params)

    def rows_of(
        self, sql: str, params: "Collection[Any] | Mapping[str, Any]" = ()
    ) -> list[dict[str, Any]]:
        """Return the rows of one SELECT over the latest commit; see `Snapshot.rows_of`."""
        with self._snapshot() as snapshot:
            return snapshot.rows_of(sql, params)

    def days_of(self, article_ids: Collection[str]) -> set[date] | None:
        """Return the days that rows of these articles can be of; see `Snapshot.days_of`."""
        with self._snapshot() as snapshot:
            return snapshot.days_of(article_ids)

    def snapshot(self) -> int:
        """Return the number of the latest commit, which grows with every change of any
        table.
        """
        with self._snapshot() as snapshot:
            return snapshot.snapshot()

    def mark(self) -> Mark:
        """Return a value that differs once there is another commit: far cheaper than
        `snapshot`.

        It may also differ where there is none: for a second after each write, and after
        a checkpoint.
        """
        return self._watch.mark()

    def check_data(self) -> None:
        """Check that the catalog can be read, and that the data folder is there.

        Raises:
            LakeError: One of them is not.
        """
        with self._snapshot() as snapshot:
            folder = DataFolder(self.address, snapshot.cursor)
            if folder.lake_id() is None and snapshot.snapshot():
                raise LakeError(
                    f"{self.address.data}: the data folder is missing or empty; check that it is"
                    " mounted and that NEWS_DATA is right"
                )

    def stream(
        self,
        record: type,
        keys: AgencyDays | None = None,
        batch_rows: int = _STREAM_ROWS,
        **isin: Collection[Any],
    ) -> "Iterator[polars.DataFrame]":
        """Yield the rows of one snapshot in frames of about `batch_rows`, by day and
        then by key.

        Only one frame is in memory at a time. A day is never split, so a frame has more
        rows if its day has.
        """
        with self._snapshot() as snapshot:
            yield from snapshot.stream(record, keys, batch_rows, isin)

    @contextmanager
    def latest(self) -> Iterator[Snapshot]:
        """Yield the reads of the latest commit in one transaction; each read outside of
        one begins its own, in 3 ms.
        """
        with self._snapshot() as snapshot:
            yield snapshot

    @contextmanager
    def at(self, commit: int) -> Iterator[Snapshot]:
        """Yield the reads of an earlier commit, which maintenance keeps for some days.

        Raises:
            LakeError: The commit is not kept any more, or its tables lack columns that
                were added since.
        """
        with self._snapshot(commit) as snapshot:
            yield snapshot

    @contextmanager
    def _snapshot(self, commit: int | None = None) -> Iterator[Snapshot]:
        try:
            with self._counted(), self._transaction() as cursor:
                yield Snapshot(cursor, commit)
        except duckdb.Error as error:
            raise self._error("the lake could not be read", error) from error

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count a transaction; now and then, when no other is in progress, connect
        again before it.

        DuckDB keeps DuckLake's statistics of every commit that it has read: some 160 kB
        for each, beyond its memory limit. Detaching the lake does not free them.
        """
        with self._counting:
            if (
                self._begun >= self.transactions_per_connection
                and not self._in_progress
            ):
                former = self._connection
                self._open_connection()
                former.close()
            self._begun += 1
            self._in_progress += 1
        try:
            yield
        finally:
            with self._counting:
                self._in_progress -= 1

    @contextmanager
    def _transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a cursor in a transaction; `USE` outside of it would look the latest
        commit up once more, in 3 ms.
        """
        with self._connection.cursor() as cursor, in_transaction(cursor):
            cursor.execute(f"USE {LAKE}")
            yield cursor

    def transact(self, work: Callable[[Transaction], _T]) -> _T:
        """Run `work` in one transaction and return its result; if it raises, nothing is
        stored.

        `work` may run several times, each time from the latest commit, so its only side
        effects must be those on its transaction. It blocks all other writers: fetch
        pages and run models before calling it.

        Raises:
            LakeError: The write lock was not free in time, or the lake could not be
                written. `is_transient` is set if another attempt can succeed.
        """
        retrying = Retrying(
            retry=retry_if_exception(is_conflict),
            stop=stop_after_delay(self._wait_s),
            wait=wait_random_exponential(
                multiplier=LAKE_WRITE.pauses_s[0], max=LAKE_WRITE.longest_s
            ),
            reraise=True,
        )
        try:
            result: _T = retrying(self._transact_once, work)
        except duckdb.Error as error:
            raise self._error("the lake could not be written", error) from error
        if not self.address.is_postgres and self._is_upkeep_due():
            with suppress(duckdb.Error, LakeError):  # a later write does it
                self._transact_once(partial(delete_oldest, most=self.kept_snapshots))
        return result

    def _is_upkeep_due(self) -> bool:
        """Whether this transaction is one in _STEP.

        By chance, because a process may end after a few of them.
        """
        return self._random.random() < 1 / _STEP

    def _error(self, what: str, error: duckdb.Error) -> LakeError:
        return data_error(
            self.address,
            what,
            error,
            lambda: first_damaged_file(self.address, self._connection),
        )

    def _transact_once(self, work: Callable[[Transaction], _T]) -> _T:
        with (
            self._counted(),
            self._write_lock.held(self._wait_s),
            self._transaction() as cursor,
        ):
            return work(Transaction(cursor))
