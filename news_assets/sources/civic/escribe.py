"""eScribe: `POST
https://pub-{client}.escribemeetings.com/MeetingsCalendarView.aspx/GetCalendarMeetings`.

`StartDate` is local (`YYYY/MM/DD HH:mm:ss`), or `/Date(ms)/`, milliseconds of the local
wall clock counted as if it were UTC. `Description` holds the place: its lines below
`Location` are the address. An agenda page nests its items.
"""

import json
import re
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from urllib.parse import urljoin

from lxml.html import HtmlElement

from news_assets.records.meetings import (
    AgendaItem,
    Attachment,
    Link,
    Location,
    Meeting,
    MeetingListing,
    Outcome,
    Request,
    Vote,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.reading.agenda_pages import agenda_of, notes_beside
from news_assets.sources.civic.reading.build import Stated, meeting_of
from news_assets.sources.civic.reading.decisions import decision_of
from news_assets.sources.civic.reading.moments import Moment, moment_of_text
from news_assets.sources.civic.reading.page_values import (
    Object,
    changed,
    clean,
    is_json,
    json_of,
    links_in,
    objects,
    origin_of,
    parameter,
    text_at,
    text_of,
    tree_of,
    unique_links,
    words_at,
)
from news_assets.sources.civic.vendor import Reading, json_post
from news_assets.sources.html.document import base_of, select
from news_assets.text.html import plain_text
from news_assets.text.urls import web_url

_EXPECTED = "an answer of eScribe"
_EPOCH = re.compile(r"/Date\((-?\d{1,14})")
_BREAK = re.compile(r"<br\s?/?>|</p>|\n", re.IGNORECASE)
_FORM = re.compile(r"\s?\((?:PDF|HTML)\)$")
_CONTAINER = ".AgendaItemContainer"
_MINUTES = re.compile(r"agenda=postminutes", re.IGNORECASE)
_FILE = re.compile(r"filestream\.ashx", re.IGNORECASE)
_ITEM_CLASS = re.compile(r"\bAgendaItem(\d+)\b")


def parse(page: Page, reading: Reading) -> MeetingListing:
    """Return the meetings of the calendar, or the items of one meeting's page.

    Raises:
        ListingChangedError: Neither of them.
        SourceError: An empty document, or broken JSON.
    """
    if not is_json(page):
        return _agenda(page)
    document = json_of(page, _EXPECTED)
    rows = document.get("d") if isinstance(document, dict) else document
    if not isinstance(rows, list) or (
        rows and not any("MeetingName" in row for row in objects(rows))
    ):
        raise changed(page, _EXPECTED)
    return MeetingListing(
        meetings=tuple(_meeting(row, page, reading) for row in objects(rows))
    )


def _meeting(row: Object, page: Page, reading: Reading) -> Meeting:
    base = f"{origin_of(page.final_url)}/"
    documents = (
        _document(one, base) for one in objects(row.get("MeetingDocumentLink"))
    )
    url = text_at(row, "Url")
    return meeting_of(
        Stated(
            vendor_id=text_at(row, "ID") or parameter(url, "id"),
            title=text_at(row, "MeetingName"),
            body=text_at(row, "MeetingType"),
            start=_moment(text_at(row, "StartDate")),
            end=_moment(text_at(row, "EndDate")),
            location=_location(row),
            url=web_url(url, base) if url else None,
            links=unique_links(documents),
            status_words=[text_at(row, "Status", "MeetingStatus")]
            + (["cancelled"] if row.get("IsCancelled") is True else []),
        ),
        reading,
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
    lines = (
        [clean(plain_text(part)) for part in _BREAK.split(described[:4000])]
        if isinstance(described, str)
        else []
    )
    rest = [part for part in lines if part and part != name]
    if name in lines:
        return Location(name=name, address=", ".join(rest))
    return Location(name=name)


def _document(row: Object, base: str) -> Link | None:
    link = text_at(row, "Url")
    url = web_url(link, base) if link else None
    if not url:
        return None
    return Link(
        title=_FORM.sub("", text_at(row, "Title")) or text_at(row, "Type"), href=url
    )


# --- the page of one meeting ----------------------------------------------------------


def _agenda(page: Page) -> MeetingListing:
    tree = tree_of(page, _EXPECTED)
    base = base_of(tree, page)
    containers = select(tree, _CONTAINER)
    if not containers:
        raise changed(page, _EXPECTED)
    leaves = [element for element in containers if not select(element, _CONTAINER)]
    titles = {
        element: words_at(element, ".AgendaItemTitle")
        for element in set(containers) - set(leaves)
    }
    completes = _MINUTES.search(page.url) is not None
    items = [
        _item(element, number, titles, base)
        for number, element in enumerate(leaves, start=1)
    ]
    if completes:
        items = [replace(item, sequence=0) for item in items if item.outcome]
    notes = notes_beside(tree, containers)
    return MeetingListing(
        meetings=(agenda_of(items, notes, parameter(page.final_url, "id")),)
    )


def _item(
    element: HtmlElement, sequence: int, titles: dict[HtmlElement, str], base: str
) -> AgendaItem:
    """Return one item; `titles` are those of the containers around."""
    within = (one.get("class", "") for one in element.iterdescendants("div"))
    found = _ITEM_CLASS.search(" ".join([element.get("class", ""), *within])[:10_000])
    section = next(
        (titles[above] for above in element.iterancestors("div") if above in titles), ""
    )
    outcome, votes = _decision(element)
    return AgendaItem(
        sequence=sequence,
        vendor_id=found[1] if found else "",
        outcome=outcome,
        votes=votes,
        number=words_at(element, ".AgendaItemCounter").rstrip("."),
        title=words_at(element, ".AgendaItemTitle") or text_of(element),
        section=section,
        attachments=tuple(
            Attachment(name=link.title, url=link.href)
            for link in links_in(element, base)
            if _FILE.search(link.href)
        ),
    )


def _decision(element: HtmlElement) -> tuple[Outcome, tuple[Vote, ...]]:
    """Return the last decided motion of an item; agendas have motions without a result."""
    decided = [
        motion
        for motion in select(element, ".AgendaItemMotion")
        if words_at(motion, ".MotionResult")
    ]
    if not decided:
        return Outcome(), ()
    motion = decided[-1]
    facts = {
        "result": words_at(motion, ".MotionResult"),
        "mover": words_at(motion, ".MovedBy"),
        "seconder": words_at(motion, ".SecondedBy"),
    }
    for row in select(motion, ".MotionVoters tr"):
        facts[words_at(row, ".VoterVote")] = words_at(row, ".VotesUsers")
    return decision_of(facts)


# --- requests -------------------------------------------------------------------------


def upcoming(url: str, today: date) -> tuple[Request, ...]:
    """Return the request for the next half year."""
    return days(url, today, today + timedelta(days=182))


def days(url: str, first: date, last: date) -> tuple[Request, ...]:
    """Return the request for the meetings of these days."""
    body = json.dumps(
        {
            "calendarStartDate": f"{first:%Y-%m-%d}",
            "calendarEndDate": f"{last:%Y-%m-%d}",
        }
    )
    return (
        json_post(
            urljoin(url, "/MeetingsCalendarView.aspx/GetCalendarMeetings"),
            body.encode(),
        ),
    )


def items(url: str, meeting: Meeting) -> tuple[Request, ...]:
    """Return the requests for a meeting's agenda as a page, if it has published
    anything, and for its minutes.
    """
    if not meeting.links:
        return ()
    forms = ["Merged"]
    if any(_MINUTES.search(link.href) for link in meeting.links):
        forms.append("PostMinutes")
    base = urljoin(url, f"/Meeting.aspx?Id={meeting.vendor_id}")
    return tuple(Request(url=f"{base}&Agenda={form}&lang=English") for form in forms)
