"""Meetings of councils and bodies as their vendors publish them, what reading one
answer gives, and the rows of meetings, agenda items, documents and matters.

Ids are the vendor's own here (`vendor_id`); `sources/civic/identity.py` makes ours.
Times are aware and in the agency's zone, because a meeting's day and hour are local.
None means unknown; an empty tuple or text means none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Annotated, Any, Literal

from news_assets.records.content import (
    KEPT,
    Agency_,
    Desk_,
    ItemId,
    MeetingDay,
    MeetingId,
    SourceId,
    stays_when_withdrawn,
)
from news_assets.records.councils import Roster
from news_assets.records.desks import ItemFilters

MeetingStatus = Literal["confirmed", "tentative", "cancelled", "passed"]
MeetingChangeKind = Literal[
    "cancelled",
    "restored",
    "moved",
    "renamed",
    "agenda",
    "removed",
    "document",
    "voted",
]
ParticipationKind = Literal[
    "email",
    "phone",
    "meeting_link",
    "stream_link",
    "meeting_id",
    "passcode",
    "format",
    "deadline",
    "instruction",
]
_ParticipationText = Literal["comment", "agenda"]
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
    """One thing that a text says about taking part, from `start` to `end` in the
    meeting's comment or agenda notes.

    `value`: an e-mail address, a telephone number as +15551234567, an address of a
    meeting or stream, the digits of a meeting id, a passcode, `hybrid` or `virtual`, or
    the words of a deadline or instruction. `purpose` is what the words beside an
    address or number say that it is for: comment, accommodation, dial_in, fax, tty,
    information.
    """

    kind: ParticipationKind
    value: str
    start: int
    end: int
    purpose: str = ""
    text: _ParticipationText = "comment"


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
    person_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemVotes:
    """How the members voted on the item with this id of the vendor; nothing if there
    was no vote.
    """

    item_id: str
    votes: tuple[Vote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatterSponsors:
    """Who sponsors the matter with this id of the vendor."""

    matter_id: str
    sponsors: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemOutcome:
    """What became of an item, in the vendor's words: "adopted", "Pass", "5-2", and who
    moved and seconded it. What minutes say of it is `StoredItem.decision`.
    """

    action: str = ""
    result: str = ""
    tally: str = ""
    mover: str = ""
    seconder: str = ""

    def __bool__(self) -> bool:
        return any((self.action, self.result, self.tally, self.mover))

    def completed(self, other: "ItemOutcome") -> "ItemOutcome":
        """Return the outcome with what only the other one states."""
        return ItemOutcome(
            action=self.action or other.action,
            result=self.result or other.result,
            tally=self.tally or other.tally,
            mover=self.mover or other.mover,
            seconder=self.seconder or other.seconder,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgendaItem:
    """One line of an agenda, in the order of the agenda. `section` is the heading that
    it stands under.

    `matter_file` is the public number of the matter, `matter_id` the vendor's internal
    one. `details_urls` are pages with what the agenda omits, such as attachments and
    votes, that are still to be read. An item with the sequence 0 is such a page's, with
    its address: it completes the one with its `vendor_id`. `version` is the vendor's id
    of the item with its last change, for a vendor whose votes and sponsors are
    requested for each item; `has_votes` says that they were.
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
    details_urls: tuple[str, ...] = ()
    outcome: ItemOutcome = ItemOutcome()
    matter_status: str = ""
    version: str = ""
    has_votes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Meeting:
    """One meeting. `all_day` means that only its day is known: `starts_at` is then
    midnight.

    `posted_at` is when the agenda was last posted. `is_partial`: the answer completes a
    meeting listed elsewhere, such as its agenda page, and `vendor_id` is the key of that
    one (`listed_key`), unless both state an `agenda_id`. `agenda_notes` is what the
    agenda's page says beside its items. `participation` is what `comment` and
    `agenda_notes` say about taking part; its spans are within these. `vendor_id` is
    empty if the vendor states none. `agenda_id` is the vendor's id of the agenda, where
    items are requested by that.
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
    agenda_notes: str = ""
    participation: tuple[ParticipationFact, ...] = ()
    updated_at: datetime | None = None
    posted_at: datetime | None = None
    is_partial: bool = False


# --- answers --------------------------------------------------------------------------

_NO_ROSTER = Roster()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request that continues or completes an answer; data only, sent by the caller."""

    url: str
    method: Literal["GET", "POST"] = "GET"
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingListing:
    """What one answer says. Nothing may be inferred about missing meetings unless
    `state` is ok, empty or stale.

    `next_requests` are the pages that continue this one.
    """

    meetings: tuple[Meeting, ...] = ()
    votes: tuple[ItemVotes, ...] = ()
    sponsors: tuple[MatterSponsors, ...] = ()
    roster: Roster = _NO_ROSTER
    state: AnswerState = "ok"
    problems: tuple[str, ...] = ()
    next_requests: tuple[Request, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolledMeetings:
    """What the answers of one poll say together.

    Attributes:
        meetings: The meetings listed, by key (`listed_key`), with the items that were
            requested.
        whole_days: First and last day of which every meeting is listed; None if nothing
            may be inferred about missing ones.
        read_agendas: Keys of the meetings whose items the answers hold, or say that
            there are none.
        undetailed: Keys of those with items whose own pages could not be read.
        listed_hashes: Hash of each meeting as it was listed, without what its own pages
            add, by key.
        signals: `day=hash` of each day that the change signal listed; None if it was
            not requested.
        is_pass: Whether it completes the pass of a night: all days were requested, and
            no items of their meetings are left for the next poll.
        filters: The phrases that decide which items become articles.
        roster: Bodies, persons and offices, if they were requested.
    """

    meetings: Mapping[str, Meeting] = field(default_factory=dict)
    whole_days: tuple[date, date] | None = None
    read_agendas: frozenset[str] = frozenset()
    undetailed: frozenset[str] = frozenset()
    listed_hashes: Mapping[str, str] = field(default_factory=dict)
    signals: tuple[str, ...] | None = None
    is_pass: bool = False
    filters: ItemFilters
    roster: Roster = _NO_ROSTER


# --- rows of the lake -----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMeeting:
    """One meeting as it was last listed. A future one that two successive answers lack
    is cancelled, never deleted.
    """

    meeting_id: MeetingId
    desk: Desk_
    agency: Agency_
    source_id: SourceId
    day: MeetingDay
    vendor_id: Annotated[str, "the vendor's id of the meeting; empty if it states none"]
    agenda_id: Annotated[str, "the vendor's id of the agenda, where it has one"]
    body: Annotated[str, "council, board or committee that meets"]
    title: Annotated[str, "title in the listing"]
    starts_at: Annotated[
        datetime | None,
        "begin; midnight in the agency's time zone if only the day is known",
    ]
    ends_at: Annotated[datetime | None, "stated end"]
    is_all_day: Annotated[bool, "only the day is known"]
    status: Annotated[str, "confirmed, tentative, cancelled or passed"]
    status_reason: Annotated[
        str | None, "why a meeting is cancelled that the vendor does not call so"
    ] = None
    location_name: Annotated[str, "room or building"]
    location_address: Annotated[str, "postal address"]
    url: Annotated[str | None, "page of the meeting"]
    agenda_url: Annotated[str | None, "the agenda"]
    packet_url: Annotated[str | None, "agenda and attachments in one document"]
    minutes_url: Annotated[str | None, "the minutes"]
    video_url: Annotated[str | None, "the recording or stream"]
    links_json: Annotated[str, "all links as JSON: title and href of each"]
    comment: Annotated[str, "what the vendor says of the meeting in prose"]
    agenda_notes: Annotated[str, "what the agenda's page says beside its items"] = ""
    participation_json: Annotated[
        str,
        "what comment and agenda say about taking part, as JSON: kind, value, purpose, text"
        " (comment, or agenda: agenda_notes, or the article of a meeting without items) and span of"
        " each",
    ]
    listed_hash: Annotated[
        str,
        "SHA-256 of the meeting as listed; its items are requested again when it changes",
    ]
    items_asked_at: Annotated[
        datetime | None,
        "time of the last answer that had its items, or said that there are none",
    ]
    missing_polls: Annotated[
        int, "successive good answers that should have listed the meeting and did not"
    ] = 0
    first_seen_at: Annotated[datetime, "time of the poll that first listed it"]
    last_seen_at: Annotated[datetime, "time of the last poll that listed it"]


_SAME_NAMES = (
    *("vendor_id", "agenda_id", "body", "title", "comment"),
    *("url", "agenda_url", "packet_url", "minutes_url", "video_url"),
)


def same_values(meeting: Meeting | StoredMeeting) -> dict[str, Any]:
    """Return what a listed meeting and its row have under the same names."""
    return {name: getattr(meeting, name) for name in _SAME_NAMES}


@stays_when_withdrawn(loses_content=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class StoredItem:
    """One agenda item as it was last listed, also where the desk's filters drop it."""

    item_id: ItemId
    meeting_id: MeetingId
    desk: Desk_
    agency: Agency_
    day: MeetingDay
    sequence: Annotated[int, "place in the agenda, from 1"]
    number: Annotated[str, "number in the agenda"]
    title: Annotated[str, "title"]
    section: Annotated[str, "heading that it stands under"]
    matter: Annotated[
        str, "key of the matter within the agency; empty for an item without one"
    ]
    matter_file: Annotated[str | None, "public number of the matter"]
    matter_id: Annotated[str | None, "the vendor's id of the matter"]
    matter_type: Annotated[str | None, "kind of the matter, in the vendor's words"]
    sponsors: Annotated[tuple[str, ...], "sponsors of the matter"]
    votes_json: Annotated[str, "votes as JSON: person, value and person_id of each"]
    votes_version: Annotated[
        str,
        "version of the item whose votes and sponsors were requested; empty where the agenda states"
        " them",
    ] = ""
    action: Annotated[
        str, "what the body did, in the vendor's words, such as adopted"
    ] = ""
    result: Annotated[
        str, "result of the vote, in the vendor's words, such as Pass"
    ] = ""
    tally: Annotated[str, "votes for and against, as stated"] = ""
    mover: Annotated[str, "member who moved the item"] = ""
    seconder: Annotated[str, "member who seconded it"] = ""
    decision: Annotated[str, "what the minutes say was decided on the item"] = ""
    matter_status: Annotated[str, "status of the matter, in the vendor's words"] = ""
    topics: Annotated[
        tuple[str, ...], "codes of its topics, the best first; none for procedure"
    ] = ()
    attachment_names: Annotated[
        tuple[str, ...], "names of the attachments, in the vendor's order"
    ]
    attachment_urls: Annotated[
        tuple[str, ...], "addresses of the attachments, in the same order"
    ]
    document_ids: Annotated[
        tuple[str, ...], "document_id of each attachment, in the same order"
    ]
    filter_tier: Annotated[
        str | None,
        "dropped (it is no article) or not_enriched, by the filters of the desk",
    ]
    filter_reason: Annotated[
        str | None, "why it is filtered, or that it is no longer on the agenda"
    ]
    article_id: Annotated[
        str | None, "article_id of its row of raw_articles; none for a dropped one"
    ]
    first_seen_at: Annotated[datetime, "time of the poll that first listed it"]
    last_seen_at: Annotated[datetime, "time of the last poll that listed it"]


@stays_when_withdrawn(loses_content=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    """One attachment, read or with the reason why not. The same content under other
    addresses is read once.
    """

    document_id: Annotated[str, "SHA-256 of address and name", KEPT]
    article_id: Annotated[
        str, "article_id of the agenda item that it was read for first", KEPT
    ]
    desk: Annotated[str, "key of that item's desk", KEPT]
    agency: Annotated[str, "key of its agency", KEPT]
    day: Annotated[date, "its partition day", KEPT]
    url: Annotated[str, "address", KEPT]
    name: Annotated[str, "name in the listing", KEPT]
    kind: Annotated[
        str, "pdf, docx, pptx, odt, rtf, html, text or unknown, by its bytes", KEPT
    ]
    content_hash: Annotated[
        str | None, "SHA-256 of its bytes; none if it could not be fetched or was not"
    ]
    title: Annotated[str | None, "title that the file states"]
    pages: Annotated[int | None, "pages or slides; none for kinds without", KEPT]
    characters: Annotated[int, "length of the text"]
    text: Annotated[str | None, "its text as Markdown"]
    is_scanned: Annotated[
        bool, "at least half of the pages are images without a text", KEPT
    ]
    outcome: Annotated[
        str,
        "ok, skipped (not worth reading, or without a text), failed or withdrawn",
        KEPT,
    ]
    reason: Annotated[str | None, "why it is not ok, or what is missing in the text"]
    copy_of: Annotated[
        str | None,
        "document_id of the document with the same content that was read in its place",
    ]
    etag: Annotated[str | None, "ETag of the response, sent with the next request"]
    last_modified: Annotated[
        str | None, "Last-Modified of the response, sent with the next request"
    ]
    content_length: Annotated[
        int | None, "Content-Length of the response, in bytes", KEPT
    ] = None
    fetched_at: Annotated[
        datetime, "time of the last request, or of the decision not to send one", KEPT
    ]
    trace_id: Annotated[str, "id of the poll that found that item", KEPT]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingChange:
    """What a poll found to be another than before of a meeting, or of an item of its
    agenda.
    """

    meeting_id: MeetingId
    item_id: Annotated[str, "id of the agenda item; empty for the meeting itself"]
    desk: Desk_
    agency: Agency_
    kind: Annotated[
        str,
        "cancelled, restored (no longer cancelled), moved (time or place), renamed, agenda (it, or"
        " an item of it, is new), removed (from the agenda), document or voted",
    ]
    detail: Annotated[
        str, "time or title before, or title, document or result that is new"
    ]
    changed_at: Annotated[datetime, "time of the poll that found it"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matter:
    """What is decided on in one or several meetings of an agency: an ordinance, a
    contract, a permit.
    """

    desk: Desk_
    agency: Agency_
    matter: Annotated[
        str,
        "key within the agency: file:, id: or title: and the public number, the vendor's id or a"
        " hash",
    ]
    title: Annotated[str, "title at the last appearance"]
    matter_file: Annotated[str | None, "public number"]
    matter_type: Annotated[str | None, "kind, in the vendor's words"]
    item_ids: Annotated[tuple[str, ...], "its agenda items, by day"]
    article_ids: Annotated[tuple[str, ...], "their articles"]
    first_day: Annotated[date | None, "day of the first meeting"]
    last_day: Annotated[date | None, "day of the last meeting"]
    attachment_hash: Annotated[
        str, "SHA-256 of the attachments at the last appearance; empty without any"
    ]
    summary: Annotated[str | None, "summary of the last appearance that has one"]
    summary_of: Annotated[str | None, "article_id of that appearance"]
    status: Annotated[
        str, "status, in the vendor's words, at the last appearance that states one"
    ] = ""
