"""Make backups, read what is in one, and delete old ones."""

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from news_assets.errors import LakeError
from news_assets.folders import private_folder
from news_assets.store.address import Address, quoted
from news_assets.store.backups import postgres_catalog, sqlite_catalog
from news_assets.store.connection import connect
from news_assets.store.data_folder import files_in_use
from news_assets.store.lake_errors import data_copy_of, lake_error
from news_assets.store.upgrade import Identity, read_identity

DATABASE = "backup"  # the name of an attached backup in SQL
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
                copy_files(Path(address.data_path), data_copy_of(target), backup.files)
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
        postgres_catalog.copy(connection, address.catalog, target)
    else:
        sqlite_catalog.copy(Path(address.catalog), target)


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
            attach_backup(connection, address, file)
            return _read(connection, file)
        except duckdb.Error as error:
            cause = " ".join(str(error).split())[:200]
            raise LakeError(
                f"{file}: not a backup of this kind of catalog, or damaged: {cause}"
            ) from error


def attach_backup(
    connection: duckdb.DuckDBPyConnection, address: Address, file: Path
) -> None:
    """Attach a backup as a database of plain tables."""
    kind = "READ_ONLY" if address.is_postgres else "TYPE sqlite, READ_ONLY"
    connection.execute(f"ATTACH {quoted(str(file))} AS {DATABASE} ({kind})")


def _read(connection: duckdb.DuckDBPyConnection, file: Path) -> Backup:
    row = connection.execute(
        "SELECT snapshot_id, snapshot_time::TIMESTAMPTZ, "
        f"(SELECT value FROM {DATABASE}.ducklake_metadata WHERE key = 'data_path') "
        f"FROM {DATABASE}.ducklake_snapshot ORDER BY snapshot_id DESC LIMIT 1"
    ).fetchone()
    identity = read_identity(connection, DATABASE)
    if row is None or identity is None:
        raise LakeError(f"{file}: no backup of a lake: the catalog in it has no id")
    return Backup(
        file, identity, row[0], row[1], files_in_use(connection, row[2], DATABASE)
    )


def copy_files(source: Path, target: Path, paths: Collection[str]) -> None:
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
