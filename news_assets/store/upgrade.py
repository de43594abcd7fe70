"""The identity of a lake in its catalog, and the way from a lake of an earlier version
to the declared tables.

The identity is a view with constants, because DuckLake changes views in the same
transaction as tables: the version is that of the tables, whenever the process dies.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

import duckdb

from news_assets.errors import LakeError
from news_assets.store.address import LAKE, METADATA, Address, DataFolder, quoted
from news_assets.store.statements import NOTE_MOVES
from news_assets.store.tables import TABLES, Table, columns, create_statements
from news_assets.store.transaction import in_transaction

_VIEW = "lake_identity"

# Whole row groups are read. As rows are sorted, one of 2,048 rows (DuckDB's minimum)
# holds about a month of one agency: one agency-day of 500,000 articles takes 50 ms;
# with the default of 122,880 rows 290-390 ms.
# snappy: 2.6 times the size, no faster
_OPTIONS = {
    "parquet_row_group_size": "2048",
    "parquet_compression": "zstd",
}


@dataclass(frozen=True, slots=True)
class Migration:
    """One step to the next schema version, with statements that DuckLake runs in a
    transaction.
    """

    name: str
    statements: tuple[str, ...] = ()


# The schema version of a lake is the number of the migrations it has had. New tables
# and columns need none.
MIGRATIONS: tuple[Migration, ...] = (Migration("give the lake an id"),)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a catalog says of its lake; `restored_at` is the time of the last restore
    from a backup.
    """

    lake_id: str
    schema_version: int
    restored_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What an upgrade did: `changes` are names of migrations and SQL statements;
    `is_new`: there was no table.
    """

    identity: Identity
    changes: tuple[str, ...]
    is_new: bool


def read_identity(
    cursor: duckdb.DuckDBPyConnection, database: str = METADATA
) -> Identity | None:
    """Return the identity in a catalog, attached under this name; None in a lake from
    before there were ids.
    """
    found = cursor.execute(
        f"SELECT sql FROM {database}.ducklake_view WHERE view_name = '{_VIEW}' AND end_snapshot IS"
        " NULL"
    ).fetchone()
    row = cursor.execute(str(found[0])).fetchone() if found else None
    return Identity(*row) if row else None


def write_identity(cursor: duckdb.DuckDBPyConnection, identity: Identity) -> None:
    """Store the identity in the transaction of this cursor, which uses the lake."""
    restored_at = "NULL::TIMESTAMPTZ"
    if identity.restored_at:
        restored_at = f"TIMESTAMPTZ '{identity.restored_at.isoformat()}'"
    cursor.execute(
        f"CREATE OR REPLACE VIEW {_VIEW} AS SELECT {quoted(identity.lake_id)} AS lake_id, "
        f"{identity.schema_version} AS schema_version, {restored_at} AS restored_at"
    )


def check_version(
    address: Address,
    identity: Identity | None,
    migrations: Sequence[Migration] = MIGRATIONS,
) -> None:
    """Check that this program knows the lake's tables.

    Raises:
        LakeError: A newer program has changed them.
    """
    if identity and identity.schema_version > len(migrations):
        raise LakeError(
            f"{address}: the lake has schema version {identity.schema_version}, and this program"
            f" knows {len(migrations)}; install the newer news_assets again, or restore a backup"
            " from before its first start"
        )


def is_current(
    cursor: duckdb.DuckDBPyConnection,
    identity: Identity | None,
    migrations: Sequence[Migration] = MIGRATIONS,
) -> bool:
    """Return whether the lake has its id, all migrations, and all declared tables and
    columns.
    """
    return (
        identity is not None
        and identity.schema_version == len(migrations)
        and not _missing(_committed_columns(cursor))
    )


def upgrade(
    cursor: duckdb.DuckDBPyConnection, migrations: Sequence[Migration] = MIGRATIONS
) -> Upgrade:
    """Change the lake to the declared version, in the transaction of this cursor, which
    uses the lake.

    A lake without tables is a new one and needs no migration.
    """
    found = read_identity(cursor)
    is_new = not _columns(cursor)
    version = found.schema_version if found else 0
    if is_new:
        version = len(migrations)
    changes = []
    for migration in migrations[version:]:
        changes += [migration.name, *migration.statements]
        for statement in migration.statements:
            cursor.execute(statement)
    missing = _add_missing(cursor, is_new=is_new)
    identity = Identity(str(uuid4()), len(migrations), None)
    if found:
        identity = Identity(found.lake_id, len(migrations), found.restored_at)
    if identity != found:
        write_identity(cursor, identity)
    for name, value in _OPTIONS.items():
        cursor.execute(f"CALL {LAKE}.set_option('{name}', '{value}')")
    return Upgrade(identity, (*changes, *missing), is_new)


def upgraded(
    connection: duckdb.DuckDBPyConnection, address: Address, *, dry_run: bool = False
) -> Upgrade:
    """Bring tables and identity up to date, under the write lock; a dry run is rolled
    back.
    """
    with transaction(connection, dry_run=dry_run) as cursor:
        found = read_identity(cursor)
        check_version(address, found)
        result = upgrade(cursor)
        if found is None and result.is_new:
            DataFolder(address, cursor).check_unused()
    return result


@contextmanager
def transaction(
    connection: duckdb.DuckDBPyConnection, *, dry_run: bool = False
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a cursor that uses the lake, in a transaction that is committed, or rolled
    back by a dry run.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"USE {LAKE}")
        with in_transaction(cursor, dry_run=dry_run):
            yield cursor


def _add_missing(cursor: duckdb.DuckDBPyConnection, *, is_new: bool) -> list[str]:
    """Add the declared tables and columns that the lake lacks; return the statements."""
    known = _columns(cursor)
    missing = _missing(known)
    for statement in missing:
        cursor.execute(statement)
    if not is_new and "moved_articles" not in known:
        _note_moves(cursor)
    return missing


def _note_moves(cursor: duckdb.DuckDBPyConnection) -> None:
    """Note the days of the stored rows whose articles have other days in their ids; in
    the catalog, because the data folder may be read-only.
    """
    cursor.execute("SET ducklake_default_data_inlining_row_limit = 1000000000")
    for table in TABLES:
        if table.is_by_article:
            cursor.execute(NOTE_MOVES.format(table.name))
    cursor.execute("RESET ducklake_default_data_inlining_row_limit")


def add_statistics(cursor: duckdb.DuckDBPyConnection) -> None:
    """Give the tables that never had a row their statistics, in the transaction of this
    cursor, which uses the lake.

    DuckLake stores statistics of a table with its first row. Until then each read looks
    for them in the catalog once for every column: 80 ms for an empty table of 45
    columns, 10 ms once it has them.
    """
    tables = cursor.execute(
        f"""
        SELECT table_name, any_value(column_name)
        FROM {METADATA}.ducklake_table JOIN {METADATA}.ducklake_column USING (table_id)
        WHERE ducklake_table.end_snapshot IS NULL AND ducklake_column.end_snapshot IS NULL
            AND table_id NOT IN (SELECT table_id FROM {METADATA}.ducklake_table_stats)
        GROUP BY table_name
        """
    ).fetchall()
    for table, column in tables:
        cursor.execute(f'INSERT INTO "{table}" ("{column}") VALUES (NULL)')
        cursor.execute(f'DELETE FROM "{table}"')


def _columns(cursor: duckdb.DuckDBPyConnection) -> dict[str, set[str]]:
    """Return table -> columns, also those that this transaction has added."""
    cursor.execute(
        "SELECT table_name, column_name FROM duckdb_columns() WHERE database_name = ? AND"
        " table_name <> ?",
        [LAKE, _VIEW],
    )
    return _by_table(cursor)


def _committed_columns(cursor: duckdb.DuckDBPyConnection) -> dict[str, set[str]]:
    """Return table -> columns of the latest commit, in a tenth of the time."""
    cursor.execute(
        f"""
        SELECT table_name, column_name
        FROM {METADATA}.ducklake_table t JOIN {METADATA}.ducklake_column c USING (table_id)
        WHERE t.end_snapshot IS NULL AND c.end_snapshot IS NULL
        """
    )
    return _by_table(cursor)


def _by_table(cursor: duckdb.DuckDBPyConnection) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for table, column in cursor.fetchall():
        found.setdefault(table, set()).add(column)
    return found


def _missing(found: dict[str, set[str]]) -> list[str]:
    """Return the DDL of declared tables and columns that the lake lacks; columns are
    never dropped or changed.
    """
    missing: list[str] = []
    for table in TABLES:
        missing += _statements(table, found.get(table.name))
    return missing


def _statements(table: Table, found: set[str] | None) -> Iterator[str]:
    if found is None:
        yield from create_statements(table)
        return
    for column in columns(table):
        if column.name not in found:
            yield (
                f'ALTER TABLE "{table.name}" ADD COLUMN IF NOT EXISTS "{column.name}"'
                f" {column.sql_type}"
            )
