"""Documents and indexes for the tests of the Typesense backend."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date

from news_assets.clients.typesense_search.index import TypesenseSearchIndex
from news_assets.ports import SearchDocument
from news_assets_tests.typesense_server import TestServer

VECTOR = (1.0, 0.0, 0.0)


def document(number: int, title: str = "Vacina", text: str = "texto", **changes: object) -> SearchDocument:
    valid = SearchDocument(
        article_id=f"mec-{number}",
        desk="govbr",
        agency="mec",
        agency_name="Ministério da Educação",
        day=date(2026, 1, number % 28 + 1),
        url=f"https://example.org/{number}",
        title=title,
        text=text,
        language="pt-BR",
        published_ts=1_767_225_600 + number,
        document_hash=f"hash-{number}",
    )
    return replace(valid, **changes)  # type: ignore[arg-type]


def address_of(server: TestServer, alias: str = "") -> str:
    return server.url.replace("http://", "typesense://") + (f"/{alias}" if alias else "")


@contextmanager
def opened(server: TestServer, dim: int | None = None, **settings: object) -> Iterator[TypesenseSearchIndex]:
    with TypesenseSearchIndex.open(address_of(server), server.admin_key, dim, **settings) as index:  # type: ignore[arg-type]
        yield index
