"""Legistar's Web API: `https://webapi.legistar.com/v1/{client}`, OData v3
(webapi.legistar.com/Home/Examples).

`EventDate` is a local date, `EventTime` what a clerk typed; fields named Utc are UTC.
Without `Accept: application/json` the API answers XML, which is read too. Some clients
ignore `$filter`: callers filter by day again. `EventLastModifiedUtc` does not rise when
a meeting is cancelled or moved, so the signal asks for four dates.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from lxml import etree

from news_assets.records.meetings import (
    AgendaItem,
    Link,
    Meeting,
    MeetingListing,
    Request,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.legistar.details import (
    ROSTER_PATHS,
    item_paths,
    items_by_event,
    people_of,
)
from news_assets.sources.civic.legistar.pages import parse as parse_pages
from news_assets.sources.civic.reading.build import Stated, location_of, meeting_of
from news_assets.sources.civic.reading.moments import (
    Moment,
    clock_of_text,
    day_of_text,
    utc_time,
)
from news_assets.sources.civic.reading.page_values import (
    Object,
    changed,
    is_json,
    json_of,
    objects,
    text_at,
    unique_links,
    xml_of,
)
from news_assets.sources.civic.vendor import Reading
from news_assets.text.urls import web_url

_MAX_ROWS = 1000  # the API gives no more in one answer
_SIGNAL_ROWS = 200
_OVERLAP = timedelta(
    hours=72
)  # changes are published with the date of the edit, up to days later
_SIGNAL_FIELDS = (
    "EventLastModifiedUtc",
    "EventAgendaLastPublishedUTC",
    "EventMinutesLastPublishedUTC",
)
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
    events = [row for row in rows if "EventId" in row]
    items = items_by_event(rows, page)
    if (
        not events
        and not items
        and rows
        and not any(name in rows[0] for name in _NOT_MEETINGS)
    ):
        raise changed(page, "an answer of Legistar's Web API")
    meetings = [_meeting(event, page, reading) for event in events]
    partial = [
        Meeting(vendor_id=event, items=found, is_partial=True)
        for event, found in items.items()
    ]
    return MeetingListing(
        meetings=(*meetings, *partial),
        problems=tuple(_problems(events)),
        next_requests=_next(page, len(rows)) if events else (),
    )


def _rows(page: Page) -> list[Object] | None:
    """Return the rows of JSON or XML; None for HTML."""
    if is_json(page) or not page.body.strip():
        document = json_of(page, "an answer of Legistar's Web API")
        return objects([document] if isinstance(document, dict) else document)
    if b"LegistarWebAPI.Models" not in page.body[:2000]:
        return None
    root = xml_of(page)
    rows = (
        list(root.iterchildren("*"))
        if etree.QName(root).localname.startswith("ArrayOf")
        else [root]
    )
    return [
        {etree.QName(field).localname: _value(field) for field in row.iterchildren("*")}
        for row in rows
    ]


def _value(field: etree._Element) -> Any:
    rows = list(field.iterchildren("*"))
    return [
        {etree.QName(one).localname: one.text for one in row.iterchildren("*")}
        for row in rows
    ] or field.text


def _problems(events: Iterable[Object]) -> Iterable[str]:
    undated = sum(day_of_text(text_at(event, "EventDate")) is None for event in events)
    if undated:
        yield f"{undated} events have no date"


def _meeting(event: Object, page: Page, reading: Reading) -> Meeting:
    day = day_of_text(text_at(event, "EventDate"))
    comment = text_at(event, "EventComment")
    body = text_at(event, "EventBodyName")
    status = text_at(event, "EventAgendaStatusName")
    place = event.get("EventLocation")
    return meeting_of(
        Stated(
            vendor_id=text_at(event, "EventId"),
            title=body,
            body=body,
            start=Moment(day, clock_of_text(text_at(event, "EventTime")))
            if day
            else None,
            location=location_of(
                place.replace("\r", "\n") if isinstance(place, str) else ""
            ),
            url=(
                web_url(text_at(event, "EventInSiteURL"), page.final_url)
                if event.get("EventInSiteURL")
                else None
            ),
            links=unique_links(
                _link(title, text_at(event, field), page) for title, field in _LINKS
            ),
            items=next(
                iter(items_by_event(objects(event.get("EventItems")), page).values()),
                (),
            ),
            comment=comment,
            status_words=[status, text_at(event, "EventTime")],
            is_final=status.lower().startswith("final"),
            updated_at=utc_time(text_at(event, "EventLastModifiedUtc")),
            posted_at=utc_time(text_at(event, "EventAgendaLastPublishedUTC")),
        ),
        reading,
    )


def _link(title: str, href: str, page: Page) -> Link | None:
    url = web_url(href, page.final_url) if href else None
    if not url:
        return None
    return Link(title=title, href=url)


# --- requests -------------------------------------------------------------------------


def upcoming(url: str, today: date) -> tuple[Request, ...]:
    """Return the request for all meetings from today on."""
    return (_events(url, f"EventDate ge datetime'{today:%Y-%m-%d}'"),)


def days(url: str, first: date, last: date) -> tuple[Request, ...]:
    """Return the request for the meetings of these days."""
    end = last + timedelta(days=1)
    return (
        _events(
            url,
            f"EventDate ge datetime'{first:%Y-%m-%d}' and EventDate lt datetime'{end:%Y-%m-%d}'",
        ),
    )


def items(url: str, meeting: Meeting) -> tuple[Request, ...]:
    """Return the request for a meeting's items with notes and attachments."""
    query = {"AgendaNote": "1", "MinutesNote": "1", "Attachments": "1"}
    return (
        Request(
            url=_with(url, f"/events/{meeting.vendor_id}/eventitems", query),
            headers=_JSON,
        ),
    )


def votes(url: str, item: AgendaItem) -> tuple[Request, ...]:
    """Return the requests for an item's votes, once there is an outcome, and for the
    sponsors of its matter.
    """
    return tuple(
        Request(url=_with(url, path, {}), headers=_JSON) for path in item_paths(item)
    )


def roster(url: str) -> tuple[Request, ...]:
    """Return the requests for the bodies, persons and offices."""
    return tuple(
        Request(url=_with(url, path, {"$top": _MAX_ROWS}), headers=_JSON)
        for path in ROSTER_PATHS
    )


def signal(url: str, since: datetime) -> Request:
    """Return the request for the events that changed since a time, with an overlap of
    three days.
    """
    after = since - _OVERLAP
    changed_after = " or ".join(
        f"{name} gt datetime'{after:%Y-%m-%dT%H:%M:%S}'" for name in _SIGNAL_FIELDS
    )
    fields = ",".join(
        ("EventId", "EventDate", "EventTime", "EventAgendaStatusName", *_SIGNAL_FIELDS)
    )
    query = {
        "$select": fields,
        "$filter": changed_after,
        "$orderby": "EventLastModifiedUtc asc",
        "$top": _SIGNAL_ROWS,
    }
    return Request(url=_with(url, "/events", query), headers=_JSON)


def _events(url: str, where: str) -> Request:
    query = {"$filter": where, "$orderby": "EventDate asc", "$top": _MAX_ROWS}
    return Request(url=_with(url, "/events", query), headers=_JSON)


def _with(url: str, path: str, query: dict[str, Any]) -> str:
    """Return the client's address with a path and query; a token in the source's query
    stays.
    """
    parts = urlsplit(url)
    own = "&".join(filter(None, (parts.query, urlencode(query, safe="$'"))))
    return urlunsplit(
        (parts.scheme, parts.netloc, parts.path.rstrip("/") + path, own, "")
    )


def _next(page: Page, count: int) -> tuple[Request, ...]:
    """Return the request for the next rows if this answer is full."""
    parts = urlsplit(page.url)
    if count < _MAX_ROWS:
        return ()
    pairs = dict(one.partition("=")[::2] for one in parts.query.split("&") if one)
    skip = pairs.get("$skip", "0")
    pairs["$skip"] = str((int(skip) if skip.isdigit() else 0) + _MAX_ROWS)
    query = "&".join(f"{name}={value}" for name, value in pairs.items())
    return (
        Request(
            url=urlunsplit((parts.scheme, parts.netloc, parts.path, query, "")),
            headers=_JSON,
        ),
    )
