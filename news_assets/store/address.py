"""The address of a lake."""

import re
from dataclasses import dataclass
from pathlib import Path

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
        return self.catalog.startswith(("postgresql://", "postgres://"))

    @property
    def is_local(self) -> bool:
        """Whether the data is in a folder."""
        return "://" not in self.data

    @property
    def data_path(self) -> str:
        """The data folder as the catalog stores it: absolute, and with a slash at the
        end.
        """
        return (str(Path(self.data).resolve()) if self.is_local else self.data).rstrip(
            "/"
        ) + "/"

    @property
    def metadata(self) -> str:
        """The catalog in the notation of DuckLake."""
        return (
            f"postgres:{self.catalog}" if self.is_postgres else f"sqlite:{self.catalog}"
        )

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
        return (
            ("ducklake", scanner) if self.is_local else ("ducklake", scanner, "httpfs")
        )

    def __str__(self) -> str:
        """Return the catalog without its password."""
        return without_password(self.catalog)


def without_password(text: str) -> str:
    """Return the text with `***` in place of every password in an address or setting."""
    return _PASSWORD_SETTING.sub(r"\1***", _PASSWORD_OF_ADDRESS.sub(r"\1***", text))


def quoted(text: str) -> str:
    """Return a text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"
