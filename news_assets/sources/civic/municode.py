"""Municode, as JSON and as pages.

`https://{client}.municodemeetings.com/api/v1/public/meeting/list.json?datefrom=&dateto=`:
`CalendarDate` is local: `[{"FromDate": "YYYY-MM-DD HH:MM:SS", …}]` or `[year, month,
day, hour, minute, …]`. `Changed`, in seconds since 1970 or as a local time, rises with
each change.

Pages have three forms: PublishPage (`meetings.municode.com/PublishPage?cid=`), a table
whose columns are known by their class (`td.meeting`, `.venue`, `.time`, `.agenda`); the
directory of a client's Drupal site, with the time in `content` of the date
(`td.views-field-title`, `-field-agendas`); and an agenda, `adaHtmlDocument`
(`section.agenda-section` with `.agenda-items`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time
from typing import Any
from urllib.parse import unquote, urlencode, urljoin

from lxml.html import HtmlElement

from news_assets.records.meetings import (
    AgendaItem,
    Link,
    Meeting,
    MeetingListing,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.agenda_pages import agenda_of, notes_beside
from news_assets.sources.civic.moments import (
    Moment,
    clock_of_text,
    day_of_text,
    moment_of_text,
    wall_clock,
)
from news_assets.sources.civic.numbering import number_alone, split_number
from news_assets.sources.civic.page_values import (
    Object,
    Requests,
    attachments_of,
    first_match,
    href_of,
    is_json,
    json_of,
    links_in,
    listing_changed,
    objects,
    optional_link,
    parameter,
    requests_to,
    text_at,
    text_of,
    tree_of,
    unique_links,
    words_at,
)
from news_assets.sources.civic.vendor_meetings import (
    ParseContext,
    location_of,
    meeting_of,
)
from news_assets.sources.html_document import base_of, select
from news_assets.sources.storable_entries import or_none
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


def parse(page: Page, context: ParseContext) -> MeetingListing:
    """Return the meetings of a list, or the one of `details.json`; HTML is read as a
    published page.

    Raises:
        ListingChangedError: Neither of them.
        SourceError: An empty document, or broken JSON.
    """
    if not is_json(page):
        return _parse_page(page, context)
    document = json_of(page, _EXPECTED)
    rows = _rows(document)
    if rows is None:
        raise listing_changed(page, _EXPECTED)
    meetings = [_meeting(row, page, context) for row in rows]
    following: Requests = ()
    if _is_detail(document):
        following = _agenda_pages(document.get("Meeting", document), page)
    return MeetingListing(meetings=tuple(meetings), next_requests=following)


def _is_detail(document: Any) -> bool:
    if not isinstance(document, dict):
        return False
    return "Meetings" not in document


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


def _meeting(row: Object, page: Page, context: ParseContext) -> Meeting:
    start, end = _span(row.get("CalendarDate"))
    return meeting_of(
        Meeting(
            vendor_id=text_at(row, "OriginMeetingID", "MeetingID"),
            title=text_at(row, "Title", "GroupName"),
            body=text_at(row, "GroupName"),
            location=location_of(text_at(row, "Location", "Venue")),
            url=_url(text_at(row, "URL", "Url"), page),
            links=unique_links(_link(title, row, name, page) for title, name in _LINKS),
            updated_at=_changed_at(row.get("Changed"), context),
        ),
        context,
        start=start,
        end=end,
        status_words=[text_at(row, "Status")],
    )


def _changed_at(value: Any, context: ParseContext) -> datetime | None:
    if isinstance(value, str) and not value.isdecimal():
        moment = wall_clock(value)
        if not moment:
            return None
        return moment.placed(context.timezone)
    try:
        return datetime.fromtimestamp(int(value), UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def _span(value: Any) -> tuple[Moment | None, Moment | None]:
    """Return begin and end of a meeting."""
    if isinstance(value, str):
        return wall_clock(value), None
    values = value if isinstance(value, list) else objects([value])
    if values and isinstance(values[0], int):
        return _of_numbers(values), None
    for span in objects(values):
        start = wall_clock(text_at(span, "FromDate"))
        return start, wall_clock(text_at(span, "ToDate"))
    return None, None


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
    for form in forms:
        stated = row.get(name + form)
        if stated:
            return optional_link(title, _url_of(stated, page))
    return None


def _url_of(stated: object, page: Page) -> str | None:
    """Return an address that is stated alone or first in a list, or in an object."""
    if isinstance(stated, list):
        stated = stated[0]
        if isinstance(stated, dict):
            stated = stated.get("URL")
    if not isinstance(stated, str):
        return None
    return _url(stated, page)


def _url(text: str, page: Page) -> str | None:
    if not text:
        return None
    return web_url(text, page.final_url)


# --- requests -------------------------------------------------------------------------


def days(url: str, first: date, last: date) -> Requests:
    """Return the request for the meetings of these days."""
    query = urlencode({"datefrom": first.isoformat(), "dateto": last.isoformat()})
    return requests_to(urljoin(url, f"{_API}list.json?{query}"))


def items(url: str, meeting: Meeting) -> Requests:
    """Return the request for a meeting's documents."""
    return requests_to(urljoin(url, f"{_API}{meeting.vendor_id}/details.json"))


# --- pages ----------------------------------------------------------------------------

_EXPECTED_PAGE = "a page of Municode Meetings"
_COLUMNS = (
    ("td.agenda", "Agenda"),
    ("td.packet", "Packet"),
    ("td.minutes", "Minutes"),
    ("td.multimedia", "Video"),
)
_FIELDS = (
    ("td.views-field-field-agendas", "Agenda"),
    ("td.views-field-field-packets", "Agenda Packet"),
    ("td.views-field-field-minutes", "Minutes"),
    ("td.views-field-field-video-link", "Video"),
    ("td.views-field-field-video", "Video"),
)
_FILES = "agenda_item_attachments"
_PUBLISHED_ROWS = "table.mcm tr, table.div-table tr"
_ID = re.compile(r"MEET-[A-Za-z]+-([0-9a-f]{32})", re.IGNORECASE)


def _parse_page(page: Page, context: ParseContext) -> MeetingListing:
    """Return the meetings of a page, or the items of an agenda.

    Raises:
        ListingChangedError: None of the forms.
        SourceError: An empty document.
    """
    tree = tree_of(page, _EXPECTED_PAGE)
    base = base_of(tree, page)
    if sections := select(tree, "section.agenda-section"):
        notes = notes_beside(tree, sections)
        items = _items(sections, base)
        agenda = agenda_of(items, notes, parameter(page.final_url, "me"))
        return MeetingListing(meetings=(agenda,))
    if select(tree, "table.mcm, table.div-table"):
        published = _rows_with(select(tree, _PUBLISHED_ROWS), "td.meeting")
        meetings = [_published(row, base, context) for row in published]
        return MeetingListing(meetings=tuple(meetings))
    listed = _rows_with(select(tree, "tr"), "td.views-field-title")
    if not listed and not select(tree, ".view-meetings, .view-empty"):
        raise listing_changed(page, _EXPECTED_PAGE)
    meetings = [_listed(row, base, context) for row in listed]
    return MeetingListing(
        meetings=tuple(meetings), next_requests=_following(tree, base)
    )


def _following(tree: HtmlElement, base: str) -> Requests:
    """Return the requests for the pages that a page of meetings calls next."""
    links = links_in(tree, base, ".pager-next a, .pager__item--next a")
    urls = [link.href for link in links]
    return requests_to(*urls)


def _rows_with(rows: Iterable[HtmlElement], css: str) -> list[HtmlElement]:
    return [row for row in rows if select(row, css)]


def _published(row: HtmlElement, base: str, context: ParseContext) -> Meeting:
    """Return the meeting of a row of PublishPage; its date stands in the title or with
    the hour.
    """
    title = words_at(row, "td.meeting")
    links = _documents(row, _COLUMNS, base)
    return meeting_of(
        Meeting(
            vendor_id=_id_of(links),
            title=title,
            location=location_of(words_at(row, "td.venue")),
            links=tuple(links),
        ),
        context,
        start=_start(row, title),
    )


def _start(row: HtmlElement, title: str) -> Moment | None:
    when = words_at(row, "td.time, td.date")
    dates = (words_at(row, "td.date"), when, title)
    day = next(filter(None, map(day_of_text, dates)), None)
    if day is None:
        return None
    clock = clock_of_text(words_at(row, "td.time"))
    if clock is None:
        moment = moment_of_text(when)
        clock = moment.clock if moment else None
    return Moment(day, clock)


def _listed(row: HtmlElement, base: str, context: ParseContext) -> Meeting:
    """Return the meeting of a row of a client's site."""
    title = words_at(row, "td.views-field-title")
    links = _documents(row, _FIELDS, base)
    pages = links_in(row, base, "td.views-field-view-node a, td.views-field-title a")
    url = pages[0].href if pages else ""
    return meeting_of(
        Meeting(
            vendor_id=_id_of(links) or url.rstrip("/").rpartition("/")[2],
            title=title,
            body=words_at(row, "td[class*=microsite], td[class*=field-group]") or title,
            location=location_of(words_at(row, "td[class*=location]")),
            url=or_none(url),
            links=tuple(links),
        ),
        context,
        start=_start_of(row),
    )


def _start_of(row: HtmlElement) -> Moment | None:
    """Return the time of a row: the one for machines, else the one that is shown."""
    date_cell = first_match(row, "[content]")
    if date_cell is not None:
        stated = date_cell.get("content")
        if stated:
            return wall_clock(stated)
    return moment_of_text(words_at(row, "td[class*=calendar-date], td[class*=date]"))


def _documents(
    row: HtmlElement, columns: Iterable[tuple[str, str]], base: str
) -> list[Link]:
    """Return the documents in these cells of a row, with the titles of the columns."""
    found: list[Link] = []
    for css, title in columns:
        for anchor in select(row, f"{css} a"):
            href = href_of(anchor, base)
            if href:
                found.append(Link(title=title, href=href))
    return found


def _id_of(links: Iterable[Link]) -> str:
    """Return the id of a meeting, which the names of its files hold."""
    for link in links:
        if match := _ID.search(unquote(link.href[:2000])):
            return match[1].lower()
    return ""


# --- the agenda as HTML ---------------------------------------------------------------


def _items(sections: Iterable[HtmlElement], base: str) -> Iterator[AgendaItem]:
    sequence = 0
    for section in sections:
        heading = words_at(section, ".section-header")
        for element in _entries(section):
            sequence += 1
            yield _item(element, sequence, heading, base)


def _entries(section: HtmlElement) -> Iterator[HtmlElement]:
    for listed in select(section, ".agenda-items"):
        yield from (child for child in listed.iterchildren("li"))


def _item(element: HtmlElement, sequence: int, section: str, base: str) -> AgendaItem:
    stated = words_at(element, "num")
    text = text_of(element)
    number, title = split_number(text)
    if stated:
        number = number_alone(stated) or stated
        title = text.removeprefix(stated).strip()
    return AgendaItem(
        sequence=sequence,
        number=number,
        title=title,
        section=section,
        attachments=attachments_of(_files_of(element, base)),
    )


def _files_of(element: HtmlElement, base: str) -> list[Link]:
    """Return the documents in an item and in the list after it."""
    lists = select(element, ".agenda_item_attachments")
    following = element.getnext()
    if following is not None and _FILES in following.get("class", ""):
        lists.append(following)
    files: list[Link] = []
    for one in lists:
        files += links_in(one, base)
    return files
