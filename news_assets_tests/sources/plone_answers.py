"""Answers of Plone's search, and the listing that is read from them."""

import json
from typing import Any

from news_assets.records.reading import Listing
from news_assets.sources import plone_search
from news_assets_tests.sources.page_builders import page_of, source_of

SITE = "https://www.gov.br/anpd/pt-br/assuntos/noticias"
API = "https://www.gov.br/anpd/++api++/pt-br/assuntos/noticias"
SOURCE = source_of("plone_search", SITE)
FIRST_URL = plone_search.first_url(SOURCE)


def read(answer: Any, url: str = FIRST_URL) -> Listing:
    return plone_search.parse(
        page_of(answer if isinstance(answer, str) else json.dumps(answer), url), SOURCE
    )


def item(name: str, **said: Any) -> dict[str, Any]:
    return {
        "@id": f"{API}/2026/{name}",
        "@type": "News Item",
        "title": name.title(),
        **said,
    }


def answer_of(*items: Any, **batching: str) -> dict[str, Any]:
    return {
        "@id": f"{API}/@search",
        "items": list(items),
        "items_total": 60,
        "batching": batching,
    }


def slate(*nodes: dict[str, Any]) -> dict[str, Any]:
    return {"@type": "slate", "value": list(nodes), "plaintext": "x"}


def content_of(**said: Any) -> str | None:
    return read(answer_of(item("a", **said))).entries[0].content_html
