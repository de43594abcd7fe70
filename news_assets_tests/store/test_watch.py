"""The mark by which sensors see that a lake has another commit."""

from pathlib import Path

import pytest

from news_assets.store.address import Address
from news_assets.store.lake import Lake
from news_assets.store.watch import Watch
from news_assets_tests.store.examples import article


def on_sqlite(lake: Lake) -> Lake:
    if lake.address.is_postgres:
        pytest.skip("the mark of a Postgres catalog is its last commit")
    return lake


def test_a_commit_changes_the_mark(lake: Lake) -> None:
    before = on_sqlite(lake).mark()
    lake.transact(lambda rows: rows.upsert([article(1)]))
    assert lake.mark() != before


def test_a_read_does_not_change_the_mark(lake: Lake) -> None:
    before = on_sqlite(lake).mark()
    lake.query("SELECT count(*) FROM entries")
    assert lake.mark() == before


def test_a_catalog_that_is_missing_has_a_mark(tmp_path: Path) -> None:
    assert Watch(Address(str(tmp_path / "none"), "data"), lambda: 1).mark() == (
        0,
        0,
        0,
        0,
    )


def test_a_postgres_catalog_is_read_once_for_all_that_look_at_the_same_time() -> None:
    commits = iter(range(7, 100))
    watch = Watch(Address("postgresql://host/lake", "data"), lambda: next(commits))
    assert {watch.mark() for _ in range(3)} == {(7,)}
