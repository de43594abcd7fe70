"""Status, places, roles of links, and ids.

Whether 200 titles say that their meeting is cancelled; one in three was set aside
while the rules were written.
"""

from dataclasses import replace
from datetime import date, time
from pathlib import Path
from typing import Any

import pytest

from news_assets.records.meetings import AgendaItem, Link, Location, Meeting
from news_assets.sources.civic.identity import item_id, meeting_id, owner_of
from news_assets.sources.civic.moments import Moment
from news_assets.sources.civic.vendor_meetings import (
    location_of,
    meeting_of,
    says_cancelled,
)
from news_assets_tests.sources.civic.answers import context, local

TODAY = date(2026, 3, 10)
START = Moment(TODAY, time(19))
WORDS = ("start", "end", "status_words", "is_final")


def built(**changes: Any) -> Meeting:
    """Return the council's meeting with other values or words of the vendor."""
    words = {name: changes.pop(name) for name in WORDS if name in changes}
    stated = replace(Meeting(vendor_id="7", title="City Council"), **changes)
    return meeting_of(stated, context(), **{"start": START, **words})


def status(**changes: object) -> str:
    return built(**changes).status


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "tentative"),
        ({"is_final": True}, "confirmed"),
        ({"links": (Link(title="Agenda", href="https://a.org/1"),)}, "tentative"),
        ({"start": Moment(TODAY, time(11))}, "passed"),
        (
            {"start": Moment(TODAY, time(11)), "end": Moment(TODAY, time(13))},
            "tentative",
        ),
        ({"start": Moment(TODAY)}, "tentative"),
        ({"start": Moment(date(2026, 3, 9))}, "passed"),
        ({"start": None}, "tentative"),
        ({"title": "City Council - CANCELED"}, "cancelled"),
        ({"title": "City Council", "status_words": ["Cancelled"]}, "cancelled"),
        (
            {"links": (Link(title="Notice of Cancellation", href="https://a.org/1"),)},
            "cancelled",
        ),
        (
            {"start": Moment(date(2026, 3, 1)), "title": "Postponed: Planning"},
            "cancelled",
        ),
        ({"title": "Rescheduled from May 2"}, "tentative"),
        ({"title": "Planning - Rescheduled"}, "cancelled"),
        ({"title": "Special Meeting (not cancelled)"}, "tentative"),
        (
            {"comment": "The meeting has been cancelled for lack of a quorum."},
            "cancelled",
        ),
        ({"comment": "CANCELLED"}, "cancelled"),
        (
            {
                "comment": "Report on cancelled contracts, and on recess programs in schools."
            },
            "tentative",
        ),
        ({"title": "Recession Task Force"}, "tentative"),
    ],
)
def test_the_status_follows_the_words_of_the_vendor_and_the_time(
    changes: dict[str, object], expected: str
) -> None:
    assert status(**changes) == expected


def test_a_meeting_keeps_its_local_hour_through_the_change_to_summer_time() -> None:
    meeting = built(start=Moment(date(2026, 3, 7), time(19)))
    later = built(start=Moment(date(2026, 3, 9), time(19)))
    assert (local(meeting), local(later)) == (
        "2026-03-07T19:00:00-06:00",
        "2026-03-09T19:00:00-05:00",
    )


def test_an_end_before_the_begin_is_none() -> None:
    assert built(end=Moment(TODAY, time(7))).ends_at is None


def test_links_get_their_roles_by_their_titles() -> None:
    titles = (
        "Agenda Cover Page",
        "Agenda",
        "Agenda Packet",
        "Minutes",
        "Video (MP4)",
        "Video",
    )
    links = tuple(
        Link(title=title, href=f"https://a.org/{number}")
        for number, title in enumerate(titles)
    )
    meeting = built(links=links)
    found = (
        meeting.agenda_url,
        meeting.packet_url,
        meeting.minutes_url,
        meeting.video_url,
    )
    assert found == (
        "https://a.org/1",
        "https://a.org/2",
        "https://a.org/3",
        "https://a.org/5",
    )


@pytest.mark.parametrize(
    ("text", "name", "address"),
    [
        ("Town Council Room - 12 Oak Street, Springfield, IL", "Town Council Room", "12 Oak Street, Springfield, IL"),
        ("City Hall, 1 Main St, Springfield, IL 62701", "City Hall", "1 Main St, Springfield, IL 62701"),
        ("Council Chambers 12 Oak Street Springfield, IL 62701", "", "Council Chambers 12 Oak Street Springfield, IL 62701"),
        ("Town Hall, Wing B, Small Meeting Room #7", "Town Hall, Wing B, Small Meeting Room #7", ""),
        ("Great Hall -- Town House -- Springfield, Illinois", "Great Hall -- Town House -- Springfield, Illinois", ""),
        ("Virtual Via Zoom", "Virtual Via Zoom", ""),
        ("", "", ""),
    ],
)  # fmt: skip
def test_a_place_is_told_apart_where_a_street_number_follows(
    text: str, name: str, address: str
) -> None:
    assert location_of(text) == Location(name=name, address=address)


def test_ids_do_not_change_with_title_and_time() -> None:
    meeting = built()
    moved = built(title="Council", start=Moment(date(2026, 5, 1)))
    assert meeting_id("paloaltoCA", "primegov", meeting) == meeting_id(
        "paloaltoCA", "primegov", moved
    )
    assert meeting_id("paloaltoCA", "primegov", meeting) == "paloaltoCA/primegov/7"


def test_an_id_that_is_no_word_is_hashed_and_ids_of_items_are_within_their_meeting() -> (
    None
):
    odd = meeting_id("a", "icalendar", Meeting(vendor_id="<b>1@x.org</b>"))
    assert odd.startswith("a/icalendar/")
    assert len(odd) == len("a/icalendar/") + 16
    assert (
        item_id(odd, AgendaItem(sequence=3, title="x", vendor_id="99")) == f"{odd}/99"
    )
    assert item_id(odd, AgendaItem(sequence=3, title="x")) == item_id(
        odd, AgendaItem(sequence=9, title="X")
    )


@pytest.mark.parametrize(
    ("url", "owner"),
    [
        ("https://webapi.legistar.com/v1/Seattle/events?$top=1", "seattle"),
        ("https://meetings.municode.com/PublishPage?cid=SPRINGFIELD", "springfield"),
        (
            "https://pub-springfield.escribemeetings.com/x",
            "pub-springfield.escribemeetings.com",
        ),
    ],
)
def test_clients_that_share_a_host_are_told_apart(url: str, owner: str) -> None:
    assert owner_of(url) == owner


# --- status ---------------------------------------------------------------------------

TITLES = Path(__file__).parent / "data" / "titles_with_status.tsv"


def test_a_word_in_a_title_cancels_a_meeting_only_if_it_is_said_of_the_meeting() -> (
    None
):
    rows = [line.split("\t") for line in TITLES.read_text("utf-8").splitlines()]
    wrong = [
        title
        for status, title in rows
        if says_cancelled(title) != (status == "cancelled")
    ]
    assert len(rows) == 200
    assert wrong == []


@pytest.mark.parametrize(
    ("title", "is_cancelled"),
    [
        ("City Council Regular Meeting - Winter Recess", True),
        ("Board of Health will not meet in December", True),
        ("No meeting in December - Board of Health", True),
        ("Sesión del 9 de diciembre cancelada", True),
        ("Rescheduled: City Council, now December 9 at 6 PM", False),
        ("Policy on a commission that will not be held liable", False),
        ("Committee on Cancelled Debts", False),
    ],
)
def test_other_forms_of_these_words(title: str, is_cancelled: bool) -> None:
    assert says_cancelled(title) is is_cancelled
