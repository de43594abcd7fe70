"""Answers that say less than before: without meetings, without the signal, without the
items of one meeting.
"""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from news_assets.clients.factory import open_index
from news_assets.pipeline.schedule import SUSPECT
from news_assets.records.articles import SourceState
from news_assets.records.meetings import StoredMeeting
from news_assets.store.lake import Lake
from news_assets_tests.pipeline.civic.conftest import MEETING
from news_assets_tests.support.council import Council
from news_assets_tests.support.council_room import CouncilRoom
from news_assets_tests.support.vendor_town import TOWNS, Town, serving

DAY = timedelta(days=1)


@pytest.fixture
def civicplus(lake: Lake, tmp_path: Path) -> Iterator[tuple[CouncilRoom, Town]]:
    path, answers = TOWNS["civicplus"]
    town = Town(answers())
    with serving(town) as base:
        yield (
            CouncilRoom(
                lake,
                open_index("embedded", tmp_path / "s.sqlite", ""),
                base + path,
                tmp_path,
                "civicplus",
            ),
            town,
        )


def statuses(room: CouncilRoom) -> set[str]:
    return {row.status for row in room.lake.read(StoredMeeting)}


def test_an_empty_answer_never_cancels_meetings_and_is_reported(
    room: CouncilRoom, council: Council
) -> None:
    council.meet(2, MEETING + DAY)
    room.poll()
    council.events.clear()

    polls = [poll for _ in range(3) for poll in room.poll(after=DAY)]

    assert all((poll.reason or "").startswith(SUSPECT) for poll in polls)
    assert statuses(room) == {"confirmed"}


def test_an_answer_that_lacks_most_meetings_counts_at_the_nightly_pass_only(
    room: CouncilRoom, council: Council
) -> None:
    for number in range(2, 6):
        council.meet(number, MEETING + number * DAY)
    room.poll()
    for number in range(1, 5):
        del council.events[number]

    room.poll(after=DAY)
    room.poll(after=timedelta(minutes=30))
    assert statuses(room) == {"confirmed"}

    room.poll(after=DAY)
    assert statuses(room) == {"confirmed", "cancelled"}


def test_without_an_answer_to_the_signal_all_days_are_requested(
    civicplus: tuple[CouncilRoom, Town],
) -> None:
    room, town = civicplus
    room.poll()
    town.requests.clear()

    [poll] = room.poll(after=timedelta(minutes=30))

    assert poll.outcome == "ok"
    assert any(key.startswith("/agendacenter/search/") for key in town.requests)
    [state] = room.lake.read(SourceState)
    assert state.next_poll_at - room.now < DAY


def test_a_failure_of_one_meetings_items_is_that_meetings(
    room: CouncilRoom, council: Council
) -> None:
    council.meet(2, MEETING + DAY)
    council.put(2, 20, "Contract for night buses")
    council.refusals["/v1/springfield/events/1/eventitems"] = 500

    room.poll()

    [state] = room.lake.read(SourceState)
    assert state.passed_at == room.now
    assert {
        row.vendor_id: row.items_asked_at is None
        for row in room.lake.read(StoredMeeting)
    } == {
        "1": True,
        "2": False,
    }
