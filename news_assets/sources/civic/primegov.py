"""PrimeGov: `https://{client}.primegov.com/api/v2/PublicPortal/…`, a JSON list of
meetings; agendas are pages.

`dateTime` is local without a zone; an older form of the API has `date` and `time` as
texts, and addresses documents by their own id instead of the template's. `meetingState`
says nothing of cancellation: the words of the title and of the documents do. Titles
that end in " - SAP" are Spanish copies of another meeting.
"""

import re
from collections.abc import Collection, Mapping, Sequence
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
from news_assets.sources.civic.reading.agenda_pages import agenda_of, notes_beside
from news_assets.sources.civic.reading.build import Stated, location_of, meeting_of
from news_assets.sources.civic.reading.moments import (
    Moment,
    clock_of_text,
    day_of_text,
    wall_clock,
)
from news_assets.sources.civic.reading.numbering import (
    file_in,
    number_alone,
    split_number,
)
from news_assets.sources.civic.reading.page_values import (
    Object,
    changed,
    clean,
    is_json,
    json_of,
    links_in,
    objects,
    parameter,
    text_at,
    tree_of,
    unique_links,
    words_at,
)
from news_assets.sources.civic.vendor import Reading
from news_assets.sources.html.document import base_of, select, words_of
from news_assets.text.urls import web_url

_EXPECTED = "an answer of PrimeGov"
_HTML_OUTPUT = "3"  # compileOutputType; 1 is a PDF
_COPY = " - SAP"
_MAX_TYPE_CHARS = 60
_ITEMS = "div.meeting-item[data-itemid], table[data-itemid], div.agenda-item"
_NUMBERS = ".number-cell, .number, .item-number, .agenda-item-number"
_ITEM_ID = re.compile(r"(?:AgendaItem_|agenda_item_)(\w{1,40})", re.IGNORECASE)
_ATTACHMENT = re.compile(r"attachment|\.pdf|document", re.IGNORECASE)
_BODY = re.compile(r"\s[-–—|]\s|\(")  # what follows the body in a title


def parse(page: Page, reading: Reading) -> MeetingListing:
    """Return the meetings of a list, or the items of an agenda page.

    Raises:
        ListingChangedError: Neither of them.
        SourceError: An empty document, or broken JSON.
    """
    if not is_json(page):
        return _agenda(page)
    rows = json_of(page, _EXPECTED)
    if not isinstance(rows, list) or (rows and not objects(rows)):
        raise changed(page, _EXPECTED)
    meetings = [_meeting(row, page, reading) for row in objects(rows) if "id" in row]
    if rows and not meetings:
        raise changed(page, _EXPECTED)
    kept = [meeting for meeting in meetings if not meeting.title.endswith(_COPY)]
    copies = len(meetings) - len(kept)
    return MeetingListing(
        meetings=tuple(kept),
        problems=(f"{copies} Spanish copies left out",) if copies else (),
    )


def _meeting(row: Object, page: Page, reading: Reading) -> Meeting:
    is_older = "dateTime" not in row
    day = day_of_text(text_at(row, "date"))
    start = (
        (Moment(day, clock_of_text(text_at(row, "time"))) if day else None)
        if is_older
        else wall_clock(text_at(row, "dateTime"))
    )
    documents = [
        _document(one, page, is_older=is_older)
        for one in objects(row.get("documentList"))
    ]
    video = text_at(row, "videoUrl")
    video_url = web_url(video, page.final_url) if video else None
    zoom = (
        web_url(text_at(row, "zoomMeetingLink"), page.final_url)
        if text_at(row, "zoomMeetingLink")
        else None
    )
    return meeting_of(
        Stated(
            vendor_id=text_at(row, "id"),
            agenda_id=_agenda_id(row, is_older=is_older),
            title=text_at(row, "title"),
            body=text_at(row, "committeeName", "committeeTitle")
            or _body_of(text_at(row, "title")),
            start=start,
            links=unique_links(
                (
                    *documents,
                    Link(title="Video", href=video_url) if video_url else None,
                    Link(title="Zoom", href=zoom) if zoom else None,
                )
            ),
            location=location_of(text_at(row, "location", "meetingLocation")),
        ),
        reading,
    )


def _body_of(title: str) -> str:
    """Return the body that a title begins with: "City Council - Special Meeting"."""
    return _BODY.split(title)[0].strip()


def _agenda_id(row: Object, *, is_older: bool) -> str:
    """Return by what the page of a meeting's agenda is asked for."""
    pages = [
        one
        for one in objects(row.get("documentList"))
        if text_at(one, "compileOutputType") == _HTML_OUTPUT
    ]
    return text_at(pages[0], "id" if is_older else "templateId") if pages else ""


def _document(row: Object, page: Page, *, is_older: bool) -> Link | None:
    """Return the durable address of a document: by its template, which outlives the
    compiled file.
    """
    own, template = text_at(row, "id"), text_at(row, "templateId")
    is_page = text_at(row, "compileOutputType") == _HTML_OUTPUT
    if stated := text_at(row, "link"):
        path = stated
    elif is_page:
        path = (
            f"/Portal/Meeting?compiledMeetingDocumentFileId={own}"
            if is_older
            else f"/Portal/Meeting?meetingTemplateId={template}"
        )
    elif is_older:
        path = f"/Public/CompiledDocument/{own}"
    else:
        path = (
            f"/Public/CompiledDocument?meetingTemplateId={template}&compileOutputType=1"
        )
    url = web_url(path, page.final_url)
    return Link(title=text_at(row, "templateName"), href=url) if url else None


# --- the page of an agenda ------------------------------------------------------------


def _agenda(page: Page) -> MeetingListing:
    tree = tree_of(page, _EXPECTED)
    base = base_of(tree, page)
    matching = select(tree, _ITEMS)
    found = [
        element
        for element in matching
        if not any(above in matching for above in element.iterancestors())
    ]
    if not found:
        raise changed(page, _EXPECTED)
    areas = {
        area.get("id", "").lower(): area
        for area in select(tree, "[id^=agenda_item_area_]")
    }
    items = [
        _item(element, number, areas, base)
        for number, element in enumerate(found, start=1)
    ]
    agenda = parameter(
        page.final_url, "meetingtemplateid", "compiledmeetingdocumentfileid"
    )
    notes = notes_beside(tree, [*found, *areas.values()])
    return MeetingListing(meetings=(agenda_of(items, notes, agenda_id=agenda),))


def _item(
    element: HtmlElement, sequence: int, areas: Mapping[str, HtmlElement], base: str
) -> AgendaItem:
    """Return one item; its attachments stand in an area of their own, within the
    element or behind it.
    """
    own_id = _id_of(element)
    area = areas.get(f"agenda_item_area_{own_id}".lower())
    holders = [element] if area is None else [element, area]
    links = unique_links(link for holder in holders for link in links_in(holder, base))
    files = [link for link in links if _ATTACHMENT.search(link.href)]
    cells = _cells(element, {link.title for link in files})
    number = words_at(element, _NUMBERS).strip("(). ") or number_alone(
        next(iter(cells), "")
    )
    stated = [cell for cell in cells if cell.strip("(). ") != number]
    file = next((found for cell in stated if (found := file_in(cell))), None)
    kind, title = _kind_and_title(
        [cell for cell in stated if not file or file_in(cell) != file]
    )
    title = words_at(element, ".item-title, .agenda-item-title, .title") or title
    if not number:
        number, title = split_number(title)
    return AgendaItem(
        sequence=sequence,
        vendor_id=own_id,
        number=number,
        title=title,
        matter_file=file,
        matter_id=element.get("data-mig") or None,
        matter_type=kind if file else None,
        attachments=tuple(Attachment(name=link.title, url=link.href) for link in files),
    )


def _id_of(element: HtmlElement) -> str:
    if stated := element.get("data-itemid"):
        return stated
    match = _ITEM_ID.search(element.get("id") or "")
    return match[1] if match else element.get("id") or ""


def _cells(element: HtmlElement, names: Collection[str]) -> list[str]:
    """Return the texts of an item, a cell each, without the names of its attachments."""
    leaves = [cell for cell in select(element, "td") if not select(cell, "td, table")]
    texts = [clean(words_of(cell)) for cell in leaves or [element]]
    return [text for text in texts if text and text not in names]


def _kind_and_title(cells: Sequence[str]) -> tuple[str | None, str]:
    """Return the kind of matter, a short cell before others, and the title, the longest
    of these.
    """
    if len(cells) > 1 and len(cells[0]) <= _MAX_TYPE_CHARS:
        return cells[0], max(cells[1:], key=len)
    return None, max(cells, key=len, default="")


# --- requests -------------------------------------------------------------------------

_API = "/api/v2/PublicPortal/"


def upcoming(url: str, today: date) -> tuple[Request, ...]:
    """Return the request for what is to come."""
    return (Request(url=urljoin(url, f"{_API}ListUpcomingMeetings")),)


def days(url: str, first: date, last: date) -> tuple[Request, ...]:
    """Return the requests for the archives of these years, and for what is to come,
    which no archive holds.
    """
    years = range(first.year, last.year + 1)
    archives = (
        Request(url=urljoin(url, f"{_API}ListArchivedMeetings?year={year}"))
        for year in years
    )
    return (*archives, *upcoming(url, first))


def items(url: str, meeting: Meeting) -> tuple[Request, ...]:
    """Return the request for the agenda page, if the meeting has one."""
    pages = [
        link.href for link in meeting.links if "/portal/meeting" in link.href.lower()
    ]
    return (Request(url=pages[0]),) if pages else ()
