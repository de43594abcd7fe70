"""Convert records to Polars frames and back; texts are stored as `text/charset.py`
makes them storable.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from news_assets.errors import LakeError
from news_assets.store.tables import Column, Table, columns, polars_schema
from news_assets.text.charset import storable

if TYPE_CHECKING:
    import polars

R = TypeVar("R")

# The values of columns that do not allow None, in rows from before the column was
# declared.
_EMPTY: dict[str, object] = {
    "VARCHAR": "",
    "BIGINT": 0,
    "DOUBLE": 0.0,
    "BOOLEAN": False,
    "BLOB": b"",
    "VARCHAR[]": (),
    "FLOAT[]": (),
}


def frame_of(table: Table, rows: Sequence[Any]) -> "polars.DataFrame":
    """Return the rows as a frame with the table's schema, in the given order.

    Raises:
        LakeError: A value has another type than the record declares, or is None in a
            column that does not allow it.
    """
    import polars as pl

    schema = polars_schema(table)
    try:
        series = [
            pl.Series(c.name, _values(c, rows), schema[c.name], strict=True)
            for c in columns(table)
        ]
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise LakeError(
            f"{table.name}: a row has a value of a wrong type: {error}"
        ) from error
    for column, values in zip(columns(table), series, strict=True):
        if not column.is_nullable and values.null_count():
            raise LakeError(
                f"{table.name}.{column.name}: a row has no value, but the column needs one"
            )
    return pl.DataFrame(series)


def _values(column: Column, rows: Sequence[Any]) -> list[Any]:
    values = [getattr(row, column.name) for row in rows]
    if column.sql_type == "VARCHAR":
        return [value and storable(value) for value in values]
    if column.sql_type == "VARCHAR[]":
        return [
            None if value is None else [storable(part) for part in value]
            for value in values
        ]
    if column.sql_type == "FLOAT[]":
        return [None if value is None else list(value) for value in values]
    return values


def records_of(table: Table, record: type[R], frame: "polars.DataFrame") -> Iterator[R]:
    """Yield a record for each row of a frame that has every column of the table."""
    names = [column.name for column in columns(table)]
    for row in zip(
        *(_record_values(column, frame[column.name]) for column in columns(table)),
        strict=True,
    ):
        yield record(**dict(zip(names, row, strict=True)))


def _record_values(column: Column, series: "polars.Series") -> list[Any]:
    """Return a column's values, with the empty value for NULL where the record does not
    allow None.
    """
    values = series.to_list()
    if column.sql_type in ("VARCHAR[]", "FLOAT[]"):
        values = [None if value is None else tuple(value) for value in values]
    if column.is_nullable or not series.null_count():
        return values
    empty = _EMPTY.get(column.sql_type)
    return [empty if value is None else value for value in values]


class ArrowStream:
    """A frame that DuckDB scans through the Arrow C stream; a Polars frame itself would
    need pyarrow.
    """

    def __init__(self, frame: "polars.DataFrame") -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a new stream over all rows at each call."""
        return self._frame.__arrow_c_stream__(requested_schema)
