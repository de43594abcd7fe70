"""A page of links to PDF or Word files, such as a body's own page: one meeting per day
and name.

`item` matches what holds one meeting; without selectors, each link to a PDF is its own.
The date stands in the link, in its file's name, or in the text around it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from lxml.html import HtmlElement

from news_assets.records.desks import Selectors
from news_assets.records.meetings import Link, Meeting, MeetingListing
from news_assets.records.reading import Page
from news_assets.sources.civic.identity import listed_key
from news_assets.sources.civic.moments import Moment, moment_of_text
from news_assets.sources.civic.page_values import (
    Requests,
    first_match,
    href_of,
    links_in,
    listing_changed,
    requests_to,
    text_of,
    tree_of,
    words_at,
)
from news_assets.sources.civic.vendor_meetings import ParseContext, meeting_of, role_of
from news_assets.sources.html_document import base_of, select
from news_assets.sources.storable_entries import problem_if

_EXPECTED = "a page with links to PDF or Word documents"
_FILE_LINKS = "a[href*='.pdf'], a[href*='.PDF'], a[href*='.doc'], a[href*='.DOC']"
_FILE = re.compile(r"\.(?:pdf|docx?)(?:$|[?&#])", re.IGNORECASE)
_AROUND = ("li", "tr", "p", "dd", "article")  # whose text describes the link in it
_MAX_AROUND_CHARS = 300
_SEPARATORS = re.compile(r"[_+.\s-]+")
_PACKED_DATE = re.compile(
    r"(?<!\d)(?P<month>0[1-9]|1[0-2])(?P<day>[0-3]\d)(?P<year>20\d\d|\d\d)(?!\d)"
)
_ISO_PACKED = re.compile(
    r"(?<!\d)(?P<year>20\d\d)(?P<month>0[1-9]|1[0-2])(?P<day>[0-3]\d)(?!\d)"
)


def parse(page: Page, context: ParseContext) -> MeetingListing:
    """Return the meetings of a page: the documents of one day and heading together.

    Raises:
        ListingChangedError: No link to a document, or the selectors match nothing.
        SourceError: An empty document.
    """
    tree = tree_of(page, _EXPECTED)
    base = base_of(tree, page)
    selectors = context.selectors
    if selectors is None:
        read = _of_links(tree, base)
    else:
        items = select(tree, selectors.item)
        read = [_of_item(element, base, selectors) for element in items]
    if not read:
        raise listing_changed(page, _EXPECTED)
    return _listing(read, context)


class _Entry(NamedTuple):
    """The documents of one meeting."""

    title: str
    moment: Moment | None
    links: list[Link]


def _listing(read: Sequence[_Entry], context: ParseContext) -> MeetingListing:
    """Return the meetings of the entries that have a date and a document."""
    meetings: dict[str, Meeting] = {}
    lost = 0
    for entry in read:
        if entry.moment is None or not entry.links:
            lost += 1
            continue
        meeting = _meeting(entry, context)
        meetings[listed_key(meeting)] = meeting
    problem = f"{lost} of {len(read)} entries have no date or no document"
    return MeetingListing(
        meetings=tuple(meetings.values()), problems=problem_if(lost, problem)
    )


def _of_item(element: HtmlElement, base: str, selectors: Selectors) -> _Entry:
    links = list(links_in(element, base, selectors.link or _FILE_LINKS))
    title = ""
    if selectors.title:
        title = words_at(element, selectors.title)
    if not title and links:
        title = links[0].title
    stated: HtmlElement | None = element
    if selectors.date:
        stated = first_match(element, selectors.date)
    moment = moment_of_text(text_of(stated)) or _moment_of(links, "")
    return _Entry(title, moment, links)


def _of_links(tree: HtmlElement, base: str) -> list[_Entry]:
    """Return the documents below each heading, those of a day together; last those
    without a day.
    """
    by_meeting: dict[tuple[date, str, str], _Entry] = {}
    undated: list[_Entry] = []
    for heading, link, moment in _dated_links(tree, base):
        entry = _Entry(heading or link.title, moment, [link])
        if moment is None:
            undated.append(_Entry(link.title, None, [link]))
            continue
        known = by_meeting.setdefault((moment.day, heading, ""), entry)
        if known is entry:
            continue
        if any(role_of(one) == role_of(link) for one in known.links):
            # A second agenda is that of a second meeting.
            by_meeting[moment.day, heading, link.href] = entry
        else:
            known.links.append(link)
    return [*by_meeting.values(), *undated]


def _dated_links(
    tree: HtmlElement, base: str
) -> Iterator[tuple[str, Link, Moment | None]]:
    """Yield the links to documents, each with the heading above it and its day."""
    texts: dict[HtmlElement, str] = {}
    heading = ""
    for element in tree.iter("h1", "h2", "h3", "h4", "a"):
        if element.tag != "a":
            heading = text_of(element)
            continue
        href = href_of(element, base)
        if href is None:
            continue
        if _FILE.search(href[:4000]):
            link = Link(title=text_of(element), href=href)
            yield heading, link, _moment_of([link], _text_around(element, texts))


def _text_around(anchor: HtmlElement, texts: dict[HtmlElement, str]) -> str:
    """Return the text of the list item, row or paragraph that a link is in; of a long
    one nothing.
    """
    around = next(anchor.iterancestors(*_AROUND), None)
    if around is None:
        return ""
    if around not in texts:
        text = text_of(around)
        texts[around] = text if len(text) <= _MAX_AROUND_CHARS else ""
    return texts[around]


def _moment_of(links: Iterable[Link], around: str) -> Moment | None:
    for link in links:
        moment = moment_of_text(link.title) or _of_name(link.href)
        if moment:
            return moment
    return moment_of_text(around)


def _of_name(href: str) -> Moment | None:
    """Return the date in a file's name: `agenda_9-29-22.pdf`, `2026-03-27`, `03272026`,
    `20260327`.
    """
    try:
        name = unquote(urlsplit(href).path.rpartition("/")[2])[:200]
    except ValueError:
        return None
    packed = _ISO_PACKED.search(name) or _PACKED_DATE.search(name)
    text = (
        f"{packed['month']}/{packed['day']}/{packed['year']}"
        if packed
        else name.replace("_", " ")
    )
    moment = moment_of_text(text) or moment_of_text(_SEPARATORS.sub(" ", name))
    if not moment:
        return None
    return Moment(moment.day)


def _meeting(entry: _Entry, context: ParseContext) -> Meeting:
    return meeting_of(
        Meeting(
            vendor_id="",
            title=entry.title,
            body=entry.title,
            links=tuple(entry.links),
        ),
        context,
        start=entry.moment,
    )


# --- requests -------------------------------------------------------------------------


def upcoming(url: str, today: date) -> Requests:
    """Return the request for the page."""
    return requests_to(url)
