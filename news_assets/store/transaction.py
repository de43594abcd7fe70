"""What can be done inside one moment of the lake: reads of a snapshot, and the writes of a transaction.

In: record types, agency-days, values by column, rows. Out: records and frames. When a transaction begins, ends or runs
again is decided in `lake.py`; DuckDB's errors pass through to there.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from itertools import count as count_from
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from news_assets.records import AgencyDays
from news_assets.store.connection import LAKE
from news_assets.store.rows import ArrowStream, frame_of, records_of
from news_assets.store.tables import Table, columns, polars_schema, table_of
from news_assets.store.where import Selection, select

if TYPE_CHECKING:
    import polars

R = TypeVar("R")

_PARAMETER = re.compile(r"\$(\w+)|\?")


class Snapshot:
    """What can be read, at one moment of the lake."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self.cursor = cursor

    def read(self, record: type[R], keys: AgencyDays | None = None, **isin: Collection[Any]) -> list[R]:
        """Return records, ordered by key: those of the partitions, with one of the values in each named column.

        Reading whole rows by a column other than the key unpacks whole files; to look hashes up, use `frame` with few
        columns.

        Raises:
            ValueError: An unknown column.
        """
        return list(records_of(table_of(record), record, self._picked(record, keys, None, isin)))

    def frame(
        self,
        record: type,
        keys: AgencyDays | None = None,
        columns: Sequence[str] | None = None,
        **isin: Collection[Any],
    ) -> "polars.DataFrame":
        """Return the same as a frame, with only the named columns, which is all that is then read from disk."""
        return self._picked(record, keys, columns, isin)

    def _picked(
        self,
        record: type,
        keys: AgencyDays | None,
        columns: Sequence[str] | None,
        isin: Mapping[str, Collection[Any]],
    ) -> "polars.DataFrame":
        table = table_of(record)
        selection = select(table, keys, isin)
        if selection.is_empty:
            return _no_rows(table, columns)
        if columns is None and keys is None and selection.frames and table.partition_column not in isin:
            self._narrow(selection)
        return self._rows(selection, columns)

    def _narrow(self, selection: Selection) -> None:
        """Find the days of the wanted rows first, from few columns, so that only those months' texts are unpacked.

        800 articles of one day by id among 500,000: 0.6 s in place of 5.5, on a busy machine.
        """
        column = selection.table.partition_column
        if column is None:
            return
        sql = f'SELECT min("{column}") AS first, max("{column}") AS last FROM "{selection.table.name}"'
        with self._joined(selection):
            first, last = self.query(sql + selection.where, selection.params).row(0)
        selection.add(f'"{column}" BETWEEN ? AND ?', first, last)

    def _rows(self, selection: Selection, names: Sequence[str] | None) -> "polars.DataFrame":
        table = selection.table
        declared = [column.name for column in columns(table)]
        chosen = declared if names is None else list(dict.fromkeys(names))
        unknown = set(chosen) - set(declared)
        if unknown:
            raise ValueError(f"{table.name} has no column {', '.join(sorted(unknown))}")
        picked = ", ".join(f'"{name}"' for name in chosen)
        order = ", ".join(f'"{name}"' for name in table.row_order)
        sql = f'SELECT {picked} FROM "{table.name}"{selection.where} ORDER BY {order}'
        with self._joined(selection):
            return self.query(sql, selection.params)

    def stream(
        self, record: type, keys: AgencyDays | None, batch_rows: int, isin: Mapping[str, Collection[Any]]
    ) -> "Iterator[polars.DataFrame]":
        """Yield the same rows by day and then by key, cut at day's end into frames of about `batch_rows`."""
        table = table_of(record)
        if table.partition_column is None:
            yield self._picked(record, keys, None, isin)
            return
        column = f'"{table.partition_column}"'
        for first, last in _runs(self._day_counts(select(table, keys, isin), column), batch_rows):
            window = select(table, keys, isin)
            window.add(f"{column} >= ? AND {column} < CAST(? AS DATE) + 1", first, last)
            yield self._rows(window, None)

    def _day_counts(self, selection: Selection, column: str) -> list[tuple[date, int]]:
        sql = f'SELECT CAST({column} AS DATE) AS day, count(*) FROM "{selection.table.name}"{selection.where}'
        with self._joined(selection):
            return self.query(f"{sql} GROUP BY 1 ORDER BY 1", selection.params).rows()

    @contextmanager
    def _joined(self, selection: Selection) -> Iterator[None]:
        for name, frame in selection.frames.items():
            self.cursor.register(name, ArrowStream(frame))
        try:
            yield
        finally:
            for name in selection.frames:
                self.cursor.unregister(name)

    def query(self, sql: str, params: Collection[Any] | Mapping[str, Any] = ()) -> "polars.DataFrame":
        """Return the answer to one SELECT over the tables.

        `?`, `$1` or `$name` in it stand for the parameters, and nowhere for themselves.
        """
        import polars as pl

        named = dict(params) if isinstance(params, Mapping) else {str(n): one for n, one in enumerate(params, 1)}
        if any(value is None or value == [] for value in named.values()):  # only a parameter takes its type from around
            return pl.DataFrame(self.cursor.sql(sql, params=named if isinstance(params, Mapping) else list(params)))
        # Given parameters, `cursor.sql` hands over what it ran before: 5,000 vectors of 384 took 1.1 s. A statement
        # without any is read as it runs, .08 s; so the values go there as variables of the session.
        for name, value in named.items():
            self.cursor.execute(f"SET VARIABLE given_{name} = ?", [value])
        return pl.DataFrame(self.cursor.sql(_with_variables(sql) if named else sql))

    def snapshot(self) -> int:
        """Return the number of the latest commit; it moves with every change of any table."""
        row = self.cursor.execute(f"FROM {LAKE}.current_snapshot()").fetchone()
        return int(row[0]) if row else 0


def _with_variables(sql: str) -> str:
    """Return the statement with variables in place of its parameters."""
    numbers = count_from(1)
    return _PARAMETER.sub(lambda found: f"getvariable('given_{found[1] or next(numbers)}')", sql)


def _no_rows(table: Table, names: Sequence[str] | None) -> "polars.DataFrame":
    import polars as pl

    frame = pl.DataFrame(schema=polars_schema(table))
    return frame if names is None else frame.select(names)


def _runs(days: list[tuple[date, int]], batch_rows: int) -> Iterator[tuple[date, date]]:
    """Yield first and last day of runs that hold at most `batch_rows` rows, or one day that holds more."""
    first, held = None, 0
    for position, (day, count) in enumerate(days):
        first = first or day
        held += count
        if position + 1 == len(days) or held + days[position + 1][1] > batch_rows:
            yield first, day
            first, held = None, 0


class Transaction(Snapshot):
    """Reads and writes that become visible together, or not at all."""

    def upsert(self, rows: Collection[Any]) -> None:
        """Store rows of one record type in place of those with the same key; of two with one key the later one.

        Raises:
            LakeError: A value has a wrong type.
        """
        if rows:
            table = table_of(type(next(iter(rows))))
            if not table.key:
                raise ValueError(f"{table.name} has no key: rows are only appended")
            frame = frame_of(table, list(rows)).unique(table.key, keep="last")
            with self._joined(Selection(table, frames={"incoming": frame})):
                self._delete_keys(table.name, table.key, frame)
                self.cursor.execute(f'INSERT INTO "{table.name}" BY NAME FROM incoming')

    def _delete_keys(self, table: str, key: tuple[str, ...], frame: "polars.DataFrame") -> None:
        # The range of the first key column lets DuckLake skip the files and row groups of other agencies.
        names = ", ".join(f'"{name}"' for name in key)
        self.cursor.execute(
            f'DELETE FROM "{table}" WHERE "{key[0]}" BETWEEN ? AND ? AND ({names}) IN (SELECT {names} FROM incoming)',
            [frame[key[0]].min(), frame[key[0]].max()],
        )

    def append(self, rows: Collection[Any]) -> None:
        """Store rows of one record type beside those that are there, whatever their key."""
        if rows:
            table = table_of(type(next(iter(rows))))
            with self._joined(Selection(table, frames={"incoming": frame_of(table, list(rows))})):
                self.cursor.execute(f'INSERT INTO "{table.name}" BY NAME FROM incoming')

    def delete(self, record: type, keys: AgencyDays | None = None, **isin: Collection[Any]) -> int:
        """Delete the rows that `read` would return with the same arguments; return how many there were.

        Raises:
            ValueError: Nothing says which rows.
        """
        if keys is None and not isin:
            raise ValueError(f"{table_of(record).name}: say which rows to delete")
        selection = select(table_of(record), keys, isin)
        with self._joined(selection):
            row = self.cursor.execute(
                f'DELETE FROM "{selection.table.name}"{selection.where}', selection.params
            ).fetchone()
        return int(row[0]) if row else 0
