"""The mark by which sensors see that a lake has another commit."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from news_assets.errors import LakeError
from news_assets.records.articles import Poll, RawArticle
from news_assets.records.reading import WITHDRAWN
from news_assets.store.address import Address
from news_assets.store.lake import Lake, Watch, delete_oldest
from news_assets.store.transaction import Transaction
from news_assets_tests.store.examples import (
    DAY,
    MANY,
    RECORDS,
    article,
    full,
    sparse,
    upsert,
)


@pytest.mark.on_postgres_too
@pytest.mark.parametrize("times", [1, MANY], ids=["in the catalog", "in a file"])
def test_every_record_type_is_read_as_it_was_stored(lake: Lake, times: int) -> None:
    rows = {record: [full(record), sparse(record)] * times for record in RECORDS}

    def work(transaction: Transaction) -> None:
        for each in rows.values():
            transaction.append(each)

    lake.transact(work)

    with lake.latest() as stored:
        found = {record: Counter(stored.read(record)) for record in RECORDS}
    assert found == {record: Counter(each) for record, each in rows.items()}


_TEXT = st.text(
    st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=30
)
_TIME = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds


@pytest.mark.on_postgres_too
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
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
def test_any_values_are_read_as_they_were_stored(
    lake: Lake, rows: list[RawArticle]
) -> None:
    def work(transaction: Transaction) -> list[RawArticle]:
        transaction.delete(RawArticle, desk=["govbr"])
        transaction.upsert(rows)
        return transaction.read(RawArticle)

    expected = sorted(rows, key=lambda row: row.article_id)
    assert lake.transact(work) == expected
    assert lake.read(RawArticle) == expected


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


def test_a_query_takes_parameters_and_names_an_unknown_table(lake: Lake) -> None:
    upsert(lake, [article(n) for n in range(3)])

    assert lake.query(
        "SELECT count(*) AS n FROM raw_articles WHERE article_id > ?",
        ["mec-2026-11-20-00000"],
    ).rows() == [(2,)]
    with pytest.raises(LakeError, match="no_such_table"):
        lake.query("FROM no_such_table")


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
        transaction.upsert(
            [
                replace(row, attempts=row.attempts + 1)
                for row in transaction.read(RawArticle)
            ]
        )

    run_side_by_side([count_up] * 3)

    assert [row.attempts for row in lake.read(RawArticle)] == [15]


class OftenConnecting(Lake):
    transactions_per_connection = 2

    def _is_upkeep_due(self) -> bool:
        return False  # else one write in a hundred is followed by another transaction


@pytest.mark.on_postgres_too
def test_a_lake_connects_again_after_many_transactions_unless_one_is_in_progress(
    lake: Lake,
) -> None:
    upsert(lake, [article(n, day=DAY - timedelta(days=n)) for n in range(3)])
    with OftenConnecting.open(lake.address.catalog, lake.address.data) as other:
        assert (
            len(
                {id(connection) for connection in connections_of(other, transactions=6)}
            )
            == 3
        )

        frames = other.stream(RawArticle, batch_rows=1)
        days = [next(frames)["day"][0]]
        assert (
            len(
                {id(connection) for connection in connections_of(other, transactions=6)}
            )
            == 1
        )
        days += [frame["day"][0] for frame in frames]
        assert days == [DAY - timedelta(days=n) for n in (2, 1, 0)]


def connections_of(lake: Lake, transactions: int) -> list[object]:
    """Return the connection of each of so many transactions, half of them writing."""
    connections: list[object] = []
    for n in range(transactions):
        if n % 2:
            upsert(lake, [article(9, attempts=n, day=DAY)])
        else:
            assert lake.read(RawArticle)
        connections.append(lake._connection)
    return connections


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


def later_watch(lake: Lake) -> Watch:
    """Return the watch of a SQLite catalog, for which everything was written a while
    ago.
    """
    if lake.address.is_postgres:
        pytest.skip("the mark of a Postgres catalog is its last commit")
    return Watch(lake.address, lake.snapshot, clock=lambda: time.time() + 60)


def test_a_commit_changes_the_mark(lake: Lake) -> None:
    watch = later_watch(lake)
    before = watch.mark()
    lake.transact(lambda rows: rows.upsert([article(1)]))
    assert watch.mark() != before


def test_a_read_does_not_change_the_mark(lake: Lake) -> None:
    watch = later_watch(lake)
    before = watch.mark()
    lake.query("SELECT count(*) FROM entries")
    assert watch.mark() == before


def test_right_after_a_write_the_commit_is_looked_at_again(tmp_path: Path) -> None:
    (tmp_path / "catalog").touch()
    seconds = iter((0.5, 0.6, 1.5, 1.6))
    written_at = (tmp_path / "catalog").stat().st_mtime
    watch = Watch(
        Address(str(tmp_path / "catalog"), "data"),
        lambda: 1,
        lambda: written_at + next(seconds),
    )
    marks = [watch.mark() for _ in range(4)]
    assert len(set(marks)) == 3
    assert marks[2] == marks[3]


def test_a_catalog_that_is_missing_has_a_mark(tmp_path: Path) -> None:
    assert Watch(Address(str(tmp_path / "none"), "data"), lambda: 1).mark() == (
        0,
        0,
        0,
        0,
    )


def test_a_postgres_catalog_is_read_once_for_all_that_look_at_the_same_time() -> None:
    commits = iter(range(7, 100))
    watch = Watch(
        Address("postgresql://host/lake", "data"),
        lambda: next(commits),
        clock=lambda: 5.0,
    )
    assert {watch.mark() for _ in range(3)} == {(7,)}


def commits_of(lake: Lake) -> list[int]:
    return lake.query("SELECT snapshot_id FROM ducklake_snapshots('lake') ORDER BY 1")[
        "snapshot_id"
    ].to_list()


def test_the_newest_snapshots_stay_and_the_commit_before_a_withdrawal(
    lake: Lake,
) -> None:
    for number in range(4):
        lake.transact(lambda rows, number=number: rows.upsert([article(number)]))
    kept_for = lake.snapshot()
    withdrawn = replace(article(1), outcome=WITHDRAWN, withdrawn_after=kept_for)
    lake.transact(lambda rows: rows.upsert([withdrawn]))
    for number in range(4, 7):
        lake.transact(lambda rows, number=number: rows.upsert([article(number)]))
    newest = commits_of(lake)[-2:]
    assert lake.transact(lambda rows: delete_oldest(rows, most=2, step=3)) == 3
    while lake.transact(lambda rows: delete_oldest(rows, most=2, step=3)):
        pass
    assert commits_of(lake) == [kept_for, *newest]
    assert len(lake.query("FROM raw_articles")) == 7


@pytest.mark.parametrize("is_due", [True, False])
def test_one_write_in_a_hundred_deletes_old_snapshots(
    lake: Lake, *, is_due: bool
) -> None:
    if lake.address.is_postgres:
        pytest.skip("a Postgres catalog has indexes")
    for number in range(4):
        lake.transact(lambda rows, number=number: rows.upsert([article(number)]))
    before = commits_of(lake)
    lake.kept_snapshots = 2
    lake._random = next(
        Random(seed) for seed in range(1000) if (Random(seed).random() < 0.01) == is_due
    )
    lake.transact(lambda rows: rows.upsert([article(9)]))
    assert (len(commits_of(lake)) < len(before)) == is_due
