"""An empty lake on each kind of catalog.

Tests run on SQLite, and in `make test-all` on Postgres too. `on_postgres_too` marks
those of what differs between the two (connections, transactions, conflicts, types):
`make test` and `.ci/run` run them on both.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from news_assets.store.lake import Lake
from news_assets_tests.support.lakes import (
    DUCKDB_CONFIG,
    Catalogs,
    Place,
    PostgresCatalogs,
    SqliteCatalogs,
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "catalogs" in metafunc.fixturenames:
        always = metafunc.definition.get_closest_marker("on_postgres_too")
        postgres = (
            "postgres"
            if always
            else pytest.param(
                "postgres", marks=[pytest.mark.slow, pytest.mark.exhaustive]
            )
        )
        metafunc.parametrize(
            "catalogs", ["sqlite", postgres], indirect=True, scope="session"
        )


@pytest.fixture(scope="session")
def catalogs_by_name() -> dict[str, Catalogs]:
    """The kinds of catalogs in use, each with its template, for tests of either kind in
    any order.
    """
    return {}


@pytest.fixture(scope="session")
def catalogs(
    request: pytest.FixtureRequest,
    catalogs_by_name: dict[str, Catalogs],
    tmp_path_factory: pytest.TempPathFactory,
) -> Catalogs:
    if request.param not in catalogs_by_name:
        folder = tmp_path_factory.mktemp("empty_lake")
        catalogs_by_name[request.param] = (
            SqliteCatalogs(folder)
            if request.param == "sqlite"
            else PostgresCatalogs(folder, request.getfixturevalue("postgres"))
        )
    return catalogs_by_name[request.param]


@pytest.fixture
def address(catalogs: Catalogs, tmp_path: Path) -> Place:
    """Catalog and data of a lake that does not exist yet."""
    return catalogs.new(tmp_path)


@pytest.fixture
def begun(catalogs: Catalogs, tmp_path: Path) -> Place:
    """Catalog and data of a closed lake without rows."""
    return catalogs.copy(catalogs.empty, tmp_path)


@pytest.fixture
def lake(begun: Place) -> Iterator[Lake]:
    with Lake.open(*begun) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _as_many_threads_as_in_production(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open lakes as the product does where connections and conflicts are tested; one
    thread is quicker.
    """
    if request.node.get_closest_marker("on_postgres_too"):
        monkeypatch.delitem(DUCKDB_CONFIG, "threads")
