"""Municode's pages: PublishPage (`meetings.municode.com/PublishPage?cid=`), a client's
site, and an agenda as HTML.

Three forms: a table whose columns are told by their class (`td.meeting`, `.venue`,
`.time`, `.agenda`); the directory of a client's Drupal site, with the time in `content`
of the date (`td.views-field-title`, `-field-agendas`); and `adaHtmlDocument`
(`section.agenda-section` with `.agenda-items`).
"""

import re
from collections.abc import Iterable, Iterator
from datetime import time
from urllib.parse import unquote

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
    changed,
    href_of,
    links_in,
    parameter,
    text_of,
    tree_of,
    words_at,
)
from news_assets.sources.civic.vendor import Reading
from news_assets.sources.html.document import base_of, select

_EXPECTED = "a page of Municode Meetings"
_COLUMNS = (
    ("agenda", "Agenda"),
    ("packet", "Packet"),
    ("minutes", "Minutes"),
    ("multimedia", "Video"),
)
_FIELDS = (
    ("agendas", "Agenda"),
    ("packets", "Agenda Packet"),
    ("minutes", "Minutes"),
    ("video-link", "Video"),
    ("video", "Video"),
)
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
        agenda = agenda_of(
            _items(sections, base), notes, parameter(page.final_url, "me")
        )
        return MeetingListing(meetings=(agenda,))
    if table := select(tree, "table.mcm, table.div-table"):
        rows = [
            row
            for one in table
            for row in select(one, "tr")
            if select(row, "td.meeting")
        ]
        return MeetingListing(
            meetings=tuple(_published(row, base, reading) for row in rows)
        )
    rows = [row for row in select(tree, "tr") if select(row, "td.views-field-title")]
    if not rows and not select(tree, ".view-meetings, .view-empty"):
        raise changed(page, _EXPECTED)
    return MeetingListing(
        meetings=tuple(_listed(row, base, reading) for row in rows),
        next_requests=tuple(
            Request(url=link.href)
            for link in links_in(tree, base, ".pager-next a, .pager__item--next a")
        ),
    )


def _published(row: HtmlElement, base: str, reading: Reading) -> Meeting:
    """Return the meeting of a row of PublishPage; its date stands in the title or with
    the hour.
    """
    title, when = words_at(row, "td.meeting"), words_at(row, "td.time, td.date")
    day = (
        day_of_text(words_at(row, "td.date")) or day_of_text(when) or day_of_text(title)
    )
    links = [
        link
        for column, name in _COLUMNS
        for link in _documents(row, f"td.{column}", name, base)
    ]
    return meeting_of(
        Stated(
            vendor_id=_id_of(links),
            title=title,
            start=(
                Moment(
                    day,
                    clock_of_text(words_at(row, "td.time")) or _clock_after_date(when),
                )
                if day
                else None
            ),
            location=location_of(words_at(row, "td.venue")),
            links=links,
        ),
        reading,
    )


def _clock_after_date(text: str) -> time | None:
    moment = moment_of_text(text)
    if not moment:
        return None
    return moment.clock


def _listed(row: HtmlElement, base: str, reading: Reading) -> Meeting:
    """Return the meeting of a row of a client's site."""
    dates = select(row, "[content]")
    title = words_at(row, "td.views-field-title")
    stated = dates[0].get("content") if dates else None
    start = (
        wall_clock(stated)
        if stated
        else moment_of_text(words_at(row, "td[class*=calendar-date], td[class*=date]"))
    )
    links = [
        link
        for field, name in _FIELDS
        for link in _documents(row, f"td.views-field-field-{field}", name, base)
    ]
    pages = links_in(row, base, "td.views-field-view-node a, td.views-field-title a")
    url = pages[0].href if pages else None
    return meeting_of(
        Stated(
            vendor_id=_id_of(links)
            or (url.rstrip("/").rpartition("/")[2] if url else ""),
            title=title,
            body=words_at(row, "td[class*=microsite], td[class*=field-group]") or title,
            start=start,
            location=location_of(words_at(row, "td[class*=location]")),
            url=url,
            links=links,
        ),
        reading,
    )


def _documents(row: HtmlElement, cell: str, title: str, base: str) -> Iterator[Link]:
    for anchor in select(row, f"{cell} a"):
        if href := href_of(anchor, base):
            yield Link(title=title, href=href)


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
        number, title = (
            number_alone(stated) or stated,
            text.removeprefix(stated).strip(),
        )
    following = element.getnext()
    is_list = following is not None and "agenda_item_attachments" in (
        following.get("class", "")
    )
    lists = [
        *select(element, ".agenda_item_attachments"),
        *([following] if is_list and following is not None else []),
    ]
    return AgendaItem(
        sequence=sequence,
        number=number,
        title=title,
        section=section,
        attachments=tuple(
            Attachment(name=link.title, url=link.href)
            for one in lists
            for link in links_in(one, base)
        ),
    )
