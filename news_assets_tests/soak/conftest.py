"""Both kinds of catalog."""

from pathlib import Path

import pytest

from news_assets_tests.support.lakes import Catalogs, PostgresCatalogs, SqliteCatalogs


@pytest.fixture(params=["sqlite", "postgres"])
def catalogs(request: pytest.FixtureRequest, tmp_path: Path) -> Catalogs:
    if request.param == "sqlite":
        return SqliteCatalogs(tmp_path)
    return PostgresCatalogs(tmp_path, request.getfixturevalue("postgres"))
