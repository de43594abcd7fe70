"""The morning page, its blocks and their feeds."""

from datetime import UTC, datetime, timedelta

import feedparser
import httpx
import pytest

from news_assets.pipeline.stories.loaded import story_id_of
from news_assets_tests.support.small_desk import TODAY
from news_assets_tests.web.test_pages import links_of

STORY = story_id_of(TODAY, "a-1")
DAY = {"day": TODAY.isoformat()}
MAX_BYTES = 60_000


def test_the_first_page_has_the_search_box_and_the_stories_of_the_day(
    browser: httpx.Client,
) -> None:
    page = browser.get("/", params=DAY)

    assert page.status_code == 200
    assert page.text.index('name="q"') < page.text.index(f"/stories/{STORY}")
    assert len(page.content) < MAX_BYTES
    assert 'href="/days/2026-11-20"' in page.text


def test_without_stories_it_has_the_newest_articles(browser: httpx.Client) -> None:
    """All articles and stories of this archive are older than two days."""
    today = browser.get("/api/v1/morning").json()
    page = browser.get("/").text

    assert (today["stories"], len(today["newest"]) > 1) == ([], True)
    for one in today["newest"]:
        assert f'href="/articles/{one["article_id"]}"' in page
    assert browser.get("/api/v1/morning", params=DAY).json()["newest"] == []


def test_words_lead_to_the_search(browser: httpx.Client) -> None:
    answer = browser.get("/", params={"q": "bus", "mode": "keyword"})

    assert answer.status_code == 307
    assert answer.headers["location"] == "/search?q=bus&mode=keyword"


def test_the_same_blocks_are_json(browser: httpx.Client) -> None:
    found = browser.get("/api/v1/morning", params=DAY).json()
    other = browser.get("/", params=DAY, headers={"Accept": "application/json"}).json()

    assert [one["story"]["story_id"] for one in found["stories"]] == [STORY]
    assert found == other
    assert (found["is_today"], found["silences"]) == (False, [])


def test_every_block_links_to_its_list_and_its_feed(browser: httpx.Client) -> None:
    page = browser.get("/", params=DAY).text
    feeds = {link for link in links_of(page) if ".atom" in link}

    assert "/stories.atom?day=2026-11-20&days=1" in {
        link.replace("&amp;", "&") for link in feeds
    }
    for link in feeds:
        answer = browser.get(link)
        assert (answer.status_code, feedparser.parse(answer.content).bozo) == (200, 0)


def test_a_cookie_keeps_when_the_visit_before_ended(browser: httpx.Client) -> None:
    first = browser.get("/").headers["set-cookie"]
    ended = int((datetime.now(UTC) - timedelta(hours=5)).timestamp())
    later = browser.get("/", headers={"Cookie": f"news_visit=0.{ended}"})
    again = browser.get("/", headers={"Cookie": f"news_visit={ended}.{ended + 17_900}"})

    assert first.startswith("news_visit=0.")
    assert later.headers["set-cookie"].startswith(f"news_visit={ended}.")
    assert again.headers["set-cookie"].startswith(f"news_visit={ended}.")
    assert "HttpOnly" in first
    assert "SameSite=Lax" in first


@pytest.mark.parametrize("cookie", ["x", "1", "-1.5", "1.x", "٣.٣", f"{'9' * 40}.1"])
def test_a_cookie_that_this_server_did_not_make_counts_as_a_first_visit(
    browser: httpx.Client, cookie: str
) -> None:
    header = f"news_visit={cookie}".encode()
    answer = browser.get("/", headers={b"Cookie": header})  # type: ignore[dict-item]

    assert answer.status_code == 200
    assert answer.headers["set-cookie"].startswith("news_visit=0.")


def test_silent_publishers_are_a_list_with_a_feed(browser: httpx.Client) -> None:
    assert browser.get("/silences").status_code == 200
    assert browser.get("/api/v1/silences").json() == {"items": [], "next": None}
    assert feedparser.parse(browser.get("/silences.atom").content).feed.title


def test_the_next_meetings_are_on_the_page_of_a_council(council: str) -> None:
    found = httpx.get(f"{council}/api/v1/morning").json()["meetings"]

    assert [one["meeting_id"][-1] for one in found] == ["7", "8"]
