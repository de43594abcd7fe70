import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from news_assets.errors import LakeError
from news_assets.records.articles import FeedEntry, Poll, RawArticle, StoredPage
from news_assets.store import maintenance
from news_assets.store.address import METADATA
from news_assets.store.lake import Lake
from news_assets.store.maintenance import (
    MAX_ORPHANS,
    Orphans,
    delete_orphans,
    lake_size,
    maintain,
)
from news_assets_tests.store.examples import MANY, full

# one or two of the files of `fill_pages`, so that maintenance takes several steps
STEP_BYTES = 30_000
LATER = datetime.now(UTC) + timedelta(days=30)


def fill(lake: Lake) -> list[RawArticle]:
    """Store articles of two months in small commits, replace and delete some, and leave
    some in the catalog.
    """
    rows = [
        full(RawArticle, article_id=f"{n:03}", day=date(2026, 10 + n % 2, 1 + n % 28))
        for n in range(90)
    ]
    for start in range(0, 90, 30):
        lake.transact(
            lambda transaction, start=start: transaction.upsert(
                rows[start : start + 30]
            )
        )
    changed = [replace(row, title="changed") for row in rows[:40]]
    lake.transact(lambda transaction: transaction.upsert(changed))
    lake.transact(
        lambda transaction: transaction.delete(RawArticle, article_id=["088", "089"])
    )
    lake.transact(lambda transaction: transaction.append([full(Poll)]))
    return changed + rows[40:88]


def test_maintenance_changes_no_row_and_leaves_fewer_files_and_snapshots(
    lake: Lake,
) -> None:
    rows = fill(lake)

    before, after = maintain(lake, now=LATER)

    assert lake.read(RawArticle) == rows
    assert lake.read(Poll) == [full(Poll)]
    assert after.files < before.files
    assert after.snapshots == 1 < before.snapshots
    assert after == lake_size(lake)


def fill_pages(
    lake: Lake, files: int = 10, page_bytes: int = 2_000
) -> tuple[object, ...]:
    """Store pages of one month in files of ten, delete a third of them, and return a
    hash of the others.
    """
    for start in range(0, files * 10, 10):
        pages = [
            full(
                StoredPage,
                article_id=f"{n:03}",
                day=date(2026, 10, 1 + n % 28),
                body_gzip=os.urandom(page_bytes),
            )
            for n in range(start, start + 10)
        ] + [
            full(
                StoredPage,
                article_id=f"{start:03}",
                page_hash="sent in November",
                day=date(2026, 11, 1),
            )
        ]
        lake.transact(lambda transaction, pages=pages: transaction.append(pages))
    lake.transact(
        lambda transaction: transaction.delete(
            StoredPage, article_id=[f"{n:03}" for n in range(0, files * 10, 3)]
        )
    )
    return pages_of(lake)


def pages_of(lake: Lake, version: str = "") -> tuple[object, ...]:
    return lake.query(
        f"SELECT count(*), bit_xor(hash(COLUMNS(*)::VARCHAR)) FROM pages {version}"
    ).row(0)


@pytest.mark.slow  # writes many pages
def test_maintenance_of_many_pages_of_a_month_needs_little_memory(
    tmp_path: Path,
) -> None:
    with Lake.open(
        tmp_path / "catalog.sqlite", tmp_path / "data", memory_mb=128
    ) as lake:
        pages = fill_pages(lake, files=20, page_bytes=400_000)
        maintain(lake, now=datetime.now(UTC))
        assert pages_of(lake) == pages


def test_pages_are_not_stored_in_the_catalog(lake: Lake) -> None:
    maintain(lake, now=datetime.now(UTC))
    lake.transact(lambda transaction: transaction.append([full(StoredPage)]))
    assert lake_size(lake).files == 1


@pytest.mark.parametrize(
    "is_merged", [False, True], ids=["small files", "one large file"]
)
@pytest.mark.slow  # writes many files
def test_a_step_of_maintenance_rewrites_a_bounded_part_of_a_month(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, is_merged: bool
) -> None:
    fill_pages(lake)
    if is_merged:
        maintain(lake, now=datetime.now(UTC))
        lake.transact(
            lambda rows: rows.delete(
                StoredPage, article_id=[f"{n:03}" for n in range(0, 100, 4)]
            )
        )
    pages, last = pages_of(lake), lake.snapshot()
    set_step(monkeypatch)

    maintain(lake, now=datetime.now(UTC))

    files = lake.query(
        f"SELECT file_size_bytes AS size FROM {METADATA}.ducklake_data_file JOIN {METADATA}.ducklake_table "
        "USING (table_id) WHERE table_name = 'pages' AND ducklake_data_file.end_snapshot IS NULL"
    )
    assert pages_of(lake) == pages
    assert max(files["size"]) < 1.5 * STEP_BYTES
    assert lake.snapshot() >= last + 3


def set_step(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STEP_BYTES", "SMALL_BYTES"):
        monkeypatch.setattr(maintenance, name, STEP_BYTES)


@pytest.mark.slow  # writes a second long beside maintenance
def test_a_writer_gets_its_turn_between_the_steps(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_pages(lake)
    set_step(monkeypatch)
    began, ended = threading.Event(), threading.Event()

    def write() -> None:
        with Lake.open(lake.address.catalog, lake.address.data) as other:
            while not ended.is_set():
                other.transact(
                    lambda transaction: transaction.append([full(Poll)] * MANY)
                )
                began.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert began.wait(60)
    try:
        maintain(lake, now=datetime.now(UTC))
    finally:
        ended.set()
        writer.join()

    changes = lake.query(
        f"SELECT changes_made FROM {METADATA}.ducklake_snapshot_changes ORDER BY snapshot_id"
    )
    ids = lake.query(
        f"SELECT table_name, table_id::VARCHAR AS id FROM {METADATA}.ducklake_table"
    )
    pages, polls = (
        ids.filter(table_name=name)["id"].item() for name in ("pages", "polls")
    )
    tables = [set(re.findall(r":(\d+)", made)) for made in changes["changes_made"]]
    turns = "".join(
        "m" if pages in changed else "w" if polls in changed else ""
        for changed in tables
    )
    # flush, rewriting and merging of the whole table are 3
    assert len(re.findall("m+", turns[turns.index("w") :])) > 3


@pytest.mark.slow  # kills a process
def test_a_killed_maintenance_loses_no_row_and_the_next_one_goes_on(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages, first = fill_pages(lake), lake.snapshot()
    code = (
        "import sys; from datetime import UTC, datetime; from news_assets.store import maintenance; "
        "from news_assets.store.lake import Lake; "
        f"maintenance.STEP_BYTES = maintenance.SMALL_BYTES = {STEP_BYTES}; "
        "maintenance.maintain(Lake.open(*sys.argv[1:]), now=datetime.now(UTC))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, lake.address.catalog, lake.address.data]
    ) as process:
        while lake.snapshot() < first + 2 and process.poll() is None:
            time.sleep(0.001)
        process.kill()
    assert process.returncode == -9
    assert pages_of(lake) == pages
    before = lake_size(lake)

    _, after = maintain(lake, now=LATER)

    assert pages_of(lake) == pages
    assert (after.files, after.delete_files) < (before.files, 1)
    assert delete_orphans(lake, now=LATER).why_kept is None


@pytest.mark.slow  # several rounds of maintenance
def test_earlier_commits_stay_readable_after_maintenance_until_they_expire(
    lake: Lake,
) -> None:
    states = {lake.snapshot(): pages_of(lake)}
    for _ in range(2):
        fill_pages(lake)
        states[lake.snapshot()] = pages_of(lake)
        maintain(lake, now=datetime.now(UTC), grace=timedelta(0))
        states[lake.snapshot()] = pages_of(lake)

    for commit, state in states.items():
        assert pages_of(lake, f"AT (VERSION => {commit})") == state
    last = lake.snapshot()
    maintain(lake, now=LATER)
    with pytest.raises(LakeError), lake.at(min(states)) as former:
        former.read(StoredPage)
    assert pages_of(lake) == states[last]


@pytest.mark.slow  # several rounds of maintenance
def test_small_writes_are_inlined_after_maintenance_as_before_it(lake: Lake) -> None:
    ids = [f"{n:02}" for n in range(MANY)]
    for _ in range(2):  # files to rewrite and to merge
        lake.transact(
            lambda rows: rows.upsert(
                [replace(full(RawArticle), article_id=one) for one in ids]
            )
        )
        lake.transact(lambda rows: rows.delete(RawArticle, article_id=ids[:9]))
    names = ("ducklake_default_data_inlining_row_limit", "ducklake_target_file_size")
    settings = "SELECT " + ", ".join(
        f"current_setting('{name}')::VARCHAR AS {name}" for name in names
    )
    before = lake.query(settings).rows()

    maintain(lake, now=datetime.now(UTC))

    assert lake.query(settings).rows() == before


@pytest.mark.slow  # several rounds of maintenance
def test_files_without_a_row_are_dropped(lake: Lake) -> None:
    lake.transact(
        lambda transaction: transaction.append(
            [full(RawArticle, article_id=f"{n}") for n in range(20)]
        )
    )
    for start in range(0, 20, 5):  # each in the catalog, as few rows are
        lake.transact(
            lambda rows, start=start: rows.delete(
                RawArticle, article_id=[f"{start + n}" for n in range(5)]
            )
        )

    assert maintain(lake, now=LATER)[1].files == 0


@pytest.mark.slow  # several rounds of maintenance
def test_maintenance_can_be_repeated_and_rows_written_after_it(lake: Lake) -> None:
    rows = fill(lake)
    maintain(lake, now=LATER)

    again, after = maintain(lake, now=LATER)
    lake.transact(lambda transaction: transaction.upsert([full(FeedEntry)]))

    assert (again.files, again.file_bytes) == (after.files, after.file_bytes)
    assert lake.read(RawArticle) == rows
    assert lake.read(FeedEntry) == [full(FeedEntry)]


@pytest.mark.slow  # several rounds of maintenance
def test_snapshots_and_files_of_the_last_days_stay(lake: Lake) -> None:
    fill(lake)
    files = set(Path(lake.address.data).rglob("*.parquet"))

    before, after = maintain(lake, now=datetime.now(UTC))

    assert after.snapshots >= before.snapshots
    assert files <= set(Path(lake.address.data).rglob("*.parquet"))


@pytest.mark.slow  # several rounds of maintenance
def test_orphaned_files_of_a_dead_writer_are_deleted_and_foreign_files_stay(
    lake: Lake,
) -> None:
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
    files = [
        Path(lake.address.data) / f"{n:02}.parquet" for n in range(MAX_ORPHANS + 1)
    ]
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


@pytest.mark.slow  # a reader beside maintenance
def test_a_reader_that_started_before_maintenance_misses_no_row(lake: Lake) -> None:
    rows = fill(lake)
    with Lake.open(lake.address.catalog, lake.address.data) as other:
        streams = [
            lake.stream(RawArticle, batch_rows=1),
            other.stream(RawArticle, batch_rows=1),
        ]
        counts = [len(next(frames)) for frames in streams]

        maintain(lake, now=datetime.now(UTC))

        counts = [
            count + sum(map(len, frames))
            for count, frames in zip(counts, streams, strict=True)
        ]
    assert counts == [len(rows)] * 2
