"""Municode's pages: PublishPage (`meetings.municode.com/PublishPage?cid=`), a client's
site, and an agenda as HTML.

Three forms: a table whose columns are known by their class (`td.meeting`, `.venue`,
`.time`, `.agenda`); the directory of a client's Drupal site, with the time in `content`
of the date (`td.views-field-title`, `-field-agendas`); and `adaHtmlDocument`
(`section.agenda-section` with `.agenda-items`).
"""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from lxml.html import HtmlElement

from news_assets.records.meetings import (
    AgendaItem,
    Link,
    Meeting,
    MeetingListing,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.reading.agenda_pages import agenda_of, notes_beside
from news_assets.sources.civic.reading.build import Stated, location_of, meeting_of
from news_assets.sources.civic.reading.moments import (
    Moment,
    clock_of_text,
    day_of_text,
    moment_of_text,
    wall_clock,
)
from news_assets.sources.civic.reading.numbering import number_alone, split_number
from news_assets.sources.civic.reading.page_values import (
    attachments_of,
    changed,
    first_match,
    href_of,
    links_in,
    parameter,
    requests_to,
    text_of,
    tree_of,
    words_at,
)
from news_assets.sources.civic.vendor import Reading
from news_assets.sources.html.document import base_of, select

_EXPECTED = "a page of Municode Meetings"
_COLUMNS = (
    ("td.agenda", "Agenda"),
    ("td.packet", "Packet"),
    ("td.minutes", "Minutes"),
    ("td.multimedia", "Video"),
)
_FIELDS = (
    ("td.views-field-field-agendas", "Agenda"),
    ("td.views-field-field-packets", "Agenda Packet"),
    ("td.views-field-field-minutes", "Minutes"),
    ("td.views-field-field-video-link", "Video"),
    ("td.views-field-field-video", "Video"),
)
_FILES = "agenda_item_attachments"
_PUBLISHED_ROWS = "table.mcm tr, table.div-table tr"
_ID = re.compile(r"MEET-[A-Za-z]+-([0-9a-f]{32})", re.IGNORECASE)


def parse(page: Page, reading: Reading) -> MeetingListing:
    """Return the meetings of a page, or the items of an agenda.

    Raises:
        ListingChangedError: None of the forms.
        SourceError: An empty document.
    """
    tree = tree_of(page, _EXPECTED)
    base = base_of(tree, page)
    if sections := select(tree, "section.agenda-section"):
        notes = notes_beside(tree, sections)
        items = _items(sections, base)
        agenda = agenda_of(items, notes, parameter(page.final_url, "me"))
        return MeetingListing(meetings=(agenda,))
    if select(tree, "table.mcm, table.div-table"):
        published = _rows_with(select(tree, _PUBLISHED_ROWS), "td.meeting")
        meetings = [_published(row, base, reading) for row in published]
        return MeetingListing(meetings=tuple(meetings))
    listed = _rows_with(select(tree, "tr"), "td.views-field-title")
    if not listed and not select(tree, ".view-meetings, .view-empty"):
        raise changed(page, _EXPECTED)
    following = links_in(tree, base, ".pager-next a, .pager__item--next a")
    return MeetingListing(
        meetings=tuple(_listed(row, base, reading) for row in listed),
        next_requests=requests_to(*(link.href for link in following)),
    )


def _rows_with(rows: Iterable[HtmlElement], css: str) -> list[HtmlElement]:
    return [row for row in rows if select(row, css)]


def _published(row: HtmlElement, base: str, reading: Reading) -> Meeting:
    """Return the meeting of a row of PublishPage; its date stands in the title or with
    the hour.
    """
    title = words_at(row, "td.meeting")
    links = _documents(row, _COLUMNS, base)
    return meeting_of(
        Stated(
            vendor_id=_id_of(links),
            title=title,
            start=_start(row, title),
            location=location_of(words_at(row, "td.venue")),
            links=links,
        ),
        reading,
    )


def _start(row: HtmlElement, title: str) -> Moment | None:
    when = words_at(row, "td.time, td.date")
    dates = (words_at(row, "td.date"), when, title)
    day = next(filter(None, map(day_of_text, dates)), None)
    if day is None:
        return None
    clock = clock_of_text(words_at(row, "td.time"))
    with_date = moment_of_text(when)
    if clock is None and with_date is not None:
        clock = with_date.clock
    return Moment(day, clock)


def _listed(row: HtmlElement, base: str, reading: Reading) -> Meeting:
    """Return the meeting of a row of a client's site."""
    date_cell = first_match(row, "[content]")
    stated = date_cell.get("content") if date_cell is not None else None
    if stated:
        start = wall_clock(stated)
    else:
        date_words = words_at(row, "td[class*=calendar-date], td[class*=date]")
        start = moment_of_text(date_words)
    title = words_at(row, "td.views-field-title")
    links = _documents(row, _FIELDS, base)
    pages = links_in(row, base, "td.views-field-view-node a, td.views-field-title a")
    url = pages[0].href if pages else ""
    return meeting_of(
        Stated(
            vendor_id=_id_of(links) or url.rstrip("/").rpartition("/")[2],
            title=title,
            body=words_at(row, "td[class*=microsite], td[class*=field-group]") or title,
            start=start,
            location=location_of(words_at(row, "td[class*=location]")),
            url=url or None,
            links=links,
        ),
        reading,
    )


def _documents(
    row: HtmlElement, columns: Iterable[tuple[str, str]], base: str
) -> list[Link]:
    """Return the documents in these cells of a row, with the titles of the columns."""
    found: list[Link] = []
    for css, title in columns:
        for anchor in select(row, f"{css} a"):
            href = href_of(anchor, base)
            if href:
                found.append(Link(title=title, href=href))
    return found


def _id_of(links: Iterable[Link]) -> str:
    """Return the id of a meeting, which the names of its files hold."""
    for link in links:
        if match := _ID.search(unquote(link.href[:2000])):
            return match[1].lower()
    return ""


# --- the agenda as HTML ---------------------------------------------------------------


def _items(sections: Iterable[HtmlElement], base: str) -> Iterator[AgendaItem]:
    sequence = 0
    for section in sections:
        heading = words_at(section, ".section-header")
        for element in _entries(section):
            sequence += 1
            yield _item(element, sequence, heading, base)


def _entries(section: HtmlElement) -> Iterator[HtmlElement]:
    for listed in select(section, ".agenda-items"):
        yield from (child for child in listed.iterchildren("li"))


def _item(element: HtmlElement, sequence: int, section: str, base: str) -> AgendaItem:
    stated, text = words_at(element, "num"), text_of(element)
    number, title = split_number(text)
    if stated:
        number = number_alone(stated) or stated
        title = text.removeprefix(stated).strip()
    lists = select(element, ".agenda_item_attachments")
    following = element.getnext()
    if following is not None and _FILES in following.get("class", ""):
        lists.append(following)
    files: list[Link] = []
    for one in lists:
        files += links_in(one, base)
    return AgendaItem(
        sequence=sequence,
        number=number,
        title=title,
        section=section,
        attachments=attachments_of(files),
    )
