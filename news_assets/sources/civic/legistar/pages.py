"""Legistar's pages (InSite): `https://{client}.legistar.com/Calendar.aspx` and `MeetingDetail.aspx`.

A calendar is a grid of Telerik, `table.rgMasterTable` with `tr.rgRow` and `tr.rgAltRow`, whose columns are told by
their headings; a page may hold two of them. Of links the part `M=` tells the kind: A agenda, M minutes, IC calendar.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from urllib.parse import urlencode, urljoin

from lxml.html import HtmlElement

from news_assets.records.meetings import AgendaItem, Attachment, Link, Meeting, MeetingListing, Request
from news_assets.records.reading import Page
from news_assets.sources.civic.reading.build import Stated, location_of, meeting_of
from news_assets.sources.civic.reading.moments import Moment, clock_of_text, day_of_text
from news_assets.sources.civic.reading.pages import changed, clean, href_of, links_in, parameter, tree_of, words_at
from news_assets.sources.civic.vendor import Reading
from news_assets.sources.html.document import base_of, select, words_of

_GRIDS = "table.rgMasterTable"
_ROWS = "tr.rgRow, tr.rgAltRow"
_NAME, _DATE, _TIME, _PLACE = "name", "meeting date", "meeting time", "meeting location"
_NO_DOCUMENTS = {_NAME, _DATE, _TIME, _PLACE, "ics", "ical", "icalendar", "meeting details", "ecomment", ""}
_EXPECTED = "a page of Legistar"
_ID = "[id$={}]"


def parse(page: Page, reading: Reading) -> MeetingListing:
    """Return the meetings of a calendar, or the one meeting of a detail page with its items.

    Grids of other things (people, legislation) hold no meeting.

    Raises:
        ListingChangedError: Not a page of Legistar.
        SourceError: An empty document.
    """
    tree = tree_of(page, _EXPECTED)
    base = base_of(tree, page)
    if select(tree, _ID.format("_lblDate")) and select(tree, _ID.format("_lblTime")):
        return MeetingListing(meetings=(_detail(tree, base, page, reading),))
    grids = select(tree, _GRIDS)
    if not grids:
        raise changed(page, _EXPECTED)
    found: dict[str, Meeting] = {}
    for grid in grids:
        for cells in _rows(grid, _NAME, _DATE):
            meeting = _meeting(cells, base, reading)
            found.setdefault(meeting.vendor_id, meeting)
    meetings = [meeting for meeting in found.values() if meeting.starts_at]
    lost = len(found) - len(meetings)
    return MeetingListing(
        meetings=tuple(meetings), problems=(f"{lost} rows have no date that can be read",) if lost else ()
    )


def _rows(grid: HtmlElement, *required: str) -> Iterator[dict[str, HtmlElement]]:
    """Yield the cells of each row by their headings; nothing of a grid without these columns, or of a row without."""
    headings = _headings(grid)
    if set(required) <= set(headings):
        for row in select(grid, _ROWS):
            cells = dict(zip(headings, row.iterchildren("td"), strict=False))
            if set(required) <= cells.keys():
                yield cells


def _headings(grid: HtmlElement) -> list[str]:
    cells = select(grid, "th.rgHeader")
    return [(clean(words_of(cell)) or _image_of(cell)).lower() for cell in cells]


def _image_of(cell: HtmlElement) -> str:
    return next((image.get("alt") or "" for image in cell.iter("img")), "")


def _meeting(cells: dict[str, HtmlElement], base: str, reading: Reading) -> Meeting:
    name = clean(words_of(cells[_NAME]))
    day = day_of_text(words_of(cells[_DATE]))
    clock = clock_of_text(words_of(cells[_TIME])) if _TIME in cells else None
    links = [link for title, cell in cells.items() if title not in _NO_DOCUMENTS for link in _documents(cell, base)]
    detail = (
        next((link.href for link in links_in(cells["meeting details"], base)), None)
        if "meeting details" in cells
        else None
    )
    calendar = next((link.href for cell in cells.values() for link in links_in(cell, base) if _is_ics(link)), None)
    place = cells.get(_PLACE)
    text = "\n".join(place.itertext()) if place is not None else ""
    return meeting_of(
        Stated(
            vendor_id=_id_of(detail) or _id_of(calendar) or f"{name} {day}",
            title=name,
            body=name,
            start=Moment(day, clock) if day else None,
            location=location_of(text),
            url=detail,
            links=[link for link in links if not _is_ics(link)],
            status_words=[" ".join(text.split()), words_of(cells[_TIME]) if _TIME in cells else ""],
        ),
        reading,
    )


def _documents(cell: HtmlElement, base: str) -> Iterable[Link]:
    """Yield the links of one cell; a video opens in a window of its own."""
    for link in links_in(cell, base):
        if "not available" not in link.title.lower():
            yield link


def _is_ics(link: Link) -> bool:
    return parameter(link.href, "m") == "IC"


def _id_of(url: str | None) -> str:
    return parameter(url, "legid", "id")


# --- the page of one meeting -----------------------------------------------------------------------------------------


def _detail(tree: HtmlElement, base: str, page: Page, reading: Reading) -> Meeting:
    name = words_at(tree, _ID.format("_hypName")) or words_at(tree, _ID.format("_lblName"))
    day = day_of_text(words_at(tree, _ID.format("_lblDate")))
    place = select(tree, _ID.format("_lblLocation"))
    anchors = [
        anchor
        for title in ("_hypAgenda", "_hypMinutes", "_hypVideo", "_hypAgendaPacket")
        for anchor in select(tree, "a" + _ID.format(title))
    ]
    links = [Link(title=clean(words_of(anchor)), href=href) for anchor in anchors if (href := href_of(anchor, base))]
    return meeting_of(
        Stated(
            vendor_id=_id_of(page.final_url) or _id_of(next((link.href for link in links), None)),
            title=name,
            body=name,
            start=Moment(day, clock_of_text(words_at(tree, _ID.format("_lblTime")))) if day else None,
            location=location_of("\n".join(place[0].itertext())) if place else location_of(""),
            url=page.final_url,
            links=[link for link in links if "not available" not in link.title.lower()],
            items=_items(tree, base),
            status_words=[words_at(tree, _ID.format("_lblAgendaStatus"))],
            is_final=words_at(tree, _ID.format("_lblAgendaStatus")).lower().startswith("final"),
        ),
        reading,
    )


def _items(tree: HtmlElement, base: str) -> Sequence[AgendaItem]:
    """Return the rows of the agenda's grid: file number, agenda number, type and title."""
    rows = (cells for grid in select(tree, _GRIDS) for cells in _rows(grid, "title"))
    return [_item(cells, number, base) for number, cells in enumerate(rows, start=1)]


def _item(cells: dict[str, HtmlElement], sequence: int, base: str) -> AgendaItem:
    file = next((cells[name] for name in ("file #", "record #", "file") if name in cells), None)
    links = links_in(file, base) if file is not None else ()
    number = next((cells[name] for name in ("agenda #", "#") if name in cells), None)
    return AgendaItem(
        sequence=sequence,
        vendor_id=_id_of(links[0].href) if links else "",
        number=clean(words_of(number)).rstrip(".") if number is not None else "",
        title=clean(words_of(cells["title"])) or (clean(words_of(cells["name"])) if "name" in cells else ""),
        matter_file=(clean(words_of(file)) or None) if file is not None else None,
        matter_id=(_id_of(links[0].href) or None) if links else None,
        matter_type=(clean(words_of(cells["type"])) or None) if "type" in cells else None,
        attachments=tuple(
            Attachment(name=link.title, url=link.href) for link in links_in(cells["title"], base) if link.title
        ),
    )


# --- requests --------------------------------------------------------------------------------------------------------


def upcoming(url: str, today: date) -> tuple[Request, ...]:
    """Return the request for the calendar, which shows the current month or year as the client has set."""
    return (Request(url=urljoin(url, "/Calendar.aspx")),)


def year(page: Page, number: int) -> Request:
    """Return the request for another year of a calendar page: its form sent again, as choosing the year does.

    A year's page may go on: the grid then has links to further pages, which this does not follow.

    Raises:
        ListingChangedError: A page without the form.
    """
    tree = tree_of(page, _EXPECTED)
    hidden = {field.get("name") or "": field.get("value") or "" for field in select(tree, "input[type=hidden][name]")}
    if "__VIEWSTATE" not in hidden:
        raise changed(page, _EXPECTED)
    chosen = {
        "__EVENTTARGET": "ctl00$ContentPlaceHolder1$lstYears",
        "ctl00_ContentPlaceHolder1_lstYears_ClientState": f'{{"value":"{number}"}}',
    }
    headers = (("Content-Type", "application/x-www-form-urlencoded"),)
    return Request(url=page.final_url, method="POST", body=urlencode(hidden | chosen).encode(), headers=headers)


def items(url: str, meeting: Meeting) -> tuple[Request, ...]:
    """Return the request for a meeting's own page."""
    return (Request(url=meeting.url),) if meeting.url else ()
