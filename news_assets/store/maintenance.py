"""Maintenance of the lake's files: flush inlined rows, merge small files, expire snapshots, delete unused files.

No row changes. It may run beside readers and writers: each step is a transaction of its own, and files are kept for a
while after they were replaced: a day for readers that began earlier, and as long as a kept backup needs them.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from news_assets.errors import LakeError
from news_assets.store.address import LAKE, Address
from news_assets.store.data_folder import DataFolder, files_in_use
from news_assets.store.lake import Lake
from news_assets.store.tables import TABLES
from news_assets.store.transaction import Transaction
from news_assets.store.upgrade import Identity, read_identity

KEEP_DAYS = 7
FILE_GRACE = timedelta(days=1)  # longer than any read or open transaction
RESTORE_GRACE = timedelta(days=14)  # for the files written after a backup, which its restore made orphans

# A writer that dies leaves a file for each table and month it wrote. More orphans than this many, and than this share
# of the files in use, mean that the catalog is not the one that the files were written for.
MAX_ORPHANS = 20
MAX_ORPHAN_SHARE = 0.2

# Files are rewritten without their deleted rows from this share on; merging alone keeps deleted rows.
_REWRITE_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class LakeSize:
    """The size of a lake: Parquet files in use, their delete files, snapshots, and the bytes of all those files."""

    files: int
    delete_files: int
    snapshots: int
    file_bytes: int


@dataclass(frozen=True, slots=True)
class Orphans:
    """The files that no snapshot has used: their paths, and why they were kept; None if they were deleted."""

    files: tuple[str, ...]
    why_kept: str | None = None


def maintain(
    lake: Lake, *, now: datetime, keep_days: int = KEEP_DAYS, grace: timedelta = FILE_GRACE
) -> tuple[LakeSize, LakeSize]:
    """Run all steps and return the lake's size before and after; snapshots older than `keep_days` are deleted.

    Orphaned files are left to `delete_orphans`.

    Raises:
        LakeError: A step failed, or the data folder belongs to another lake. Earlier steps are committed, and another
            run continues after them.
    """
    before = lake_size(lake)
    for step in _steps(now - timedelta(days=keep_days), now - grace):
        lake.transact(lambda transaction, step=step: _run(transaction, step))  # type: ignore[misc]
    return before, lake_size(lake)


def delete_orphans(lake: Lake, *, now: datetime, grace: timedelta = FILE_GRACE) -> Orphans:
    """Delete the files that no snapshot has used and that are older than `grace`, if they can be of writers that died.

    Raises:
        LakeError: The data folder belongs to another lake, or a file could not be deleted.
    """
    return lake.transact(lambda transaction: _delete_orphans(transaction, lake.address, now, now - grace))


def _delete_orphans(transaction: Transaction, address: Address, now: datetime, unused: datetime) -> Orphans:
    identity = read_identity(transaction.cursor)
    if identity is None or not DataFolder(address, transaction.cursor).check_id(identity.lake_id):
        raise LakeError(
            f"{address.data}: the data folder has lost its lake id; open the lake again before its files are deleted"
        )
    arguments = f"'{LAKE}', older_than => {_time(unused)}"
    found = transaction.query(f"FROM ducklake_delete_orphaned_files({arguments}, dry_run => true)")
    files = tuple(sorted(found["path"]))
    why_kept = _why_kept(len(files), len(files_in_use(transaction.cursor, address.data_path)), identity, now)
    if files and why_kept is None:
        _run(transaction, f"CALL ducklake_delete_orphaned_files({arguments})")
    return Orphans(files, why_kept)


def _why_kept(count: int, in_use: int, identity: Identity, now: datetime) -> str | None:
    if count == 0:
        return None
    if identity.restored_at and now - identity.restored_at < RESTORE_GRACE:
        until = identity.restored_at + RESTORE_GRACE
        return f"the lake was restored from a backup; files written after the backup are kept until {until:%Y-%m-%d}"
    if count > max(MAX_ORPHANS, in_use * MAX_ORPHAN_SHARE):
        return (
            f"{count} unknown files beside {in_use} files in use are too many to be left over from writers that died; "
            "check that no other lake uses this data folder and that the catalog is right, then delete them yourself"
        )
    return None


def _steps(expired: datetime, unused: datetime) -> list[str]:
    """Return the statements in order: each leaves files to the later ones."""
    tables = [table.name for table in TABLES]
    return [
        *(f"CALL ducklake_flush_inlined_data('{LAKE}', table_name => '{name}')" for name in tables),
        *(
            f"CALL ducklake_rewrite_data_files('{LAKE}', '{name}', delete_threshold => {_REWRITE_SHARE})"
            for name in tables
        ),
        *(f"CALL ducklake_merge_adjacent_files('{LAKE}', '{name}')" for name in tables),
        f"CALL ducklake_expire_snapshots('{LAKE}', older_than => {_time(expired)})",
        f"CALL ducklake_cleanup_old_files('{LAKE}', older_than => {_time(unused)})",
    ]


def _time(at: datetime) -> str:
    return f"TIMESTAMPTZ '{at.isoformat()}'"


def _run(transaction: Transaction, statement: str) -> None:
    transaction.cursor.execute(statement).fetchall()


def lake_size(lake: Lake) -> LakeSize:
    """Return the lake's present size."""
    files = lake.query(
        "SELECT coalesce(sum(file_count), 0)::BIGINT, coalesce(sum(delete_file_count), 0)::BIGINT, "
        "coalesce(sum(file_size_bytes + delete_file_size_bytes), 0)::BIGINT "
        f"FROM ducklake_table_info('{LAKE}')"
    ).row(0)
    snapshots = lake.query(f"SELECT count(*) FROM ducklake_snapshots('{LAKE}')").item()
    return LakeSize(files=files[0], delete_files=files[1], snapshots=snapshots, file_bytes=files[2])
