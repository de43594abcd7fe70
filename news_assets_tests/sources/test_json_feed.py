"""`json_feed` as a kind of its own; how one item is read is tested with the feeds."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.errors import ListingChangedError, NewsAssetsError, SourceError
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing, Page
from news_assets.sources.feed import parse_json_feed

SOURCE = Source(
    source_id="vila/1",
    desk="sample",
    agency="vila",
    kind="json_feed",
    url="https://example.org/feed.json",
    timezone="America/Sao_Paulo",
    language="pt",
)
FEED: dict[str, Any] = {
    "version": "https://jsonfeed.org/version/1.1",
    "title": "Vila",
    "language": "pt-br",
    "next_url": "/feed.json?page=2",
    "items": [
        {
            "id": 1,
            "url": "/1",
            "title": "Um",
            "date_published": "2026-11-03T10:00:00-03:00",
        },
        {
            "id": 2,
            "url": "/2",
            "title": "Dois",
            "date_published": "2026-11-04T10:00:00-03:00",
            "tags": ["a"],
        },
        {"id": 3, "title": "sem link", "date_published": "2026-11-04T10:00:00-03:00"},
    ],
}


def parse(document: Any) -> Listing:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    page = Page(
        url=SOURCE.url,
        final_url=SOURCE.url,
        status=200,
        body=body,
        fetched_at=datetime(2026, 11, 5, tzinfo=UTC),
    )
    return parse_json_feed(page, SOURCE)


def test_a_feed_is_listed_newest_first_with_its_next_page() -> None:
    assert parse(FEED) == Listing(
        title="Vila",
        language="pt-BR",
        next_urls=("https://example.org/feed.json?page=2",),
        problems=("entry 3 has no link: skipped",),
        entries=(
            ListedEntry(
                entry_id="2",
                url="https://example.org/2",
                title="Dois",
                categories=("a",),
                published_at=datetime(2026, 11, 4, 13, tzinfo=UTC),
            ),
            ListedEntry(
                entry_id="1",
                url="https://example.org/1",
                title="Um",
                published_at=datetime(2026, 11, 3, 13, tzinfo=UTC),
            ),
        ),
    )


@pytest.mark.parametrize(
    "link", [SOURCE.url, "feed.json#x", "javascript:x", "", None, []]
)
def test_a_next_url_to_the_feed_itself_is_ignored(link: Any) -> None:
    assert parse({**FEED, "next_url": link}).next_urls == ()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            b"<rss version='2.0'><channel/></rss>",
            "not a JSON Feed: looks like an RSS feed: use kind feed",
        ),
        (
            b"<feed xmlns='http://www.w3.org/2005/Atom'/>",
            "not a JSON Feed: looks like an Atom feed: use kind feed",
        ),
        (
            b"<html><title>Vila</title><body>x</body></html>",
            'not a JSON Feed: an HTML page of no known kind, titled "Vila"',
        ),
        (b"words", "not a JSON Feed: plain text of no known kind"),
        (b"{}", "JSON but not a feed: no list of items"),
        (b"[]", "JSON but not a feed: no list of items"),
        (b'"x"', "JSON but not a feed: no list of items"),
        (b"[" * 100_000, "JSON nested too deeply"),
    ],
)
def test_any_other_document_is_a_changed_listing_and_named(
    body: bytes, reason: str
) -> None:
    with pytest.raises(ListingChangedError) as caught:
        parse(body)
    assert str(caught.value) == f"{SOURCE.url}: {reason}"


@pytest.mark.parametrize("body", [b"", b" \n", b'{"items": [', b"\xef\xbb\xbf{"])
def test_an_empty_or_truncated_document_is_an_error(body: bytes) -> None:
    with pytest.raises(SourceError) as caught:
        parse(body)
    assert not isinstance(caught.value, ListingChangedError)


@given(st.binary(max_size=200), st.integers(0, 500))
def test_any_bytes_give_a_listing_or_a_source_error(noise: bytes, at: int) -> None:
    body = json.dumps(FEED).encode()
    for document in (noise, body[:at] + noise + body[at:], body[:at]):
        try:
            assert isinstance(parse(document), Listing)
        except NewsAssetsError as error:
            assert SOURCE.url in str(error)  # noqa: PT017 - either outcome is right
