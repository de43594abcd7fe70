"""Makes meetings from what a vendor states: times placed in the zone, the status, and
the roles of links.

A stored meeting becomes a listed one again when its items are requested without a new
listing.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from news_assets.records.meetings import (
    AgendaItem,
    Link,
    Location,
    Meeting,
    MeetingStatus,
    StoredMeeting,
)
from news_assets.sources.civic.reading.moments import Moment
from news_assets.sources.civic.reading.participation import participation_of
from news_assets.sources.civic.reading.status import status_of
from news_assets.sources.civic.vendor import Reading
from news_assets.text.dates import zone_info

# A text has the name before the address where a street number follows a separator:
# "Town Hall - 12 Oak St".
_NAME_AND_ADDRESS = re.compile(
    r"(?P<name>[^\n]{1,200}?)\s{0,3}(?:\n|,|;|\s[-–—]{1,2}\s)\s{0,3}(?P<address>\d{1,6}\s?\S.*)",
    re.DOTALL,
)
_STREET = re.compile(r"\b\d{1,6}\s{1,3}(?:[NSEW]\.?\s)?[A-Z0-9][\w'’.-]{0,30}")
_ROOM = re.compile(r"\b(?:room|suite|floor|rm|ste|fl)\.?\s{1,3}#?\d", re.IGNORECASE)
_STATE_AND_ZIP = re.compile(r"\b[A-Z]{2}\.?,?\s{1,3}\d{5}\b")

_ROLES = {
    "agenda": (r"agenda", r"packet|minutes|cover|summary"),
    "packet": (r"packet|merged|package", r"minutes"),
    "minutes": (r"minutes", r"agenda|video"),
    "video": (r"video|media|youtube|recording|webcast", r"download|mp4"),
}
_ROLE_PATTERNS = {
    role: (re.compile(wanted, re.IGNORECASE), re.compile(unwanted, re.IGNORECASE))
    for role, (wanted, unwanted) in _ROLES.items()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What a vendor states of one meeting, as it stands there.

    `status_words` are its own status and the like; `is_final` whether that says that
    the meeting is certain. `is_all_day`: the vendor itself says that it has no hour.
    """

    vendor_id: str
    agenda_id: str = ""
    title: str = ""
    body: str = ""
    start: Moment | None = None
    end: Moment | None = None
    location: Location = Location()
    url: str | None = None
    links: Sequence[Link] = ()
    items: Sequence[AgendaItem] = ()
    comment: str = ""
    status_words: Sequence[str] = ()
    is_final: bool = False
    updated_at: datetime | None = None
    posted_at: datetime | None = None


def meeting_of(stated: Stated, reading: Reading) -> Meeting:
    """Return the meeting. A meeting of which only the day is known has passed when its
    day is over.
    """
    links = tuple(stated.links)
    starts_at, ends_at = _times(stated, reading)
    all_day = stated.start is not None and stated.start.clock is None
    over = ends_at
    if starts_at and all_day:
        over = starts_at + timedelta(days=1)
    titles = [link.title for link in links]
    names = [stated.title, stated.body, *stated.status_words, *titles]
    return Meeting(
        vendor_id=stated.vendor_id,
        agenda_id=stated.agenda_id,
        title=stated.title or stated.body,
        body=stated.body,
        starts_at=starts_at,
        ends_at=ends_at,
        all_day=all_day,
        status=status_of(
            names, stated.comment, starts_at, over, reading.now, stated.is_final
        ),
        location=stated.location,
        url=stated.url,
        agenda_url=_first(links, "agenda"),
        packet_url=_first(links, "packet"),
        minutes_url=_first(links, "minutes"),
        video_url=_first(links, "video"),
        links=links,
        items=tuple(stated.items),
        comment=stated.comment,
        participation=participation_of(stated.comment),
        updated_at=stated.updated_at,
        posted_at=stated.posted_at,
    )


def _times(stated: Stated, reading: Reading) -> tuple[datetime | None, datetime | None]:
    """Return begin and end in the zone; no end without hours, or not after the begin."""
    start, end = stated.start, stated.end
    if start is None:
        return None, None
    starts_at = start.placed(reading.timezone)
    if end is None or start.clock is None or end.clock is None:
        return starts_at, None
    ends_at = end.placed(reading.timezone)
    if ends_at <= starts_at:
        return starts_at, None
    return starts_at, ends_at


def _first(links: Sequence[Link], role: str) -> str | None:
    """Return the first link with a role, by its title."""
    wanted, unwanted = _ROLE_PATTERNS[role]
    for link in links:
        if wanted.search(link.title) and not unwanted.search(link.title):
            return link.href
    return None


def role_of(link: Link) -> str:
    """Return what a link is by its title: agenda, packet, minutes or video; else the
    title.
    """
    for role in _ROLES:
        if _first((link,), role):
            return role
    return link.title.lower()


def location_of(text: str) -> Location:
    """Return name and address of a place written as one text; a text that cannot be
    divided is one of the two.
    """
    lines = [" ".join(part.split()) for part in text[:1000].split("\n")]
    words = "\n".join(filter(None, lines)).strip(" ,;")
    match = _NAME_AND_ADDRESS.fullmatch(words)
    if match:
        name, address = match["name"], match["address"]
    elif _STREET.search(_ROOM.sub("", words)) and _STATE_AND_ZIP.search(words):
        name, address = "", words
    else:
        name, _, address = words.partition("\n")
    return Location(name=_one_line(name), address=_one_line(address))


def _one_line(text: str) -> str:
    return " ".join(text.split()).strip(" ,;")


# --- meetings from stored rows --------------------------------------------------------

_STATUSES: dict[str, MeetingStatus] = {
    "confirmed": "confirmed",
    "cancelled": "cancelled",
    "passed": "passed",
}


def listed_again(row: StoredMeeting, timezone: str) -> Meeting:
    """Return a stored meeting as its source last listed it, with what its own pages
    added.
    """
    links = [Link(**link) for link in json.loads(row.links_json)]
    return Meeting(
        vendor_id=row.vendor_id,
        agenda_id=row.agenda_id,
        title=row.title,
        body=row.body,
        starts_at=_local(row.starts_at, timezone),
        ends_at=_local(row.ends_at, timezone),
        all_day=row.is_all_day,
        status=_STATUSES.get(row.status, "tentative"),
        location=Location(name=row.location_name, address=row.location_address),
        url=row.url,
        agenda_url=row.agenda_url,
        packet_url=row.packet_url,
        minutes_url=row.minutes_url,
        video_url=row.video_url,
        links=tuple(links),
        comment=row.comment,
        participation=participation_of(row.comment),
    )


def _local(at: datetime | None, timezone: str) -> datetime | None:
    if at is None:
        return None
    return at.astimezone(zone_info(timezone))
