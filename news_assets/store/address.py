"""The address of a lake, and DuckDB's errors about it as LakeErrors without passwords,
which name what is damaged and how to bring it back.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import disk_usage

import duckdb

from news_assets.errors import LakeError
from news_assets.setting_values import is_postgres

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
    def metadata(self) -> str:
        """The catalog in the notation of DuckLake."""
        kind = "postgres" if self.is_postgres else "sqlite"
        return f"{kind}:{self.catalog}"

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
