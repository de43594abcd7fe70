"""Backups of a lake: consistent copies of its catalog, made while others write, and the
way back from one.

A backup is one file: the catalog, which lists the data files of its last commit with
their sizes. For SQLite it is a SQLite file, for Postgres a DuckDB file with the tables
of the catalog. A folder of the same name ending in `.data` has copies of the data
files, if the backup was made with them.
"""

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from news_assets.errors import LakeError
from news_assets.folders import private_folder
from news_assets.store.address import (
    LAKE,
    Address,
    DataFolder,
    data_copy_of,
    files_in_use,
    lake_error,
    quoted,
)
from news_assets.store.catalog_copies import (
    copy_postgres,
    copy_sqlite,
    postgres_commit,
    put_back_postgres,
    put_back_sqlite,
    sqlite_commit,
)
from news_assets.store.connection import connect, write_lock_of
from news_assets.store.lake import Lake
from news_assets.store.transaction import Transaction
from news_assets.store.upgrade import (
    Identity,
    check_version,
    read_identity,
    write_identity,
)

_DATABASE = "backup"  # the name of an attached backup in SQL
_DAILY = "daily"
_TIME = "%Y%m%dT%H%M%SZ"


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup has: its last commit, and path below the data folder -> bytes of
    the data files of that commit.
    """

    file: Path
    identity: Identity
    commit: int
    committed_at: datetime
    files: dict[str, int]

    @property
    def data_bytes(self) -> int:
        """The size of all its data files."""
        return sum(self.files.values())


def back_up(
    address: Address,
    folder: Path,
    now: datetime,
    *,
    is_daily: bool = False,
    with_data: bool = False,
) -> Backup:
    """Make a backup of the lake's last commit in this folder.

    A daily one is deleted by maintenance. `with_data` copies the data files too, as
    hard links if possible.

    Raises:
        LakeError: The catalog could not be read, the folder could not be written, or a
            data file is missing.
    """
    if with_data and not address.is_local:
        raise LakeError(
            f"{address.data}: only a local data folder can be copied; use the tools of the object"
            " store"
        )
    if address.is_local and folder.resolve().is_relative_to(address.data_path):
        raise LakeError(
            f"{folder}: a backup cannot be in the data folder, where its files are orphans"
        )
    kind = _DAILY if is_daily else "backup"
    name = f"{kind}-{now.astimezone(UTC).strftime(_TIME)}{address.backup_suffix}"
    target = folder / name
    draft = target.with_name(f"{name}.part")
    with _translated(address, folder):
        private_folder(folder)
        try:
            draft.unlink(missing_ok=True)
            with connect(address, threads=1, memory_mb=256) as connection:
                _copy_catalog(connection, address, draft)
            draft.chmod(0o600)
            backup = read_backup(address, draft)
            if with_data:
                _copy_files(Path(address.data_path), data_copy_of(target), backup.files)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    return Backup(
        target, backup.identity, backup.commit, backup.committed_at, backup.files
    )


def _copy_catalog(
    connection: duckdb.DuckDBPyConnection, address: Address, target: Path
) -> None:
    if address.is_postgres:
        copy_postgres(connection, address.database, target)
    else:
        copy_sqlite(Path(address.catalog), target)


@contextmanager
def _translated(address: Address, folder: Path) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        raise lake_error(address, "the catalog could not be copied", error) from error
    except OSError as error:
        raise LakeError(
            f"{error.filename or folder}: the backup could not be made: {error.strerror}"
        ) from error


def read_backup(address: Address, file: Path) -> Backup:
    """Return what is in a backup of a lake with such a catalog.

    Raises:
        LakeError: The file is missing, no backup, or damaged.
    """
    if not file.is_file():
        raise LakeError(f"{file}: there is no such backup")
    with connect(address, threads=1, memory_mb=256) as connection:
        try:
            _attach_backup(connection, address, file)
            return _read(connection, file)
        except duckdb.Error as error:
            cause = " ".join(str(error).split())[:200]
            raise LakeError(
                f"{file}: not a backup of this kind of catalog, or damaged: {cause}"
            ) from error


def _attach_backup(
    connection: duckdb.DuckDBPyConnection, address: Address, file: Path
) -> None:
    """Attach a backup as a database of plain tables."""
    kind = "READ_ONLY" if address.is_postgres else "TYPE sqlite, READ_ONLY"
    connection.execute(f"ATTACH {quoted(str(file))} AS {_DATABASE} ({kind})")


def _read(connection: duckdb.DuckDBPyConnection, file: Path) -> Backup:
    row = connection.execute(
        "SELECT snapshot_id, snapshot_time::TIMESTAMPTZ, "
        f"(SELECT value FROM {_DATABASE}.ducklake_metadata WHERE key = 'data_path') "
        f"FROM {_DATABASE}.ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1"
    ).fetchone()
    identity = read_identity(connection, _DATABASE)
    if row is None or identity is None:
        raise LakeError(f"{file}: no backup of a lake: the catalog in it has no id")
    return Backup(
        file, identity, row[0], row[1], files_in_use(connection, row[2], _DATABASE)
    )


def _copy_files(source: Path, target: Path, paths: Collection[str]) -> None:
    """Copy these files, as hard links if possible; DuckLake never changes a file.

    Raises:
        OSError: One is missing, or cannot be written.
    """
    for path in paths:
        copied = target / path
        private_folder(copied.parent)
        copied.unlink(missing_ok=True)
        try:
            os.link(source / path, copied)
        except OSError:
            shutil.copy2(source / path, copied)


def delete_daily_backups(address: Address, folder: Path, before: datetime) -> int:
    """Delete the daily backups from before this time and return how many; those made by
    a command are kept.
    """
    oldest = f"{_DAILY}-{before.astimezone(UTC).strftime(_TIME)}"
    old = [
        file
        for file in folder.glob(f"{_DAILY}-*{address.backup_suffix}")
        if file.stem < oldest
    ]
    for file in old:
        with suppress(FileNotFoundError):
            file.unlink()
    return len(old)


# --- restore --------------------------------------------------------------------------


_WAIT_S = 30.0  # for the write lock, and for the readers of a Postgres catalog


@dataclass(frozen=True, slots=True)
class Plan:
    """What a restore does and finds, with paths below the data folder.

    `copied` are the data files that come back from the backup's copy, `missing` those
    that are nowhere. `lost_commits` is how many commits the present catalog has after
    that of the backup.
    """

    backup: Backup
    copied: tuple[str, ...]
    missing: tuple[str, ...]
    lost_commits: int


@dataclass(frozen=True, slots=True)
class Restored:
    """A finished restore: where the replaced catalog is kept, and the files that the
    restored one does not know.
    """

    plan: Plan
    kept_as: str | None
    orphans: tuple[str, ...]


def plan_restore(address: Address, file: Path) -> Plan:
    """Return what a restore from this backup would do; nothing is changed.

    Raises:
        LakeError: The backup cannot be read, or belongs to another lake than the data
            folder, or to a newer program.
    """
    backup = read_backup(address, file)
    check_version(address, backup.identity)
    with connect(address, threads=1, memory_mb=256) as connection:
        try:
            folder = DataFolder(address, connection)
            found_id = folder.lake_id()
            if found_id not in (None, backup.identity.lake_id):
                raise LakeError(
                    f"{file}: a backup of the lake {backup.identity.lake_id}, but the files in"
                    f" {address.data} belong to the lake {found_id}; set NEWS_DATA to the folder of"
                    " that lake, or to a new one"
                )
            sizes = folder.sizes()
            commit = _last_commit(connection, address)
        except duckdb.Error as error:
            raise lake_error(
                address, "the lake could not be inspected", error
            ) from error
    absent = [path for path, size in backup.files.items() if sizes.get(path) != size]
    copies = data_copy_of(file)
    copied = tuple(
        path for path in absent if _has_size(copies / path, backup.files[path])
    )
    missing = tuple(path for path in absent if path not in set(copied))
    return Plan(backup, copied, missing, max(0, (commit or 0) - backup.commit))


def _last_commit(connection: duckdb.DuckDBPyConnection, address: Address) -> int | None:
    if address.is_postgres:
        return postgres_commit(connection, address.database)
    return sqlite_commit(Path(address.catalog))


def _has_size(file: Path, size: int) -> bool:
    return file.is_file() and file.stat().st_size == size


def restore(address: Address, plan: Plan, now: datetime) -> Restored:
    """Bring the lake back as planned. The present catalog is kept, and no data file is
    deleted.

    Other processes may have the lake open, this one must not. File locks belong to a
    process, and Python's SQLite would release those of DuckDB's.

    Raises:
        LakeError: Another process is writing, or a file could not be written.
    """
    moment = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    try:
        if plan.copied:
            _copy_files(
                data_copy_of(plan.backup.file), Path(address.data_path), plan.copied
            )
        kept_as = _put_back(address, plan, moment)
    except OSError as error:
        raise LakeError(
            f"{error.filename}: cannot be written: {error.strerror}"
        ) from error
    except duckdb.Error as error:
        raise lake_error(
            address, "the catalog could not be restored; stop what reads it", error
        ) from error
    with Lake.open(address.catalog, address.data, backups=address.backups) as lake:
        lake.transact(lambda transaction: _mark(transaction, now))
        orphans = lake.query(
            f"FROM ducklake_delete_orphaned_files('{LAKE}', dry_run => true, cleanup_all => true)"
        )
    return Restored(plan, kept_as, tuple(sorted(orphans["path"])))


def _put_back(address: Address, plan: Plan, moment: str) -> str | None:
    """Replace the catalog under the write lock; return where the present one is kept."""
    with connect(address, threads=1, memory_mb=256) as connection:
        if address.is_local:
            private_folder(Path(address.data))
        if not address.is_postgres:
            private_folder(Path(address.catalog).parent)
        with write_lock_of(connection, address).held(_WAIT_S):
            DataFolder(address, connection).write_id(plan.backup.identity.lake_id)
            if not address.is_postgres:
                kept = Path(f"{address.catalog}.before-restore-{moment}")
                put_back_sqlite(
                    plan.backup.file, Path(address.catalog), address.data_path, kept
                )
                return str(kept) if kept.exists() else None
            _attach_backup(connection, address, plan.backup.file)
            kept_as = f"before_restore_{moment.lower()}"
            had_one = postgres_commit(connection, address.database) is not None
            put_back_postgres(
                connection,
                address.database,
                _DATABASE,
                address.data_path,
                kept_as,
                _WAIT_S,
            )
            return f"the schema {kept_as}" if had_one else None


def _mark(transaction: Transaction, now: datetime) -> None:
    """Store the time of the restore, after which files that the catalog does not know
    are kept for a while.
    """
    identity = read_identity(transaction.cursor)
    assert identity is not None
    write_identity(transaction.cursor, replace(identity, restored_at=now))
