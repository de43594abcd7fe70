"""The vendors of meetings: the interface of one, the table of all, and how an answer is
read. Functions only, no I/O.

A source's address is the vendor's base for one client:
`https://webapi.legistar.com/v1/seattle`. A vendor without a function for something
cannot do it: without `days` it cannot list its past, without `signal` the listing
itself is the signal. Answers of `signal` and of listings are compared by
`identity.py`. A new kind is one module, and one entry here and in
`civic/__init__.py`.

Saved answers of one client are read here too: a single answer, JSON lines of exchanges,
or a folder of answers. An exchange is `{method, url, status, headers, text}` or with
`base64` in place of `text`. Answers that are not of the vendor's pages, such as its PDF
documents, are omitted. Meetings of several answers are put together: an answer that
only has a meeting's items completes the listed one.
"""

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Final

from news_assets.errors import NewsAssetsError, SourceError
from news_assets.records.meetings import (
    AgendaItem,
    AnswerState,
    Meeting,
    MeetingListing,
    Request,
)
from news_assets.records.reading import Page
from news_assets.sources.civic import (
    boarddocs,
    calendar_file,
    civicclerk,
    civicengage,
    civicplus,
    civicweb,
    escribe,
    granicus,
    iqm2,
    legistar_api,
    legistar_pages,
    municode,
    novusagenda,
    onbase,
    pdf_links,
    primegov,
)
from news_assets.sources.civic.identity import listed_key, merged, with_votes
from news_assets.sources.civic.numbering import with_matter_numbers
from news_assets.sources.civic.page_values import Requests
from news_assets.sources.civic.vendor_meetings import ParseContext
from news_assets.sources.platforms import (
    file_of,
    protection_of_page,
    protection_of_refusal,
)
from news_assets.sources.storable_entries import problem_if

# a client that moved to another vendor goes on answering with its last meetings for
# years
_STALE_DAYS = 45
_MAX_REFUSAL_BYTES = 100_000

_Parse = Callable[[Page, ParseContext], MeetingListing]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """One vendor.

    `upcoming` gives the requests for what is to come, `days` those for a range of days
    (first, last), `items` those that complete a listed meeting, `signal` the cheapest
    request that shows changes since a time. `votes` gives the requests for the votes
    and sponsors of an item, `roster` those for bodies, persons and offices.
    `lists_changes_only`: the answer to `signal` holds what has changed, not all there
    is. `unknown_marks` and `closed_marks` are what refusals say, in lower case.
    """

    parse: _Parse
    upcoming: Callable[[str, date], Requests]
    days: Callable[[str, date, date], Requests] | None = None
    items: Callable[[str, Meeting], Requests] | None = None
    signal: Callable[[str, datetime], Request] | None = None
    votes: Callable[[str, AgendaItem], Requests] | None = None
    roster: Callable[[str], Requests] | None = None
    lists_changes_only: bool = False
    unknown_marks: tuple[bytes, ...] = ()
    closed_marks: tuple[bytes, ...] = ()


_HALF_YEAR = timedelta(days=182)


def _next_half_year(
    days: Callable[[str, date, date], Requests], url: str, today: date
) -> Requests:
    """Return the requests for what is to come, by a vendor's `days`."""
    return days(url, today, today + _HALF_YEAR)


CIVIC_KINDS: Final[dict[str, Vendor]] = {
    "boarddocs": Vendor(
        parse=boarddocs.parse,
        upcoming=boarddocs.upcoming,
        days=boarddocs.days,
        items=boarddocs.items,
    ),
    "civicclerk": Vendor(
        parse=civicclerk.parse,
        upcoming=civicclerk.upcoming,
        days=civicclerk.days,
        items=civicclerk.items,
    ),
    "civicengage": Vendor(
        parse=civicengage.parse,
        upcoming=civicengage.upcoming,
        days=civicengage.days,
    ),
    "civicplus": Vendor(
        parse=civicplus.parse,
        upcoming=civicplus.upcoming,
        days=civicplus.days,
        items=civicplus.items,
        signal=civicplus.signal,
    ),
    "civicweb": Vendor(
        parse=civicweb.parse,
        upcoming=partial(_next_half_year, civicweb.days),
        days=civicweb.days,
        items=civicweb.items,
    ),
    "escribe": Vendor(
        parse=escribe.parse,
        upcoming=partial(_next_half_year, escribe.days),
        days=escribe.days,
        items=escribe.items,
    ),
    "granicus": Vendor(
        parse=granicus.parse,
        upcoming=granicus.upcoming,
        days=granicus.days,
        items=granicus.items,
        signal=granicus.signal,
    ),
    "icalendar": Vendor(
        parse=calendar_file.parse,
        upcoming=calendar_file.upcoming,
    ),
    "iqm2": Vendor(
        parse=iqm2.parse,
        upcoming=partial(_next_half_year, iqm2.days),
        days=iqm2.days,
        items=iqm2.items,
    ),
    "legistar": Vendor(
        parse=legistar_api.parse,
        upcoming=legistar_api.upcoming,
        days=legistar_api.days,
        items=legistar_api.items,
        signal=legistar_api.signal,
        votes=legistar_api.votes,
        roster=legistar_api.roster,
        lists_changes_only=True,
        unknown_marks=(b"legistarconnectionstring setting is not set up",),
        closed_marks=(b"key or token is required",),
    ),
    "legistar_html": Vendor(
        parse=legistar_pages.parse,
        upcoming=legistar_pages.upcoming,
        items=legistar_pages.items,
        unknown_marks=(b"invalid parameters!",),
    ),
    "municode": Vendor(
        parse=municode.parse,
        upcoming=partial(_next_half_year, municode.days),
        days=municode.days,
        items=municode.items,
    ),
    "novusagenda": Vendor(
        parse=novusagenda.parse,
        upcoming=novusagenda.upcoming,
        days=novusagenda.days,
        items=novusagenda.items,
    ),
    "onbase": Vendor(
        parse=onbase.parse,
        upcoming=partial(_next_half_year, onbase.days),
        days=onbase.days,
        items=onbase.items,
    ),
    "pdf_links": Vendor(
        parse=pdf_links.parse,
        upcoming=pdf_links.upcoming,
    ),
    "primegov": Vendor(
        parse=primegov.parse,
        upcoming=primegov.upcoming,
        days=primegov.days,
        items=primegov.items,
    ),
}


def vendor_of(kind: str) -> Vendor:
    """Return the vendor of a kind. Raises SourceError for a kind that is not in the
    table.
    """
    vendor = CIVIC_KINDS.get(kind)
    if vendor is None:
        raise SourceError(f"unknown kind {kind!r}; known: {', '.join(CIVIC_KINDS)}")
    return vendor


# --- one answer -----------------------------------------------------------------------


def read_answer(vendor: Vendor, page: Page, context: ParseContext) -> MeetingListing:
    """Return what an answer says, refusals included.

    Raises:
        ListingChangedError: A 200 that is no answer of this vendor.
        SourceError: A broken or empty document.
    """
    refusal = _refusal(vendor, page)
    if refusal is not None:
        state, reason = refusal
        return MeetingListing(state=state, problems=(reason,))
    listing = vendor.parse(page, context)
    if not listing.meetings:
        return replace(listing, state="empty")
    # Meetings that nothing distinguishes are not stored.
    unnamed = sum(
        not one.is_partial and not listed_key(one) for one in listing.meetings
    )
    problem = f"{unnamed} meetings have neither id, title nor day"
    numbered = replace(
        listing,
        meetings=tuple(map(with_matter_numbers, listing.meetings)),
        problems=(*listing.problems, *problem_if(unnamed, problem)),
    )
    return _with_age(numbered, context)


def _with_age(listing: MeetingListing, context: ParseContext) -> MeetingListing:
    """Return the listing; it is stale if its newest meeting is long past."""
    begins: list[datetime] = []
    for one in listing.meetings:
        if one.starts_at:
            begins.append(one.starts_at)
    newest = max(begins, default=context.now)
    if newest >= context.now - timedelta(days=_STALE_DAYS):
        return listing
    problem = f"stale: the newest meeting is of {newest:%Y-%m-%d}"
    return replace(listing, state="stale", problems=(*listing.problems, problem))


def _refusal(vendor: Vendor, page: Page) -> tuple[AnswerState, str] | None:
    """Return the state that an answer refuses with, and why; None for an answer that
    can be read.
    """
    body = page.body[:_MAX_REFUSAL_BYTES].lower()
    if any(mark in body for mark in vendor.unknown_marks):
        return "unknown_client", f"{page.url}: the vendor has no such client"
    if page.status < 400:
        return _disguised_refusal(page, body)
    if _is_closed(vendor, page.status, body):
        return "closed", f"{page.url}: closed without a token (status {page.status})"
    if page.status in (404, 410):
        return "unknown_client", f"{page.url}: status {page.status}"
    protection = protection_of_refusal(body)
    by_whom = f" ({protection})" if protection else ""
    return "blocked", f"{page.url}: status {page.status}{by_whom}"


def _disguised_refusal(page: Page, body: bytes) -> tuple[AnswerState, str] | None:
    """Return the refusal of a small page that is a challenge for browsers."""
    if len(page.body) >= _MAX_REFUSAL_BYTES // 10:
        return None
    protection = protection_of_page(body)
    if protection is None:
        return None
    return "blocked", f"{page.url}: an anti-bot page ({protection})"


def _is_closed(vendor: Vendor, status: int, body: bytes) -> bool:
    """Whether a vendor with tokens refuses one without: it says so, or says nothing."""
    if not vendor.closed_marks:
        return False
    if status in (401, 403) and not body.strip():
        return True
    return any(mark in body for mark in vendor.closed_marks)


# --- saved answers --------------------------------------------------------------------

_MAX_EXCHANGES = 2000
_STATES: Final[tuple[AnswerState, ...]] = (
    "ok",
    "stale",
    "blocked",
    "closed",
    "unknown_client",
    "empty",
)


def read_saved_answers(
    kind: str, answers: list[tuple[str, bytes]], url: str, context: ParseContext
) -> MeetingListing:
    """Return the meetings of saved answers, each (name, bytes); what cannot be read is
    a problem.

    Raises:
        SourceError: An unknown kind.
    """
    vendor = vendor_of(kind)
    listings: list[MeetingListing] = []
    unread: list[str] = []
    for name, body in answers:
        for page in _pages_of(name, body, url, context.now):
            try:
                listings.append(read_answer(vendor, page, context))
            except NewsAssetsError as error:
                unread.append(str(error))
    return _joined(listings, unread)


def _joined(listings: Sequence[MeetingListing], unread: list[str]) -> MeetingListing:
    """Return the meetings of several answers; `unread` are the problems of others."""
    meetings: list[Meeting] = []
    problems: list[str] = []
    for listing in listings:
        meetings += listing.meetings
        problems += listing.problems
    voted = [with_votes(one, listings) for one in merged(meetings)]
    return MeetingListing(
        meetings=tuple(voted),
        state=_state_of(listings),
        problems=tuple(dict.fromkeys(problems + unread)),
    )


def _state_of(listings: Iterable[MeetingListing]) -> AnswerState:
    """Return the state of several answers: the first one in the order of _STATES."""
    found = {listing.state for listing in listings}
    for state in _STATES:
        if state in found:
            return state
    return "empty"


def _pages_of(name: str, body: bytes, url: str, now: datetime) -> list[Page]:
    """Return the answers that a file holds: one of each exchange, or the file itself."""
    exchanges = _exchanges(body, now)
    if not exchanges:
        return [_page(url or name, 200, body, now)]
    pages: list[Page] = []
    for method, page in exchanges:
        if _is_answer(method, page):
            pages.append(page)
    return pages


def _exchanges(body: bytes, now: datetime) -> list[tuple[str, Page]]:
    """Return method and answer of each exchange in JSON lines; none in another file."""
    if body.lstrip()[:1] != b"{":
        return []
    found: list[tuple[str, Page]] = []
    for line in body.splitlines()[:_MAX_EXCHANGES]:
        exchange = _exchange(line, now)
        if exchange is not None:
            found.append(exchange)
    return found


def _is_answer(method: str, page: Page) -> bool:
    """Whether an exchange is the answer of a vendor: no redirect, no file, not empty."""
    if method not in ("GET", "POST"):
        return False
    if 300 <= page.status < 400:
        return False
    if page.status == 200 and not page.body.strip():
        return False
    return file_of(page) is None


def _exchange(line: bytes, now: datetime) -> tuple[str, Page] | None:
    """Return method and answer of a line that is an exchange."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    status = found.get("status")
    url = found.get("url")
    if not isinstance(status, int):
        return None
    if not isinstance(url, str):
        return None
    method = str(found.get("method", "GET")).upper()
    return method, _page(url, status, _body(found), now)


def _body(exchange: dict[str, object]) -> bytes:
    text = exchange.get("text")
    encoded = exchange.get("base64")
    if isinstance(encoded, str):
        try:
            return base64.b64decode(encoded)
        except binascii.Error:
            return b""
    if not isinstance(text, str):
        return b""
    return text.encode("utf-8", "replace")


def _page(url: str, status: int, body: bytes, now: datetime) -> Page:
    return Page(
        url=url,
        final_url=url,
        status=status,
        body=body,
        fetched_at=now,
    )
