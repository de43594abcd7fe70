"""The lake: every table of the pipeline, in one place that several processes read and write.

In and out: the row types of `records.py`. What a row means, and what is to be read or written, is decided by others.

How two writers come to agree (measured with four processes that each read a row and wrote it back, and a fifth whose
transactions take two seconds; 160 and 3 commits):

- Left to itself (`ducklake_max_retry_count` 10), DuckLake puts a commit that lost the race beside the other's without
  reading again: on Postgres one of 160 updates was lost. So the count is 0: a commit fails if any other came between,
  and `transact` runs its work again from the read. Nothing was lost on either catalog.
- That alone starves the slow: the two-second transactions only got through when the others had finished, after up to
  10.4 s, and a third of all attempts failed. So writers take turns (`turn.py`) and hold the turn from read to commit:
  no attempt failed, and on Postgres nobody waited longer than 2.4 s (on SQLite 7.9 s, see `turn.py`).

The turn orders writers; the failing commit protects the rows, also from a writer who knows nothing of turns.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import duckdb
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from news_assets.records import AgencyDays
from news_assets.store.connection import LAKE, Address, attach, connect, is_conflict, lake_error
from news_assets.store.transaction import Snapshot, Transaction

if TYPE_CHECKING:
    import polars

R = TypeVar("R")
T = TypeVar("T")

_STREAM_ROWS = 5_000  # with 2 kB of text some 20 MB


class Lake:
    """An open lake; several threads may use one, and several processes may each open it."""

    def __init__(self, address: Address, connection: duckdb.DuckDBPyConnection, wait_s: float) -> None:
        self.address = address
        self._connection = connection
        self._wait_s = wait_s
        self._turn = attach(connection, address, wait_s)

    @classmethod
    def open(
        cls, catalog: str | Path, data: str | Path, *, threads: int = 2, memory_mb: int = 512, wait_s: float = 120.0
    ) -> Self:
        """Return the lake with this catalog (SQLite file or postgresql://) and data (folder or s3://), made if missing.

        Tables and columns that the declaration has and the lake has not are added. `wait_s` bounds how long a writer
        waits for the others, in seconds.

        Raises:
            LakeError: The catalog cannot be opened; says where it is and what to do.
        """
        address = Address(str(catalog), str(data))
        connection = connect(address, threads, memory_mb)
        try:
            return cls(address, connection, wait_s)
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        """Let go of it; closing twice is no error."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def read(self, record: type[R], keys: AgencyDays | None = None, **isin: Collection[Any]) -> list[R]:
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

    def query(self, sql: str, params: "Collection[Any] | Mapping[str, Any]" = ()) -> "polars.DataFrame":
        """Return the answer to one SELECT over the latest commit; see `Snapshot.query`."""
        with self._snapshot() as snapshot:
            return snapshot.query(sql, params)

    def snapshot(self) -> int:
        """Return the number of the latest commit; it moves with every change of any table."""
        with self._snapshot() as snapshot:
            return snapshot.snapshot()

    def stream(
        self,
        record: type,
        keys: AgencyDays | None = None,
        batch_rows: int = _STREAM_ROWS,
        **isin: Collection[Any],
    ) -> "Iterator[polars.DataFrame]":
        """Yield the rows in frames of about `batch_rows`, by day and then by key, all of one moment.

        Only one frame is in memory at a time; a day with more rows comes as one frame all the same.
        """
        with self._snapshot() as snapshot:
            yield from snapshot.stream(record, keys, batch_rows, isin)

    @contextmanager
    def _snapshot(self) -> Iterator[Snapshot]:
        try:
            with self._cursor() as cursor, in_transaction(cursor):
                yield Snapshot(cursor)
        except duckdb.Error as error:
            raise lake_error(self.address, "the lake could not be read", error) from error

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._connection.cursor() as cursor:
            cursor.execute(f"USE {LAKE}")
            yield cursor

    def transact(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in one transaction and return what it returns; nothing of it stays where it raises.

        `work` may run more than once, each time from the latest commit: it reads, decides and writes through the
        transaction it is given, and does nothing else that counts. No other writer of this lake runs meanwhile, so
        what takes long (a page, a model) is done before.

        Raises:
            LakeError: The turn did not come in time, or the lake could not be written; `is_transient` where a later
                try can help.
        """
        retrying = Retrying(
            retry=retry_if_exception(is_conflict),
            stop=stop_after_delay(self._wait_s),
            wait=wait_random_exponential(multiplier=0.02, max=1.0),
            reraise=True,
        )
        try:
            result: T = retrying(self._transact_once, work)
            return result
        except duckdb.Error as error:
            raise lake_error(self.address, "the lake could not be written", error) from error

    def _transact_once(self, work: Callable[[Transaction], T]) -> T:
        with self._turn.held(self._wait_s), self._cursor() as cursor, in_transaction(cursor):
            return work(Transaction(cursor))


@contextmanager
def in_transaction(cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commit what happens inside, or roll all of it back where it raises."""
    cursor.begin()
    try:
        yield
        cursor.commit()
    except BaseException:
        with suppress(duckdb.Error):  # a commit that failed has rolled back already
            cursor.rollback()
        raise
