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
    Link,
    Meeting,
    MeetingListing,
    Request,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.agenda_pages import agenda_of, notes_beside
from news_assets.sources.civic.moments import (
    moment_of_texts,
    wall_clock,
)
from news_assets.sources.civic.numbering import (
    file_in,
    first_file,
    number_alone,
    split_number,
)
from news_assets.sources.civic.page_values import (
    Object,
    Requests,
    attachments_of,
    is_json,
    json_of,
    links_in,
    listing_changed,
    objects,
    optional_link,
    parameter,
    requests_to,
    text_at,
    text_of,
    tree_of,
    unique_links,
    url_at,
    words_at,
)
from news_assets.sources.civic.vendor_meetings import (
    ParseContext,
    location_of,
    meeting_of,
)
from news_assets.sources.html_document import base_of, select
from news_assets.sources.storable_entries import or_none, problem_if
from news_assets.text.urls import web_url

_EXPECTED = "an answer of PrimeGov"
_HTML_OUTPUT = "3"  # compileOutputType; 1 is a PDF
_COPY = " - SAP"
_MAX_TYPE_CHARS = 60
_ITEMS = "div.meeting-item[data-itemid], table[data-itemid], div.agenda-item"
_NUMBERS = ".number-cell, .number, .item-number, .agenda-item-number"
_ITEM_TITLES = ".item-title, .agenda-item-title, .title"
_ITEM_ID = re.compile(r"(?:AgendaItem_|agenda_item_)(\w{1,40})", re.IGNORECASE)
_ATTACHMENT = re.compile(r"attachment|\.pdf|document", re.IGNORECASE)
_BODY = re.compile(r"\s[-–—|]\s|\(")  # what follows the body in a title


def parse(page: Page, context: ParseContext) -> MeetingListing:
    """Return the meetings of a list, or the items of an agenda page.

    Raises:
        ListingChangedError: Neither of them.
        SourceError: An empty document, or broken JSON.
    """
    if not is_json(page):
        return _agenda(page)
    rows = json_of(page, _EXPECTED)
    if not isinstance(rows, list):
        raise listing_changed(page, _EXPECTED)
    meetings: list[Meeting] = []
    for row in objects(rows):
        if "id" in row:
            meetings.append(_meeting(row, page, context))
    if rows and not meetings:
        raise listing_changed(page, _EXPECTED)
    return _without_copies(meetings)


def _without_copies(meetings: Sequence[Meeting]) -> MeetingListing:
    kept = [meeting for meeting in meetings if not meeting.title.endswith(_COPY)]
    copies = len(meetings) - len(kept)
    problems = problem_if(copies, f"{copies} Spanish copies left out")
    return MeetingListing(meetings=tuple(kept), problems=problems)


def _meeting(row: Object, page: Page, context: ParseContext) -> Meeting:
    if "dateTime" in row:
        start = wall_clock(text_at(row, "dateTime"))
    else:
        start = moment_of_texts(text_at(row, "date"), text_at(row, "time"))
    title = text_at(row, "title")
    body = text_at(row, "committeeName", "committeeTitle")
    return meeting_of(
        Meeting(
            vendor_id=text_at(row, "id"),
            agenda_id=_agenda_id(row),
            title=title,
            body=body or _body_of(title),
            links=_links(row, page),
            location=location_of(text_at(row, "location", "meetingLocation")),
        ),
        context,
        start=start,
    )


def _is_older(row: Object) -> bool:
    """Whether a meeting is of the portal's older kind, with ids of its own."""
    return "dateTime" not in row


def _body_of(title: str) -> str:
    """Return the body that a title begins with: "City Council - Special Meeting"."""
    return _BODY.split(title)[0].strip()


def _agenda_id(row: Object) -> str:
    """Return the id that a meeting's agenda page is requested by."""
    for document in objects(row.get("documentList")):
        if _is_page(document):
            return text_at(document, "id" if _is_older(row) else "templateId")
    return ""


def _is_page(document: Object) -> bool:
    return text_at(document, "compileOutputType") == _HTML_OUTPUT


def _links(row: Object, page: Page) -> tuple[Link, ...]:
    is_older = _is_older(row)
    links: list[Link | None] = []
    for one in objects(row.get("documentList")):
        links.append(_document(one, page, is_older=is_older))
    video = url_at(row, page, "videoUrl")
    zoom = url_at(row, page, "zoomMeetingLink")
    links += [optional_link("Video", video), optional_link("Zoom", zoom)]
    return unique_links(links)


def _document(row: Object, page: Page, *, is_older: bool) -> Link | None:
    """Return the durable address of a document: by its template, which outlives the
    compiled file.
    """
    path = text_at(row, "link") or _path_of(row, is_older=is_older)
    url = web_url(path, page.final_url)
    return optional_link(text_at(row, "templateName"), url)


def _path_of(row: Object, *, is_older: bool) -> str:
    own = text_at(row, "id")
    template = text_at(row, "templateId")
    match _is_page(row), is_older:
        case True, True:
            return f"/Portal/Meeting?compiledMeetingDocumentFileId={own}"
        case True, False:
            return f"/Portal/Meeting?meetingTemplateId={template}"
        case False, True:
            return f"/Public/CompiledDocument/{own}"
    return f"/Public/CompiledDocument?meetingTemplateId={template}&compileOutputType=1"


# --- the page of an agenda ------------------------------------------------------------


def _areas(tree: HtmlElement) -> dict[str, HtmlElement]:
    """Return the areas of attachments by their ids in lower case."""
    areas: dict[str, HtmlElement] = {}
    for area in select(tree, "[id^=agenda_item_area_]"):
        areas[area.get("id", "").lower()] = area
    return areas


def _agenda(page: Page) -> MeetingListing:
    tree = tree_of(page, _EXPECTED)
    base = base_of(tree, page)
    found = _outermost(select(tree, _ITEMS))
    if not found:
        raise listing_changed(page, _EXPECTED)
    areas = _areas(tree)
    items: list[AgendaItem] = []
    for number, element in enumerate(found, start=1):
        items.append(_item(element, number, areas, base))
    agenda = parameter(
        page.final_url, "meetingtemplateid", "compiledmeetingdocumentfileid"
    )
    notes = notes_beside(tree, [*found, *areas.values()])
    return MeetingListing(meetings=(agenda_of(items, notes, agenda_id=agenda),))


def _outermost(elements: Sequence[HtmlElement]) -> list[HtmlElement]:
    """Return the elements that are within none of the others."""
    every = set(elements)
    return [one for one in elements if every.isdisjoint(one.iterancestors())]


def _item(
    element: HtmlElement, sequence: int, areas: Mapping[str, HtmlElement], base: str
) -> AgendaItem:
    """Return one item; its attachments stand in an area of their own, within the
    element or after it.
    """
    own_id = _id_of(element)
    files = _files(element, areas.get(f"agenda_item_area_{own_id}".lower()), base)
    cells = _cells(element, {link.title for link in files})
    number = words_at(element, _NUMBERS).strip("(). ")
    if not number and cells:
        number = number_alone(cells[0])
    texts = [cell for cell in cells if cell.strip("(). ") != number]
    file, kind, title = _matter_in(texts)
    title = words_at(element, _ITEM_TITLES) or title
    if not number:
        number, title = split_number(title)
    return AgendaItem(
        sequence=sequence,
        vendor_id=own_id,
        number=number,
        title=title,
        matter_file=file,
        matter_id=or_none(element.get("data-mig", "")),
        matter_type=kind,
        attachments=attachments_of(files),
    )


def _matter_in(texts: Sequence[str]) -> tuple[str | None, str | None, str]:
    """Return the number and kind of a matter, and the title; no kind without a number."""
    file = first_file(texts)
    if file is None:
        return None, None, _kind_and_title(texts)[1]
    others = [text for text in texts if file_in(text) != file]
    return file, *_kind_and_title(others)


def _files(
    element: HtmlElement, area: HtmlElement | None, base: str
) -> tuple[Link, ...]:
    links = links_in(element, base)
    if area is not None:
        links = unique_links((*links, *links_in(area, base)))
    return tuple(link for link in links if _ATTACHMENT.search(link.href))


def _id_of(element: HtmlElement) -> str:
    if stated := element.get("data-itemid"):
        return stated
    match = _ITEM_ID.search(element.get("id", ""))
    if match:
        return match[1]
    return element.get("id", "")


def _cells(element: HtmlElement, names: Collection[str]) -> list[str]:
    """Return the texts of an item, a cell each, without the names of its attachments."""
    leaves = [cell for cell in select(element, "td") if not select(cell, "td, table")]
    texts: list[str] = []
    for cell in leaves or [element]:
        text = text_of(cell)
        if text and text not in names:
            texts.append(text)
    return texts


def _kind_and_title(cells: Sequence[str]) -> tuple[str | None, str]:
    """Return the kind of matter, a short cell before others, and the title, the longest
    of these.
    """
    if len(cells) > 1 and len(cells[0]) <= _MAX_TYPE_CHARS:
        kind, *others = cells
        return kind, max(others, key=len)
    title = max(cells, key=len, default="")
    return None, title


# --- requests -------------------------------------------------------------------------

_API = "/api/v2/PublicPortal/"


def upcoming(url: str, today: date) -> Requests:
    """Return the request for what is to come."""
    return requests_to(urljoin(url, f"{_API}ListUpcomingMeetings"))


def days(url: str, first: date, last: date) -> Requests:
    """Return the requests for the archives of these years, and for what is to come,
    which no archive holds.
    """
    years = range(first.year, last.year + 1)
    archives = (
        Request(url=urljoin(url, f"{_API}ListArchivedMeetings?year={year}"))
        for year in years
    )
    return (*archives, *upcoming(url, first))


def items(url: str, meeting: Meeting) -> Requests:
    """Return the request for the agenda page, if the meeting has one."""
    for link in meeting.links:
        if "/portal/meeting" in link.href.lower():
            return requests_to(link.href)
    return ()
