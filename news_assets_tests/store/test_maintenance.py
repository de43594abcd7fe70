from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from news_assets.records import FeedEntry, Poll, RawArticle
from news_assets.store.lake import Lake
from news_assets.store.maintenance import lake_size, maintain
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


def test_upkeep_changes_no_row_and_leaves_fewer_files_and_snapshots(lake: Lake) -> None:
    rows = fill(lake)

    before, after = maintain(lake, now=LATER)

    assert lake.read(RawArticle) == rows
    assert lake.read(Poll) == [full(Poll)]
    assert after.files < before.files
    assert after.snapshots == 1 < before.snapshots
    assert after == lake_size(lake)


def test_upkeep_can_be_repeated_and_rows_written_after_it(lake: Lake) -> None:
    rows = fill(lake)
    maintain(lake, now=LATER)

    again, after = maintain(lake, now=LATER)
    lake.transact(lambda transaction: transaction.upsert([full(FeedEntry)]))

    assert (again.files, again.file_bytes) == (after.files, after.file_bytes)
    assert lake.read(RawArticle) == rows
    assert lake.read(FeedEntry) == [full(FeedEntry)]


def test_snapshots_and_files_of_the_last_days_stay(lake: Lake, address: tuple[str, str]) -> None:
    fill(lake)
    files = set(Path(address[1]).rglob("*.parquet"))

    before, after = maintain(lake, now=datetime.now(UTC))

    assert after.snapshots >= before.snapshots
    assert files <= set(Path(address[1]).rglob("*.parquet"))


def test_files_of_a_writer_that_died_go_and_foreign_ones_stay(lake: Lake, address: tuple[str, str]) -> None:
    rows = fill(lake)
    folder = next(Path(address[1]).rglob("*.parquet")).parent
    orphan, foreign = folder / "ducklake-of-a-dead-writer.parquet", Path(address[1]) / "notes.txt"
    orphan.write_bytes(b"")
    foreign.write_text("not ours")

    maintain(lake, now=LATER)

    assert not orphan.exists()
    assert foreign.read_text() == "not ours"
    assert lake.read(RawArticle) == rows


def test_a_reader_that_began_before_upkeep_misses_nothing(lake: Lake, address: tuple[str, str]) -> None:
    rows = fill(lake)
    with Lake.open(*address) as other:
        streams = [lake.stream(RawArticle, batch_rows=1), other.stream(RawArticle, batch_rows=1)]
        counts = [len(next(frames)) for frames in streams]

        maintain(lake, now=datetime.now(UTC))

        counts = [count + sum(map(len, frames)) for count, frames in zip(counts, streams, strict=True)]
    assert counts == [len(rows)] * 2
