"""Lakes copied from a template, which takes a fraction of the time of making tables or
running stages.
"""

import shutil
import sqlite3
from abc import ABC, abstractmethod
from contextlib import closing
from functools import cached_property
from itertools import count
from pathlib import Path
from uuid import uuid4

import duckdb
import psycopg2

from news_assets.store import connection
from news_assets.store.address import Address, DataFolder
from news_assets.store.lake import Lake
from news_assets_tests.support.servers import Postgres

# With one thread, a stage over three articles takes a third less CPU than with the two of
# `Lake.open`.
DUCKDB_CONFIG: dict[str, int] = {"threads": 1}

Place = tuple[str, str]  # catalog and data, as `Lake.open` takes them
# the catalog stores the full path
_SET_DATA_PATH = "UPDATE ducklake_metadata SET value = {} WHERE key = 'data_path'"


def copy_lake(template: Path, home: Path) -> None:
    """Copy a closed lake, `catalog.sqlite` and `data`, and all files beside it from one
    folder to another.
    """
    shutil.copytree(template, home, dirs_exist_ok=True, symlinks=True)
    with closing(sqlite3.connect(home / "catalog.sqlite")) as catalog, catalog:
        catalog.execute(_SET_DATA_PATH.format("?"), [_data_path(home)])


def _data_path(home: Path) -> str:
    return f"{(home / 'data').resolve()}/"


class Catalogs(ABC):
    """One kind of catalog; `folder` is for an empty lake, the template of others."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @abstractmethod
    def new(self, home: Path) -> Place:
        """Return the place of a lake that does not exist yet."""

    @abstractmethod
    def copy(self, template: Place, home: Path) -> Place:
        """Return the place of a copy of a closed lake."""

    @cached_property
    def empty(self) -> Place:
        """The place of a closed lake without rows."""
        place = self.new(self._folder)
        Lake.open(*place).close()
        return place


class SqliteCatalogs(Catalogs):
    """Catalogs that are files beside their data."""

    def new(self, home: Path) -> Place:
        return str(home / "catalog.sqlite"), str(home / "data")

    def copy(self, template: Place, home: Path) -> Place:
        copy_lake(Path(template[0]).parent, home)
        return self.new(home)


class CopiedTables:
    """Stands for `connection._create`: a new lake begins with a copy of the tables of an
    empty one, and has an id of its own.

    To make the tables takes 0.4 s of CPU, their copy 10 ms.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._create = connection._create

    @cached_property
    def empty_lake(self) -> Path:
        """The folder of a closed lake without rows."""
        return Path(SqliteCatalogs(self._folder).empty[0]).parent

    def __call__(self, opened: duckdb.DuckDBPyConnection, address: Address) -> None:
        catalog = Path(address.catalog)
        if address.is_postgres or catalog.exists() or catalog.parent == self._folder:
            self._create(opened, address)
            return
        DataFolder(address, opened).check_unused()
        lake_id = (self.empty_lake / "data" / "lake_id").read_text(encoding="ascii")
        catalog.touch(mode=0o600)
        shutil.copyfile(self.empty_lake / "catalog.sqlite", catalog)
        with closing(sqlite3.connect(catalog)) as file, file:
            file.execute(_SET_DATA_PATH.format("?"), [address.data_path])
            file.execute(
                "UPDATE ducklake_view SET sql = replace(sql, ?, ?)",
                [lake_id.strip(), str(uuid4())],
            )
        connection._attach(opened, address, may_create=False)


class PostgresCatalogs(Catalogs):
    """Catalogs that are databases of one server."""

    _numbers = count(1)  # of this process, as several test modules share a server

    def __init__(self, folder: Path, server: Postgres) -> None:
        super().__init__(folder)
        self._server = server

    def new(self, home: Path) -> Place:
        return self._server.url(f"lake_{next(self._numbers)}"), str(home / "data")

    def copy(self, template: Place, home: Path) -> Place:
        name = f"lake_{next(self._numbers)}"
        url = self._server.url(
            name, template=template[0].partition("?")[0].rpartition("/")[2]
        )
        with closing(psycopg2.connect(url)) as catalog, catalog:
            catalog.cursor().execute(_SET_DATA_PATH.format("%s"), [_data_path(home)])
        shutil.copytree(template[1], home / "data")
        return url, str(home / "data")
