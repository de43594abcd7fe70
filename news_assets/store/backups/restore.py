"""Bring a lake back from a backup."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from news_assets.errors import LakeError
from news_assets.folders import private_folder
from news_assets.store.address import LAKE, Address
from news_assets.store.backups import postgres_catalog, sqlite_catalog
from news_assets.store.backups.backup import (
    DATABASE,
    Backup,
    attach_backup,
    copy_files,
    read_backup,
)
from news_assets.store.connection import connect, write_lock_of
from news_assets.store.data_folder import DataFolder
from news_assets.store.lake import Lake
from news_assets.store.lake_errors import data_copy_of, lake_error
from news_assets.store.transaction import Transaction
from news_assets.store.upgrade import check_version, read_identity, write_identity

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
        return postgres_catalog.last_commit(connection, address.catalog)
    return sqlite_catalog.last_commit(Path(address.catalog))


def _has_size(file: Path, size: int) -> bool:
    return file.is_file() and file.stat().st_size == size


def restore(address: Address, plan: Plan, now: datetime) -> Restored:
    """Bring the lake back as planned. The present catalog is kept, and no data file is
    deleted.

    Raises:
        LakeError: Another process is writing, or a file could not be written.
    """
    moment = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    try:
        if plan.copied:
            copy_files(
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
                sqlite_catalog.put_back(
                    plan.backup.file, Path(address.catalog), address.data_path, kept
                )
                return str(kept) if kept.exists() else None
            attach_backup(connection, address, plan.backup.file)
            kept_as = f"before_restore_{moment.lower()}"
            had_one = (
                postgres_catalog.last_commit(connection, address.catalog) is not None
            )
            postgres_catalog.put_back(
                connection,
                address.catalog,
                DATABASE,
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
