"""Responses of plone.restapi's `@search` in the documented format."""

import json
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from news_assets.errors import ListingChangedError, NewsAssetsError, SourceError
from news_assets.records.reading import ListedEntry, Listing
from news_assets.sources import plone_search
from news_assets_tests.sources.page_builders import html, page_of, source_of
from news_assets_tests.sources.plone_answers import (
    API,
    FIRST_URL,
    SITE,
    SOURCE,
    answer_of,
    content_of,
    item,
    read,
    slate,
)

FULL = item(
    "norma",
    UID="6d1f",
    title="Norma &amp; prazo",
    description="Entra em vigor em março.",
    effective="2026-02-27T17:30:00+00:00",
    created="2026-02-20T10:00:00+00:00",
    modified="2026-03-01T12:05:00+00:00",
    creators=["12345678900"],
    subjects=["Dados", "Dados", "Norma"],
    image={
        "content-type": "image/png",
        "download": f"{API}/2026/norma/@@images/u.png",
        "scales": {},
    },
    blocks={
        "1": {"@type": "title"},
        "2": slate(
            {
                "type": "p",
                "children": [
                    {"text": "O prazo é "},
                    {"type": "strong", "children": [{"text": "30 < 31"}]},
                    {"text": ", diz a "},
                    {
                        "type": "link",
                        "data": {"url": "../lei"},
                        "children": [{"text": "lei"}],
                    },
                    {"text": "."},
                ],
            }
        ),
        "3": slate(
            {"type": "ul", "children": [{"type": "li", "children": [{"text": "um"}]}]}
        ),
        "4": {"@type": "listing"},
        "5": {
            "@type": "html",
            "html": "<p onclick='x()'>Fim<script>alert(1)</script></p>",
        },
    },
    blocks_layout={"items": ["1", "3", "2", "4", "5", "9"]},
)


def test_a_response_is_read() -> None:
    later = item("depois", effective="2026-02-28T00:00:00Z")
    assert read(
        answer_of(
            FULL, later, next="http://backend:8080/anpd/@search?b_start=25&b_size=25"
        )
    ) == Listing(
        entries=(
            ListedEntry(
                entry_id=f"{SITE}/2026/depois",
                url=f"{SITE}/2026/depois",
                title="Depois",
                published_at=datetime(2026, 2, 28, tzinfo=UTC),
            ),
            ListedEntry(
                entry_id="6d1f",
                url=f"{SITE}/2026/norma",
                title="Norma & prazo",
                summary="Entra em vigor em março.",
                content_html="<ul><li>um</li></ul>\n<p>O prazo é <strong>30 &lt; 31</strong>, diz a "
                f'<a href="{SITE}/lei" rel="noopener noreferrer">lei</a>.</p>\n<p>Fim</p>',
                categories=("Dados", "Norma"),
                image_url=f"{SITE}/2026/norma/@@images/u.png",
                published_at=datetime(2026, 2, 27, 17, 30, tzinfo=UTC),
                updated_at=datetime(2026, 3, 1, 12, 5, tzinfo=UTC),
            ),
        ),
        next_urls=(f"{API}/@search?b_start=25&b_size=25",),
    )


def test_a_response_without_items_is_empty() -> None:
    assert read(answer_of()) == Listing(entries=(), problems=("no entries",))


def test_the_last_page_has_no_next_url() -> None:
    assert read(answer_of(item("a"), prev=f"{API}/@search?b_start=0")).next_urls == ()
    assert read(answer_of(item("a"), next=FIRST_URL)).next_urls == ()


@pytest.mark.parametrize(
    ("said", "published"),
    [
        (
            {"effective": None, "created": "2026-02-20T10:00:00+00:00"},
            datetime(2026, 2, 20, 10, tzinfo=UTC),
        ),
        ({"effective": "1969-12-31T02:00:00+00:00"}, None),
        (
            {"effective": "2026-02-27T14:30:00"},
            datetime(2026, 2, 27, 17, 30, tzinfo=UTC),
        ),
        ({"effective": 7}, None),
    ],
)
def test_the_creation_date_is_the_fallback(
    said: dict[str, Any], published: datetime | None
) -> None:
    assert read(answer_of(item("a", **said))).entries[0].published_at == published


def test_unusable_items_are_skipped_with_a_problem() -> None:
    answer = read(answer_of(7, {"title": "sem endereço"}, item("a")))
    assert [entry.title for entry in answer.entries] == ["A"]
    assert answer.problems == (
        "1 items are not objects: skipped",
        "entry 1 has no link: skipped",
        "no dates",
    )


# --- addresses ------------------------------------------------------------------------

DEFAULTS = [
    ("portal_type", "News Item"),
    ("sort_on", "effective"),
    ("sort_order", "descending"),
    ("fullobjects", "1"),
    ("b_size", "25"),
]


@pytest.mark.parametrize(
    ("address", "path"),
    [
        (SITE, "/anpd/++api++/pt-br/assuntos/noticias/@search"),
        (f"{SITE}/?b_start:int=0", "/anpd/++api++/pt-br/assuntos/noticias/@search"),
        ("https://www.gov.br/pt-br/noticias", "/++api++/pt-br/noticias/@search"),
        ("https://www.utfpr.edu.br/noticias/geral", "/++api++/noticias/geral/@search"),
        ("https://example.org/", "/++api++/@search"),
        ("https://example.org/site/++api++/novas", "/site/++api++/novas/@search"),
        ("https://example.org/novas/@@listing_view", "/++api++/novas/@search"),
    ],
)
def test_the_search_is_below_the_news_page(address: str, path: str) -> None:
    requested = urlsplit(plone_search.first_url(source_of("plone_search", address)))
    assert (requested.path, parse_qsl(requested.query)) == (path, DEFAULTS)


def test_an_address_of_the_search_keeps_its_parameters() -> None:
    own = f"{API}/@search?portal_type:list=News%20Item&portal_type:list=Nota&b_size=10"
    requested = urlsplit(plone_search.first_url(source_of("plone_search", own)))
    assert parse_qsl(requested.query) == [
        ("portal_type:list", "News Item"),
        ("portal_type:list", "Nota"),
        ("b_size", "10"),
        *DEFAULTS[1:4],
    ]


def test_a_past_day_is_bounded_in_the_source_zone() -> None:
    requested = urlsplit(plone_search.day_url(SOURCE, date(2026, 2, 27)))
    assert requested.path == "/anpd/++api++/pt-br/assuntos/noticias/@search"
    assert parse_qsl(requested.query) == [
        *DEFAULTS,
        ("effective.query:list", "2026-02-27T00:00:00-03:00"),
        ("effective.query:list", "2026-02-27T23:59:59-03:00"),
        ("effective.range", "min:max"),
    ]


# --- other documents ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (html("x", attributes='class="portaltype-folder"'), "looks like Plone: use kind plone_listing"),
        (html("<form><input type=password></form>"), "looks like a log-in page"),
        ("<rss/>", "looks like an RSS feed: use kind feed"),
        ('{"type": "Unauthorized", "message": "Pare"}', "Plone reports an error: Unauthorized: Pare"),
        ('{"@id": "https://example.org/a", "@type": "Document"}', "looks like Plone 6, in an unknown form"),
        ('{"version": "https://jsonfeed.org/version/1", "items": []}', "looks like a JSON feed: use kind json_feed"),
        ('{"erro": 1}', "JSON without a list of items: JSON of no known kind"),
        ("[" * 100_000, "nested too deeply"),
    ],
)  # fmt: skip
def test_any_other_document_is_refused_and_named(body: str, reason: str) -> None:
    with pytest.raises(ListingChangedError) as raised:
        read(body)
    assert reason in str(raised.value)


@pytest.mark.parametrize(
    ("body", "reason"),
    [("", "an empty document"), ('{"items": [', "JSON that cannot be read")],
)
def test_an_empty_or_truncated_document_is_an_error(body: str, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        read(body)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=80)
@given(st.sampled_from(sorted(FULL)), JSON)
def test_any_value_in_any_field_gives_a_listing(key: str, value: Any) -> None:
    answer = answer_of({**FULL, key: value}, value, item("a"))
    answer["batching"] = value
    listing = read(answer)
    assert listing == read(answer)
    assert all(
        entry.url.startswith("https://") and entry.title != ""
        for entry in listing.entries
    )
    assert len({entry.entry_id for entry in listing.entries}) == len(listing.entries)


SAMPLE = json.dumps(
    answer_of(FULL, item("a"), next=f"{API}/@search?b_start=25")
).encode()


@settings(max_examples=80)
@given(st.binary(max_size=20), st.integers(0, len(SAMPLE)), st.integers(0, 60))
def test_any_damage_gives_a_listing_or_a_source_error(
    noise: bytes, at: int, lost: int
) -> None:
    with suppress(NewsAssetsError):
        plone_search.parse(
            page_of(SAMPLE[:at] + noise + SAMPLE[at + lost :], FIRST_URL), SOURCE
        )


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ({"text": {"data": "<p>Rico</p>", "content-type": "text/html"}}, "<p>Rico</p>"),
        ({"text": None, "blocks": {}}, None),
        (
            {"blocks": {"1": {"@type": "text", "text": {"blocks": [
                {"type": "header-two", "text": "Título"}, {"type": "unstyled", "text": "a < b"}, {"text": " "}]}}}},
            "<h2>Título</h2><p>a &lt; b</p>",
        ),
        (
            {"blocks": {"1": {"@type": "gridBlock", "blocks": {"2": slate({"type": "p", "children": [
                {"text": "dentro"}]})}, "blocks_layout": {"items": ["2"]}}}},
            "<p>dentro</p>",
        ),
        (
            {"blocks": {"1": {"@type": "accordion", "data": {"blocks": {"2": slate({"type": "h2", "children": [
                {"text": "forte", "bold": True}]})}}}}},
            "<h2><strong>forte</strong></h2>",
        ),
        (
            {"blocks": {"1": {"@type": "image", "url": f"{API}/foto", "alt": 'a "b"'}}},
            f'<img src="{SITE}/foto" alt="a &quot;b&quot;">',
        ),
        (
            {"blocks": {"1": {"@type": "slateTable", "table": {"rows": [{"cells": [
                {"value": [{"type": "p", "children": [{"text": "1"}]}]}]}]}}}},
            "<table><tbody><tr><td><p>1</p></td></tr></tbody></table>",
        ),
        ({"blocks": {"1": slate({"type": "script", "children": [{"text": "<script>x</script>"}]})}},
         "&lt;script&gt;x&lt;/script&gt;"),
        ({"blocks": {"1": slate({"type": "link", "data": {"url": "javascript:x()"}, "children": [{"text": "a"}]})}},
         '<a rel="noopener noreferrer">a</a>'),
        ({"blocks": [1], "blocks_layout": "x"}, None),
        ({"blocks": {"1": {"@type": ["slate"]}, "2": 7, "3": slate(), "4": {"@type": "text", "text": "x"}}}, None),
    ],
)  # fmt: skip
def test_the_text_is_that_of_blocks_or_rich_text(
    said: dict[str, Any], content: str | None
) -> None:
    assert content_of(**said) == content


def test_nested_blocks_that_are_listed_many_times_are_read_once() -> None:
    block: dict[str, Any] = slate({"text": "fundo"})
    # nine times as many readings for each level, if every listing counted
    for _ in range(30):
        block = {
            "@type": "gridBlock",
            "blocks": {"1": block},
            "blocks_layout": {"items": ["1"] * 9},
        }
    assert content_of(blocks={"1": block}) == "fundo"


def test_what_is_nested_too_deeply_is_left_out() -> None:
    node: dict[str, Any] = {"text": "fundo"}
    for _ in range(300):
        node = {"type": "p", "children": [node]}
    assert "fundo" not in str(content_of(blocks={"1": slate(node)}))
