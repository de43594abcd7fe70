"""Copies of a lake's catalog, in SQLite or in Postgres, and the way back from one, each in
one transaction beside readers and writers.

SQLite: DuckDB has a SQLite of its own, and file locks belong to a process: when
Python's SQLite closes a catalog that DuckDB has open in the same process, DuckDB's
locks are gone, and the write-ahead log is deleted under it. Every later read fails with
"disk I/O error". So what may run beside an open lake is run in a process of its own.

Postgres: the tables of the catalog are copied to a DuckDB file; other tables of the
database, such as those of Dagster, are left alone. DuckDB reads a Postgres database in
one REPEATABLE READ snapshot. The types of the catalog's columns are the same in both;
primary keys, which DuckLake needs to find conflicting commits, are kept in a table of
their own.
"""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import duckdb

from news_assets.errors import LakeError
from news_assets.store.address import quoted
from news_assets.store.transaction import in_transaction

_BUSY_TIMEOUT_S = 60.0
_EXECUTE = f"""
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout={_BUSY_TIMEOUT_S}, isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement)
connection.close()
"""


def copy_sqlite(catalog: Path, target: Path) -> None:
    """Copy the last commit of a catalog to a new file.

    Raises:
        LakeError: The catalog is damaged, or the copy cannot be written.
    """
    target.touch(mode=0o600)
    _execute_apart(catalog, f"VACUUM INTO {quoted(str(target))}")


def drop_free_pages(catalog: Path) -> None:
    """Write a catalog's file without its free pages, which still hold deleted rows that
    were inlined.

    Raises:
        LakeError: The catalog is damaged, its disk is full, or others read and wrote it
            for a minute.
    """
    _execute_apart(catalog, "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)")


def _execute_apart(catalog: Path, *statements: str) -> None:
    """Execute SQL in a process of its own."""
    command = [sys.executable, "-I", "-c", _EXECUTE, str(catalog), *statements]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        cause = done.stderr.strip().rpartition("\n")[2]
        raise LakeError(f"{catalog}: SQLite cannot read or copy it: {cause}")


def sqlite_commit(catalog: Path) -> int | None:
    """Return the number of the last commit of a catalog; None if there is none that can
    be read.
    """
    if not catalog.exists():
        return None
    try:
        with closing(_connect(catalog)) as connection:
            if connection.execute("PRAGMA quick_check").fetchone() != ("ok",):
                return None
            (commit,) = connection.execute(
                "SELECT max(snapshot_id) FROM ducklake_snapshot"
            ).fetchone()
            return None if commit is None else int(commit)
    except sqlite3.Error:
        return None


def put_back_sqlite(backup: Path, catalog: Path, data_path: str, kept_as: Path) -> None:
    """Replace a catalog by a backup with this data path, and keep the replaced one in
    another file.

    A damaged catalog is moved; one that can be read is copied and overwritten in a
    transaction, because other processes may have it open.
    """
    with (
        _translated(backup),
        closing(_connect(backup)) as source,
        closing(sqlite3.connect(":memory:")) as changed,
    ):
        source.backup(changed)
        with changed:
            changed.execute(
                "UPDATE ducklake_metadata SET value = ? WHERE key = 'data_path'",
                [data_path],
            )
        if catalog.exists():
            _keep(catalog, kept_as)
        if not catalog.exists():
            catalog.touch(mode=0o600)
        with closing(_connect(catalog)) as target:
            changed.backup(target)


def _keep(catalog: Path, kept_as: Path) -> None:
    if sqlite_commit(catalog) is not None:
        copy_sqlite(catalog, kept_as)
        return
    for suffix in ("", "-wal", "-shm"):
        file = Path(f"{catalog}{suffix}")
        if file.exists():
            file.replace(f"{kept_as}{suffix}")


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise LakeError(f"{path}: SQLite cannot read or copy it: {error}") from error


def copy_unwritable(source: Path, target: Path) -> None:
    """Copy the last commit of a catalog that cannot be written: through SQLite while
    others have it open, or else its files.
    """
    try:
        with (
            closing(
                sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)
            ) as read,
            closing(sqlite3.connect(target)) as written,
        ):
            read.backup(written)
        return
    except sqlite3.Error:
        target.unlink(missing_ok=True)
    for suffix in ("", "-wal"):
        file = Path(f"{source}{suffix}")
        if file.exists():
            shutil.copyfile(file, f"{target}{suffix}")


# --- Postgres -------------------------------------------------------------------------


_CATALOG = "source"  # the attached Postgres database
_COPY = "copy"
_KEYS = "news_assets_primary_keys"
_TABLES = (
    r"SELECT tablename FROM pg_tables "
    r"WHERE schemaname = 'public' AND tablename LIKE 'ducklake\_%'"
)
_PRIMARY_KEYS = (
    r"SELECT relname::text AS table_name, pg_get_constraintdef(c.oid) AS definition "
    r"FROM pg_constraint c JOIN pg_class t ON t.oid = conrelid "
    r"WHERE contype = 'p' AND connamespace = 'public'::regnamespace AND relname LIKE 'ducklake\_%'"
)


def copy_postgres(
    connection: duckdb.DuckDBPyConnection, catalog: str, target: Path
) -> None:
    """Copy the tables of the last commit to a new file."""
    connection.execute(
        f"ATTACH {quoted(catalog)} AS {_CATALOG} (TYPE postgres, READ_ONLY)"
    )
    connection.execute(f"ATTACH {quoted(str(target))} AS {_COPY} (BLOCK_SIZE 16384)")
    with connection.cursor() as cursor, in_transaction(cursor):
        cursor.execute(f"CREATE TABLE {_COPY}.{_KEYS} AS {_query(_PRIMARY_KEYS)}")
        for (name,) in cursor.execute(_query(_TABLES)).fetchall():
            cursor.execute(
                f'CREATE TABLE {_COPY}."{name}" AS FROM {_CATALOG}.public."{name}"'
            )
    connection.execute(f"DETACH {_COPY}")
    connection.execute(f"DETACH {_CATALOG}")


def postgres_commit(connection: duckdb.DuckDBPyConnection, catalog: str) -> int | None:
    """Return the number of the last commit of a catalog; None if there is none."""
    connection.execute(
        f"ATTACH IF NOT EXISTS {quoted(catalog)} AS {_CATALOG} (TYPE postgres)"
    )
    try:
        row = connection.execute(
            _query("SELECT max(snapshot_id) FROM public.ducklake_snapshot")
        ).fetchone()
    except duckdb.Error as error:
        if "does not exist" not in str(error):
            raise
        return None
    finally:
        connection.execute(f"DETACH {_CATALOG}")
    if row is None or row[0] is None:
        return None
    return int(row[0])


def put_back_postgres(
    connection: duckdb.DuckDBPyConnection,
    catalog: str,
    backup: str,
    data_path: str,
    kept_as: str,
    wait_s: float,
) -> None:
    """Replace the tables of a catalog by those of an attached backup, and move the
    replaced ones to another schema.

    Args:
        connection: A connection to which the backup is attached.
        catalog: Address of the catalog.
        backup: Name of the attached backup.
        data_path: Data folder that the catalog then has.
        kept_as: Schema of the replaced tables.
        wait_s: How long to wait for each transaction that reads them.
    """
    connection.execute(f"ATTACH {quoted(catalog)} AS {_CATALOG} (TYPE postgres)")
    with connection.cursor() as cursor, in_transaction(cursor):
        _execute_there(cursor, f"SET LOCAL lock_timeout = {round(wait_s * 1000)}")
        present = [name for (name,) in cursor.execute(_query(_TABLES)).fetchall()]
        if present:
            _execute_there(cursor, f'CREATE SCHEMA "{kept_as}"')
        for name in present:
            _execute_there(
                cursor, f'ALTER TABLE public."{name}" SET SCHEMA "{kept_as}"'
            )
        cursor.execute("CALL pg_clear_cache()")
        tables = (
            "SELECT table_name FROM duckdb_tables() WHERE database_name = ? AND table_name LIKE"
            " 'ducklake%'"
        )
        for (name,) in cursor.execute(tables, [backup]).fetchall():
            cursor.execute(
                f'CREATE TABLE {_CATALOG}.public."{name}" AS FROM {backup}."{name}"'
            )
        for name, definition in cursor.execute(f"FROM {backup}.{_KEYS}").fetchall():
            _execute_there(cursor, f'ALTER TABLE public."{name}" ADD {definition}')
        path = data_path.replace("'", "''")
        _execute_there(
            cursor,
            f"UPDATE public.ducklake_metadata SET value = '{path}' WHERE key = 'data_path'",
        )
    connection.execute(f"DETACH {_CATALOG}")


def _query(sql: str) -> str:
    return f"FROM postgres_query('{_CATALOG}', {quoted(sql)})"


def _execute_there(cursor: duckdb.DuckDBPyConnection, sql: str) -> None:
    cursor.execute(f"CALL postgres_execute('{_CATALOG}', {quoted(sql)})")
