"""A server whose pages an operator may act on, over a lake that tests may change."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import httpx
import pytest

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.folders import last_look
from news_assets.pipeline.alerts.query_file import Alerts
from news_assets.search import Index
from news_assets.store.lake import Lake
from news_assets.taxonomy import load_taxonomy
from news_assets.web.archive import Archive
from news_assets.web.operations.sessions import Access
from news_assets_tests.support.lakes import copy_lake
from news_assets_tests.support.small_desk import DESK, Newsroom, entry
from news_assets_tests.web.conftest import CHANNELS, QUERIES, served

TOKEN = "a token of enough characters"
DAGSTER = "https://dagster.example/ui"


@dataclass
class Site:
    address: str
    lake: Lake
    home: Path
    deleted: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a closed lake and index with `a-1`, `a-2` that cannot be enriched
    and `a-3` without a page.
    """
    folder = tmp_path_factory.mktemp("prepared")
    with _newsroom(folder) as room:
        room.enricher.refused.add("line2")
        room.pages.missing.add("https://example.org/3")
        room.list(entry(1), entry(2), entry(3))
        room.run()
    return folder


@pytest.fixture
def operated(prepared: Path, tmp_path: Path) -> Iterator[Site]:
    """A site over a copy of the prepared lake."""
    with _served_copy(prepared, tmp_path) as site:
        yield site


@pytest.fixture(scope="session")
def guarded(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The same, for tests that change nothing."""
    with _served_copy(prepared, tmp_path_factory.mktemp("guarded")) as site:
        yield site


@pytest.fixture
def client(operated: Site) -> Iterator[httpx.Client]:
    """A browser without a log-in."""
    headers = {
        "Accept": "text/html",
        "Origin": operated.address,
        "Sec-Fetch-Site": "same-origin",
    }
    with httpx.Client(base_url=operated.address, headers=headers) as browser:
        yield browser


def log_in(client: httpx.Client, name: str = "Ana") -> httpx.Response:
    return client.post(
        "/operations/login",
        data={"name": name, "token": TOKEN, "to": "/operations/articles/a-2"},
    )


@contextmanager
def _newsroom(folder: Path) -> Iterator[Newsroom]:
    with (
        Lake.open(folder / "catalog.sqlite", folder / "data") as lake,
        SqliteSearchIndex.open(folder / "search.sqlite") as index,
    ):
        yield Newsroom(lake, index)


@contextmanager
def _served_copy(prepared: Path, folder: Path) -> Iterator[Site]:
    copy_lake(prepared, folder)
    deleted: list[str] = []
    with _newsroom(folder) as room:
        rules = Alerts(channels=CHANNELS, queries=QUERIES)
        index = Index(room.index, lambda: room.embedder, lambda: None)
        archive = Archive(index, room.lake, [DESK], {DESK.key: load_taxonomy()}, rules)
        access = Access(
            token=TOKEN,
            dagster_public_url=DAGSTER,
            delete_documents=deleted.extend,
            last_look=partial(last_look, folder),
        )
        with served(archive, access=access) as address:
            yield Site(address, room.lake, folder, deleted)
