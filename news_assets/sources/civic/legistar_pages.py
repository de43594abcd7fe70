"""Legistar's pages (InSite): `https://{client}.legistar.com/Calendar.aspx` and
`MeetingDetail.aspx`.

A calendar is a grid of Telerik, `table.rgMasterTable` with `tr.rgRow` and
`tr.rgAltRow`, whose columns are known by their headings; a page may hold two of them.
Of links the part `M=` gives the kind: A agenda, M minutes, IC calendar.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import date, timedelta
from urllib.parse import urlencode, urljoin

from lxml.html import HtmlElement

from news_assets.records.meetings import (
    AgendaItem,
    ItemOutcome,
    Link,
    Meeting,
    MeetingListing,
    Request,
    Vote,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.agenda_pages import (
    notes_beside,
    page_of_item,
    with_notes,
)
from news_assets.sources.civic.identity import listed_key
from news_assets.sources.civic.moments import moment_of_texts
from news_assets.sources.civic.page_values import (
    Requests,
    attachments_of,
    dateless_rows,
    first_match,
    href_of,
    lines_of,
    links_in,
    links_to,
    listing_changed,
    parameter,
    requests_to,
    text_of,
    tree_of,
    words_at,
)
from news_assets.sources.civic.vendor_meetings import (
    ParseContext,
    location_of,
    meeting_of,
)
from news_assets.sources.html_document import base_of, select, words_of
from news_assets.sources.storable_entries import or_none
from news_assets.text.dates import day_of

_Cells = dict[str, HtmlElement]  # of a row, by heading

_GRIDS = "table.rgMasterTable"
_ROWS = "tr.rgRow, tr.rgAltRow"
_NAME, _DATE, _TIME, _PLACE = "name", "meeting date", "meeting time", "meeting location"
_DETAILS = "meeting details"
_NO_DOCUMENTS = {
    _NAME,
    _DATE,
    _TIME,
    _PLACE,
    "ics",
    "ical",
    "icalendar",
    _DETAILS,
    "ecomment",
    "",
}
_EXPECTED = "a page of Legistar"
_ID = "[id$={}]"
_HISTORY = re.compile(r"HistoryDetail\.aspx", re.IGNORECASE)
_LEGISLATION = re.compile(r"LegislationDetail\.aspx", re.IGNORECASE)
_POSTBACK = re.compile(r"__doPostBack\('([^']{1,200})'")
_SEPARATOR = re.compile(r"\s{0,3}[,;]\s{0,3}")  # of sponsors
_AHEAD_DAYS = 90  # of a pass


def parse(page: Page, context: ParseContext) -> MeetingListing:
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
    if _has(tree, "_lblDate") and _has(tree, "_lblTime"):
        return MeetingListing(meetings=(_detail(tree, base, page, context),))
    grids = select(tree, _GRIDS)
    if not grids:
        raise listing_changed(page, _EXPECTED)
    found = _calendar(grids, base, context)
    meetings = [meeting for meeting in found if meeting.starts_at]
    return MeetingListing(
        meetings=tuple(meetings),
        problems=dateless_rows(len(found) - len(meetings)),
        next_requests=tuple(_following(tree, page, context)),
    )


def _calendar(
    grids: Sequence[HtmlElement], base: str, context: ParseContext
) -> Collection[Meeting]:
    """Return the meetings of these grids, each once."""
    found: dict[str, Meeting] = {}
    for grid in grids:
        for cells in _rows(grid, _NAME, _DATE):
            meeting = _meeting(cells, base, context)
            found.setdefault(listed_key(meeting), meeting)
    return found.values()


def _rows(grid: HtmlElement, *required: str) -> Iterator[_Cells]:
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
    headings = []
    for cell in select(grid, "th.rgHeader"):
        heading = text_of(cell) or _image_of(cell)
        headings.append(heading.lower())
    return headings


def _image_of(cell: HtmlElement) -> str:
    """Return the description of the first image in a cell."""
    for image in cell.iter("img"):
        return str(image.get("alt", ""))
    return ""


def _meeting(cells: _Cells, base: str, context: ParseContext) -> Meeting:
    name = text_of(cells[_NAME])
    detail = None
    if _DETAILS in cells:
        detail = _first_href(links_in(cells[_DETAILS], base))
    clock = words_of(cells[_TIME]) if _TIME in cells else ""
    place = lines_of(cells.get(_PLACE))
    return meeting_of(
        Meeting(
            vendor_id=_id_of(detail) or _id_of(_calendar_file(cells, base)),
            title=name,
            body=name,
            location=location_of(place),
            url=detail,
            links=tuple(_documents(cells, base)),
        ),
        context,
        start=moment_of_texts(words_of(cells[_DATE]), clock),
        status_words=[" ".join(place.split()), clock],
    )


def _documents(cells: _Cells, base: str) -> list[Link]:
    """Return the links to documents in a row, without those to files of a calendar."""
    found: list[Link] = []
    for title, cell in cells.items():
        if title not in _NO_DOCUMENTS:
            found += links_in(cell, base)
    return [link for link in _available(found) if not _is_ics(link)]


def _available(links: Iterable[Link]) -> list[Link]:
    found = []
    for link in links:
        if "not available" not in link.title.lower():
            found.append(link)
    return found


def _first_href(links: Sequence[Link]) -> str | None:
    if not links:
        return None
    return links[0].href


def _calendar_file(cells: _Cells, base: str) -> str | None:
    """Return the address of a meeting's iCalendar file, which has its id."""
    for cell in cells.values():
        for link in links_in(cell, base):
            if _is_ics(link):
                return link.href
    return None


def _is_ics(link: Link) -> bool:
    return parameter(link.href, "m") == "IC"


def _id_of(url: str | None) -> str:
    return parameter(url, "legid", "id")


# --- the page of one meeting ----------------------------------------------------------


def _detail(tree: HtmlElement, base: str, page: Page, context: ParseContext) -> Meeting:
    name = _labelled(tree, "_hypName") or _labelled(tree, "_lblName")
    links = _detail_links(tree, base)
    status = _labelled(tree, "_lblAgendaStatus")
    place = first_match(tree, _ID.format("_lblLocation"))
    meeting = meeting_of(
        Meeting(
            vendor_id=_id_of(page.final_url) or _id_of(_first_href(links)),
            title=name,
            body=name,
            location=location_of(lines_of(place)),
            url=page.final_url,
            links=tuple(_available(links)),
            items=tuple(_items(tree, base)),
        ),
        context,
        start=moment_of_texts(_labelled(tree, "_lblDate"), _labelled(tree, "_lblTime")),
        status_words=[status],
        is_final=status.lower().startswith("final"),
    )
    return with_notes(meeting, notes_beside(tree, select(tree, _GRIDS)))


def _has(tree: HtmlElement, id_end: str) -> bool:
    return first_match(tree, _ID.format(id_end)) is not None


def _labelled(tree: HtmlElement, id_end: str) -> str:
    """Return the text of the element whose id ends so."""
    return words_at(tree, _ID.format(id_end))


def _detail_links(tree: HtmlElement, base: str) -> list[Link]:
    found: list[Link] = []
    for id_end in ("_hypAgenda", "_hypMinutes", "_hypVideo", "_hypAgendaPacket"):
        for anchor in select(tree, "a" + _ID.format(id_end)):
            href = href_of(anchor, base)
            if href:
                found.append(Link(title=text_of(anchor), href=href))
    return found


def _items(tree: HtmlElement, base: str) -> Sequence[AgendaItem]:
    """Return the rows of the agenda's grid: file number, agenda number, type and title."""
    rows: list[_Cells] = []
    for grid in select(tree, _GRIDS):
        rows += _rows(grid, "title")
    return [_item(cells, number, base) for number, cells in enumerate(rows, start=1)]


def _item(cells: _Cells, sequence: int, base: str) -> AgendaItem:
    file = _first_cell(cells, "file #", "record #", "file")
    links = links_in(file, base) if file is not None else ()
    own_id = _id_of(_first_href(links))
    titled = [link for link in links_in(cells["title"], base) if link.title]
    return AgendaItem(
        sequence=sequence,
        vendor_id=own_id,
        number=text_of(_first_cell(cells, "agenda #", "#")).rstrip("."),
        title=text_of(cells["title"]) or text_of(cells.get("name")),
        matter_file=or_none(text_of(file)),
        matter_id=or_none(own_id),
        matter_type=or_none(text_of(cells.get("type"))),
        details_urls=tuple(_detail_pages(cells, links, base)),
        outcome=ItemOutcome(
            action=text_of(cells.get("action")), result=text_of(cells.get("result"))
        ),
        attachments=attachments_of(titled),
    )


def _first_cell(cells: _Cells, *names: str) -> HtmlElement | None:
    for name in names:
        if name in cells:
            return cells[name]
    return None


def _detail_pages(cells: _Cells, links: Sequence[Link], base: str) -> list[str]:
    """Return the page of an item's matter, and that of its votes once there is a
    result.
    """
    pages = links_to(links[:1], _LEGISLATION)
    if "action details" in cells and text_of(cells.get("result")):
        actions = links_in(cells["action details"], base)
        pages += links_to(actions, _HISTORY)
    return [link.href for link in pages]


# --- the pages of one matter and of one vote ------------------------------------------


def _legislation(tree: HtmlElement, base: str, page: Page) -> Meeting:
    """Return what the page of a matter adds to its item: sponsors, type and
    attachments.
    """
    files: list[Link] = []
    for holder in select(tree, "[id*=_lblAttachments]"):
        files += [link for link in links_in(holder, base) if link.title]
    sponsors = _SEPARATOR.split(_stated(tree, "_lblSponsors"))
    item = AgendaItem(
        sequence=0,
        title="",
        vendor_id=_id_of(page.final_url),
        matter_file=or_none(_stated(tree, "_lblFile")),
        matter_type=or_none(_stated(tree, "_lblIntroType", "_lblType")),
        sponsors=tuple(filter(None, sponsors)),
        attachments=attachments_of(files),
        details_urls=(page.url,),
    )
    return page_of_item(item)


def _history(tree: HtmlElement, page: Page) -> Meeting:
    """Return what the page of an action adds to its item: how the members voted, and
    who moved it.
    """
    votes: list[Vote] = []
    for grid in select(tree, "table[id*=gridVote]"):
        for cells in _rows(grid, "person name", "vote"):
            person = text_of(cells["person name"])
            votes.append(Vote(person=person, value=text_of(cells["vote"])))
    item = AgendaItem(
        sequence=0,
        title="",
        votes=tuple(votes),
        outcome=ItemOutcome(
            mover=_stated(tree, "_hypMover", "_lblMover"),
            seconder=_stated(tree, "_hypSeconder", "_lblSeconder"),
        ),
        details_urls=(page.url,),
    )
    return page_of_item(item)


def _stated(tree: HtmlElement, *labels: str) -> str:
    """Return the value of the first of these labels; its id may end in a digit, and
    `..._lblFile1` be its name.
    """
    for label in labels:
        values = [text_of(one) for one in select(tree, f"[id*={label}]")]
        named = [value for value in values if value and not value.endswith(":")]
        if named:
            return named[-1]
    return ""


# --- requests -------------------------------------------------------------------------


def upcoming(url: str, today: date) -> Requests:
    """Return the request for the calendar, which shows the current month or year as the
    client has set.
    """
    return requests_to(urljoin(url, "/Calendar.aspx"))


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
    hidden: dict[str, str] = {}
    for field in select(tree, "input[type=hidden][name]"):
        hidden[field.get("name", "")] = field.get("value", "")
    if "__VIEWSTATE" not in hidden:
        raise listing_changed(page, _EXPECTED)
    headers = (("Content-Type", "application/x-www-form-urlencoded"),)
    return Request(
        url=page.final_url,
        method="POST",
        body=urlencode(hidden | chosen).encode(),
        headers=headers,
    )


def _following(tree: HtmlElement, page: Page, context: ParseContext) -> list[Request]:
    """Return the request for the next page of the grid, else for the next year of a
    pass that is not shown.

    A calendar shows one year, or "This Month" until a year is chosen.
    """
    if not select(tree, "input[name=__VIEWSTATE]"):
        return []
    target = _next_page(tree)
    if target is not None:
        return [_form(tree, page, {"__EVENTTARGET": target})]
    years = first_match(tree, "[id*=lstYears] input[value]")
    if years is None:
        return []
    later = _later_years(years.get("value", ""), context)
    return [year(page, number) for number in later[:1]]


def _later_years(shown: str, context: ParseContext) -> list[int]:
    """Return the years of a pass after the one that is shown; all if none is."""
    today = day_of(context.now, context.timezone)
    last = today + timedelta(days=_AHEAD_DAYS)
    wanted = list(dict.fromkeys((today.year, last.year)))
    if not shown.isdigit():
        return wanted
    return [number for number in wanted if number > int(shown)]


def _next_page(tree: HtmlElement) -> str | None:
    """Return the control that shows the next page of the grid; None on the last one."""
    for current in select(tree, "a.rgCurrentPage"):
        following = current.getnext()
        if following is None:
            continue
        target = _POSTBACK.search(following.get("href", "")[:500])
        if target:
            return target[1]
    return None


def items(url: str, meeting: Meeting) -> Requests:
    """Return the request for a meeting's own page."""
    return requests_to(meeting.url)
