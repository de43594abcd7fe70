"""Snapshot reads and transactional writes.

`lake.py` begins, commits and repeats transactions, and translates DuckDB's errors.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from news_assets.records.articles import MovedArticle
from news_assets.records.reading import AgencyDays
from news_assets.store.address import LAKE
from news_assets.store.statements import (
    Selection,
    add_values,
    days_in,
    literal,
    select,
    with_values,
)
from news_assets.store.tables import (
    TABLES,
    ArrowStream,
    Table,
    columns,
    frame_of,
    polars_schema,
    records_of,
    table_of,
)

if TYPE_CHECKING:
    import polars

_R = TypeVar("_R")

# The tables whose rows are recorded in `changes`: what was done to the article, and the
# column with its state.
_CHANGES = {
    "raw_articles": ("if(outcome = 'ok', 'stored', 'withdrawn')", "content_hash"),
    "enriched_articles": ("'enriched'", "input_hash"),
    "article_embeddings": ("'embedded'", "input_hash"),
    "indexed_documents": ("'indexed'", "document_hash"),
}


@contextmanager
def in_transaction(
    cursor: duckdb.DuckDBPyConnection, *, dry_run: bool = False
) -> Iterator[None]:
    """Commit at the end of the block; roll back a dry run, and where the block raises.

    A cursor that is closed within a transaction rolls it back too, but an error in
    that, such as a lost connection to Postgres, aborts the process (DuckDB 1.5.5).
    """
    cursor.begin()
    try:
        yield
        cursor.rollback() if dry_run else cursor.commit()
    except BaseException:
        with suppress(duckdb.Error):  # a failed commit has rolled back already
            cursor.rollback()
        raise


class Snapshot:
    """Reads of one snapshot of the lake: the latest, or that of a commit that is given
    by its number.
    """

    def __init__(
        self, cursor: duckdb.DuckDBPyConnection, commit: int | None = None
    ) -> None:
        self.cursor = cursor
        # by article_id, the days of `moved_articles`, once they were read
        self._noted: dict[str, set[date]] = {}
        self._version = "" if commit is None else f" AT (VERSION => {commit:d})"

    def read(
        self, record: type[_R], keys: AgencyDays | None = None, **isin: Collection[Any]
    ) -> list[_R]:
        """Return the records of these partitions that have one of the given values in
        each named column, by key.

        Reading whole rows by a column other than the key decompresses whole files; to
        look up hashes, use `frame` with few columns.

        Raises:
            ValueError: The table has no such column.
        """
        return list(
            records_of(table_of(record), record, self.frame(record, keys, None, **isin))
        )

    def frame(
        self,
        record: type,
        keys: AgencyDays | None = None,
        columns: Sequence[str] | None = None,
        **isin: Collection[Any],
    ) -> "polars.DataFrame":
        """Return the same rows as a frame; with `columns`, only these are read from
        disk, and order the rows.

        37,000 copy keys without an order take 11 ms, with the order of their key 27 ms.
        """
        table = table_of(record)
        isin = self._with_days(table, keys, isin)
        selection = select(table, keys, isin)
        if selection.is_empty:
            return _empty_frame(table, columns)
        if (
            columns is None
            and keys is None
            and selection.frames
            and table.partition_column not in isin
        ):
            self._narrow(selection)
        return self._rows(selection, columns)

    def _with_days(
        self, table: Table, keys: AgencyDays | None, isin: Mapping[str, Collection[Any]]
    ) -> dict[str, Collection[Any]]:
        """Return the values, for reads by the ids of articles with the days that their
        rows can be of.

        Ids say nothing about which files have their rows: each has all agencies.
        """
        ids = isin.get("article_id")
        if ids is None or None in ids or not table.is_by_article:
            return dict(isin)
        if keys is not None or "day" in isin:
            return dict(isin)
        days = self.days_of(ids)
        return dict(isin) if days is None else {**isin, "day": days}

    def days_of(self, article_ids: Collection[str]) -> set[date] | None:
        """Return the days that rows of these articles can be of; None if an id has none."""
        days: set[date] = set()
        for article_id in article_ids:
            found = days_in(article_id)
            if not found:
                return None
            days |= found
        self._read_notes(article_ids)
        for article_id in article_ids:
            days |= self._noted[article_id]
        return days

    def _read_notes(self, article_ids: Collection[str]) -> None:
        """Read the notes of these articles into `_noted`, each once. They are those of
        the latest commit, also in a snapshot of an earlier one: none is ever deleted.
        """
        unknown = [one for one in article_ids if one not in self._noted]
        if not unknown:
            return
        for article_id in unknown:
            self._noted[article_id] = set()
        selection = Selection(table_of(MovedArticle))
        add_values(selection, "article_id", unknown)
        sql = f"SELECT article_id, day FROM moved_articles{selection.where}"
        with self._registered(selection.frames):
            found = self._relation(sql, selection.params).fetchall()
        for article_id, day in found:
            self._noted[article_id].add(day)

    def _narrow(self, selection: Selection) -> None:
        """Restrict the selection to the days of its rows, so that only the texts of
        their months are decompressed.

        800 articles of one day by id among 500,000: 0.6 s instead of 5.5 s, on a busy
        machine.
        """
        column = selection.table.partition_column
        if column is None:
            return
        sql = (
            f'SELECT min("{column}") AS first, max("{column}") AS last FROM'
            f' "{selection.table.name}"{self._version}'
        )
        with self._registered(selection.frames):
            first, last = self.query(sql + selection.where, selection.params).row(0)
        selection.add(f'"{column}" BETWEEN ? AND ?', first, last)

    def _rows(
        self, selection: Selection, names: Sequence[str] | None
    ) -> "polars.DataFrame":
        table = selection.table
        declared = [column.name for column in columns(table)]
        chosen = declared if names is None else list(dict.fromkeys(names))
        unknown = set(chosen) - set(declared)
        if unknown:
            raise ValueError(f"{table.name} has no column {', '.join(sorted(unknown))}")
        selected = ", ".join(f'"{name}"' for name in chosen)
        order = ", ".join(f'"{name}"' for name in table.row_order if name in chosen)
        sql = (
            f"SELECT {selected} FROM"
            f' "{table.name}"{self._version}{selection.where}{order and f" ORDER BY {order}"}'
        )
        with self._registered(selection.frames):
            return self.query(sql, selection.params)

    def stream(
        self,
        record: type,
        keys: AgencyDays | None,
        batch_rows: int,
        isin: Mapping[str, Collection[Any]],
    ) -> "Iterator[polars.DataFrame]":
        """Yield the same rows by day and then by key, in frames of whole days and about
        `batch_rows` rows.
        """
        table = table_of(record)
        if table.partition_column is None:
            yield self.frame(record, keys, None, **isin)
            return
        isin = self._with_days(table, keys, isin)
        column = f'"{table.partition_column}"'
        for first, last in _day_ranges(
            self._day_counts(select(table, keys, isin), column), batch_rows
        ):
            window = select(table, keys, isin)
            window.add(f"{column} >= ? AND {column} < CAST(? AS DATE) + 1", first, last)
            yield self._rows(window, None)

    def _day_counts(self, selection: Selection, column: str) -> list[tuple[date, int]]:
        sql = (
            f"SELECT CAST({column} AS DATE) AS day, count(*) FROM"
            f' "{selection.table.name}"{selection.where}'
        )
        with self._registered(selection.frames):
            return self.query(f"{sql} GROUP BY 1 ORDER BY 1", selection.params).rows()

    @contextmanager
    def _registered(self, frames: "Mapping[str, polars.DataFrame]") -> Iterator[None]:
        for name, frame in frames.items():
            self.cursor.register(name, ArrowStream(frame))
        try:
            yield
        finally:
            for name in frames:
                self.cursor.unregister(name)

    def query(
        self, sql: str, params: Collection[Any] | Mapping[str, Any] = ()
    ) -> "polars.DataFrame":
        """Return the result of one SELECT over the tables.

        Every `?`, `$1` and `$name` in it is replaced by a parameter, but not inside
        string literals, quoted names and comments.
        """
        import polars as pl

        return pl.DataFrame(self._relation(sql, params))

    def rows_of(
        self, sql: str, params: Collection[Any] | Mapping[str, Any] = ()
    ) -> list[dict[str, Any]]:
        """Return the rows of one SELECT by column: for a few rows, without polars, whose
        import takes longer than such a query.
        """
        found = self._relation(sql, params)
        names = found.columns
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def _relation(
        self, sql: str, params: Collection[Any] | Mapping[str, Any]
    ) -> duckdb.DuckDBPyRelation:
        values = params.values() if isinstance(params, Mapping) else params
        # A variable with NULL or [] has no type; a parameter takes it from its context.
        if any(value is None or value == [] for value in values):
            given = params if isinstance(params, Mapping) else list(params)
            return self.cursor.sql(sql, params=given)
        # With parameters, `cursor.sql` materialises the result first: 5,000 vectors of
        # 384 dimensions take 1.1 s. Without any it streams (0.08 s).
        return self.cursor.sql(self._with_values(sql, params))

    def _with_values(
        self, sql: str, params: Collection[Any] | Mapping[str, Any]
    ) -> str:
        """Return the statement with literals in place of its parameters; what has none
        becomes a session variable.
        """
        if not isinstance(params, Mapping):
            params = {str(n): value for n, value in enumerate(params, 1)}
        written = {}
        for name, value in params.items():
            written[name] = literal(value) or self._variable(name, value)
        return with_values(sql, written) if written else sql

    def _variable(self, name: str, value: object) -> str:
        """Set a session variable and return how it is read; a list is set as one row of
        a frame.

        DuckDB looks at each value of a list parameter: 100 of them take 6 ms, 100,000
        take 7 s.
        """
        variable = f"given_{name}"
        if isinstance(value, list):
            import polars as pl

            with self._registered({"given": pl.DataFrame({"value": [value]})}):
                self.cursor.execute(
                    f"SET VARIABLE {variable} = (SELECT value FROM given)"
                )
        else:
            self.cursor.execute(f"SET VARIABLE {variable} = ?", [value])
        return f"getvariable('{variable}')"

    def snapshot(self) -> int:
        """Return the number of the latest commit; see `Lake.snapshot`."""
        row = self.cursor.execute(f"FROM {LAKE}.current_snapshot()").fetchone()
        return int(row[0]) if row else 0


def _empty_frame(table: Table, names: Sequence[str] | None) -> "polars.DataFrame":
    import polars as pl

    frame = pl.DataFrame(schema=polars_schema(table))
    return frame if names is None else frame.select(names)


def _day_ranges(
    days: list[tuple[date, int]], batch_rows: int
) -> Iterator[tuple[date, date]]:
    """Yield the first and last day of ranges with at most `batch_rows` rows, or of one
    day with more.
    """
    first, rows = None, 0
    for position, (day, count) in enumerate(days):
        first = first or day
        rows += count
        if position + 1 == len(days) or rows + days[position + 1][1] > batch_rows:
            yield first, day
            first, rows = None, 0


class Transaction(Snapshot):
    """A snapshot with writes, which become visible all together or not at all."""

    _change_count = 0

    @property
    def records(self) -> tuple[type[Any], ...]:
        """The record types of all tables."""
        return tuple(table.record for table in TABLES)

    def upsert(self, rows: Collection[Any]) -> None:
        """Store rows of one record type, replacing those with the same key; the last of
        several with one key is kept.

        Raises:
            LakeError: A value has a wrong type.
        """
        if rows:
            table = table_of(type(next(iter(rows))))
            if not table.key:
                raise ValueError(f"{table.name} has no key; use append")
            frame = frame_of(table, list(rows)).unique(table.key, keep="last")
            with self._registered({"incoming": frame}):
                self._note_moves(table, frame)
                self._delete_keys(table, frame)
                self.cursor.execute(f'INSERT INTO "{table.name}" BY NAME FROM incoming')
                if table.name in _CHANGES:
                    self._record_changes(*_CHANGES[table.name])

    def _record_changes(self, change: str, version: str) -> None:
        """Record the incoming rows that have a result; the commit's number is the next
        one, or the commit fails.
        """
        inserted = self.cursor.execute(
            f"""
            INSERT INTO changes BY NAME
            SELECT {self.snapshot() + 1}::BIGINT AS commit_id,
                {self._change_count} + row_number() OVER (ORDER BY article_id) - 1 AS sequence,
                article_id, desk, agency, day, {change} AS change, {version} AS version,
                now() AS committed_at
            FROM incoming WHERE outcome IN ('ok', 'withdrawn')
            """
        ).fetchone()
        self._change_count += int(inserted[0]) if inserted else 0

    def _note_moves(self, table: Table, frame: "polars.DataFrame") -> None:
        """Note the days of rows whose articles have other days in their ids."""
        if not table.is_by_article:
            return
        moved: dict[tuple[str, date], MovedArticle] = {}
        for key, day in frame.select("article_id", "day").iter_rows():
            days = days_in(key)
            if days and day not in days:
                moved[key, day] = MovedArticle(article_id=key, day=day)
        if not moved:
            return
        self._read_notes({key for key, _ in moved})
        for key, day in list(moved):
            if day in self._noted[key]:
                del moved[key, day]
            self._noted[key].add(day)
        self.append(list(moved.values()))

    def _delete_keys(self, table: Table, frame: "polars.DataFrame") -> None:
        # The range of the first key column lets DuckLake skip row groups of other
        # agencies, the days of articles the files of other months.
        selection = Selection(table)
        first = table.key[0]
        if table.is_pruned_by(first):
            selection.add(
                f'"{first}" BETWEEN ? AND ?', frame[first].min(), frame[first].max()
            )
        if table.is_by_article:
            days = self.days_of(frame["article_id"].unique().to_list())
            if days is not None:
                add_values(selection, "day", days)
        names = ", ".join(f'"{name}"' for name in table.key)
        selection.add(f"({names}) IN (SELECT {names} FROM incoming)")
        self._delete(selection)

    def append(self, rows: Collection[Any]) -> None:
        """Add rows of one record type, whatever their key."""
        if rows:
            table = table_of(type(next(iter(rows))))
            frame = frame_of(table, list(rows))
            self._note_moves(table, frame)
            with self._registered({"appended": frame}):
                self.cursor.execute(f'INSERT INTO "{table.name}" BY NAME FROM appended')

    def delete(
        self, record: type, keys: AgencyDays | None = None, **isin: Collection[Any]
    ) -> int:
        """Delete the rows that `read` returns for the same arguments; return their
        number.

        Raises:
            ValueError: There are no arguments that select rows.
        """
        if keys is None and not isin:
            raise ValueError(f"{table_of(record).name}: say which rows to delete")
        table = table_of(record)
        return self._delete(select(table, keys, self._with_days(table, keys, isin)))

    def _delete(self, selection: Selection) -> int:
        with self._registered(selection.frames):
            sql = f'DELETE FROM "{selection.table.name}"{selection.where}'
            row = self.cursor.execute(
                self._with_values(sql, selection.params)
            ).fetchone()
        return int(row[0]) if row else 0
