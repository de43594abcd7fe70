"""Which meeting is which: ids of meetings and items, the hashes that show which of them
changed, and several answers about one meeting put together. No other module makes ids.

An id consists of who publishes (the agency's key, or the host), the vendor and the
vendor's id, so that title and time do not change it. A meeting without a vendor's id
gets one from what is first listed of it, and keeps that (`pipeline/civic/meeting_rows.py`).
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from urllib.parse import urlsplit

from news_assets.records.meetings import (
    AgendaItem,
    Link,
    Location,
    Meeting,
    MeetingListing,
    Vote,
)
from news_assets.sources.civic.agenda_pages import clock_in_notes
from news_assets.sources.civic.page_values import parameter, unique_links
from news_assets.text.urls import host_of

_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,60}")
_HASH_CHARS = 16
_FILE_NAME = re.compile(r"/([A-Za-z0-9_-]{1,40})\.[A-Za-z]{2,5}\Z")


def owner_of(url: str) -> str:
    """Return the client of an address, where no agency is known: its host, or its name
    on a host that many share.
    """
    path = urlsplit(url).path
    host = host_of(url)
    database, marker, _ = path.lower().partition("/board.nsf")
    if marker:
        return f"{host}{database}".lower()
    shared = parameter(url, "cid", "cc")
    if host.startswith("webapi."):
        _, _, client = path.partition("/v1/")
        shared = client.split("/")[0]
    return (shared or host).lower()


def meeting_id(owner: str, kind: str, meeting: Meeting) -> str:
    """Return our id of a meeting: `paloaltoCA/primegov/554`."""
    key = listed_key(meeting)
    return id_of_key(owner, kind, key)


def id_of_key(owner: str, kind: str, key: str) -> str:
    """Return our id of the meeting with this key."""
    return f"{owner}/{kind.removesuffix('_html')}/{_part(key)}"


def listed_key(meeting: Meeting) -> str:
    """Return what distinguishes a meeting from others in one answer: the vendor's id,
    else name and hash of what it lists.

    It is empty for a meeting with neither id, title nor day.
    """
    if meeting.vendor_id:
        return meeting.vendor_id
    name = " ".join((meeting.title or meeting.body).lower().split())
    if not name and meeting.starts_at is None:
        return ""
    href = meeting.links[0].href if meeting.links else ""
    found = digest(name, str(meeting.starts_at), href)
    match = _FILE_NAME.search(href[:2000])
    if match:
        return f"{match[1]}-{found}"
    return found


def item_id(of_meeting: str, item: AgendaItem) -> str:
    """Return our id of an agenda item; of one without a vendor's id, by its title."""
    if item.vendor_id:
        return f"{of_meeting}/{_part(item.vendor_id)}"
    return f"{of_meeting}/at-{digest(' '.join(item.title.lower().split()))}"


def _part(vendor_id: str) -> str:
    if _PLAIN.fullmatch(vendor_id):
        return vendor_id
    return digest(vendor_id)


def digest(*parts: str) -> str:
    """Return a short hash, for what a vendor gives no id."""
    return hashlib.sha256(
        "\n".join(parts).encode("utf-8", "surrogatepass")
    ).hexdigest()[:_HASH_CHARS]


# --- hashes that show changes ---------------------------------------------------------

UNDATED = ""  # the key of meetings without a day

# They change without a change of the meeting: time passes, and recordings are published
# and moved.
_BY_ITSELF = ("passed", "confirmed", "tentative")
_RECORDING = ("video", "audio", "media", "webcast")


def fingerprints(listing: MeetingListing) -> dict[str, str]:
    """Return a hash of what is listed for each local day (ISO 8601), whatever its
    order.
    """
    by_day: dict[str, list[str]] = defaultdict(list)
    for meeting in listing.meetings:
        day = UNDATED
        if meeting.starts_at:
            day = meeting.starts_at.date().isoformat()
        by_day[day].append(repr(_lasting(meeting)))
    return {day: _hash("\n".join(sorted(rows))) for day, rows in by_day.items()}


def _hash(text: str) -> str:
    data = text.encode("utf-8", "replace")
    return hashlib.sha256(data).hexdigest()


def _lasting(meeting: Meeting) -> Meeting:
    """Return a meeting without what changes by itself."""
    links = [link for link in meeting.links if not _is_recording(link)]
    status = meeting.status
    if status in _BY_ITSELF:
        status = "tentative"
    return replace(meeting, status=status, video_url=None, links=tuple(links))


def _is_recording(link: Link) -> bool:
    title = link.title.lower()
    return any(word in title for word in _RECORDING)


def fingerprint(meeting: Meeting) -> str:
    """Return the SHA-256 of one meeting as it is listed, without its items."""
    listed = replace(_lasting(meeting), items=())
    return _hash(repr(listed))


def changed_days(
    known: Mapping[str, str], found: Mapping[str, str], *, lists_changes_only: bool
) -> frozenset[str]:
    """Return the days whose meetings changed; of an answer that lists changes only, the
    missing days did not.
    """
    days = set(found)
    if not lists_changes_only:
        days.update(known)
    return frozenset(day for day in days if known.get(day) != found.get(day))


# --- several answers about one meeting ------------------------------------------------


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
        has_votes = item.vendor_id in votes or item.matter_id in sponsors
        if versions is not None:
            has_votes = item.version in versions
        matter_id = item.matter_id or ""
        complete = replace(
            item,
            votes=votes.get(item.vendor_id, item.votes),
            sponsors=sponsors.get(matter_id, item.sponsors),
            has_votes=has_votes,
        )
        items.append(complete)
    return replace(meeting, items=tuple(items))
