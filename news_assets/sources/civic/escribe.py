"""eScribe: `POST
https://pub-{client}.escribemeetings.com/MeetingsCalendarView.aspx/GetCalendarMeetings`.

`StartDate` is local (`YYYY/MM/DD HH:mm:ss`), or `/Date(ms)/`, milliseconds of the local
wall clock counted as if it were UTC. `Description` holds the place: its lines below
`Location` are the address. An agenda page nests its items.
"""

import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime
from urllib.parse import urljoin

from lxml.html import HtmlElement

from news_assets.records.meetings import (
    AgendaItem,
    ItemOutcome,
    Link,
    Location,
    Meeting,
    MeetingListing,
    Request,
    Vote,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.agenda_pages import agenda_of, notes_beside
from news_assets.sources.civic.meeting_prose import decision_of
from news_assets.sources.civic.moments import Moment, moment_of_text
from news_assets.sources.civic.page_values import (
    Object,
    Requests,
    attachments_of,
    is_json,
    json_of,
    links_in,
    links_to,
    listing_changed,
    objects,
    optional_link,
    origin_of,
    parameter,
    requests_to,
    text_at,
    text_of,
    title_line,
    tree_of,
    unique_links,
    words_at,
)
from news_assets.sources.civic.vendor_meetings import ParseContext, meeting_of
from news_assets.sources.html_document import base_of, select
from news_assets.sources.storable_entries import optional_url
from news_assets.text.html import plain_text

_EXPECTED = "an answer of eScribe"
_JSON_HEADERS = (
    ("Content-Type", "application/json; charset=utf-8"),
    ("Accept", "application/json"),
)
_EPOCH = re.compile(r"/Date\((-?\d{1,14})")
_BREAK = re.compile(r"<br\s?/?>|</p>|\n", re.IGNORECASE)
_FORM = re.compile(r"\s?\((?:PDF|HTML)\)$")
_CONTAINER = ".AgendaItemContainer"
_MINUTES = re.compile(r"agenda=postminutes", re.IGNORECASE)
_FILE = re.compile(r"filestream\.ashx", re.IGNORECASE)
_ITEM_CLASS = re.compile(r"\bAgendaItem(\d+)\b")


def parse(page: Page, context: ParseContext) -> MeetingListing:
    """Return the meetings of the calendar, or the items of one meeting's page.

    Raises:
        ListingChangedError: Neither of them.
        SourceError: An empty document, or broken JSON.
    """
    if not is_json(page):
        return _agenda(page)
    rows = json_of(page, _EXPECTED)
    if isinstance(rows, dict):
        rows = rows.get("d")
    if not isinstance(rows, list):
        raise listing_changed(page, _EXPECTED)
    if rows and all("MeetingName" not in row for row in objects(rows)):
        raise listing_changed(page, _EXPECTED)
    meetings = [_meeting(row, page, context) for row in objects(rows)]
    return MeetingListing(meetings=tuple(meetings))


def _meeting(row: Object, page: Page, context: ParseContext) -> Meeting:
    base = f"{origin_of(page.final_url)}/"
    documents: list[Link | None] = []
    for one in objects(row.get("MeetingDocumentLink")):
        documents.append(_document(one, base))
    status_words = [text_at(row, "Status", "MeetingStatus")]
    if row.get("IsCancelled") is True:
        status_words.append("cancelled")
    url = text_at(row, "Url")
    return meeting_of(
        Meeting(
            vendor_id=text_at(row, "ID") or parameter(url, "id"),
            title=text_at(row, "MeetingName"),
            body=text_at(row, "MeetingType"),
            location=_location(row),
            url=optional_url(url, base),
            links=unique_links(documents),
        ),
        context,
        start=_moment(text_at(row, "StartDate")),
        end=_moment(text_at(row, "EndDate")),
        status_words=status_words,
    )


def _moment(text: str) -> Moment | None:
    match = _EPOCH.match(text)
    if match is None:
        return moment_of_text(text)
    try:
        at = datetime.fromtimestamp(int(match[1]) / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return Moment(at.date(), at.time())


def _location(row: Object) -> Location:
    name = text_at(row, "Location")
    described = row.get("Description")
    if not isinstance(described, str):
        return Location(name=name)
    lines = [title_line(plain_text(part)) for part in _BREAK.split(described[:4000])]
    if name not in lines:
        return Location(name=name)
    rest = [part for part in lines if part not in ("", name)]
    return Location(name=name, address=", ".join(rest))


def _document(row: Object, base: str) -> Link | None:
    title = _FORM.sub("", text_at(row, "Title")) or text_at(row, "Type")
    url = optional_url(text_at(row, "Url"), base)
    return optional_link(title, url)


# --- the page of one meeting ----------------------------------------------------------


def _agenda(page: Page) -> MeetingListing:
    tree = tree_of(page, _EXPECTED)
    base = base_of(tree, page)
    containers = select(tree, _CONTAINER)
    if not containers:
        raise listing_changed(page, _EXPECTED)
    items: list[AgendaItem] = []
    titles: dict[HtmlElement, str] = {}
    for element in containers:  # outer ones come before those within
        if select(element, _CONTAINER):
            titles[element] = words_at(element, ".AgendaItemTitle")
        else:
            items.append(_item(element, len(items) + 1, titles, base))
    if _MINUTES.search(page.url):  # the minutes complete the items of the agenda
        items = [replace(item, sequence=0) for item in items if item.outcome]
    notes = notes_beside(tree, containers)
    meeting = agenda_of(items, notes, parameter(page.final_url, "id"))
    return MeetingListing(meetings=(meeting,))


def _item(
    element: HtmlElement, sequence: int, titles: dict[HtmlElement, str], base: str
) -> AgendaItem:
    """Return one item; `titles` are the titles of the containers around it."""
    files = links_to(links_in(element, base), _FILE)
    outcome, votes = _decision(element)
    return AgendaItem(
        sequence=sequence,
        vendor_id=_own_id(element),
        outcome=outcome,
        votes=votes,
        number=words_at(element, ".AgendaItemCounter").rstrip("."),
        title=words_at(element, ".AgendaItemTitle") or text_of(element),
        section=_title_above(element, titles),
        attachments=attachments_of(files),
    )


def _own_id(element: HtmlElement) -> str:
    """Return the id of an item, which its class or that of an element within has."""
    classes = [element.get("class", "")]
    for one in element.iterdescendants("div"):
        classes.append(one.get("class", ""))
    found = _ITEM_CLASS.search(" ".join(classes)[:10_000])
    return found[1] if found else ""


def _title_above(element: HtmlElement, titles: dict[HtmlElement, str]) -> str:
    for above in element.iterancestors("div"):
        if above in titles:
            return titles[above]
    return ""


def _decision(element: HtmlElement) -> tuple[ItemOutcome, tuple[Vote, ...]]:
    """Return the last decided motion of an item; agendas have motions without a result."""
    for motion in reversed(select(element, ".AgendaItemMotion")):
        result = words_at(motion, ".MotionResult")
        if not result:
            continue
        facts = {
            "result": result,
            "mover": words_at(motion, ".MovedBy"),
            "seconder": words_at(motion, ".SecondedBy"),
        }
        for row in select(motion, ".MotionVoters tr"):
            facts[words_at(row, ".VoterVote")] = words_at(row, ".VotesUsers")
        return decision_of(facts)
    return ItemOutcome(), ()


# --- requests -------------------------------------------------------------------------


def days(url: str, first: date, last: date) -> Requests:
    """Return the request for the meetings of these days."""
    span = {"calendarStartDate": f"{first}", "calendarEndDate": f"{last}"}
    address = urljoin(url, "/MeetingsCalendarView.aspx/GetCalendarMeetings")
    body = json.dumps(span).encode()
    return (Request(url=address, method="POST", body=body, headers=_JSON_HEADERS),)


def items(url: str, meeting: Meeting) -> Requests:
    """Return the requests for a meeting's agenda as a page, if it has published
    anything, and for its minutes.
    """
    if not meeting.links:
        return ()
    forms = ["Merged"]
    if any(_MINUTES.search(link.href) for link in meeting.links):
        forms.append("PostMinutes")
    base = urljoin(url, f"/Meeting.aspx?Id={meeting.vendor_id}")
    urls = [f"{base}&Agenda={form}&lang=English" for form in forms]
    return requests_to(*urls)
