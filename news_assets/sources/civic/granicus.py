"""Granicus: `https://{client}.granicus.com/ViewPublisher.php?view_id=N`, and its feed
ViewPublisherRSS.

Clients design the page themselves: rows are `tr` of any class, and columns are known by
what they hold. A meeting is in "Recent" and in "Archived". Dates are local; a hidden
Unix time may stand before them; often they have no hour. A meeting has an `event_id`
until it is recorded, then a `clip_id`.
"""

import re
from collections.abc import Sequence
from datetime import date, datetime
from urllib.parse import urljoin

from lxml import etree
from lxml.html import HtmlElement

from news_assets.records.meetings import Link, Meeting, MeetingListing, Request
from news_assets.records.reading import Page
from news_assets.sources.civic.granicus_agenda import parse_agenda
from news_assets.sources.civic.reading.build import location_of, meeting_of
from news_assets.sources.civic.reading.ids import listed_key
from news_assets.sources.civic.reading.moments import Moment, moment_of_text
from news_assets.sources.civic.reading.page_values import (
    changed,
    clean,
    first_parameter,
    links_in,
    optional_link,
    parameter,
    requests_to,
    text_of,
    tree_of,
    unique_links,
    words_at,
    xml_of,
)
from news_assets.sources.civic.vendor import Reading, Requests
from news_assets.sources.html.document import base_of, words_of
from news_assets.text.urls import web_url

_EXPECTED = "a page of Granicus"
_HIDDEN_UNIX_TIME = re.compile(r"^\s*\d{10}(?=\D)")
_LENGTH = re.compile(r"\d{1,3}\s?(?:h|hr|hrs|hour|m|min|mins)\b", re.IGNORECASE)
_MARKS = (b"granicus", b"agendaviewer.php", b"mediaplayer.php")
_MAX_DATE_CHARS = 60  # of the text of a cell that holds a date and nothing else
_DATE_IN_TITLE = re.compile(r"\s[-–]\s(?=[A-Z][a-z]{2}\s\d)")


def parse(page: Page, reading: Reading) -> MeetingListing:
    """Return the meetings of a listing or feed; of an agenda the one meeting with its
    items.

    Raises:
        ListingChangedError: Not a page of Granicus.
        SourceError: An empty document.
    """
    if page.body.lstrip()[:200].lower().startswith((b"<?xml", b"<rss")):
        return _feed(page, reading)
    tree = tree_of(page, _EXPECTED)
    base = base_of(tree, page)
    found = _listed(tree, base, reading)
    is_agenda = "agendaviewer" in page.url.lower()
    if not is_agenda and not found:
        is_agenda = _looks_like_agenda(page)
    if is_agenda:
        return MeetingListing(meetings=(parse_agenda(tree, base, page, reading),))
    if not found and not any(mark in page.body.lower() for mark in _MARKS):
        raise changed(page, _EXPECTED)
    return MeetingListing(meetings=tuple(found))


def _listed(tree: HtmlElement, base: str, reading: Reading) -> list[Meeting]:
    """Return the meetings of all rows; of those listed twice the row with more links."""
    found: dict[str, Meeting] = {}
    for row in tree.iter("tr"):
        if row.find(".//tr") is not None:
            continue
        if len(row.findall("td")) < 2:
            continue
        meeting = _meeting(row, base, reading)
        if meeting is None:
            continue
        known = found.setdefault(listed_key(meeting), meeting)
        if len(known.links) < len(meeting.links):
            found[listed_key(meeting)] = meeting
    return list(found.values())


def _looks_like_agenda(page: Page) -> bool:
    head = page.body[:20_000].lower()
    if b"agenda" not in head:
        return False
    return b"viewpublisher" not in head


def _meeting(row: HtmlElement, base: str, reading: Reading) -> Meeting | None:
    """Return the meeting of a row; None for a row without a date, which is a heading or
    layout.
    """
    links = links_in(row, base)
    date_cell = _date_cell(row)
    if date_cell is None:
        return None
    if not (links or row.get("class")):
        return None
    title = text_of(_name_cell(row, date_cell))
    if not title:
        return None
    return meeting_of(
        Meeting(
            vendor_id=_id_of(links),
            title=title,
            body=_panel(row) or title,
            location=location_of(words_at(row, "td[headers*=Location], td.location")),
            links=links,
        ),
        reading,
        start=_moment(date_cell),
    )


def _date_cell(row: HtmlElement) -> HtmlElement | None:
    """Return the cell with the date: the one marked so, else the first one."""
    dated = [cell for cell in row.findall("td") if _moment(cell) is not None]
    for cell in dated:
        if "date" in cell.get("headers", "").lower():
            return cell
    return next(iter(dated), None)


def _name_cell(row: HtmlElement, date_cell: HtmlElement) -> HtmlElement | None:
    """Return the cell with the name: the one marked so, else the first one."""
    cells = row.findall("td")
    names = [cell for cell in cells if cell is not date_cell and _is_name(cell)]
    for cell in names:
        if _is_marked_name(cell):
            return cell
    return next(iter(names), None)


def _moment(cell: HtmlElement) -> Moment | None:
    text = _HIDDEN_UNIX_TIME.sub("", words_of(cell))
    if 0 < len(text) <= _MAX_DATE_CHARS:
        return moment_of_text(text)
    return None


def _is_name(cell: HtmlElement) -> bool:
    """Whether a cell has other text than a date, a length or a link to a recording."""
    text = words_of(cell)
    if not text:
        return False
    if _LENGTH.match(text):
        return False
    if cell.find(".//a[@onclick]") is not None:
        return False
    return _moment(cell) is None


def _is_marked_name(cell: HtmlElement) -> bool:
    marks = f"{cell.get('class', '')} {cell.get('headers', '')}".lower().split()
    if "name" in marks:
        return True
    return cell.get("scope") == "row"


def _panel(row: HtmlElement) -> str:
    """Return the heading of the panel that a row is in: the body, where the client
    sorts by body.
    """
    for above in row.iterancestors("div"):
        if "CollapsiblePanel" in above.get("class", "").split():
            return words_at(above, ".CollapsiblePanelTab").strip("* ")
    return ""


def _id_of(links: Sequence[Link]) -> str:
    for name in ("clip_id", "event_id", "meetingid"):
        found = first_parameter(links, name)
        if found:
            return f"{name.removesuffix('_id').removesuffix('id')}-{found}"
    return ""


def _feed(page: Page, reading: Reading) -> MeetingListing:
    """Return the meetings of the feed; a title ends in the local date: `Planning
    Commission - Jul 28, 2022`.
    """
    root = xml_of(page)
    meetings = [_of_feed(item, page, reading) for item in root.iter("item")]
    return MeetingListing(meetings=tuple(meetings))


def _of_feed(item: etree._Element, page: Page, reading: Reading) -> Meeting:
    written = item.findtext("title") or ""
    href = (item.findtext("link") or "").strip()
    parts = _DATE_IN_TITLE.split(written[:1000])
    title = clean(parts[0])
    kind = "Agenda" if "AgendaViewer" in href else "Video"
    url = web_url(href, page.final_url) if href else None
    links = unique_links([optional_link(kind, url)])
    return meeting_of(
        Meeting(
            vendor_id=_id_of(links),
            title=title,
            body=title,
            links=links,
        ),
        reading,
        start=moment_of_text(parts[-1]),
    )


# --- requests -------------------------------------------------------------------------


def upcoming(url: str, today: date) -> Requests:
    """Return the request for the listing, which holds upcoming and past meetings."""
    return requests_to(url)


def days(url: str, first: date, last: date) -> Requests:
    """Return the request for the listing, which holds upcoming and past meetings."""
    return upcoming(url, first)


def items(url: str, meeting: Meeting) -> Requests:
    """Return the request for a meeting's agenda."""
    return requests_to(meeting.agenda_url)


def signal(url: str, since: datetime) -> Request:
    """Return the request for the feed of agendas."""
    view = parameter(url, "view_id")
    path = f"/ViewPublisherRSS.php?view_id={view}&mode=agendas"
    return Request(url=urljoin(url, path))
