"""What a poll finds to be another than before of a meeting and its agenda."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from news_assets.pipeline.civic.item_rows import REMOVED
from news_assets.pipeline.civic.meeting_rows import meeting_changes
from news_assets.records.meetings import MeetingChange, StoredItem, StoredMeeting
from news_assets_tests.pipeline.civic.test_meeting_storage import VOTED, change
from news_assets_tests.support.council import Council
from news_assets_tests.support.council_room import CouncilRoom
from news_assets_tests.support.stored_meeting import ITEM, MEETING, ROLL_CALL

NOW = datetime(2026, 11, 25, tzinfo=UTC)
DAY = timedelta(days=1)
VOTE = '[{"person": "Alder Lee", "value": "aye"}]'


def kinds(
    meeting: StoredMeeting,
    items: Sequence[StoredItem] = (ITEM,),
    before: Sequence[StoredItem] = (ITEM,),
) -> list[tuple[str, str, str]]:
    found = meeting_changes(
        {MEETING.meeting_id: meeting},
        {MEETING.meeting_id: MEETING},
        items,
        {one.item_id: one for one in before},
        NOW,
    )
    return [(one.item_id, one.kind, one.detail) for one in found]


@pytest.mark.parametrize(
    ("changed", "kind", "detail"),
    [
        ({"status": "cancelled", "status_reason": "snow"}, "cancelled", "snow"),
        ({"starts_at": NOW, "day": NOW.date()}, "moved", "2026-12-02T00:30:00+00:00"),
        ({"location_name": "Library"}, "moved", "2026-12-02T00:30:00+00:00"),
        ({"title": "Special Meeting"}, "renamed", "Regular Meeting"),
        ({"packet_url": "https://x.example/p"}, "document", "https://x.example/p"),
        ({"minutes_url": "https://x.example/m"}, "document", "https://x.example/m"),
    ],
)
def test_a_change_of_a_meeting_has_its_kind_and_what_was_before(
    changed: dict[str, Any], kind: str, detail: str
) -> None:
    assert kinds(replace(MEETING, **changed)) == [("", kind, detail)]


@pytest.mark.parametrize(
    ("changed", "kind", "detail"),
    [
        ({"filter_reason": REMOVED}, "removed", ITEM.title),
        (
            {
                "attachment_names": (*ITEM.attachment_names, "Plan"),
                "attachment_urls": (*ITEM.attachment_urls, "https://x.example/plan"),
            },
            "document",
            "Plan",
        ),
        ({"votes_json": VOTE, "result": "Pass"}, "voted", "Pass"),
        ({"decision": "Motion carried 5-0."}, "voted", ""),
    ],
)
def test_a_change_of_an_item_names_the_item(
    changed: dict[str, Any], kind: str, detail: str
) -> None:
    found = kinds(MEETING, [replace(ITEM, **changed)])
    assert found == [(ITEM.item_id, kind, detail)]


def test_a_first_agenda_is_one_change_and_a_later_item_one_of_its_own() -> None:
    second = replace(ITEM, item_id="second", title="Night buses")
    assert kinds(MEETING, [ITEM, second], []) == [("", "agenda", "")]
    assert kinds(MEETING, [ITEM, second, ROLL_CALL]) == [
        ("second", "agenda", "Night buses")
    ]


def test_what_is_new_or_only_seen_again_is_no_change() -> None:
    seen = replace(MEETING, last_seen_at=NOW, status="passed", listed_hash="b")
    assert kinds(seen, [replace(ITEM, last_seen_at=NOW)]) == []
    assert meeting_changes({"new": MEETING}, {}, [ITEM], {}, NOW) == []
    timed = replace(MEETING, is_all_day=True)
    only_day = {MEETING.meeting_id: replace(MEETING, is_all_day=True, starts_at=NOW)}
    before = replace(timed, starts_at=NOW - timedelta(hours=3))
    assert meeting_changes(only_day, {MEETING.meeting_id: before}, [], {}, NOW) == []


def test_a_poll_stores_what_changed_once(room: CouncilRoom, council: Council) -> None:
    council.put(1, 12, "Contract for night buses", EventItemMatterFile="26-0012")
    room.poll()
    change(council, room, **VOTED)
    room.poll(9 * DAY)
    room.poll(DAY)
    found = room.lake.read(MeetingChange)
    assert [(one.kind, one.detail) for one in found] == [("voted", "Pass")]
    assert found[0].item_id == room.lake.read(StoredItem)[0].item_id
