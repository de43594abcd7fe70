"""NovusAgenda: `https://{client}.novusagenda.com/agendapublic/`, a Telerik grid whose
columns vary.

Columns are told by their headings, else by what they hold. Dates are `m/d/yy` or
`m/d/yyyy`. The address of an agenda stands in `onclick`; its items link to
`CoverSheet.aspx?ItemID=`, their documents to `AttachmentViewer.ashx`.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from urllib.parse import urljoin

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
from news_assets.sources.civic.reading.agenda_pages import (
    agenda_of,
    notes_beside,
    visible_lines,
)
from news_assets.sources.civic.reading.build import Stated, location_of, meeting_of
from news_assets.sources.civic.reading.ids import listed_key
from news_assets.sources.civic.reading.moments import Moment, clock_of_text, day_of_text
from news_assets.sources.civic.reading.numbering import file_in, number_alone
from news_assets.sources.civic.reading.page_values import (
    changed,
    clean,
    href_of,
    parameter,
    tree_of,
    unique_links,
)
from news_assets.sources.civic.vendor import Reading
from news_assets.sources.html.document import base_of, select, words_of

_EXPECTED = "a page of NovusAgenda"
_ROWS = "tr.rgRow, tr.rgAltRow"
_AGENDA_ITEM = re.compile(r"CoverSheet\.aspx", re.IGNORECASE)
_ATTACHMENT = re.compile(r"AttachmentViewer\.ashx", re.IGNORECASE)
_DOCUMENTS = (
    ("DisplayAgendaPDF", "Agenda (PDF)"),
    ("doctype=minutes", "Minutes"),
    ("doctype=agenda", "Agenda"),
    ("MeetingView", "Agenda"),
    ("Video", "Video"),
)
_MAX_HOUR_CHARS = 20  # of a cell without a heading that holds nothing but the hour


def parse(page: Page, reading: Reading) -> MeetingListing:
    """Return the meetings of the grid, or the items of an agenda.

    Raises:
        ListingChangedError: Not a page of NovusAgenda.
        SourceError: An empty document.
    """
    tree = tree_of(page, _EXPECTED)
    base = base_of(tree, page)
    if _AGENDA_ITEM.search(page.final_url):
        return MeetingListing(meetings=(_cover_sheet(tree, base, page),))
    if items := _items(tree, base):
        notes = notes_beside(tree, _agenda_rows(tree))
        return MeetingListing(
            meetings=(agenda_of(items, notes, parameter(page.final_url, "meetingid")),)
        )
    grids = select(tree, "table.rgMasterTable, table[class*=rgMaster]")
    rows = select(tree, _ROWS)
    if not rows and not grids:
        raise changed(page, _EXPECTED)
    headings = [clean(words_of(cell)).lower() for cell in select(tree, "th.rgHeader")]
    read = [_meeting(row, headings, base, reading) for row in rows]
    found = {listed_key(meeting): meeting for meeting in read if meeting is not None}
    lost = sum(meeting is None for meeting in read)
    return MeetingListing(
        meetings=tuple(found.values()),
        problems=(f"{lost} rows have no date that can be read",) if lost else (),
    )


def _meeting(
    row: HtmlElement, headings: list[str], base: str, reading: Reading
) -> Meeting | None:
    cells = row.findall("td")
    texts = [clean(words_of(cell)) for cell in cells]
    named = (
        dict(zip(headings, texts, strict=False)) if len(headings) == len(cells) else {}
    )
    at = next(
        (
            number
            for number, text in enumerate(texts)
            if len(text) <= 60 and day_of_text(text)
        ),
        None,
    )
    if at is None:
        return None
    links = unique_links(_links(row, base))
    others = [text for number, text in enumerate(texts) if number != at and text]
    title = _named(named, "type", "meeting", "name", "title") or next(iter(others), "")
    clock = clock_of_text(_named(named, "time")) or clock_of_text(texts[at])
    hours = [text for text in others if len(text) <= _MAX_HOUR_CHARS]
    day = day_of_text(texts[at])
    return meeting_of(
        Stated(
            vendor_id=next(
                (
                    value
                    for link in links
                    if (value := parameter(link.href, "meetingid"))
                ),
                "",
            ),
            title=title,
            body=title,
            start=(
                Moment(
                    day, clock or next(filter(None, map(clock_of_text, hours)), None)
                )
                if day
                else None
            ),
            location=location_of(_named(named, "location", "place")),
            links=links,
            status_words=others,
        ),
        reading,
    )


def _named(named: dict[str, str], *words: str) -> str:
    """Return the cell whose heading has one of these words, but not that of the date."""
    return next(
        (
            text
            for word in words
            for name, text in named.items()
            if word in name and "date" not in name and text
        ),
        "",
    )


def _links(row: HtmlElement, base: str) -> Iterator[Link]:
    for anchor in select(row, "a"):
        if href := href_of(anchor, base):
            described = clean(words_of(anchor)) or next(
                (clean(image.get("alt") or "") for image in anchor.iter("img")), ""
            )
            by_address = next(
                (title for mark, title in _DOCUMENTS if mark.lower() in href.lower()),
                "",
            )
            yield Link(title=described or by_address or "Document", href=href)


# --- an agenda ------------------------------------------------------------------------


def _items(tree: HtmlElement, base: str) -> list[AgendaItem]:
    """Return the items, which link to a cover sheet, with the attachments that follow
    each.
    """
    items: list[AgendaItem] = []
    section = ""
    for element in tree.iter("tr", "a"):
        if element.tag == "tr":
            section = _heading(element) or section
            continue
        href, title = href_of(element, base), clean(words_of(element))
        if href and title and _AGENDA_ITEM.search(href):
            items.append(
                AgendaItem(
                    sequence=len(items) + 1,
                    vendor_id=parameter(href, "itemid"),
                    number=_number_before(element),
                    title=title,
                    section=section,
                    details_urls=(href,),
                )
            )
        elif href and items and _ATTACHMENT.search(href):
            files = (*items[-1].attachments, Attachment(name=title, url=href))
            items[-1] = replace(items[-1], attachments=files)
    return items


def _heading(row: HtmlElement) -> str:
    """Return the text of a row that is a heading: in bold, without a link."""
    if row.find(".//tr") is not None or row.find(".//a") is not None:
        return ""
    text = clean(words_of(row))
    marked = " ".join(
        clean(words_of(element)) for element in row.iter("b", "strong", "h2", "h3")
    )
    return marked if marked and text.endswith(marked) else ""


def _number_before(anchor: HtmlElement) -> str:
    cell = next(anchor.iterancestors("td"), None)
    before = cell.getprevious() if cell is not None else None
    return number_alone(clean(words_of(before))) if before is not None else ""


def _agenda_rows(tree: HtmlElement) -> list[HtmlElement]:
    """Return the smallest elements that hold the agenda: the rows or blocks with its
    items.
    """
    anchors = (
        anchor
        for anchor in tree.iter("a")
        if _AGENDA_ITEM.search(anchor.get("href") or "")
    )
    blocks = (next(anchor.iterancestors("tr", "li", "p"), anchor) for anchor in anchors)
    return list(dict.fromkeys(blocks))


# --- the cover sheet of an item -------------------------------------------------------


def _cover_sheet(tree: HtmlElement, base: str, page: Page) -> Meeting:
    """Return what a cover sheet adds to its item: the number of the file, and the
    attachments.
    """
    links = (
        (clean(words_of(anchor)), href_of(anchor, base)) for anchor in tree.iter("a")
    )
    files = [
        Attachment(name=name, url=href)
        for name, href in links
        if href and _ATTACHMENT.search(href)
    ]
    item = AgendaItem(
        sequence=0,
        title="",
        vendor_id=parameter(page.final_url, "itemid"),
        matter_file=next(
            (file for text in visible_lines(tree) if (file := file_in(text))), None
        ),
        attachments=tuple(files),
        details_urls=(page.url,),
    )
    return Meeting(
        vendor_id=parameter(page.final_url, "meetingid"), items=(item,), is_partial=True
    )


# --- requests -------------------------------------------------------------------------


def upcoming(url: str, today: date) -> tuple[Request, ...]:
    """Return the request for the listing, which holds the next meetings and the last
    ones.
    """
    return (Request(url=urljoin(url, "/agendapublic/")),)


def days(url: str, first: date, last: date) -> tuple[Request, ...]:
    """Return the requests for the listing, and for six months, the longest span the
    page offers without a form.
    """
    archive = urljoin(url, "/agendapublic/meetingsgeneral.aspx?MeetingType=1&Date=6ms")
    return (*upcoming(url, first), Request(url=archive))


def items(url: str, meeting: Meeting) -> tuple[Request, ...]:
    """Return the request for a meeting's agenda."""
    pages = [link.href for link in meeting.links if "meetingview" in link.href.lower()]
    return (Request(url=pages[0]),) if pages else ()
