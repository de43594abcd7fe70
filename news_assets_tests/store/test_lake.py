import itertools
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from news_assets.errors import LakeError
from news_assets.records import AgencyDays, ArticleRevision, CachedEnrichment, FeedEntry, Poll, RawArticle, SourceState
from news_assets.store.lake import Lake
from news_assets.store.transaction import Transaction
from news_assets_tests.store.examples import RECORDS, full, sparse
from news_assets_tests.support.lakes import Place

DAY = date(2026, 11, 20)
MANY = 25  # more rows than DuckLake inlines in its catalog: these are written to a Parquet file


def article(number: int, **given: Any) -> RawArticle:
    return full(RawArticle, **{"article_id": f"mec-2026-11-20-{number:05}", "desk": "govbr", "agency": "mec"} | given)


def upsert(lake: Lake, rows: list[Any]) -> None:
    lake.transact(lambda transaction: transaction.upsert(rows))


@pytest.mark.on_postgres_too
@pytest.mark.parametrize("times", [1, MANY], ids=["in the catalog", "in a file"])
def test_every_record_type_is_read_as_it_was_stored(lake: Lake, times: int) -> None:
    rows = {record: [full(record), sparse(record)] * times for record in RECORDS}

    def work(transaction: Transaction) -> None:
        for each in rows.values():
            transaction.append(each)

    lake.transact(work)

    assert {record: Counter(lake.read(record)) for record in RECORDS} == {
        record: Counter(each) for record, each in rows.items()
    }


_TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=30)
_TIME = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds


@pytest.mark.on_postgres_too
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.builds(
            article,
            st.integers(0, 99_999),
            title=st.none() | _TEXT,
            tags=st.lists(_TEXT, max_size=3).map(tuple),
            published_at=st.none() | _TIME,
            day=st.dates(date(1900, 1, 1), date(2100, 1, 1)),
            word_count=st.integers(-(2**63), 2**63 - 1),
        ),
        min_size=1,
        max_size=14,
        unique_by=lambda row: row.article_id,
    )
)
def test_any_values_are_read_as_they_were_stored(lake: Lake, rows: list[RawArticle]) -> None:
    def work(transaction: Transaction) -> list[RawArticle]:
        transaction.delete(RawArticle, desk=["govbr"])
        transaction.upsert(rows)
        return transaction.read(RawArticle)

    expected = sorted(rows, key=lambda row: row.article_id)
    assert lake.transact(work) == expected
    assert lake.read(RawArticle) == expected


@pytest.mark.on_postgres_too
@pytest.mark.parametrize("count", [3, MANY])
def test_an_upsert_replaces_the_rows_with_its_keys_and_no_others(lake: Lake, count: int) -> None:
    upsert(lake, [article(n) for n in range(count)])

    upsert(lake, [article(n, title="new") for n in range(1, count + 1)])

    assert lake.read(RawArticle) == [article(0), *(article(n, title="new") for n in range(1, count + 1))]


def test_an_upsert_finds_the_row_in_another_month(lake: Lake) -> None:
    upsert(lake, [article(n, day=date(2026, 1, 31)) for n in range(MANY)])

    upsert(lake, [article(7, day=DAY)])

    assert [row.day for row in lake.read(RawArticle)].count(DAY) == 1
    assert len(lake.read(RawArticle)) == MANY


def test_the_later_of_two_rows_with_one_key_is_stored(lake: Lake) -> None:
    upsert(lake, [article(1, title="first"), article(2), article(1, title="last")])

    assert lake.read(RawArticle) == [article(1, title="last"), article(2)]


def test_an_upsert_compares_all_columns_of_a_key(lake: Lake) -> None:
    upsert(lake, [full(FeedEntry, source_id=source, entry_id=entry) for source in "ab" for entry in "xy"])

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


@pytest.mark.on_postgres_too
def test_storing_nothing_makes_no_commit(lake: Lake) -> None:
    before = lake.snapshot()

    lake.transact(lambda transaction: (transaction.upsert([]), transaction.append([])))

    assert lake.snapshot() == before
    upsert(lake, [article(1)])
    assert lake.snapshot() > before


@pytest.mark.on_postgres_too
def test_a_transaction_that_fails_leaves_nothing_behind(lake: Lake) -> None:
    upsert(lake, [article(1)])

    def work(transaction: Transaction) -> None:
        transaction.upsert([article(1, title="new"), article(2)])
        transaction.append([full(Poll)] * MANY)
        transaction.delete(RawArticle, desk=["govbr"])
        raise RuntimeError("the work failed")

    with pytest.raises(RuntimeError, match="the work failed"):
        lake.transact(work)

    assert (lake.read(RawArticle), lake.read(Poll)) == ([article(1)], [])
    upsert(lake, [article(2)])
    assert lake.read(RawArticle) == [article(1), article(2)]


@pytest.mark.on_postgres_too
def test_only_the_transaction_itself_reads_its_uncommitted_rows(lake: Lake) -> None:
    def work(transaction: Transaction) -> tuple[int, int]:
        transaction.upsert([article(n) for n in range(MANY)])
        return len(transaction.read(RawArticle)), len(lake.read(RawArticle))

    assert lake.transact(work) == (MANY, 0)
    assert len(lake.read(RawArticle)) == MANY


def test_rows_are_read_by_agency_day_and_desk(lake: Lake) -> None:
    rows = [
        article(n, article_id=f"{desk}-{agency}-{day}", desk=desk, agency=agency, day=day)
        for n, (desk, agency, day) in enumerate(
            (desk, agency, DAY - timedelta(days=days))
            for desk in ("govbr", "world")
            for agency in ("mec", "mj", "ms")
            for days in (0, 1, 40)
        )
    ]
    upsert(lake, rows)
    wanted = frozenset({("mec", DAY), ("ms", DAY - timedelta(days=40))})

    found = lake.read(RawArticle, AgencyDays("govbr", wanted))

    assert {(row.desk, row.agency, row.day) for row in found} == {("govbr", *pair) for pair in wanted}
    assert lake.read(RawArticle, AgencyDays("govbr", frozenset())) == []
    assert len(lake.read(RawArticle, AgencyDays("world", frozenset({("mj", DAY)})))) == 1


def test_rows_are_read_by_values_of_any_columns(lake: Lake) -> None:
    upsert(lake, [article(n, url_hash=f"{n % 5}", duplicate_of=f"{n}" if n % 2 else None) for n in range(40)])

    def numbers(**isin: Any) -> list[int]:
        return [int(row.article_id[-5:]) for row in lake.read(RawArticle, **isin)]

    assert numbers(url_hash=["3"]) == list(range(3, 40, 5))
    assert numbers(url_hash={"3", "4", "none"}) == [n for n in range(40) if n % 5 in (3, 4)]
    assert numbers(url_hash=["3", "4"], duplicate_of=[None, "9"]) == [4, 8, 9, 14, 18, 24, 28, 34, 38]
    assert numbers(url_hash=["3", "3"], duplicate_of=[None]) == [8, 18, 28, 38]
    assert numbers(url_hash=[]) == []
    assert numbers(url_hash=["nothing", "at all"]) == []


def test_files_of_other_months_are_not_opened(lake: Lake) -> None:
    past = DAY - timedelta(days=90)
    upsert(lake, [article(n, day=DAY if n < MANY else past) for n in range(2 * MANY)])
    (file,) = Path(lake.address.data).glob(f"**/raw_articles/**/month={past.month}/*.parquet")
    file.unlink()
    keys = AgencyDays("govbr", frozenset({("mec", DAY)}))
    assert len(lake.read(RawArticle, keys)) == MANY
    assert len(lake.read(RawArticle, day=[DAY], article_id=[article(n).article_id for n in range(9)])) == 9
    assert lake.query("SELECT url FROM raw_articles WHERE day >= $day", {"day": DAY}).height == MANY


def test_a_frame_has_the_requested_columns_in_their_order(lake: Lake) -> None:
    upsert(lake, [article(n) for n in (2, 1)])

    frame = lake.frame(RawArticle, None, ("desk", "article_id"), desk=["govbr"])

    assert frame.rows() == [("govbr", "mec-2026-11-20-00001"), ("govbr", "mec-2026-11-20-00002")]


@pytest.mark.parametrize("wrong", [{"no_such": ["x"]}, {"tags": ["x"]}])
def test_an_unknown_column_is_named(lake: Lake, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        lake.read(RawArticle, **wrong)
    with pytest.raises(ValueError, match="no_such"):
        lake.frame(RawArticle, None, ["no_such"])


@pytest.mark.on_postgres_too
def test_rows_are_deleted_by_value_and_counted(lake: Lake) -> None:
    upsert(lake, [article(n, agency=f"a{n % 3}") for n in range(30)])

    assert lake.transact(lambda transaction: transaction.delete(RawArticle, agency=["a0", "a2"])) == 20
    assert {row.agency for row in lake.read(RawArticle)} == {"a1"}
    with pytest.raises(ValueError, match="say which rows"):
        lake.transact(lambda transaction: transaction.delete(RawArticle))


def test_a_query_takes_parameters_and_names_an_unknown_table(lake: Lake) -> None:
    upsert(lake, [article(n) for n in range(3)])

    assert lake.query(
        "SELECT count(*) AS n FROM raw_articles WHERE article_id > ?", ["mec-2026-11-20-00000"]
    ).rows() == [(2,)]
    with pytest.raises(LakeError, match="no_such_table"):
        lake.query("FROM no_such_table")


@pytest.mark.parametrize("batch_rows", [1, 10, 1000])
def test_a_stream_yields_every_row_once_in_order_of_days(lake: Lake, batch_rows: int) -> None:
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
    caches = [full(CachedEnrichment, input_hash=f"{n:03}", created_at=made + timedelta(hours=n)) for n in range(60)]
    upsert(lake, caches)
    upsert(lake, [full(SourceState)])

    assert sum(len(frame) for frame in lake.stream(CachedEnrichment, batch_rows=10)) == 60
    assert sum(len(frame) for frame in lake.stream(SourceState)) == 1
    assert list(lake.stream(ArticleRevision)) == []


@pytest.mark.on_postgres_too
def test_a_stream_reads_the_commit_it_started_with(lake: Lake) -> None:
    upsert(lake, [article(n, day=DAY - timedelta(days=n)) for n in range(MANY)])
    frames = lake.stream(RawArticle, batch_rows=1)
    next(frames)

    lake.transact(lambda transaction: transaction.delete(RawArticle, desk=["govbr"]))

    assert len(list(frames)) == MANY - 1
    assert lake.read(RawArticle) == []


@pytest.mark.on_postgres_too
def test_threads_share_one_lake(lake: Lake) -> None:
    upsert(lake, [article(1, attempts=0)])

    def count_up() -> None:
        for _ in range(5):
            lake.transact(add_one)

    def add_one(transaction: Transaction) -> None:
        transaction.upsert([replace(row, attempts=row.attempts + 1) for row in transaction.read(RawArticle)])

    run_side_by_side([count_up] * 3)

    assert [row.attempts for row in lake.read(RawArticle)] == [15]


def run_side_by_side(works: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.on_postgres_too
def test_a_nested_transaction_is_refused(lake: Lake) -> None:
    with pytest.raises(LakeError, match="inside another"):
        lake.transact(lambda _: lake.transact(lambda _: None))

    upsert(lake, [article(1)])


@pytest.mark.on_postgres_too
def test_a_writer_that_waits_too_long_raises_a_transient_error(address: Place) -> None:
    with Lake.open(*address) as first, Lake.open(*address, wait_s=0.2) as second:

        def work(_: Transaction) -> None:
            with pytest.raises(LakeError, match=r"more than 0\.2 s") as raised:
                upsert(second, [article(1)])
            assert raised.value.is_transient

        first.transact(work)
        upsert(second, [article(1)])

        assert first.read(RawArticle) == [article(1)]
