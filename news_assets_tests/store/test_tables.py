from dataclasses import dataclass, fields
from datetime import datetime, timedelta, timezone
from typing import Annotated, Any, get_type_hints

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.errors import LakeError
from news_assets.records.articles import Poll, RawArticle
from news_assets.records.derived import ArticleEmbedding
from news_assets.store.tables import (
    TABLES,
    Column,
    Table,
    columns,
    create_statements,
    frame_of,
    polars_schema,
    records_of,
    table_of,
)
from news_assets_tests.store.examples import full, sparse


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


ARTICLES = table_of(RawArticle)


def stored_and_read(row: Any) -> Any:
    (found,) = records_of(
        table_of(type(row)), type(row), frame_of(table_of(type(row)), [row])
    )
    return found


@given(st.text(st.characters(exclude_categories=()), max_size=20))
def test_any_text_can_be_stored(text: str) -> None:
    stored = stored_and_read(full(RawArticle, title=text, tags=(text,)))

    stored.title.encode()
    assert "\0" not in stored.title
    assert stored.tags == (stored.title,)


def test_lone_surrogates_and_nul_are_replaced_and_surrogate_pairs_joined() -> None:
    stored = stored_and_read(full(RawArticle, title="a\ud83d b\0c \ud83c\udf89"))

    assert stored.title == "a\ufffd b\ufffdc 🎉"


def test_times_of_other_zones_are_read_in_utc() -> None:
    brasilia = datetime(2026, 11, 20, 21, 30, tzinfo=timezone(timedelta(hours=-3)))

    stored = stored_and_read(full(RawArticle, published_at=brasilia))

    assert stored.published_at == brasilia
    assert stored.published_at.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"url": None}, r"raw_articles\.url: a row has no value"),
        ({"word_count": "many"}, "raw_articles: a row has a value of a wrong type"),
        ({"title": 3}, "raw_articles: a row has a value of a wrong type"),
        (
            {"fetched_at": "yesterday"},
            "raw_articles: a row has a value of a wrong type",
        ),
        ({"word_count": 2**70}, "raw_articles: a row has a value of a wrong type"),
    ],
)
def test_a_value_of_a_wrong_type_is_refused_with_its_column(
    wrong: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(LakeError, match=complaint):
        frame_of(ARTICLES, [full(RawArticle, **wrong)])


def test_a_required_column_that_old_rows_lack_is_read_as_empty() -> None:
    frame = frame_of(ARTICLES, [sparse(RawArticle)])
    old = frame.with_columns(word_count=None, tags=None, title=None)

    (found,) = records_of(ARTICLES, RawArticle, old)

    assert (found.word_count, found.tags, found.title) == (0, (), None)
