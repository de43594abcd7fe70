"""OnBase Agenda Online (Hyland), on hosts of cities and of Hyland: `https://{host}/OnBaseAgendaOnline/`.

`Meetings/Search` lists the meetings of a span of days, as JSON within the page or as rows of a table. The hour is
local; its offset is not read, as the table shows the same clock. `mtids` in a source's address, ids of kinds of
meetings, narrows the search. `Documents/ViewAgenda` is the agenda as Word made it, whose lines call
`loadAgendaItem(id, isSection)`; clients without it have `Meetings/ViewMeetingAgenda`, a page for screen readers.
Documents of an item are on its own page. Their addresses `DownloadFile` lead to a script, which continues at
`DownloadFileBytes`; older clients spell it `Downloadfile` and answer with the file.
"""

import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlencode, urljoin, urlsplit

from lxml.html import HtmlElement

from news_assets.records.meetings import AgendaItem, Attachment, Link, Meeting, MeetingListing, Request
from news_assets.records.reading import Page
from news_assets.sources.civic.reading.agenda import agenda_of, notes_beside
from news_assets.sources.civic.reading.build import Stated, location_of, meeting_of
from news_assets.sources.civic.reading.moments import day_of_text, moment_of_text, wall_clock
from news_assets.sources.civic.reading.pages import (
    Object,
    changed,
    clean,
    href_of,
    objects,
    parameter,
    text_at,
    tree_of,
    unique_links,
    words_at,
)
from news_assets.sources.civic.reading.word_agenda import Line, items_of, says_off, split_number, texts_of_row
from news_assets.sources.civic.vendor import Reading
from news_assets.sources.html.document import base_of, select, words_of

_EXPECTED = "a page of OnBase Agenda Online"
_RESULTS: Final = "new SearchResults("
_LIST_MARK: Final = b"meetings-list"
_ITEM_PAGE = re.compile(r"/viewmeetingagendaitem\Z", re.IGNORECASE)
_OUTLINE_PAGE = re.compile(r"/documents/viewagenda\Z", re.IGNORECASE)
_FOLDER = re.compile(r"\A(?P<folder>.{0,500}?/)(?:meetings|documents)(?:/|\Z)", re.IGNORECASE)
_OF_MEETING = re.compile(r"/meetings/viewmeeting\?|/documents/(?:downloadfile(?:bytes)?|viewdocument)/", re.IGNORECASE)
_DOCUMENT = re.compile(r"/documents/(?:downloadfile(?:bytes)?|viewdocument)/", re.IGNORECASE)
_SCRIPTED: Final = "/DownloadFile/"  # in this spelling only
_LOADED = re.compile(
    r"loadAgendaItem\(\s{0,3}'?(?P<id>\d{1,12})'?\s{0,3}(?:,\s{0,3}(?P<section>true|false))?", re.IGNORECASE
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
_BLOCKS_AROUND: Final = 3  # of a link outside a table: its own cell, its row, and what holds both
_HEADERS: Final = ("h1", "h2", "h3", "h4", "h5", "h6")
_CUSTOM_DATES: Final = "11"  # of the search form's choices
_AS_SCRIPT: Final = (("X-Requested-With", "XMLHttpRequest"),)  # without it, some clients answer with an empty frame


def parse(page: Page, reading: Reading) -> MeetingListing:
    """Return the meetings of a search or the first page, the items of an agenda, or the documents of one item.

    Raises:
        ListingChangedError: None of them.
        SourceError: An empty document.
    """
    tree = tree_of(page, _EXPECTED)
    base, path = base_of(tree, page), urlsplit(page.final_url).path
    if _ITEM_PAGE.search(path):
        return MeetingListing(meetings=(_item_page(tree, base, page),))
    if lines := _accessible_lines(tree) or _word_lines(tree):
        return MeetingListing(meetings=(_agenda(tree, lines, page, reading),))
    if _OUTLINE_PAGE.search(path):
        return MeetingListing(next_requests=(_accessible(page.final_url, parameter(page.final_url, "meetingid")),))
    return MeetingListing(meetings=tuple(_meetings(tree, base, page, reading)))


# --- the listing -----------------------------------------------------------------------------------------------------


def _meetings(tree: HtmlElement, base: str, page: Page, reading: Reading) -> Iterator[Meeting]:
    stated, linked = _search_results(page), _anchors_by_meeting(tree, base)
    if stated is None and not linked and _LIST_MARK not in page.body:
        raise changed(page, _EXPECTED)
    folder, table = _folder(page.final_url), _Table()
    for row in stated or []:
        own_id = text_at(row, "ID")
        links = unique_links((*_stated_links(row, own_id, folder), *_links(linked.get(own_id, ()), base)))
        yield _meeting(own_id, text_at(row, "Name"), text_at(row, "MeetingTypeName"), links, row, folder, reading)
    for own_id, anchors in linked.items() if stated is None else ():
        name, kind, when = table.texts_of(anchors)
        links = unique_links(_links(anchors, base))
        yield _meeting(own_id, name, kind, links, {"Time": when}, folder, reading)


def _meeting(
    own_id: str, name: str, kind: str, links: tuple[Link, ...], row: Object, folder: str, reading: Reading
) -> Meeting:
    """Return a meeting; `row` has its `Time` and `Location`."""
    when = text_at(row, "Time", "TimeString")
    title = _DATE.sub("", name).strip(" -–,")
    title = title if any(map(str.isalpha, title)) else kind or name
    return meeting_of(
        Stated(
            vendor_id=own_id,
            title=title,
            body=kind or title,
            start=wall_clock(when) if "T" in when else moment_of_text(when),
            location=location_of(text_at(row, "Location")),
            url=f"{folder}Meetings/ViewMeeting?id={quote(own_id)}&doctype=1" if own_id else None,
            links=links,
            status_words=[name],
        ),
        reading,
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
        raise changed(page, _EXPECTED) from error
    return objects(found.get("Meetings")) if isinstance(found, dict) else []


def _stated_links(row: Object, own_id: str, folder: str) -> Iterator[Link]:
    """Yield the links to agenda and minutes: to the files, or to the page of one whose file has no name."""
    for title, kind in (("Agenda", "1"), ("Minutes", "2")):
        if row.get(f"Is{title}Available") is not True:
            continue
        if name := text_at(row, f"{title}UniqueName"):
            path = (
                f"Documents/DownloadFileBytes/{quote(name, safe='')}.pdf?documentType={kind}&meetingId={quote(own_id)}"
            )
        else:
            path = f"Meetings/ViewMeeting?id={quote(own_id)}&doctype={kind}"
        yield Link(title=title, href=f"{folder}{path}")


def _anchors_by_meeting(tree: HtmlElement, base: str) -> dict[str, list[HtmlElement]]:
    """Return the links to pages and documents of each meeting, by its id."""
    found: dict[str, list[HtmlElement]] = defaultdict(list)
    for anchor in tree.iter("a"):
        href = href_of(anchor, base)
        if href is not None and _OF_MEETING.search(href[:2000]) and (own_id := parameter(href, "id", "meetingid")):
            found[own_id].append(anchor)
    return found


def _links(anchors: Iterable[HtmlElement], base: str) -> Iterator[Link]:
    """Yield the files, then the pages of documents that have no file here."""
    named = [
        Link(title=_title_of(anchor), href=_durable(href)) for anchor in anchors if (href := href_of(anchor, base))
    ]
    files = [link for link in named if _DOCUMENT.search(link.href[:2000])]
    titles = {link.title for link in files}
    yield from files
    yield from (link for link in named if link.title not in titles)


def _title_of(anchor: HtmlElement) -> str:
    """Return what a link leads to: its text, else the first words of its description."""
    described = _DESCRIBED.search(clean(anchor.get("title") or ""))
    return clean(words_of(anchor)) or (described["what"] if described else "Document")


class _Table:
    """The texts of rows and blocks of a listing, each read once, as many links may stand in one."""

    def __init__(self) -> None:
        self._rows: dict[HtmlElement, tuple[str, str, str]] = {}
        self._blocks: dict[HtmlElement, str] = {}

    def texts_of(self, anchors: Sequence[HtmlElement]) -> tuple[str, str, str]:
        """Return name, kind and time of a meeting, from its row, else from what its links say."""
        for anchor in anchors[:_MAX_LINKS]:
            row = next(anchor.iterancestors("tr"), None)
            if row is not None and (texts := self._row(row))[2]:
                return texts
            if described := _DESCRIBED.search(clean(anchor.get("title") or "")):
                name = self._name_beside(anchor, described["name"])
                return name, described["name"][len(name) :].strip(), described["when"]
        return "", "", ""

    def _row(self, row: HtmlElement) -> tuple[str, str, str]:
        if row not in self._rows:
            self._rows[row] = _row_texts(row)
        return self._rows[row]

    def _name_beside(self, anchor: HtmlElement, described: str) -> str:
        """Return the text beside a link that its description begins with: the name, without the kind after it."""
        for block in itertools.islice(anchor.iterancestors("div", "li"), _BLOCKS_AROUND):
            for part in itertools.islice(block, _BLOCKS_AROUND):
                text = self._block(part)
                if text and described.startswith(text):
                    return text
        return described

    def _block(self, part: HtmlElement) -> str:
        """Return the text of a block without links; empty for another."""
        if part not in self._blocks:
            self._blocks[part] = clean(words_of(part)) if part.find(".//a") is None else ""
        return self._blocks[part]


def _row_texts(row: HtmlElement) -> tuple[str, str, str]:
    cells = row.findall("td")
    named: Mapping[str, str] = {cell.get("data-sortable-type") or "": clean(words_of(cell)) for cell in cells}
    if "mtgTime" in named:
        return named.get("mtgName", ""), named.get("mtgType", ""), named["mtgTime"]
    texts = [clean(words_of(cell)) for cell in cells]
    when = next((text for text in texts if len(text) <= 60 and day_of_text(text)), "")
    others = [text for text in texts if text and text != when]
    return (others[0] if others else "", others[1] if len(others) > 2 else "", when)


def _durable(href: str) -> str:
    """Return the address of a file that leads to the file itself."""
    return href.replace(_SCRIPTED, "/DownloadFileBytes/")


# --- an agenda -------------------------------------------------------------------------------------------------------


def _agenda(tree: HtmlElement, lines: list[Line], page: Page, reading: Reading) -> Meeting:
    own_id, folder = parameter(page.final_url, "meetingid"), _folder(page.final_url)
    notes = notes_beside(tree, [line.row for line in lines])
    items = [_with_details(item, own_id, folder) for item in items_of(lines)]
    meeting = agenda_of(items, notes, own_id)
    return replace(meeting, status="cancelled") if says_off(notes, reading.now) else meeting


def _with_details(item: AgendaItem, meeting_id: str, folder: str) -> AgendaItem:
    """Return an item with the address of its own page; a heading has none."""
    if not item.vendor_id.isdecimal() or not meeting_id:
        return item
    query = urlencode({"meetingId": meeting_id, "itemId": item.vendor_id, "isSection": "false", "type": "agenda"})
    return replace(item, details_url=f"{folder}Meetings/ViewMeetingAgendaItem?{query}")


def _word_lines(tree: HtmlElement) -> list[Line]:
    """Return the rows whose text calls `loadAgendaItem`."""
    lines: dict[HtmlElement, Line] = {}
    for anchor in tree.iter("a"):
        row = next(anchor.iterancestors("tr"), None)
        if row is None or row in lines or not clean(words_of(anchor)):
            continue
        if match := _loaded(anchor):
            lines[row] = _line(row, match)
    return list(lines.values())


def _loaded(anchor: HtmlElement) -> re.Match[str] | None:
    return _LOADED.search(f"{anchor.get('href') or ''} {anchor.get('onclick') or ''}"[:1000])


def _line(row: HtmlElement, match: re.Match[str]) -> Line:
    is_heading = (match["section"] or "").lower() == "true"
    own_id = f"S{match['id']}" if is_heading else match["id"]
    number, texts = texts_of_row(row)
    return Line(row=row, own_id=own_id, number=number, texts=texts, is_heading=is_heading)


def _accessible_lines(tree: HtmlElement) -> list[Line]:
    """Return the lines of the page for screen readers: `div.accessible-section` and `div.accessible-item`."""
    lines: list[Line] = []
    for element in select(tree, ".accessible-section, .accessible-item"):
        if "accessible-item" not in (element.get("class") or ""):
            heading = next((child for child in element if child.tag in _HEADERS), None)
            if heading is not None and (text := clean(words_of(heading))):
                lines.append(Line(row=heading, own_id="", number="", texts=(text,), is_heading=True))
            continue
        anchor = next(element.iter("a"), element)
        number, title = split_number(words_at(element, "a") or clean(words_of(element)))
        match = _loaded(anchor)
        if title:
            lines.append(Line(row=element, own_id=match["id"] if match else "", number=number, texts=(title,)))
    return lines if any(not line.is_heading for line in lines) else []


def _item_page(tree: HtmlElement, base: str, page: Page) -> Meeting:
    """Return what an item's own page adds to it: its documents."""
    own_id = parameter(page.final_url, "itemid")
    files: dict[str, Attachment] = {}
    for anchor in tree.iter("a"):
        href = href_of(anchor, base)
        is_own = href is not None and parameter(href, "itemid") in ("", own_id)
        if href is not None and is_own and _DOCUMENT.search(href[:2000]):
            files.setdefault(href, Attachment(name=clean(words_of(anchor)) or "Document", url=_durable(href)))
    item = AgendaItem(sequence=0, title="", vendor_id=own_id, attachments=tuple(files.values()))
    return Meeting(vendor_id=parameter(page.final_url, "meetingid"), items=(item,), is_partial=True)


# --- requests --------------------------------------------------------------------------------------------------------


def upcoming(url: str, today: date) -> tuple[Request, ...]:
    """Return the request for the next half year."""
    return days(url, today, today + timedelta(days=182))


def days(url: str, first: date, last: date) -> tuple[Request, ...]:
    """Return the search for the meetings of these days."""
    kinds = parse_qs(urlsplit(url).query).get("mtids", [])
    query = {
        "dropid": _CUSTOM_DATES,
        **({"mtids": ",".join(kinds)} if kinds else {}),
        "dropsv": f"{first:%m/%d/%Y} 00:00:00",
        "dropev": f"{last:%m/%d/%Y} 23:59:59",
    }
    return (Request(url=f"{_folder(url)}Meetings/Search?{urlencode(query, quote_via=quote)}"),)


def items(url: str, meeting: Meeting) -> tuple[Request, ...]:
    """Return the request for the items of a meeting's agenda, if it has one."""
    if not (meeting.agenda_url or meeting.packet_url):
        return ()
    query = urlencode({"meetingId": meeting.vendor_id, "type": "agenda", "doctype": "1"})
    return (Request(url=f"{_folder(url)}Documents/ViewAgenda?{query}", headers=_AS_SCRIPT),)


def _accessible(url: str, meeting_id: str) -> Request:
    query = urlencode({"meetingId": meeting_id, "type": "agenda"})
    return Request(url=urljoin(_folder(url), f"Meetings/ViewMeetingAgenda?{query}"), headers=_AS_SCRIPT)


def _folder(url: str) -> str:
    """Return the address of a client's site, with a slash at its end."""
    parts = urlsplit(url)
    match = _FOLDER.match(parts.path)
    path = match["folder"] if match else f"{parts.path.rstrip('/')}/"
    return f"{parts.scheme}://{parts.netloc}{path}"
