"""Agendas of OnBase Agenda Online, as Word made them or for screen readers, and the
pages of their items; and the addresses of pages and documents.
"""

import re
from dataclasses import replace
from datetime import date
from typing import Final
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from lxml.html import HtmlElement

from news_assets.records.meetings import AgendaItem, Attachment, Meeting, Request
from news_assets.records.reading import Page
from news_assets.sources.civic.reading.agenda_pages import (
    Line,
    agenda_of,
    items_of,
    notes_beside,
    page_of_item,
    says_off,
    texts_of_row,
)
from news_assets.sources.civic.reading.numbering import split_number
from news_assets.sources.civic.reading.page_values import (
    href_of,
    parameter,
    text_of,
    words_at,
)
from news_assets.sources.civic.vendor import Reading
from news_assets.sources.html.document import select

_HEADERS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_LOADED = re.compile(
    r"loadAgendaItem\(\s{0,3}'?(?P<id>\d{1,12})'?\s{0,3}(?:,\s{0,3}(?P<section>true|false))?",
    re.IGNORECASE,
)


def agenda_in(
    tree: HtmlElement, lines: list[Line], page: Page, reading: Reading
) -> Meeting:
    """Return the meeting that an agenda with these lines completes."""
    own_id, folder = parameter(page.final_url, "meetingid"), folder_of(page.final_url)
    notes = notes_beside(tree, [line.row for line in lines])
    items = [_with_details(item, own_id, folder) for item in items_of(lines)]
    meeting = agenda_of(items, notes, own_id)
    if says_off(notes, reading.now):
        return replace(meeting, status="cancelled")
    return meeting


def _with_details(item: AgendaItem, meeting_id: str, folder: str) -> AgendaItem:
    """Return an item with the address of its own page; a heading has none."""
    if not item.vendor_id.isdecimal():
        return item
    if not meeting_id:
        return item
    return replace(
        item, details_urls=(_item_page_of(folder, meeting_id, item.vendor_id),)
    )


def lines_of(tree: HtmlElement) -> list[Line]:
    """Return the lines of an agenda; none for another page."""
    return _accessible_lines(tree) or _word_lines(tree)


def _word_lines(tree: HtmlElement) -> list[Line]:
    """Return the rows whose text calls `loadAgendaItem`."""
    lines: dict[HtmlElement, Line] = {}
    for anchor in tree.iter("a"):
        row = next(anchor.iterancestors("tr"), None)
        if row is None:
            continue
        if row in lines:
            continue
        if not text_of(anchor):
            continue
        if match := _loaded(anchor):
            lines[row] = _line(row, match)
    return list(lines.values())


def _loaded(anchor: HtmlElement) -> re.Match[str] | None:
    return _LOADED.search(
        f"{anchor.get('href', '')} {anchor.get('onclick', '')}"[:1000]
    )


def _line(row: HtmlElement, match: re.Match[str]) -> Line:
    is_heading = (match["section"] or "").lower() == "true"
    own_id = f"S{match['id']}" if is_heading else match["id"]
    number, texts = texts_of_row(row)
    return Line(
        row=row, own_id=own_id, number=number, texts=texts, is_heading=is_heading
    )


def _accessible_lines(tree: HtmlElement) -> list[Line]:
    """Return the lines of the page for screen readers: `.accessible-section`,
    `.accessible-item`; nothing without an item.
    """
    lines: list[Line] = []
    for element in select(tree, ".accessible-section, .accessible-item"):
        if "accessible-item" in element.get("class", ""):
            line = _accessible_item(element)
        else:
            line = _accessible_heading(element)
        if line is not None:
            lines.append(line)
    if all(line.is_heading for line in lines):
        return []
    return lines


def _accessible_heading(element: HtmlElement) -> Line | None:
    for child in element:
        if child.tag in _HEADERS:
            text = text_of(child)
            if not text:
                return None
            return Line(row=child, own_id="", number="", texts=(text,), is_heading=True)
    return None


def _accessible_item(element: HtmlElement) -> Line | None:
    number, title = split_number(words_at(element, "a") or text_of(element))
    if not title:
        return None
    match = _loaded(next(element.iter("a"), element))
    own_id = match["id"] if match else ""
    return Line(row=element, own_id=own_id, number=number, texts=(title,))


def item_in(tree: HtmlElement, base: str, page: Page) -> Meeting:
    """Return what an item's own page adds to it: its documents."""
    own_id = parameter(page.final_url, "itemid")
    item = AgendaItem(
        sequence=0,
        title="",
        vendor_id=own_id,
        attachments=_files_of(own_id, tree, base),
        details_urls=(page.url,),
    )
    return page_of_item(item, parameter(page.final_url, "meetingid"))


def _files_of(own_id: str, tree: HtmlElement, base: str) -> tuple[Attachment, ...]:
    """Return the documents of an item that its page links."""
    files: dict[str, Attachment] = {}
    for anchor in tree.iter("a"):
        href = href_of(anchor, base)
        if href is None:
            continue
        if not is_file(href):
            continue
        if parameter(href, "itemid") in ("", own_id):
            name = text_of(anchor) or "Document"
            files.setdefault(href, Attachment(name=name, url=lasting(href)))
    return tuple(files.values())


# --- addresses ------------------------------------------------------------------------

_FOLDER = re.compile(
    r"\A(?P<folder>.{0,500}?/)(?:meetings|documents)(?:/|\Z)", re.IGNORECASE
)
_FILE = re.compile(
    r"/documents/(?:downloadfile(?:bytes)?|viewdocument)/", re.IGNORECASE
)
_SCRIPTED: Final = "/DownloadFile/"  # in this spelling only
_CUSTOM_DATES: Final = "11"  # of the search form's choices
# Without it, some clients answer with an empty frame.
_AS_SCRIPT: Final = (("X-Requested-With", "XMLHttpRequest"),)


def folder_of(url: str) -> str:
    """Return the address of a client's site, with a slash at its end."""
    parts = urlsplit(url)
    match = _FOLDER.match(parts.path)
    path = match["folder"] if match else f"{parts.path.rstrip('/')}/"
    return f"{parts.scheme}://{parts.netloc}{path}"


def is_file(href: str) -> bool:
    """Whether an address is that of a document."""
    return _FILE.search(href[:2000]) is not None


def lasting(href: str) -> str:
    """Return the address of a document that leads to the document itself, not to a
    script.
    """
    return href.replace(_SCRIPTED, "/DownloadFileBytes/")


def page_of(folder: str, meeting_id: str, kind: str = "1") -> str:
    """Return the address of a meeting's page; `kind` is 1 for its agenda, 2 for its
    minutes.
    """
    return (
        f"{folder}Meetings/ViewMeeting?{urlencode({'id': meeting_id, 'doctype': kind})}"
    )


def file_of(folder: str, meeting_id: str, kind: str, name: str) -> str:
    """Return the address of a meeting's agenda or minutes as a document with this name."""
    query = urlencode({"documentType": kind, "meetingId": meeting_id})
    return f"{folder}Documents/DownloadFileBytes/{quote(name, safe='')}.pdf?{query}"


def _item_page_of(folder: str, meeting_id: str, item_id: str) -> str:
    """Return the address of an item's own page."""
    query = {
        "meetingId": meeting_id,
        "itemId": item_id,
        "isSection": "false",
        "type": "agenda",
    }
    return f"{folder}Meetings/ViewMeetingAgendaItem?{urlencode(query)}"


def search(url: str, first: date, last: date) -> Request:
    """Return the search for the meetings of these days, of the kinds that the source's
    address names.
    """
    kinds = parse_qs(urlsplit(url).query).get("mtids", [])
    query = {
        "dropid": _CUSTOM_DATES,
        **({"mtids": ",".join(kinds)} if kinds else {}),
        "dropsv": f"{first:%m/%d/%Y} 00:00:00",
        "dropev": f"{last:%m/%d/%Y} 23:59:59",
    }
    return Request(
        url=f"{folder_of(url)}Meetings/Search?{urlencode(query, quote_via=quote)}"
    )


def outline(url: str, meeting_id: str) -> Request:
    """Return the request for an agenda as Word made it."""
    query = urlencode({"meetingId": meeting_id, "type": "agenda", "doctype": "1"})
    return Request(
        url=f"{folder_of(url)}Documents/ViewAgenda?{query}", headers=_AS_SCRIPT
    )


def accessible(url: str, meeting_id: str) -> Request:
    """Return the request for an agenda as a page for screen readers."""
    query = urlencode({"meetingId": meeting_id, "type": "agenda"})
    return Request(
        url=f"{folder_of(url)}Meetings/ViewMeetingAgenda?{query}", headers=_AS_SCRIPT
    )
