"""The page of an article: what it says at a glance, its versions to cite, links to searches, and
the way back to the search that led to it.
"""

import hashlib
import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from news_assets.web.article_views import begins_with, search_of
from news_assets.web.parameters import ArticleAddress
from news_assets_tests.web.test_pages import links_of, text_of

TEXT = "The council **kept** the bus line.\n\nIt was a long debate on [money](https://x.example)."


def test_a_strip_names_the_first_publisher_how_many_there_are_and_the_edits(
    browser: httpx.Client,
) -> None:
    page = browser.get("/articles/a-1").text
    strip = page.partition('class="strip"')[2].partition("</ul>")[0]
    for anchor, text in (
        ("#copies", "first published by Câmara a"),
        ("#copies", "2 publishers"),
        ("#revisions", "edited once, silently"),
    ):
        assert f'<a href="{anchor}">{text}</a>' in strip
        assert f'id="{anchor[1:]}"' in page
    assert re.search(r"\d+ min to read", text_of(strip))
    alone = browser.get("/articles/a-4").text
    strip = alone.partition('class="strip"')[2].partition("</ul>")[0]
    assert "published" not in strip
    assert "edited" not in strip


def test_each_version_has_an_address_that_leads_to_the_same_text(
    browser: httpx.Client,
) -> None:
    [cited] = re.findall(
        r'href="(/articles/a-1\?rev=\d+&amp;hash=\w{16})"',
        browser.get("/articles/a-1").text,
    )
    address = unescape(cited)
    page = browser.get(address)
    assert page.status_code == 200
    assert "the newest" in text_of(page.text)
    [text_address] = re.findall(r'"(/articles/a-1/text\?[^"]+)"', page.text)
    body = browser.get(unescape(text_address)).content
    digest = hashlib.sha256(body).hexdigest()
    assert f"SHA-256 {digest}" in page.text
    assert parse_qs(urlsplit(address).query)["hash"] == [digest[:16]]
    site = str(browser.base_url).rstrip("/")
    assert f"{site}{address}" in text_of(unescape(page.text))


def test_an_earlier_version_says_when_it_was_replaced_and_by_what(
    browser: httpx.Client,
) -> None:
    page = browser.get("/articles/a-1?rev=1").text
    assert "This is version 1. The publisher replaced it" in text_of(page)
    assert "Winter came early" not in page
    assert "Night and day" in page
    [changes] = re.findall(r'"(/articles/a-1/revisions/\d+)"', page)
    links = [unescape(one) for one in links_of(browser.get(changes).text)]
    before, after = [one for one in links if one.startswith("/articles/a-1?rev=")]
    assert "Night and day" in browser.get(before).text
    assert "Winter came early" in browser.get(after).text


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("rev=1&hash=0000", 404),
        ("rev=99", 404),
        ("hash=xyz", 400),
        ("rev=0", 400),
    ],
)
def test_a_version_that_is_not_stored_is_not_found(
    browser: httpx.Client, query: str, status: int
) -> None:
    assert browser.get(f"/articles/a-1?{query}").status_code == status


def test_a_hit_leads_to_its_article_and_back_to_the_search(
    browser: httpx.Client,
) -> None:
    hits = browser.get("/search?q=bus&mode=keyword&agency=a").text
    [link] = {one for one in links_of(hits) if one.startswith("/articles/a-1?")}
    article = browser.get(link).text
    assert (
        '<a rel="prev" href="/search?q=bus&amp;mode=keyword&amp;agency=a">' in article
    )
    assert "Back to the search" not in browser.get("/articles/a-1").text


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("q=bus&page=2", "/search?q=bus&page=2"),
        ("//attacker.test/?q=bus", "/search"),
        ("https://attacker.test/", "/search"),
        ("q=https://attacker.test", "/search?q=https%3A%2F%2Fattacker.test"),
        ("javascript:alert(1)", "/search"),
        ("page=0", ""),
        ("", ""),
    ],
)
def test_the_way_back_is_never_to_another_site(given: str, address: str) -> None:
    assert search_of(ArticleAddress(search=given)) == address


@pytest.mark.parametrize(
    ("lead", "is_repeated"),
    [
        ("The council kept the bus line.", True),
        ("The COUNCIL kept the bus line", True),
        ("The council kept the bus line. It was a long debate on money.", True),
        ("The council kept the bus line! It was a very long debate on money", True),
        ("It was a long debate on money.", False),
        ("Fares rise in May.", False),
        ("", False),
    ],
)
def test_a_lead_that_the_text_begins_with_is_not_shown_twice(
    lead: str, is_repeated: bool
) -> None:
    assert begins_with(TEXT, lead) == is_repeated


def test_facts_lead_to_searches_with_that_filter(browser: httpx.Client) -> None:
    links = links_of(browser.get("/articles/a-1").text)
    assert "/search?language=en" in links
