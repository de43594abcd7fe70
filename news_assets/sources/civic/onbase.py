"""OnBase Agenda Online (Hyland), on hosts of cities:
`https://{host}/OnBaseAgendaOnline/`.

`Meetings/Search` lists the meetings of a span of days, as JSON within the page or as
rows of a table. The hour is local; its offset is not read, as the table shows the same
clock. `mtids` in a source's address, ids of kinds of meetings, narrows the search.
`Documents/ViewAgenda` is the agenda as Word made it, whose lines call
`loadAgendaItem(id, isSection)`; clients without it have `Meetings/ViewMeetingAgenda`, a
page for screen readers. Documents of an item are on its own page. Their addresses
`DownloadFile` lead to a script, which continues at `DownloadFileBytes`; older clients
spell it `Downloadfile` and answer with the file.
"""

import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlencode, urlsplit

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
    Line,
    agenda_of,
    is_cancelled_at_top,
    items_of,
    notes_beside,
    page_of_item,
    texts_of_row,
)
from news_assets.sources.civic.moments import (
    day_of_text,
    moment_of_text,
    wall_clock,
)
from news_assets.sources.civic.numbering import split_number
from news_assets.sources.civic.page_values import (
    Object,
    Requests,
    href_of,
    listing_changed,
    objects,
    parameter,
    text_at,
    text_of,
    title_line,
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

_EXPECTED = "a page of OnBase Agenda Online"
_RESULTS: Final = "new SearchResults("
_LIST_MARK: Final = b"meetings-list"
_ITEM_PAGE = re.compile(r"/viewmeetingagendaitem\Z", re.IGNORECASE)
_OUTLINE_PAGE = re.compile(r"/documents/viewagenda\Z", re.IGNORECASE)
_OF_MEETING = re.compile(
    r"/meetings/viewmeeting\?|/documents/(?:downloadfile(?:bytes)?|viewdocument)/",
    re.IGNORECASE,
)
_DESCRIBED = re.compile(
    r"(?:View|Download)\s(?P<what>.{1,60}?)\sfor\s(?P<name>.{0,300}?)\son\s(?P<when>\d{1,2}/\d.{0,40})\Z"
)
_DATE = re.compile(
    r"\s{0,3}[-–,]?\s{0,3}(?:(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?\s\d{1,2},?\s\d{4}"
    r"|\d{1,2}/\d{1,2}/\d{4})\b",
    re.IGNORECASE,
)
_MAX_LINKS: Final = 20  # of a meeting, in which its name is looked for
# of a link outside a table: its own cell, its row, and what holds both
_BLOCKS_AROUND: Final = 3


def parse(page: Page, context: ParseContext) -> MeetingListing:
    """Return the meetings of a listing, the items of an agenda, or the documents of one
    item.

    Raises:
        ListingChangedError: None of them.
        SourceError: An empty document.
    """
    tree = tree_of(page, _EXPECTED)
    base = base_of(tree, page)
    path = urlsplit(page.final_url).path
    if _ITEM_PAGE.search(path):
        return MeetingListing(meetings=(_item_in(tree, base, page),))
    if lines := _lines_of(tree):
        return MeetingListing(meetings=(_agenda_in(tree, lines, page, context),))
    if _OUTLINE_PAGE.search(path):
        meeting = parameter(page.final_url, "meetingid")
        return MeetingListing(next_requests=(_accessible(page.final_url, meeting),))
    linked = _anchors_by_meeting(tree, base)
    stated = _search_results(page)
    if stated is not None:
        return _of_results(stated, linked, base, page, context)
    if not linked and _LIST_MARK not in page.body:
        raise listing_changed(page, _EXPECTED)
    return _of_links(linked, base, page, context)


def _of_results(
    rows: Iterable[Object],
    linked: Mapping[str, Sequence[HtmlElement]],
    base: str,
    page: Page,
    context: ParseContext,
) -> MeetingListing:
    """Return the meetings of the results of a search, with the links of the page."""
    folder = _folder_of(page.final_url)
    meetings: list[Meeting] = []
    for row in rows:
        own_id = text_at(row, "ID")
        written = _links(linked.get(own_id, ()), base)
        found = _Found(
            own_id=own_id,
            name=text_at(row, "Name"),
            kind=text_at(row, "MeetingTypeName"),
            when=text_at(row, "Time", "TimeString"),
            place=text_at(row, "Location"),
            links=unique_links((*_stated_links(row, own_id, folder), *written)),
        )
        meetings.append(_meeting(found, folder, context))
    return MeetingListing(meetings=tuple(meetings))


def _of_links(
    linked: Mapping[str, Sequence[HtmlElement]],
    base: str,
    page: Page,
    context: ParseContext,
) -> MeetingListing:
    """Return the meetings that the links of a page lead to."""
    folder = _folder_of(page.final_url)
    table = _Table()
    meetings: list[Meeting] = []
    for own_id, anchors in linked.items():
        name, kind, when = table.texts_of(anchors)
        links = unique_links(_links(anchors, base))
        found = _Found(own_id=own_id, name=name, kind=kind, when=when, links=links)
        meetings.append(_meeting(found, folder, context))
    return MeetingListing(meetings=tuple(meetings))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What a listing states of one meeting."""

    own_id: str
    name: str
    kind: str
    when: str
    place: str = ""
    links: tuple[Link, ...]


# --- the listing ----------------------------------------------------------------------


def _meeting(found: _Found, folder: str, context: ParseContext) -> Meeting:
    title = _DATE.sub("", found.name).strip(" -–,")
    if not any(map(str.isalpha, title)):
        title = found.kind or found.name
    start_of = wall_clock if "T" in found.when else moment_of_text
    return meeting_of(
        Meeting(
            vendor_id=found.own_id,
            title=title,
            body=found.kind or title,
            location=location_of(found.place),
            url=_page_of(folder, found.own_id) if found.own_id else None,
            links=found.links,
        ),
        context,
        start=start_of(found.when),
        status_words=[found.name],
    )


def _search_results(page: Page) -> list[Object] | None:
    """Return the meetings that a page has as JSON; None if it has none."""
    text = page.body.decode("utf-8", "replace")
    _, mark, rest = text.partition(_RESULTS)
    if not mark:
        return None
    try:
        found: Any = json.JSONDecoder().raw_decode(rest.lstrip())[0]
    except (ValueError, RecursionError) as error:
        raise listing_changed(page, _EXPECTED) from error
    if not isinstance(found, dict):
        return []
    return objects(found.get("Meetings"))


def _stated_links(row: Object, own_id: str, folder: str) -> Iterator[Link]:
    """Yield the links to agenda and minutes: to the files, or to the page of one whose
    file has no name.
    """
    for title, kind in (("Agenda", "1"), ("Minutes", "2")):
        if row.get(f"Is{title}Available") is not True:
            continue
        href = _page_of(folder, own_id, kind)
        name = text_at(row, f"{title}UniqueName")
        if name:
            href = _file_of(folder, own_id, kind, name)
        yield Link(title=title, href=href)


def _anchors_by_meeting(tree: HtmlElement, base: str) -> dict[str, list[HtmlElement]]:
    """Return the links to pages and documents of each meeting, by its id."""
    found: dict[str, list[HtmlElement]] = defaultdict(list)
    for anchor in tree.iter("a"):
        href = href_of(anchor, base)
        if href is None:
            continue
        if not _OF_MEETING.search(href[:2000]):
            continue
        own_id = parameter(href, "id", "meetingid")
        if own_id:
            found[own_id].append(anchor)
    return found


def _links(anchors: Iterable[HtmlElement], base: str) -> list[Link]:
    """Return the files, then the pages of documents that have no file here."""
    named: list[Link] = []
    for anchor in anchors:
        href = href_of(anchor, base)
        if href:
            named.append(Link(title=_title_of(anchor), href=_lasting(href)))
    files = [link for link in named if _is_file(link.href)]
    titles = {link.title for link in files}
    return files + [link for link in named if link.title not in titles]


def _title_of(anchor: HtmlElement) -> str:
    """Return what a link leads to: its text, else the first words of its description."""
    text = text_of(anchor)
    if text:
        return text
    described = _DESCRIBED.search(title_line(anchor.get("title", "")))
    return described["what"] if described else "Document"


class _Table:
    """The texts of rows and blocks of a listing, each read once, as many links may
    stand in one.
    """

    def __init__(self) -> None:
        self._rows: dict[HtmlElement, tuple[str, str, str]] = {}
        self._blocks: dict[HtmlElement, str] = {}

    def texts_of(self, anchors: Sequence[HtmlElement]) -> tuple[str, str, str]:
        """Return name, kind and time of a meeting, from its row, else from what its
        links say.
        """
        for anchor in anchors[:_MAX_LINKS]:
            row = next(anchor.iterancestors("tr"), None)
            if row is not None:
                texts = self._row(row)
                _, _, when = texts
                if when:
                    return texts
            described = _DESCRIBED.search(title_line(anchor.get("title", "")))
            if described is not None:
                name = self._name_beside(anchor, described["name"])
                kind = described["name"][len(name) :].strip()
                return name, kind, described["when"]
        return "", "", ""

    def _row(self, row: HtmlElement) -> tuple[str, str, str]:
        if row not in self._rows:
            self._rows[row] = _row_texts(row)
        return self._rows[row]

    def _name_beside(self, anchor: HtmlElement, described: str) -> str:
        """Return the text beside a link that its description begins with: the name
        without the kind.
        """
        for block in itertools.islice(
            anchor.iterancestors("div", "li"), _BLOCKS_AROUND
        ):
            for part in itertools.islice(block, _BLOCKS_AROUND):
                text = self._block(part)
                if text and described.startswith(text):
                    return text
        return described

    def _block(self, part: HtmlElement) -> str:
        """Return the text of a block without links; empty for another."""
        if part not in self._blocks:
            self._blocks[part] = text_of(part) if part.find(".//a") is None else ""
        return self._blocks[part]


def _row_texts(row: HtmlElement) -> tuple[str, str, str]:
    """Return name, kind and time of a row: of named cells, else by what they hold."""
    cells = row.findall("td")
    named = {cell.get("data-sortable-type", ""): text_of(cell) for cell in cells}
    if "mtgTime" in named:
        return named.get("mtgName", ""), named.get("mtgType", ""), named["mtgTime"]
    when = ""
    others: list[str] = []
    for text in map(text_of, cells):
        if not when and len(text) <= 60 and day_of_text(text):
            when = text
        elif text and text != when:
            others.append(text)
    if len(others) > 2:
        return others[0], others[1], when
    return "".join(others[:1]), "", when


# --- requests -------------------------------------------------------------------------


def days(url: str, first: date, last: date) -> Requests:
    """Return the search for the meetings of these days."""
    return (_search(url, first, last),)


def items(url: str, meeting: Meeting) -> Requests:
    """Return the request for the items of a meeting's agenda, if it has one."""
    has_agenda = meeting.agenda_url or meeting.packet_url
    if not has_agenda:
        return ()
    return (_outline(url, meeting.vendor_id),)


# --- agendas -------------------------------------------------------------------------

_HEADERS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_LOADED = re.compile(
    r"loadAgendaItem\(\s{0,3}'?(?P<id>\d{1,12})'?\s{0,3}(?:,\s{0,3}(?P<section>true|false))?",
    re.IGNORECASE,
)


def _agenda_in(
    tree: HtmlElement, lines: list[Line], page: Page, context: ParseContext
) -> Meeting:
    """Return the meeting that an agenda with these lines completes."""
    own_id = parameter(page.final_url, "meetingid")
    folder = _folder_of(page.final_url)
    notes = notes_beside(tree, [line.row for line in lines])
    items = [_with_details(item, own_id, folder) for item in items_of(lines)]
    meeting = agenda_of(items, notes, own_id)
    if is_cancelled_at_top(notes, context.now):
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


def _lines_of(tree: HtmlElement) -> list[Line]:
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


def _item_in(tree: HtmlElement, base: str, page: Page) -> Meeting:
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
        if not _is_file(href):
            continue
        if parameter(href, "itemid") in ("", own_id):
            name = text_of(anchor) or "Document"
            files.setdefault(href, Attachment(name=name, url=_lasting(href)))
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


def _folder_of(url: str) -> str:
    """Return the address of a client's site, with a slash at its end."""
    parts = urlsplit(url)
    match = _FOLDER.match(parts.path)
    path = match["folder"] if match else f"{parts.path.rstrip('/')}/"
    return f"{parts.scheme}://{parts.netloc}{path}"


def _is_file(href: str) -> bool:
    """Whether an address is that of a document."""
    return _FILE.search(href[:2000]) is not None


def _lasting(href: str) -> str:
    """Return the address of a document that leads to the document itself, not to a
    script.
    """
    return href.replace(_SCRIPTED, "/DownloadFileBytes/")


def _page_of(folder: str, meeting_id: str, kind: str = "1") -> str:
    """Return the address of a meeting's page; `kind` is 1 for its agenda, 2 for its
    minutes.
    """
    return (
        f"{folder}Meetings/ViewMeeting?{urlencode({'id': meeting_id, 'doctype': kind})}"
    )


def _file_of(folder: str, meeting_id: str, kind: str, name: str) -> str:
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


def _search(url: str, first: date, last: date) -> Request:
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
        url=f"{_folder_of(url)}Meetings/Search?{urlencode(query, quote_via=quote)}"
    )


def _outline(url: str, meeting_id: str) -> Request:
    """Return the request for an agenda as Word made it."""
    query = urlencode({"meetingId": meeting_id, "type": "agenda", "doctype": "1"})
    return Request(
        url=f"{_folder_of(url)}Documents/ViewAgenda?{query}", headers=_AS_SCRIPT
    )


def _accessible(url: str, meeting_id: str) -> Request:
    """Return the request for an agenda as a page for screen readers."""
    query = urlencode({"meetingId": meeting_id, "type": "agenda"})
    return Request(
        url=f"{_folder_of(url)}Meetings/ViewMeetingAgenda?{query}", headers=_AS_SCRIPT
    )
