"""Legistar's Web API: `https://webapi.legistar.com/v1/{client}`, OData v3
(webapi.legistar.com/Home/Examples).

`EventDate` is a local date, `EventTime` what a clerk typed; fields named Utc are UTC.
Without `Accept: application/json` the API answers XML, which is read too. Some clients
ignore `$filter`: callers filter by day again. `EventLastModifiedUtc` does not rise when
a meeting is cancelled or moved, so the signal requests four dates.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from lxml import etree

from news_assets.records.meetings import (
    AgendaItem,
    Location,
    Meeting,
    MeetingListing,
    Request,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.legistar_items import (
    ROSTER_PATHS,
    item_paths,
    items_by_event,
    people_of,
)
from news_assets.sources.civic.legistar_pages import parse as parse_pages
from news_assets.sources.civic.reading.build import location_of, meeting_of
from news_assets.sources.civic.reading.moments import (
    moment_of_texts,
    utc_time,
)
from news_assets.sources.civic.reading.page_values import (
    Object,
    changed,
    is_json,
    json_of,
    objects,
    optional_link,
    text_at,
    unique_links,
    url_at,
    xml_of,
)
from news_assets.sources.civic.vendor import Reading, Requests
from news_assets.sources.storable_entries import problem_if

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


def parse(page: Page, reading: Reading) -> MeetingListing:
    """Return the events of one answer, the meetings whose items it lists, or what it
    says about people.

    Lists of matters and the like hold no meeting. HTML is read as the pages of InSite.

    Raises:
        ListingChangedError: Not an answer of the API.
        SourceError: Empty or broken JSON.
    """
    rows = _rows(page)
    if rows is None:
        return parse_pages(page, reading)
    if people := people_of(rows, page):
        return replace(people, next_requests=_next(page, len(rows)))
    items = items_by_event(rows, page)
    meetings: list[Meeting] = []
    for row in rows:
        if "EventId" in row:
            meetings.append(_meeting(row, page, reading))
    undated = sum(meeting.starts_at is None for meeting in meetings)
    is_empty = not meetings and not items
    if rows and is_empty and rows[0].keys().isdisjoint(_NOT_MEETINGS):
        raise changed(page, "an answer of Legistar's Web API")
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


def _meeting(event: Object, page: Page, reading: Reading) -> Meeting:
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
        reading,
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
    by_event = items_by_event(objects(event.get("EventItems")), page)
    return next(iter(by_event.values()), ())


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
    return tuple(_request(url, path, {}) for path in item_paths(item))


def roster(url: str) -> Requests:
    """Return the requests for the bodies, persons and offices."""
    return tuple(_request(url, path, {"$top": _MAX_ROWS}) for path in ROSTER_PATHS)


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
    own = "&".join(filter(None, (parts.query, urlencode(query, safe="$'"))))
    path = parts.path.rstrip("/") + path
    address = urlunsplit((parts.scheme, parts.netloc, path, own, ""))
    return Request(url=address, headers=_JSON)


def _next(page: Page, count: int) -> Requests:
    """Return the request for the next rows if this answer is full."""
    if count < _MAX_ROWS:
        return ()
    parts = urlsplit(page.url)
    pairs = dict(one.partition("=")[::2] for one in parts.query.split("&") if one)
    skip = pairs.get("$skip", "0")
    skipped = int(skip) if skip.isdigit() else 0
    pairs["$skip"] = str(skipped + _MAX_ROWS)
    query = "&".join(f"{name}={value}" for name, value in pairs.items())
    address = urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))
    return (Request(url=address, headers=_JSON),)
