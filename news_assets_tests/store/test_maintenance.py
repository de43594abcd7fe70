from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from news_assets.errors import LakeError
from news_assets.records import FeedEntry, Poll, RawArticle
from news_assets.store.lake import Lake
from news_assets.store.maintenance import MAX_ORPHANS, Orphans, delete_orphans, lake_size, maintain
from news_assets_tests.store.examples import full

LATER = datetime.now(UTC) + timedelta(days=30)


def fill(lake: Lake) -> list[RawArticle]:
    """Store articles of two months in small commits, replace and delete some, and leave some in the catalog."""
    rows = [full(RawArticle, article_id=f"{n:03}", day=date(2026, 10 + n % 2, 1 + n % 28)) for n in range(90)]
    for start in range(0, 90, 30):
        lake.transact(lambda transaction, start=start: transaction.upsert(rows[start : start + 30]))
    changed = [replace(row, title="changed") for row in rows[:40]]
    lake.transact(lambda transaction: transaction.upsert(changed))
    lake.transact(lambda transaction: transaction.delete(RawArticle, article_id=["088", "089"]))
    lake.transact(lambda transaction: transaction.append([full(Poll)]))
    return changed + rows[40:88]


def test_maintenance_changes_no_row_and_leaves_fewer_files_and_snapshots(lake: Lake) -> None:
    rows = fill(lake)

    before, after = maintain(lake, now=LATER)

    assert lake.read(RawArticle) == rows
    assert lake.read(Poll) == [full(Poll)]
    assert after.files < before.files
    assert after.snapshots == 1 < before.snapshots
    assert after == lake_size(lake)


def test_maintenance_can_be_repeated_and_rows_written_after_it(lake: Lake) -> None:
    rows = fill(lake)
    maintain(lake, now=LATER)

    again, after = maintain(lake, now=LATER)
    lake.transact(lambda transaction: transaction.upsert([full(FeedEntry)]))

    assert (again.files, again.file_bytes) == (after.files, after.file_bytes)
    assert lake.read(RawArticle) == rows
    assert lake.read(FeedEntry) == [full(FeedEntry)]


def test_snapshots_and_files_of_the_last_days_stay(lake: Lake) -> None:
    fill(lake)
    files = set(Path(lake.address.data).rglob("*.parquet"))

    before, after = maintain(lake, now=datetime.now(UTC))

    assert after.snapshots >= before.snapshots
    assert files <= set(Path(lake.address.data).rglob("*.parquet"))


def test_orphaned_files_of_a_dead_writer_are_deleted_and_foreign_files_stay(lake: Lake) -> None:
    rows = fill(lake)
    data = Path(lake.address.data)
    folder = next(data.rglob("*.parquet")).parent
    orphan, foreign = folder / "ducklake-of-a-dead-writer.parquet", data / "notes.txt"
    orphan.write_bytes(b"")
    foreign.write_text("not DuckLake's")

    maintain(lake, now=LATER)
    deleted = delete_orphans(lake, now=LATER)

    assert deleted == Orphans((str(orphan),))
    assert not orphan.exists()
    assert foreign.read_text() == "not DuckLake's"
    assert lake.read(RawArticle) == rows


def test_orphans_of_the_last_day_are_kept_for_their_writer(lake: Lake) -> None:
    (Path(lake.address.data) / "new.parquet").touch()

    assert delete_orphans(lake, now=datetime.now(UTC)) == Orphans(())

    assert (Path(lake.address.data) / "new.parquet").exists()


def test_more_orphans_than_dead_writers_leave_are_reported_and_kept(lake: Lake) -> None:
    fill(lake)
    files = [Path(lake.address.data) / f"{n:02}.parquet" for n in range(MAX_ORPHANS + 1)]
    for file in files:
        file.touch()

    kept = delete_orphans(lake, now=LATER)

    assert kept.files == tuple(map(str, files))
    assert kept.why_kept is not None
    assert kept.why_kept.startswith(f"{MAX_ORPHANS + 1} unknown files beside ")
    assert all(file.exists() for file in files)


def test_nothing_is_deleted_from_the_folder_of_another_lake(lake: Lake) -> None:
    orphan = Path(lake.address.data) / "orphan.parquet"
    orphan.touch()
    (Path(lake.address.data) / "lake_id").write_text("other")

    with pytest.raises(LakeError, match="belong to the lake other"):
        delete_orphans(lake, now=LATER)
    (Path(lake.address.data) / "lake_id").unlink()
    with pytest.raises(LakeError, match="the data folder has lost its lake id"):
        delete_orphans(lake, now=LATER)

    assert orphan.exists()


@pytest.mark.on_postgres_too
def test_a_reader_that_started_before_maintenance_misses_no_row(lake: Lake) -> None:
    rows = fill(lake)
    with Lake.open(lake.address.catalog, lake.address.data) as other:
        streams = [lake.stream(RawArticle, batch_rows=1), other.stream(RawArticle, batch_rows=1)]
        counts = [len(next(frames)) for frames in streams]

        maintain(lake, now=datetime.now(UTC))

        counts = [count + sum(map(len, frames)) for count, frames in zip(counts, streams, strict=True)]
    assert counts == [len(rows)] * 2
