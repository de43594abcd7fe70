"""Maintenance of the lake's files: flush inlined rows, merge small files, expire
snapshots, delete unused files.

No row changes. It may run beside readers and writers: each step is a transaction of its
own and bounded, so that a writer waits some seconds at most, and files are kept for a
while after they were replaced: a day for readers that began earlier, and as long as a
kept backup needs them.

What was withdrawn leaves the files too, once the snapshots and backups that have it are
too old.

DuckLake merges files in steps, but rewrites all files of a table with deleted rows in
one: with 300 MB of pages this needs more than 512 MB of memory. So the rows of such
files are inserted again here, some files at a time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path

from news_assets.errors import LakeError
from news_assets.records.reading import WITHDRAWN
from news_assets.store.address import (
    LAKE,
    METADATA,
    Address,
    DataFolder,
    files_in_use,
    quoted,
)
from news_assets.store.catalog_copies import drop_free_pages
from news_assets.store.lake import Lake, delete_oldest
from news_assets.store.tables import TABLES
from news_assets.store.transaction import Transaction
from news_assets.store.upgrade import Identity, read_identity

KEEP_DAYS = 7
FILE_GRACE = timedelta(days=1)  # longer than any read or open transaction
# for the files written after a backup, which its restore made orphans
RESTORE_GRACE = timedelta(days=14)

# A writer that dies leaves a file for each table and month it wrote. More orphans than
# this many, and than this share of the files in use, mean that the catalog is not the
# one that the files were written for.
MAX_ORPHANS = 20
_MAX_ORPHAN_SHARE = 0.2

# One step rewrites or merges so much: 16 MB of pages take 1 to 2 s beside a full load
# of two processors. Files are merged to SMALL_BYTES first, so that a step reads some
# 200 files at most (the smallest have 5 kB): each of them costs requests on S3.
STEP_BYTES = 16 << 20
SMALL_BYTES = 1 << 20
_STEP_FILES = 100
_STEP_SNAPSHOTS = 100

# Rows in the catalog are read and flushed all at once, in memory, which fails at 200 MB
# of pages. DuckLake sets the option of a table only in a later transaction than the one
# that creates it.
_PAGES_IN_FILES = (
    f"CALL {LAKE}.set_option('data_inlining_row_limit', 0, table_name => 'pages')"
)

# Write the rows in the catalog to files.
FLUSH = f"CALL ducklake_flush_inlined_data('{LAKE}', table_name => '{{}}')"
# Drop files whose rows were all deleted.
_DROP = f"CALL ducklake_rewrite_data_files('{LAKE}', '{{}}', delete_threshold => 1)"
_FILES = f"""
    SELECT count(*) FROM {METADATA}.ducklake_data_file d
        JOIN {METADATA}.ducklake_table USING (table_id)
    WHERE table_name = ? AND d.end_snapshot IS NULL
"""

_INLINED_ROWS, _FILE_SIZE = (
    "ducklake_default_data_inlining_row_limit",
    "ducklake_target_file_size",
)
# files are rewritten without their deleted rows from this share of them on
_REWRITE_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class LakeSize:
    """The size of a lake: Parquet files in use, their delete files, snapshots, and the
    bytes of all those files.
    """

    files: int
    delete_files: int
    snapshots: int
    file_bytes: int


@dataclass(frozen=True, slots=True)
class Orphans:
    """The files that no snapshot has used: their paths, and why they were kept; None if
    they were deleted.
    """

    files: tuple[str, ...]
    why_kept: str | None = None


def maintain(
    lake: Lake,
    *,
    now: datetime,
    keep_days: int = KEEP_DAYS,
    grace: timedelta = FILE_GRACE,
) -> tuple[LakeSize, LakeSize]:
    """Run all steps and return the lake's size before and after; snapshots older than
    `keep_days` are deleted.

    Orphaned files are left to `delete_orphans`. A lake that was opened with two threads
    may need more than its 512 MB to merge files.

    Raises:
        LakeError: A step failed, or the data folder belongs to another lake. Earlier
            steps are committed, and another run continues after them.
    """
    before, had_withdrawn = lake_size(lake), _had_withdrawn(lake)
    lake.transact(_widen_statistics)
    # writers may add files faster than they are merged
    enough = before.files + before.file_bytes // STEP_BYTES + 1
    lake.transact(partial(_run, statement=_PAGES_IN_FILES))
    try:
        for table in TABLES:
            _maintain_table(lake, table.name, enough, had_withdrawn)
    finally:  # the settings hold for all later writes of the process
        for name in (_INLINED_ROWS, _FILE_SIZE):
            lake.transact(partial(_run, statement=f"RESET {name}"))
    _repeat(lake, partial(_expire, expired=now - timedelta(days=keep_days)))
    if not lake.address.is_postgres:
        _repeat(lake, lambda transaction: bool(delete_oldest(transaction)))
    _repeat(lake, partial(_clean_up, unused=now - grace))
    if not lake.address.is_postgres:
        drop_free_pages(Path(lake.address.catalog))
    return before, lake_size(lake)


def _maintain_table(lake: Lake, table: str, enough: int, had_withdrawn: str) -> None:
    """Write a table's rows to files, and rewrite and merge these."""
    lake.transact(partial(_run, statement=FLUSH.format(table)))
    if not lake.query(_FILES, [table]).item():
        return
    lake.transact(partial(_run, statement=_DROP.format(table)))
    rewrite = partial(_rewrite, table=table, had_withdrawn=had_withdrawn)
    _repeat(lake, rewrite, enough)
    for target_bytes in (SMALL_BYTES, STEP_BYTES):
        merge = partial(_merge, table=table, target_bytes=target_bytes)
        _repeat(lake, merge, enough)


def _repeat(
    lake: Lake, step: Callable[[Transaction], bool], enough: int | None = None
) -> None:
    """Run a step, each time in its own transaction, until it finds nothing to do or has
    run often enough.
    """
    for n in count():
        if n == enough or not lake.transact(step):
            return


def delete_orphans(
    lake: Lake, *, now: datetime, grace: timedelta = FILE_GRACE
) -> Orphans:
    """Delete the files that no snapshot has used and that are older than `grace`, if
    they can be of writers that died.

    Raises:
        LakeError: The data folder belongs to another lake, or a file could not be
            deleted.
    """
    return lake.transact(
        lambda transaction: _delete_orphans(transaction, lake.address, now, now - grace)
    )


def _delete_orphans(
    transaction: Transaction, address: Address, now: datetime, unused: datetime
) -> Orphans:
    identity = read_identity(transaction.cursor)
    if identity is None or not DataFolder(address, transaction.cursor).check_id(
        identity.lake_id
    ):
        raise LakeError(
            f"{address.data}: the data folder has lost its lake id; open the lake again before its"
            " files are deleted"
        )
    arguments = f"'{LAKE}', older_than => {_time(unused)}"
    found = transaction.query(
        f"FROM ducklake_delete_orphaned_files({arguments}, dry_run => true)"
    )
    files = tuple(sorted(found["path"]))
    why_kept = _why_kept(
        len(files),
        len(files_in_use(transaction.cursor, address.data_path)),
        identity,
        now,
    )
    if files and why_kept is None:
        _run(transaction, f"CALL ducklake_delete_orphaned_files({arguments})")
    return Orphans(files, why_kept)


def _why_kept(count: int, in_use: int, identity: Identity, now: datetime) -> str | None:
    if count == 0:
        return None
    if identity.restored_at and now - identity.restored_at < RESTORE_GRACE:
        until = identity.restored_at + RESTORE_GRACE
        return (
            "the lake was restored from a backup; files written after the backup are kept until"
            f" {until:%Y-%m-%d}"
        )
    if count > max(MAX_ORPHANS, in_use * _MAX_ORPHAN_SHARE):
        return (
            f"{count} unknown files beside {in_use} files in use are too many to be left over from"
            " writers that died; check that no other lake uses this data folder and that the"
            " catalog is right, then delete them yourself"
        )
    return None


# --- rewrite and merge files ----------------------------------------------------------

# Files with deleted rows, with about how many bytes their other rows take. Names of
# data files are unique.
_FILES_TO_REWRITE = """
    SELECT data_file, record_count - delete_count AS live_rows,
        (data_file_size_bytes * live_rows // record_count)::BIGINT AS live_bytes
    FROM ducklake_list_files('{lake}', '{table}')
        JOIN {metadata}.ducklake_data_file d ON parse_filename(d.path) = parse_filename(data_file)
        JOIN {metadata}.ducklake_delete_file x USING (data_file_id)
    WHERE d.end_snapshot IS NULL AND x.end_snapshot IS NULL AND live_rows > 0
        AND (delete_count >= record_count * {share} OR live_bytes < {small} OR {had_withdrawn})
    WINDOW files AS (ORDER BY data_file)
    QUALIFY row_number() OVER files = 1 OR sum(live_bytes) OVER files <= {step}
    ORDER BY data_file LIMIT {count}
"""


def _had_withdrawn(lake: Lake) -> str:
    """Return the condition of the files, of any table, that may have a deleted row of a
    withdrawn article.

    They were written before its withdrawal, for its month; those that are written again
    are newer.
    """
    found = lake.query(
        "SELECT year(day), month(day), max(withdrawn_after) FROM raw_articles "
        f"WHERE outcome = '{WITHDRAWN}' GROUP BY ALL ORDER BY ALL"
    )
    files = [
        f"(d.begin_snapshot <= {commit} AND contains(data_file, 'year={year}/month={month}/'))"
        for year, month, commit in found.iter_rows()
    ]
    return f"({' OR '.join(files)})" if files else "false"


# The first and the last of all values of a type, as DuckLake writes them.
_BOUNDS = {"varchar": ("", "\U0010ffff"), "blob": ("", "FF" * 32)}
# Without any bounds, DuckLake takes the next file's bounds for the whole table's, and
# then misses rows.
_WIDEN = """
    UPDATE {metadata}.ducklake_table_column_stats SET min_value = '{least}', max_value = '{most}'
    WHERE (min_value <> '{least}' OR max_value <> '{most}') AND (table_id, column_id) IN (
        SELECT (table_id, column_id) FROM {metadata}.ducklake_column WHERE column_type = '{kind}'
    )
"""
# Connections keep statistics as long as this number stays.
_FORGET_STATISTICS = f"""
    UPDATE {METADATA}.ducklake_snapshot SET next_file_id = next_file_id + 1
    WHERE snapshot_id = (SELECT max(snapshot_id) FROM {METADATA}.ducklake_snapshot)
"""


def _widen_statistics(transaction: Transaction) -> None:
    """Replace the least and the greatest text of each column, which the catalog keeps
    for ever, by bounds of any text.

    They are whole texts of articles, and no read is quicker by them: files have their
    own.
    """
    changed = 0
    for kind, (least, most) in _BOUNDS.items():
        statement = _WIDEN.format(metadata=METADATA, kind=kind, least=least, most=most)
        changed += transaction.cursor.execute(statement).fetchall()[0][0]
    if changed:
        transaction.cursor.execute(_FORGET_STATISTICS)


def _rewrite(transaction: Transaction, table: str, had_withdrawn: str) -> bool:
    """Write the rows of some files with deleted rows to new files; return False if
    there is none.
    """
    files = transaction.query(
        _FILES_TO_REWRITE.format(
            lake=LAKE,
            metadata=METADATA,
            table=table,
            share=_REWRITE_SHARE,
            small=STEP_BYTES // 2,
            step=STEP_BYTES,
            count=_STEP_FILES,
            had_withdrawn=had_withdrawn,
        )
    )
    if files.is_empty():
        return False
    where = f"filename IN ({', '.join(quoted(file) for file in files['data_file'])})"
    _, rows, size = files.row(0)
    if size > STEP_BYTES:
        first = (
            f"SELECT file_row_number AS n FROM {table} WHERE {where} ORDER BY n LIMIT"
            f" {rows * STEP_BYTES // size + 1}"
        )
        where += f" AND file_row_number <= (SELECT max(n) FROM ({first}))"
    transaction.cursor.execute(f"SET {_INLINED_ROWS} = 0")
    transaction.cursor.execute(
        f"INSERT INTO {table} SELECT * FROM {table} WHERE {where}"
    )
    transaction.cursor.execute(f"DELETE FROM {table} WHERE {where}")
    return True


def _merge(transaction: Transaction, table: str, target_bytes: int) -> bool:
    """Merge some files of one month that are smaller than half of `target_bytes`;
    return False if there are none.
    """
    transaction.cursor.execute(f"SET {_FILE_SIZE} = '{target_bytes} bytes'")
    limits = f"max_compacted_files => 1, max_file_size => {target_bytes // 2}"
    statement = f"CALL ducklake_merge_adjacent_files('{LAKE}', '{table}', {limits})"
    return bool(transaction.cursor.execute(statement).fetchall())


# --- remove what is no longer used ----------------------------------------------------


def _expire(transaction: Transaction, expired: datetime) -> bool:
    """Delete the oldest snapshots before this time; the latest one stays."""
    old = transaction.query(
        f"SELECT snapshot_id FROM ducklake_snapshots('{LAKE}') "
        f"WHERE snapshot_time < {_time(expired)} AND snapshot_id < {transaction.snapshot()} "
        f"ORDER BY snapshot_id LIMIT {_STEP_SNAPSHOTS}"
    )["snapshot_id"].to_list()
    if old:
        _run(
            transaction, f"CALL ducklake_expire_snapshots('{LAKE}', versions => {old})"
        )
    return bool(old)


def _clean_up(transaction: Transaction, unused: datetime) -> bool:
    """Delete the files that were replaced first, before this time."""
    found = transaction.query(
        "SELECT schedule_start::TIMESTAMPTZ AS scheduled_at FROM"
        f" {METADATA}.ducklake_files_scheduled_for_deletion WHERE scheduled_at <"
        f" {_time(unused)} ORDER BY scheduled_at LIMIT {_STEP_FILES}"
    )["scheduled_at"]
    if found.is_empty():
        return False
    until = min(found[-1] + timedelta(microseconds=1), unused)
    statement = (
        f"CALL ducklake_cleanup_old_files('{LAKE}', older_than => {_time(until)})"
    )
    return bool(transaction.cursor.execute(statement).fetchall())


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
    return LakeSize(
        files=files[0], delete_files=files[1], snapshots=snapshots, file_bytes=files[2]
    )
