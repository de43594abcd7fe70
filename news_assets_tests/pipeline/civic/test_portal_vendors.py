"""CivicWeb, BoardDocs, OnBase and the Archive Center through the graph: from HTTP
answers to a meeting's page.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from news_assets.clients.factory import open_index
from news_assets.pipeline.civic.item_rows import is_minutes
from news_assets.records.articles import RawArticle, SourceState
from news_assets.records.meetings import StoredItem, StoredMeeting
from news_assets.search import Index
from news_assets.store.lake import Lake
from news_assets.web.archive import Archive
from news_assets_tests.support.council_room import CouncilRoom
from news_assets_tests.support.portal_towns import (
    BUSES,
    DEPOT,
    MAP,
    NEW_REPORT,
    PORTALS,
    REPORT,
    SWEEPING,
)
from news_assets_tests.support.vendor_town import Town, serving
from news_assets_tests.web.conftest import served
from news_assets_tests.web.test_pages import text_of

# 18:00 in Springfield, in summer time
COUNCIL_AT = datetime(2026, 3, 10, 23, tzinfo=UTC)
WITH_FILES = ("boarddocs", "civicweb", "onbase")
WITH_MINUTES = ("civicengage", "civicweb", "onbase")
# two polls and their stages take some 3 s of CPU, for each vendor
MANY = pytest.mark.slow
OpenTown = Callable[[str], tuple[CouncilRoom, Town]]


@pytest.fixture
def open_town(lake: Lake, tmp_path: Path) -> Iterator[OpenTown]:
    with ExitStack() as stack:

        def opened(kind: str) -> tuple[CouncilRoom, Town]:
            path, answers = PORTALS[kind]
            town = Town(answers(1))
            base = stack.enter_context(serving(town))
            index = open_index("embedded", tmp_path / "search.sqlite", "")
            return CouncilRoom(lake, index, base + path, tmp_path, kind), town

        yield opened


def meeting_of(room: CouncilRoom, body: str, month: int = 3) -> StoredMeeting:
    [found] = [
        row
        for row in room.lake.read(StoredMeeting)
        if body in row.title and row.day and row.day.month == month
    ]
    return found


def agenda_items(room: CouncilRoom) -> list[StoredItem]:
    """Return the items of all agendas, without the rows that stand for minutes."""
    return [item for item in room.lake.read(StoredItem) if not is_minutes(item)]


def items_of(room: CouncilRoom, meeting: StoredMeeting) -> list[StoredItem]:
    return sorted(
        room.lake.read(StoredItem, meeting_id=[meeting.meeting_id]),
        key=lambda item: item.sequence,
    )


def text_about(room: CouncilRoom, title: str) -> str:
    [article] = [one for one in room.lake.read(RawArticle) if one.title == title]
    return " ".join((article.text or "").split())


def page_of(room: CouncilRoom, meeting: StoredMeeting) -> str:
    """Return the visible text of the meeting's page."""
    archive = Archive(
        Index(room.index, lambda: room.enricher, room.index.close),
        room.lake,
        [room.desk],
        {},
    )
    with (
        served(archive) as address,
        httpx.Client(base_url=address, headers={"Accept": "text/html"}) as visitor,
    ):
        return text_of(
            visitor.get(f"/meetings/{meeting.meeting_id}").raise_for_status().text
        )


@pytest.mark.parametrize("kind", PORTALS)
def test_a_council_is_read_to_the_page_of_its_meeting_with_what_minutes_decided(
    kind: str, open_town: OpenTown
) -> None:
    room, _ = open_town(kind)

    [poll] = room.poll()
    room.run("documents", "raw_articles")

    assert poll.outcome == "ok", poll.reason
    council = meeting_of(room, "City Council")
    assert (council.body, council.starts_at, council.is_all_day) == (
        "City Council",
        COUNCIL_AT,
        False,
    )
    found = {meeting_of(room, body).status for body in ("City Council", "Parks Board")}
    assert (found, meeting_of(room, "Planning Commission").status) == (
        {"tentative"},
        "cancelled",
    )
    assert meeting_of(room, "City Council", 2).status == "passed"
    items = items_of(room, council)
    assert [item.title for item in items] == ["Roll Call", BUSES, DEPOT]
    assert [item.number.rpartition(".")[2] for item in items] == ["1", "2", "3"]
    assert items[1].matter == "file:RES 2026-014"
    page = page_of(room, council)
    for shown in (
        BUSES,
        DEPOT,
        "RES 2026-014",
        "clerk@springfield.gov",
        "tentative",
        "18:00 CDT",
    ):
        assert shown in page, shown
    if kind in WITH_FILES:
        assert [item.attachment_names for item in items] == [
            (),
            ("Report",),
            ("Report", "Map"),
        ]
        assert REPORT in text_about(room, BUSES)
        assert f"{REPORT} ## Map {MAP}" in text_about(room, DEPOT)
        assert "Map ok" in page
    if kind in WITH_MINUTES:
        decided = items_of(room, meeting_of(room, "City Council", 2))[0]
        assert decided.decision == "RESULT: ADOPTED [5 TO 0]"


def test_a_meeting_that_only_its_agenda_cancels_stays_cancelled(
    open_town: OpenTown,
) -> None:
    room, town = open_town("onbase")
    agenda = (
        "/onbaseagendaonline/documents/viewagenda?meetingid=1&type=agenda&doctype=1"
    )
    heading = "<p>City Council</p>"
    cancelled = str(town.answers[agenda]).replace(
        heading, f"{heading}<p>MEETING CANCELLED</p>"
    )
    town.answers = {**town.answers, agenda: cancelled}

    room.poll()
    assert meeting_of(room, "City Council").status == "cancelled"

    room.poll(after=timedelta(minutes=30))
    assert meeting_of(room, "City Council").status == "cancelled"


@MANY
@pytest.mark.parametrize("kind", PORTALS)
def test_what_is_unchanged_is_not_read_again_and_what_is_revised_replaced_or_moved_arrives(
    kind: str, open_town: OpenTown
) -> None:
    room, town = open_town(kind)
    room.poll()
    room.run("documents", "raw_articles")
    _expect_nothing_read_again(room)
    before = {row.meeting_id for row in room.lake.read(StoredMeeting)}

    town.answers = PORTALS[kind][1](2)
    room.poll(after=timedelta(days=2))
    room.run("documents", "raw_articles")

    assert {row.meeting_id for row in room.lake.read(StoredMeeting)} == before
    parks = meeting_of(room, "Parks Board")
    assert (parks.day, parks.starts_at) == (
        date(2026, 3, 13),
        datetime(2026, 3, 13, 22, 30, tzinfo=UTC),
    )
    items = items_of(room, meeting_of(room, "City Council"))
    assert [item.title for item in items] == ["Roll Call", BUSES, DEPOT, SWEEPING]
    if kind in WITH_FILES:
        assert NEW_REPORT in text_about(room, BUSES)
        assert NEW_REPORT in text_about(room, DEPOT)


def _expect_nothing_read_again(room: CouncilRoom) -> None:
    before = (room.lake.read(StoredMeeting), agenda_items(room), room.documents_read)
    [poll] = room.poll(after=timedelta(minutes=30))
    room.run("documents", "raw_articles")
    assert (poll.new_count, poll.updated_count) == (0, 0)
    assert before == (
        room.lake.read(StoredMeeting),
        agenda_items(room),
        room.documents_read,
    )
    assert all(state.passed_at for state in room.lake.read(SourceState))


@MANY
@pytest.mark.parametrize(
    "status",
    [
        500,
        # test_civic_desk.py infers nothing from each status, with another vendor
        pytest.param(429, marks=pytest.mark.exhaustive),
        pytest.param(404, marks=pytest.mark.exhaustive),
    ],
)
@pytest.mark.parametrize("kind", PORTALS)
def test_a_refused_listing_changes_no_meeting(
    kind: str, status: int, open_town: OpenTown
) -> None:
    room, town = open_town(kind)
    room.poll()
    before = room.lake.read(StoredMeeting)

    town.statuses["/"] = status
    [poll] = room.poll(after=timedelta(days=1))

    assert poll.outcome != "ok"
    assert room.lake.read(StoredMeeting) == before


EMPTY = {
    "boarddocs": ("/il/springfield/board.nsf/bd-getmeetingslist", "[{}]"),
    "civicengage": (
        "/archive.aspx?amid=",
        "<html><body><h1>Archive Center</h1></body></html>",
    ),
    "civicweb": ("/services/meetingsservice.svc/meetings", "[]"),
    "onbase": (
        "/onbaseagendaonline/meetings/search",
        '<html><body><div id="meetings-list"></div></body></html>',
    ),
}


@MANY
@pytest.mark.parametrize("kind", PORTALS)
def test_an_empty_answer_cancels_nothing(kind: str, open_town: OpenTown) -> None:
    room, town = open_town(kind)
    room.poll()
    before = room.lake.read(StoredMeeting)

    start, empty = EMPTY[kind]
    town.answers |= {key: empty for key in town.answers if key.startswith(start)}
    polls = [room.poll(after=timedelta(minutes=30))[0] for _ in range(2)]

    assert [poll.reason and poll.reason.startswith("suspect") for poll in polls] == [
        True,
        True,
    ]
    assert room.lake.read(StoredMeeting) == before


@MANY
@pytest.mark.parametrize("kind", WITH_FILES)
def test_an_agenda_that_fails_is_requested_by_the_next_poll(
    kind: str, open_town: OpenTown
) -> None:
    room, town = open_town(kind)
    start = {
        "boarddocs": "/il/springfield/board.nsf/print-",
        "onbase": "/onbaseagendaonline/documents/",
    }
    town.statuses[start.get(kind, "/services/meetingsservice.svc/meetings/")] = 500
    room.poll()
    assert room.lake.read(StoredItem) == []

    town.statuses.clear()
    room.poll(after=timedelta(minutes=30))

    council = meeting_of(room, "City Council")
    assert [item.title for item in items_of(room, council)] == [
        "Roll Call",
        BUSES,
        DEPOT,
    ]
    assert json.loads(council.participation_json)
