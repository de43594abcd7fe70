"""Votes, sponsors, members and bodies of a council: from the API's answers to the
tables.
"""

import json
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest

from news_assets.records.articles import RawArticle, SourceState
from news_assets.records.councils import (
    StoredBody,
    StoredMember,
    StoredOffice,
    StoredVote,
)
from news_assets.records.meetings import StoredItem, StoredMeeting
from news_assets_tests.pipeline.civic.conftest import MEETING, Prepare
from news_assets_tests.support.council import Council
from news_assets_tests.support.council_room import CouncilRoom

API = "/v1/springfield"
DAY, WEEK = timedelta(days=1), timedelta(days=7)
VOTED: dict[str, Any] = {
    "EventItemPassedFlagName": "Pass",
    "EventItemActionName": "adopted",
    "EventItemTally": "2:1",
    "EventItemMover": "Rosa Ruiz",
    "EventItemSeconder": "Wei Chen",
}
VOTES = [
    ("Wei Chen", 2, "Yea", 3),
    ("Rosa Ruiz", 1, "Yea", 1),
    ("Ada Okafor", 3, "Nay", 2),
]


def put_votes(
    council: Council, item: int, votes: list[tuple[str, int, str, int]]
) -> None:
    rows = [
        {
            "VotePersonName": name,
            "VotePersonId": person,
            "VoteValueName": value,
            "VoteSort": place,
        }
        for name, person, value, place in votes
    ]
    council.files[f"{API}/eventitems/{item}/votes"] = json.dumps(rows).encode()


def put_sponsors(council: Council, matter: int, *names: str) -> None:
    rows = [
        {"MatterSponsorName": name, "MatterSponsorSequence": place}
        for place, name in enumerate(names)
    ]
    council.files[f"{API}/matters/{matter}/sponsors"] = json.dumps(rows).encode()


def change(council: Council, room: CouncilRoom, item: int = 0, **fields: Any) -> None:
    """Change an item of the first meeting, and the date of change of both."""
    council.meet(1, MEETING, changed_at=room.now)
    council.items[1][item].update(
        fields, EventItemLastModifiedUtc=f"{room.now:%Y-%m-%dT%H:%M:%S}"
    )


def requests_of(council: Council, end: str) -> int:
    return sum(count for path, count in council.requests.items() if path.endswith(end))


def vote(room: CouncilRoom, council: Council) -> None:
    """Put a matter on an agenda, and then vote on it."""
    council.put(
        1,
        12,
        "Contract for night buses",
        EventItemMatterFile="26-0012",
        EventItemMatterId=900,
    )
    put_sponsors(council, 900, "Rosa Ruiz", "Wei Chen")
    room.poll()
    put_votes(council, 12, VOTES)
    change(council, room, **VOTED)
    room.poll(9 * DAY)


@pytest.fixture
def voted(prepared: Callable[[Prepare], CouncilRoom]) -> CouncilRoom:
    return prepared(vote)


def test_votes_are_requested_once_an_item_is_decided(
    voted: CouncilRoom, council: Council
) -> None:
    [item] = voted.lake.read(StoredItem)
    assert (item.action, item.result, item.tally) == ("adopted", "Pass", "2:1")
    assert (item.mover, item.seconder, item.sponsors) == (
        "Rosa Ruiz",
        "Wei Chen",
        ("Rosa Ruiz", "Wei Chen"),
    )
    assert [
        (vote["person"], vote["value"]) for vote in json.loads(item.votes_json)
    ] == [
        ("Rosa Ruiz", "Yea"),
        ("Ada Okafor", "Nay"),
        ("Wei Chen", "Yea"),
    ]
    votes = {
        (vote.person, vote.person_id): (vote.value, vote.day)
        for vote in voted.lake.read(StoredVote)
    }
    assert votes == {
        ("ada-okafor", "3"): ("Nay", MEETING),
        ("rosa-ruiz", "1"): ("Yea", MEETING),
        ("wei-chen", "2"): ("Yea", MEETING),
    }
    assert requests_of(council, "/votes") == 1


def test_votes_of_an_unchanged_item_are_not_requested_again(
    voted: CouncilRoom, council: Council
) -> None:
    before = voted.lake.read(StoredItem)

    for _ in range(3):
        voted.poll(DAY)

    assert requests_of(council, "/votes") == 1
    assert [item.votes_json for item in voted.lake.read(StoredItem)] == [
        before[0].votes_json
    ]


def test_corrected_votes_replace_those_before(
    voted: CouncilRoom, council: Council
) -> None:
    put_votes(council, 12, VOTES[:1])
    change(council, voted)

    voted.poll(DAY)

    assert [vote.person for vote in voted.lake.read(StoredVote)] == ["wei-chen"]


def test_sponsors_are_part_of_the_item_and_its_text(voted: CouncilRoom) -> None:
    voted.run()
    [article] = voted.lake.read(RawArticle)
    assert "Sponsors: Rosa Ruiz, Wei Chen." in (article.text or "")


def test_votes_that_fail_leave_the_rest_and_are_requested_again(
    room: CouncilRoom, council: Council
) -> None:
    council.put(1, 12, "Contract for night buses", **VOTED)
    council.put(1, 13, "Contract for day buses")
    council.refusals[f"{API}/eventitems/12/votes"] = 503
    [poll] = room.poll()
    assert (
        poll.outcome,
        len(room.lake.read(StoredItem)),
        room.lake.read(StoredVote),
    ) == ("ok", 2, [])
    assert room.lake.read(SourceState)[0].passed_at == room.now

    council.refusals.clear()
    put_votes(council, 12, VOTES)
    room.poll(DAY)

    assert len(room.lake.read(StoredVote)) == 3


@pytest.mark.slow  # polls several times
def test_more_votes_than_a_poll_requests_follow_with_the_next_polls(
    room: CouncilRoom, council: Council
) -> None:
    for number in range(250):
        council.put(
            1, 1000 + number, f"Claim {number}", EventItemMatterId=5000 + number
        )
        put_sponsors(council, 5000 + number, f"Member {number}")

    room.poll()
    for _ in range(2):
        room.poll(timedelta(minutes=15))

    assert all(len(item.sponsors) == 1 for item in room.lake.read(StoredItem))
    assert requests_of(council, "/sponsors") == 250


def test_a_matter_of_several_meetings_is_requested_once_by_a_poll(
    room: CouncilRoom, council: Council
) -> None:
    put_sponsors(council, 900, "Rosa Ruiz")
    for number in (1, 2, 3):
        council.meet(number, MEETING + number * DAY)
        council.put(
            number, 100 + number, "Contract for night buses", EventItemMatterId=900
        )

    room.poll()

    assert [item.sponsors for item in room.lake.read(StoredItem)] == [
        ("Rosa Ruiz",)
    ] * 3
    assert requests_of(council, "/sponsors") == 1


@pytest.mark.slow  # polls several times
def test_bodies_members_and_offices_are_listed_by_the_first_pass_and_weekly(
    room: CouncilRoom, council: Council
) -> None:
    council.files[f"{API}/bodies"] = json.dumps(
        [
            {
                "BodyId": 138,
                "BodyName": "City Council",
                "BodyTypeName": "Primary Legislative Body",
                "BodyActiveFlag": 1,
            }
        ]
    ).encode()
    council.files[f"{API}/persons"] = json.dumps(
        [
            {
                "PersonId": 1,
                "PersonFullName": "Rosa Ruíz",
                "PersonActiveFlag": 1,
                "PersonEmail": "ruiz@example.gov",
            },
            {
                "PersonId": 9,
                "PersonFullName": "Rosa Ruiz",
                "PersonActiveFlag": 0,
                "PersonEmail": "old@example.gov",
            },
        ]
    ).encode()
    council.files[f"{API}/officerecords"] = json.dumps(
        [
            {
                "OfficeRecordId": 7,
                "OfficeRecordFullName": "Rosa Ruíz",
                "OfficeRecordPersonId": 1,
                "OfficeRecordBodyName": "City Council",
                "OfficeRecordTitle": "Chair",
                "OfficeRecordStartDate": "2025-01-01T00:00:00",
                "OfficeRecordEndDate": "2028-12-31T00:00:00",
            }
        ]
    ).encode()

    room.poll()
    for _ in range(7):
        room.poll(DAY)

    [body] = room.lake.read(StoredBody)
    [member] = room.lake.read(StoredMember)
    [office] = room.lake.read(StoredOffice)
    assert (body.name, body.kind, body.is_active) == (
        "City Council",
        "Primary Legislative Body",
        True,
    )
    assert (member.person, member.person_id, member.email) == (
        "rosa-ruiz",
        "1",
        "ruiz@example.gov",
    )
    assert (office.person, office.body, office.title) == (
        "rosa-ruiz",
        "City Council",
        "Chair",
    )
    assert (office.first_day, office.last_day) == (date(2025, 1, 1), date(2028, 12, 31))
    assert council.requests[f"{API}/persons"] == 2


def test_an_api_without_members_or_votes_is_polled_all_the_same(
    room: CouncilRoom, council: Council
) -> None:
    council.put(1, 12, "Contract for night buses", **VOTED)

    [poll] = room.poll()

    assert poll.outcome == "ok"
    assert room.lake.read(StoredMeeting)[0].items_asked_at == room.now
    assert room.lake.read(StoredMember) == []
