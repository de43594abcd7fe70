"""CivicEngage's Archive Center (CivicPlus): `https://www.city.gov/Archive.aspx`,
documents only.

It is no calendar: a meeting is there once its agenda is posted, and its hour stands in
that document only. A category's page, `?AMID=N`, links all its documents, `?ADID=N`,
which are PDFs; the day stands in the title of each. An address without `AMID` is that
of the form, whose categories of agendas, packets and minutes are read. Some clients
number their pages otherwise than their form, and need their `AMID`s in the address.
Documents of one day and body are one meeting.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final
from urllib.parse import parse_qsl, urljoin, urlsplit

from lxml.html import HtmlElement

from news_assets.records.meetings import Link, Meeting, MeetingListing, Request
from news_assets.records.reading import Page
from news_assets.sources.civic.moments import Moment, day_of_text
from news_assets.sources.civic.page_values import (
    Requests,
    href_of,
    listing_changed,
    parameter,
    requests_to,
    text_of,
    tree_of,
)
from news_assets.sources.civic.vendor_meetings import ParseContext, meeting_of
from news_assets.sources.html_document import base_of, select
from news_assets.sources.storable_entries import problem_if

_EXPECTED = "an Archive Center of CivicEngage"
_NAME: Final = b"archive center"
_MAX_CATEGORIES: Final = 40
_CATEGORIES = "select[name=lngArchiveMasterID] option"
_DOCUMENT = re.compile(r"archive\.aspx\?.{0,200}?\badid=\d", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{1,12}")
_WORD = re.compile(r"[a-z0-9]+")
# what remains between words without a date
_LOOSE = re.compile(r"\s[-–—|:,]{1,3}(?=\s|\Z)|\A\W{1,5}")
_READ = re.compile(r"\b(?:agendas?|packets?|minutes)\b", re.IGNORECASE)
_NOT_READ = re.compile(r"\b(?:audio|video|scanned)\b", re.IGNORECASE)
_MINUTES = re.compile(r"\bminutes\b", re.IGNORECASE)
_PACKET = re.compile(r"\bpackets?\b", re.IGNORECASE)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
_DATE = re.compile(
    rf"\b(?:{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?,?\s\d{{4}}|\d{{1,2}}\s{_MONTH}\s\d{{4}}"
    r"|\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}|\d{4}-\d\d-\d\d)\b",
    re.IGNORECASE,
)
_NOT_BODY = re.compile(
    r"\b(?:agendas?|packets?|minutes|revised|amended|updated|final|draft|approved|cancel+ed|postponed"
    r"|notice\sof\scancel+ation|pdf)\b",
    re.IGNORECASE,
)


def parse(page: Page, context: ParseContext) -> MeetingListing:
    """Return the meetings of a category, what its minutes add, or the requests for
    categories.

    Raises:
        ListingChangedError: No Archive Center.
        SourceError: An empty document.
    """
    tree = tree_of(page, _EXPECTED)
    base = base_of(tree, page)
    options = select(tree, _CATEGORIES)
    if not _categories_of(page.final_url):
        requests = _requests(options, page)
        if requests:
            return MeetingListing(next_requests=requests)
    documents = _documents(tree, base, _category(options, page))
    if not documents and not options and _NAME not in page.body.lower():
        raise listing_changed(page, _EXPECTED)
    dated = [document for document in documents if document.day is not None]
    lost = len(documents) - len(dated)
    return MeetingListing(
        meetings=tuple(_meetings(dated, context)),
        problems=problem_if(lost, f"{lost} documents have no date in their title"),
    )


def _requests(options: Iterable[HtmlElement], page: Page) -> Requests:
    """Return the requests for the categories of agendas, packets and minutes."""
    found: list[Request] = []
    for option in options:
        number = option.get("value", "")
        name = text_of(option)
        if not number.isdecimal() or number == "0":
            continue
        if _NOT_READ.search(name):
            continue
        if _READ.search(name):
            found.append(_category_request(page.final_url, number))
    return tuple(found[:_MAX_CATEGORIES])


def _category(options: Iterable[HtmlElement], page: Page) -> str:
    """Return the name of the page's category; empty if it is not stated."""
    number = parameter(page.final_url, "amid")
    for option in options:
        if option.get("value") == number:
            return text_of(option)
    return ""


@dataclass(frozen=True, slots=True)
class _Document:
    """A document of the archive; `body` is its title without day and kind."""

    number: int
    title: str
    href: str
    day: date | None
    body: str
    is_minutes: bool

    @property
    def key(self) -> str:
        """What documents of one meeting share: the day, and the words of the body."""
        return f"{self.day}-{'-'.join(_WORD.findall(self.body.lower()))}"


def _documents(tree: HtmlElement, base: str, category: str) -> list[_Document]:
    """Return the documents that a page links, each once."""
    found: dict[int, _Document] = {}
    for anchor in tree.iter("a"):
        href = href_of(anchor, base)
        title = text_of(anchor)
        if href is None:
            continue
        if not title:
            continue
        if not _DOCUMENT.search(href[:2000]):
            continue
        match = _NUMBER.fullmatch(parameter(href, "adid"))
        if match is not None:
            number = int(match[0])
            found.setdefault(number, _document(number, title, href, category))
    return list(found.values())


def _document(number: int, title: str, href: str, category: str) -> _Document:
    named = title if _READ.search(title) else f"{title} {category}"
    body = _body(title) or _body(category) or title
    return _Document(
        number,
        title,
        href,
        day_of_text(title),
        body,
        _MINUTES.search(named) is not None,
    )


def _body(title: str) -> str:
    words = _DATE.sub(" ", title)
    words = _NOT_BODY.sub(" ", words)
    words = _LOOSE.sub(" ", f" {words}")
    return " ".join(words.split()).strip(" -–—,:()")


def _meetings(documents: Iterable[_Document], context: ParseContext) -> list[Meeting]:
    """Return the meetings, each with its newest agenda first, and what minutes add to
    others.
    """
    grouped: dict[str, list[_Document]] = defaultdict(list)
    for document in documents:
        grouped[document.key].append(document)
    return [_meeting_of(key, found, context) for key, found in grouped.items()]


def _meeting_of(
    key: str, documents: Iterable[_Document], context: ParseContext
) -> Meeting:
    newest_first = sorted(documents, key=lambda one: one.number, reverse=True)
    links = [_link(one) for one in newest_first]
    agendas = [one for one in newest_first if not one.is_minutes]
    if agendas:
        return _meeting(key, agendas, links, context)
    return _of_minutes(key, newest_first[0], links)


def _of_minutes(key: str, newest: _Document, links: Iterable[Link]) -> Meeting:
    """Return what minutes add to the meeting of this day and body."""
    return Meeting(
        vendor_id=f"minutes-{newest.number}",
        agenda_id=key,
        minutes_url=newest.href,
        links=tuple(links),
        is_partial=True,
    )


def _meeting(
    key: str, agendas: Sequence[_Document], links: Sequence[Link], context: ParseContext
) -> Meeting:
    """Return a meeting. Its id, the number of its first agenda, stays when the title is
    corrected.
    """
    newest = agendas[0]
    first = agendas[-1]
    return meeting_of(
        Meeting(
            vendor_id=str(first.number),
            agenda_id=key,
            title=newest.body,
            body=newest.body,
            links=tuple(links),
        ),
        context,
        start=Moment(newest.day) if newest.day else None,
        status_words=[_DATE.sub("", newest.title)],
    )


def _link(document: _Document) -> Link:
    title = "Agenda"
    if document.is_minutes:
        title = "Minutes"
    elif _PACKET.search(document.title):
        title = "Packet"
    return Link(title=title, href=document.href)


# --- requests -------------------------------------------------------------------------


def upcoming(url: str, today: date) -> Requests:
    """Return the requests for the categories in the address, else for the form that
    names all.
    """
    numbers = _categories_of(url)
    if not numbers:
        return requests_to(urljoin(url, "/Archive.aspx"))
    return tuple(_category_request(url, number) for number in numbers)


def days(url: str, first: date, last: date) -> Requests:
    """Return the same: a category's page has all its documents."""
    return upcoming(url, first)


def _category_request(url: str, number: str) -> Request:
    return Request(url=urljoin(url, f"/Archive.aspx?AMID={number}"))


def _categories_of(url: str) -> list[str]:
    """Return the numbers of categories in an address: `?AMID=30` or `?AMID=30,31`."""
    try:
        pairs = parse_qsl(urlsplit(url).query, max_num_fields=100)
    except ValueError:
        return []
    stated = ",".join(value for name, value in pairs if name.lower() == "amid")
    numbers = list(filter(str.isdecimal, stated.split(",")))
    return numbers[:_MAX_CATEGORIES]
