"""The data folder of a lake: its Parquet files, and the file `lake_id`, which says
which lake they belong to.

In a lake, `lake_id` is equal to the id in the catalog. Nothing is begun in a folder,
and nothing deleted from it, where they differ: a new catalog would take the files of
the other lake for orphans.
"""

import logging
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from news_assets.errors import LakeError
from news_assets.store.address import (
    METADATA,
    Address,
    quoted,
    way_back,
    way_back_of_files,
)

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


_NAME = "sensors_looked"
_log = logging.getLogger(__name__)


def mark_look(home: Path) -> None:
    """Store that a sensor looks now; a folder that cannot be written is left as it is."""
    try:
        (home / _NAME).touch(mode=0o600)
    except OSError as error:
        _log.debug("no mark that sensors look: %s", error)


def last_look(home: Path) -> datetime | None:
    """Return when a sensor last looked; None where none has with this folder."""
    try:
        return datetime.fromtimestamp((home / _NAME).stat().st_mtime, UTC)
    except OSError:
        return None
