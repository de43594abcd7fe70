"""Meetings of councils and bodies as their vendors publish them, and what reading one answer gives.

Ids are the vendor's own here (`vendor_id`); `sources/civic/reading/ids.py` makes ours. Times are aware and in the
agency's zone, because a meeting's day and hour are local. None means unknown; an empty tuple or text means none.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

MeetingStatus = Literal["confirmed", "tentative", "cancelled", "passed"]
ParticipationKind = Literal[
    "email", "phone", "meeting_link", "stream_link", "meeting_id", "passcode", "format", "deadline", "instruction"
]
AnswerState = Literal["ok", "empty", "stale", "closed", "unknown_client", "blocked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Where a meeting takes place: the room or building, and the postal address."""

    name: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A document or page of a meeting, titled as the vendor titles it."""

    title: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticipationFact:
    """One thing that a text says about taking part, at `text[start:end]`.

    `value`: an e-mail address, a telephone number as +15551234567, an address of a meeting or stream, the digits of a
    meeting id, a passcode, `hybrid` or `virtual`, or the words of a deadline or instruction. `purpose` is what the
    words beside an address or number say that it is for: comment, accommodation, dial_in, fax, tty, information.
    """

    kind: ParticipationKind
    value: str
    start: int
    end: int
    purpose: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A document of an agenda item."""

    name: str
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """How one member voted, in the vendor's words."""

    person: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgendaItem:
    """One line of an agenda, in the order of the agenda. `section` is the heading that it stands under.

    `matter_file` is the public number of the matter, `matter_id` the vendor's internal one.
    """

    sequence: int
    title: str
    vendor_id: str = ""
    number: str = ""
    section: str = ""
    matter_file: str | None = None
    matter_id: str | None = None
    matter_type: str | None = None
    sponsors: tuple[str, ...] = ()
    votes: tuple[Vote, ...] = ()
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """One meeting. `all_day` means that only its day is known: `starts_at` is then midnight.

    `is_partial`: the answer tells of the meeting's items only, such as the agenda page of a meeting listed elsewhere.
    `participation` is what `comment` says about taking part; its spans are within it.
    `agenda_id` is the vendor's id of the agenda, where items are asked for by that.
    """

    vendor_id: str
    agenda_id: str = ""
    title: str = ""
    body: str = ""
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    all_day: bool = False
    status: MeetingStatus = "tentative"
    location: Location = Location()
    url: str | None = None
    agenda_url: str | None = None
    packet_url: str | None = None
    minutes_url: str | None = None
    video_url: str | None = None
    links: tuple[Link, ...] = ()
    items: tuple[AgendaItem, ...] = ()
    comment: str = ""
    participation: tuple[ParticipationFact, ...] = ()
    updated_at: datetime | None = None
    is_partial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request that continues or completes an answer; data only, sent by the caller."""

    url: str
    method: Literal["GET", "POST"] = "GET"
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingListing:
    """What one answer says. Nothing may be inferred about missing meetings unless `state` is ok, empty or stale.

    `next_requests` are the pages that continue this one.
    """

    meetings: tuple[Meeting, ...] = ()
    state: AnswerState = "ok"
    problems: tuple[str, ...] = ()
    next_requests: tuple[Request, ...] = ()
