"""IQM2 (Granicus): `https://{client}.iqm2.com/Citizens/Calendar.aspx?From=&To=` and
`Detail_Meeting.aspx?ID=`.

A row is `div.MeetingRow`; the title of its link states day, board, type, status and
place, one a line. The page of a meeting has its agenda in `table#MeetingDetail`, whose
rows are indented by empty cells.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import NamedTuple
from urllib.parse import urlencode, urljoin

from lxml.html import HtmlElement

from news_assets.records.meetings import (
    AgendaItem,
    Attachment,
    Link,
    Location,
    Meeting,
    MeetingListing,
    Request,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.reading.agenda_pages import notes_beside, with_notes
from news_assets.sources.civic.reading.build import Stated, meeting_of
from news_assets.sources.civic.reading.decisions import decision_of
from news_assets.sources.civic.reading.moments import moment_of_text
from news_assets.sources.civic.reading.page_values import (
    changed,
    clean,
    href_of,
    links_in,
    parameter,
    text_of,
    tree_of,
    words_at,
)
from news_assets.sources.civic.vendor import Reading
from news_assets.sources.html.document import base_of, select, words_of

_EXPECTED = "a page of IQM2"
_FACTS = ("board", "type", "status")
_HIDDEN = "HiddenDocumentLink"
_NO_ADDRESS = re.compile(
    r"(?:N/?A[\s,]*+)+"
)  # what clerks type for a meeting without a place
_MATTER = re.compile(r"Detail_(?:LegiFile|Motion)\.aspx", re.IGNORECASE)
_LEGISLATION = re.compile(r"Detail_LegiFile\.aspx", re.IGNORECASE)
_FILE = re.compile(r"File(?:Open|View)\.aspx", re.IGNORECASE)


def parse(page: Page, reading: Reading) -> MeetingListing:
    """Return the meetings of a calendar, or the one meeting of its own page with its
    items.

    Raises:
        ListingChangedError: Not a page of IQM2.
        SourceError: An empty document.
    """
    tree = tree_of(page, _EXPECTED)
    base = base_of(tree, page)
    if select(tree, "[id$=_lblMeetingDate]"):
        return MeetingListing(meetings=(_detail(tree, base, page, reading),))
    if select(tree, "table#tblLegiFileInfo"):
        return MeetingListing(meetings=(_legislation(tree, base, page),))
    rows = select(tree, "div.MeetingRow")
    if not rows and b"iqm2" not in page.body.lower():
        raise changed(page, _EXPECTED)
    found = {
        meeting.vendor_id: meeting
        for row in rows
        if (meeting := _meeting(row, base, reading))
    }
    lost = len(rows) - sum(1 for row in rows if _detail_link(row) is not None)
    return MeetingListing(
        meetings=tuple(found.values()),
        problems=(f"{lost} rows have no meeting: skipped",) if lost else (),
    )


def _detail_link(row: HtmlElement) -> HtmlElement | None:
    return next(iter(select(row, "a[href*='Detail_Meeting.aspx']")), None)


def _meeting(row: HtmlElement, base: str, reading: Reading) -> Meeting | None:
    anchor = _detail_link(row)
    if anchor is None:
        return None
    facts, place = _facts(anchor.get("title", ""))
    url = href_of(anchor, base)
    links = [
        link
        for link in links_in(row, base, f".MeetingLinks a:not(.{_HIDDEN})")
        if link.title
    ]
    board = facts.get("board", "")
    return meeting_of(
        Stated(
            vendor_id=parameter(url, "id"),
            title=words_at(row, ".RowDetails") or board,
            body=board,
            start=moment_of_text(words_of(anchor))
            or moment_of_text((anchor.get("title", ""))[:200]),
            location=place,
            url=url,
            links=links,
            status_words=[facts.get("status", ""), words_at(row, ".MeetingCancelled")],
        ),
        reading,
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
            facts[name.lower()] = clean(value)
        elif number and (text := clean(written)):
            place.append(text)
    return facts, Location(name=place[0] if place else "", address=", ".join(place[1:]))


# --- the page of one meeting ----------------------------------------------------------


def _detail(tree: HtmlElement, base: str, page: Page, reading: Reading) -> Meeting:
    board = words_at(tree, "[id$=_lblMeetingGroup]")
    stated = select(tree, "input[id$=_txtMeetingID]")
    links = [link for link in links_in(tree, base, ".MeetingDownloads a") if link.title]
    meeting = meeting_of(
        Stated(
            vendor_id=(stated[0].get("value") if stated else "")
            or parameter(page.final_url, "id"),
            title=board or words_at(tree, "[id$=_lblMeetingType]"),
            body=board,
            start=moment_of_text(words_at(tree, "[id$=_lblMeetingDate]")),
            location=_place(tree),
            url=page.final_url,
            links=links,
            items=tuple(_items(tree, base)),
            status_words=[
                words_at(tree, "[id$=_lblMeetingStatus]"),
                words_at(tree, ".MeetingCancelled"),
            ],
        ),
        reading,
    )
    return with_notes(
        meeting,
        notes_beside(tree, select(tree, "table#MeetingDetail, .MeetingHeading")),
    )


def _place(tree: HtmlElement) -> Location:
    """Return the place: it stands as bare text behind the date, its address in an
    element of its own.
    """
    found = select(tree, ".MeetingHeading [id$=_lblMeetingDate]")
    following = found[0].itersiblings() if found else iter(())
    name = clean(
        " ".join(
            next_text
            for next_text in (one.tail or "" for one in (*found, *following))
            if next_text.strip()
        )
    )
    address = words_at(tree, ".MeetingHeading .MeetingAddress")
    return Location(
        name=name, address="" if _NO_ADDRESS.fullmatch(address) else address
    )


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
        has_matter = any(_MATTER.search(link.href) for link in self.links)
        return not has_matter and any(_FILE.search(link.href) for link in self.links)


def _items(tree: HtmlElement, base: str) -> list[AgendaItem]:
    """Return the items, each with the heading above it; a heading is no item."""
    items: list[AgendaItem] = []
    headings: dict[int, str] = {}
    rows = list(_rows(tree, base))
    following = _depths_below(rows)
    for place, row in enumerate(rows):
        if row.is_file:
            if items:
                files = _attachments(row.links)
                items[-1] = replace(
                    items[-1], attachments=(*items[-1].attachments, *files)
                )
            continue
        headings = {
            depth: title for depth, title in headings.items() if depth < row.depth
        }
        above = headings[max(headings)] if headings else ""
        headings[row.depth] = row.title
        is_heading = following[place] > row.depth and not row.links
        if not is_heading:
            items.append(_item(row, len(items) + 1, above))
    return items


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
        numbered = (
            place
            for place, cell in enumerate(cells)
            if "Num" in (cell.get("class", "")).split()
        )
        depth = next(numbered, None)
        if depth is None or len(cells) <= depth + 1:
            continue
        title = text_of(cells[depth + 1])
        if title:
            number = text_of(cells[depth]).rstrip(". ")
            yield _Row(depth, number, title, links_in(cells[depth + 1], base))


def _item(row: _Row, sequence: int, section: str) -> AgendaItem:
    matter = next(
        (link.href for link in row.links if _LEGISLATION.search(link.href)), None
    )
    return AgendaItem(
        sequence=sequence,
        vendor_id=next(
            (value for link in row.links if (value := parameter(link.href, "id"))), ""
        ),
        number=row.number,
        title=row.title,
        section=section,
        matter_id=parameter(matter, "id") or None,
        attachments=_attachments(
            [link for link in row.links if _FILE.search(link.href)]
        ),
        details_urls=(matter,) if matter else (),
    )


def _attachments(links: Iterable[Link]) -> tuple[Attachment, ...]:
    return tuple(Attachment(name=link.title, url=link.href) for link in links)


# --- the page of one file -------------------------------------------------------------


def _legislation(tree: HtmlElement, base: str, page: Page) -> Meeting:
    """Return what the page of a file adds to its item: category, sponsors and
    attachments.
    """
    facts = _table(select(tree, "table#tblLegiFileInfo")[0])
    files = [
        link for link in links_in(tree, base) if _FILE.search(link.href) and link.title
    ]
    sponsors = re.split(r"\s{0,3}[,;]\s{0,3}", facts.get("sponsors", ""))
    outcome, votes = decision_of(_last_result(tree))
    item = AgendaItem(
        sequence=0,
        title="",
        vendor_id=parameter(page.final_url, "id"),
        matter_type=facts.get("category") or facts.get("type") or None,
        sponsors=tuple(filter(None, sponsors)),
        attachments=_attachments(files),
        votes=votes,
        outcome=outcome,
        details_urls=(page.url,),
    )
    return Meeting(
        vendor_id=parameter(page.final_url, "meetingid"), items=(item,), is_partial=True
    )


def _last_result(tree: HtmlElement) -> dict[str, str]:
    """Return the rows of the last decision that a page shows: RESULT, MOVER, SECONDER,
    AYES and the like.
    """
    facts: dict[str, str] = {}
    for row in select(tree, "tr"):
        cells = [text_of(cell) for cell in row.findall("td")]
        if len(cells) < 2 or not cells[0].endswith(":"):
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


def upcoming(url: str, today: date) -> tuple[Request, ...]:
    """Return the request for the next half year."""
    return days(url, today, today + timedelta(days=182))


def days(url: str, first: date, last: date) -> tuple[Request, ...]:
    """Return the request for the meetings of these days."""
    span = {
        "From": f"{first.month}/{first.day}/{first.year}",
        "To": f"{last.month}/{last.day}/{last.year}",
    }
    return (
        Request(
            url=urljoin(url, f"/Citizens/Calendar.aspx?{urlencode(span, safe='/')}")
        ),
    )


def items(url: str, meeting: Meeting) -> tuple[Request, ...]:
    """Return the request for a meeting's own page."""
    return (
        Request(
            url=urljoin(url, f"/Citizens/Detail_Meeting.aspx?ID={meeting.vendor_id}")
        ),
    )
