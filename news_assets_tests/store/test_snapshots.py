"""A SQLite catalog keeps its newest snapshots, and those that withdrawn articles are
brought back from.
"""

from dataclasses import replace
from random import Random

import pytest

from news_assets.records.reading import WITHDRAWN
from news_assets.store.lake import Lake
from news_assets.store.snapshots import delete_oldest
from news_assets_tests.store.examples import article


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
