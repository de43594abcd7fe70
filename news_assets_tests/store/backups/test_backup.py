import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from news_assets.errors import LakeError
from news_assets.records.articles import SourceState
from news_assets.records.derived import Failure
from news_assets.store.address import Address
from news_assets.store.backups.backup import back_up, delete_daily_backups, read_backup
from news_assets.store.backups.restore import plan_restore, restore
from news_assets.store.lake import Lake
from news_assets.store.lake_errors import data_copy_of
from news_assets_tests.store.examples import MANY, article, full, upsert

NOW = datetime(2026, 11, 22, 4, 17, tzinfo=UTC)


@pytest.mark.on_postgres_too
def test_a_backup_has_the_last_commit_and_its_data_files(
    lake: Lake, tmp_path: Path
) -> None:
    upsert(lake, [article(n) for n in range(MANY)])
    upsert(lake, [full(Failure)])

    made = back_up(lake.address, tmp_path / "backups", NOW)

    assert made.file.name == f"backup-20261122T041700Z{lake.address.backup_suffix}"
    assert made == read_backup(lake.address, made.file)
    assert made.commit == lake.snapshot()
    data = Path(lake.address.data)
    assert made.files == {
        str(file.relative_to(data)): file.stat().st_size
        for file in data.rglob("*.parquet")
    }
    assert made.data_bytes == sum(made.files.values())
    assert [path.stat().st_mode & 0o777 for path in (made.file, made.file.parent)] == [
        0o600,
        0o700,
    ]
    assert list(made.file.parent.iterdir()) == [made.file]


@pytest.mark.slow  # backups beside writers
def test_a_backup_is_consistent_while_writers_go_on(lake: Lake, tmp_path: Path) -> None:
    """Every commit changes two tables together, so a backup with parts of two commits
    has different numbers.
    """
    address, done = lake.address, threading.Event()

    def write() -> None:
        number = 0
        while not done.is_set():
            number += 1
            rows = (
                [full(SourceState, etag=str(number))],
                [full(Failure, reason=str(number))],
            )
            lake.transact(
                lambda transaction, rows=rows: [
                    transaction.upsert(each) for each in rows
                ]
            )

    writer = threading.Thread(target=write)
    writer.start()
    try:
        backups = []
        for number in range(3):
            seen = lake.snapshot()
            while lake.snapshot() == seen:
                time.sleep(0.01)
            backups.append(
                back_up(address, tmp_path / "backups", NOW + timedelta(seconds=number))
            )
    finally:
        done.set()
        writer.join()

    assert backups[0].commit < backups[-1].commit
    for number, backup in enumerate(backups):
        restore(
            address, plan_restore(address, backup.file), NOW + timedelta(hours=number)
        )
        with Lake.open(address.catalog, address.data) as again:
            assert [row.etag for row in again.read(SourceState)] == [
                row.reason for row in again.read(Failure)
            ]


def test_a_backup_with_data_has_links_to_the_files(lake: Lake, tmp_path: Path) -> None:
    upsert(lake, [article(n) for n in range(MANY)])

    made = back_up(lake.address, tmp_path / "backups", NOW, with_data=True)

    (path,) = made.files
    copied = data_copy_of(made.file) / path
    assert copied.samefile(Path(lake.address.data) / path)


def test_a_file_that_is_missing_fails_a_backup_with_data(
    lake: Lake, tmp_path: Path
) -> None:
    upsert(lake, [article(n) for n in range(MANY)])
    (file,) = Path(lake.address.data).rglob("*.parquet")
    file.unlink()

    with pytest.raises(
        LakeError, match=rf"{file.name}: the backup could not be made: No such file"
    ):
        back_up(lake.address, tmp_path / "backups", NOW, with_data=True)

    assert list((tmp_path / "backups").glob("*.*")) in (
        [],
        [tmp_path / "backups" / "backup-20261122T041700Z.data"],
    )


def test_a_backup_is_not_made_inside_the_data_folder(lake: Lake) -> None:
    with pytest.raises(LakeError, match="a backup cannot be in the data folder"):
        back_up(lake.address, Path(lake.address.data) / "backups", NOW)


def test_old_daily_backups_are_deleted_and_others_kept(
    lake: Lake, tmp_path: Path
) -> None:
    folder = tmp_path / "backups"
    days = [
        back_up(lake.address, folder, NOW - timedelta(days=n), is_daily=True).file
        for n in (0, 14, 15)
    ]
    own = back_up(lake.address, folder, NOW - timedelta(days=99)).file

    assert delete_daily_backups(lake.address, folder, NOW - timedelta(days=14)) == 1

    assert sorted(folder.iterdir()) == sorted([*days[:2], own])


def test_a_file_that_is_no_backup_is_refused(tmp_path: Path) -> None:
    address = Address(str(tmp_path / "catalog.sqlite"), str(tmp_path / "data"))
    (tmp_path / "rubbish.sqlite").write_bytes(b"rubbish" * 1000)

    with pytest.raises(LakeError, match="there is no such backup"):
        read_backup(address, tmp_path / "missing.sqlite")
    with pytest.raises(
        LakeError, match="not a backup of this kind of catalog, or damaged"
    ):
        read_backup(address, tmp_path / "rubbish.sqlite")
