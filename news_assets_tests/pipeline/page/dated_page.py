"""Small pages with a date in one of their parts, and the times that are read from them."""

from datetime import UTC, datetime, timedelta

from lxml.html import fromstring

from news_assets.pipeline.page.page_metadata import PageMetadata, read_metadata

ZONE = "America/Sao_Paulo"
URL = "https://www.example.org/noticias/escolas"
DATED_URL = "https://www.example.org/2026/02/24/escolas"
FETCHED = datetime(2026, 3, 4, 12, tzinfo=UTC)
TITLE = "Escolas técnicas recebem verba para obras"
BODY = "".join(
    f"<p>{'O ministério anunciou obras em escolas de três estados do Nordeste. ' * 5}</p>"
    for _ in "ab"
)
JSON_LD = '<script type="application/ld+json">{"@type":"NewsArticle","datePublished":"2026-03-01T10:00-03:00"}</script>'
META = '<meta property="article:published_time" content="2026-02-28T10:00:00-03:00">'
MARKUP = '<span class="documentPublished"><span>Publicado em</span> <span class="value">27/02/2026 14h30</span></span>'
TEXT = "<p>Publicado em 26/02/2026 14h30</p>"


def read(
    head: str = "", above: str = "", byline: str = "", foot: str = "", url: str = URL
) -> PageMetadata:
    body = f"<header>{above}</header><article><h1>{TITLE}</h1>{byline}{BODY}</article>{foot}"
    html = f"<html><head><title>{TITLE}</title>{head}</head><body>{body}</body></html>"
    return read_metadata(fromstring(html), url, ZONE, FETCHED)


def published(*args: str, **parts: str) -> tuple[str | None, str | None]:
    """Return the local time and its origin."""
    found = read(*args, **parts)
    return (
        found.published_at and f"{found.published_at - timedelta(hours=3):%d/%m %H:%M}",
        found.published_origin,
    )


def updated(*args: str, **parts: str) -> str | None:
    at = read(*args, **parts).updated_at
    return at and f"{at - timedelta(hours=3):%d/%m %H:%M}"
