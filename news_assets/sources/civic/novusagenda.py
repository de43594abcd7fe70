"""NovusAgenda: `https://{client}.novusagenda.com/agendapublic/`, a Telerik grid whose
columns vary.

Columns are known by their headings, else by what they hold. Dates are `m/d/yy` or
`m/d/yyyy`. The address of an agenda stands in `onclick`; its items link to
`CoverSheet.aspx?ItemID=`, their documents to `AttachmentViewer.ashx`.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from urllib.parse import urljoin

from lxml.html import HtmlElement

from news_assets.records.meetings import (
    AgendaItem,
    Attachment,
    Link,
    Meeting,
    MeetingListing,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.agenda_pages import (
    agenda_of,
    notes_beside,
    page_of_item,
    visible_lines,
)
from news_assets.sources.civic.identity import listed_key
from news_assets.sources.civic.moments import Moment, clock_of_text, day_of_text
from news_assets.sources.civic.numbering import first_file, number_alone
from news_assets.sources.civic.page_values import (
    Requests,
    dateless_rows,
    first_parameter,
    href_of,
    listing_changed,
    parameter,
    requests_to,
    text_of,
    title_line,
    tree_of,
    unique_links,
)
from news_assets.sources.civic.vendor_meetings import (
    ParseContext,
    location_of,
    meeting_of,
)
from news_assets.sources.html_document import base_of, select

_EXPECTED = "a page of NovusAgenda"
_GRIDS = "table.rgMasterTable, table[class*=rgMaster]"
_ROWS = "tr.rgRow, tr.rgAltRow"
_AGENDA_ITEM = re.compile(r"CoverSheet\.aspx", re.IGNORECASE)
_ATTACHMENT = re.compile(r"AttachmentViewer\.ashx", re.IGNORECASE)
_DOCUMENTS = (
    ("DisplayAgendaPDF", "Agenda (PDF)"),
    ("doctype=minutes", "Minutes"),
    ("doctype=agenda", "Agenda"),
    ("MeetingView", "Agenda"),
    ("Video", "Video"),
)
_MAX_DATE_CHARS = 60  # of a cell with the date
_MAX_HOUR_CHARS = 20  # of a cell without a heading that holds nothing but the hour


def parse(page: Page, context: ParseContext) -> MeetingListing:
    """Return the meetings of the grid, or the items of an agenda.

    Raises:
        ListingChangedError: Not a page of NovusAgenda.
        SourceError: An empty document.
    """
    tree = tree_of(page, _EXPECTED)
    base = base_of(tree, page)
    if _AGENDA_ITEM.search(page.final_url):
        return MeetingListing(meetings=(_cover_sheet(tree, base, page),))
    if items := _items(tree, base):
        notes = notes_beside(tree, _agenda_rows(tree))
        meeting = agenda_of(items, notes, parameter(page.final_url, "meetingid"))
        return MeetingListing(meetings=(meeting,))
    rows = select(tree, _ROWS)
    if not rows and not select(tree, _GRIDS):
        raise listing_changed(page, _EXPECTED)
    return _calendar(tree, rows, base, context)


def _calendar(
    tree: HtmlElement, rows: Sequence[HtmlElement], base: str, context: ParseContext
) -> MeetingListing:
    headings = [text_of(cell).lower() for cell in select(tree, "th.rgHeader")]
    found: dict[str, Meeting] = {}
    dateless = 0
    for row in rows:
        meeting = _meeting(row, headings, base, context)
        if meeting is None:
            dateless += 1
        else:
            found[listed_key(meeting)] = meeting
    return MeetingListing(
        meetings=tuple(found.values()), problems=dateless_rows(dateless)
    )


def _meeting(
    row: HtmlElement, headings: list[str], base: str, context: ParseContext
) -> Meeting | None:
    texts = [text_of(cell) for cell in row.findall("td")]
    at = _place_of_date(texts)
    if at is None:
        return None
    named: dict[str, str] = {}
    if len(headings) == len(texts):
        named = dict(zip(headings, texts, strict=True))
    date_text = texts.pop(at)
    others = list(filter(None, texts))
    title = _named(named, "type", "meeting", "name", "title") or "".join(others[:1])
    hours = [text for text in others if len(text) <= _MAX_HOUR_CHARS]
    links = _links(row, base)
    return meeting_of(
        Meeting(
            vendor_id=first_parameter(links, "meetingid"),
            title=title,
            body=title,
            location=location_of(_named(named, "location", "place")),
            links=tuple(links),
        ),
        context,
        start=_start(date_text, [_named(named, "time"), date_text, *hours]),
        status_words=others,
    )


def _place_of_date(texts: Sequence[str]) -> int | None:
    """Return which cell of a row has the date."""
    for place, text in enumerate(texts):
        if len(text) > _MAX_DATE_CHARS:
            continue
        if day_of_text(text):
            return place
    return None


def _start(date: str, hours: Iterable[str]) -> Moment | None:
    """Return the day, with the hour of the first text that states one."""
    day = day_of_text(date)
    if day is None:
        return None
    for text in hours:
        clock = clock_of_text(text)
        if clock is not None:
            return Moment(day, clock)
    return Moment(day)


def _named(named: dict[str, str], *words: str) -> str:
    """Return the cell whose heading has one of these words, but not that of the date."""
    for word in words:
        for name, text in named.items():
            if "date" in name:
                continue
            if text and word in name:
                return text
    return ""


def _links(row: HtmlElement, base: str) -> tuple[Link, ...]:
    links: list[Link] = []
    for anchor in select(row, "a"):
        href = href_of(anchor, base)
        if href:
            links.append(Link(title=_link_title(anchor, href), href=href))
    return unique_links(links)


def _link_title(anchor: HtmlElement, href: str) -> str:
    """Return a link's text, else that of its image, else what its address stands for."""
    image = next(anchor.iter("img"), None)
    described = text_of(anchor)
    if not described and image is not None:
        described = title_line(image.get("alt", ""))
    if described:
        return described
    for mark, title in _DOCUMENTS:
        if mark.lower() in href.lower():
            return title
    return "Document"


# --- an agenda ------------------------------------------------------------------------


def _items(tree: HtmlElement, base: str) -> list[AgendaItem]:
    """Return the items, which link to a cover sheet, with the attachments that follow
    each.
    """
    items: list[AgendaItem] = []
    section = ""
    for element in tree.iter("tr", "a"):
        if element.tag == "tr":
            section = _heading(element) or section
            continue
        href = href_of(element, base)
        title = text_of(element)
        if not href:
            continue
        if title and _AGENDA_ITEM.search(href):
            items.append(_item(element, href, len(items) + 1, section))
        elif items and _ATTACHMENT.search(href):
            files = (*items[-1].attachments, Attachment(name=title, url=href))
            items[-1] = replace(items[-1], attachments=files)
    return items


def _item(anchor: HtmlElement, href: str, sequence: int, section: str) -> AgendaItem:
    return AgendaItem(
        sequence=sequence,
        vendor_id=parameter(href, "itemid"),
        number=_number_before(anchor),
        title=text_of(anchor),
        section=section,
        details_urls=(href,),
    )


def _heading(row: HtmlElement) -> str:
    """Return the text of a row that is a heading: in bold, without a link."""
    if row.find(".//tr") is not None:
        return ""
    if row.find(".//a") is not None:
        return ""
    text = text_of(row)
    marked = " ".join(
        text_of(element) for element in row.iter("b", "strong", "h2", "h3")
    )
    if marked and text.endswith(marked):
        return marked
    return ""


def _number_before(anchor: HtmlElement) -> str:
    cell = next(anchor.iterancestors("td"), None)
    if cell is None:
        return ""
    return number_alone(text_of(cell.getprevious()))


def _agenda_rows(tree: HtmlElement) -> list[HtmlElement]:
    """Return the smallest elements that hold the agenda: the rows or blocks with its
    items.
    """
    blocks: dict[HtmlElement, None] = {}
    for anchor in tree.iter("a"):
        if _AGENDA_ITEM.search(anchor.get("href", "")):
            blocks[next(anchor.iterancestors("tr", "li", "p"), anchor)] = None
    return list(blocks)


# --- the cover sheet of an item -------------------------------------------------------


def _cover_sheet(tree: HtmlElement, base: str, page: Page) -> Meeting:
    """Return what a cover sheet adds to its item: the number of the file, and the
    attachments.
    """
    files: list[Attachment] = []
    for anchor in tree.iter("a"):
        href = href_of(anchor, base)
        if href is None:
            continue
        if _ATTACHMENT.search(href):
            files.append(Attachment(name=text_of(anchor), url=href))
    item = AgendaItem(
        sequence=0,
        title="",
        vendor_id=parameter(page.final_url, "itemid"),
        matter_file=first_file(visible_lines(tree)),
        attachments=tuple(files),
        details_urls=(page.url,),
    )
    return page_of_item(item, parameter(page.final_url, "meetingid"))


# --- requests -------------------------------------------------------------------------


def upcoming(url: str, today: date) -> Requests:
    """Return the request for the listing, which holds the next meetings and the last
    ones.
    """
    return requests_to(urljoin(url, "/agendapublic/"))


def days(url: str, first: date, last: date) -> Requests:
    """Return the requests for the listing, and for six months, the longest span the
    page offers without a form.
    """
    path = "/agendapublic/meetingsgeneral.aspx?MeetingType=1&Date=6ms"
    return (*upcoming(url, first), *requests_to(urljoin(url, path)))


def items(url: str, meeting: Meeting) -> Requests:
    """Return the request for a meeting's agenda."""
    pages: list[str] = []
    for link in meeting.links:
        if "meetingview" in link.href.lower():
            pages.append(link.href)
    return requests_to(*pages[:1])
