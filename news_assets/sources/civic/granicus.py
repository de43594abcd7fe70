"""Granicus: `https://{client}.granicus.com/ViewPublisher.php?view_id=N`, and its feed
ViewPublisherRSS.

Clients design the page themselves: rows are `tr` of any class, and columns are known by
what they hold. A meeting is in "Recent" and in "Archived". Dates are local; a hidden
Unix time may stand before them; often they have no hour. A meeting has an `event_id`
until it is recorded, then a `clip_id`.

The agenda that AgendaViewer shows is HTML of the client's own design, of AgendaOnline,
or made by Word. Day and hour stand at the top. An item is a row whose first cell is its
number; documents are links to MetaViewer and the like, in the row or below it.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import urljoin

from lxml import etree
from lxml.html import HtmlElement

from news_assets.records.meetings import (
    AgendaItem,
    Attachment,
    Link,
    Meeting,
    MeetingListing,
    Request,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.agenda_pages import (
    notes_beside,
    visible_lines,
    with_notes,
)
from news_assets.sources.civic.identity import listed_key
from news_assets.sources.civic.moments import (
    Moment,
    clock_of_text,
    day_of_text,
    moment_of_text,
)
from news_assets.sources.civic.numbering import (
    first_file,
    number_alone,
    split_number,
)
from news_assets.sources.civic.page_values import (
    Requests,
    first_match,
    first_parameter,
    href_of,
    links_in,
    listing_changed,
    optional_link,
    parameter,
    requests_to,
    text_of,
    title_line,
    tree_of,
    unique_links,
    words_at,
    xml_of,
)
from news_assets.sources.civic.vendor_meetings import (
    ParseContext,
    location_of,
    meeting_of,
)
from news_assets.sources.html_document import base_of, select, title_of, words_of
from news_assets.text.urls import web_url

_EXPECTED = "a page of Granicus"
_HIDDEN_UNIX_TIME = re.compile(r"^\s*\d{10}(?=\D)")
_LENGTH = re.compile(r"\d{1,3}\s?(?:h|hr|hrs|hour|m|min|mins)\b", re.IGNORECASE)
_MARKS = (b"granicus", b"agendaviewer.php", b"mediaplayer.php")
_MAX_DATE_CHARS = 60  # of the text of a cell that holds a date and nothing else
_DATE_IN_TITLE = re.compile(r"\s[-–]\s(?=[A-Z][a-z]{2}\s\d)")


def parse(page: Page, context: ParseContext) -> MeetingListing:
    """Return the meetings of a listing or feed; of an agenda the one meeting with its
    items.

    Raises:
        ListingChangedError: Not a page of Granicus.
        SourceError: An empty document.
    """
    if page.body.lstrip()[:200].lower().startswith((b"<?xml", b"<rss")):
        return _feed(page, context)
    tree = tree_of(page, _EXPECTED)
    base = base_of(tree, page)
    found = _listed(tree, base, context)
    is_agenda = "agendaviewer" in page.url.lower()
    if not is_agenda and not found:
        is_agenda = _looks_like_agenda(page)
    if is_agenda:
        return MeetingListing(meetings=(_parse_agenda(tree, base, page, context),))
    if not found and not any(mark in page.body.lower() for mark in _MARKS):
        raise listing_changed(page, _EXPECTED)
    return MeetingListing(meetings=tuple(found))


def _listed(tree: HtmlElement, base: str, context: ParseContext) -> list[Meeting]:
    """Return the meetings of all rows; of those listed twice the row with more links."""
    found: dict[str, Meeting] = {}
    for row in tree.iter("tr"):
        if row.find(".//tr") is not None:
            continue
        if len(row.findall("td")) < 2:
            continue
        meeting = _meeting(row, base, context)
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


def _meeting(row: HtmlElement, base: str, context: ParseContext) -> Meeting | None:
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
        context,
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
    names = list(filter(_is_name, row.findall("td")))
    if date_cell in names:
        names.remove(date_cell)
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


def _feed(page: Page, context: ParseContext) -> MeetingListing:
    """Return the meetings of the feed; a title ends in the local date: `Planning
    Commission - Jul 28, 2022`.
    """
    root = xml_of(page)
    meetings = [_of_feed(item, page, context) for item in root.iter("item")]
    return MeetingListing(meetings=tuple(meetings))


def _of_feed(item: etree._Element, page: Page, context: ParseContext) -> Meeting:
    written = item.findtext("title", "")
    href = item.findtext("link", "").strip()
    parts = _DATE_IN_TITLE.split(written[:1000])
    title = title_line(parts[0])
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
        context,
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


# --- agendas -------------------------------------------------------------------------

_HEAD_LINES = 80  # where day, hour and place are stated; the agenda itself follows
_NEAR_LINES = 4  # after the day
_LOADED = re.compile(r"loadAgendaItem\(\s?'?(\w{1,40})")
_FILE_LINES = 6  # of an item, where its file's number is looked for
_MAX_BOLD_PARTS = 5
_NAMES_MEETING = re.compile(
    r"\b(?:meeting|commission|council|committee|board|hearing|session)\b", re.IGNORECASE
)
_NO_TITLE = re.compile(
    r"\W{0,3}(?:agenda|agenda viewer|meeting agenda|untitled.{0,20})?\W{0,3}",
    re.IGNORECASE,
)
_TIME = re.compile(r"\W{0,2}time\b", re.IGNORECASE)
_PLACE = re.compile(
    r"\W{0,2}(?:place|location)\s{0,3}:\s{0,3}(.{0,300})", re.IGNORECASE
)
_DOCUMENT = re.compile(
    r"MetaViewer|DocumentViewer|/attachments?/|ViewFile|\.(?:pdf|docx?|pptx?|xlsx?)(?:$|\?)",
    re.IGNORECASE,
)
_GRID_LINES = "div[style*=grid-row-start], div[style*=grid-column-start]"
_MAX_TITLE_CHARS = 150


def _parse_agenda(
    tree: HtmlElement, base: str, page: Page, context: ParseContext
) -> Meeting:
    """Return the meeting of an agenda: its title, day and hour, as far as they are
    stated, and its items.
    """
    lines = visible_lines(tree)[:_HEAD_LINES]
    at = _line_of_day(lines)
    before = lines[:10] if at is None else lines[:at]
    title = _title(tree, before)
    elements, items = _agenda_items(tree, base)
    meeting = meeting_of(
        Meeting(
            vendor_id=_agenda_id(page),
            title=title,
            location=location_of(_place(lines)),
            url=page.final_url,
            links=(Link(title="Agenda", href=page.url),),
            items=tuple(items),
        ),
        context,
        start=_start(lines, at, title),
    )
    return with_notes(meeting, notes_beside(tree, elements))


def _line_of_day(lines: Sequence[str]) -> int | None:
    for number, one in enumerate(lines):
        if day_of_text(one[:300]):
            return number
    return None


def _agenda_id(page: Page) -> str:
    for name in ("clip_id", "event_id", "meetingid"):
        for url in (page.url, page.final_url):
            found = parameter(url, name)
            if found:
                return f"{name.removesuffix('_id').removesuffix('id')}-{found}"
    return ""


def _title(tree: HtmlElement, before: Sequence[str]) -> str:
    stated = title_line(title_of(tree) or "")
    if stated and not _NO_TITLE.fullmatch(stated):
        return stated
    for one in reversed(before):
        if len(one) > _MAX_TITLE_CHARS:
            continue
        if _NAMES_MEETING.search(one):
            return title_line(one)
    return stated


def _start(lines: Sequence[str], at: int | None, title: str) -> Moment | None:
    """Return day and hour; the hour from the title, else beside the day, else after
    the word "time".
    """
    if at is None:
        return None
    moment = moment_of_text(lines[at][:300])
    if moment is None:
        return None
    clock = clock_of_text(title) or moment.clock
    marked = [other for one, other in pairwise(lines) if _TIME.match(one)]
    below = lines[at + 1 :][:_NEAR_LINES]
    near = [one for one in below if len(one) <= _MAX_TITLE_CHARS]
    for text in (*marked, *near):
        if clock is not None:
            break
        clock = clock_of_text(text)
    return Moment(moment.day, clock)


def _place(lines: Sequence[str]) -> str:
    for one, other in pairwise([*lines, ""]):
        if match := _PLACE.match(one):
            return match[1] or other
    return ""


class _Entry(NamedTuple):
    """One line of an agenda, its element, and whether it is a heading."""

    element: HtmlElement
    number: str
    title: str
    file: str | None = None
    is_heading: bool = False


def _agenda_items(
    tree: HtmlElement, base: str
) -> tuple[list[HtmlElement], list[AgendaItem]]:
    """Return the elements and the items of the first form that the agenda has."""
    for entries_of in (_accessible, _grid, _numbered_rows):
        if entries := entries_of(tree):
            return [entry.element for entry in entries], _items(tree, entries, base)
    return [], []


def _items(tree: HtmlElement, entries: Sequence[_Entry], base: str) -> list[AgendaItem]:
    """Return the items with the documents that follow each, up to the next."""
    by_element = {entry.element: entry for entry in entries}
    items: list[AgendaItem] = []
    heading: _Entry | None = None
    for element in tree.iter("tr", "div", "a", "strong", "b", "h2", "h3"):
        entry = by_element.get(element)
        if entry is None:
            if items and element.tag == "a":
                items[-1] = _with_document(items[-1], element, base)
        elif entry.is_heading:
            heading = entry
        else:
            items.append(_item(entry, len(items) + 1, heading, base))
    return items


def _item(
    entry: _Entry, sequence: int, heading: _Entry | None, base: str
) -> AgendaItem:
    number = entry.number
    section = ""
    if heading is not None:
        section = heading.title
        if heading.number:
            number = number.removeprefix(f"{heading.number}.")
    return AgendaItem(
        sequence=sequence,
        vendor_id=_own_id(entry.element, base),
        number=number,
        title=entry.title,
        section=section,
        matter_file=entry.file,
    )


def _with_document(item: AgendaItem, anchor: HtmlElement, base: str) -> AgendaItem:
    href = href_of(anchor, base)
    if not href:
        return item
    if not _DOCUMENT.search(href[:2000]):
        return item
    if any(one.url == href for one in item.attachments):
        return item
    file = Attachment(name=text_of(anchor), url=href)
    return replace(item, attachments=(*item.attachments, file))


def _accessible(tree: HtmlElement) -> list[_Entry]:
    """Return the items of AgendaOnline's page for screen readers:
    `div.accessible-item`.
    """
    entries: list[_Entry] = []
    for element in select(tree, ".accessible-item"):
        number, rest = split_number(text_of(element))
        title = words_at(element, ".accessible-item-text") or rest
        if title:
            entries.append(_Entry(element, number, title))
    return entries


def _grid(tree: HtmlElement) -> list[_Entry]:
    """Return the lines of an agenda in a CSS grid: headings in `h2`, items in `h3`, the
    number in a span first.
    """
    entries: list[_Entry] = []
    for element in select(tree, _GRID_LINES):
        head = first_match(element, "h2, h3, h4")
        if head is None:
            continue
        spans = [text_of(span) for span in select(head, "span")]
        number, title = _number_and_title([span for span in spans if span])
        if not title:
            title = text_of(head)
        entries.append(_Entry(element, number, title, is_heading=head.tag == "h2"))
    return entries


def _number_and_title(parts: Sequence[str]) -> tuple[str, str]:
    """Return the number, the first of several parts, and the title."""
    if not parts:
        return "", ""
    number = parts[0].strip("(). :")
    if len(parts) == 1 or not number:
        return "", parts[0]
    return number, " ".join(parts[1:])


def _numbered_rows(tree: HtmlElement) -> list[_Entry]:
    """Return the rows whose first cell is a number, and the headings in bold between
    them; nothing if there is no such row.
    """
    entries: list[_Entry] = []
    for element in tree.iter("tr", "div", "p", "h2", "h3"):
        entry = _numbered(element) if element.tag == "tr" else _bold(element)
        if entry is not None:
            entries.append(entry)
    if all(entry.is_heading for entry in entries):
        return []
    return entries


def _bold(element: HtmlElement) -> _Entry | None:
    """Return the heading that a block is whose text is all bold; None for another."""
    if len(element) > _MAX_BOLD_PARTS:
        return None
    if element.find(".//a") is not None:
        return None
    if element.find(".//tr") is not None:
        return None
    text = text_of(element)
    if not text:
        return None
    if len(text) > _MAX_TITLE_CHARS:
        return None
    if text != title_line(
        " ".join(words_of(one) for one in element.iter("strong", "b"))
    ):
        return None
    title = text.rstrip(". :")
    if not title:
        return None
    return _Entry(element, "", title, is_heading=True)


def _numbered(row: HtmlElement) -> _Entry | None:
    """Return the entry of a row; None for a row of layout. What follows the title's
    first line is its text.
    """
    if row.find(".//tr") is not None:
        return None
    filled = [cell for cell in row.findall("td") if text_of(cell)]
    if len(filled) < 2:
        return None
    number = number_alone(text_of(filled[0]))
    lines = visible_lines(filled[1])
    if not number:
        return None
    if not lines:
        return None
    return _Entry(row, number, title_line(lines[0]), first_file(lines[1:_FILE_LINES]))


def _own_id(row: HtmlElement, base: str) -> str:
    """Return the id of the item itself, to which its link to the recording leads; else
    the name of its anchor.
    """
    anchors = list(row.iter("a"))
    for anchor in anchors:
        loaded = _LOADED.search(anchor.get("onclick", "")[:500])
        if loaded:
            return loaded[1]
    for anchor in anchors:
        recorded = parameter(href_of(anchor, base), "meta_id")
        if recorded:
            return recorded
    for anchor in anchors:
        if anchor.get("name"):
            return str(anchor.get("name"))
    return ""
