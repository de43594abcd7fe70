"""Makes the rows of agenda items from a poll's answer. Their ids never change with a title."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from typing import Final

from news_assets.pipeline.civic.filters import filtered
from news_assets.pipeline.civic.matters import matter_key
from news_assets.pipeline.civic.topics import topics_of_item
from news_assets.pipeline.stage_state.declaration import sha256
from news_assets.records.desks import ItemFilters, Source
from news_assets.records.meetings import AgendaItem, Attachment, Meeting, MeetingAnswer, StoredItem, StoredMeeting
from news_assets.sources.civic.reading.ids import item_id
from news_assets.text.limits import line

REMOVED: Final = "no longer on the agenda"
PACKET_PART: Final = "item="  # fragment of a packet's address: the pages of one item
WHOLE: Final = "agenda"  # in place of an item's vendor id: the agenda or packet of a meeting whose items are not known
MINUTES: Final = "minutes"  # in place of an item's vendor id: the minutes of a meeting


@dataclass(frozen=True, slots=True)
class CivicPoll:
    """What a poll of a civic source found."""

    source: Source
    answer: MeetingAnswer
    now: datetime
    trace_id: str


def item_rows(
    poll: CivicPoll, meeting: StoredMeeting, listed: Meeting | None, before: Sequence[StoredItem]
) -> list[StoredItem]:
    """Return the rows of a meeting's items; those of one whose items were not had this time stay, on its day."""
    found = listed.items if listed is not None else ()
    was_asked = listed is not None and (bool(found) or listed.vendor_id in poll.answer.asked)
    if not was_asked:
        return [replace(item, day=meeting.day) for item in before]
    known = {item.item_id: item for item in before}
    items = (*(found or _whole_agenda(meeting)), *_minutes(meeting, len(found)))
    in_packet = meeting.packet_url if found and not any(item.attachments for item in found) else None
    rows = [_item_row(poll, meeting, item, in_packet, known) for item in items]
    listed_ids = {row.item_id for row in rows}
    return [*rows, *(_removed(item, meeting.day) for item in before if item.item_id not in listed_ids)]


def _whole_agenda(meeting: StoredMeeting) -> tuple[AgendaItem, ...]:
    """Return one item that stands for the agenda of a meeting without items."""
    url = meeting.packet_url or meeting.agenda_url
    if url is None or meeting.status == "cancelled":
        return ()
    attachment = Attachment(name="Agenda packet" if meeting.packet_url else "Agenda", url=url)
    title = meeting.title or meeting.body
    return (AgendaItem(sequence=0, title=title, vendor_id=WHOLE, attachments=(attachment,)),)


def _minutes(meeting: StoredMeeting, item_count: int) -> tuple[AgendaItem, ...]:
    """Return one item that stands for the minutes of a meeting, after those of its agenda."""
    if meeting.minutes_url is None or meeting.status == "cancelled":
        return ()
    title = f"Minutes: {meeting.title or meeting.body}"
    attachment = Attachment(name="Minutes", url=meeting.minutes_url)
    return (AgendaItem(sequence=item_count + 1, title=title, vendor_id=MINUTES, attachments=(attachment,)),)


def _removed(item: StoredItem, day: date | None) -> StoredItem:
    tier, reason = (
        (item.filter_tier, item.filter_reason) if item.filter_tier == "dropped" else ("not_enriched", REMOVED)
    )
    return replace(item, day=day, filter_tier=tier, filter_reason=reason)


def _item_row(
    poll: CivicPoll, meeting: StoredMeeting, item: AgendaItem, packet_url: str | None, known: Mapping[str, StoredItem]
) -> StoredItem:
    key = item_id(meeting.meeting_id, item)
    before = known.get(key)
    why = _filtered(item, poll.answer.filters)
    attachments = item.attachments
    if packet_url is not None and why is None and item.vendor_id != MINUTES:
        attachments = (Attachment(name="Agenda packet", url=f"{packet_url}#{PACKET_PART}{key.rpartition('/')[2]}"),)
    keeps_votes = before is not None and bool(before.votes_version) and not item.has_votes
    names = tuple(line(one.name, "name") or "" for one in attachments)
    urls = tuple(one.url for one in attachments)
    return StoredItem(
        item_id=key,
        meeting_id=meeting.meeting_id,
        desk=poll.source.desk,
        agency=poll.source.agency,
        day=meeting.day,
        sequence=item.sequence,
        number=item.number,
        title=line(item.title, "title") or "",
        section=line(item.section, "name") or "",
        matter="" if item.vendor_id == MINUTES else matter_key(item),
        matter_file=item.matter_file,
        matter_id=item.matter_id,
        matter_type=item.matter_type,
        sponsors=before.sponsors if before and keeps_votes else item.sponsors,
        votes_json=before.votes_json if before and keeps_votes else json.dumps([asdict(one) for one in item.votes]),
        votes_version=before.votes_version if before and keeps_votes else item.version * item.has_votes,
        action=item.outcome.action,
        result=item.outcome.result,
        tally=item.outcome.tally,
        mover=item.outcome.mover,
        seconder=item.outcome.seconder,
        decision=before.decision if before else "",
        matter_status=item.matter_status,
        attachment_names=names,
        attachment_urls=urls,
        document_ids=tuple(map(document_id, urls, names)),
        topics=_topics(item, why, before),
        filter_tier=why[0] if why else None,
        filter_reason=why[1] if why else None,
        article_id=before.article_id if before else None,
        first_seen_at=before.first_seen_at if before else poll.now,
        last_seen_at=poll.now,
    )


def _topics(item: AgendaItem, why: tuple[str, str] | None, before: StoredItem | None) -> tuple[str, ...]:
    """Return the topics by the title; those by the summary of an item with the same title stay."""
    if (why and why[0] == "dropped") or item.vendor_id in (WHOLE, MINUTES):
        return ()
    title = line(item.title, "title") or ""
    return before.topics if before and before.topics and before.title == title else topics_of_item(title)


def _filtered(item: AgendaItem, filters: ItemFilters) -> tuple[str, str] | None:
    if item.vendor_id in (WHOLE, MINUTES):
        return None
    if not item.title.strip():
        return "dropped", "without a title"
    why = filtered(item.title, filters)
    return (why.tier, why.reason) if why else None


def document_id(url: str, name: str) -> str:
    """Return the id of an attachment."""
    return sha256(f"{url}\n{name}")


def is_whole_agenda(item: StoredItem) -> bool:
    """Whether an item stands for the agenda of a meeting whose items are not known."""
    return item.item_id.endswith(f"/{WHOLE}")


def is_minutes(item: StoredItem) -> bool:
    """Whether an item stands for the minutes of a meeting."""
    return item.item_id.endswith(f"/{MINUTES}")
