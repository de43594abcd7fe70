"""Store what a poll of a civic source says: its meetings, their agenda items
(`item_rows.py`), and an entry for each item.

Ids never change with a title or a time. A row is written only if it says something new,
or was last seen a day ago.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Final, TypeVar

from news_assets.pipeline.civic.council_members import store_roster, store_votes
from news_assets.pipeline.civic.identity import known_rows
from news_assets.pipeline.civic.item_rows import CivicPoll, item_rows
from news_assets.pipeline.civic.matters import refresh_matters
from news_assets.pipeline.poll.entry_rows import EntryChanges
from news_assets.pipeline.stage_state.declaration import sha256
from news_assets.ports.lake import Rows
from news_assets.records.desks import Source
from news_assets.records.meetings import (
    Meeting,
    MeetingAnswer,
    ParticipationFact,
    StoredItem,
    StoredMeeting,
)
from news_assets.records.polling import FeedEntry
from news_assets.sources.civic.reading.ids import id_of_key
from news_assets.sources.civic.reading.signal import fingerprint
from news_assets.text.dates import day_of
from news_assets.text.fingerprint import article_id
from news_assets.text.limits import line

# so many successive good answers without a future meeting mean that it is cancelled
MISSING_POLLS: Final = 2
VANISHED: Final = "missing from two successive answers"
_SEEN_EVERY = timedelta(hours=20)
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
)  # what a meeting's own pages state where the listing does not
_MAX_DAYS = 4000  # of an archive, from its first meeting on

Row = TypeVar("Row", StoredMeeting, StoredItem)


def store_answer(
    rows: Rows, source: Source, answer: MeetingAnswer, now: datetime, trace_id: str
) -> EntryChanges:
    """Store the meetings, items, entries and matters of a poll in the transaction of
    `rows`; return what changed.
    """
    poll = CivicPoll(source, answer, now, trace_id)
    known = _known(rows, poll)
    listed: dict[str, str] = {}
    for key in answer.meetings:
        row = known.get(key)
        listed[
            row.meeting_id if row else id_of_key(source.agency, source.kind, key)
        ] = key
    stored = {row.meeting_id: row for row in known.values()}
    vanished = (
        []
        if answer.whole_days is None
        else _vanished(rows, poll, answer.whole_days, listed)
    )
    meetings = [
        _meeting_row(poll, own_id, key, stored.get(own_id))
        for own_id, key in listed.items()
    ]
    meetings += vanished
    stored |= {row.meeting_id: row for row in vanished}
    items_before: dict[str, list[StoredItem]] = defaultdict(list)
    for item in rows.read(StoredItem, meeting_id={row.meeting_id for row in meetings}):
        items_before[item.meeting_id].append(item)
    items: list[StoredItem] = []
    for meeting in meetings:
        items += item_rows(
            poll,
            meeting,
            listed.get(meeting.meeting_id),
            items_before[meeting.meeting_id],
        )
    before = {
        item.item_id: item
        for of_meeting in items_before.values()
        for item in of_meeting
    }
    changes = _entry_changes(
        rows, poll, items, {meeting.meeting_id: meeting for meeting in meetings}
    )
    by_id = {entry.entry_id: entry.article_id for entry in changes.rows}
    items = [
        replace(item, article_id=item.article_id or by_id.get(item.item_id))
        for item in items
    ]
    new_meetings = [
        row
        for row in meetings
        if _is_news(row, None if row in vanished else stored.get(row.meeting_id))
    ]
    new_items = [row for row in items if _is_news(row, before.get(row.item_id))]
    for written in (new_meetings, new_items):
        if written:
            rows.upsert(written)
    store_votes(rows, new_items, before)
    store_roster(rows, source, answer.roster, now)
    changed = [
        item for item in new_items if not _is_only_seen(item, before.get(item.item_id))
    ]
    now_and_before = {
        one.matter
        for item in changed
        for one in (item, before.get(item.item_id))
        if one
    }
    refresh_matters(rows, source.desk, source.agency, now_and_before - {""})
    return changes


def _known(rows: Rows, poll: CivicPoll) -> dict[str, StoredMeeting]:
    """Return the stored rows of the listed meetings, by the key of the listing."""
    source, meetings = poll.source, poll.answer.meetings
    ids = [id_of_key(source.agency, source.kind, key) for key in meetings]
    own = [meeting.vendor_id for meeting in meetings.values() if meeting.vendor_id]
    found = rows.read(StoredMeeting, meeting_id=ids)
    if len(found) == len(ids):
        return known_rows(source, meetings, found, day_of(poll.now, source.timezone))
    if own:
        found += rows.read(StoredMeeting, source_id=[source.source_id], vendor_id=own)
    days = [
        meeting.starts_at.date() for meeting in meetings.values() if meeting.starts_at
    ]
    if poll.answer.whole_days:
        days += poll.answer.whole_days
    if days:
        span = [
            min(days) + timedelta(after)
            for after in range((max(days) - min(days)).days + 1)
        ]
        found += rows.read(
            StoredMeeting,
            desk=[source.desk],
            agency=[source.agency],
            day=span[:_MAX_DAYS],
        )
    return known_rows(source, meetings, found, day_of(poll.now, source.timezone))


def _is_only_seen(row: Row, before: Row | None) -> bool:
    """Whether a row differs from that before by the times of the poll only."""
    if before is None:
        return False
    seen = replace(row, last_seen_at=before.last_seen_at)
    if isinstance(seen, StoredMeeting) and isinstance(before, StoredMeeting):
        was_read = seen.items_asked_at is not None and before.items_asked_at is not None
        seen = replace(seen, items_asked_at=before.items_asked_at) if was_read else seen
    return seen == before


def _is_news(row: Row, before: Row | None) -> bool:
    """Whether a row is to be written."""
    if before is None or not _is_only_seen(row, before):
        return True
    return row.last_seen_at - before.last_seen_at > _SEEN_EVERY


# --- meetings -------------------------------------------------------------------------


def _meeting_row(
    poll: CivicPoll, own_id: str, key: str, before: StoredMeeting | None
) -> StoredMeeting:
    """Return the row of the meeting that is listed with this key."""
    meeting = poll.answer.meetings[key]
    found = poll.answer.listed_hashes.get(key) or fingerprint(meeting)
    was_read = key in poll.answer.read_agendas
    asked_at = (
        before.items_asked_at
        if before is not None and before.listed_hash == found
        else None
    )
    if was_read:
        asked_at = None if key in poll.answer.undetailed else poll.now
    row = StoredMeeting(
        meeting_id=own_id,
        desk=poll.source.desk,
        agency=poll.source.agency,
        source_id=poll.source.source_id,
        day=meeting.starts_at.date() if meeting.starts_at else None,
        vendor_id=meeting.vendor_id,
        agenda_id=meeting.agenda_id,
        body=line(meeting.body, "name") or "",
        title=line(meeting.title, "title") or "",
        starts_at=meeting.starts_at.astimezone(UTC) if meeting.starts_at else None,
        ends_at=meeting.ends_at.astimezone(UTC) if meeting.ends_at else None,
        is_all_day=meeting.all_day,
        status=meeting.status,
        location_name=meeting.location.name,
        location_address=meeting.location.address,
        url=meeting.url,
        agenda_url=meeting.agenda_url,
        packet_url=meeting.packet_url,
        minutes_url=meeting.minutes_url,
        video_url=meeting.video_url,
        links_json=json.dumps(
            [{"title": link.title, "href": link.href} for link in meeting.links]
        ),
        comment=meeting.comment,
        agenda_notes=_notes(meeting, before),
        participation_json=_facts(meeting, before),
        listed_hash=found,
        items_asked_at=asked_at,
        first_seen_at=before.first_seen_at if before else poll.now,
        last_seen_at=poll.now,
    )
    if before is None:
        return row
    return _timed(row if was_read else _completed(row, before), before)


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
    said = facts_json(
        "comment", meeting.participation, before.participation_json if before else "[]"
    )
    return (
        facts_json("agenda", meeting.participation, said)
        if _has_agenda_facts(meeting)
        else said
    )


def _timed(row: StoredMeeting, before: StoredMeeting) -> StoredMeeting:
    """Return a row with the hour that the agenda stated before, if its day did not
    change.
    """
    if not row.is_all_day or before.is_all_day or before.day != row.day:
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
    is_cancelled_by_page = (
        before.status == "cancelled" and before.status_reason != VANISHED
    )
    if is_cancelled_by_page and row.listed_hash == before.listed_hash:
        kept["status"] = "cancelled"  # the listing has no word of it
    return replace(row, **kept)


def facts_json(text: str, facts: Iterable[ParticipationFact], before: str) -> str:
    """Return facts about taking part as JSON: those of this text (comment or agenda),
    and those of the others before.

    `before` is the JSON so far.
    """
    facts = [fact for fact in facts if fact.text == text]
    found = [
        {
            "kind": fact.kind,
            "value": fact.value,
            "purpose": fact.purpose,
            "text": text,
            "span": f"{fact.start}-{fact.end}",
        }
        for fact in facts
    ]
    return json.dumps(
        [*found, *(fact for fact in json.loads(before) if fact["text"] != text)]
    )


def _vanished(
    rows: Rows,
    poll: CivicPoll,
    whole_days: tuple[date, date],
    listed: Mapping[str, str],
) -> list[StoredMeeting]:
    """Return the future meetings of these days that the answer lacks, with one more
    missing poll, or cancelled.
    """
    first, last = whole_days
    days = [first + timedelta(days=ago) for ago in range((last - first).days + 1)]
    known = rows.read(StoredMeeting, source_id=[poll.source.source_id], day=days)
    return [
        _missing(row)
        for row in known
        if row.meeting_id not in listed
        and row.status != "cancelled"
        and row.starts_at
        and row.starts_at > poll.now
    ]


def _missing(row: StoredMeeting) -> StoredMeeting:
    missing_polls = row.missing_polls + 1
    if missing_polls < MISSING_POLLS:
        return replace(row, missing_polls=missing_polls)
    return replace(
        row, missing_polls=missing_polls, status="cancelled", status_reason=VANISHED
    )


# --- entries --------------------------------------------------------------------------


def _entry_changes(
    rows: Rows,
    poll: CivicPoll,
    items: Iterable[StoredItem],
    meetings: Mapping[str, StoredMeeting],
) -> EntryChanges:
    """Store and return the entries of the items that are articles; those without a day
    follow once it is known.
    """
    kept = {
        item.item_id: item
        for item in items
        if item.day and (item.filter_tier != "dropped" or item.article_id)
    }
    source = poll.source.source_id
    known = (
        {
            row.entry_id: row
            for row in rows.read(FeedEntry, source_id=[source], entry_id=kept)
        }
        if kept
        else {}
    )
    made = [
        _entry(poll, item, meetings[item.meeting_id], known.get(item.item_id))
        for item in kept.values()
    ]
    new = [row for row in made if row.entry_id not in known]
    updated = [
        row
        for row in made
        if (before := known.get(row.entry_id))
        and (before.entry_hash, before.day) != (row.entry_hash, row.day)
    ]
    if new or updated:
        rows.upsert([*new, *updated])
    return EntryChanges((*new, *updated), len(new), len(updated))


def _entry(
    poll: CivicPoll, item: StoredItem, meeting: StoredMeeting, known: FeedEntry | None
) -> FeedEntry:
    assert item.day is not None
    url = f"{meeting.url or meeting.agenda_url or poll.source.url}#{item.item_id.rpartition('/')[2]}"
    url_hash = known.url_hash if known else sha256(item.item_id)
    state = item_hash(item, meeting)
    return FeedEntry(
        entry_id=item.item_id,
        source_id=poll.source.source_id,
        desk=item.desk,
        agency=item.agency,
        day=item.day,
        article_id=(
            known.article_id
            if known
            else article_id(item.agency, item.day, item.title, url_hash)
        ),
        url=url,
        url_hash=url_hash,
        title=item.title,
        summary=None,
        content_html=None,
        authors=item.sponsors,
        categories=(item.matter_type,) if item.matter_type else (),
        image_url=None,
        published_at=_posted_at(poll, item, meeting, known),
        updated_at=None,
        is_future_dated=False,
        is_moved=False,
        entry_hash=state,
        news_hash=state,
        first_seen_at=known.first_seen_at if known else poll.now,
        last_seen_at=poll.now,
        trace_id=poll.trace_id,
    )


def _posted_at(
    poll: CivicPoll, item: StoredItem, meeting: StoredMeeting, known: FeedEntry | None
) -> datetime:
    """Return when the agenda with the item was posted, if the vendor states it, else
    when the item was first seen.
    """
    if known is not None and known.published_at not in (None, meeting.starts_at):
        return known.published_at or item.first_seen_at
    listed = [
        one
        for one in poll.answer.meetings.values()
        if one.vendor_id == meeting.vendor_id
    ]
    stated = next(
        (one.posted_at for one in listed if one.posted_at), item.first_seen_at
    )
    return min(stated, item.first_seen_at)


def item_hash(item: StoredItem, meeting: StoredMeeting) -> str:
    """Return the SHA-256 of what an item's article is composed from, but for the text
    of its documents.
    """
    of_item = (
        item.title,
        item.section,
        item.matter,
        item.matter_file,
        item.matter_type,
        item.sponsors,
    )
    of_meeting = (
        meeting.meeting_id,
        meeting.body,
        meeting.status,
        meeting.starts_at,
        meeting.url,
        meeting.video_url,
    )
    return sha256(
        json.dumps(
            (of_item, item.document_ids, item.filter_reason, of_meeting), default=str
        )
    )
