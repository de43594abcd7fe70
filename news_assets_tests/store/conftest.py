"""An empty lake on each kind of catalog.

Tests run on SQLite, and in `make test-all` on Postgres too. `on_postgres_too` marks those of what differs between the
two (connections, transactions, conflicts, types): `make test` runs them on both.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from news_assets.store.lake import Lake
from news_assets_tests.support.lakes import DUCKDB_CONFIG, Catalogs, Place, PostgresCatalogs, SqliteCatalogs


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "catalogs" in metafunc.fixturenames:
        always = metafunc.definition.get_closest_marker("on_postgres_too")
        postgres = "postgres" if always else pytest.param("postgres", marks=pytest.mark.slow)
        metafunc.parametrize("catalogs", ["sqlite", postgres], indirect=True, scope="session")


@pytest.fixture(scope="session")
def catalogs(request: pytest.FixtureRequest) -> Catalogs:
    return SqliteCatalogs() if request.param == "sqlite" else PostgresCatalogs(request.getfixturevalue("postgres"))


@pytest.fixture(scope="session")
def template(catalogs: Catalogs, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A closed lake without rows."""
    place = catalogs.new(tmp_path_factory.mktemp("template"))
    Lake.open(*place).close()
    return place


@pytest.fixture
def address(catalogs: Catalogs, tmp_path: Path) -> Place:
    """Catalog and data of a lake that does not exist yet."""
    return catalogs.new(tmp_path)


@pytest.fixture
def lake(catalogs: Catalogs, template: Place, tmp_path: Path) -> Iterator[Lake]:
    with Lake.open(*catalogs.copy(template, tmp_path)) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _as_many_threads_as_in_production(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(DUCKDB_CONFIG, "threads")
