"""Pages with an RSS feed, and the entries that are read from them."""

from datetime import UTC, datetime

from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Page
from news_assets.sources import feed

SOURCE = Source(
    source_id="mec/1",
    desk="sample",
    agency="mec",
    kind="feed",
    url="https://example.org/feed.xml",
    timezone="America/Sao_Paulo",
    language="pt",
)


def page(
    body: bytes | str,
    content_type: str = "application/rss+xml",
    encoding: str | None = None,
) -> Page:
    return Page(
        url=SOURCE.url,
        final_url=SOURCE.url,
        status=200,
        body=body.encode() if isinstance(body, str) else body,
        content_type=content_type,
        encoding=encoding,
        fetched_at=datetime(2026, 9, 9, tzinfo=UTC),
    )


def rss(items: str, head: str = "") -> str:
    return f'<?xml version="1.0"?><rss version="2.0"><channel><title>T</title>{head}{items}</channel></rss>'


def entries(body: bytes | str) -> tuple[ListedEntry, ...]:
    return feed.parse(page(body), SOURCE).entries
