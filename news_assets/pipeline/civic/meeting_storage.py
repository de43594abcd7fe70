"""Store what a poll of a civic source says: its meetings (`meeting_rows.py`), their
agenda items (`item_rows.py`), an entry for each item, votes, and the council's members.

Ids never change with a title or a time. A row is written only if it says something new,
or was last seen a day ago.
"""

import json
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date, datetime, timedelta
from typing import Any, Final, TypeVar

from news_assets.pipeline.civic.item_rows import PollToStore, item_rows, refresh_matters
from news_assets.pipeline.civic.meeting_rows import (
    VANISHED,
    known_rows,
    meeting_changes,
    meeting_row,
)
from news_assets.pipeline.poll.entry_rows import EntryChanges
from news_assets.ports.services import Rows
from news_assets.records.articles import FeedEntry
from news_assets.records.councils import (
    Roster,
    StoredBody,
    StoredMember,
    StoredOffice,
    StoredVote,
)
from news_assets.records.desks import Source
from news_assets.records.meetings import PolledMeetings, StoredItem, StoredMeeting
from news_assets.sources.civic.identity import id_of_key
from news_assets.text.dates import day_of
from news_assets.text.fingerprint import article_id, normal_words, sha256
from news_assets.text.limits import line

_logger = logging.getLogger(__name__)

# so many successive good answers without a future meeting mean that it is cancelled
_MISSING_POLLS: Final = 2
_SEEN_EVERY = timedelta(hours=20)
_MAX_DAYS = 4000  # of an archive, from its first meeting on

_Row = TypeVar("_Row", StoredMeeting, StoredItem)


def store_meetings(
    rows: Rows, source: Source, found: PolledMeetings, now: datetime, trace_id: str
) -> EntryChanges:
    """Store the meetings, items, entries and matters of a poll in the transaction of
    `rows`; return what changed.
    """
    poll = PollToStore(source, found, now, trace_id)
    known = _stored_by_key(rows, poll)
    stored = {row.meeting_id: row for row in known.values()}
    keys = _keys_by_id(poll, known)
    meetings = _meetings(rows, poll, keys, stored)
    before = {row.item_id: row for row in rows.read(StoredItem, meeting_id=meetings)}
    items = _items_of(poll, meetings, keys, before.values())
    changes = _entry_changes(rows, poll, items, meetings)
    items = _with_articles(items, changes)
    rows.append(meeting_changes(meetings, stored, items, before, now))
    rows.upsert(_to_write(meetings, stored))
    written = _to_write({row.item_id: row for row in items}, before)
    rows.upsert(written)
    store_votes(rows, written, before)
    _store_roster(rows, source, found.roster, now)
    matters = _changed_matters(written, before)
    refresh_matters(rows, source.desk, source.agency, matters)
    return changes


def _keys_by_id(
    poll: PollToStore, known: Mapping[str, StoredMeeting]
) -> dict[str, str]:
    """Return the key of each listed meeting by its meeting_id: that of its stored row,
    else a new one.
    """
    keys: dict[str, str] = {}
    for key in poll.found.meetings:
        row = known.get(key)
        new_id = id_of_key(poll.source.agency, poll.source.kind, key)
        keys[row.meeting_id if row else new_id] = key
    return keys


def _meetings(
    rows: Rows,
    poll: PollToStore,
    keys: Mapping[str, str],
    stored: Mapping[str, StoredMeeting],
) -> dict[str, StoredMeeting]:
    """Return the rows of the listed and of the vanished meetings, by meeting_id."""
    meetings: dict[str, StoredMeeting] = {}
    for own_id, key in keys.items():
        meetings[own_id] = meeting_row(poll, own_id, key, stored.get(own_id))
    for row in _vanished(rows, poll, keys):
        meetings[row.meeting_id] = row
    return meetings


def _items_of(
    poll: PollToStore,
    meetings: Mapping[str, StoredMeeting],
    keys: Mapping[str, str],
    before: Iterable[StoredItem],
) -> list[StoredItem]:
    """Return the rows of the items of these meetings."""
    of_meeting: dict[str, list[StoredItem]] = defaultdict(list)
    for item in before:
        of_meeting[item.meeting_id].append(item)
    items: list[StoredItem] = []
    for own_id, meeting in meetings.items():
        items += item_rows(poll, meeting, keys.get(own_id), of_meeting[own_id])
    return items


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


def _stored_by_key(rows: Rows, poll: PollToStore) -> dict[str, StoredMeeting]:
    """Return the stored rows of the listed meetings, by the key of the listing.

    Those that the poll began with may have changed since.
    """
    source, meetings = poll.source, poll.found.meetings
    ids = [id_of_key(source.agency, source.kind, key) for key in meetings]
    found = rows.read(StoredMeeting, meeting_id=ids)
    if len(found) < len(ids):
        found += _others(rows, poll)
    return known_rows(source, meetings, found, day_of(poll.now, source.timezone))


def _others(rows: Rows, poll: PollToStore) -> list[StoredMeeting]:
    """Return the stored rows that the listed meetings may have under other ids."""
    source = poll.source
    vendor_ids: list[str] = []
    days = list(poll.found.whole_days or ())
    for meeting in poll.found.meetings.values():
        if meeting.vendor_id:
            vendor_ids.append(meeting.vendor_id)
        if meeting.starts_at:
            days.append(meeting.starts_at.date())
    found = rows.read(StoredMeeting, source_id=[source.source_id], vendor_id=vendor_ids)
    if not days:
        return found
    of_days = rows.read(
        StoredMeeting,
        desk=[source.desk],
        agency=[source.agency],
        day=_days_between(min(days), max(days))[:_MAX_DAYS],
    )
    return found + of_days


def _days_between(first: date, last: date) -> list[date]:
    count = (last - first).days + 1
    return [first + timedelta(days=n) for n in range(count)]


def _is_only_seen(row: _Row, before: _Row) -> bool:
    """Whether a row differs from that before by the times of the poll only."""
    seen = replace(row, last_seen_at=before.last_seen_at)
    if not isinstance(seen, StoredMeeting) or not isinstance(before, StoredMeeting):
        return seen == before
    if seen.items_asked_at is not None and before.items_asked_at is not None:
        seen = replace(seen, items_asked_at=before.items_asked_at)
    return seen == before


def _to_write(found: Mapping[str, _Row], stored: Mapping[str, _Row]) -> list[_Row]:
    """Return the rows to write, from those found and those stored, both by id."""
    changed: list[_Row] = []
    for own_id, row in found.items():
        before = stored.get(own_id)
        if before is None or not _is_only_seen(row, before):
            changed.append(row)
            continue
        if row.last_seen_at - before.last_seen_at > _SEEN_EVERY:
            changed.append(row)
    return changed


def _vanished(
    rows: Rows, poll: PollToStore, keys: Mapping[str, str]
) -> list[StoredMeeting]:
    """Return the future meetings that the answer lacks on the days that it lists
    entirely, with one more missing poll, or cancelled.
    """
    if poll.found.whole_days is None:
        return []
    days = _days_between(*poll.found.whole_days)
    found: list[StoredMeeting] = []
    known = rows.read(StoredMeeting, source_id=[poll.source.source_id], day=days)
    for row in known:
        if row.starts_at is None:
            continue
        if row.starts_at <= poll.now:
            continue
        if row.meeting_id in keys:
            continue
        if row.status != "cancelled":
            found.append(_missing(row))
    return found


def _missing(row: StoredMeeting) -> StoredMeeting:
    row = replace(row, missing_polls=row.missing_polls + 1)
    _logger.debug(
        "%s: missing from %d successive answers", row.meeting_id, row.missing_polls
    )
    if row.missing_polls < _MISSING_POLLS:
        return row
    return replace(row, status="cancelled", status_reason=VANISHED)


# --- entries --------------------------------------------------------------------------


def _entry_changes(
    rows: Rows,
    poll: PollToStore,
    items: Iterable[StoredItem],
    meetings: Mapping[str, StoredMeeting],
) -> EntryChanges:
    """Store and return the entries of the items that are articles; those without a day
    follow once it is known.
    """
    kept: dict[str, StoredItem] = {}
    for item in items:
        if not item.day:
            continue
        if _is_article(item):
            kept[item.item_id] = item
    stored = rows.read(FeedEntry, source_id=[poll.source.source_id], entry_id=kept)
    known = {row.entry_id: row for row in stored}
    new: list[FeedEntry] = []
    updated: list[FeedEntry] = []
    for item in kept.values():
        before = known.get(item.item_id)
        row = _entry(poll, item, meetings[item.meeting_id], before)
        if before is None:
            new.append(row)
        elif (before.entry_hash, before.day) != (row.entry_hash, row.day):
            updated.append(row)
    rows.upsert(new + updated)
    return EntryChanges((*new, *updated), len(new), len(updated))


def _is_article(item: StoredItem) -> bool:
    if item.filter_tier != "dropped":
        return True
    return item.article_id is not None


def _entry(
    poll: PollToStore, item: StoredItem, meeting: StoredMeeting, known: FeedEntry | None
) -> FeedEntry:
    assert item.day is not None
    page = meeting.url or meeting.agenda_url or poll.source.url
    url_hash = sha256(item.item_id)
    own_id = article_id(item.agency, item.day, item.title, url_hash)
    first_seen_at = poll.now
    if known is not None:
        url_hash = known.url_hash
        own_id = known.article_id
        first_seen_at = known.first_seen_at
    state = _item_hash(item, meeting)
    return FeedEntry(
        entry_id=item.item_id,
        source_id=poll.source.source_id,
        desk=item.desk,
        agency=item.agency,
        day=item.day,
        article_id=own_id,
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
        first_seen_at=first_seen_at,
        last_seen_at=poll.now,
        trace_id=poll.trace_id,
    )


def _posted_at(
    poll: PollToStore, item: StoredItem, meeting: StoredMeeting, known: FeedEntry | None
) -> datetime:
    """Return when the agenda with the item was posted, if the vendor states it, else
    when the item was first seen.
    """
    if known is not None and known.published_at not in (None, meeting.starts_at):
        return known.published_at or item.first_seen_at
    for one in poll.found.meetings.values():
        if one.vendor_id != meeting.vendor_id:
            continue
        if one.posted_at:
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


_Listed = TypeVar("_Listed", StoredBody, StoredMember, StoredOffice)


def person_key(name: str) -> str:
    """Return the key of a person within an agency: the name in lower case without
    accents, with hyphens.
    """
    return "-".join(normal_words(name))


# --- votes ----------------------------------------------------------------------------


def store_votes(
    rows: Rows, items: Sequence[StoredItem], before: Mapping[str, StoredItem]
) -> None:
    """Store the votes on the items whose votes or day changed; `before` are
    the stored items by id.
    """
    known: list[str] = []
    votes: list[StoredVote] = []
    for item in items:
        stored = before.get(item.item_id)
        of_item = _votes_of(item)
        if stored is None:
            votes += of_item
        elif of_item != _votes_of(stored):
            known.append(item.item_id)
            votes += of_item
    if known:
        rows.delete(StoredVote, item_id=known)
    rows.upsert(votes)


def _votes_of(item: StoredItem) -> list[StoredVote]:
    votes: list[StoredVote] = []
    for vote in json.loads(item.votes_json):
        person = person_key(vote["person"])
        if not person:
            continue
        votes.append(
            StoredVote(
                item_id=item.item_id,
                meeting_id=item.meeting_id,
                desk=item.desk,
                agency=item.agency,
                day=item.day,
                person=person,
                name=line(vote["person"], "name") or "",
                person_id=vote.get("person_id", ""),
                value=line(vote["value"], "name") or "",
            )
        )
    return votes


# --- bodies, members and offices ------------------------------------------------------


def _store_roster(rows: Rows, source: Source, roster: Roster, now: datetime) -> None:
    """Store the bodies, members and offices that a poll listed and that are new or
    changed; none are deleted.
    """
    of_poll: dict[str, Any] = {
        "desk": source.desk,
        "agency": source.agency,
        "listed_at": now,
    }
    bodies = [StoredBody(**of_poll, **asdict(body)) for body in roster.bodies]
    _store_listed(rows, StoredMember, _members(roster, of_poll), "person")
    _store_listed(rows, StoredBody, bodies, "name")
    _store_listed(rows, StoredOffice, _offices(roster, of_poll), "office_id")


def _members(roster: Roster, of_poll: Mapping[str, Any]) -> list[StoredMember]:
    """Return the rows of the persons that have a name."""
    members: list[StoredMember] = []
    for one in roster.persons:
        person = person_key(one.name)
        if person:
            members.append(StoredMember(**of_poll, person=person, **asdict(one)))
    return members


def _offices(roster: Roster, of_poll: Mapping[str, Any]) -> list[StoredOffice]:
    """Return the rows of the offices that have an id and a person."""
    offices: list[StoredOffice] = []
    for one in roster.offices:
        person = person_key(one.name)
        if not person:
            continue
        if one.office_id:
            offices.append(StoredOffice(**of_poll, person=person, **asdict(one)))
    return offices


def _store_listed(
    rows: Rows, record: type[_Listed], listed: Sequence[_Listed], key: str
) -> None:
    """Store the rows that say something new. Of several with one key, such as
    namesakes, the active one counts.
    """
    if not listed:
        return
    found: dict[str, _Listed] = {}
    for row in sorted(listed, key=lambda row: getattr(row, "is_active", True)):
        found[getattr(row, key)] = row
    of_agency = rows.read(record, desk=[listed[0].desk], agency=[listed[0].agency])
    for stored in of_agency:
        name = getattr(stored, key)
        row = found.get(name, stored)
        if replace(stored, listed_at=row.listed_at) == row:
            found.pop(name, None)  # listed as it is stored
    rows.upsert(list(found.values()))
