"""One list in all its forms, read by other programs' readers of them."""

import io
from datetime import UTC, datetime
from html import escape

import feedparser
import httpx
import pytest

from news_assets.desks.site_lists import parse_opml
from news_assets.web.list_pages import _content
from news_assets.web.markup import article_html
from news_assets_tests.text.workbooks import sheets_of

FEEDS = ("/search", "/operations/sources", "/operations/failures")
ATOM = "application/atom+xml"


@pytest.mark.parametrize("path", FEEDS)
@pytest.mark.parametrize("suffix", [".atom", ".feed.json"])
def test_a_feed_is_the_same_by_suffix_and_by_accept(
    browser: httpx.Client, path: str, suffix: str
) -> None:
    by_suffix = browser.get(path + suffix)
    accept = f"application/rss+xml, {by_suffix.headers['content-type'].partition(';')[0]};q=0.9, text/html;q=0.1"
    assert browser.get(path, headers={"Accept": accept}).text == by_suffix.text


def test_an_atom_feed_is_read_with_its_entries(browser: httpx.Client) -> None:
    answer = browser.get("/search.atom?q=bus&mode=keyword")
    feed = feedparser.parse(answer.content)
    assert (answer.headers["content-type"], feed.bozo, feed.version) == (
        ATOM,
        False,
        "atom10",
    )
    first = next(entry for entry in feed.entries if "4 < 5 & more" in entry.title)
    assert first.link == "https://example.org/4"
    assert datetime(*first.published_parsed[:6], tzinfo=UTC) == datetime(
        2026, 11, 20, 15, tzinfo=UTC
    )
    assert {"a-1", "a-2", "a-4"} == {
        link.href[-3:]
        for one in feed.entries
        for link in one.links
        if link.rel == "related"
    }


def test_entries_of_articles_have_their_texts_as_html(browser: httpx.Client) -> None:
    address = "/search{}?q=bus&mode=keyword"
    atom = feedparser.parse(browser.get(address.format(".atom")).content)
    items = browser.get(address.format(".feed.json")).json()["items"]
    for entry, item in zip(atom.entries, items, strict=True):
        (content,) = entry.content
        assert (content.type, content.value) == ("text/html", item["content_html"])
        assert content.value.startswith("<p>The city council voted on Tuesday")
        assert content.value.count("</p>") > 1


def test_the_content_of_an_entry_is_cut_with_a_link_to_the_whole() -> None:
    short, long = "*bus* " * 1000, "*bus* " * 4000
    assert _content(short, "") == article_html(short)
    cut = _content(long, 'https://example.org/?a=1&b="2"')
    assert cut == (
        article_html(long[:10_000])
        + '<p><a href="https://example.org/?a=1&amp;b=&quot;2&quot;">…</a></p>'
    )


def test_a_feed_goes_on_page_by_page_to_its_end(browser: httpx.Client) -> None:
    url, seen = "/search.atom?limit=1", []
    while url:
        feed = feedparser.parse(browser.get(url).content)
        seen += [entry.id for entry in feed.entries]
        url = next((link.href for link in feed.feed.links if link.rel == "next"), "")
        assert len(seen) <= 4
    whole = browser.get("/search.feed.json").json()
    assert seen == [item["id"] for item in whole["items"]]
    assert (len(set(seen)), "next_url" in whole) == (len(seen), False)


def test_a_json_feed_has_absolute_addresses_and_the_same_ids_as_atom(
    browser: httpx.Client, site: str
) -> None:
    feed = browser.get("/search.feed.json?q=bus&mode=keyword&limit=2").json()
    assert (feed["version"], feed["feed_url"]) == (
        "https://jsonfeed.org/version/1.1",
        f"{site}/search.feed.json?limit=2&q=bus&mode=keyword&sort=date",
    )
    assert feed["next_url"].startswith(f"{site}/search.feed.json?")
    atom = feedparser.parse(
        browser.get("/search.atom?q=bus&mode=keyword&limit=2").content
    )
    assert [item["id"] for item in feed["items"]] == [
        entry.id for entry in atom.entries
    ]
    assert all(
        item["id"].startswith("urn:uuid:") and item["date_published"]
        for item in feed["items"]
    )


@pytest.mark.parametrize(
    "path",
    [
        "/search",
        "/search.atom",
        "/search.feed.json?q=bus",
        "/api/v1/search",
        "/articles/a-1",
    ],
)
def test_a_client_that_has_an_answer_is_told_so(
    browser: httpx.Client, path: str
) -> None:
    first = browser.get(path)
    again = browser.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content, again.headers["etag"]) == (
        304,
        b"",
        first.headers["etag"],
    )
    assert browser.get(path, headers={"If-None-Match": '"another"'}).text == first.text


def test_a_compressed_answer_and_a_plain_one_come_from_one_cache(
    browser: httpx.Client,
) -> None:
    for encoding in ("gzip", "identity", "gzip"):
        answer = browser.get("/search?q=bus", headers={"Accept-Encoding": encoding})
        assert (
            answer.headers.get("content-encoding", "identity"),
            "<html" in answer.text,
        ) == (encoding, True)


def test_a_table_for_spreadsheets_has_no_formulas(browser: httpx.Client) -> None:
    [rows] = sheets_of(
        io.BytesIO(browser.get("/search.xlsx?q=bus&mode=keyword").content)
    )
    header = [name for _, name in rows[0]]
    assert sorted(row[header.index("title")][1] for row in rows[1:]) == [
        "'=Bus 4 < 5 & more",
        "Bus",
        "Bus",
    ]


def test_a_list_without_items_still_names_its_columns(browser: httpx.Client) -> None:
    assert browser.get("/operations/failures.csv?desk=none").text.startswith(
        "stage,article_id,desk,agency,day"
    )


def test_the_coverage_is_no_feed_and_says_what_it_is(browser: httpx.Client) -> None:
    refused = browser.get("/operations.atom")
    assert (refused.status_code, refused.json()["detail"]) == (
        404,
        "/operations has no such form; it has .json, .csv, .xlsx",
    )
    assert browser.get("/operations.csv").text.splitlines()[1:] != []


def test_saved_queries_are_a_list_of_feeds_that_can_be_imported(
    browser: httpx.Client, site: str
) -> None:
    [row] = parse_opml(browser.get("/queries.opml").text).rows
    assert (row.name, row.url.startswith(f"{site}/search.atom?")) == (
        "Buses and trams",
        True,
    )
    assert len(feedparser.parse(browser.get(row.url).content).entries) == 3
    assert (
        escape(row.url.replace(f"{site}/search.atom", "/search"))
        in browser.get("/queries").text
    )


def test_a_page_names_its_other_forms(browser: httpx.Client) -> None:
    page = browser.get("/search?q=bus").text
    assert (
        f'<link rel="alternate" type="{ATOM}" title="Atom" href="/search.atom?q=bus">'
        in page
    )
