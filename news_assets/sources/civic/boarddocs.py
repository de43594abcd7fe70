"""BoardDocs: `https://go.boarddocs.com/{state}/{client}/Board.nsf/Public`, a client's
committees.

`BD-GetMeetingsList` answers a POST with all meetings of one committee, without pages
and hours; its list may end with an empty object. `PRINT-AgendaDetailed` is the agenda
of one meeting as a page, with the files of each item; it is empty before the agenda is
posted. The hour stands in its description. A postponed meeting keeps its row, whose
name says the new day. Ids of items change when they are edited, so their titles are
their ids here. Minutes have no address: they are the answer to another POST.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from typing import Final
from urllib.parse import quote, urlencode, urljoin, urlsplit

from lxml.html import HtmlElement

from news_assets.records.meetings import (
    AgendaItem,
    Attachment,
    Meeting,
    MeetingListing,
    Request,
)
from news_assets.records.reading import Page
from news_assets.sources.civic.agenda_pages import (
    notes_beside,
    visible_lines,
    with_notes,
)
from news_assets.sources.civic.moments import (
    Moment,
    clock_of_text,
    day_of_text,
    wall_clock,
)
from news_assets.sources.civic.numbering import file_in, split_number
from news_assets.sources.civic.page_values import (
    Object,
    Requests,
    href_of,
    is_json,
    json_of,
    listing_changed,
    objects,
    parameter,
    requests_to,
    text_at,
    text_of,
    title_line,
    tree_of,
    words_at,
)
from news_assets.sources.civic.vendor_meetings import ParseContext, meeting_of
from news_assets.sources.html_document import base_of, select

_EXPECTED = "an answer of BoardDocs"
_MAX_COMMITTEES: Final = 60
_COMMITTEES = "[committeeid]"
_OPTIONS = "select[id*=ommittee] option, select[name*=ommittee] option, #committee-select option"
_COMMITTEE_ID = re.compile(r"[A-Za-z0-9]{8,16}")
_AGENDA = re.compile(r"/print-agendadetailed\b", re.IGNORECASE)
_ITEMS = ".agendaorder.item"
_FILE = re.compile(r"/files/", re.IGNORECASE)
_SIZE = re.compile(r"\s{0,3}\(\d[\d,.]{0,12}\s?(?:bytes?|[KMG]B)\)\Z", re.IGNORECASE)
_SUBJECT = re.compile(r"\ASubject\s{1,3}", re.IGNORECASE)
_NUMBER = re.compile(r"(?P<number>\d{1,3}(?:\.\d{1,3}){0,3})[.)]?\s{1,3}(?=\S)")
_DAY = re.compile(r"(\d{4})(\d\d)(\d\d)")
_MOVED = re.compile(r"\b(?:postponed|rescheduled|moved)\s(?:to|until)\b", re.IGNORECASE)
_FORM: Final = (
    ("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8"),
    ("X-Requested-With", "XMLHttpRequest"),
)


def parse(page: Page, context: ParseContext) -> MeetingListing:
    """Return the meetings of a committee, the agenda of one meeting, or requests for
    all committees.

    Raises:
        ListingChangedError: None of them.
        SourceError: An empty document, or broken JSON.
    """
    is_agenda = _AGENDA.search(page.final_url[:2000]) is not None
    if is_agenda and not page.body.strip():
        return MeetingListing()  # the agenda is not posted yet
    if is_json(page):
        return _meetings(page, context)
    tree = tree_of(page, _EXPECTED)
    elements = select(tree, _ITEMS)
    if is_agenda and not elements:
        is_agenda = bool(select(tree, ".print-meeting-name"))
    if is_agenda or elements:
        return MeetingListing(meetings=(_agenda(tree, elements, page, context),))
    committees = _committees(tree)
    if not committees:
        raise listing_changed(page, _EXPECTED)
    requests = [_list_of(page.final_url, key, committees[key]) for key in committees]
    return MeetingListing(next_requests=tuple(requests[:_MAX_COMMITTEES]))


def _committees(tree: HtmlElement) -> dict[str, str]:
    """Return the names of the committees by their ids."""
    found: dict[str, str] = {}
    for element in select(tree, _COMMITTEES):
        name = text_of(element) or title_line(element.get("aria-label", ""))
        found.setdefault(element.get("committeeid", ""), name)
    if not found:
        for option in select(tree, _OPTIONS):
            found.setdefault(option.get("value", ""), text_of(option))
    return {key: name for key, name in found.items() if _COMMITTEE_ID.fullmatch(key)}


def _meetings(page: Page, context: ParseContext) -> MeetingListing:
    answer = json_of(page, _EXPECTED)
    rows = objects(answer)
    if rows != answer:
        raise listing_changed(page, _EXPECTED)
    meetings: list[Meeting] = []
    for row in rows:
        if "unique" in row:
            meetings.append(_meeting(row, page, context))
    if any(rows) and not meetings:
        raise listing_changed(page, _EXPECTED)
    return MeetingListing(meetings=tuple(meetings))


def _meeting(row: Object, page: Page, context: ParseContext) -> Meeting:
    own_id = text_at(row, "unique")
    name = text_at(row, "name")
    day = _day(text_at(row, "numberdate"))
    new_day = day_of_text(name) if _MOVED.search(name) else None
    is_moved = new_day not in (None, day)
    url = urljoin(page.final_url, f"goto?open&id={quote(own_id)}")
    return meeting_of(
        Meeting(
            vendor_id=own_id,
            title=name,
            body=parameter(page.final_url, "body") or name,
            url=url if own_id else None,
        ),
        context,
        start=Moment(day) if day else None,
        status_words=["cancelled"] if is_moved else [],
    )


def _day(text: str) -> date | None:
    match = _DAY.fullmatch(text)
    moment = wall_clock("-".join(match.groups()) if match else text)
    if not moment:
        return None
    return moment.day


# --- the agenda of one meeting --------------------------------------------------------


def _agenda(
    tree: HtmlElement, elements: list[HtmlElement], page: Page, context: ParseContext
) -> Meeting:
    base = base_of(tree, page)
    items: list[AgendaItem] = []
    for number, element in enumerate(elements, start=1):
        items.append(_item(element, number, base))
    meeting = meeting_of(
        Meeting(
            vendor_id=parameter(page.final_url, "id"),
            title=words_at(tree, ".print-meeting-name"),
            items=tuple(items),
        ),
        context,
        start=_start(tree),
    )
    return with_notes(replace(meeting, is_partial=True), notes_beside(tree, elements))


def _start(tree: HtmlElement) -> Moment | None:
    """Return the day of an agenda, with the first hour that its description states."""
    day = day_of_text(words_at(tree, ".print-meeting-date"))
    if day is None:
        return None
    for element in select(tree, ".print-meeting-description"):
        for line in visible_lines(element):
            clock = clock_of_text(line)
            if clock is not None:
                return Moment(day, clock)
    return Moment(day)


def _item(element: HtmlElement, sequence: int, base: str) -> AgendaItem:
    facts = {text_of(term).lower(): value for term, value in _facts(element)}
    subject = facts.get("subject", "")
    if not subject:
        subject = next(iter(visible_lines(element)), "")
    number, title = _numbered(_SUBJECT.sub("", subject))
    files = dict.fromkeys(_attachments(element, base))
    return AgendaItem(
        sequence=sequence,
        number=number,
        title=title,
        section=facts.get("category", ""),
        matter_file=file_in(title),
        attachments=tuple(files),
    )


def _numbered(subject: str) -> tuple[str, str]:
    match = _NUMBER.match(subject)
    if match:
        return match["number"], subject[match.end() :]
    return split_number(subject)


def _facts(element: HtmlElement) -> Iterator[tuple[HtmlElement, str]]:
    """Yield the terms of an item with the text of each."""
    for term in element.iter("dt"):
        value = term.getnext()
        if value is None:
            continue
        if value.tag == "dd":
            yield term, text_of(value)


def _attachments(element: HtmlElement, base: str) -> Iterator[Attachment]:
    for anchor in element.iter("a"):
        href = href_of(anchor, base)
        if href is None:
            continue
        if _FILE.search(href[:2000]):
            name = _SIZE.sub("", text_of(anchor))
            yield Attachment(name=name, url=href)


# --- requests -------------------------------------------------------------------------


def upcoming(url: str, today: date) -> Requests:
    """Return the request for the committees, whose answer continues with the meetings
    of each.
    """
    return requests_to(urljoin(_folder(url), "Public"))


def days(url: str, first: date, last: date) -> Requests:
    """Return the same: a committee's list has all its meetings."""
    return upcoming(url, first)


def items(url: str, meeting: Meeting) -> Requests:
    """Return the request for a meeting's agenda, which needs its id twice."""
    own_id = meeting.vendor_id
    query = _query(id=own_id)
    return (_post(url, f"PRINT-AgendaDetailed?open&{query}", id=own_id),)


def _list_of(url: str, committee: str, name: str) -> Request:
    """Return the request for a committee's meetings."""
    query = _query(committee=committee, body=name)
    path = f"BD-GetMeetingsList?open&{query}"
    return _post(url, path, current_committee_id=committee)


def _post(url: str, path: str, **form: str) -> Request:
    return Request(
        url=urljoin(_folder(url), path),
        method="POST",
        body=urlencode(form).encode(),
        headers=_FORM,
    )


def _query(**parts: str) -> str:
    return urlencode(parts, quote_via=quote)


def _folder(url: str) -> str:
    """Return the address of a client's database, with a slash at its end."""
    parts = urlsplit(url)
    path, dot, _ = parts.path.lower().partition(".nsf")
    folder = "/"
    if dot:
        folder = f"{parts.path[: len(path)]}{parts.path[len(path) : len(path) + 4]}/"
    return f"{parts.scheme}://{parts.netloc}{folder}"
