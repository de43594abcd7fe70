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
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from lxml.html import HtmlElement

from news_assets.records.meetings import Link, Meeting, MeetingListing
from news_assets.records.reading import Page
from news_assets.sources.civic.onbase_agenda import (
    accessible,
    agenda_in,
    file_of,
    folder_of,
    is_file,
    item_in,
    lasting,
    lines_of,
    outline,
    page_of,
    search,
)
from news_assets.sources.civic.reading.build import location_of, meeting_of
from news_assets.sources.civic.reading.moments import (
    day_of_text,
    moment_of_text,
    wall_clock,
)
from news_assets.sources.civic.reading.page_values import (
    Object,
    changed,
    clean,
    href_of,
    objects,
    parameter,
    text_at,
    text_of,
    tree_of,
    unique_links,
)
from news_assets.sources.civic.vendor import Reading, Requests
from news_assets.sources.html.document import base_of

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


def parse(page: Page, reading: Reading) -> MeetingListing:
    """Return the meetings of a listing, the items of an agenda, or the documents of one
    item.

    Raises:
        ListingChangedError: None of them.
        SourceError: An empty document.
    """
    tree = tree_of(page, _EXPECTED)
    base, path = base_of(tree, page), urlsplit(page.final_url).path
    if _ITEM_PAGE.search(path):
        return MeetingListing(meetings=(item_in(tree, base, page),))
    if lines := lines_of(tree):
        return MeetingListing(meetings=(agenda_in(tree, lines, page, reading),))
    if _OUTLINE_PAGE.search(path):
        meeting = parameter(page.final_url, "meetingid")
        return MeetingListing(next_requests=(accessible(page.final_url, meeting),))
    linked = _anchors_by_meeting(tree, base)
    stated = _search_results(page)
    if stated is not None:
        return _of_results(stated, linked, base, page, reading)
    if not linked and _LIST_MARK not in page.body:
        raise changed(page, _EXPECTED)
    return _of_links(linked, base, page, reading)


def _of_results(
    rows: Iterable[Object],
    linked: Mapping[str, Sequence[HtmlElement]],
    base: str,
    page: Page,
    reading: Reading,
) -> MeetingListing:
    """Return the meetings of the results of a search, with the links of the page."""
    folder = folder_of(page.final_url)
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
        meetings.append(_meeting(found, folder, reading))
    return MeetingListing(meetings=tuple(meetings))


def _of_links(
    linked: Mapping[str, Sequence[HtmlElement]],
    base: str,
    page: Page,
    reading: Reading,
) -> MeetingListing:
    """Return the meetings that the links of a page lead to."""
    folder, table = folder_of(page.final_url), _Table()
    meetings: list[Meeting] = []
    for own_id, anchors in linked.items():
        name, kind, when = table.texts_of(anchors)
        links = unique_links(_links(anchors, base))
        found = _Found(own_id=own_id, name=name, kind=kind, when=when, links=links)
        meetings.append(_meeting(found, folder, reading))
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


def _meeting(found: _Found, folder: str, reading: Reading) -> Meeting:
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
            url=page_of(folder, found.own_id) if found.own_id else None,
            links=found.links,
        ),
        reading,
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
        raise changed(page, _EXPECTED) from error
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
        href = page_of(folder, own_id, kind)
        name = text_at(row, f"{title}UniqueName")
        if name:
            href = file_of(folder, own_id, kind, name)
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
            named.append(Link(title=_title_of(anchor), href=lasting(href)))
    files = [link for link in named if is_file(link.href)]
    titles = {link.title for link in files}
    return files + [link for link in named if link.title not in titles]


def _title_of(anchor: HtmlElement) -> str:
    """Return what a link leads to: its text, else the first words of its description."""
    text = text_of(anchor)
    if text:
        return text
    described = _DESCRIBED.search(clean(anchor.get("title", "")))
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
            if row is not None and (texts := self._row(row))[2]:
                return texts
            if described := _DESCRIBED.search(clean(anchor.get("title", ""))):
                name = self._name_beside(anchor, described["name"])
                return name, described["name"][len(name) :].strip(), described["when"]
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


def upcoming(url: str, today: date) -> Requests:
    """Return the request for the next half year."""
    return days(url, today, today + timedelta(days=182))


def days(url: str, first: date, last: date) -> Requests:
    """Return the search for the meetings of these days."""
    return (search(url, first, last),)


def items(url: str, meeting: Meeting) -> Requests:
    """Return the request for the items of a meeting's agenda, if it has one."""
    has_agenda = meeting.agenda_url or meeting.packet_url
    if not has_agenda:
        return ()
    return (outline(url, meeting.vendor_id),)
