"""The contract of every adapter. A new kind needs a line in SAMPLES."""

import json
from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.errors import ListingChangedError, SourceError
from news_assets.records.reading import Listing
from news_assets.sources.source_kinds import KINDS, adapter_of
from news_assets.text.urls import web_url
from news_assets_tests.sources import (
    test_ebc_listings,
    test_feed,
    test_g1,
    test_json_feed,
    test_plone_listings,
    test_plone_search,
    test_selected_listings,
    test_sitemap,
    test_wordpress,
)
from news_assets_tests.sources.page_builders import INSTEAD, html, page_of, source_of

# kind -> address of the source, documents that the source may serve
SAMPLES: dict[str, tuple[str, tuple[bytes | str, ...]]] = {
    "ebc": (test_ebc_listings.URL, (test_ebc_listings.SAMPLE,)),
    "feed": (
        "https://example.org/feed",
        (test_feed.FULL_RSS, json.dumps(test_json_feed.FEED)),
    ),
    "g1": ("https://g1.globo.com/rss/g1/politica/", (test_g1.FEED, test_g1.PAGE)),
    "html_listing": (test_selected_listings.URL, (test_selected_listings.SAMPLE,)),
    "json_feed": (
        "https://example.org/feed.json",
        (json.dumps(test_json_feed.FEED),),
    ),
    "plone_listing": (test_plone_listings.URL, (test_plone_listings.SAMPLE,)),
    "plone_search": (test_plone_search.SITE, (test_plone_search.SAMPLE,)),
    "sitemap": (
        "https://example.org/sitemap.xml",
        (test_sitemap.PLAIN, test_sitemap.NEWS, test_sitemap.TEXT),
    ),
    "wordpress": ("https://example.org", (json.dumps([test_wordpress.POST]),)),
}
EVERY = [
    (kind, document)
    for kind, (_, documents) in SAMPLES.items()
    for document in documents
]
NAMES = [f"{kind} {number}" for number, (kind, _) in enumerate(EVERY)]
NO_NEWS = html(  # as large as a listing page, with navigation and footer
    f"<nav>{'<a href=/a>Assuntos</a> ' * 60}</nav><div id=content-core></div><footer>{'Contato ' * 180}</footer>",
    head='<meta name="generator" content="Plone - https://plone.org">',
)
_READ_TOO = {"feed": ("<rss",), "g1": ("<rss",), "sitemap": ("<rss", "<?xml")}
FOREIGN = [
    (kind, number)
    for kind in KINDS
    for number, (document, _) in enumerate(INSTEAD)
    if not str(document).startswith(_READ_TOO.get(kind, ()))
]


def read(kind: str, document: bytes | str) -> Listing:
    source = source_of(kind, SAMPLES[kind][0])
    adapter = adapter_of(source)
    return adapter.parse(page_of(document, adapter.first_url(source)), source)


def test_every_kind_has_a_sample() -> None:
    assert set(SAMPLES) == set(KINDS)


@pytest.mark.parametrize(("kind", "document"), EVERY, ids=NAMES)
def test_a_sample_gives_a_valid_listing_every_time(
    kind: str, document: bytes | str
) -> None:
    listing = read(kind, document)
    assert listing.entries
    assert read(kind, document) == listing
    ids = [entry.entry_id for entry in listing.entries]
    assert len(set(ids)) == len(ids)
    for entry in listing.entries:
        assert entry.entry_id
        assert web_url(entry.url, "") == entry.url
        assert entry.title is None or entry.title.strip()
        assert all(
            at is None or at.utcoffset() is not None
            for at in (entry.published_at, entry.updated_at)
        )
    times = [entry.published_at for entry in listing.entries if entry.published_at]
    assert len(times) < len(ids) or times == sorted(times, reverse=True)
    assert all(web_url(url, "") == url for url in listing.next_urls)


@pytest.mark.parametrize(("kind", "number"), FOREIGN)
def test_any_other_document_is_refused_and_named(kind: str, number: int) -> None:
    with pytest.raises(ListingChangedError) as raised:
        read(kind, INSTEAD[number][0])
    document, words = INSTEAD[number]
    assert str(raised.value).startswith(("http://", "https://"))
    assert ("JSON" if str(document).startswith("{") else words) in str(raised.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_page_without_news_is_an_error(kind: str) -> None:
    with pytest.raises(
        ListingChangedError, match=r'looks like Plone.*, titled "Notícias"'
    ):
        read(kind, NO_NEWS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("document", [b"", b" \n"])
def test_an_empty_document_is_an_error(kind: str, document: bytes) -> None:
    with pytest.raises(SourceError):
        read(kind, document)


@given(st.sampled_from(EVERY), st.binary(max_size=40), st.integers(0, 3000))
def test_any_bytes_give_a_listing_or_a_source_error(
    sample: tuple[str, bytes | str], noise: bytes, at: int
) -> None:
    kind, document = sample
    body = document.encode() if isinstance(document, str) else document
    for broken in (body[:at], body[:at] + noise + body[at:], noise):
        with suppress(SourceError):
            read(kind, broken)


def test_the_address_of_a_past_day_is_a_web_address() -> None:
    for kind, adapter in KINDS.items():
        if adapter.day_url is not None:
            url = adapter.day_url(source_of(kind, SAMPLES[kind][0]), date(2026, 3, 4))
            assert web_url(url, "") == url, kind


@pytest.mark.parametrize("kind", ["ebc", "html_listing", "plone_listing"])
def test_a_listing_without_a_search_reaches_a_past_day_from_its_newest_page(
    kind: str,
) -> None:
    source, day_url = source_of(kind, SAMPLES[kind][0]), KINDS[kind].day_url
    assert day_url is not None
    assert day_url(source, date(2026, 2, 27)) == source.url
