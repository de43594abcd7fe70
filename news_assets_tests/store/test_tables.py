from dataclasses import dataclass, fields
from typing import Annotated, get_type_hints

import polars as pl
import pytest

from news_assets.records.articles import Poll, RawArticle
from news_assets.records.derived import ArticleEmbedding
from news_assets.store.tables import (
    TABLES,
    Column,
    Table,
    columns,
    create_statements,
    polars_schema,
    table_of,
)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_field_of_a_record_is_a_column_with_a_meaning(table: Table) -> None:
    assert [column.name for column in columns(table)] == [
        field.name for field in fields(table.record)
    ]
    assert all(column.meaning for column in columns(table))
    assert list(polars_schema(table)) == [column.name for column in columns(table)]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_keys_orders_and_partitions_are_columns(table: Table) -> None:
    named = {
        *table.key,
        *table.row_order,
        *table.sort,
        *filter(None, [table.partition_column]),
    }

    assert named <= set(get_type_hints(table.record))
    assert table.row_order


def test_columns_have_type_nullability_and_meaning() -> None:
    by_name = {column.name: column for column in columns(table_of(RawArticle))}

    assert by_name["title"] == Column("title", "VARCHAR", True, "headline")
    assert by_name["word_count"] == Column(
        "word_count", "BIGINT", False, "length of the text in words"
    )
    assert by_name["tags"].sql_type == "VARCHAR[]"
    assert polars_schema(table_of(RawArticle))["fetched_at"] == pl.Datetime("us", "UTC")
    assert polars_schema(table_of(ArticleEmbedding))["vector"] == pl.List(pl.Float32)


def test_a_table_is_partitioned_by_month_and_sorted() -> None:
    assert list(create_statements(table_of(RawArticle)))[1:] == [
        'ALTER TABLE "raw_articles" SET PARTITIONED BY (year("day"), month("day"))',
        'ALTER TABLE "raw_articles" SET SORTED BY (article_id)',
    ]
    assert table_of(Poll).key == ()


def test_a_field_without_a_meaning_is_refused() -> None:
    @dataclass
    class Bare:
        name: str

    with pytest.raises(TypeError, match=r"Bare\.name has no meaning"):
        columns(Table("bare", Bare))


def test_a_field_of_an_unknown_type_is_refused() -> None:
    @dataclass
    class Odd:
        name: Annotated[complex, "a number"]

    with pytest.raises(TypeError, match="no column type"):
        columns(Table("odd", Odd))
