"""Documents and indexes for the tests of the Typesense backend."""

from collections.abc import Iterator
from contextlib import contextmanager

from news_assets.clients.search.typesense.typesense_index import TypesenseSearchIndex
from news_assets.ports.search_index import SearchDocument
from news_assets_tests.clients.search.contract.examples import (
    document as contract_document,
)
from news_assets_tests.typesense_server import TestServer

SECRET = "an-admin-key-that-must-stay-secret"
VECTOR = (1.0, 0.0, 0.0)


def document(
    number: int, title: str = "Vacina", text: str = "texto", **changes: object
) -> SearchDocument:
    return contract_document(number, title, text, **changes)


def address_of(server: TestServer, alias: str = "") -> str:
    return server.url.replace("http://", "typesense://") + (
        f"/{alias}" if alias else ""
    )


@contextmanager
def opened(server: TestServer, **settings: object) -> Iterator[TypesenseSearchIndex]:
    with TypesenseSearchIndex.open(
        address_of(server), server.admin_key, **settings
    ) as index:  # type: ignore[arg-type]
        yield index
