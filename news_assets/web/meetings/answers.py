"""What meetings and matters answer with. The strings of the annotations are the
descriptions in the API's document.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from news_assets.records.content import ItemId, MeetingDay, MeetingId
from news_assets.records.councils import PersonKey, StoredMember, StoredOffice
from news_assets.records.meetings import Link, Matter, Vote
from news_assets.store.queries.civic.people import VoteOfPerson


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingItem:
    """A meeting in a list."""

    meeting_id: MeetingId
    desk: Annotated[str, "key of the desk"]
    agency: Annotated[str, "key of the agency"]
    day: MeetingDay
    starts_at: Annotated[
        datetime | None,
        "begin in the agency's time zone; midnight if only the day is known",
    ]
    ends_at: Annotated[datetime | None, "stated end in the agency's time zone"]
    is_all_day: Annotated[bool, "only the day is known"]
    timezone: Annotated[str, "IANA time zone of the agency"]
    name: Annotated[str, "title with the body in front, unless it names the body"]
    body: Annotated[str, "council, board or committee that meets"]
    title: Annotated[str, "title in the listing"]
    status: Annotated[str, "confirmed, tentative, cancelled or passed"]
    status_reason: Annotated[
        str | None, "why a meeting is cancelled that the vendor does not call so"
    ]
    location_name: Annotated[str, "room or building"]
    location_address: Annotated[str, "postal address"]
    url: Annotated[str | None, "page of the meeting"]
    agenda_url: Annotated[str | None, "the agenda"]
    packet_url: Annotated[str | None, "agenda and attachments in one document"]
    minutes_url: Annotated[str | None, "the minutes"]
    video_url: Annotated[str | None, "the recording or stream"]
    first_seen_at: Annotated[datetime, "time of the poll that first listed it"]
    last_seen_at: Annotated[datetime, "time of the last poll that listed it"]

    @property
    def when(self) -> str:
        """Day and hour in the agency's time zone; the day alone if no more is known;
        empty without a day.
        """
        if self.starts_at is None or self.is_all_day:
            return str(self.day or "")
        end = (
            f"–{self.ends_at:%H:%M}"
            if self.ends_at and self.ends_at.date() == self.starts_at.date()
            else ""
        )
        return f"{self.starts_at:%Y-%m-%d %H:%M}{end} {self.starts_at:%Z}"

    @property
    def place(self) -> str:
        """Room and address."""
        return ", ".join(filter(None, (self.location_name, self.location_address)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDocument:
    """An attachment of an agenda item."""

    name: Annotated[str, "name of the attachment"]
    url: Annotated[str, "its address"]
    outcome: Annotated[str, "ok, skipped or failed; waiting until it has been read"]
    reason: Annotated[str | None, "why the outcome is not ok, or what is missing"]
    pages: Annotated[int | None, "number of pages, where it has pages"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgendaLine:
    """An agenda item with its summary, topics and documents."""

    item_id: ItemId
    sequence: Annotated[int, "place in the agenda, from 1"]
    number: Annotated[str, "number in the agenda"]
    title: Annotated[str, "title"]
    section: Annotated[str, "heading that it stands under"]
    matter: Annotated[
        str, "key of the matter within the agency; empty for an item without one"
    ]
    matter_file: Annotated[str | None, "public number of the matter"]
    matter_type: Annotated[str | None, "kind of the matter, in the vendor's words"]
    sponsors: Annotated[Sequence[str], "sponsors of the matter"]
    votes: Annotated[Sequence[Vote], "how the members voted"]
    action: Annotated[str, "what the body did, in the vendor's words, such as adopted"]
    result: Annotated[str, "result of the vote, in the vendor's words, such as Pass"]
    tally: Annotated[str, "votes for and against, as stated"]
    mover: Annotated[str, "member who moved the item"]
    seconder: Annotated[str, "member who seconded it"]
    decision: Annotated[str, "what the minutes say was decided on the item"]
    topics: Annotated[
        Sequence[str], "codes of its topics, the best first; none for procedure"
    ]
    filter_tier: Annotated[str | None, "dropped (it is no article) or not_enriched"]
    filter_reason: Annotated[
        str | None, "why it is filtered, or that it is no longer on the agenda"
    ]
    article_id: Annotated[str | None, "id of its article"]
    summary: Annotated[str, "summary of its article; empty without one"]
    documents: Annotated[
        Sequence[ItemDocument], "its attachments in the vendor's order"
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeetingView:
    """A meeting with its agenda. `participation` says how to take part: kind, value,
    purpose and text of each fact.

    `topics` are the numbers of items by topic, the most frequent first. `items` is the
    part from `first_item` on, of `item_count`, counted from 1; `next` is the cursor of
    the part that follows.
    """

    meeting: MeetingItem
    comment: str
    links: Sequence[Link]
    participation: Sequence[Mapping[str, Any]]
    topics: Mapping[str, int]
    items: Sequence[AgendaLine]
    minutes_article_id: str | None = None
    first_item: int = 1
    item_count: int = 0
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonView:
    """A member of a body with the offices and a part of the votes, the newest first."""

    person: PersonKey
    desk: str
    agency: str
    name: str
    member: StoredMember | None
    offices: Sequence[StoredOffice]
    votes: Sequence[VoteOfPerson]
    next: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Appearance:
    """A matter on the agenda of a meeting. `step`: introduced, referred, heard, voted,
    scheduled or cancelled.
    """

    meeting: MeetingItem
    item: AgendaLine
    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MatterView:
    """A matter with its appearances, by day. `next` is the one in the next meeting, if
    one is to come.
    """

    matter: Matter
    appearances: Sequence[Appearance]
    next: Appearance | None
