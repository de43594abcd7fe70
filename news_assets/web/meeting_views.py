"""What meetings, matters and persons answer with, read from the lake. The strings of the
annotations are the descriptions in the document of the API.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Final

from news_assets.pipeline.civic.exports import name_of
from news_assets.pipeline.civic.item_words import (
    step_of,
    topics_of_item,
    topics_of_meeting,
)
from news_assets.records.content import ItemId, MeetingDay, MeetingId
from news_assets.records.councils import PersonKey, StoredMember, StoredOffice
from news_assets.records.meetings import Link, Matter, StoredItem, StoredMeeting, Vote
from news_assets.search import Filters
from news_assets.store.queries.news_links import (
    NewsLink,
    news_on_law,
    news_on_matter,
    news_on_meeting,
)
from news_assets.store.queries.stored_meetings import (
    ItemDetails,
    MeetingFilters,
    Position,
    VoteOfPerson,
    item_details,
    meeting_details,
    nearest_meetings,
    person_details,
)
from news_assets.text.dates import zone_info
from news_assets.web.answers import Part, part_of
from news_assets.web.archive import Archive
from news_assets.web.parameters import (
    MeetingParameters,
    OneLaw,
    OneMatter,
    OneMeeting,
    OnePerson,
    cursor_of,
)


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
    the part that follows. `news` are articles that report on it or on matters of its agenda.
    """

    meeting: MeetingItem
    comment: str
    links: Sequence[Link]
    participation: Sequence[Mapping[str, Any]]
    topics: Mapping[str, int]
    items: Sequence[AgendaLine]
    news: Sequence[NewsLink] = ()
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
class _Appearance:
    """A matter on the agenda of a meeting. `step`: introduced, referred, heard, voted,
    scheduled or cancelled.
    """

    meeting: MeetingItem
    item: AgendaLine
    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MatterView:
    """A matter with its appearances, by day. `next` is the one in the next meeting, if
    one is to come. `news` are articles that report on it.
    """

    matter: Matter
    appearances: Sequence[_Appearance]
    next: _Appearance | None
    news: Sequence[NewsLink] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LawView:
    """A law or national bill with the news that names it, the newest first."""

    law: Annotated[str, "its number in one form, as LEI 14133/2021"]
    name: Annotated[str, "its number as it is written"]
    news: Sequence[NewsLink]


def law_view(archive: Archive, one: OneLaw) -> LawView | None:
    """Return a law with its news; None where no article names it."""
    news = news_on_law(archive.lake, one.law, archive.places)
    if not news:
        return None
    return LawView(law=one.law, name=news[0].name, news=news)


_TO_COME: Final = ("confirmed", "tentative")
# a day is over everywhere 12 hours after it is over in UTC
_BEHIND_UTC: Final = timedelta(hours=12)


def first_day_to_come(now: datetime) -> date:
    """Return the day of which no meeting counts as past: the earliest that it still is
    anywhere.
    """
    return (now.astimezone(UTC) - _BEHIND_UTC).date()


def listed_meetings(
    archive: Archive, parameters: MeetingParameters
) -> Part[MeetingItem]:
    """Return a part of the meetings: those to come, then past ones, the nearest day
    first. Raises ParameterError.
    """
    first_day, found = meetings_from(archive, parameters, parameters.limit + 1)
    part = part_of(
        found, parameters.limit, lambda one: cursor_of(first_day.isoformat(), *one[0])
    )
    return Part(items=[_item(archive, row) for _, row in part.items], next=part.next)


def meetings_from(
    archive: Archive, parameters: MeetingParameters, limit: int
) -> tuple[date, list[tuple[Position, StoredMeeting]]]:
    """Return the day that the list begins at, and so many meetings after its cursor.
    Raises ParameterError.
    """
    first_day, *after = parameters.position(date, int, int, str) or (
        first_day_to_come(datetime.now(UTC)),
    )
    given = parameters.model_dump(
        include={"desk", "agency", "body", "status", "from_day", "to_day", "topic"}
    )
    if parameters.text:
        given["article_ids"] = list(_items_with(archive, parameters, first_day))
    found = nearest_meetings(
        archive.lake,
        first_day,
        MeetingFilters(**given),
        after=tuple(after) or None,
        limit=limit,
    )
    return first_day, found


def _items_with(
    archive: Archive, parameters: MeetingParameters, first_day: date
) -> set[str]:
    """Return the articles of the items with the words of a search: of the meetings to
    come, and of past ones.
    """
    filters = Filters(desk=parameters.desk, agency=parameters.agency)
    coming = archive.items_with(parameters.text, replace(filters, from_day=first_day))
    past = archive.items_with(
        parameters.text, replace(filters, to_day=first_day - timedelta(days=1))
    )
    return coming | past


def meeting_view(archive: Archive, one: OneMeeting) -> MeetingView | None:
    """Return a meeting with a part of its agenda; None for an unknown id. Raises
    ParameterError.
    """
    [begin] = one.position(int) or (0,)
    end = begin + one.limit
    details = meeting_details(archive.lake, one.meeting_id, slice(max(begin, 0), end))
    if details is None:
        return None
    topics = [item.topics for item in details.agenda if item.topics]
    minutes = details.minutes
    return MeetingView(
        meeting=_item(archive, details.meeting),
        comment=details.meeting.comment,
        links=[Link(**link) for link in json.loads(details.meeting.links_json)],
        participation=json.loads(details.meeting.participation_json),
        topics=dict(topics_of_meeting(topics)),
        items=list(map(_line, details.items)),
        news=news_on_meeting(
            archive.lake, details.meeting, details.agenda, archive.places
        ),
        minutes_article_id=minutes.article_id if minutes else None,
        first_item=begin + 1,
        item_count=len(details.agenda),
        next=cursor_of(end) if end < len(details.agenda) else None,
    )


def matter_view(archive: Archive, one: OneMatter) -> MatterView | None:
    """Return a matter with its meetings; None for an unknown one."""
    found = archive.lake.read(
        Matter, desk=[one.desk], agency=[one.agency], matter=[one.matter]
    )
    if not found:
        return None
    [matter] = found
    appearances = _appearances_of(archive, matter)
    coming = (one for one in appearances if one.meeting.status in _TO_COME)
    return MatterView(
        matter=matter,
        appearances=appearances,
        next=next(coming, None),
        news=news_on_matter(archive.lake, matter, archive.places),
    )


def _appearances_of(archive: Archive, matter: Matter) -> list[_Appearance]:
    """Return the items of a matter with their meetings, in the order of the matter."""
    rows = archive.lake.read(StoredItem, item_id=matter.item_ids)
    rows.sort(key=lambda row: matter.item_ids.index(row.item_id))
    details = item_details(archive.lake, rows)
    meetings = _meetings_by_id(archive, {row.meeting_id for row in rows})
    appearances: list[_Appearance] = []
    for detail in details:
        meeting = meetings.get(detail.item.meeting_id)
        if meeting is None:
            continue
        step = step_of(detail.item, meeting.status, is_first=not appearances)
        appearance = _Appearance(meeting=meeting, item=_line(detail), step=step)
        appearances.append(appearance)
    return appearances


def person_view(archive: Archive, one: OnePerson) -> PersonView | None:
    """Return a member of a body with a part of the votes; None for an unknown one.
    Raises ParameterError.
    """
    after = one.position(date, str)
    limit = one.limit
    details = person_details(
        archive.lake, one.desk, one.agency, one.person, after, limit + 1
    )
    if details is None:
        return None
    votes = part_of(
        details.votes, limit, lambda vote: cursor_of(str(vote.day), vote.item_id)
    )
    named = (details.member, *details.offices, *details.votes)
    return PersonView(
        person=one.person,
        desk=one.desk,
        agency=one.agency,
        name=next((row.name for row in named if row), one.person),
        member=details.member,
        offices=details.offices,
        votes=votes.items,
        next=votes.next,
    )


def _meetings_by_id(
    archive: Archive, meeting_ids: Collection[str]
) -> dict[str, MeetingItem]:
    """Return these meetings by id."""
    rows = archive.lake.read(StoredMeeting, meeting_id=meeting_ids)
    return {row.meeting_id: _item(archive, row) for row in rows}


def has_meetings(archive: Archive) -> bool:
    """Return whether a desk of councils is loaded, or meetings are stored."""
    if any(desk.is_civic for desk in archive.desks):
        return True
    return not archive.lake.query("SELECT 1 FROM meetings LIMIT 1").is_empty()


# --- rows -----------------------------------------------------------------------------


def _item(archive: Archive, row: StoredMeeting) -> MeetingItem:
    timezone = archive.zone_of(row.desk, row.agency) or "UTC"
    zone = zone_info(timezone)
    return MeetingItem(
        meeting_id=row.meeting_id,
        desk=row.desk,
        agency=row.agency,
        day=row.day,
        starts_at=row.starts_at and row.starts_at.astimezone(zone),
        ends_at=row.ends_at and row.ends_at.astimezone(zone),
        is_all_day=row.is_all_day,
        timezone=timezone,
        name=name_of(row),
        body=row.body,
        title=row.title,
        status=row.status,
        status_reason=row.status_reason,
        location_name=row.location_name,
        location_address=row.location_address,
        url=row.url,
        agenda_url=row.agenda_url,
        packet_url=row.packet_url,
        minutes_url=row.minutes_url,
        video_url=row.video_url,
        first_seen_at=row.first_seen_at,
        last_seen_at=row.last_seen_at,
    )


def _line(details: ItemDetails) -> AgendaLine:
    item = details.item
    topics: tuple[str, ...] = ()
    if item.filter_tier != "dropped":
        topics = topics_of_item(item.title, details.summary)
    return AgendaLine(
        item_id=item.item_id,
        sequence=item.sequence,
        number=item.number,
        title=item.title,
        section=item.section,
        matter=item.matter,
        matter_file=item.matter_file,
        matter_type=item.matter_type,
        sponsors=item.sponsors,
        votes=[Vote(**vote) for vote in json.loads(item.votes_json)],
        action=item.action,
        result=item.result,
        tally=item.tally,
        mover=item.mover,
        seconder=item.seconder,
        decision=item.decision,
        topics=topics,
        filter_tier=item.filter_tier,
        filter_reason=item.filter_reason,
        article_id=item.article_id,
        summary=details.summary,
        documents=_documents(details),
    )


def _documents(details: ItemDetails) -> list[ItemDocument]:
    """Return the documents that were read, then the listed ones that were not."""
    found: list[ItemDocument] = []
    known = set[str]()
    for one in details.documents:
        known.add(one.document_id)
        read = ItemDocument(
            name=one.name,
            url=one.url,
            outcome=one.outcome,
            reason=one.reason,
            pages=one.pages,
        )
        found.append(read)
    item = details.item
    listed = zip(
        item.document_ids, item.attachment_names, item.attachment_urls, strict=True
    )
    for key, name, url in listed:
        if key not in known:
            waiting = ItemDocument(
                name=name, url=url, outcome="waiting", reason=None, pages=None
            )
            found.append(waiting)
    return found
