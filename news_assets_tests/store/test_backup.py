"""A lake that lost its catalog, its data, or both comes back."""

import shutil
import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg2
import pytest

from news_assets.errors import LakeError
from news_assets.records.articles import RawArticle, SourceState
from news_assets.records.derived import Failure
from news_assets.store.address import Address, data_copy_of
from news_assets.store.backup import (
    Backup,
    Restored,
    back_up,
    delete_daily_backups,
    plan_restore,
    read_backup,
    restore,
)
from news_assets.store.lake import Lake
from news_assets.store.maintenance import FILE_GRACE, delete_orphans, maintain
from news_assets.store.transaction import Transaction
from news_assets_tests.store.examples import MANY, article, full, upsert
from news_assets_tests.support.lakes import Catalogs
from news_assets_tests.support.servers import Postgres

BACKED_UP_AT = datetime(2026, 11, 22, 4, 17, tzinfo=UTC)


@pytest.mark.on_postgres_too
def test_a_backup_has_the_last_commit_and_its_data_files(
    lake: Lake, tmp_path: Path
) -> None:
    upsert(lake, [article(n) for n in range(MANY)])
    upsert(lake, [full(Failure)])

    made = back_up(lake.address, tmp_path / "backups", BACKED_UP_AT)

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
                back_up(
                    address,
                    tmp_path / "backups",
                    BACKED_UP_AT + timedelta(seconds=number),
                )
            )
    finally:
        done.set()
        writer.join()

    assert backups[0].commit < backups[-1].commit
    lake.close()
    for number, backup in enumerate(backups):
        restore(
            address,
            plan_restore(address, backup.file),
            BACKED_UP_AT + timedelta(hours=number),
        )
        with Lake.open(address.catalog, address.data) as again:
            assert [row.etag for row in again.read(SourceState)] == [
                row.reason for row in again.read(Failure)
            ]


def test_a_backup_with_data_has_links_to_the_files(lake: Lake, tmp_path: Path) -> None:
    upsert(lake, [article(n) for n in range(MANY)])

    made = back_up(lake.address, tmp_path / "backups", BACKED_UP_AT, with_data=True)

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
        back_up(lake.address, tmp_path / "backups", BACKED_UP_AT, with_data=True)

    assert list((tmp_path / "backups").glob("*.*")) in (
        [],
        [tmp_path / "backups" / "backup-20261122T041700Z.data"],
    )


def test_a_backup_is_not_made_inside_the_data_folder(lake: Lake) -> None:
    with pytest.raises(LakeError, match="a backup cannot be in the data folder"):
        back_up(lake.address, Path(lake.address.data) / "backups", BACKED_UP_AT)


def test_old_daily_backups_are_deleted_and_others_kept(
    lake: Lake, tmp_path: Path
) -> None:
    folder = tmp_path / "backups"
    days = [
        back_up(
            lake.address, folder, BACKED_UP_AT - timedelta(days=n), is_daily=True
        ).file
        for n in (0, 14, 15)
    ]
    own = back_up(lake.address, folder, BACKED_UP_AT - timedelta(days=99)).file

    assert (
        delete_daily_backups(lake.address, folder, BACKED_UP_AT - timedelta(days=14))
        == 1
    )

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


NOW = datetime.now(UTC)
ROWS = [article(n) for n in range(MANY)]


@pytest.fixture
def address(catalogs: Catalogs, tmp_path: Path) -> Address:
    """A lake with rows in a file and inlined in the catalog."""
    address = Address(
        *catalogs.copy(catalogs.empty, tmp_path), str(tmp_path / "backups")
    )
    with opened(address) as lake:
        upsert(lake, ROWS)
        upsert(lake, [full(Failure)])
    return address


def opened(address: Address) -> Lake:
    return Lake.open(address.catalog, address.data, backups=address.backups)


def backed_up(address: Address, *, with_data: bool = False) -> Backup:
    return back_up(address, Path(address.backups), NOW, with_data=with_data)


def lose_catalog(address: Address) -> None:
    if not address.is_postgres:
        Path(address.catalog).unlink()
        return
    with closing(psycopg2.connect(address.catalog)) as connection, connection:
        connection.cursor().execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")


def restored(
    address: Address, backup: Backup, *, after: timedelta = timedelta(0)
) -> Restored:
    return restore(address, plan_restore(address, backup.file), NOW + after)


def assert_whole(address: Address) -> None:
    """Check that all rows of the backup are there, and that the lake can be written and
    maintained.
    """
    with opened(address) as lake:
        assert (lake.read(RawArticle), lake.read(Failure)) == (ROWS, [full(Failure)])
        upsert(lake, [article(MANY)])
        maintain(lake, now=NOW)
        assert lake.read(RawArticle) == [*ROWS, article(MANY)]


@pytest.mark.on_postgres_too
def test_a_lost_catalog_comes_back_and_later_files_are_listed_and_kept(
    address: Address,
) -> None:
    backup = backed_up(address)
    with opened(address) as lake:
        upsert(lake, [article(n) for n in range(MANY, 2 * MANY)])
    later = {str(file) for file in Path(address.data).rglob("*.parquet")} - {
        f"{address.data_path}{path}" for path in backup.files
    }
    lose_catalog(address)

    done = restored(address, backup)

    assert (set(done.orphans), done.kept_as) == (later, None)
    with opened(address) as lake:
        kept = delete_orphans(lake, now=NOW + timedelta(days=13), grace=FILE_GRACE)
        assert kept.why_kept is not None
        assert "restored from a backup" in kept.why_kept
        assert all(Path(file).exists() for file in later)
    assert_whole(address)


@pytest.mark.slow  # several rounds of maintenance
def test_a_backup_is_whole_as_long_as_maintenance_keeps_replaced_files(
    address: Address,
) -> None:
    """Maintenance merges the files of the backup into others; a month later it expires
    their snapshots.
    """
    backup = backed_up(address)
    with opened(address) as lake:
        upsert(lake, [article(n) for n in range(MANY, 2 * MANY)])
        maintain(
            lake, now=datetime.now(UTC) + timedelta(days=13), grace=timedelta(days=14)
        )
        assert plan_restore(address, backup.file).missing == ()
        maintain(
            lake, now=datetime.now(UTC) + timedelta(days=15), grace=timedelta(days=14)
        )

    assert plan_restore(address, backup.file).missing == tuple(backup.files)


@pytest.mark.slow  # makes and restores backups
def test_a_lost_data_folder_is_named_file_by_file_and_comes_back_from_a_copy(
    address: Address, tmp_path: Path
) -> None:
    backup = backed_up(address)
    Path(address.data).rename(tmp_path / "copy")

    assert plan_restore(address, backup.file).missing == tuple(backup.files)
    (tmp_path / "copy").rename(address.data)
    assert plan_restore(address, backup.file).missing == ()

    assert_whole(address)


@pytest.mark.on_postgres_too
def test_catalog_and_data_come_back_from_a_backup_with_data_elsewhere(
    address: Address, catalogs: Catalogs, tmp_path: Path
) -> None:
    backup = backed_up(address, with_data=True)
    lose_catalog(address)
    shutil.rmtree(address.data)
    elsewhere = Address(
        catalogs.new(tmp_path / "new")[0],
        str(tmp_path / "new" / "data"),
        address.backups,
    )

    done = restored(elsewhere, backup)

    assert (done.plan.copied, done.plan.missing, done.orphans) == (
        tuple(backup.files),
        (),
        (),
    )
    assert_whole(elsewhere)


@pytest.mark.slow  # makes and restores backups
def test_the_present_catalog_is_kept_and_its_later_commits_are_counted(
    address: Address,
) -> None:
    backup = backed_up(address)
    with opened(address) as lake:
        upsert(lake, [full(Failure, stage="other")])
        upsert(lake, [full(Failure, stage="another")])

    done = restored(address, backup)

    assert done.plan.lost_commits == 2
    assert done.kept_as is not None
    if not address.is_postgres:
        shutil.copy(done.kept_as, address.catalog)
        with opened(address) as lake:
            assert len(lake.read(Failure)) == 3
    else:
        assert_whole(address)


@pytest.mark.on_postgres_too
def test_conflicting_commits_are_found_after_a_restore(address: Address) -> None:
    """DuckLake finds them by the primary key of its snapshots."""
    restored(address, backed_up(address))

    with opened(address) as first, opened(address) as second:
        tries = []

        def work(transaction: Transaction) -> None:
            tries.append(1)
            transaction.read(Failure)
            if len(tries) == 1:  # a commit of a writer without the lock
                with second._transaction() as cursor:
                    cursor.execute("DELETE FROM failures")
            transaction.upsert([full(Failure, stage="mine")])

        first.transact(work)

        assert len(tries) == 2
        assert [row.stage for row in first.read(Failure)] == ["mine"]


@pytest.mark.slow  # Postgres and its tools
def test_other_tables_of_the_database_are_left_alone(
    postgres: Postgres, tmp_path: Path
) -> None:
    address = Address(
        postgres.url("shared"), str(tmp_path / "data"), str(tmp_path / "backups")
    )
    with closing(psycopg2.connect(address.catalog)) as connection, connection:
        connection.cursor().execute(
            "CREATE TABLE runs (id INTEGER PRIMARY KEY); INSERT INTO runs VALUES (7)"
        )
    with opened(address) as lake:
        upsert(lake, ROWS)
        upsert(lake, [full(Failure)])

    restored(address, backed_up(address))

    with (
        closing(psycopg2.connect(address.catalog)) as connection,
        connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT id FROM public.runs")
        assert cursor.fetchall() == [(7,)]
    assert_whole(address)


def test_a_restore_leaves_a_reader_its_snapshot_or_fails(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("news_assets.store.backup._WAIT_S", 0.2)
    backup = backed_up(address)
    with opened(address) as lake:
        upsert(lake, [article(n) for n in range(MANY, 2 * MANY)])
        frames = lake.stream(RawArticle, batch_rows=1)
        count = len(next(frames))

        # the tables of the catalog cannot be moved while they are read
        if address.is_postgres:
            with pytest.raises(
                LakeError, match="could not be restored; stop what reads it"
            ):
                restored(address, backup)
        else:
            restored(address, backup)

        assert count + sum(map(len, frames)) == 2 * MANY


@pytest.mark.slow  # makes and restores backups
def test_a_damaged_catalog_is_moved_aside(tmp_path: Path) -> None:
    address = Address(
        str(tmp_path / "catalog.sqlite"),
        str(tmp_path / "data"),
        str(tmp_path / "backups"),
    )
    with opened(address) as lake:
        upsert(lake, [*ROWS])
    with opened(address) as lake:
        upsert(lake, [full(Failure)])
    backup = backed_up(address)
    Path(address.catalog).write_bytes(b"rubbish" * 1000)

    done = restored(address, backup)

    assert done.kept_as is not None
    assert Path(done.kept_as).read_bytes() == b"rubbish" * 1000
    assert_whole(address)


def test_a_backup_of_another_lake_is_refused(
    address: Address, catalogs: Catalogs, tmp_path: Path
) -> None:
    backup = backed_up(address)
    other = Address(*catalogs.new(tmp_path / "other"))
    opened(other).close()

    with pytest.raises(
        LakeError,
        match=r"a backup of the lake .*, but the files in .* belong to the lake",
    ):
        plan_restore(other, backup.file)


def test_a_restore_waits_for_no_writer_that_does_not_end(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_restore(address, backed_up(address).file)
    monkeypatch.setattr("news_assets.store.backup._WAIT_S", 0.2)

    with opened(address) as lake:
        with pytest.raises(LakeError, match="other writers held the write lock"):
            lake.transact(lambda _: restore(address, plan, NOW))
        assert lake.read(RawArticle) == ROWS
