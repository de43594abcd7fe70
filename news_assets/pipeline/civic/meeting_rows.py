"""Which stored meeting a listed one is, the row that it becomes, and what changed of it
for readers; pure.

A meeting keeps the id that it was first stored with, whatever its title, day and agenda
become, and whichever source of its agency lists it. Where ids do not decide, a meeting
and a row belong together if a rule below gives both the same value, and gives it to no
other: the rules are tried in their order.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, time
from typing import Final

from news_assets.pipeline.civic.item_rows import (
    REMOVED,
    PollToStore,
    is_minutes,
    is_whole_agenda,
)
from news_assets.records.desks import Source
from news_assets.records.meetings import (
    Meeting,
    MeetingChange,
    MeetingChangeKind,
    ParticipationFact,
    StoredItem,
    StoredMeeting,
    same_values,
)
from news_assets.sources.civic.identity import fingerprint, id_of_key
from news_assets.text.dates import zone_info
from news_assets.text.fingerprint import normal_words
from news_assets.text.limits import line

VANISHED: Final = "missing from two successive answers"
# what a meeting's own pages state where the listing does not
_ADDED: Final = (
    *(
        "vendor_id",
        "agenda_id",
        "location_name",
        "location_address",
        "url",
        "agenda_url",
    ),
    *("packet_url", "minutes_url", "video_url", "comment", "agenda_notes"),
)


def meeting_row(
    poll: PollToStore, own_id: str, key: str, before: StoredMeeting | None
) -> StoredMeeting:
    """Return the row of the meeting that is listed with this key."""
    meeting = poll.found.meetings[key]
    listed_hash = poll.found.listed_hashes.get(key) or fingerprint(meeting)
    links = [asdict(link) for link in meeting.links]
    stated = same_values(meeting)
    stated["body"] = line(meeting.body, "name") or ""
    stated["title"] = line(meeting.title, "title") or ""
    row = StoredMeeting(
        **stated,
        meeting_id=own_id,
        desk=poll.source.desk,
        agency=poll.source.agency,
        source_id=poll.source.source_id,
        day=meeting.starts_at.date() if meeting.starts_at else None,
        starts_at=_utc(meeting.starts_at),
        ends_at=_utc(meeting.ends_at),
        is_all_day=meeting.all_day,
        status=meeting.status,
        location_name=meeting.location.name,
        location_address=meeting.location.address,
        links_json=json.dumps(links),
        agenda_notes=_notes(meeting, before),
        participation_json=_facts(meeting, before),
        listed_hash=listed_hash,
        items_asked_at=_items_requested_at(poll, key, listed_hash, before),
        first_seen_at=before.first_seen_at if before else poll.now,
        last_seen_at=poll.now,
    )
    if before is None:
        return row
    if key not in poll.found.read_agendas:
        row = _completed(row, before)
    return _timed(row, before)


def _utc(at: datetime | None) -> datetime | None:
    return None if at is None else at.astimezone(UTC)


def _items_requested_at(
    poll: PollToStore, key: str, listed_hash: str, before: StoredMeeting | None
) -> datetime | None:
    """Return when the items were requested last; None if the next poll requests them
    again.
    """
    if key in poll.found.read_agendas:
        if key in poll.found.undetailed:
            return None
        return poll.now
    if before is None:
        return None
    if before.listed_hash != listed_hash:
        return None
    return before.items_asked_at


def _notes(meeting: Meeting, before: StoredMeeting | None) -> str:
    """Return the notes that say how to take part; those of before where this answer has
    none such.
    """
    if before is None or _has_agenda_facts(meeting):
        return meeting.agenda_notes
    return before.agenda_notes or meeting.agenda_notes


def _has_agenda_facts(meeting: Meeting) -> bool:
    return any(fact.text == "agenda" for fact in meeting.participation)


def _facts(meeting: Meeting, before: StoredMeeting | None) -> str:
    known = "[]" if before is None else before.participation_json
    stated = facts_json("comment", meeting.participation, known)
    if not _has_agenda_facts(meeting):
        return stated
    return facts_json("agenda", meeting.participation, stated)


def _timed(row: StoredMeeting, before: StoredMeeting) -> StoredMeeting:
    """Return a row with the hour that the agenda stated before, if its day did not
    change.
    """
    if not row.is_all_day:
        return row
    if before.is_all_day:
        return row
    if before.day != row.day:
        return row
    return replace(
        row, starts_at=before.starts_at, ends_at=before.ends_at, is_all_day=False
    )


def _completed(row: StoredMeeting, before: StoredMeeting) -> StoredMeeting:
    """Return a row whose meeting's own pages were not read this time, with what they
    added before.
    """
    kept = {name: getattr(row, name) or getattr(before, name) for name in _ADDED}
    if len(json.loads(row.links_json)) < len(json.loads(before.links_json)):
        kept["links_json"] = before.links_json
    was_cancelled = before.status == "cancelled" and before.status_reason != VANISHED
    if was_cancelled and row.listed_hash == before.listed_hash:
        kept["status"] = "cancelled"  # stated by its page: the listing does not say it
    return replace(row, **kept)


def facts_json(text: str, facts: Iterable[ParticipationFact], before: str) -> str:
    """Return facts about taking part as JSON: those of this text (comment or agenda),
    and those of the others before.

    `before` is the JSON so far.
    """
    found: list[dict[str, str]] = []
    for fact in facts:
        if fact.text == text:
            row = {"kind": fact.kind, "value": fact.value, "purpose": fact.purpose}
            found.append(row | {"text": text, "span": f"{fact.start}-{fact.end}"})
    others = [fact for fact in json.loads(before) if fact["text"] != text]
    return json.dumps(found + others)


# --- which stored meeting a listed one is ---------------------------------------------

_ASIDE = re.compile(r"\([^()]{0,200}\)")
_ANY_MEETING = frozenset(
    (
        *("the", "of", "a", "and", "meeting", "meetings", "regular", "agenda"),
        *("cancelled", "canceled", "cancellation", "postponed"),
    )
)


@dataclass(frozen=True, slots=True)
class _Traits:
    """What tells meetings apart. The vendor's id is empty for a row of another source."""

    source_id: str
    meeting_id: str
    vendor_id: str
    name: frozenset[str]
    day: date | None
    clock: time | None
    agenda_url: str | None


_Rule = Callable[[_Traits], Hashable]
_Meetings = Mapping[str, _Traits]  # by the key of the listing, or of rows by meeting_id


def known_rows(
    source: Source,
    listed: Mapping[str, Meeting],
    stored: Iterable[StoredMeeting],
    today: date,
) -> dict[str, StoredMeeting]:
    """Return the stored row of each listed meeting that has one, by the key of the
    listing.
    """
    rows = {row.meeting_id: row for row in stored}
    of_rows = {own_id: _of_row(row, source) for own_id, row in rows.items()}
    of_listed: dict[str, _Traits] = {}
    for key, meeting in listed.items():
        of_listed[key] = _of_listed(key, meeting, source)
    found: dict[str, str] = {}
    for rule in (_by_id, _by_vendor_id, _by_time, _by_agenda):
        _pair(rule, of_listed, of_rows, found)
    # ids tell rows of this source apart, where it states any
    rows_without_id = _without_vendor_id(of_rows)
    _pair(_by_day, of_listed, rows_without_id, found)
    own_rows = {
        own_id: one
        for own_id, one in rows_without_id.items()
        if one.source_id == source.source_id
    }
    _pair(_by_hour, of_listed, own_rows, found)
    listed_without_id = _without_vendor_id(of_listed)
    _pair(_by_name, _coming(listed_without_id, today), _coming(own_rows, today), found)
    return {key: rows[own_id] for key, own_id in found.items()}


def _without_vendor_id(meetings: _Meetings) -> _Meetings:
    return {key: one for key, one in meetings.items() if not one.vendor_id}


def _coming(meetings: _Meetings, today: date) -> _Meetings:
    return {k: one for k, one in meetings.items() if one.day and one.day >= today}


def _of_row(row: StoredMeeting, source: Source) -> _Traits:
    clock = None
    if row.starts_at is not None and not row.is_all_day:
        clock = row.starts_at.astimezone(zone_info(source.timezone)).time()
    return _Traits(
        source_id=row.source_id,
        meeting_id=row.meeting_id,
        vendor_id=row.vendor_id if row.source_id == source.source_id else "",
        name=_name(row.body or row.title),
        day=row.day,
        clock=clock,
        agenda_url=row.agenda_url,
    )


def _of_listed(key: str, meeting: Meeting, source: Source) -> _Traits:
    day = clock = None
    if meeting.starts_at is not None:
        day = meeting.starts_at.date()
        clock = None if meeting.all_day else meeting.starts_at.time()
    return _Traits(
        source_id=source.source_id,
        meeting_id=id_of_key(source.agency, source.kind, key),
        vendor_id=meeting.vendor_id,
        name=_name(meeting.body or meeting.title),
        day=day,
        clock=clock,
        agenda_url=meeting.agenda_url,
    )


def _pair(
    rule: _Rule, listed: _Meetings, of_rows: _Meetings, found: dict[str, str]
) -> None:
    """Add to `found` the row's id of each meeting that is not in it yet, where a rule
    gives both the same value, and gives it to no other.
    """
    same_listed = _by_rule(rule, listed, found.keys())
    same_rows = _by_rule(rule, of_rows, set(found.values()))
    for value, keys in same_listed.items():
        own_ids = same_rows.get(value, ())
        if len(keys) == 1 and len(own_ids) == 1:
            found[keys[0]] = own_ids[0]


def _by_rule(
    rule: _Rule, meetings: _Meetings, paired: Collection[str]
) -> dict[Hashable, list[str]]:
    """Return the keys of the meetings that are not paired yet, by what a rule gives."""
    keys: dict[Hashable, list[str]] = defaultdict(list)
    for key, one in meetings.items():
        value = rule(one)
        if value is None:
            continue
        if key not in paired:
            keys[value].append(key)
    return keys


def _name(text: str) -> frozenset[str]:
    """Return the words of a body's name without those of any meeting, nor a remark in
    brackets.
    """
    return frozenset(normal_words(_ASIDE.sub(" ", text))) - _ANY_MEETING


# --- rules: what two meetings have in common, or None ----------------------------------


def _by_id(one: _Traits) -> Hashable:
    return one.meeting_id


def _by_vendor_id(one: _Traits) -> Hashable:
    return one.vendor_id or None


def _by_time(one: _Traits) -> Hashable:
    if one.name and one.day and one.clock:
        return one.name, one.day, one.clock
    return None


def _by_agenda(one: _Traits) -> Hashable:
    if one.agenda_url:
        return (one.agenda_url, one.day)
    return None


def _by_day(one: _Traits) -> Hashable:
    """The same body on the same day: an hour was set, or the other source states none."""
    if one.name and one.day:
        return (one.name, one.day)
    return None


def _by_hour(one: _Traits) -> Hashable:
    """The same day and hour: a body was renamed."""
    if one.day and one.clock:
        return (one.day, one.clock)
    return None


def _by_name(one: _Traits) -> Hashable:
    """The one meeting of a body that is not listed any more, and the one that is new:
    it was moved.
    """
    return one.name or None


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
        if not url:
            continue
        if not getattr(before, name):
            yield "document", url


def _is_moved(row: StoredMeeting, before: StoredMeeting) -> bool:
    """Whether it has another time or place; one that was not known is no move."""
    if before.starts_at and row.starts_at != before.starts_at:
        if not before.is_all_day:
            return True
        return row.day != before.day
    had = before.location_name, before.location_address
    if not any(had):
        return False
    return (row.location_name, row.location_address) != had


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
    if any(stated) or votes:
        return json.dumps([stated, votes])
    return ""
