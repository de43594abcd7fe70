"""Maintenance of the lake's files: flush inlined rows, merge small files, expire snapshots, delete unused files.

No row changes. It may run beside readers and writers: each step is a transaction of its own, and files are kept for a
day after the last snapshot that uses them, for readers that began earlier.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from news_assets.store.address import LAKE
from news_assets.store.lake import Lake
from news_assets.store.tables import TABLES
from news_assets.store.transaction import Transaction

KEEP_DAYS = 7
FILE_GRACE = timedelta(days=1)  # longer than any read or open transaction

# Files are rewritten without their deleted rows from this share on; merging alone keeps deleted rows.
_REWRITE_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class LakeSize:
    """The size of a lake: Parquet files in use, their delete files, snapshots, and the bytes of all those files."""

    files: int
    delete_files: int
    snapshots: int
    file_bytes: int


def maintain(
    lake: Lake, *, now: datetime, keep_days: int = KEEP_DAYS, grace: timedelta = FILE_GRACE
) -> tuple[LakeSize, LakeSize]:
    """Run all steps and return the lake's size before and after; snapshots older than `keep_days` are deleted.

    Raises:
        LakeError: A step failed. Earlier steps are committed, and another run continues after them.
    """
    before = lake_size(lake)
    for step in _steps(now - timedelta(days=keep_days), now - grace):
        lake.transact(lambda transaction, step=step: _run(transaction, step))  # type: ignore[misc]
    return before, lake_size(lake)


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
        f"CALL ducklake_delete_orphaned_files('{LAKE}', older_than => {_time(unused)})",
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
