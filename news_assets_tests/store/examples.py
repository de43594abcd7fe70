"""Rows of any record type: `full` has a value in every column, `sparse` in required
columns only.

`article` is a full article with a key of its own, and `upsert` stores rows in one
transaction.
"""

from datetime import UTC, date, datetime
from typing import Any, TypeVar

from news_assets.records.articles import RawArticle
from news_assets.store.lake import Lake
from news_assets.store.tables import TABLES, columns, table_of

R = TypeVar("R")

RECORDS = tuple(table.record for table in TABLES)
DAY = date(2026, 11, 20)
# more rows than DuckLake inlines in its catalog: these are written to a Parquet file
MANY = 25

_FULL: dict[str, Any] = {
    "VARCHAR": "Educação: “ação” 'aspas' \\n {,} 🎉\n\u0301é",
    "BIGINT": 2**40,
    "DOUBLE": 0.1,
    "BOOLEAN": True,
    "BLOB": b"\x00\xff'\\",
    "DATE": DAY,
    "TIMESTAMPTZ": datetime(2026, 11, 20, 23, 59, 59, 123456, tzinfo=UTC),
    "VARCHAR[]": ("um", "", "d'ois, {três}", "🎉"),
    "FLOAT[]": (0.5, -0.25, 3.0),
}
_EMPTY: dict[str, Any] = {
    **_FULL,
    "VARCHAR": "",
    "BIGINT": 0,
    "BLOB": b"",
    "VARCHAR[]": (),
    "FLOAT[]": (),
}


def full(record: type[R], **given: Any) -> R:
    return record(
        **{column.name: _FULL[column.sql_type] for column in columns(table_of(record))}
        | given
    )


def sparse(record: type[R], **given: Any) -> R:
    made = {
        c.name: None if c.is_nullable else _EMPTY[c.sql_type]
        for c in columns(table_of(record))
    }
    return record(**made | given)


def article(number: int, **given: Any) -> RawArticle:
    return full(
        RawArticle,
        **{
            "article_id": f"mec-2026-11-20-{number:05}",
            "desk": "govbr",
            "agency": "mec",
        }
        | given,
    )


def upsert(lake: Lake, rows: list[Any]) -> None:
    lake.transact(lambda transaction: transaction.upsert(rows))
