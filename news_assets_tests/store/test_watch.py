"""The mark by which sensors see that a lake has another commit."""

import time
from pathlib import Path

import pytest

from news_assets.store.address import Address
from news_assets.store.lake import Lake
from news_assets.store.watch import Watch
from news_assets_tests.store.examples import article


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
