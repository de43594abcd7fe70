"""Puts together what several answers say of the same meeting or item, votes and
sponsors included; pure.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from news_assets.records.meetings import (
    AgendaItem,
    Location,
    Meeting,
    MeetingListing,
    Vote,
)
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
        known = found.get(key, meeting)
        found[key] = replace(meeting, items=meeting.items or known.items)
    _add_parts(partial, found)
    return found


def _add_parts(partial: Iterable[Meeting], found: dict[str, Meeting]) -> None:
    """Complete the meetings found, which have their keys, by parts of them."""
    by_agenda = {meeting.agenda_id: key for key, meeting in found.items()}
    by_agenda.pop("", None)
    for meeting in partial:
        key = by_agenda.get(meeting.agenda_id, meeting.vendor_id)
        if not key:  # the page of an item, without its meeting
            continue
        listed = found.get(key)
        found[key] = _completed(listed, meeting) if listed else meeting


def _completed(listed: Meeting, page: Meeting) -> Meeting:
    """Return a listed meeting with what its own page adds: items, notes, and what the
    listing leaves out.
    """
    timed = _timed(listed, page)
    missing = {
        name: getattr(page, name)
        for name in ("url", "agenda_url", "packet_url", "minutes_url", "video_url")
        if not getattr(listed, name)
    }
    facts = dict.fromkeys((*listed.participation, *page.participation))
    return replace(
        listed,
        **missing,
        items=_completed_items(listed.items, page.items),
        starts_at=timed.starts_at,
        ends_at=timed.ends_at,
        all_day=timed.all_day,
        status=page.status if _is_news(listed, page) else listed.status,
        location=_completed_location(listed.location, page.location),
        links=unique_links((*listed.links, *page.links)),
        comment=listed.comment or page.comment,
        agenda_notes=page.agenda_notes or listed.agenda_notes,
        participation=tuple(facts),
    )


def _completed_location(listed: Location, page: Location) -> Location:
    return Location(
        name=listed.name or page.name, address=listed.address or page.address
    )


def _timed(listed: Meeting, page: Meeting) -> Meeting:
    """Return which of them states the hour, for the day of the listing."""
    if listed.starts_at is None:
        return page if page.starts_at else listed
    if not listed.all_day:
        return listed
    day = listed.starts_at.date()
    clock = clock_in_notes(page.agenda_notes, day)
    if clock is not None:
        starts_at = datetime.combine(day, clock, listed.starts_at.tzinfo)
        return replace(listed, starts_at=starts_at, all_day=False)
    if page.starts_at is None:
        return listed
    if page.all_day:
        return listed
    if page.starts_at.date() != day:
        return listed
    return page


def _is_news(listed: Meeting, page: Meeting) -> bool:
    """Whether a meeting's page knows a status that the listing does not."""
    if page.status == "cancelled":
        return True
    if listed.status != "tentative":
        return False
    return page.status == "confirmed"


def _completed_items(
    listed: Sequence[AgendaItem], found: Sequence[AgendaItem]
) -> tuple[AgendaItem, ...]:
    """Return the items of an agenda, each completed by its own pages."""
    pages: dict[str, list[AgendaItem]] = defaultdict(list)
    agenda: list[AgendaItem] = []
    for item in found:
        if item.sequence:
            agenda.append(item)
        else:
            pages[item.vendor_id].append(item)
    complete: list[AgendaItem] = []
    for item in agenda or listed:
        for page in pages.get(item.vendor_id, ()):
            item = _completed_item(item, page)
        complete.append(item)
    return tuple(complete)


def _completed_item(item: AgendaItem, page: AgendaItem) -> AgendaItem:
    missing = {
        name: getattr(page, name)
        for name in ("matter_file", "matter_id", "matter_type", "sponsors", "votes")
        if not getattr(item, name)
    }
    unread = [url for url in item.details_urls if url not in page.details_urls]
    files = dict.fromkeys((*item.attachments, *page.attachments))
    return replace(
        item,
        **missing,
        attachments=tuple(files),
        outcome=item.outcome.completed(page.outcome),
        details_urls=tuple(unread),
    )


# --- votes and sponsors ---------------------------------------------------------------


def with_votes(
    meeting: Meeting,
    listings: Sequence[MeetingListing],
    versions: Collection[str] | None = None,
) -> Meeting:
    """Return a meeting with the votes and sponsors of these answers.

    Items with one of these versions count as requested; without `versions` those that
    an answer is about.
    """
    votes: dict[str, tuple[Vote, ...]] = {}
    sponsors: dict[str, tuple[str, ...]] = {}
    for listing in listings:
        votes |= {one.item_id: one.votes for one in listing.votes}
        sponsors |= {one.matter_id: one.sponsors for one in listing.sponsors}
    items: list[AgendaItem] = []
    for item in meeting.items:
        if versions is not None:
            has_votes = item.version in versions
        else:
            has_votes = item.vendor_id in votes or item.matter_id in sponsors
        complete = replace(
            item,
            votes=votes.get(item.vendor_id, item.votes),
            sponsors=sponsors.get(item.matter_id or "", item.sponsors),
            has_votes=has_votes,
        )
        items.append(complete)
    return replace(meeting, items=tuple(items))
