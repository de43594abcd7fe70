"""What readers are told of a meeting that was listed before: cancelled, moved, its agenda, a
document, a vote. Pure; a meeting that is new is no change.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from news_assets.pipeline.civic.item_rows import REMOVED, is_minutes, is_whole_agenda
from news_assets.records.meetings import (
    MeetingChange,
    MeetingChangeKind,
    StoredItem,
    StoredMeeting,
)

_Kinds = Iterator[tuple[MeetingChangeKind, str]]  # with what was before, or is new


def meeting_changes(
    meetings: Mapping[str, StoredMeeting],
    stored: Mapping[str, StoredMeeting],
    items: Iterable[StoredItem],
    before: Mapping[str, StoredItem],
    now: datetime,
) -> list[MeetingChange]:
    """Return what is new of the meetings that were `stored`, and of their items.

    Args:
        meetings: The rows of a poll, by meeting_id.
        stored: The rows before it, by meeting_id.
        items: The rows of its agenda items.
        before: The rows before it, by item_id.
        now: Time of the poll.
    """
    listed: dict[str, list[StoredItem]] = defaultdict(list)
    for item in items:
        listed[item.meeting_id].append(item)
    had_items = {item.meeting_id for item in before.values()}
    changes: list[MeetingChange] = []
    for meeting_id, row in meetings.items():
        known = stored.get(meeting_id)
        if known is None:
            continue
        for kind, detail in _of_meeting(row, known):
            changes.append(_change(row, "", kind, detail, now))
        of_meeting = listed[meeting_id]
        if of_meeting and meeting_id not in had_items:
            changes.append(_change(row, "", "agenda", "", now))
            continue
        for item in of_meeting:
            for kind, detail in _of_item(item, before.get(item.item_id)):
                changes.append(_change(row, item.item_id, kind, detail, now))
    return changes


def _change(
    meeting: StoredMeeting,
    item_id: str,
    kind: MeetingChangeKind,
    detail: str,
    now: datetime,
) -> MeetingChange:
    return MeetingChange(
        meeting_id=meeting.meeting_id,
        item_id=item_id,
        desk=meeting.desk,
        agency=meeting.agency,
        kind=kind,
        detail=detail,
        changed_at=now,
    )


def _of_meeting(row: StoredMeeting, before: StoredMeeting) -> _Kinds:
    if row.status == "cancelled" != before.status:
        yield "cancelled", row.status_reason or ""
    if before.status == "cancelled" != row.status:
        yield "restored", ""
    if _is_moved(row, before):
        yield "moved", before.starts_at.isoformat() if before.starts_at else ""
    if (row.body, row.title) != (before.body, before.title):
        yield "renamed", before.title
    for name in ("packet_url", "minutes_url"):
        url = getattr(row, name)
        if url and not getattr(before, name):
            yield "document", url


def _is_moved(row: StoredMeeting, before: StoredMeeting) -> bool:
    """Whether it has another time or place; one that was not known is no move."""
    if before.starts_at and row.starts_at != before.starts_at:
        return not before.is_all_day or row.day != before.day
    had = before.location_name, before.location_address
    return any(had) and (row.location_name, row.location_address) != had


def _of_item(item: StoredItem, before: StoredItem | None) -> _Kinds:
    if is_minutes(item):
        return
    if before is None:
        if item.filter_tier != "dropped" and not is_whole_agenda(item):
            yield "agenda", item.title
        return
    if item.filter_reason == REMOVED != before.filter_reason:
        yield "removed", item.title
    if _has_more_documents(item, before):
        yield "document", item.attachment_names[-1]
    if _decided(item) and _decided(item) != _decided(before):
        yield "voted", item.result or item.action


def _has_more_documents(item: StoredItem, before: StoredItem) -> bool:
    return not set(item.attachment_urls) <= set(before.attachment_urls)


def _decided(item: StoredItem) -> str:
    """Return what was decided on an item and how its members voted; empty for nothing."""
    stated = item.action, item.result, item.tally, item.decision
    votes = json.loads(item.votes_json)
    return json.dumps([stated, votes]) if any(stated) or votes else ""
