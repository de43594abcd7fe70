"""The list and the pages of stories, and the way to them."""

import re

import feedparser
import httpx
import pytest

from news_assets.pipeline.stories.loaded import story_id_of
from news_assets_tests.support.small_desk import TODAY

STORY = story_id_of(TODAY, "a-1")
DAY = {"day": TODAY.isoformat(), "publishers": "1"}


def test_a_story_names_its_publishers_in_order_and_who_only_copied(
    browser: httpx.Client,
) -> None:
    page = browser.get(f"/stories/{STORY}").text

    assert page.index("/articles/a-1") < page.index("/articles/b-1c")
    assert page.count("<strong>only copied</strong>") == 1
    assert "/publishers/d/a" in page
    assert "/publishers/d/b" in page


def test_an_article_links_to_its_story(browser: httpx.Client) -> None:
    assert f'href="/stories/{STORY}"' in browser.get("/articles/b-1c").text


def test_a_story_is_json_too_and_an_unknown_one_is_not_found(
    browser: httpx.Client,
) -> None:
    found = browser.get(f"/stories/{STORY}.json").json()

    assert found["story"]["story_id"] == STORY
    assert {"a-1", "b-1c"} <= {row["article_id"] for row in found["articles"]}
    assert browser.get("/stories/2026-01-01-none").status_code == 404
    assert browser.get("/api/v1/stories/2026-01-01-none").status_code == 404


def test_the_list_of_stories_has_filters_a_feed_and_a_table(
    browser: httpx.Client,
) -> None:
    found = browser.get("/stories.json", params=DAY).json()["items"]
    feed = feedparser.parse(browser.get("/stories.atom", params=DAY).content)
    table = browser.get("/stories.csv", params=DAY).text

    assert [row["story_id"] for row in found] == [STORY]
    assert [entry.link.rpartition("/")[2] for entry in feed.entries] == [STORY]
    assert feed.entries[0].summary == "Câmara a, Câmara b"
    assert STORY in table
    assert f'href="/stories/{STORY}"' in browser.get("/stories", params=DAY).text


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({"q": "bus"}, 1),
        ({"q": "volcano"}, 0),
        ({"publishers": "2"}, 0),
        ({"agency": "b"}, 1),
        ({"desk": "other"}, 0),
        ({"name": "place/nowhere"}, 0),
    ],
)
def test_the_list_of_stories_is_narrowed_by_words_publishers_and_their_number(
    browser: httpx.Client, filters: dict[str, str], count: int
) -> None:
    found = browser.get("/api/v1/stories", params={**DAY, **filters}).json()

    assert len(found["items"]) == count


def test_the_navigation_and_the_page_of_feeds_lead_to_stories(
    browser: httpx.Client,
) -> None:
    assert '<a href="/stories">Stories</a>' in browser.get("/about").text
    assert "/stories.atom" in browser.get("/feeds").text


def test_a_briefing_quotes_stories_as_markdown_and_json(browser: httpx.Client) -> None:
    found = browser.get("/api/v1/briefing", params={"day": DAY["day"], "q": "bus"})
    text = browser.get("/briefing.md", params={"day": DAY["day"], "q": "bus"})

    (story,) = [one for one in found.json()["stories"] if one["story_id"] == STORY]
    (quote, *_) = story["quotes"]
    assert (quote["publisher"], quote["url"]) == ("Câmara a", "https://example.org/1")
    assert f"{quote['sentence']} [Câmara a: " in text.text
    assert text.headers["content-type"] == "text/markdown; charset=utf-8"
    assert browser.get("/briefing.md", params={"days": "0"}).status_code == 400


def test_a_storys_page_has_its_edits_in_the_timeline(browser: httpx.Client) -> None:
    page = browser.get(f"/stories/{STORY}").text

    assert re.search(r"/articles/a-1/revisions/[0-9]+", page)
    assert "changed its text silently" in page


def test_the_feed_of_a_story_has_its_articles_and_their_edits(
    browser: httpx.Client,
) -> None:
    feed = feedparser.parse(browser.get(f"/stories/{STORY}.atom").content)
    links = {entry.link for entry in feed.entries}

    assert "https://example.org/1" in links
    assert any("/articles/a-1/revisions/" in link for link in links)
    assert f"/stories/{STORY}.atom" in browser.get(f"/stories/{STORY}").text


def test_a_search_has_each_story_once_if_that_is_wanted(browser: httpx.Client) -> None:
    words = {"q": "bus", "mode": "keyword"}
    every = browser.get("/api/v1/search", params=words).json()
    once = browser.get("/api/v1/search", params=words | {"stories": "true"}).json()
    page = browser.get("/search", params=words | {"stories": "true"}).text

    (story,) = once["stories"].values()
    kept = [hit["article_id"] for hit in once["items"]]
    others = [hit["article_id"] for hit in story["others"]]
    assert story["story_id"] == STORY
    assert others != []
    assert sorted(kept + others) == sorted(hit["article_id"] for hit in every["items"])
    assert (every["stories"], every["found"]) == ({}, once["found"])
    assert f'href="/stories/{STORY}"' in page
    assert "checked> each story once" in page
