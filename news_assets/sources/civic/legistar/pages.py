"""Legistar's pages (InSite): `https://{client}.legistar.com/Calendar.aspx` and
`MeetingDetail.aspx`.

A calendar is a grid of Telerik, `table.rgMasterTable` with `tr.rgRow` and
`tr.rgAltRow`, whose columns are told by their headings; a page may hold two of them. Of
links the part `M=` tells the kind: A agenda, M minutes, IC calendar.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from urllib.parse import urlencode, urljoin

from lxml.html import HtmlElement

from news_assets.records.meetings import (
    AgendaItem,
    Attachment,
    Link,
    Meeting,
    MeetingListing,
    Outcome,
    Request,
    Vote,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.reading.agenda_pages import notes_beside, with_notes
from news_assets.sources.civic.reading.build import Stated, location_of, meeting_of
from news_assets.sources.civic.reading.ids import listed_key
from news_assets.sources.civic.reading.moments import Moment, clock_of_text, day_of_text
from news_assets.sources.civic.reading.page_values import (
    changed,
    clean,
    href_of,
    links_in,
    parameter,
    tree_of,
    words_at,
)
from news_assets.sources.civic.vendor import Reading
from news_assets.sources.html.document import base_of, select, words_of
from news_assets.text.dates import day_of

_GRIDS = "table.rgMasterTable"
_ROWS = "tr.rgRow, tr.rgAltRow"
_NAME, _DATE, _TIME, _PLACE = "name", "meeting date", "meeting time", "meeting location"
_NO_DOCUMENTS = {
    _NAME,
    _DATE,
    _TIME,
    _PLACE,
    "ics",
    "ical",
    "icalendar",
    "meeting details",
    "ecomment",
    "",
}
_EXPECTED = "a page of Legistar"
_ID = "[id$={}]"
_HISTORY = re.compile(r"HistoryDetail\.aspx", re.IGNORECASE)
_LEGISLATION = re.compile(r"LegislationDetail\.aspx", re.IGNORECASE)
_POSTBACK = re.compile(r"__doPostBack\('([^']{1,200})'")
_AHEAD_DAYS = 90  # of a pass


def parse(page: Page, reading: Reading) -> MeetingListing:
    """Return the meetings of a calendar, or the one meeting of a detail page with its
    items.

    Grids of other things (people, legislation) hold no meeting.

    Raises:
        ListingChangedError: Not a page of Legistar.
        SourceError: An empty document.
    """
    tree = tree_of(page, _EXPECTED)
    base = base_of(tree, page)
    if _LEGISLATION.search(page.final_url):
        return MeetingListing(meetings=(_legislation(tree, base, page),))
    if _HISTORY.search(page.final_url):
        return MeetingListing(meetings=(_history(tree, page),))
    if select(tree, _ID.format("_lblDate")) and select(tree, _ID.format("_lblTime")):
        return MeetingListing(meetings=(_detail(tree, base, page, reading),))
    grids = select(tree, _GRIDS)
    if not grids:
        raise changed(page, _EXPECTED)
    found: dict[str, Meeting] = {}
    for grid in grids:
        for cells in _rows(grid, _NAME, _DATE):
            meeting = _meeting(cells, base, reading)
            found.setdefault(listed_key(meeting), meeting)
    meetings = [meeting for meeting in found.values() if meeting.starts_at]
    lost = len(found) - len(meetings)
    return MeetingListing(
        meetings=tuple(meetings),
        problems=(f"{lost} rows have no date that can be read",) if lost else (),
        next_requests=tuple(_following(tree, page, reading)),
    )


def _rows(grid: HtmlElement, *required: str) -> Iterator[dict[str, HtmlElement]]:
    """Yield the cells of each row by their headings; nothing of a grid without these
    columns, or of a row without.
    """
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
    links = [
        link
        for title, cell in cells.items()
        if title not in _NO_DOCUMENTS
        for link in _documents(cell, base)
    ]
    detail = (
        next((link.href for link in links_in(cells["meeting details"], base)), None)
        if "meeting details" in cells
        else None
    )
    calendar = next(
        (
            link.href
            for cell in cells.values()
            for link in links_in(cell, base)
            if _is_ics(link)
        ),
        None,
    )
    place = cells.get(_PLACE)
    text = "\n".join(place.itertext()) if place is not None else ""
    return meeting_of(
        Stated(
            vendor_id=_id_of(detail) or _id_of(calendar),
            title=name,
            body=name,
            start=Moment(day, clock) if day else None,
            location=location_of(text),
            url=detail,
            links=[link for link in links if not _is_ics(link)],
            status_words=[
                " ".join(text.split()),
                words_of(cells[_TIME]) if _TIME in cells else "",
            ],
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


# --- the page of one meeting ----------------------------------------------------------


def _detail(tree: HtmlElement, base: str, page: Page, reading: Reading) -> Meeting:
    name = words_at(tree, _ID.format("_hypName")) or words_at(
        tree, _ID.format("_lblName")
    )
    day = day_of_text(words_at(tree, _ID.format("_lblDate")))
    place = select(tree, _ID.format("_lblLocation"))
    anchors = [
        anchor
        for title in ("_hypAgenda", "_hypMinutes", "_hypVideo", "_hypAgendaPacket")
        for anchor in select(tree, "a" + _ID.format(title))
    ]
    links = [
        Link(title=clean(words_of(anchor)), href=href)
        for anchor in anchors
        if (href := href_of(anchor, base))
    ]
    meeting = meeting_of(
        Stated(
            vendor_id=_id_of(page.final_url)
            or _id_of(next((link.href for link in links), None)),
            title=name,
            body=name,
            start=(
                Moment(day, clock_of_text(words_at(tree, _ID.format("_lblTime"))))
                if day
                else None
            ),
            location=location_of("\n".join(place[0].itertext()))
            if place
            else location_of(""),
            url=page.final_url,
            links=[link for link in links if "not available" not in link.title.lower()],
            items=_items(tree, base),
            status_words=[words_at(tree, _ID.format("_lblAgendaStatus"))],
            is_final=words_at(tree, _ID.format("_lblAgendaStatus"))
            .lower()
            .startswith("final"),
        ),
        reading,
    )
    return with_notes(meeting, notes_beside(tree, select(tree, _GRIDS)))


def _items(tree: HtmlElement, base: str) -> Sequence[AgendaItem]:
    """Return the rows of the agenda's grid: file number, agenda number, type and title."""
    rows = (cells for grid in select(tree, _GRIDS) for cells in _rows(grid, "title"))
    return [_item(cells, number, base) for number, cells in enumerate(rows, start=1)]


def _item(cells: dict[str, HtmlElement], sequence: int, base: str) -> AgendaItem:
    file = next(
        (cells[name] for name in ("file #", "record #", "file") if name in cells), None
    )
    links = links_in(file, base) if file is not None else ()
    number = next((cells[name] for name in ("agenda #", "#") if name in cells), None)
    return AgendaItem(
        sequence=sequence,
        vendor_id=_id_of(links[0].href) if links else "",
        number=clean(words_of(number)).rstrip(".") if number is not None else "",
        title=clean(words_of(cells["title"]))
        or (clean(words_of(cells["name"])) if "name" in cells else ""),
        matter_file=(clean(words_of(file)) or None) if file is not None else None,
        matter_id=(_id_of(links[0].href) or None) if links else None,
        matter_type=(clean(words_of(cells["type"])) or None)
        if "type" in cells
        else None,
        details_urls=tuple(_detail_pages(cells, links, base)),
        outcome=Outcome(
            action=_text_in(cells, "action"), result=_text_in(cells, "result")
        ),
        attachments=tuple(
            Attachment(name=link.title, url=link.href)
            for link in links_in(cells["title"], base)
            if link.title
        ),
    )


def _detail_pages(
    cells: dict[str, HtmlElement], links: Sequence[Link], base: str
) -> Iterator[str]:
    """Yield the page of an item's matter, and that of its votes once there is a result."""
    yield from (link.href for link in links[:1] if _LEGISLATION.search(link.href))
    if "action details" in cells and _text_in(cells, "result"):
        yield from (
            link.href
            for link in links_in(cells["action details"], base)
            if _HISTORY.search(link.href)
        )


def _text_in(cells: dict[str, HtmlElement], name: str) -> str:
    return clean(words_of(cells[name])) if name in cells else ""


# --- the pages of one matter and of one vote ------------------------------------------


def _legislation(tree: HtmlElement, base: str, page: Page) -> Meeting:
    """Return what the page of a matter adds to its item: sponsors, type and
    attachments.
    """
    files = [
        link
        for holder in select(tree, "[id*=_lblAttachments]")
        for link in links_in(holder, base)
    ]
    sponsors = re.split(r"\s{0,3}[,;]\s{0,3}", _stated(tree, "_lblSponsors"))
    item = AgendaItem(
        sequence=0,
        title="",
        vendor_id=_id_of(page.final_url),
        matter_file=_stated(tree, "_lblFile") or None,
        matter_type=_stated(tree, "_lblIntroType", "_lblType") or None,
        sponsors=tuple(filter(None, sponsors)),
        attachments=tuple(
            Attachment(name=link.title, url=link.href) for link in files if link.title
        ),
        details_urls=(page.url,),
    )
    return Meeting(vendor_id="", items=(item,), is_partial=True)


def _history(tree: HtmlElement, page: Page) -> Meeting:
    """Return what the page of an action adds to its item: how the members voted, and
    who moved it.
    """
    votes: list[Vote] = []
    for grid in select(tree, "table[id*=gridVote]"):
        for cells in _rows(grid, "person name", "vote"):
            person, value = (
                clean(words_of(cells["person name"])),
                clean(words_of(cells["vote"])),
            )
            votes.append(Vote(person=person, value=value))
    outcome = Outcome(
        mover=_stated(tree, "_hypMover", "_lblMover"),
        seconder=_stated(tree, "_hypSeconder", "_lblSeconder"),
    )
    item = AgendaItem(
        sequence=0,
        title="",
        votes=tuple(votes),
        outcome=outcome,
        details_urls=(page.url,),
    )
    return Meeting(vendor_id="", items=(item,), is_partial=True)


def _stated(tree: HtmlElement, *labels: str) -> str:
    """Return the value of the first of these labels; its id may end in a digit, and
    `..._lblFile1` be its name.
    """
    for label in labels:
        values = [
            words
            for one in select(tree, f"[id*={label}]")
            if (words := clean(words_of(one)))
        ]
        named = [value for value in values if not value.endswith(":")]
        if named:
            return named[-1]
    return ""


# --- requests -------------------------------------------------------------------------


def upcoming(url: str, today: date) -> tuple[Request, ...]:
    """Return the request for the calendar, which shows the current month or year as the
    client has set.
    """
    return (Request(url=urljoin(url, "/Calendar.aspx")),)


def year(page: Page, number: int) -> Request:
    """Return the request for another year of a calendar page: its form sent again, as
    choosing the year does.

    Raises:
        ListingChangedError: A page without the form.
    """
    chosen = {
        "__EVENTTARGET": "ctl00$ContentPlaceHolder1$lstYears",
        "ctl00_ContentPlaceHolder1_lstYears_ClientState": f'{{"value":"{number}"}}',
    }
    return _form(tree_of(page, _EXPECTED), page, chosen)


def _form(tree: HtmlElement, page: Page, chosen: dict[str, str]) -> Request:
    hidden = {
        field.get("name") or "": field.get("value") or ""
        for field in select(tree, "input[type=hidden][name]")
    }
    if "__VIEWSTATE" not in hidden:
        raise changed(page, _EXPECTED)
    headers = (("Content-Type", "application/x-www-form-urlencoded"),)
    return Request(
        url=page.final_url,
        method="POST",
        body=urlencode(hidden | chosen).encode(),
        headers=headers,
    )


def _following(tree: HtmlElement, page: Page, reading: Reading) -> Iterator[Request]:
    """Yield the requests for the next page of the grid, and for the years of a pass
    that are not shown.

    A calendar shows one year, or "This Month" until a year is chosen.
    """
    if not select(tree, "input[name=__VIEWSTATE]"):
        return
    for current in select(tree, "a.rgCurrentPage"):
        following = current.getnext()
        target = (
            _POSTBACK.search((following.get("href") or "")[:500])
            if following is not None
            else None
        )
        if target:
            yield _form(tree, page, {"__EVENTTARGET": target[1]})
            return
    shown = next(
        (
            field.get("value") or ""
            for field in select(tree, "[id*=lstYears] input[value]")
        ),
        None,
    )
    if shown is None:
        return
    today = day_of(reading.now, reading.timezone)
    wanted = dict.fromkeys((today.year, (today + timedelta(days=_AHEAD_DAYS)).year))
    later = [number for number in wanted if not shown.isdigit() or number > int(shown)]
    if later:
        yield year(page, later[0])


def items(url: str, meeting: Meeting) -> tuple[Request, ...]:
    """Return the request for a meeting's own page."""
    return (Request(url=meeting.url),) if meeting.url else ()
