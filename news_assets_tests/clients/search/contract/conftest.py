"""The contract of every search backend in `SEARCH_BACKENDS`.

A real Typesense server is tested if NEWS_TEST_TYPESENSE_URL (`typesense://host:port`)
and NEWS_TEST_TYPESENSE_API_KEY name one; each test uses an alias of its own there and
drops what it created.
"""

import os
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path

import pytest

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.clients.search.typesense.collection import collections
from news_assets.clients.search.typesense.typesense_index import (
    TypesenseSearchIndex,
    drop,
    is_of_alias,
)
from news_assets.ports.search_index import SearchIndex
from news_assets_tests.support.fakes import FakeSearchIndex
from news_assets_tests.typesense_server import running

REAL_SERVER = os.environ.get("NEWS_TEST_TYPESENSE_URL")


@contextmanager
def on_test_server() -> Iterator[SearchIndex]:
    with running(is_strict=True) as server:
        address = server.url.replace("http://", "typesense://")
        with TypesenseSearchIndex.open(address, server.admin_key) as index:
            yield index


@contextmanager
def on_real_server() -> Iterator[SearchIndex]:
    alias = f"contract_{uuid.uuid4().hex}"
    address = re.sub(r"^http", "typesense+http", str(REAL_SERVER)).replace(
        "typesense+http:", "typesense:"
    )
    with TypesenseSearchIndex.open(
        f"{address}/{alias}", os.environ["NEWS_TEST_TYPESENSE_API_KEY"]
    ) as index:
        yield index
        for name in collections(index.connection):
            if is_of_alias(name, alias):
                drop(index.connection, name)
        index.connection.call("delete", f"/aliases/{alias}")


SEARCH_BACKENDS: dict[str, Callable[[Path], AbstractContextManager[SearchIndex]]] = {
    "fake": lambda _: nullcontext(FakeSearchIndex()),
    "embedded": lambda folder: closing(
        SqliteSearchIndex.open(folder / "search.sqlite")
    ),
    "typesense": lambda _: on_test_server(),
} | ({"real": lambda _: on_real_server()} if REAL_SERVER else {})


@pytest.fixture(params=SEARCH_BACKENDS)
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SearchIndex]:
    with SEARCH_BACKENDS[request.param](tmp_path) as opened:
        yield opened
