"""Upserts, appends, deletions, frames and streams."""

import itertools
from datetime import UTC, date, datetime, timedelta

import pytest

from news_assets.records.articles import (
    ArticleRevision,
    FeedEntry,
    Poll,
    RawArticle,
    SourceState,
)
from news_assets.records.derived import CachedEnrichment
from news_assets.store.lake import Lake
from news_assets.store.transaction import Transaction
from news_assets_tests.store.examples import DAY, MANY, article, full, upsert


@pytest.mark.on_postgres_too
@pytest.mark.parametrize("count", [3, MANY])
def test_an_upsert_replaces_the_rows_with_its_keys_and_no_others(
    lake: Lake, count: int
) -> None:
    upsert(lake, [article(n) for n in range(count)])

    upsert(lake, [article(n, title="new") for n in range(1, count + 1)])

    assert lake.read(RawArticle) == [
        article(0),
        *(article(n, title="new") for n in range(1, count + 1)),
    ]


def test_an_upsert_finds_the_row_in_another_month(lake: Lake) -> None:
    upsert(lake, [article(n, day=date(2026, 1, 31)) for n in range(MANY)])

    upsert(lake, [article(7, day=DAY)])

    assert [row.day for row in lake.read(RawArticle)].count(DAY) == 1
    assert len(lake.read(RawArticle)) == MANY


def test_the_later_of_two_rows_with_one_key_is_stored(lake: Lake) -> None:
    upsert(lake, [article(1, title="first"), article(2), article(1, title="last")])

    assert lake.read(RawArticle) == [article(1, title="last"), article(2)]


def test_an_upsert_compares_all_columns_of_a_key(lake: Lake) -> None:
    upsert(
        lake,
        [
            full(FeedEntry, source_id=source, entry_id=entry)
            for source in "ab"
            for entry in "xy"
        ],
    )

    upsert(lake, [full(FeedEntry, source_id="a", entry_id="y", title="new")])

    found = {(row.source_id, row.entry_id): row.title for row in lake.read(FeedEntry)}
    assert len(found) == 4
    assert [key for key, title in found.items() if title == "new"] == [("a", "y")]


def test_one_transaction_can_store_a_key_twice(lake: Lake) -> None:
    def work(transaction: Transaction) -> None:
        transaction.upsert([article(1, title="first")])
        transaction.upsert([article(1, title="second")])

    lake.transact(work)

    assert lake.read(RawArticle) == [article(1, title="second")]


def test_rows_without_a_key_are_only_appended(lake: Lake) -> None:
    poll = full(Poll)
    lake.transact(lambda transaction: transaction.append([poll]))
    lake.transact(lambda transaction: transaction.append([poll]))

    assert lake.read(Poll) == [poll, poll]
    with pytest.raises(ValueError, match="polls has no key"):
        upsert(lake, [poll])


def test_a_frame_has_the_requested_columns_in_their_order(lake: Lake) -> None:
    upsert(lake, [article(n) for n in (2, 1)])

    frame = lake.frame(RawArticle, None, ("desk", "article_id"), desk=["govbr"])

    assert frame.rows() == [
        ("govbr", "mec-2026-11-20-00001"),
        ("govbr", "mec-2026-11-20-00002"),
    ]


@pytest.mark.on_postgres_too
def test_rows_are_deleted_by_value_and_counted(lake: Lake) -> None:
    upsert(lake, [article(n, agency=f"a{n % 3}") for n in range(30)])

    assert (
        lake.transact(
            lambda transaction: transaction.delete(RawArticle, agency=["a0", "a2"])
        )
        == 20
    )
    assert {row.agency for row in lake.read(RawArticle)} == {"a1"}
    with pytest.raises(ValueError, match="say which rows"):
        lake.transact(lambda transaction: transaction.delete(RawArticle))


@pytest.mark.parametrize("batch_rows", [1, 10, 1000])
def test_a_stream_yields_every_row_once_in_order_of_days(
    lake: Lake, batch_rows: int
) -> None:
    rows = [article(n, day=DAY - timedelta(days=n // 4)) for n in range(40)]
    upsert(lake, rows)
    expected = [row.article_id for row in sorted(rows, key=lambda row: row.article_id)]

    frames = list(lake.stream(RawArticle, batch_rows=batch_rows, article_id=expected))

    assert sorted(name for frame in frames for name in frame["article_id"]) == expected
    days = [set(frame["day"]) for frame in frames]
    assert all(max(one) < min(next_one) for one, next_one in itertools.pairwise(days))
    assert max(len(frame) for frame in frames) <= max(batch_rows, 4)


def test_tables_without_a_day_column_are_streamed_completely(lake: Lake) -> None:
    made = datetime(2026, 11, 20, 23, 59, 59, 999999, tzinfo=UTC)
    caches = [
        full(
            CachedEnrichment, input_hash=f"{n:03}", created_at=made + timedelta(hours=n)
        )
        for n in range(60)
    ]
    upsert(lake, caches)
    upsert(lake, [full(SourceState)])

    assert (
        sum(len(frame) for frame in lake.stream(CachedEnrichment, batch_rows=10)) == 60
    )
    assert sum(len(frame) for frame in lake.stream(SourceState)) == 1
    assert list(lake.stream(ArticleRevision)) == []
