"""Responses in the format of the REST API's reference."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.errors import ListingChangedError, NewsAssetsError, SourceError
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing, Page
from news_assets.sources import wordpress

SOURCE = Source(
    source_id="cidade/1",
    desk="sample",
    agency="cidade",
    kind="wordpress",
    url="https://example.org/",
    timezone="America/Sao_Paulo",
    language="pt",
)
QUERY = "per_page=100&orderby=date&order=desc&_embed=author,wp:featuredmedia,wp:term"
FIRST = f"https://example.org/wp-json/wp/v2/posts?{QUERY}"

POST: dict[str, Any] = {
    "id": 7,
    "date": "2026-11-03T09:30:00",
    "date_gmt": "2026-11-03T12:30:00",
    "guid": {"rendered": "https://example.org/?p=7&#038;lang=pt"},
    "modified": "2026-11-03T10:00:00",
    "modified_gmt": "2026-11-03T13:00:00",
    "link": "https://example.org/2026/11/ponte/",
    "title": {"rendered": "Ponte nova &#8211; obras <em>come\u00e7am</em>"},
    "excerpt": {
        "rendered": "<p>A obra da ponte come\u00e7a hoje [&hellip;]</p>\n",
        "protected": False,
    },
    "content": {
        "rendered": '<p onclick="x()">Texto <a href="/mapa">mapa</a>.</p><script>y()</script>'
    },
    "_embedded": {
        "author": [
            {"name": "Ana Lima"},
            {"code": "rest_user_invalid_id", "message": "x"},
        ],
        "wp:featuredmedia": [{"source_url": "/f/1.jpg"}],
        "wp:term": [
            [{"taxonomy": "category", "name": "Obras &amp; vias"}],
            [
                {"taxonomy": "post_tag", "name": "ponte"},
                {"taxonomy": "post_tag", "name": "ponte"},
            ],
        ],
    },
}
ENTRY = ListedEntry(
    entry_id="https://example.org/?p=7&lang=pt",
    url="https://example.org/2026/11/ponte/",
    title="Ponte nova – obras começam",
    summary="A obra da ponte começa hoje",
    content_html='<p>Texto <a href="https://example.org/mapa" rel="noopener noreferrer">mapa</a>.</p>',
    authors=("Ana Lima",),
    categories=("Obras & vias", "ponte"),
    image_url="https://example.org/f/1.jpg",
    published_at=datetime(2026, 11, 3, 12, 30, tzinfo=UTC),
    updated_at=datetime(2026, 11, 3, 13, tzinfo=UTC),
)


def page(document: Any, url: str = FIRST) -> Page:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return Page(
        url=url,
        final_url=url,
        status=200,
        body=body,
        fetched_at=datetime(2026, 11, 5, tzinfo=UTC),
    )


def listing(document: Any, url: str = FIRST) -> Listing:
    return wordpress.parse(page(document, url), SOURCE)


def posts(count: int) -> list[dict[str, Any]]:
    return [
        {**POST, "guid": f"g{n}", "link": f"https://example.org/{n}"}
        for n in range(count)
    ]


def test_a_post_is_read() -> None:
    assert listing([POST]) == Listing(entries=(ENTRY,))


@pytest.mark.parametrize(
    ("url", "requested"),
    [
        ("https://example.org", FIRST),
        ("https://example.org/?lang=pt", FIRST),
        (
            "https://example.org/blog/index.php",
            f"https://example.org/blog/wp-json/wp/v2/posts?{QUERY}",
        ),
        ("https://example.org/wp-json/", FIRST),
        ("https://example.org/wp-json/wp/v2", FIRST),
        (FIRST, FIRST),
        (
            "https://example.org/wp-json/wp/v2/noticias",
            f"https://example.org/wp-json/wp/v2/noticias?{QUERY}",
        ),
        (
            "https://example.org/?rest_route=/wp/v2/posts",
            f"https://example.org/?rest_route=/wp/v2/posts&{QUERY}",
        ),
        (
            f"{FIRST}&categories[]=5&categories[]=6",
            f"{FIRST}&categories%5B%5D=5&categories%5B%5D=6",
        ),
        (FIRST.replace("=100", "=500"), FIRST),
    ],
)
def test_a_poll_starts_at_the_newest_posts(url: str, requested: str) -> None:
    first = wordpress.first_url(replace(SOURCE, url=url))
    assert first == requested
    assert wordpress.first_url(replace(SOURCE, url=first)) == first


def test_a_past_day_is_bounded_in_the_zone_of_the_source() -> None:
    url = wordpress.day_url(SOURCE, date(2026, 11, 3))
    assert url.endswith("&after=2026-11-03T02:59:59Z&before=2026-11-04T03:00:00Z")
    assert url.startswith("https://example.org/wp-json/wp/v2/posts?")


def test_only_a_full_page_names_the_next_one() -> None:
    first, second = listing(posts(100)), listing(posts(100), f"{FIRST}&page=2")
    assert [
        url.rpartition("&")[2] for url in (*first.next_urls, *second.next_urls)
    ] == ["page=2", "page=3"]
    assert second.next_urls[0].startswith("https://example.org/wp-json/wp/v2/posts?")
    assert listing(posts(99)).next_urls == ()
    by_twenty = "https://example.org/wp-json/wp/v2/posts?per_page=20"
    assert [len(listing(posts(count), by_twenty).next_urls) for count in (19, 20)] == [
        0,
        1,
    ]
    assert listing(posts(100), "https://example.org/").next_urls == first.next_urls


def test_a_page_after_the_last_one_is_empty() -> None:
    no_page = {
        "code": "rest_post_invalid_page_number",
        "message": "The page number ...",
        "data": {"status": 400},
    }
    assert listing(no_page) == Listing(entries=())


def test_a_day_without_posts_is_an_empty_listing() -> None:
    assert listing([]) == Listing(entries=(), problems=("no entries",))


def test_local_times_are_the_fallback_for_utc() -> None:
    post = {**POST, "date_gmt": "0000-00-00T00:00:00", "modified_gmt": None}
    assert listing([post]).entries == (ENTRY,)


def test_posts_come_newest_first_and_each_once() -> None:
    older = {
        **POST,
        "guid": "old",
        "link": "https://example.org/old",
        "date_gmt": "2026-11-01T00:00:00",
    }
    assert [entry.entry_id for entry in listing([older, POST, POST]).entries] == [
        ENTRY.entry_id,
        "old",
    ]


def test_a_post_with_few_fields_is_an_entry() -> None:
    assert listing(
        [{"link": "https://example.org/1", "title": "T", "date": "2026-11-03"}]
    ).entries == (
        ListedEntry(
            entry_id="https://example.org/1",
            url="https://example.org/1",
            title="T",
            published_at=datetime(2026, 11, 3, 3, tzinfo=UTC),
        ),
    )


def test_other_items_are_skipped_with_a_problem() -> None:
    found = listing([POST, "x", {"id": 1}, {"link": "javascript:x", "guid": "g"}])
    assert found.entries == (ENTRY,)
    assert found.problems == (
        "2 of 4 items are not posts: skipped",
        "entry 2 has no link: skipped",
    )


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (
            {"code": "rest_no_route", "message": "No route &amp; so"},
            "the WordPress API answered rest_no_route: No route & so",
        ),
        ({"items": []}, "JSON that is not a list of posts"),
        ("text", "JSON that is not a list of posts"),
        ([1, {"id": 2}], "a JSON list without any WordPress post"),
        (
            b"<html><head><title>Login</title></head><input type=password></html>",
            "looks like a log-in page",
        ),
        (b"<rss version='2.0'></rss>", "looks like an RSS feed: use kind feed"),
        (b"[" * 100_000, "JSON nested too deeply"),
    ],
)
def test_any_other_document_is_a_changed_listing_and_named(
    document: Any, reason: str
) -> None:
    with pytest.raises(ListingChangedError) as caught:
        listing(document)
    assert str(caught.value).startswith(f"{FIRST}: ")
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("body", "reason"),
    [(b"", "an empty document"), (b'[{"link": "http', "JSON that cannot be read")],
)
def test_an_empty_or_truncated_document_is_an_error(body: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        listing(body)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*POST, "rendered", "name"]), inner)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(list(POST)), _JSON), _JSON)
def test_any_json_gives_a_listing_or_a_source_error(
    changes: dict[str, Any], document: Any
) -> None:
    for answer in ([{**POST, **changes}], document):
        try:
            found = listing(answer)
        except NewsAssetsError as error:
            assert FIRST in str(error)  # noqa: PT017 - either outcome is right
        else:
            assert all(
                entry.url.startswith(("http://", "https://")) and entry.title != ""
                for entry in found.entries
            )
            assert str(found).encode()


@given(st.binary(max_size=200), st.integers(0, 1500))
def test_any_bytes_give_a_listing_or_a_source_error(noise: bytes, at: int) -> None:
    body = json.dumps([POST]).encode()
    for document in (noise, body[:at] + noise + body[at:], body[:at]):
        try:
            assert isinstance(listing(document), Listing)
        except NewsAssetsError as error:
            assert FIRST in str(error)  # noqa: PT017 - either outcome is right
