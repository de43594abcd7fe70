"""Compares a lake and its index, after processes were killed or ran side by side, with
those of one process.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg2
from filelock import FileLock, Timeout

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.records.articles import Poll
from news_assets.records.derived import Change, IndexedDocument
from news_assets.store.address import LAKE
from news_assets.store.lake import Lake
from news_assets.store.maintenance import delete_orphans, maintain
from news_assets.store.queries.backlog import pending_entries, stale_rows
from news_assets.store.queries.freshness import lost_documents
from news_assets.store.tables import TABLES, Table, columns
from news_assets_tests.soak.writers import NOW, Newsroom

if TYPE_CHECKING:
    import polars as pl

# Times, ids of runs, and an interval that depends on when a source was polled.
_OF_THE_RUN = {"trace_id", "interval_s", "last_outcome"}
_LOCK_WAIT_S = 5.0


def broken_promises(room: Newsroom, reference: Newsroom) -> list[str]:
    """Return what differs between the two, what is damaged, and what a killed process
    left behind.
    """
    with (
        Lake.open(*reference.place) as undisturbed,
        Lake.open(*room.place, wait_s=_LOCK_WAIT_S) as lake,
    ):
        broken = [
            *_locks_left(room),
            *_different_tables(lake, undisturbed),
            *_index_faults(room, lake),
        ]
        soon = datetime.now(UTC) + timedelta(minutes=1)
        maintain(lake, now=soon, keep_days=0, grace=timedelta(0))
        orphans = delete_orphans(lake, now=soon, grace=timedelta(0))
        # more than a few are reported instead
        kept = (
            {Path(file).resolve() for file in orphans.files}
            if orphans.why_kept
            else set()
        )
        changed = (
            f"after maintenance: {one}" for one in _different_tables(lake, undisturbed)
        )
        return [*broken, *changed, *_files(lake, kept)]


def _different_tables(lake: Lake, reference: Lake) -> Iterator[str]:
    for table in TABLES:
        found, expected = (_rows(one, table) for one in (lake, reference))
        if not found.equals(expected):
            lost, other = _without(expected, found), _without(found, expected)
            yield f"{table.name}: {found.height} rows, {expected.height} expected; {lost} lost, {other} other"


def _without(rows: "pl.DataFrame", others: "pl.DataFrame") -> int:
    return rows.join(others, on=rows.columns, how="anti", nulls_equal=True).height


def _rows(lake: Lake, table: Table) -> "pl.DataFrame":
    """Return the rows of a table without what differs from run to run; of polls, what
    each source listed in total.
    """
    if table.record is Poll:
        counts = "sum(new_count)::BIGINT AS new, sum(updated_count)::BIGINT AS updated"
        return lake.query(
            f"SELECT source_id, {counts} FROM polls GROUP BY 1 ORDER BY 1"
        )
    if table.record is Change:  # a stage that was killed records a state again
        return lake.query(
            "SELECT DISTINCT article_id, change, version FROM changes ORDER BY ALL"
        )
    names = [
        one.name
        for one in columns(table)
        if one.sql_type != "TIMESTAMPTZ" and one.name not in _OF_THE_RUN
    ]
    ordered = [
        one.name
        for one in columns(table)
        if one.name in names and not one.sql_type.endswith("[]")
    ]
    return lake.frame(table.record, None, names).sort(ordered)


def _index_faults(room: Newsroom, lake: Lake) -> Iterator[str]:
    with SqliteSearchIndex.open(room.index_path) as index:
        receipts = lake.frame(IndexedDocument, None, ("article_id", "document_hash"))
        documents = (
            index.stored(room.desk.key)
            .select("article_id", "document_hash")
            .sort("article_id")
        )
        if not documents.equals(receipts):
            yield f"index: {documents.height} documents for {receipts.height} receipts, or other versions"
        drift = lost_documents(lake, index, room.desk, NOW)
    backlog = [
        pending_entries(lake, room.desk, NOW),
        stale_rows(lake, room.desk, NOW),
        drift,
    ]
    if counts := [frame.height for frame in backlog if frame.height]:
        yield f"backlog: {counts} rows"
    with closing(sqlite3.connect(room.index_path)) as connection:
        (verdict,) = connection.execute("PRAGMA integrity_check").fetchone()
    if verdict != "ok":
        yield f"index: {verdict}"


def _locks_left(room: Newsroom) -> Iterator[str]:
    catalog = room.place[0]
    for path in (*room.folder.glob("*.lock"), *Path(catalog).parent.glob("*.lock")):
        try:
            FileLock(path).acquire(timeout=_LOCK_WAIT_S).lock.release()
        except Timeout:
            yield f"{path.name} is locked"
    if catalog.startswith("postgresql://"):
        with (
            closing(psycopg2.connect(catalog)) as connection,
            connection.cursor() as cursor,
        ):
            # The pooled connections of the two lakes opened here hold no lock and no
            # transaction.
            cursor.execute(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database ="
                " (SELECT oid FROM pg_database WHERE datname = current_database())"
            )
            (count,) = cursor.fetchone() or (0,)
            if count:
                yield f"{count} advisory locks in Postgres"


def _files(lake: Lake, kept: set[Path]) -> Iterator[str]:
    """Compare the files in the data folder with those that the catalog names, and the
    orphans that were kept.
    """
    folder = Path(lake.address.data)
    named: set[Path] = set()
    for table in TABLES:
        frame = lake.query(
            f"SELECT data_file, delete_file FROM ducklake_list_files('{LAKE}', '{table.name}')"
        )
        named |= {
            Path(path)
            for column in frame.columns
            for path in frame[column].drop_nulls()
        }
    present = set(folder.resolve().rglob("*.parquet")) - kept
    if missing := named - present:
        yield f"{len(missing)} files of the catalog are missing"
    if unused := present - named:
        yield f"{len(unused)} unused files were not deleted"
