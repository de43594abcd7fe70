"""CivicWeb (iCompass, now Diligent Community): `/Services/MeetingsService.svc/meetings`
of a client.

Clients are `{client}.civicweb.net`, `{client}.community.highbond.com` and
`{client}.community.diligentoneplatform.com`. The answer for a span of days is a JSON
list without pages; without the span it is empty. `MeetingDateTime` is local, and
midnight means that no hour is set. `Published` says that an agenda is: then
`meetings/{id}/meetingDocuments` has it as HTML that Word made, with the documents of
each item. `DocumentType` says what a document is, also of drafts and closed sessions,
which are omitted. A cancelled meeting says so in its name, or at the head of its
agenda. A recording is shown on the meeting's page.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date, time
from typing import Final
from urllib.parse import quote, urljoin

from lxml.html import HtmlElement

from news_assets.records.meetings import (
    Attachment,
    Link,
    Meeting,
    MeetingListing,
    Request,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.agenda_pages import (
    Line,
    Lines,
    agenda_of,
    is_cancelled_at_top,
    is_leaf,
    items_of,
    notes_beside,
    texts_of_row,
)
from news_assets.sources.civic.moments import Moment, day_of_text, wall_clock
from news_assets.sources.civic.page_values import (
    Object,
    Requests,
    href_of,
    json_of,
    listing_changed,
    objects,
    optional_link,
    origin_of,
    text_at,
    text_of,
    tree_of,
    unique_links,
)
from news_assets.sources.civic.vendor_meetings import (
    ParseContext,
    location_of,
    meeting_of,
)
from news_assets.sources.html_document import base_of

_EXPECTED = "an answer of CivicWeb"
_SERVICE = "/Services/MeetingsService.svc/meetings"
_OF_MEETING = re.compile(r"/meetings/(\d{1,12})/meetingdocuments", re.IGNORECASE)
# the name of an anchor before a line's table
_MARK = re.compile(r"Agenda(?P<kind>Heading|Item)(?P<id>\d{1,12})")
_DOCUMENT = re.compile(r"/document/", re.IGNORECASE)
_FORMAT = re.compile(r"\s{0,3}-\s{0,3}(?:pdf|docx?|xlsx?|pptx?|html?)\Z", re.IGNORECASE)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DATE = re.compile(
    rf"\s{{0,3}}[-–—]?\s{{1,3}}(?:\d{{1,2}}\s{_MONTH}|{_MONTH}\s\d{{1,2}},?)\s\d{{4}}\b",
    re.IGNORECASE,
)
_ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_STARRED = re.compile(r"\*{2,3}[^*]{1,60}\*{2,3}")
_DATES: Final = ("MeetingDate", "MeetingDateTime")
_AGENDA_PAGE: Final = "1"
_TITLES: Final = {
    "1": "Agenda (HTML)",
    "4": "Agenda",
    "2": "Minutes",
    "9": "Minutes",
    "10": "Minutes",
    "53": "Minutes",
}
_PDF: Final = ("4", "10", "53")


def parse(page: Page, context: ParseContext) -> MeetingListing:
    """Return the meetings of a span of days, or the documents and items of one meeting.

    Raises:
        ListingChangedError: Neither of them.
        SourceError: An empty document, or broken JSON.
    """
    answer = json_of(page, _EXPECTED)
    match = _OF_MEETING.search(page.final_url[:2000])
    documents = answer.get("Documents") if isinstance(answer, dict) else answer
    if match is not None and isinstance(documents, list):
        meeting = _documents(match[1], objects(documents), page, context)
        return MeetingListing(meetings=(meeting,))
    if not isinstance(answer, list):
        raise listing_changed(page, _EXPECTED)
    rows = [row for row in objects(answer) if not row.keys().isdisjoint(_DATES)]
    if answer and not rows:
        raise listing_changed(page, _EXPECTED)
    meetings = [_meeting(row, page, context) for row in rows]
    return MeetingListing(meetings=tuple(meetings))


def _meeting(row: Object, page: Page, context: ParseContext) -> Meeting:
    own_id = text_at(row, "Id")
    name = text_at(row, "Name")
    title = _STARRED.sub("", _DATE.sub("", name)).strip(" -–—*") or name
    url = None
    if own_id:
        path = f"/Portal/MeetingInformation.aspx?Id={quote(own_id)}"
        url = origin_of(page.final_url) + path
    video = optional_link("Video", url) if row.get("VideoIcon") else None
    is_published = row.get("Published") is not False
    return meeting_of(
        Meeting(
            vendor_id=own_id,
            agenda_id=own_id if is_published else "",
            title=title,
            body=text_at(row, "MeetingTypeName") or title,
            location=location_of(text_at(row, "MeetingLocation", "Location")),
            url=url,
            links=unique_links([video]),
        ),
        context,
        start=_start(row),
        status_words=[name],
    )


def _start(row: Object) -> Moment | None:
    moment = wall_clock(text_at(row, "MeetingDateTime", "MeetingDate"))
    if moment is None:
        return None
    if moment.clock == time():
        return replace(moment, clock=None)
    return moment


# --- the documents of one meeting -----------------------------------------------------


def _documents(
    own_id: str, documents: Sequence[Object], page: Page, context: ParseContext
) -> Meeting:
    published = [one for one in documents if not _is_withheld(one, context)]
    markup = _agenda_page(published)
    meeting = (
        _agenda(own_id, markup, page, context)
        if markup
        else Meeting(vendor_id=own_id, is_partial=True)
    )
    links = unique_links(_links(published, page))
    return replace(
        meeting,
        links=links,
        agenda_url=_first(links, "Agenda"),
        minutes_url=_first(links, "Minutes"),
    )


def _agenda_page(documents: Iterable[Object]) -> str:
    """Return the HTML of the agenda; empty without one."""
    for one in documents:
        if text_at(one, "DocumentType") != _AGENDA_PAGE:
            continue
        markup = one.get("Html")
        if markup:
            return str(markup)
    return ""


def _is_withheld(document: Object, context: ParseContext) -> bool:
    """Whether a document is to be published on a day to come."""
    text = text_at(document, "PublicReleaseDelayDateString")
    today = context.now.date()
    if _ISO_DAY.match(text):  # also 2999-01-01, which is no day of a meeting
        return text[:10] > today.isoformat()
    day = day_of_text(text)
    if day is None:
        return False
    return day > today


def _links(documents: Iterable[Object], page: Page) -> Iterator[Link]:
    """Yield the links to agendas and minutes, PDF before HTML."""
    ordered = sorted(
        documents, key=lambda one: text_at(one, "DocumentType") not in _PDF
    )
    for document in ordered:
        kind = text_at(document, "DocumentType")
        own_id = text_at(document, "Id")
        title = _TITLES.get(kind)
        if title is None:
            continue
        if not own_id:
            continue
        file = ""
        if kind in _PDF:
            file = f"/{quote(text_at(document, 'Name') or 'document', safe=' ')}.pdf"
        href = f"/document/{quote(own_id)}{file}".replace(" ", "%20")
        yield Link(title=title, href=urljoin(page.final_url, href))


def _first(links: Iterable[Link], title: str) -> str | None:
    for link in links:
        if link.title == title:
            return link.href
    return None


def _agenda(own_id: str, markup: str, page: Page, context: ParseContext) -> Meeting:
    agenda = replace(
        page,
        body=markup.encode("utf-8", "replace"),
        encoding="utf-8",
        content_type="text/html",
    )
    tree = tree_of(agenda, _EXPECTED)
    base = base_of(tree, page)
    lines = _marked_lines(tree, base) or _numbered_lines(tree, base)
    notes = notes_beside(tree, [line.row for line in lines])
    meeting = agenda_of(items_of(lines), notes, own_id)
    if is_cancelled_at_top(notes, context.now):
        return replace(meeting, status="cancelled")
    return meeting


def _marked_lines(tree: HtmlElement, base: str) -> list[Line]:
    """Return the lines before whose tables an anchor stands that names a heading or an
    item.
    """
    lines = Lines()
    mark: re.Match[str] | None = None
    for element in tree.iter("a", "tr"):
        if element.tag == "a":
            mark = _MARK.fullmatch(element.get("name", "")) or mark
            lines.add_file(_file(element, base))
        elif mark is not None and is_leaf(element):
            lines.add(_line(element, mark))
            mark = None
    return lines.with_files()


def _line(row: HtmlElement, mark: re.Match[str]) -> Line:
    is_heading = mark["kind"] == "Heading"
    number, texts = texts_of_row(row, _files_in(row))
    own_id = f"heading-{mark['id']}" if is_heading else mark["id"]
    return Line(
        row=row, own_id=own_id, number=number, texts=texts, is_heading=is_heading
    )


def _numbered_lines(tree: HtmlElement, base: str) -> list[Line]:
    """Return the rows that begin with a number, for a template without anchors."""
    lines = Lines()
    for element in tree.iter("a", "tr"):
        if element.tag == "a":
            lines.add_file(_file(element, base))
        elif is_leaf(element):
            number, texts = texts_of_row(element, _files_in(element))
            if number and texts:
                lines.add(Line(row=element, own_id="", number=number, texts=texts))
    return lines.with_files()


def _files_in(row: HtmlElement) -> list[HtmlElement]:
    files = []
    for anchor in row.iter("a"):
        href = anchor.get("href", "")
        if _DOCUMENT.search(href[:2000]):
            files.append(anchor)
    return files


def _file(anchor: HtmlElement, base: str) -> Attachment | None:
    href = href_of(anchor, base)
    if href is None:
        return None
    if not _DOCUMENT.search(href[:2000]):
        return None
    return Attachment(name=_FORMAT.sub("", text_of(anchor)), url=href)


# --- requests -------------------------------------------------------------------------


def days(url: str, first: date, last: date) -> Requests:
    """Return the request for the meetings of these days."""
    return (
        _json(
            urljoin(
                url,
                f"{_SERVICE}?from={first:%Y-%m-%d}&to={last:%Y-%m-%d}&loadall=false",
            )
        ),
    )


def items(url: str, meeting: Meeting) -> Requests:
    """Return the request for a meeting's documents, if any are published."""
    if not meeting.agenda_id:
        return ()
    return (
        _json(urljoin(url, f"{_SERVICE}/{quote(meeting.agenda_id)}/meetingDocuments")),
    )


def _json(url: str) -> Request:
    return Request(url=url, headers=(("Accept", "application/json"),))
