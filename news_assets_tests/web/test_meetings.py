"""Meetings and matters as pages, feeds and calendars, from the real server."""

import csv
import io
from collections.abc import Iterator

import feedparser
import httpx
import icalendar
import pytest

from news_assets_tests.support.stored_meeting import ITEM
from news_assets_tests.web.test_pages import links_of, text_of

NEXT, PAST, CANCELLED = (f"springfieldIL/primegov/{number}" for number in (7, 6, 8))
PERSON = "/persons/cities/springfieldIL/alder-lee"
MATTER = f"/matters/cities/springfieldIL/{ITEM.matter}"


@pytest.fixture
def visitor(council: str) -> Iterator[httpx.Client]:
    """A client of the server with meetings that asks for pages as a browser does."""
    with httpx.Client(
        base_url=council, headers={"Accept": "text/html,*/*;q=0.8"}
    ) as client:
        yield client


@pytest.mark.parametrize(
    "path",
    [
        "/meetings",
        f"/meetings/{NEXT}",
        f"/meetings/{CANCELLED}",
        MATTER,
        PERSON,
        "/articles/a-1",
        "/articles/news-1",
        "/laws/PUBLIC%20LAW%20117-58",
    ],
)
def test_a_page_is_shown_and_all_its_own_links_lead_somewhere(
    visitor: httpx.Client, statuses: dict[str, int], path: str
) -> None:
    answer = visitor.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (
        200,
        "text/html; charset=utf-8",
    )
    own = {link for link in links_of(answer.text) if link.startswith("/")}
    for link in own - statuses.keys():
        statuses[link] = visitor.get(link, follow_redirects=True).status_code
    assert {link: statuses[link] for link in own} == dict.fromkeys(own, 200)


def test_meetings_to_come_are_first_and_past_ones_follow_also_part_by_part(
    visitor: httpx.Client,
) -> None:
    cursor, seen = "", []
    while cursor is not None and len(seen) <= 3:
        answer = visitor.get(
            "/meetings.json", params={"limit": 1, "cursor": cursor}
        ).json()
        seen += [one["meeting_id"] for one in answer["items"]]
        cursor = answer["next"]
    assert seen == [NEXT, CANCELLED, PAST]
    page = text_of(visitor.get("/meetings").text)
    assert (
        page.index("Meetings to come")
        < page.index("Parks Board")
        < page.index("Past meetings")
    )


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("body=parks", [CANCELLED]),
        ("status=passed", [PAST]),
        ("agency=springfieldIL&status=confirmed", [NEXT]),
        ("agency=shelbyvilleIL", []),
        ("desk=none", []),
        ("topic=zoning&status=passed", [PAST]),
        ("topic=police", []),
        ("q=unheard-of", []),
        ("to=2020-01-01", []),
    ],
)
def test_filters_narrow_the_list(
    visitor: httpx.Client, query: str, found: list[str]
) -> None:
    assert [
        one["meeting_id"]
        for one in visitor.get(f"/meetings.json?{query}").json()["items"]
    ] == found


def test_a_wrong_status_or_cursor_is_an_error_that_names_it(
    visitor: httpx.Client,
) -> None:
    assert (
        "status=held: input should be 'confirmed'"
        in visitor.get("/api/v1/meetings?status=held").json()["detail"]
    )
    wrong = visitor.get("/api/v1/meetings?cursor=WyJ0b2RheSIsMSwxLCJ4Il0=")
    assert (wrong.status_code, "take it from `next`" in wrong.json()["detail"]) == (
        400,
        True,
    )


def test_times_are_in_the_zone_of_the_city(visitor: httpx.Client) -> None:
    found = visitor.get(f"/api/v1/meetings/{NEXT}").json()["meeting"]
    assert found["timezone"] == "America/Chicago"
    assert found["starts_at"][-6:] in ("-06:00", "-05:00")
    assert any(
        zone in visitor.get(f"/meetings/{NEXT}").text for zone in (" CST", " CDT")
    )


def test_a_meeting_shows_its_agenda_documents_and_how_to_take_part(
    visitor: httpx.Client,
) -> None:
    page = text_of(visitor.get(f"/meetings/{NEXT}").text)
    for shown in (
        "Status confirmed",
        "Council Chamber, 300 S 7th St",
        "email (comment) : clerk@springfield.gov",
        "1 Roll call procedural: &#34;roll call&#34;",
        "Public hearings 2.A Ordinance rezoning",
        "Housing",
        "Staff report ok, pages: 3",
        "Map waiting",
    ):
        assert shown.replace(") :", "):") in page.replace(") :", "):"), shown


def test_a_long_agenda_is_shown_part_by_part(visitor: httpx.Client) -> None:
    first = visitor.get(f"/meetings/{NEXT}?limit=1").text
    [following] = [link for link in links_of(first) if "cursor=" in link]
    assert "Items 1 to 1 of 2" in text_of(first)
    assert "Items 2 to 2 of 2" in text_of(
        visitor.get(following.replace("&amp;", "&")).text
    )


def test_a_cancelled_meeting_says_so_and_why_and_its_texts_are_only_text(
    visitor: httpx.Client,
) -> None:
    answer = visitor.get(f"/meetings/{CANCELLED}").text
    assert "This meeting is cancelled. two listings lack it" in text_of(answer)
    assert "4 &lt; 5" in answer
    assert [link for link in links_of(answer) if link.startswith("javascript")] == []


def test_a_matter_shows_its_meetings_by_day_with_votes(visitor: httpx.Client) -> None:
    found = visitor.get(f"/api/v1{MATTER}").json()["appearances"]
    assert [one["meeting"]["meeting_id"] for one in found] == [PAST, NEXT, CANCELLED]
    assert "Votes: Alder Lee aye" in text_of(visitor.get(MATTER).text)


def test_places_topics_and_addresses_are_links(visitor: httpx.Client) -> None:
    links = links_of(visitor.get(f"/meetings/{NEXT}").text)
    assert {"mailto:clerk@springfield.gov", "/meetings?topic=housing"} <= set(links)
    assert "https://www.openstreetmap.org/search?query=300%20S%207th%20St" in links


def test_a_search_by_topic_is_a_calendar_and_a_feed(visitor: httpx.Client) -> None:
    calendar = icalendar.Calendar.from_ical(
        visitor.get("/meetings.ics?topic=zoning&status=confirmed").content
    )
    assert [str(event["UID"]) for event in calendar.walk("VEVENT")] == [NEXT]
    feed = feedparser.parse(
        visitor.get("/meetings.atom?topic=zoning&status=confirmed").content
    )
    assert (feed.feed.title, len(feed.entries)) == ("Meetings: zoning", 1)


def test_an_item_shows_what_was_decided_and_what_the_minutes_say(
    visitor: httpx.Client,
) -> None:
    page = text_of(visitor.get(f"/meetings/{PAST}").text)
    assert "Decision: adopted · Pass · moved by Alder Lee" in page
    assert "Minutes: Motion carried 5-0." in page


def test_a_person_has_a_page_with_the_votes_also_in_the_api(
    visitor: httpx.Client,
) -> None:
    found = visitor.get(f"/api/v1{PERSON}").json()
    assert (
        found["name"],
        [(vote["meeting_id"], vote["value"]) for vote in found["votes"]],
    ) == (
        "Alder Lee",
        [(PAST, "aye")],
    )
    page = text_of(visitor.get(PERSON).text)
    assert f"{ITEM.title} aye · adopted · Pass · 26-101" in page
    assert [
        visitor.get(f"{start}/persons/cities/springfieldIL/nobody").status_code
        for start in ("", "/api/v1")
    ] == [
        404,
        404,
    ]


def test_a_matter_of_another_desk_with_the_same_agency_and_key_has_an_address_of_its_own(
    visitor: httpx.Client,
) -> None:
    other = MATTER.replace("/cities/", "/towns/")
    titles = [
        visitor.get(f"/api/v1{path}").json()["matter"]["title"]
        for path in (MATTER, other)
    ]
    assert titles == [ITEM.title, "Of another desk"]
    assert "Of another desk" in visitor.get(other).text


def test_an_article_of_an_agenda_item_links_to_its_meeting_and_matter(
    visitor: httpx.Client,
) -> None:
    assert {f"/meetings/{NEXT}", "/matters/cities/springfieldIL/file%3A26-101"} <= set(
        links_of(visitor.get("/articles/a-1").text)
    )


@pytest.mark.parametrize(
    "path",
    [
        "/meetings/nowhere/primegov/1",
        "/matters/cities/springfieldIL/file:0",
        "/matters/x",
    ],
)
def test_an_unknown_meeting_or_matter_is_not_found(
    visitor: httpx.Client, path: str
) -> None:
    assert [
        visitor.get(path).status_code,
        visitor.get(f"/api/v1{path}").status_code,
    ] == [404, 404]


def test_the_calendar_has_the_meetings_of_the_list_by_suffix_and_by_accept(
    visitor: httpx.Client,
) -> None:
    answer = visitor.get("/meetings.ics?agency=springfieldIL")
    by_accept = visitor.get(
        "/meetings?agency=springfieldIL", headers={"Accept": "text/calendar"}
    )
    assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
    assert by_accept.content == answer.content
    events = icalendar.Calendar.from_ical(answer.content).walk("VEVENT")
    assert {str(one["UID"]): str(one["STATUS"]) for one in events} == {
        NEXT: "CONFIRMED",
        CANCELLED: "CANCELLED",
        PAST: "CONFIRMED",
    }
    [event] = icalendar.Calendar.from_ical(
        visitor.get(f"/meetings/{NEXT}.ics").content
    ).walk("VEVENT")
    assert event["DTSTART"].params["TZID"] == "America/Chicago"
    assert "2.A Ordinance rezoning" in str(event["DESCRIPTION"])


def test_the_list_is_a_feed_and_a_table_without_formulas(visitor: httpx.Client) -> None:
    titles = [
        one.title
        for one in feedparser.parse(visitor.get("/meetings.atom").content).entries
    ]
    assert [title.startswith("Cancelled: ") for title in titles] == [False, True, False]
    rows = list(csv.DictReader(io.StringIO(visitor.get("/meetings.csv").text)))
    assert rows[1]["title"].startswith("'=")


def test_only_lists_of_meetings_are_calendars_and_only_archives_with_meetings_name_them(
    visitor: httpx.Client, browser: httpx.Client
) -> None:
    assert browser.get("/search.ics").status_code == 404
    assert [
        "/meetings" in links_of(client.get("/search").text)
        for client in (visitor, browser)
    ] == [True, False]


def test_news_is_shown_on_matter_and_meeting_with_its_passage_and_links_back(
    visitor: httpx.Client,
) -> None:
    for page in (MATTER, f"/meetings/{NEXT}"):
        shown = visitor.get(page).text
        assert '<a href="/articles/news-1">Homes</a>' in shown
        assert "Ordinance 26-101 follows Public Law 117-58 &amp; more" in shown
    article = visitor.get("/articles/news-1").text
    assert f'href="{MATTER.replace(":", "%3A")}"' in article
    assert "Public Law 117-58</a>" in article
    assert "Reports on" not in visitor.get("/articles/a-1").text


def test_the_api_gives_the_news_of_a_matter_and_what_an_article_reports_on(
    visitor: httpx.Client,
) -> None:
    (news,) = visitor.get(f"/api/v1{MATTER}").json()["news"]
    article = visitor.get("/api/v1/articles/news-1").json()

    assert (news["article_id"], news["evidence"]) == ("news-1", "number")
    laws = [one["law"] for one in article["reports_on"]]
    assert laws == ["", "PUBLIC LAW 117-58"]
    assert visitor.get("/laws/LEI 14133/2021").status_code == 404
