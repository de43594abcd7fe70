"""Where a lake is: the address of its catalog and its data folder, and DuckDB's errors
about them as LakeErrors without passwords, which name what is damaged and how to bring
it back.

The data folder has the Parquet files, and the file `lake_id`, which says which lake
they belong to: it is equal to the id in the catalog. Nothing is begun in a folder, and
nothing deleted from it, where they differ: a new catalog would take the files of the
other lake for orphans.
"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import disk_usage

import duckdb

from news_assets.errors import LakeError
from news_assets.setting_values import is_postgres, with_timeouts

LAKE = "lake"  # the name of the attached lake in SQL
METADATA = (  # the name that DuckLake gives to the database of the catalog
    f"__ducklake_metadata_{LAKE}"
)

_PASSWORD_OF_ADDRESS = re.compile(r"(://[^:/@\s]*:)[^@\s]+(?=@)")
_PASSWORD_SETTING = re.compile(r"(password\s*=\s*)('[^']*'|[^\s&'\"]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a lake is: `catalog` is a path or `postgresql://...`, `data` a folder or
    `s3://...`.

    `backups` is the folder of its backups, which errors name the newest of; empty for
    none.
    """

    catalog: str
    data: str
    backups: str = ""

    @property
    def is_postgres(self) -> bool:
        """Whether the catalog is a Postgres database."""
        return is_postgres(self.catalog)

    @property
    def is_local(self) -> bool:
        """Whether the data is in a folder."""
        return "://" not in self.data

    @property
    def data_path(self) -> str:
        """The data folder as the catalog stores it: absolute, and with a slash at the
        end.
        """
        data = self.data
        if self.is_local:
            data = str(Path(data).resolve())
        return data.rstrip("/") + "/"

    @property
    def database(self) -> str:
        """A catalog in Postgres as DuckDB attaches it."""
        return with_timeouts(self.catalog)

    @property
    def metadata(self) -> str:
        """The catalog in the notation of DuckLake."""
        if self.is_postgres:
            return f"postgres:{self.database}"
        return f"sqlite:{self.catalog}"

    @property
    def backup_suffix(self) -> str:
        """How the names of this lake's backups end: a SQLite file, or the tables of
        Postgres in a DuckDB file.
        """
        return ".duckdb" if self.is_postgres else ".sqlite"

    @property
    def extensions(self) -> tuple[str, ...]:
        """The DuckDB extensions that this lake needs."""
        scanner = "postgres_scanner" if self.is_postgres else "sqlite_scanner"
        if self.is_local:
            return "ducklake", scanner
        return "ducklake", scanner, "httpfs"

    def __str__(self) -> str:
        """Return the catalog without its password."""
        return without_password(self.catalog)


HIDDEN = "***"  # in place of a password


def without_password(text: str) -> str:
    """Return the text with HIDDEN in place of every password in an address or setting."""
    hidden = rf"\1{HIDDEN}"
    return _PASSWORD_SETTING.sub(hidden, _PASSWORD_OF_ADDRESS.sub(hidden, text))


def quoted(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


# --- errors ---------------------------------------------------------------------------


# Errors of DuckLake, SQLite and Postgres after another commit in between.
_CONFLICT = re.compile(
    r"conflict|database (table )?is locked|ducklake_snapshot|maximum retry|could not"
    r" serialize|deadlock",
    re.IGNORECASE,
)
_UNREACHABLE = re.compile(
    r"connection|could not connect|unable to connect|timed? ?out", re.IGNORECASE
)
_DATA_FILE = re.compile(r"[\"']([^\"']+\.parquet)[\"']")
_MISSING = re.compile(r"cannot open file|no such file|\b404\b", re.IGNORECASE)
_DISK = re.compile(
    r"disk I/O error|disk is full|no space left|could not write|enospc", re.IGNORECASE
)
# less is none: a transaction writes a page of the catalog and a file
_FREE_BYTES = 4 << 20
_UNWRITABLE = re.compile(
    r"permission denied|read-only file system|readonly database", re.IGNORECASE
)
# What DuckDB says of a damaged page inside a Parquet file, often without the name of
# the file.
_UNREADABLE = re.compile(
    r"TProtocolException|parquet|zstd|decompress|thrift|out of buffer", re.IGNORECASE
)


def is_conflict(error: BaseException) -> bool:
    """Return whether the transaction can succeed if it runs again from its reads."""
    return isinstance(error, duckdb.Error) and bool(_CONFLICT.search(str(error)))


def lake_error(address: Address, what: str, error: duckdb.Error) -> LakeError:
    """Return a DuckDB error as a LakeError of one line."""
    cause = " ".join(without_password(str(error)).split())
    translated = LakeError(f"{address}: {what}: {cause[:400]}")
    translated.is_transient = is_conflict(error) or bool(_UNREACHABLE.search(cause))
    return translated


def data_error(
    address: Address, what: str, error: duckdb.Error, damaged: Callable[[], str | None]
) -> LakeError:
    """Return an error of reading or writing rows; `damaged` finds the file that DuckDB
    does not name.
    """
    cause = str(error)
    named = _DATA_FILE.search(cause)
    if _UNWRITABLE.search(cause):
        return lake_error(address, f"{what}, because a folder is not writable", error)
    if _DISK.search(cause) and (folder := _full_folder(address)):
        return lake_error(
            address,
            f"{what}, because the disk of {folder} is full; free some of it",
            error,
        )
    # An error of no class of DuckDB's comes from a library below it: that of Parquet's
    # footers.
    is_of_file = named or _UNREADABLE.search(cause) or type(error) is duckdb.Error
    if _CONFLICT.search(cause) or not is_of_file:
        return lake_error(address, what, error)
    file = named[1] if named else damaged()
    if file is None:
        return lake_error(address, what, error)
    state = "is missing" if _MISSING.search(cause) else "is damaged; move it away"
    translated = LakeError(
        f"{file}: this file of the lake {state}; {way_back_of_files(address)}"
    )
    translated.is_transient = False
    return translated


def _full_folder(address: Address) -> Path | None:
    """Return the folder of the catalog or of the data, if its disk has no space left."""
    folders = []
    if not address.is_postgres:
        folders.append(Path(address.catalog).parent)
    if address.is_local:
        folders.append(Path(address.data_path))
    for folder in folders:
        if folder.is_dir() and disk_usage(folder).free < _FREE_BYTES:
            return folder
    return None


def way_back_of_files(address: Address) -> str:
    """Return how lost files of the data folder are brought back."""
    return (
        "put it back from a copy of the data folder, or from a backup with data files: "
        f"`news-assets restore {newest_backup(address, with_data=True) or 'FILE'}`"
    )


def way_back(address: Address) -> str:
    """Return how a lost or damaged catalog is brought back."""
    newest = newest_backup(address)
    if newest is None:
        place = f"; there is none in {address.backups}" if address.backups else ""
        return f"restore it from a backup with `news-assets restore FILE`{place}"
    return f"restore the newest backup with `news-assets restore {newest}`"


def newest_backup(address: Address, *, with_data: bool = False) -> Path | None:
    """Return the newest backup in the lake's folder of backups, with a copy of the data
    files if `with_data`.
    """
    if not address.backups:
        return None
    candidates = list(Path(address.backups).glob(f"*{address.backup_suffix}"))
    if with_data:
        candidates = [file for file in candidates if data_copy_of(file).is_dir()]
    # the time in the name
    return max(candidates, key=lambda file: file.stem.rpartition("-")[2], default=None)


def data_copy_of(backup: Path) -> Path:
    """Return the folder with a backup's copy of the data files, if it was made with
    one.
    """
    return backup.with_suffix(".data")


# --- the data folder ------------------------------------------------------------------


_ID_FILE = "lake_id"


# The files of the latest commit as (path, bytes); a path is relative to that of the
# table, the schema, the data folder.
_FILES_IN_USE = """
    WITH files AS (
        SELECT table_id, path, path_is_relative, file_size_bytes, end_snapshot
            FROM {0}.ducklake_data_file
        UNION ALL
        SELECT table_id, path, path_is_relative, file_size_bytes, end_snapshot
            FROM {0}.ducklake_delete_file
    ), folders AS (
        SELECT table_id,
            CASE WHEN t.path_is_relative::BOOLEAN THEN s.path || t.path ELSE t.path END AS folder
        FROM {0}.ducklake_table t JOIN {0}.ducklake_schema s USING (schema_id)
        WHERE t.end_snapshot IS NULL AND s.end_snapshot IS NULL
    )
    SELECT CASE WHEN path_is_relative::BOOLEAN THEN folder || path ELSE path END AS file,
        file_size_bytes
    FROM files JOIN folders USING (table_id) WHERE end_snapshot IS NULL ORDER BY file
"""


def files_in_use(
    cursor: duckdb.DuckDBPyConnection, data_path: str, database: str = METADATA
) -> dict[str, int]:
    """Return path below the data folder -> bytes of the latest commit's files in a
    catalog attached under this name.
    """
    rows = cursor.execute(_FILES_IN_USE.format(database)).fetchall()
    return {path.removeprefix(data_path): size for path, size in rows}


def first_damaged_file(
    address: Address, connection: duckdb.DuckDBPyConnection
) -> str | None:
    """Return the first file of the latest commit that cannot be read; all are read,
    because DuckDB names none.
    """
    with connection.cursor() as cursor:
        try:
            paths = files_in_use(cursor, address.data_path)
        except duckdb.Error:
            return None
        for path in paths:
            file = address.data_path + path
            try:
                cursor.execute(
                    f"SELECT max(hash(rows)) FROM read_parquet({quoted(file)}) rows"
                ).fetchall()
            except duckdb.Error:
                return file
    return None


@dataclass(frozen=True, slots=True)
class DataFolder:
    """The data of a lake in a folder, or below an S3 prefix, which DuckDB reads and
    writes.
    """

    address: Address
    cursor: duckdb.DuckDBPyConnection

    def lake_id(self) -> str | None:
        """Return the id of the lake that the files belong to; None without one."""
        text = self.text_of(_ID_FILE)
        return text if text is None else text.strip()

    def text_of(self, name: str) -> str | None:
        """Return the text of a file; None where there is none."""
        if self.address.is_local:
            file = Path(self.path(name))
            try:
                if file.is_file():
                    return file.read_text()
                return None
            except OSError as error:
                raise LakeError(
                    f"{file}: cannot be read: {error.strerror}; check permissions"
                ) from error
        try:
            # an error would end the transaction of the other cursor
            with self.cursor.cursor() as reader:
                row = reader.execute(
                    f"SELECT content FROM read_text({quoted(self.path(name))})"
                ).fetchone()
        except duckdb.Error as error:
            if "404" in str(error) or "No files found" in str(error):
                return None
            raise
        return str(row[0]) if row else None

    def write_id(self, lake_id: str) -> None:
        """Store the id of the lake that the files belong to."""
        if not self.address.is_local:
            target = quoted(self.path(_ID_FILE))
            self.cursor.execute(
                f"COPY (SELECT {quoted(lake_id)}) TO {target} (FORMAT csv, HEADER false)"
            )
            return
        file = Path(self.path(_ID_FILE))
        draft = file.with_name(f"{_ID_FILE}.{os.getpid()}")
        try:
            draft.write_text(f"{lake_id}\n")
            draft.replace(file)
        except OSError as error:
            raise LakeError(
                f"{file}: cannot be written: {error.strerror}; check permissions"
            ) from error

    def has_files(self) -> bool:
        """Return whether there is any Parquet file."""
        if self.address.is_local:
            return (
                next(Path(self.address.data_path).rglob("*.parquet"), None) is not None
            )
        return bool(
            self.cursor.execute(
                f"FROM glob({quoted(self.path('**/*.parquet'))}) LIMIT 1"
            ).fetchall()
        )

    def sizes(self) -> dict[str, int]:
        """Return path below the folder -> bytes of every Parquet file."""
        root = self.address.data_path
        if self.address.is_local:
            return {
                str(file.relative_to(root)): file.stat().st_size
                for file in Path(root).rglob("*.parquet")
            }
        try:
            rows = self.cursor.execute(
                f"SELECT filename, size FROM read_blob({quoted(self.path('**/*.parquet'))})"
            ).fetchall()
        except duckdb.IOException as error:
            if "No files found" not in str(error):
                raise
            rows = []
        return {name.removeprefix(root): size for name, size in rows}

    def check_unused(self) -> None:
        """Check that a new lake may begin here.

        Raises:
            LakeError: The folder holds files of a lake, whose catalog is lost or
                elsewhere.
        """
        lake_id = self.lake_id()
        if lake_id is not None or self.has_files():
            raise LakeError(
                f"{self.address}: there is no lake in this catalog, but {self.address.data} holds"
                f" the files of one{f' (id {lake_id})' if lake_id else ''};"
                f" {way_back(self.address)}, or set NEWS_DATA to another folder to begin a new lake"
            )

    def check_id(self, lake_id: str) -> bool:
        """Return whether the folder has this lake's id; it has none before the first
        writer stored it.

        Raises:
            LakeError: The folder belongs to another lake, or it has lost the files that
                the attached catalog lists.
        """
        found = self.lake_id()
        if found is not None and found != lake_id:
            raise LakeError(
                f"{self.address}: this catalog has the id {lake_id}, but the files in"
                f" {self.address.data} belong to the lake {found}; set NEWS_DATA to the folder of"
                f" this catalog, or {way_back(self.address)}"
            )
        if found is None and _lists_files(self.cursor) and not self.has_files():
            raise LakeError(
                f"{self.address.data}: the data folder holds no file of the lake; check that it is"
                f" mounted and that NEWS_DATA is right, or {way_back_of_files(self.address)}"
            )
        return found is not None

    def path(self, name: str) -> str:
        """Return the full path of a file."""
        return self.address.data_path + name


def _lists_files(cursor: duckdb.DuckDBPyConnection) -> bool:
    sql = f"SELECT 1 FROM {METADATA}.ducklake_data_file WHERE end_snapshot IS NULL LIMIT 1"
    return bool(cursor.execute(sql).fetchall())
