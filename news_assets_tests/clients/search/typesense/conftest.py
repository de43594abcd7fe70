"""A simulated server, and an index on it."""

from collections.abc import Iterator

import pytest

from news_assets.clients.search.typesense.typesense_index import TypesenseSearchIndex
from news_assets_tests.clients.search.typesense.samples import SECRET, opened
from news_assets_tests.typesense_server import TestServer, running


@pytest.fixture
def server() -> Iterator[TestServer]:
    """A server whose tests fail if a request deviates from the official description."""
    with running(admin_key=SECRET, is_strict=True) as started:
        yield started


@pytest.fixture
def index(server: TestServer) -> Iterator[TypesenseSearchIndex]:
    """An empty index."""
    with opened(server) as index:
        yield index
