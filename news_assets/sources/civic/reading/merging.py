"""Puts together what several answers say of the same meeting or item; pure."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import reduce

from news_assets.records.meetings import AgendaItem, Location, Meeting, MeetingListing
from news_assets.sources.civic.reading.agenda_pages import clock_in_notes
from news_assets.sources.civic.reading.ids import listed_key
from news_assets.sources.civic.reading.page_values import unique_links


def merged(meetings: Iterable[Meeting]) -> tuple[Meeting, ...]:
    """Return each meeting once; the later answer counts, and partial ones complete the
    listed one.
    """
    return tuple(merged_by_key(meetings).values())


def merged_by_key(meetings: Iterable[Meeting]) -> dict[str, Meeting]:
    """Return each meeting once, by the key that it is listed with."""
    found: dict[str, Meeting] = {}
    partial: list[Meeting] = []
    for meeting in meetings:
        if meeting.is_partial:
            partial.append(meeting)
            continue
        key = listed_key(meeting)
        known = found.get(key)
        found[key] = (
            replace(meeting, items=meeting.items or known.items) if known else meeting
        )
    by_agenda = {
        meeting.agenda_id: key for key, meeting in found.items() if meeting.agenda_id
    }
    for meeting in partial:
        key = by_agenda.get(meeting.agenda_id, meeting.vendor_id)
        if not key:  # the page of an item, without its meeting
            continue
        found[key] = completed(found[key], meeting) if key in found else meeting
    return found


def completed(listed: Meeting, page: Meeting) -> Meeting:
    """Return a listed meeting with what its own page adds: items, notes, and what the
    listing leaves out.
    """
    timed = _timed(listed, page)
    return replace(
        listed,
        items=_completed_items(listed.items, page.items),
        starts_at=timed.starts_at,
        ends_at=timed.ends_at,
        all_day=timed.all_day,
        status=page.status if _is_news(listed, page) else listed.status,
        location=Location(
            name=listed.location.name or page.location.name,
            address=listed.location.address or page.location.address,
        ),
        url=listed.url or page.url,
        agenda_url=listed.agenda_url or page.agenda_url,
        packet_url=listed.packet_url or page.packet_url,
        minutes_url=listed.minutes_url or page.minutes_url,
        video_url=listed.video_url or page.video_url,
        links=unique_links((*listed.links, *page.links)),
        comment=listed.comment or page.comment,
        agenda_notes=page.agenda_notes or listed.agenda_notes,
        participation=tuple(
            dict.fromkeys((*listed.participation, *page.participation))
        ),
    )


def _timed(listed: Meeting, page: Meeting) -> Meeting:
    """Return which of them states the hour, for the day of the listing."""
    if listed.starts_at is None:
        if page.starts_at:
            return page
        return listed
    if listed.all_day and (
        clock := clock_in_notes(page.agenda_notes, listed.starts_at.date())
    ):
        starts_at = datetime.combine(
            listed.starts_at.date(), clock, listed.starts_at.tzinfo
        )
        return replace(listed, starts_at=starts_at, all_day=False)
    if not listed.all_day or page.starts_at is None or page.all_day:
        return listed
    if page.starts_at.date() == listed.starts_at.date():
        return page
    return listed


def _is_news(listed: Meeting, page: Meeting) -> bool:
    """Whether a meeting's page knows a status that the listing does not."""
    if page.status == "cancelled":
        return True
    return listed.status == "tentative" and page.status == "confirmed"


def _completed_items(
    listed: Sequence[AgendaItem], found: Sequence[AgendaItem]
) -> tuple[AgendaItem, ...]:
    """Return the items of an agenda, each completed by its own pages."""
    pages: dict[str, list[AgendaItem]] = defaultdict(list)
    for item in found:
        if not item.sequence:
            pages[item.vendor_id].append(item)
    items = [item for item in found if item.sequence] or listed
    return tuple(
        reduce(_completed_item, pages.get(item.vendor_id, ()), item) for item in items
    )


def _completed_item(item: AgendaItem, page: AgendaItem) -> AgendaItem:
    return replace(
        item,
        matter_file=item.matter_file or page.matter_file,
        matter_id=item.matter_id or page.matter_id,
        matter_type=item.matter_type or page.matter_type,
        sponsors=item.sponsors or page.sponsors,
        votes=item.votes or page.votes,
        attachments=tuple(dict.fromkeys((*item.attachments, *page.attachments))),
        outcome=item.outcome.completed(page.outcome),
        details_urls=tuple(
            url for url in item.details_urls if url not in page.details_urls
        ),
    )


def with_votes(
    meeting: Meeting,
    listings: Sequence[MeetingListing],
    versions: Collection[str] | None = None,
) -> Meeting:
    """Return a meeting with the votes and sponsors of these answers.

    Items with one of these versions count as requested; without `versions` those that
    an answer is about.
    """
    votes = {one.item_id: one.votes for listing in listings for one in listing.votes}
    sponsors = {
        one.matter_id: one.sponsors for listing in listings for one in listing.sponsors
    }

    def completed(item: AgendaItem) -> AgendaItem:
        is_known = item.vendor_id in votes or item.matter_id in sponsors
        return replace(
            item,
            votes=votes.get(item.vendor_id, item.votes),
            sponsors=sponsors.get(item.matter_id or "", item.sponsors),
            has_votes=is_known if versions is None else item.version in versions,
        )

    return replace(meeting, items=tuple(map(completed, meeting.items)))
