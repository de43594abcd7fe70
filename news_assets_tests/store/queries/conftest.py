"""A lake with three articles that went through all stages."""

from collections.abc import Iterator
from copy import deepcopy
from datetime import timedelta
from pathlib import Path

import pytest

from news_assets.store.lake import Lake
from news_assets_tests.support.fakes import FakeSearchIndex
from news_assets_tests.support.lakes import Catalogs, Place
from news_assets_tests.support.small_desk import TODAY, Newsroom, entry


@pytest.fixture(scope="session")
def processed(
    catalogs: Catalogs, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Place, FakeSearchIndex]:
    """A closed lake with three articles that went through all stages, and the search
    index.
    """
    place, index = (
        catalogs.copy(catalogs.empty, tmp_path_factory.mktemp("processed")),
        FakeSearchIndex(),
    )
    with Lake.open(*place) as lake:
        room = Newsroom(lake, index)
        room.list(entry(1), entry(2), entry(3, "b", TODAY - timedelta(days=40)))
        room.run()
    return place, index


@pytest.fixture
def room(
    catalogs: Catalogs, processed: tuple[Place, FakeSearchIndex], tmp_path: Path
) -> Iterator[Newsroom]:
    place, index = processed
    with Lake.open(*catalogs.copy(place, tmp_path)) as lake:
        yield Newsroom(lake, deepcopy(index))
