"""Feeds of edits, themes and publishers, and where readers find their addresses."""

from datetime import UTC, datetime
from html import escape

import feedparser
import httpx
import pytest

from news_assets.desks.site_lists import parse_opml

ALL_DAYS = "days=36500"


def _times(entry: feedparser.FeedParserDict) -> tuple[datetime, datetime]:
    published = datetime(*entry.published_parsed[:6], tzinfo=UTC)
    return published, datetime(*entry.updated_parsed[:6], tzinfo=UTC)


def _edits(browser: httpx.Client, kind: str = "silent") -> list[dict[str, str]]:
    found: list[dict[str, str]] = browser.get(
        f"/changes.json?{ALL_DAYS}&kind={kind}"
    ).json()["items"]
    return found


def test_silent_edits_have_a_page_whose_links_show_the_changed_words(
    browser: httpx.Client,
) -> None:
    page = browser.get(f"/changes?{ALL_DAYS}").text
    [edit] = _edits(browser)
    number = round(datetime.fromisoformat(edit["replaced_at"]).timestamp() * 1e6)
    link = f"/articles/{edit['article_id']}/revisions/{number}"
    assert (edit["article_id"], edit["is_silent"]) == ("a-1", True)
    assert f'href="{link}"' in page
    assert "<ins>" in browser.get(link).text


def test_the_feed_of_silent_edits_is_valid_and_has_the_words_that_changed(
    browser: httpx.Client,
) -> None:
    feed = feedparser.parse(browser.get(f"/changes.atom?{ALL_DAYS}").content)
    [entry] = feed.entries
    [edit] = _edits(browser)
    replaced_at = datetime.fromisoformat(edit["replaced_at"]).replace(microsecond=0)
    assert (feed.bozo, feed.version, _times(entry)) == (
        False,
        "atom10",
        (replaced_at, replaced_at),
    )
    assert "<ins>Winter" in entry.content[0].value
    assert entry.summary == "The publisher changed the text without saying so."


def test_only_edits_of_the_last_days_are_listed_and_only_of_a_publisher(
    browser: httpx.Client,
) -> None:
    assert len(_edits(browser, "all")) == 1
    assert browser.get("/api/v1/edits?agency=b").json()["items"] == []
    refused = browser.get("/api/v1/edits?days=0")
    assert (refused.status_code, refused.json()["detail"][:6]) == (400, "days=0")


def test_an_article_in_a_feed_changes_its_time_with_its_text_only(
    browser: httpx.Client,
) -> None:
    feed = feedparser.parse(browser.get("/search.atom?agency=a").content)
    times = {entry.links[1].href[-3:]: _times(entry) for entry in feed.entries}
    [edit] = _edits(browser)
    replaced_at = datetime.fromisoformat(edit["replaced_at"]).replace(microsecond=0)
    assert times["a-1"][1] == replaced_at
    assert times["a-2"][0] == times["a-2"][1]


@pytest.mark.parametrize(
    "path", ["/search?q=bus", "/publishers/d/a", f"/changes?{ALL_DAYS}"]
)
def test_a_page_has_the_address_of_its_feed_to_copy_and_in_its_head(
    browser: httpx.Client, site: str, path: str
) -> None:
    page = browser.get(path).text
    for suffix, media_type in ((".atom", "atom+xml"), (".feed.json", "feed+json")):
        [address] = [
            part.partition('"')[0]
            for part in page.split(f'<input readonly value="{site}')
            if suffix in part.partition('"')[0]
        ]
        assert f'type="application/{media_type}"' in page
        assert f'href="{address}"' in page
        found = feedparser.parse(site + address.replace("&amp;", "&"))
        assert found.entries or suffix == ".feed.json"


@pytest.mark.parametrize(
    ("path", "count"),
    [
        ("/matters/cities/springfieldIL/file:26-101", 4),
        ("/laws/PUBLIC%20LAW%20117-58", 1),
        ("/persons/cities/springfieldIL/alder-lee", 1),
        ("/meetings", 3),
    ],
)
def test_matters_persons_and_meetings_have_feeds_whose_times_stay(
    council: str, path: str, count: int
) -> None:
    page = httpx.get(council + path, headers={"Accept": "text/html"}).text
    assert f'value="{council}{path}.atom"' in page
    first, again = (feedparser.parse(f"{council}{path}.atom") for _ in range(2))
    assert (first.bozo, len(first.entries)) == (False, count)
    assert len({entry.id for entry in first.entries}) == count
    times = [(entry.id, *_times(entry)) for entry in first.entries]
    assert times == [(entry.id, *_times(entry)) for entry in again.entries]
    items = httpx.get(f"{council}{path}.feed.json").json()["items"]
    assert [item["id"] for item in items] == [entry.id for entry in first.entries]


def test_feeds_have_an_icon(browser: httpx.Client, site: str) -> None:
    icon = f"{site}/static/favicon.svg"
    atom = feedparser.parse(browser.get("/search.atom").content)
    json_feed = browser.get("/search.feed.json").json()
    assert (atom.feed.icon, json_feed["icon"], json_feed["favicon"]) == (icon,) * 3
    assert browser.get(icon).headers["content-type"] == "image/svg+xml"


def test_feeds_of_lists_themes_and_saved_queries_can_be_imported(
    browser: httpx.Client, site: str
) -> None:
    rows = parse_opml(browser.get("/feeds.opml").text).rows
    names = [row.name for row in rows]
    assert names[:3] == ["Newest articles", "Stories", "Silently edited"]
    assert names[-1] == "Buses and trams"
    page = browser.get("/feeds").text
    for row in rows[:-1]:
        assert escape(row.url.removeprefix(site)) in page
        assert feedparser.parse(browser.get(row.url).content).version == "atom10"
