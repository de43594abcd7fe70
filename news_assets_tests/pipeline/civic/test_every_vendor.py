"""Each civic vendor through a poll and the stages behind it: from the HTTP answers to
the article of an item.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from news_assets.clients.factory import open_index
from news_assets.records.articles import RawArticle, SourceState
from news_assets.records.councils import StoredVote
from news_assets.records.meetings import StoredItem, StoredMeeting
from news_assets.store.lake import Lake
from news_assets_tests.support.council_room import CouncilRoom
from news_assets_tests.support.vendor_town import (
    DECIDED_LEGISTAR,
    REPORT,
    TITLE,
    TOWNS,
    Town,
    serving,
)

AT = datetime(2026, 3, 10, 23, tzinfo=UTC)  # 18:00 in Springfield, in summer time
WITHOUT_REPORTS = ("pdf_links",)
WITH_ITEMS = [kind for kind in TOWNS if kind != "icalendar"]


@pytest.fixture
def open_room(lake: Lake, tmp_path: Path) -> Iterator[object]:
    with ExitStack() as stack:

        def open_town(kind: str) -> tuple[CouncilRoom, Town]:
            path, answers = TOWNS[kind]
            town = Town(answers())
            base = stack.enter_context(serving(town))
            index = open_index("embedded", tmp_path / "search.sqlite", "")
            return CouncilRoom(lake, index, base + path, tmp_path, kind), town

        yield open_town


@pytest.mark.parametrize("kind", WITH_ITEMS)
def test_a_meeting_arrives_whole_and_a_second_poll_without_a_change_reads_nothing_again(
    kind: str, open_room: object
) -> None:
    room, _ = open_room(kind)  # type: ignore[operator]

    [poll] = room.poll()
    room.run("documents", "raw_articles")

    assert poll.outcome == "ok", poll.reason
    _expect_whole(kind, room)
    before = (
        room.lake.read(StoredMeeting),
        room.lake.read(StoredItem),
        room.documents_read,
    )

    [poll] = room.poll(after=timedelta(minutes=30))
    room.run("documents", "raw_articles")

    assert (poll.new_count, poll.updated_count) == (0, 0)
    assert (
        room.lake.read(StoredMeeting),
        room.lake.read(StoredItem),
        room.documents_read,
    ) == before
    assert all(state.passed_at for state in room.lake.read(SourceState))


def _expect_whole(kind: str, room: CouncilRoom) -> None:
    [meeting] = room.lake.read(StoredMeeting)
    assert (meeting.body, meeting.day, meeting.starts_at) == (
        "City Council",
        date(2026, 3, 10),
        AT,
    )
    assert not meeting.is_all_day
    facts = {
        (fact["kind"], fact["value"]) for fact in json.loads(meeting.participation_json)
    }
    assert ("email", "clerk@springfield.gov") in facts
    items = sorted(room.lake.read(StoredItem), key=lambda item: item.sequence)
    assert [(item.number, item.title) for item in items] == [
        ("1", "Roll Call"),
        ("2", TITLE),
    ]
    assert [item.filter_tier for item in items] == ["dropped", None]
    [article] = room.lake.read(RawArticle)
    assert article.title == TITLE
    if kind not in WITHOUT_REPORTS:
        assert items[1].matter == "file:RES 2026-014"
        assert REPORT in " ".join((article.text or "").split())


@pytest.mark.parametrize("kind", ["iqm2", "novusagenda", "legistar_html"])
def test_an_item_whose_page_fails_stays_and_is_completed_by_the_next_poll(
    kind: str, open_room: object
) -> None:
    room, town = open_room(kind)  # type: ignore[operator]
    ends = ("legifile.aspx", "coversheet.aspx", "legislationdetail.aspx")
    page = next(path for path in town.answers if path.endswith(ends))
    town.statuses[page] = 500
    room.poll()
    [item] = [item for item in room.lake.read(StoredItem) if item.title == TITLE]
    assert item.attachment_names == ()

    town.statuses.clear()
    room.poll(after=timedelta(minutes=30))

    [item] = [item for item in room.lake.read(StoredItem) if item.title == TITLE]
    assert item.attachment_names == ("Report",)


def test_votes_of_a_page_arrive_in_the_table_of_votes(open_room: object) -> None:
    room, town = open_room("legistar_html")  # type: ignore[operator]
    room.poll()
    town.answers.update(DECIDED_LEGISTAR)

    room.poll(after=timedelta(days=9))

    [item] = [item for item in room.lake.read(StoredItem) if item.title == TITLE]
    assert (item.action, item.result, item.mover) == ("adopted", "Pass", "A. Bee")
    votes = room.lake.read(StoredVote)
    assert {(vote.person, vote.value) for vote in votes} == {
        ("a-bee", "Yea"),
        ("c-dee", "Nay"),
    }


def test_a_meeting_of_a_calendar_arrives_with_how_to_take_part(
    open_room: object,
) -> None:
    room, _ = open_room("icalendar")  # type: ignore[operator]

    [poll] = room.poll()

    assert poll.outcome == "ok", poll.reason
    [meeting] = room.lake.read(StoredMeeting)
    assert (meeting.title, meeting.starts_at, meeting.status) == (
        "City Council",
        AT,
        "confirmed",
    )
    assert "clerk@springfield.gov" in meeting.participation_json
