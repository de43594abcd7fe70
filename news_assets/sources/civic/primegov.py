"""PrimeGov: `https://{client}.primegov.com/api/v2/PublicPortal/…`, a JSON list of meetings; agendas are pages.

`dateTime` is local without a zone; an older form of the API has `date` and `time` as texts, and addresses documents by
their own id instead of the template's. `meetingState` says nothing of cancellation: the words of the title and of the
documents do. Titles that end in " - SAP" are Spanish copies of another meeting.
"""

from datetime import date
from urllib.parse import urljoin

from lxml.html import HtmlElement

from news_assets.records.meetings import AgendaItem, Attachment, Link, Meeting, MeetingListing, Request
from news_assets.records.reading import Page
from news_assets.sources.civic.reading.build import Stated, meeting_of
from news_assets.sources.civic.reading.moments import Moment, clock_of_text, day_of_text, wall_clock
from news_assets.sources.civic.reading.pages import (
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
_ITEMS = "div.meeting-item[data-itemid], table[data-itemid], div.agenda-item"


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
    return MeetingListing(meetings=tuple(kept), problems=(f"{copies} Spanish copies left out",) if copies else ())


def _meeting(row: Object, page: Page, reading: Reading) -> Meeting:
    is_older = "dateTime" not in row
    day = day_of_text(text_at(row, "date"))
    start = (
        (Moment(day, clock_of_text(text_at(row, "time"))) if day else None)
        if is_older
        else wall_clock(text_at(row, "dateTime"))
    )
    documents = [_document(one, page, is_older=is_older) for one in objects(row.get("documentList"))]
    video = text_at(row, "videoUrl")
    video_url = web_url(video, page.final_url) if video else None
    zoom = web_url(text_at(row, "zoomMeetingLink"), page.final_url) if text_at(row, "zoomMeetingLink") else None
    return meeting_of(
        Stated(
            vendor_id=text_at(row, "id"),
            agenda_id=_agenda_id(row, is_older=is_older),
            title=text_at(row, "title"),
            body=text_at(row, "committeeName"),
            start=start,
            links=unique_links(
                (
                    *documents,
                    Link(title="Video", href=video_url) if video_url else None,
                    Link(title="Zoom", href=zoom) if zoom else None,
                )
            ),
        ),
        reading,
    )


def _agenda_id(row: Object, *, is_older: bool) -> str:
    """Return by what the page of a meeting's agenda is asked for."""
    pages = [one for one in objects(row.get("documentList")) if text_at(one, "compileOutputType") == _HTML_OUTPUT]
    return text_at(pages[0], "id" if is_older else "templateId") if pages else ""


def _document(row: Object, page: Page, *, is_older: bool) -> Link | None:
    """Return the durable address of a document: by its template, which outlives the compiled file."""
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
        path = f"/Public/CompiledDocument?meetingTemplateId={template}&compileOutputType=1"
    url = web_url(path, page.final_url)
    return Link(title=text_at(row, "templateName"), href=url) if url else None


# --- the page of an agenda -------------------------------------------------------------------------------------------


def _agenda(page: Page) -> MeetingListing:
    tree = tree_of(page, _EXPECTED)
    base = base_of(tree, page)
    found = [element for element in select(tree, _ITEMS) if not select(element, _ITEMS)]
    if not found:
        raise changed(page, _EXPECTED)
    items = tuple(_item(element, number, base) for number, element in enumerate(found, start=1))
    agenda = parameter(page.final_url, "meetingtemplateid", "compiledmeetingdocumentfileid")
    partial = Meeting(vendor_id=f"agenda-{agenda}", agenda_id=agenda, items=items, is_partial=True)
    return MeetingListing(meetings=(partial,))


def _item(element: HtmlElement, sequence: int, base: str) -> AgendaItem:
    title = words_at(element, ".item-title, .agenda-item-title, .title") or clean(words_of(element))
    return AgendaItem(
        sequence=sequence,
        vendor_id=element.get("data-itemid") or element.get("id") or "",
        number=words_at(element, ".number, .item-number, .agenda-item-number").rstrip("."),
        title=title,
        matter_id=element.get("data-mig"),
        attachments=tuple(
            Attachment(name=link.title, url=link.href)
            for link in links_in(element, base)
            if "attachment" in link.href.lower() or ".pdf" in link.href.lower() or "document" in link.href.lower()
        ),
    )


# --- requests --------------------------------------------------------------------------------------------------------

_API = "/api/v2/PublicPortal/"


def upcoming(url: str, today: date) -> tuple[Request, ...]:
    """Return the request for what is to come."""
    return (Request(url=urljoin(url, f"{_API}ListUpcomingMeetings")),)


def days(url: str, first: date, last: date) -> tuple[Request, ...]:
    """Return the requests for the archives of these years, and for what is to come, which no archive holds."""
    years = range(first.year, last.year + 1)
    archives = (Request(url=urljoin(url, f"{_API}ListArchivedMeetings?year={year}")) for year in years)
    return (*archives, *upcoming(url, first))


def items(url: str, meeting: Meeting) -> tuple[Request, ...]:
    """Return the request for the agenda page, if the meeting has one."""
    pages = [link.href for link in meeting.links if "/Portal/Meeting" in link.href]
    return (Request(url=pages[0]),) if pages else ()
