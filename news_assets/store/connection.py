"""Connect to DuckLake: start DuckDB with its extensions, attach the catalog as `lake`, create tables and columns.

DuckDB's errors are translated to LakeError here, without passwords.
"""

import os
import re
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import duckdb

from news_assets.errors import LakeError
from news_assets.store.tables import TABLES, Table, columns, create_statements
from news_assets.store.write_lock import FileWriteLock, PostgresWriteLock, WriteLock

LAKE = "lake"
_LOCKS = "locks"  # a second attachment of the Postgres database, for the write lock

# Whole row groups are read. As rows are sorted, one of 2,048 rows (DuckDB's minimum) holds about a month of one agency:
# one agency-day of 500,000 articles takes 50 ms; with the default of 122,880 rows 290-390 ms.
_OPTIONS = {"parquet_row_group_size": "2048", "parquet_compression": "zstd"}  # snappy: 2.6 times the size, no faster

# Errors of DuckLake, SQLite and Postgres after another commit in between.
_CONFLICT = re.compile(
    r"conflict|database (table )?is locked|ducklake_snapshot|maximum retry|could not serialize|deadlock",
    re.IGNORECASE,
)
_UNREACHABLE = re.compile(r"connection|could not connect|unable to connect|timed? ?out", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a lake is: `catalog` is a path or `postgresql://...`, `data` a folder or `s3://...`."""

    catalog: str
    data: str

    @property
    def is_postgres(self) -> bool:
        """Whether the catalog is a Postgres database."""
        return self.catalog.startswith(("postgresql://", "postgres://"))

    @property
    def is_local(self) -> bool:
        """Whether the data is in a folder."""
        return "://" not in self.data

    @property
    def metadata(self) -> str:
        """The catalog in the notation of DuckLake."""
        return f"postgres:{self.catalog}" if self.is_postgres else f"sqlite:{self.catalog}"

    @property
    def extensions(self) -> tuple[str, ...]:
        """The DuckDB extensions that this lake needs."""
        scanner = "postgres_scanner" if self.is_postgres else "sqlite_scanner"
        return ("ducklake", scanner) if self.is_local else ("ducklake", scanner, "httpfs")

    def __str__(self) -> str:
        """Return the catalog without its password."""
        return without_password(self.catalog)


def without_password(text: str) -> str:
    """Return the text with `***` in place of every password in an address or setting."""
    text = re.sub(r"(://[^:/@\s]*:)[^@\s]+(?=@)", r"\1***", text)
    return re.sub(r"(password\s*=\s*)('[^']*'|[^\s&'\"]+)", r"\1***", text, flags=re.IGNORECASE)


def is_conflict(error: BaseException) -> bool:
    """Return whether the transaction can succeed if it runs again from its reads."""
    return isinstance(error, duckdb.Error) and bool(_CONFLICT.search(str(error)))


def lake_error(address: Address, what: str, error: duckdb.Error) -> LakeError:
    """Return a DuckDB error as a LakeError of one line."""
    cause = " ".join(without_password(str(error)).split())
    translated = LakeError(f"{address}: {what}: {cause[:400]}")
    translated.is_transient = is_conflict(error) or bool(_UNREACHABLE.search(cause))
    return translated


def connect(address: Address, threads: int, memory_mb: int) -> duckdb.DuckDBPyConnection:
    """Return an in-memory DuckDB with the extensions loaded and nothing attached.

    DuckLake itself must not retry a conflicting commit (`ducklake_max_retry_count`): it would add our rows to those of
    the other commit without reading them. httpfs takes the S3 credentials from the AWS_* variables.
    """
    spill = Path(tempfile.gettempdir()) / f"news_assets_spill_{os.getpid()}"
    connection = duckdb.connect(
        config={"threads": threads, "memory_limit": f"{memory_mb}MB", "temp_directory": str(spill)}
    )
    try:
        connection.execute("SET enable_progress_bar = false")  # DuckDB takes `python -c` for an interactive prompt
        for name in address.extensions:
            _load(connection, name)
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        connection.execute("SET GLOBAL ducklake_max_retry_count = 0")
        connection.execute("SET GLOBAL parquet_metadata_cache = true")  # DuckLake's files never change
        if not address.is_postgres:
            # By default each scan of the catalog opens its own connection, outside the transaction: a reader that began
            # before maintenance saw half of the new file list and silently missed 40 of 88 rows.
            connection.execute("SET GLOBAL sqlite_disable_multithreaded_scans = true")
    except duckdb.Error as error:
        connection.close()
        raise lake_error(address, "DuckDB extensions could not be loaded; install their packages", error) from error
    return connection


def _load(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Load an extension from its Python package, or else from DuckDB's repository."""
    package = find_spec(f"duckdb_extension_{name}")
    version = f"v{duckdb.__version__}"
    for folder in (package.submodule_search_locations or []) if package else []:
        file = Path(folder) / "extensions" / version / f"{name}.duckdb_extension"
        if file.is_file():
            connection.execute(f"LOAD {_quoted(str(file))}")
            return
    connection.execute(f"INSTALL {name}")
    connection.execute(f"LOAD {name}")


def attach(connection: duckdb.DuckDBPyConnection, address: Address, wait_s: float) -> WriteLock:
    """Attach the lake and return its write lock; create the lake if it does not exist.

    Only creating a lake or adding tables and columns waits for the write lock. Several processes may do so at once.

    Raises:
        LakeError: The catalog is not a DuckLake catalog, cannot be reached, or belongs to another data folder.
    """
    try:
        write_lock = _write_lock(connection, address)
        if not _attach_existing(connection, address):
            _create_folders(address)
            with write_lock.held(wait_s):
                _attach(connection, address, may_create=True)
        if _missing_statements(connection):
            with write_lock.held(wait_s):
                _create_missing(connection)
    except duckdb.Error as error:
        if "does not match existing data path" in str(error):
            advice = "the catalog belongs to another data folder; set NEWS_DATA to that folder, or use another catalog"
        elif address.is_postgres:
            advice = "the catalog cannot be opened; check that Postgres is running, and the user, password and database"
        else:
            advice = "the catalog cannot be opened; restore it from a backup, or move it away to start a new lake"
        # A cause with the password is left out, because a traceback would print it.
        cause = error if without_password(str(error)) == str(error) else None
        raise lake_error(address, advice, error) from cause
    return write_lock


def _write_lock(connection: duckdb.DuckDBPyConnection, address: Address) -> WriteLock:
    if not address.is_postgres:
        return FileWriteLock(Path(address.catalog))
    connection.execute(f"ATTACH {_quoted(address.catalog)} AS {_LOCKS} (TYPE postgres)")
    return PostgresWriteLock(connection, _LOCKS)


def _create_folders(address: Address) -> None:
    folders = [Path(address.data)] if address.is_local else []
    folders += [] if address.is_postgres else [Path(address.catalog).parent]
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LakeError(f"{folder}: cannot be created: {error.strerror}; use another folder") from error


def _attach_existing(connection: duckdb.DuckDBPyConnection, address: Address) -> bool:
    if not address.is_postgres and not Path(address.catalog).exists():
        return False
    try:
        _attach(connection, address, may_create=False)
    except duckdb.InvalidInputException as error:
        if "does not exist" not in str(error):
            raise
        return False
    return True


def _attach(connection: duckdb.DuckDBPyConnection, address: Address, *, may_create: bool) -> None:
    data = str(Path(address.data).resolve()) if address.is_local else address.data
    options = [f"DATA_PATH {_quoted(data.rstrip('/') + '/')}", f"CREATE_IF_NOT_EXISTS {str(may_create).lower()}"]
    if not address.is_postgres:
        options.append("META_BUSY_TIMEOUT 10000")
        options.append("META_JOURNAL_MODE 'WAL'")  # readers and the writer do not block each other
    connection.execute(f"ATTACH {_quoted('ducklake:' + address.metadata)} AS {LAKE} ({', '.join(options)})")


def _missing_statements(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the DDL of declared tables and columns that the lake lacks; columns are never dropped or changed."""
    found: dict[str, set[str]] = {}
    for table, column in connection.execute(
        "SELECT table_name, column_name FROM duckdb_columns() WHERE database_name = ?", [LAKE]
    ).fetchall():
        found.setdefault(table, set()).add(column)
    return [statement for table in TABLES for statement in _statements(table, found.get(table.name))]


def _statements(table: Table, found: set[str] | None) -> list[str]:
    if found is None:
        return list(create_statements(table))
    return [
        f'ALTER TABLE "{table.name}" ADD COLUMN IF NOT EXISTS "{column.name}" {column.sql_type}'
        for column in columns(table)
        if column.name not in found
    ]


def _create_missing(connection: duckdb.DuckDBPyConnection) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"USE {LAKE}")
        cursor.begin()
        for statement in _missing_statements(cursor):
            cursor.execute(statement)
        for name, value in _OPTIONS.items():
            cursor.execute(f"CALL {LAKE}.set_option('{name}', '{value}')")
        cursor.commit()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
