"""CivicPlus AgendaCenter: `/AgendaCenter`, its search, and the rows of one category
(`UpdateCategoryList`).

Rows are `tr.catAgendaRow`; a file's id is `_MMDDYYYY-NNN`, of which only NNN stays when
the date is corrected. There is no time of day at all. A heading `h2` above the rows
names the body.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from urllib.parse import urlencode, urljoin

from lxml.html import HtmlElement

from news_assets.records.meetings import (
    AgendaItem,
    Link,
    Meeting,
    MeetingListing,
    Request,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.agenda_pages import (
    Headings,
    agenda_of,
    notes_beside,
    visible_lines,
)
from news_assets.sources.civic.moments import Moment, day_of_text
from news_assets.sources.civic.numbering import first_file
from news_assets.sources.civic.page_values import (
    Requests,
    attachments_of,
    links_in,
    listing_changed,
    text_of,
    titled_links,
    tree_of,
    unique_links,
    words_at,
)
from news_assets.sources.civic.vendor_meetings import ParseContext, meeting_of
from news_assets.sources.html_document import base_of, select
from news_assets.sources.storable_entries import problem_if

_EXPECTED = "an AgendaCenter of CivicPlus"
_ROWS = "tr.catAgendaRow"
_FILE = re.compile(
    r"/ViewFile/(?P<kind>[A-Za-z]+)/(?P<id>_(?P<date>\d{8})-(?P<number>\d{1,9}))",
    re.IGNORECASE,
)
_PREVIOUS = "/previousversions/"
_LEVEL = re.compile(r"\blevel(\d)")


def parse(page: Page, context: ParseContext) -> MeetingListing:
    """Return the meetings of all categories that a page shows.

    Raises:
        ListingChangedError: Not an AgendaCenter.
        SourceError: An empty document.
    """
    tree = tree_of(page, _EXPECTED)
    base = base_of(tree, page)
    rows = select(tree, _ROWS)
    if not rows:
        elements = select(tree, "div.item[class*=level]")
        if elements:
            return MeetingListing(meetings=(_agenda(tree, elements, base, page),))
        if b"agendacenter" not in page.body.lower():
            raise listing_changed(page, _EXPECTED)
    return _listing(rows, _bodies(tree), base, context)


def _listing(
    rows: Iterable[HtmlElement],
    bodies: Mapping[HtmlElement, str],
    base: str,
    context: ParseContext,
) -> MeetingListing:
    """Return the meetings of the rows of all categories; `bodies` are by row."""
    found: dict[str, Meeting] = {}
    lost = 0
    for row in rows:
        meeting = _meeting(row, bodies.get(row, ""), base, context)
        if meeting is None:
            lost += 1
        else:
            found.setdefault(meeting.vendor_id, meeting)
    return MeetingListing(
        meetings=tuple(found.values()),
        problems=problem_if(lost, f"{lost} rows have no file: skipped"),
    )


def _bodies(tree: HtmlElement) -> dict[HtmlElement, str]:
    """Return the heading above each row."""
    found: dict[HtmlElement, str] = {}
    heading = ""
    for element in tree.iter("h2", "tr"):
        if element.tag == "h2":
            heading = text_of(element).lstrip("▼► ")
        elif "catAgendaRow" in (element.get("class", "")):
            found[element] = heading
    return found


def _meeting(
    row: HtmlElement, body: str, base: str, context: ParseContext
) -> Meeting | None:
    files: list[tuple[Link, re.Match[str]]] = []
    for link in links_in(row, base):
        match = _FILE.search(link.href[:2000])
        if match:
            files.append((link, match))
    stated = files[0][1] if files else _file_of_anchors(row)
    if stated is None:
        return None
    day = day_of_text(words_at(row, "h3, h4")) or _day_of_id(stated["date"])
    title = words_at(row, "td p") or words_at(row, "h3 a, h4 a")
    return meeting_of(
        Meeting(
            vendor_id=stated["number"],
            title=title,
            body=body or title,
            links=unique_links(_links(files)),
        ),
        context,
        start=Moment(day) if day else None,
    )


def _file_of_anchors(row: HtmlElement) -> re.Match[str] | None:
    """Return the id of a meeting without files: the name of its row's anchor."""
    names = " ".join(anchor.get("name", "") for anchor in row.iter("a"))
    path = f"/ViewFile/Agenda/{names.strip()}"
    return _FILE.search(path[:2000])


def _links(files: list[tuple[Link, re.Match[str]]]) -> Iterator[Link]:
    """Yield one link for each document, titled by what its address says."""
    for link, match in files:
        lower = link.href.lower()
        if "packet=true" in lower:
            yield Link(title="Packet", href=link.href)
        elif "html=true" in lower:
            yield Link(title=f"{match['kind'].title()} (HTML)", href=link.href)
        elif _PREVIOUS not in lower:
            yield Link(title=match["kind"].title(), href=link.href)


# --- an agenda as a page --------------------------------------------------------------


def _agenda(
    tree: HtmlElement, elements: Sequence[HtmlElement], base: str, page: Page
) -> Meeting:
    """Return the agenda of `?html=true`: `div.item.levelN`, a flat list whose levels
    distinguish headings from items.
    """
    levels = [_level(element) for element in elements]
    items: list[AgendaItem] = []
    headings = Headings()
    for element, level, below in zip(elements, levels, [*levels[1:], 0], strict=True):
        item = _item(element, len(items) + 1, base)
        section = headings.enter(level, item.title)
        if not item.title:
            continue
        if below <= level or item.attachments:
            items.append(replace(item, section=section))
    stated = _FILE.search(page.final_url[:2000])
    own_id = stated["number"] if stated else ""
    return agenda_of(items, notes_beside(tree, elements), own_id)


def _level(element: HtmlElement) -> int:
    match = _LEVEL.search(element.get("class", ""))
    if not match:
        return 0
    return int(match[1])


def _item(element: HtmlElement, sequence: int, base: str) -> AgendaItem:
    described = words_at(element, ".desc")
    files = titled_links(element, base, ".documents a, a.file")
    return AgendaItem(
        sequence=sequence,
        number=words_at(element, ".bullet, .number").strip("(). "),
        title=words_at(element, ".title") or described,
        matter_file=first_file([described, *visible_lines(element)]),
        attachments=attachments_of(files),
    )


def _day_of_id(digits: str) -> date | None:
    return day_of_text(f"{digits[:2]}/{digits[2:4]}/{digits[4:]}")


# --- requests -------------------------------------------------------------------------


def upcoming(url: str, today: date) -> Requests:
    """Return the request for all that is dated from today on."""
    return (_search(url, today, None),)


def days(url: str, first: date, last: date) -> Requests:
    """Return the request for these days; a client may ignore them and show all."""
    return (_search(url, first, last),)


def items(url: str, meeting: Meeting) -> Requests:
    """Return the request for the agenda as a page, if the meeting has one."""
    pages: list[str] = []
    for link in meeting.links:
        if "html=true" in link.href.lower():
            pages.append(link.href)
    return tuple(Request(url=href) for href in pages if "/agenda/" in href.lower())


def signal(url: str, since: datetime) -> Request:
    """Return the request for the feed of all categories, which many clients have
    switched off.
    """
    return Request(url=urljoin(url, "/RSSFeed.aspx?ModID=65&CID=All-0"))


def _category(url: str, category_id: str, year: int) -> Request:
    """Return the request for the rows of one category in one year, where the search
    does not work.
    """
    body = urlencode({"year": year, "catID": category_id})
    headers = (("Content-Type", "application/x-www-form-urlencoded"),)
    return Request(
        url=urljoin(url, "/AgendaCenter/UpdateCategoryList"),
        method="POST",
        body=body.encode(),
        headers=headers,
    )


def _search(url: str, first: date, last: date | None) -> Request:
    query = {
        "term": "",
        "CIDs": "all",
        "startDate": f"{first:%m/%d/%Y}",
        "endDate": f"{last:%m/%d/%Y}" if last else "",
        "dateRange": "",
        "dateSelector": "",
    }
    return Request(url=urljoin(url, f"/AgendaCenter/Search/?{urlencode(query)}"))
