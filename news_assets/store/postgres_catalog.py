"""Copy the tables of a catalog in Postgres to a DuckDB file, and put a copy back; both
in one transaction.

Other tables of the database, such as those of Dagster, are left alone.

DuckDB reads a Postgres database in one REPEATABLE READ snapshot. The types of the
catalog's columns are the same in both; primary keys, which DuckLake needs to find
conflicting commits, are kept in a table of their own.
"""

from pathlib import Path

import duckdb

from news_assets.store.address import quoted

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


def copy(connection: duckdb.DuckDBPyConnection, catalog: str, target: Path) -> None:
    """Copy the tables of the last commit to a new file."""
    connection.execute(
        f"ATTACH {quoted(catalog)} AS {_CATALOG} (TYPE postgres, READ_ONLY)"
    )
    connection.execute(f"ATTACH {quoted(str(target))} AS {_COPY} (BLOCK_SIZE 16384)")
    with connection.cursor() as cursor:
        cursor.begin()
        cursor.execute(f"CREATE TABLE {_COPY}.{_KEYS} AS {_query(_PRIMARY_KEYS)}")
        for (name,) in cursor.execute(_query(_TABLES)).fetchall():
            cursor.execute(
                f'CREATE TABLE {_COPY}."{name}" AS FROM {_CATALOG}.public."{name}"'
            )
        cursor.commit()
    connection.execute(f"DETACH {_COPY}")
    connection.execute(f"DETACH {_CATALOG}")


def last_commit(connection: duckdb.DuckDBPyConnection, catalog: str) -> int | None:
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


def put_back(
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
    with connection.cursor() as cursor:
        cursor.begin()
        _execute(cursor, f"SET LOCAL lock_timeout = {round(wait_s * 1000)}")
        present = [name for (name,) in cursor.execute(_query(_TABLES)).fetchall()]
        if present:
            _execute(cursor, f'CREATE SCHEMA "{kept_as}"')
        for name in present:
            _execute(cursor, f'ALTER TABLE public."{name}" SET SCHEMA "{kept_as}"')
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
            _execute(cursor, f'ALTER TABLE public."{name}" ADD {definition}')
        path = data_path.replace("'", "''")
        _execute(
            cursor,
            f"UPDATE public.ducklake_metadata SET value = '{path}' WHERE key = 'data_path'",
        )
        cursor.commit()
    connection.execute(f"DETACH {_CATALOG}")


def _query(sql: str) -> str:
    return f"FROM postgres_query('{_CATALOG}', {quoted(sql)})"


def _execute(cursor: duckdb.DuckDBPyConnection, sql: str) -> None:
    cursor.execute(f"CALL postgres_execute('{_CATALOG}', {quoted(sql)})")
