"""Municode's JSON:
`https://{client}.municodemeetings.com/api/v1/public/meeting/list.json?datefrom=&dateto=`.

`CalendarDate` is local: `[{"FromDate": "YYYY-MM-DD HH:MM:SS", …}]` or `[year, month,
day, hour, minute, …]`. `Changed`, in seconds since 1970 or as a local time, rises with
each change.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode, urljoin

from news_assets.records.meetings import Link, Meeting, MeetingListing
from news_assets.records.reading import Page
from news_assets.sources.civic.municode.pages import parse as parse_pages
from news_assets.sources.civic.reading.build import Stated, location_of, meeting_of
from news_assets.sources.civic.reading.moments import Moment, wall_clock
from news_assets.sources.civic.reading.page_values import (
    Object,
    changed,
    is_json,
    json_of,
    objects,
    requests_to,
    text_at,
    unique_links,
)
from news_assets.sources.civic.vendor import Reading, Requests
from news_assets.text.urls import web_url

_EXPECTED = "an answer of Municode Meetings"
_API = "/api/v1/public/meeting/"
_LINKS = (
    ("Agenda", "Agenda"),
    ("Agenda Packet", "Packet"),
    ("Minutes", "Minutes"),
    ("Video", "Video"),
)
_FORMS = ("LinksURL", "LinkURL", "URL", "LinksHtmlURL")


def parse(page: Page, reading: Reading) -> MeetingListing:
    """Return the meetings of a list, or the one of `details.json`; HTML is read as a
    published page.

    Raises:
        ListingChangedError: Neither of them.
        SourceError: An empty document, or broken JSON.
    """
    if not is_json(page):
        return parse_pages(page, reading)
    document = json_of(page, _EXPECTED)
    rows = _rows(document)
    if rows is None:
        raise changed(page, _EXPECTED)
    return MeetingListing(
        meetings=tuple(_meeting(row, page, reading) for row in rows),
        next_requests=(
            _agenda_pages(document.get("Meeting", document), page)
            if _is_detail(document)
            else ()
        ),
    )


def _is_detail(document: Any) -> bool:
    return isinstance(document, dict) and "Meetings" not in document


def _agenda_pages(row: Object, page: Page) -> Requests:
    """Return the request for the agenda as a page that the details of a meeting name."""
    link = _link("Agenda", row, "Agenda", page, ("LinksHtmlURL", "HtmlURL"))
    if not link:
        return ()
    return requests_to(link.href)


def _rows(document: Any) -> list[Object] | None:
    if isinstance(document, list):
        return objects(document)
    listed = document.get("Meetings")
    if isinstance(listed, list):
        return objects(listed)
    one = document.get("Meeting", document)
    if isinstance(one, dict) and "MeetingID" in one:
        return [one]
    return None


def _meeting(row: Object, page: Page, reading: Reading) -> Meeting:
    start, end = _span(row.get("CalendarDate"))
    return meeting_of(
        Stated(
            vendor_id=text_at(row, "OriginMeetingID", "MeetingID"),
            title=text_at(row, "Title", "GroupName"),
            body=text_at(row, "GroupName"),
            start=start,
            end=end,
            location=location_of(text_at(row, "Location", "Venue")),
            url=_url(text_at(row, "URL", "Url"), page),
            links=unique_links(_link(title, row, name, page) for title, name in _LINKS),
            status_words=[text_at(row, "Status")],
            updated_at=_changed_at(row.get("Changed"), reading),
        ),
        reading,
    )


def _changed_at(value: Any, reading: Reading) -> datetime | None:
    if isinstance(value, str) and not value.isdecimal():
        moment = wall_clock(value)
        if not moment:
            return None
        return moment.placed(reading.timezone)
    try:
        return datetime.fromtimestamp(int(value), UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def _span(value: Any) -> tuple[Moment | None, Moment | None]:
    """Return begin and end of a meeting."""
    if isinstance(value, list) and value and isinstance(value[0], int):
        return _of_numbers(value), None
    spans = objects(value if isinstance(value, list) else [value])
    if spans:
        return wall_clock(text_at(spans[0], "FromDate")), wall_clock(
            text_at(spans[0], "ToDate")
        )
    return (wall_clock(value) if isinstance(value, str) else None), None


def _of_numbers(parts: list[Any]) -> Moment | None:
    numbers = [part for part in parts[:5] if isinstance(part, int)]
    try:
        year, month, day, hour, minute = (*numbers, *[0] * (5 - len(numbers)))
        return Moment(
            date(year, month, day), time(hour, minute) if len(numbers) > 3 else None
        )
    except ValueError:
        return None


def _link(
    title: str, row: Object, name: str, page: Page, forms: Sequence[str] = _FORMS
) -> Link | None:
    stated = next((value for form in forms if (value := row.get(name + form))), None)
    if isinstance(stated, list) and stated:
        stated = stated[0].get("URL") if isinstance(stated[0], dict) else stated[0]
    url = _url(stated, page) if isinstance(stated, str) else None
    if not url:
        return None
    return Link(title=title, href=url)


def _url(text: str, page: Page) -> str | None:
    if not text:
        return None
    return web_url(text, page.final_url)


# --- requests -------------------------------------------------------------------------


def upcoming(url: str, today: date) -> Requests:
    """Return the request for the next half year."""
    return days(url, today, today + timedelta(days=182))


def days(url: str, first: date, last: date) -> Requests:
    """Return the request for the meetings of these days."""
    query = urlencode({"datefrom": f"{first:%Y-%m-%d}", "dateto": f"{last:%Y-%m-%d}"})
    return requests_to(urljoin(url, f"{_API}list.json?{query}"))


def items(url: str, meeting: Meeting) -> Requests:
    """Return the request for a meeting's documents."""
    return requests_to(urljoin(url, f"{_API}{meeting.vendor_id}/details.json"))
