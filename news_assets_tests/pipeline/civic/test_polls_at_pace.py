"""Polls of a council's API by signals: when the next one is due, and when all days are
asked for again.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from news_assets.clients.factory import open_index
from news_assets.records.articles import SourceState
from news_assets.store.lake import Lake
from news_assets_tests.support.council import Council, served
from news_assets_tests.support.council_room import NOW, CouncilRoom

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
EVENTS = "/v1/springfield/events"


@pytest.fixture
def council() -> Council:
    made = Council()
    made.meet(1, date(2026, 3, 10))
    made.put(1, 11, "Contract for night buses")
    return made


@pytest.fixture
def room(council: Council, tmp_path: Path) -> Iterator[CouncilRoom]:
    with (
        served(council) as base,
        Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake,
    ):
        opened = CouncilRoom(
            lake,
            open_index("embedded", tmp_path / "search.sqlite", ""),
            f"{base}/v1/springfield",
            tmp_path,
        )
        [agency] = opened.desk.agencies
        sources = (replace(agency.sources[0], pace="signals"),)
        opened.desk = replace(opened.desk, agencies=(replace(agency, sources=sources),))
        yield opened


def state_of(room: CouncilRoom) -> SourceState:
    [state] = room.lake.read(SourceState)
    return state


@pytest.mark.slow  # simulates days of polls
def test_signals_slow_down_to_a_quarter_of_an_hour_at_work_and_to_an_hour_at_night(
    room: CouncilRoom, council: Council
) -> None:
    minutes = []
    room.poll()
    for after in (0, 10, 15, 15):  # a Monday morning
        room.poll(after * MINUTE)
        minutes.append((state_of(room).next_poll_at - room.now) / MINUTE)
    assert minutes == [15, 15, 15, 15]
    council.meet(2, date(2026, 3, 11), changed_at=room.now)
    council.put(2, 14, "Budget of the night buses")
    room.poll(15 * MINUTE)
    assert state_of(room).next_poll_at - room.now == 10 * MINUTE
    room.poll(11 * HOUR)
    for _ in range(12):
        room.poll(20 * MINUTE)
    assert state_of(room).next_poll_at - room.now == HOUR


@pytest.mark.slow  # simulates days of polls
def test_all_days_are_asked_for_once_a_night(
    room: CouncilRoom, council: Council
) -> None:
    room.poll()
    for _ in range(28):
        council.requests.clear()
        room.poll(HOUR, only_due=True)
        if council.requests[f"{EVENTS}/1/eventitems"]:
            break
    local_hour = (room.now - timedelta(hours=6)).hour
    assert 1 <= local_hour <= 5
    assert state_of(room).passed_at == room.now


def test_a_client_without_a_key_is_not_polled_again_for_a_month(
    room: CouncilRoom, council: Council
) -> None:
    council.refusals["/v1"] = 403
    [poll] = room.poll()
    assert (poll.outcome, state_of(room).next_poll_at) == (
        "failed",
        NOW + timedelta(days=30),
    )
    assert "closed without a token" in (poll.reason or "")
