"""Legistar's Web API: `https://webapi.legistar.com/v1/{client}`, OData v3
(webapi.legistar.com/Home/Examples).

`EventDate` is a local date, `EventTime` what a clerk typed; fields named Utc are UTC.
Without `Accept: application/json` the API answers XML, which is read too. Some clients
ignore `$filter`: callers filter by day again. `EventLastModifiedUtc` does not rise when
a meeting is cancelled or moved, so the signal requests four dates.

The items of an event are at `events/{id}/eventitems`, with attachments and outcomes.
Votes are answers of their own; some saved answers have them added to the items.
Persons, bodies, offices, votes and sponsors are one small answer each. Votes and
sponsors do not always repeat whose they are: the address of the request says it.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from lxml import etree

from news_assets.records.councils import Body, Office, Person, Roster
from news_assets.records.meetings import (
    AgendaItem,
    Attachment,
    ItemOutcome,
    ItemVotes,
    Location,
    MatterSponsors,
    Meeting,
    MeetingListing,
    Request,
    Vote,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.legistar_pages import parse as parse_pages
from news_assets.sources.civic.moments import (
    day_of_text,
    moment_of_texts,
    utc_time,
)
from news_assets.sources.civic.page_values import (
    Object,
    Requests,
    is_json,
    json_of,
    listing_changed,
    objects,
    optional_link,
    optional_text,
    text_at,
    unique_links,
    url_at,
    xml_of,
)
from news_assets.sources.civic.vendor_meetings import (
    ParseContext,
    location_of,
    meeting_of,
)
from news_assets.sources.storable_entries import problem_if
from news_assets.text.urls import web_url

_MAX_ROWS = 1000  # the API gives no more in one answer
_SIGNAL_ROWS = 200
# changes are published with the date of the edit, up to days later
_OVERLAP = timedelta(hours=72)
_SIGNAL_FIELDS = (
    "EventLastModifiedUtc",
    "EventAgendaLastPublishedUTC",
    "EventMinutesLastPublishedUTC",
)
_SIGNAL_OF_EVENT = ("EventId", "EventDate", "EventTime", "EventAgendaStatusName")
_JSON = (("Accept", "application/json"),)
_LINKS = (
    ("Agenda", "EventAgendaFile"),
    ("Minutes", "EventMinutesFile"),
    ("Video", "EventVideoPath"),
)
_NOT_MEETINGS = (
    "BodyId",
    "MatterHistoryId",
    "VoteId",
    "PersonId",
    "MatterId",
    "MatterAttachmentId",
    "RollCallId",
)


def parse(page: Page, context: ParseContext) -> MeetingListing:
    """Return the events of one answer, the meetings whose items it lists, or what it
    says about people.

    Lists of matters and the like hold no meeting. HTML is read as the pages of InSite.

    Raises:
        ListingChangedError: Not an answer of the API.
        SourceError: Empty or broken JSON.
    """
    rows = _rows(page)
    if rows is None:
        return parse_pages(page, context)
    if people := _people_of(rows, page):
        return replace(people, next_requests=_next(page, len(rows)))
    items = _items_by_event(rows, page)
    meetings: list[Meeting] = []
    for row in rows:
        if "EventId" in row:
            meetings.append(_meeting(row, page, context))
    undated = sum(meeting.starts_at is None for meeting in meetings)
    is_empty = not meetings and not items
    if rows and is_empty and rows[0].keys().isdisjoint(_NOT_MEETINGS):
        raise listing_changed(page, "an answer of Legistar's Web API")
    following = _next(page, len(rows)) if meetings else ()
    for event, found in items.items():
        meetings.append(Meeting(vendor_id=event, items=found, is_partial=True))
    return MeetingListing(
        meetings=tuple(meetings),
        problems=problem_if(undated, f"{undated} events have no date"),
        next_requests=following,
    )


def _rows(page: Page) -> list[Object] | None:
    """Return the rows of JSON or XML; None for HTML."""
    if is_json(page) or not page.body.strip():
        document = json_of(page, "an answer of Legistar's Web API")
        if isinstance(document, dict):
            return [document]
        return objects(document)
    if b"LegistarWebAPI.Models" not in page.body[:2000]:
        return None
    root = xml_of(page)
    if _name_of(root).startswith("ArrayOf"):
        return [_object(row) for row in root.iterchildren("*")]
    return [_object(root)]


def _name_of(element: etree._Element) -> str:
    return etree.QName(element).localname


def _object(row: etree._Element) -> Object:
    """Return the fields of a row of XML: a text each, or rows of texts."""
    fields: dict[str, Any] = {}
    for field in row.iterchildren("*"):
        rows = [
            {_name_of(one): one.text for one in row.iterchildren("*")}
            for row in field.iterchildren("*")
        ]
        fields[_name_of(field)] = rows or field.text
    return fields


def _meeting(event: Object, page: Page, context: ParseContext) -> Meeting:
    body = text_at(event, "EventBodyName")
    status = text_at(event, "EventAgendaStatusName")
    clock = text_at(event, "EventTime")
    links = [
        optional_link(title, url_at(event, page, field)) for title, field in _LINKS
    ]
    return meeting_of(
        Meeting(
            vendor_id=text_at(event, "EventId"),
            title=body,
            body=body,
            location=_location(event),
            url=url_at(event, page, "EventInSiteURL"),
            links=unique_links(links),
            items=tuple(_items(event, page)),
            comment=text_at(event, "EventComment"),
            updated_at=utc_time(text_at(event, "EventLastModifiedUtc")),
            posted_at=utc_time(text_at(event, "EventAgendaLastPublishedUTC")),
        ),
        context,
        start=moment_of_texts(text_at(event, "EventDate"), clock),
        status_words=[status, clock],
        is_final=status.lower().startswith("final"),
    )


def _location(event: Object) -> Location:
    place = event.get("EventLocation")
    if not isinstance(place, str):
        return Location()
    return location_of(place.replace("\r", "\n"))


def _items(event: Object, page: Page) -> Sequence[AgendaItem]:
    """Return the items that an event itself lists."""
    rows = objects(event.get("EventItems"))
    for items in _items_by_event(rows, page).values():
        return items
    return ()


# --- requests -------------------------------------------------------------------------


def upcoming(url: str, today: date) -> Requests:
    """Return the request for all meetings from today on."""
    return (_events(url, f"EventDate ge datetime'{today:%Y-%m-%d}'"),)


def days(url: str, first: date, last: date) -> Requests:
    """Return the request for the meetings of these days."""
    end = last + timedelta(days=1)
    where = f"EventDate ge datetime'{first}' and EventDate lt datetime'{end}'"
    return (_events(url, where),)


def items(url: str, meeting: Meeting) -> Requests:
    """Return the request for a meeting's items with notes and attachments."""
    query = {"AgendaNote": "1", "MinutesNote": "1", "Attachments": "1"}
    return (_request(url, f"/events/{meeting.vendor_id}/eventitems", query),)


def votes(url: str, item: AgendaItem) -> Requests:
    """Return the requests for an item's votes, once there is an outcome, and for the
    sponsors of its matter.
    """
    paths = _item_paths(item)
    return tuple(_request(url, path, {}) for path in paths)


def roster(url: str) -> Requests:
    """Return the requests for the bodies, persons and offices."""
    query = {"$top": _MAX_ROWS}
    return tuple(_request(url, path, query) for path in _ROSTER_PATHS)


def signal(url: str, since: datetime) -> Request:
    """Return the request for the events that changed since a time, with an overlap of
    three days.
    """
    after = f"datetime'{since - _OVERLAP:%Y-%m-%dT%H:%M:%S}'"
    query = {
        "$select": ",".join((*_SIGNAL_OF_EVENT, *_SIGNAL_FIELDS)),
        "$filter": " or ".join(f"{name} gt {after}" for name in _SIGNAL_FIELDS),
        "$orderby": "EventLastModifiedUtc asc",
        "$top": _SIGNAL_ROWS,
    }
    return _request(url, "/events", query)


def _events(url: str, where: str) -> Request:
    query = {"$filter": where, "$orderby": "EventDate asc", "$top": _MAX_ROWS}
    return _request(url, "/events", query)


def _request(url: str, path: str, query: dict[str, Any]) -> Request:
    """Return the request to the client's address with a path and query; a token in the
    source's query stays.
    """
    parts = urlsplit(url)
    queries = filter(None, (parts.query, urlencode(query, safe="$'")))
    whole = parts._replace(
        path=parts.path.rstrip("/") + path, query="&".join(queries), fragment=""
    )
    return Request(url=whole.geturl(), headers=_JSON)


def _next(page: Page, count: int) -> Requests:
    """Return the request for the next rows if this answer is full."""
    if count < _MAX_ROWS:
        return ()
    parts = urlsplit(page.url)
    pairs: dict[str, str] = {}
    for one in filter(None, parts.query.split("&")):
        name, _, value = one.partition("=")
        pairs[name] = value
    skipped = 0
    if pairs.get("$skip", "").isdigit():
        skipped = int(pairs["$skip"])
    pairs["$skip"] = str(skipped + _MAX_ROWS)
    query = "&".join(f"{name}={value}" for name, value in pairs.items())
    following = parts._replace(query=query, fragment="")
    return (Request(url=following.geturl(), headers=_JSON),)


# --- items and people ----------------------------------------------------------------

_OUTCOME = ("EventItemPassedFlagName", "EventItemActionName", "EventItemMover")
_TITLES = (
    "EventItemTitle",
    "EventItemMatterName",
    "EventItemActionText",
    "EventItemAgendaNote",
)
_SECTION_WORDS = 12  # a heading has a short title and no matter


def _items_by_event(
    rows: Iterable[Object], page: Page
) -> dict[str, tuple[AgendaItem, ...]]:
    """Return the items of each event, in the agenda's order, then those that are in the
    minutes only.
    """
    by_event: dict[str, list[Object]] = {}
    for row in rows:
        if "EventItemId" in row:
            by_event.setdefault(text_at(row, "EventItemEventId"), []).append(row)
    return {event: _items_of_rows(found, page) for event, found in by_event.items()}


def _items_of_rows(rows: list[Object], page: Page) -> tuple[AgendaItem, ...]:
    """Return the items, each with the heading above it.

    A heading of an agenda with numbers has none; of one without, it is recognised by
    its words, and stays an item.
    """
    ordered = sorted(rows, key=_place)
    if any(text_at(row, "EventItemAgendaNumber") for row in ordered):
        return _numbered_items(ordered, page)
    found: list[AgendaItem] = []
    section = ""
    for sequence, row in enumerate(ordered, start=1):
        title = text_at(row, *_TITLES)
        if _may_be_heading(row, title):
            found.append(_item(row, sequence, title, "", page))
            section = title
        else:
            found.append(_item(row, sequence, title, section, page))
    return tuple(found)


def _numbered_items(rows: Sequence[Object], page: Page) -> tuple[AgendaItem, ...]:
    """Return the items of an agenda with numbers; a row without one, followed by a row
    with one, is a heading.
    """
    found: list[AgendaItem] = []
    section = ""
    for row, following in zip(rows, [*rows[1:], {}], strict=False):
        title = text_at(row, *_TITLES)
        if _is_heading(row, title, following):
            section = title
        else:
            found.append(_item(row, len(found) + 1, title, section, page))
    return tuple(found)


def _is_heading(row: Object, title: str, following: Object) -> bool:
    """Return whether a row is the heading of the items after it."""
    if not _is_unnumbered(row):
        return False
    if _is_unnumbered(following):
        return False
    return _may_be_heading(row, title)


def _may_be_heading(row: Object, title: str) -> bool:
    if row.get("EventItemMatterId"):
        return False
    if row.get("EventItemMatterAttachments"):
        return False
    return 0 < len(title.split()) <= _SECTION_WORDS


def _is_unnumbered(row: Object) -> bool:
    return not text_at(row, "EventItemAgendaNumber")


def _place(row: Object) -> list[int]:
    """Return where an item stands; one without a place in the agenda comes last."""
    names = ("EventItemAgendaSequence", "EventItemMinutesSequence")
    places: list[int] = []
    for name in names:
        place = text_at(row, name)
        places.append(int(place) if place.isdigit() else 1_000_000)
    return places


def _item(
    row: Object, sequence: int, title: str, section: str, page: Page
) -> AgendaItem:
    votes = objects(row.get("EventItemVoteInfo") or row.get("EventItemVotes"))
    return AgendaItem(
        sequence=sequence,
        vendor_id=text_at(row, "EventItemId"),
        number=text_at(row, "EventItemAgendaNumber").rstrip("."),
        title=title,
        section=section,
        matter_file=optional_text(row, "EventItemMatterFile"),
        matter_id=optional_text(row, "EventItemMatterId"),
        matter_type=optional_text(row, "EventItemMatterType"),
        votes=_votes_of(votes),
        attachments=tuple(_attachments(row, page)),
        outcome=_outcome(row),
        matter_status=text_at(row, "EventItemMatterStatus"),
        version=_version(row),
    )


def _outcome(row: Object) -> ItemOutcome:
    return ItemOutcome(
        action=text_at(row, "EventItemActionName"),
        result=text_at(row, "EventItemPassedFlagName"),
        tally=text_at(row, "EventItemTally"),
        mover=text_at(row, "EventItemMover", "EventItemMoverName"),
        seconder=text_at(row, "EventItemSeconder", "EventItemSeconderName"),
    )


def _version(row: Object) -> str:
    """Return the item's id with a hash of its date of change and its outcome; some
    clients state no dates.
    """
    names = (
        "EventItemLastModifiedUtc",
        "EventItemMatterId",
        "EventItemTally",
        *_OUTCOME,
    )
    state = "\n".join(text_at(row, name) for name in names)
    return f"{text_at(row, 'EventItemId')}@{hashlib.sha256(state.encode()).hexdigest()[:16]}"


def _attachments(row: Object, page: Page) -> Iterable[Attachment]:
    for one in objects(row.get("EventItemMatterAttachments")):
        link = text_at(one, "MatterAttachmentHyperlink")
        url = web_url(_full(link, page), page.final_url) if link else None
        if url:
            name = text_at(one, "MatterAttachmentName") or link
            yield Attachment(name=name, url=url)


def _full(link: str, page: Page) -> str:
    """Return an attachment's address; a bare file name lies in the client's folder."""
    if "/" in link:
        return link
    client = page.url.partition("/v1/")[2].partition("/")[0].lower()
    return f"https://{client}.legistar1.com/{client}/attachments/{quote(link)}"


# --- people ---------------------------------------------------------------------------

_ROSTER_PATHS = ("/bodies", "/persons", "/officerecords")
_VOTES = re.compile(r"/eventitems/(\d{1,12})/votes(?:\?|$)", re.IGNORECASE)
_SPONSORS = re.compile(r"/matters/(\d{1,12})/sponsors(?:\?|$)", re.IGNORECASE)


def _item_paths(item: AgendaItem) -> Iterable[str]:
    """Yield the paths with an item's votes, once there is an outcome, and with the
    sponsors of its matter.
    """
    if item.outcome:
        yield f"/eventitems/{item.vendor_id}/votes"
    if item.matter_id:
        yield f"/matters/{item.matter_id}/sponsors"


def _people_of(rows: Sequence[Object], page: Page) -> MeetingListing | None:
    """Return what an answer says about people; None for another answer."""
    match = _VOTES.search(page.url)
    if match:
        votes = ItemVotes(item_id=match[1], votes=_votes_of(rows))
        return MeetingListing(votes=(votes,))
    match = _SPONSORS.search(page.url)
    if match:
        sponsors = MatterSponsors(matter_id=match[1], sponsors=_sponsors(rows))
        return MeetingListing(sponsors=(sponsors,))
    roster = _roster(rows)
    if not roster:
        return None
    return MeetingListing(roster=roster)


def _roster(rows: Sequence[Object]) -> Roster:
    """Return the bodies, persons and offices of these rows."""
    bodies: list[Body] = []
    persons: list[Person] = []
    offices: list[Office] = []
    for row in rows:
        if text_at(row, "BodyName"):
            bodies.append(_body(row))
        if text_at(row, "PersonFullName"):
            persons.append(_person(row))
        if text_at(row, "OfficeRecordFullName"):
            offices.append(_office(row))
    return Roster(bodies=tuple(bodies), persons=tuple(persons), offices=tuple(offices))


def _votes_of(rows: Iterable[Object]) -> tuple[Vote, ...]:
    """Return the votes of these rows in the vendor's order."""
    ordered = sorted(rows, key=lambda row: _number(row, "VoteSort"))
    return tuple(
        Vote(
            person=text_at(row, "VotePersonName"),
            value=text_at(row, "VoteValueName"),
            person_id=text_at(row, "VotePersonId"),
        )
        for row in ordered
        if text_at(row, "VotePersonName")
    )


def _sponsors(rows: Iterable[Object]) -> tuple[str, ...]:
    ordered = sorted(rows, key=lambda row: _number(row, "MatterSponsorSequence"))
    return tuple(
        dict.fromkeys(
            name for row in ordered if (name := text_at(row, "MatterSponsorName"))
        )
    )


def _number(row: Object, name: str) -> int:
    text = text_at(row, name)
    if not text.isdecimal():
        return 0
    if len(text) >= 10:
        return 0
    return int(text)


def _body(row: Object) -> Body:
    return Body(
        body_id=text_at(row, "BodyId"),
        name=text_at(row, "BodyName"),
        kind=text_at(row, "BodyTypeName"),
        is_active=text_at(row, "BodyActiveFlag") != "0",
    )


def _person(row: Object) -> Person:
    return Person(
        person_id=text_at(row, "PersonId"),
        name=text_at(row, "PersonFullName"),
        email=text_at(row, "PersonEmail"),
        phone=text_at(row, "PersonPhone"),
        website=text_at(row, "PersonWWW"),
        is_active=text_at(row, "PersonActiveFlag") != "0",
    )


def _office(row: Object) -> Office:
    return Office(
        office_id=text_at(row, "OfficeRecordId"),
        name=text_at(row, "OfficeRecordFullName"),
        person_id=text_at(row, "OfficeRecordPersonId"),
        body=text_at(row, "OfficeRecordBodyName"),
        title=text_at(row, "OfficeRecordTitle", "OfficeRecordMemberType"),
        first_day=day_of_text(text_at(row, "OfficeRecordStartDate")),
        last_day=day_of_text(text_at(row, "OfficeRecordEndDate")),
    )
