"""The sample desk's graph, empty or filled, in a folder of the test."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from news_assets.demo import SampleSite
from news_assets.records.desks import Desk
from news_assets_tests.support.graph import Graph, sample_desk
from news_assets_tests.support.lakes import copy_lake
from news_assets_tests.support.small_desk import Words

EMBEDDER = {"embedder": Words()}  # two dimensions, no model to load


@pytest.fixture(scope="session")
def site() -> Iterator[SampleSite]:
    """The sample site; tests that change it run their own."""
    with SampleSite(datetime.now(UTC), port=0) as running:
        yield running


@pytest.fixture(scope="session")
def desk(site: SampleSite) -> Desk:
    return sample_desk(site)


@pytest.fixture(scope="session")
def filling(
    desk: Desk, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[dg.RunRequest]]:
    """The home of a graph whose sensors have filled it, and what they requested."""
    home = tmp_path_factory.mktemp("filled_graph")
    with dg.DagsterInstance.ephemeral() as instance:
        return home, Graph(desk, home, instance, EMBEDDER).settle()


@pytest.fixture
def graph(desk: Desk, tmp_path: Path) -> Iterator[Graph]:
    """The graph before its first run."""
    with dg.DagsterInstance.ephemeral() as instance:
        yield Graph(desk, tmp_path, instance, EMBEDDER)


@pytest.fixture
def filled(
    desk: Desk, filling: tuple[Path, list[dg.RunRequest]], tmp_path: Path
) -> Iterator[Graph]:
    """The graph with every article processed and indexed."""
    copy_lake(filling[0], tmp_path)
    with dg.DagsterInstance.ephemeral() as instance:
        yield Graph(desk, tmp_path, instance, EMBEDDER)
