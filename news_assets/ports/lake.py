"""The port of the lake: reading and writing rows."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from news_assets.records.reading import AgencyDays

if TYPE_CHECKING:
    import polars as pl

Row = TypeVar("Row")
Result = TypeVar("Result")


class Reader(Protocol):
    """Reads of the lake."""

    def read(
        self, record: type[Row], keys: AgencyDays | None = None, **isin: Collection[Any]
    ) -> list[Row]:
        """Return the rows of these partitions that have one of the given values in each
        named column, by key.
        """
        ...

    def frame(
        self,
        record: type[Any],
        keys: AgencyDays | None = None,
        columns: Sequence[str] | None = None,
        **isin: Collection[Any],
    ) -> "pl.DataFrame":
        """Return the same rows, or only the named columns, as a frame; by those columns
        of the key that it has.
        """
        ...

    def query(
        self, sql: str, params: Collection[Any] | Mapping[str, Any] = ()
    ) -> "pl.DataFrame":
        """Return the result of one SELECT over the tables."""
        ...


class Rows(Reader, Protocol):
    """The lake within one transaction: its reads see the state that its writes change."""

    @property
    def records(self) -> tuple[type[Any], ...]:
        """The record types of all tables."""
        ...

    def upsert(self, rows: Sequence[Any]) -> None:
        """Store rows of one type, replacing those with the same key."""
        ...

    def append(self, rows: Sequence[Any]) -> None:
        """Add rows of one type."""
        ...

    def delete(
        self, record: type[Any], keys: AgencyDays | None = None, **isin: Collection[Any]
    ) -> int:
        """Delete the rows that `read` returns for the same arguments; return their
        number.
        """
        ...

    def snapshot(self) -> int:
        """Return the number of the commit that the transaction began after."""
        ...


class Lake(Reader, Protocol):
    """The store of all tables."""

    def transact(self, work: Callable[[Rows], Result]) -> Result:
        """Run `work` in one transaction and return its result; run it again if another
        commit came in between.
        """
        ...

    def latest(self) -> AbstractContextManager[Reader]:
        """Enter the reads of the latest commit. They share a transaction; a read
        outside of one begins its own.
        """
        ...

    def at(self, commit: int) -> AbstractContextManager[Reader]:
        """Enter the reads of an earlier commit. Raises LakeError where it is not kept
        any more.
        """
        ...
