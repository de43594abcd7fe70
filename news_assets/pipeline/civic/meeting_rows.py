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
from news_assets.sources.civic.reading.ids import fingerprint, id_of_key
from news_assets.text.dates import day_of
from news_assets.text.fingerprint import article_id
from news_assets.text.limits import line

# so many successive good answers without a future meeting mean that it is cancelled
_MISSING_POLLS: Final = 2
_VANISHED: Final = "missing from two successive answers"
_SEEN_EVERY = timedelta(hours=20)
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
_MAX_DAYS = 4000  # of an archive, from its first meeting on

Row = TypeVar("Row", StoredMeeting, StoredItem)


def store_answer(
    rows: Rows, source: Source, answer: MeetingAnswer, now: datetime, trace_id: str
) -> EntryChanges:
    """Store the meetings, items, entries and matters of a poll in the transaction of
    `rows`; return what changed.
    """
    poll = CivicPoll(source, answer, now, trace_id)
    listed, stored = _listed_and_stored(rows, poll)
    meetings: dict[str, StoredMeeting] = {}
    for own_id, key in listed.items():
        meetings[own_id] = _meeting_row(poll, own_id, key, stored.get(own_id))
    for row in _vanished(rows, poll, listed):
        meetings[row.meeting_id] = row
    items_before: dict[str, list[StoredItem]] = defaultdict(list)
    before: dict[str, StoredItem] = {}
    for item in rows.read(StoredItem, meeting_id=meetings):
        items_before[item.meeting_id].append(item)
        before[item.item_id] = item
    items: list[StoredItem] = []
    for own_id, meeting in meetings.items():
        items += item_rows(poll, meeting, listed.get(own_id), items_before[own_id])
    changes = _entry_changes(rows, poll, items, meetings)
    items = _with_articles(items, changes)
    new_meetings = [
        row for row in meetings.values() if _is_news(row, stored.get(row.meeting_id))
    ]
    new_items = [row for row in items if _is_news(row, before.get(row.item_id))]
    rows.upsert(new_meetings)
    rows.upsert(new_items)
    store_votes(rows, new_items, before)
    store_roster(rows, source, answer.roster, now)
    matters = _changed_matters(new_items, before)
    refresh_matters(rows, source.desk, source.agency, matters)
    return changes


def _listed_and_stored(
    rows: Rows, poll: CivicPoll
) -> tuple[dict[str, str], dict[str, StoredMeeting]]:
    """Return the keys of the listed meetings, and their rows so far, both by
    meeting_id.
    """
    known = _known(rows, poll)
    listed: dict[str, str] = {}
    for key in poll.answer.meetings:
        row = known.get(key)
        new_id = id_of_key(poll.source.agency, poll.source.kind, key)
        listed[row.meeting_id if row else new_id] = key
    return listed, {row.meeting_id: row for row in known.values()}


def _with_articles(
    items: Iterable[StoredItem], changes: EntryChanges
) -> list[StoredItem]:
    """Return the items with the ids of the articles that their new entries have."""
    articles = {entry.entry_id: entry.article_id for entry in changes.rows}
    found: list[StoredItem] = []
    for item in items:
        article_id = item.article_id or articles.get(item.item_id)
        found.append(replace(item, article_id=article_id))
    return found


def _changed_matters(
    items: Iterable[StoredItem], before: Mapping[str, StoredItem]
) -> set[str]:
    """Return the matters that changed items have now or had before."""
    matters = set[str]()
    for item in items:
        known = before.get(item.item_id)
        if known is None:
            matters.add(item.matter)
        elif not _is_only_seen(item, known):
            matters |= {item.matter, known.matter}
    return matters - {""}


def _known(rows: Rows, poll: CivicPoll) -> dict[str, StoredMeeting]:
    """Return the stored rows of the listed meetings, by the key of the listing."""
    source, meetings = poll.source, poll.answer.meetings
    today = day_of(poll.now, source.timezone)
    ids = [id_of_key(source.agency, source.kind, key) for key in meetings]
    found = rows.read(StoredMeeting, meeting_id=ids)
    if len(found) == len(ids):
        return known_rows(source, meetings, found, today)
    own = [meeting.vendor_id for meeting in meetings.values() if meeting.vendor_id]
    found += rows.read(StoredMeeting, source_id=[source.source_id], vendor_id=own)
    starts = [one.starts_at for one in meetings.values() if one.starts_at]
    days = [*(poll.answer.whole_days or ()), *(at.date() for at in starts)]
    if days:
        found += rows.read(
            StoredMeeting,
            desk=[source.desk],
            agency=[source.agency],
            day=_days_between(min(days), max(days))[:_MAX_DAYS],
        )
    return known_rows(source, meetings, found, today)


def _days_between(first: date, last: date) -> list[date]:
    return [first + timedelta(days=after) for after in range((last - first).days + 1)]


def _is_only_seen(row: Row, before: Row) -> bool:
    """Whether a row differs from that before by the times of the poll only."""
    seen = replace(row, last_seen_at=before.last_seen_at)
    if not isinstance(seen, StoredMeeting) or not isinstance(before, StoredMeeting):
        return seen == before
    if seen.items_asked_at is not None and before.items_asked_at is not None:
        seen = replace(seen, items_asked_at=before.items_asked_at)
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
    listed_hash = poll.answer.listed_hashes.get(key) or fingerprint(meeting)
    links = [{"title": link.title, "href": link.href} for link in meeting.links]
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
        starts_at=_utc(meeting.starts_at),
        ends_at=_utc(meeting.ends_at),
        is_all_day=meeting.all_day,
        status=meeting.status,
        location_name=meeting.location.name,
        location_address=meeting.location.address,
        url=meeting.url,
        agenda_url=meeting.agenda_url,
        packet_url=meeting.packet_url,
        minutes_url=meeting.minutes_url,
        video_url=meeting.video_url,
        links_json=json.dumps(links),
        comment=meeting.comment,
        agenda_notes=_notes(meeting, before),
        participation_json=_facts(meeting, before),
        listed_hash=listed_hash,
        items_asked_at=_items_requested_at(poll, key, listed_hash, before),
        first_seen_at=before.first_seen_at if before else poll.now,
        last_seen_at=poll.now,
    )
    if before is None:
        return row
    if key not in poll.answer.read_agendas:
        row = _completed(row, before)
    return _timed(row, before)


def _utc(at: datetime | None) -> datetime | None:
    return None if at is None else at.astimezone(UTC)


def _items_requested_at(
    poll: CivicPoll, key: str, listed_hash: str, before: StoredMeeting | None
) -> datetime | None:
    """Return when the items were requested last; None if the next poll requests them
    again.
    """
    if key in poll.answer.read_agendas:
        return None if key in poll.answer.undetailed else poll.now
    if before is None or before.listed_hash != listed_hash:
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
    if (
        before.status == "cancelled"
        and before.status_reason != _VANISHED
        and row.listed_hash == before.listed_hash
    ):
        kept["status"] = "cancelled"  # stated by its page: the listing does not say it
    return replace(row, **kept)


def facts_json(text: str, facts: Iterable[ParticipationFact], before: str) -> str:
    """Return facts about taking part as JSON: those of this text (comment or agenda),
    and those of the others before.

    `before` is the JSON so far.
    """
    found: list[dict[str, str]] = []
    for fact in facts:
        if fact.text != text:
            continue
        found.append(
            {
                "kind": fact.kind,
                "value": fact.value,
                "purpose": fact.purpose,
                "text": text,
                "span": f"{fact.start}-{fact.end}",
            }
        )
    others = [fact for fact in json.loads(before) if fact["text"] != text]
    return json.dumps(found + others)


def _vanished(
    rows: Rows, poll: CivicPoll, listed: Mapping[str, str]
) -> list[StoredMeeting]:
    """Return the future meetings that the answer lacks on the days that it lists
    entirely, with one more missing poll, or cancelled.
    """
    if poll.answer.whole_days is None:
        return []
    days = _days_between(*poll.answer.whole_days)
    found: list[StoredMeeting] = []
    known = rows.read(StoredMeeting, source_id=[poll.source.source_id], day=days)
    for row in known:
        is_coming = row.starts_at is not None and row.starts_at > poll.now
        if is_coming and row.meeting_id not in listed and row.status != "cancelled":
            found.append(_missing(row))
    return found


def _missing(row: StoredMeeting) -> StoredMeeting:
    row = replace(row, missing_polls=row.missing_polls + 1)
    if row.missing_polls < _MISSING_POLLS:
        return row
    return replace(row, status="cancelled", status_reason=_VANISHED)


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
    kept = [item for item in items if item.day and _is_article(item)]
    stored = rows.read(
        FeedEntry,
        source_id=[poll.source.source_id],
        entry_id=[item.item_id for item in kept],
    )
    known = {row.entry_id: row for row in stored}
    new: list[FeedEntry] = []
    updated: list[FeedEntry] = []
    for item in kept:
        before = known.get(item.item_id)
        row = _entry(poll, item, meetings[item.meeting_id], before)
        if before is None:
            new.append(row)
        elif (before.entry_hash, before.day) != (row.entry_hash, row.day):
            updated.append(row)
    rows.upsert(new + updated)
    return EntryChanges((*new, *updated), len(new), len(updated))


def _is_article(item: StoredItem) -> bool:
    return item.filter_tier != "dropped" or item.article_id is not None


def _entry(
    poll: CivicPoll, item: StoredItem, meeting: StoredMeeting, known: FeedEntry | None
) -> FeedEntry:
    assert item.day is not None
    page = meeting.url or meeting.agenda_url or poll.source.url
    if known is not None:
        url_hash, article = known.url_hash, known.article_id
    else:
        url_hash = sha256(item.item_id)
        article = article_id(item.agency, item.day, item.title, url_hash)
    state = _item_hash(item, meeting)
    return FeedEntry(
        entry_id=item.item_id,
        source_id=poll.source.source_id,
        desk=item.desk,
        agency=item.agency,
        day=item.day,
        article_id=article,
        url=f"{page}#{item.item_id.rpartition('/')[2]}",
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
    for one in poll.answer.meetings.values():
        if one.vendor_id == meeting.vendor_id and one.posted_at:
            return min(one.posted_at, item.first_seen_at)
    return item.first_seen_at


def _item_hash(item: StoredItem, meeting: StoredMeeting) -> str:
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
    stated = of_item, item.document_ids, item.filter_reason, of_meeting
    return sha256(json.dumps(stated, default=str))
