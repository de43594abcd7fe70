"""The way into DuckLake: a DuckDB process with its extensions, and the catalog attached to it.

In: where catalog and data are. Out: a DuckDB connection with the lake attached as `lake`, its tables as declared. What
DuckDB raises is translated here, with the password hidden. Reading and writing rows does not belong here.
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
from news_assets.store.write_lock import FileTurn, PostgresTurn, Turn

LAKE = "lake"
_TURNS = "turns"  # a second attachment of the Postgres database, which holds the writers' lock

# A row group is the least that is read. 2,048 rows (DuckDB's smallest) hold one agency's month or so, as the rows are
# sorted: one agency-day of 500,000 articles takes 50 ms; with the default of 122,880 rows 290-390 ms.
_OPTIONS = {"parquet_row_group_size": "2048", "parquet_compression": "zstd"}  # snappy: 2.6 times the bytes, no faster

# What another commit in between makes DuckLake, SQLite and Postgres say.
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
        """Whether the data are in a folder."""
        return "://" not in self.data

    @property
    def metadata(self) -> str:
        """The catalog as DuckLake names it."""
        return f"postgres:{self.catalog}" if self.is_postgres else f"sqlite:{self.catalog}"

    @property
    def extensions(self) -> tuple[str, ...]:
        """DuckDB's extensions that this lake needs."""
        scanner = "postgres_scanner" if self.is_postgres else "sqlite_scanner"
        return ("ducklake", scanner) if self.is_local else ("ducklake", scanner, "httpfs")

    def __str__(self) -> str:
        """The catalog, its password hidden."""
        return without_password(self.catalog)


def without_password(text: str) -> str:
    """Return the text with the password of every address in it hidden."""
    text = re.sub(r"(://[^:/@\s]*:)[^@\s]+(?=@)", r"\1***", text)
    return re.sub(r"(password\s*=\s*)('[^']*'|[^\s&'\"]+)", r"\1***", text, flags=re.IGNORECASE)


def is_conflict(error: BaseException) -> bool:
    """Whether running the transaction again from its read can help."""
    return isinstance(error, duckdb.Error) and bool(_CONFLICT.search(str(error)))


def lake_error(address: Address, what: str, error: duckdb.Error) -> LakeError:
    """Return what DuckDB raised as our own error, in one line."""
    said = " ".join(without_password(str(error)).split())
    translated = LakeError(f"{address}: {what}: {said[:400]}")
    translated.is_transient = is_conflict(error) or bool(_UNREACHABLE.search(said))
    return translated


def connect(address: Address, threads: int, memory_mb: int) -> duckdb.DuckDBPyConnection:
    """Return a DuckDB process in memory with the extensions loaded and nothing attached.

    A lost race for a commit is never settled by DuckLake itself (`ducklake_max_retry_count`): it would put our rows
    beside the other's without looking at them again. S3 credentials are those of the AWS_* variables, which httpfs
    reads.
    """
    spill = Path(tempfile.gettempdir()) / f"news_assets_spill_{os.getpid()}"
    connection = duckdb.connect(
        config={"threads": threads, "memory_limit": f"{memory_mb}MB", "temp_directory": str(spill)}
    )
    try:
        for name in address.extensions:
            _load(connection, name)
        connection.execute("SET enable_progress_bar = false")  # `python -c` is taken for a person at a prompt
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        connection.execute("SET GLOBAL ducklake_max_retry_count = 0")
        connection.execute("SET GLOBAL parquet_metadata_cache = true")  # DuckLake's files never change
        if not address.is_postgres:
            # Else each scan of the catalog opens a connection of its own, outside the transaction: a reader that began
            # before upkeep then saw half of the new list of files and silently missed 40 of 88 rows.
            connection.execute("SET GLOBAL sqlite_disable_multithreaded_scans = true")
    except duckdb.Error as error:
        connection.close()
        raise lake_error(address, "DuckDB's extensions could not be loaded", error) from error
    return connection


def _load(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Load an extension from the package that carries it, else from DuckDB's own repository."""
    package = find_spec(f"duckdb_extension_{name}")
    version = f"v{duckdb.__version__}"
    for folder in (package.submodule_search_locations or []) if package else []:
        file = Path(folder) / "extensions" / version / f"{name}.duckdb_extension"
        if file.is_file():
            connection.execute(f"LOAD {_quoted(str(file))}")
            return
    connection.execute(f"INSTALL {name}")
    connection.execute(f"LOAD {name}")


def attach(connection: duckdb.DuckDBPyConnection, address: Address, wait_s: float) -> Turn:
    """Attach the lake, made first where it is missing, and return its writers' turn.

    An existing lake is attached without waiting for anyone. Several processes may make it at once: one does.

    Raises:
        LakeError: The catalog is no catalog, cannot be reached, or keeps its data elsewhere.
    """
    try:
        turn = _turn(connection, address)
        if not _attach_existing(connection, address):
            with turn.held(wait_s):
                _make_folders(address)
                _attach(connection, address, may_create=True)
        if _missing(connection):
            with turn.held(wait_s):
                _declare(connection)
    except duckdb.Error as error:
        if "does not match existing data path" in str(error):
            advice = "the catalog keeps its data elsewhere; set NEWS_DATA to that place, or use another catalog"
        elif address.is_postgres:
            advice = "the catalog cannot be opened; check that Postgres runs there, and user, password and database"
        else:
            advice = "the catalog cannot be opened; restore it from a backup, or move it away to begin a new lake"
        # The cause is left out of the chain where a traceback would print the password.
        cause = error if without_password(str(error)) == str(error) else None
        raise lake_error(address, advice, error) from cause
    return turn


def _turn(connection: duckdb.DuckDBPyConnection, address: Address) -> Turn:
    if not address.is_postgres:
        return FileTurn(Path(address.catalog))
    connection.execute(f"ATTACH {_quoted(address.catalog)} AS {_TURNS} (TYPE postgres)")
    return PostgresTurn(connection, _TURNS)


def _make_folders(address: Address) -> None:
    folders = [Path(address.data)] if address.is_local else []
    folders += [] if address.is_postgres else [Path(address.catalog).parent]
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LakeError(f"{folder}: cannot be made: {error.strerror}; name another place") from error


def _attach_existing(connection: duckdb.DuckDBPyConnection, address: Address) -> bool:
    if not address.is_postgres and not Path(address.catalog).exists():
        _make_folders(address)
        return False
    try:
        _attach(connection, address, may_create=False)
    except duckdb.InvalidInputException as error:
        if "does not exist" not in str(error):
            raise
        return False
    return True


def _attach(connection: duckdb.DuckDBPyConnection, address: Address, *, may_create: bool) -> None:
    options = [f"DATA_PATH {_quoted(_data_path(address))}", f"CREATE_IF_NOT_EXISTS {str(may_create).lower()}"]
    if not address.is_postgres:
        options.append("META_BUSY_TIMEOUT 10000")
        options.append("META_JOURNAL_MODE 'WAL'")  # readers and the writer do not block each other
    connection.execute(f"ATTACH {_quoted('ducklake:' + address.metadata)} AS {LAKE} ({', '.join(options)})")


def _data_path(address: Address) -> str:
    data = str(Path(address.data).resolve()) if address.is_local else address.data
    return data.rstrip("/") + "/"


def _missing(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the statements that bring the lake's tables to their declaration; a column is only ever added."""
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


def _declare(connection: duckdb.DuckDBPyConnection) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"USE {LAKE}")
        cursor.begin()
        for statement in _missing(cursor):
            cursor.execute(statement)
        for name, value in _OPTIONS.items():
            cursor.execute(f"CALL {LAKE}.set_option('{name}', '{value}')")
        cursor.commit()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
