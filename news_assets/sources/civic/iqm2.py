"""IQM2 (Granicus): `https://{client}.iqm2.com/Citizens/Calendar.aspx?From=&To=` and
`Detail_Meeting.aspx?ID=`.

A row is `div.MeetingRow`; the title of its link states day, board, type, status and
place, one a line. The page of a meeting has its agenda in `table#MeetingDetail`, whose
rows are indented by empty cells.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from typing import NamedTuple
from urllib.parse import urlencode, urljoin

from lxml.html import HtmlElement

from news_assets.records.meetings import (
    AgendaItem,
    Link,
    Location,
    Meeting,
    MeetingListing,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.agenda_pages import (
    Headings,
    notes_beside,
    page_of_item,
    with_notes,
)
from news_assets.sources.civic.meeting_prose import decision_of
from news_assets.sources.civic.moments import moment_of_text
from news_assets.sources.civic.page_values import (
    Requests,
    attachments_of,
    first_match,
    first_parameter,
    href_of,
    links_in,
    links_to,
    listing_changed,
    parameter,
    requests_to,
    text_of,
    title_line,
    titled_links,
    tree_of,
    words_at,
)
from news_assets.sources.civic.vendor_meetings import ParseContext, meeting_of
from news_assets.sources.html_document import base_of, select, words_of
from news_assets.sources.storable_entries import or_none

_EXPECTED = "a page of IQM2"
_FACTS = ("board", "type", "status")
_HIDDEN = "HiddenDocumentLink"
# what clerks type for a meeting without a place
_NO_ADDRESS = re.compile(r"(?:N/?A[\s,]*+)+")
_MATTER = re.compile(r"Detail_(?:LegiFile|Motion)\.aspx", re.IGNORECASE)
_LEGISLATION = re.compile(r"Detail_LegiFile\.aspx", re.IGNORECASE)
_SEPARATOR = re.compile(r"\s{0,3}[,;]\s{0,3}")  # of sponsors
_FILE = re.compile(r"File(?:Open|View)\.aspx", re.IGNORECASE)


def parse(page: Page, context: ParseContext) -> MeetingListing:
    """Return the meetings of a calendar, or the one meeting of its own page with its
    items.

    Raises:
        ListingChangedError: Not a page of IQM2.
        SourceError: An empty document.
    """
    tree = tree_of(page, _EXPECTED)
    base = base_of(tree, page)
    if select(tree, "[id$=_lblMeetingDate]"):
        return MeetingListing(meetings=(_detail(tree, base, page, context),))
    matter = first_match(tree, "table#tblLegiFileInfo")
    if matter is not None:
        return MeetingListing(meetings=(_legislation(tree, matter, base, page),))
    rows = select(tree, "div.MeetingRow")
    if not rows and b"iqm2" not in page.body.lower():
        raise listing_changed(page, _EXPECTED)
    return _calendar(rows, base, context)


def _calendar(
    rows: Iterable[HtmlElement], base: str, context: ParseContext
) -> MeetingListing:
    """Return the meetings of the rows of a calendar."""
    found: dict[str, Meeting] = {}
    lost = 0
    for row in rows:
        anchor = first_match(row, "a[href*='Detail_Meeting.aspx']")
        if anchor is None:
            lost += 1
            continue
        meeting = _meeting(row, anchor, base, context)
        found[meeting.vendor_id] = meeting
    problems = (f"{lost} rows have no meeting: skipped",) if lost else ()
    return MeetingListing(meetings=tuple(found.values()), problems=problems)


def _meeting(
    row: HtmlElement, anchor: HtmlElement, base: str, context: ParseContext
) -> Meeting:
    written = anchor.get("title", "")
    facts, place = _facts(written)
    url = href_of(anchor, base)
    board = facts.get("board", "")
    start = moment_of_text(words_of(anchor)) or moment_of_text(written[:200])
    return meeting_of(
        Meeting(
            vendor_id=parameter(url, "id"),
            title=words_at(row, ".RowDetails") or board,
            body=board,
            location=place,
            url=url,
            links=tuple(titled_links(row, base, f".MeetingLinks a:not(.{_HIDDEN})")),
        ),
        context,
        start=start,
        status_words=[facts.get("status", ""), words_at(row, ".MeetingCancelled")],
    )


def _facts(title: str) -> tuple[dict[str, str], Location]:
    """Return what the title of a link states: `Board:⇥…` and the like, then the room
    and its address.
    """
    facts: dict[str, str] = {}
    place: list[str] = []
    for number, written in enumerate(title[:2000].replace("\r", "\n").split("\n")):
        name, _, value = written.partition(":\t")
        if name.lower() in _FACTS and value:
            facts[name.lower()] = title_line(value)
        elif number and (text := title_line(written)):
            place.append(text)
    if not place:
        return facts, Location()
    return facts, Location(name=place[0], address=", ".join(place[1:]))


# --- the page of one meeting ----------------------------------------------------------


def _detail(tree: HtmlElement, base: str, page: Page, context: ParseContext) -> Meeting:
    board = words_at(tree, "[id$=_lblMeetingGroup]")
    meeting = meeting_of(
        Meeting(
            vendor_id=_id_of(tree, page),
            title=board or words_at(tree, "[id$=_lblMeetingType]"),
            body=board,
            location=_place(tree),
            url=page.final_url,
            links=tuple(titled_links(tree, base, ".MeetingDownloads a")),
            items=tuple(_items(tree, base)),
        ),
        context,
        start=moment_of_text(words_at(tree, "[id$=_lblMeetingDate]")),
        status_words=[
            words_at(tree, "[id$=_lblMeetingStatus]"),
            words_at(tree, ".MeetingCancelled"),
        ],
    )
    shown = select(tree, "table#MeetingDetail, .MeetingHeading")
    return with_notes(meeting, notes_beside(tree, shown))


def _id_of(tree: HtmlElement, page: Page) -> str:
    field = first_match(tree, "input[id$=_txtMeetingID]")
    if field is not None and field.get("value"):
        return str(field.get("value"))
    return parameter(page.final_url, "id")


def _place(tree: HtmlElement) -> Location:
    """Return the place: it stands as bare text after the date, its address in an
    element of its own.
    """
    address = words_at(tree, ".MeetingHeading .MeetingAddress")
    if _NO_ADDRESS.fullmatch(address):
        address = ""
    shown = first_match(tree, ".MeetingHeading [id$=_lblMeetingDate]")
    if shown is None:
        return Location(address=address)
    texts = [one.tail or "" for one in (shown, *shown.itersiblings())]
    return Location(name=title_line(" ".join(texts)), address=address)


class _Row(NamedTuple):
    """A row of the agenda: how far it is indented, its number and title, and the links
    in the title.
    """

    depth: int
    number: str
    title: str
    links: tuple[Link, ...]

    @property
    def is_file(self) -> bool:
        """Whether it is an attachment of the item above."""
        if links_to(self.links, _MATTER):
            return False
        return bool(links_to(self.links, _FILE))


def _items(tree: HtmlElement, base: str) -> list[AgendaItem]:
    """Return the items, each with the heading above it; a heading is no item."""
    items: list[AgendaItem] = []
    headings = Headings()
    rows = list(_rows(tree, base))
    for row, below in zip(rows, _depths_below(rows), strict=True):
        if row.is_file:
            if items:
                items[-1] = _with_files(items[-1], row.links)
            continue
        section = headings.enter(row.depth, row.title)
        if row.links or below <= row.depth:
            items.append(_item(row, len(items) + 1, section))
    return items


def _with_files(item: AgendaItem, links: Sequence[Link]) -> AgendaItem:
    return replace(item, attachments=(*item.attachments, *attachments_of(links)))


def _depths_below(rows: Sequence[_Row]) -> list[int]:
    """Return how far the next row after each is indented that is no attachment; 0 after
    the last one.
    """
    depths: list[int] = []
    depth = 0
    for row in reversed(rows):
        depths.append(depth)
        depth = depth if row.is_file else row.depth
    return depths[::-1]


def _rows(tree: HtmlElement, base: str) -> Iterator[_Row]:
    for row in select(tree, "table#MeetingDetail tr"):
        cells = row.findall("td")
        depth = _depth_of(cells)
        if depth is None:
            continue
        if len(cells) <= depth + 1:
            continue
        title = text_of(cells[depth + 1])
        if title:
            number = text_of(cells[depth]).rstrip(". ")
            yield _Row(depth, number, title, links_in(cells[depth + 1], base))


def _depth_of(cells: Sequence[HtmlElement]) -> int | None:
    """Return which cell of a row has the number."""
    for place, cell in enumerate(cells):
        if "Num" in cell.get("class", "").split():
            return place
    return None


def _item(row: _Row, sequence: int, section: str) -> AgendaItem:
    matters = links_to(row.links, _LEGISLATION)[:1]
    return AgendaItem(
        sequence=sequence,
        vendor_id=first_parameter(row.links, "id"),
        number=row.number,
        title=row.title,
        section=section,
        matter_id=or_none(first_parameter(matters, "id")),
        attachments=attachments_of(links_to(row.links, _FILE)),
        details_urls=tuple(link.href for link in matters),
    )


# --- the page of one file -------------------------------------------------------------


def _legislation(
    tree: HtmlElement, table: HtmlElement, base: str, page: Page
) -> Meeting:
    """Return what the page of a file adds to its item: category, sponsors and
    attachments.
    """
    facts = _table(table)
    files = links_to(titled_links(tree, base), _FILE)
    sponsors = _SEPARATOR.split(facts.get("sponsors", ""))
    outcome, votes = decision_of(_last_result(tree))
    item = AgendaItem(
        sequence=0,
        title="",
        vendor_id=parameter(page.final_url, "id"),
        matter_type=facts.get("category") or facts.get("type") or None,
        sponsors=tuple(filter(None, sponsors)),
        attachments=attachments_of(files),
        votes=votes,
        outcome=outcome,
        details_urls=(page.url,),
    )
    return page_of_item(item, parameter(page.final_url, "meetingid"))


def _last_result(tree: HtmlElement) -> dict[str, str]:
    """Return the rows of the last decision that a page shows: RESULT, MOVER, SECONDER,
    AYES and the like.
    """
    facts: dict[str, str] = {}
    for row in select(tree, "tr"):
        cells = [text_of(cell) for cell in row.findall("td")]
        if len(cells) < 2:
            continue
        if not cells[0].endswith(":"):
            continue
        name = cells[0].rstrip(": ").lower()
        if name == "result":
            facts = {}
        facts[name] = cells[1]
    if "result" in facts:
        return facts
    return {}


def _table(table: HtmlElement) -> dict[str, str]:
    """Return the value beside each name of a table."""
    facts: dict[str, str] = {}
    for heading in select(table, "th"):
        value = heading.getnext()
        if value is not None:
            facts[text_of(heading).rstrip(": ").lower()] = text_of(value)
    return facts


# --- requests -------------------------------------------------------------------------


def days(url: str, first: date, last: date) -> Requests:
    """Return the request for the meetings of these days."""
    span = {
        "From": f"{first.month}/{first.day}/{first.year}",
        "To": f"{last.month}/{last.day}/{last.year}",
    }
    query = urlencode(span, safe="/")
    return requests_to(urljoin(url, f"/Citizens/Calendar.aspx?{query}"))


def items(url: str, meeting: Meeting) -> Requests:
    """Return the request for a meeting's own page."""
    path = f"/Citizens/Detail_Meeting.aspx?ID={meeting.vendor_id}"
    return requests_to(urljoin(url, path))
