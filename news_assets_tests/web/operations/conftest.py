"""A server whose pages an operator may act on, over a lake that tests may change."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from news_assets.clients.search.embedded.index import SqliteSearchIndex
from news_assets.pipeline.alerts.spec import Alerts
from news_assets.search import Index
from news_assets.store.lake import Lake
from news_assets.taxonomy.loader import load_taxonomy
from news_assets.web.archive import Archive
from news_assets.web.operations.access import Access
from news_assets_tests.support.small_desk import DESK, Newsroom, entry
from news_assets_tests.web.conftest import CHANNELS, QUERIES, served

TOKEN = "a token of enough characters"
DAGSTER = "https://dagster.example/ui"


@dataclass
class Site:
    address: str
    lake: Lake
    deleted: list[str] = field(default_factory=list)


@pytest.fixture
def operated(tmp_path: Path) -> Iterator[Site]:
    """A site with `a-1`, `a-2` that cannot be enriched and `a-3` without a page."""
    with opened(tmp_path) as site:
        yield site


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The same, for tests that change nothing."""
    with opened(tmp_path_factory.mktemp("guarded")) as site:
        yield site


@pytest.fixture
def client(operated: Site) -> Iterator[httpx.Client]:
    """A browser without a log-in."""
    headers = {"Accept": "text/html", "Origin": operated.address, "Sec-Fetch-Site": "same-origin"}
    with httpx.Client(base_url=operated.address, headers=headers) as browser:
        yield browser


def log_in(client: httpx.Client, name: str = "Ana") -> httpx.Response:
    return client.post("/operations/login", data={"name": name, "token": TOKEN, "to": "/operations/articles/a-2"})


@contextmanager
def opened(folder: Path) -> Iterator[Site]:
    deleted: list[str] = []
    with (
        Lake.open(folder / "catalog.sqlite", folder / "data") as lake,
        SqliteSearchIndex.open(folder / "search.sqlite") as index,
    ):
        room = Newsroom(lake, index)
        room.enricher.refused.add("line2")
        room.pages.missing.add("https://example.org/3")
        room.list(entry(1), entry(2), entry(3))
        room.run()
        rules = Alerts(channels=CHANNELS, queries=QUERIES)
        archive = Archive(
            Index(index, lambda: room.embedder, index.close), lake, [DESK], {DESK.key: load_taxonomy()}, rules
        )
        with served(
            archive, access=Access(token=TOKEN, dagster_public_url=DAGSTER, delete_documents=deleted.extend)
        ) as address:
            yield Site(address, lake, deleted)
