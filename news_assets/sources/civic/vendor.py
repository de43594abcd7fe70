"""The interface of a vendor: how one answer is read, and which requests give its parts.
Functions only, no I/O.

A source's address is the vendor's base for one client:
`https://webapi.legistar.com/v1/seattle`. A vendor without a function for something
cannot do it: without `days` it cannot list its past, without `signal` the listing
itself is the signal. Answers of `signal` and of listings are compared by
`reading/ids.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from news_assets.records.desks import Selectors
from news_assets.records.meetings import (
    AgendaItem,
    AnswerState,
    Meeting,
    MeetingListing,
    Request,
)
from news_assets.records.reading import Page
from news_assets.sources.bot_protection import protection_of_page, protection_of_refusal
from news_assets.sources.civic.reading.ids import listed_key
from news_assets.sources.civic.reading.numbering import with_matter_numbers
from news_assets.sources.storable_entries import problem_if

# a client that moved to another vendor goes on answering with its last meetings for
# years
_STALE_DAYS = 45
_MAX_REFUSAL_BYTES = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What an answer is read with: the agency's zone (IANA), the present, and the
    selectors of a page of links.
    """

    timezone: str
    now: datetime
    selectors: Selectors | None = None


Requests = tuple[Request, ...]
_Parse = Callable[[Page, Reading], MeetingListing]


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


def read(vendor: Vendor, page: Page, reading: Reading) -> MeetingListing:
    """Return what an answer says, refusals included.

    Raises:
        ListingChangedError: A 200 that is no answer of this vendor.
        SourceError: A broken or empty document.
    """
    refusal = _refusal(vendor, page)
    if refusal is not None:
        state, reason = refusal
        return MeetingListing(state=state, problems=(reason,))
    listing = vendor.parse(page, reading)
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
    return _with_age(numbered, reading)


def _with_age(listing: MeetingListing, reading: Reading) -> MeetingListing:
    """Return the listing; it is stale if its newest meeting is long past."""
    begins: list[datetime] = []
    for one in listing.meetings:
        if one.starts_at:
            begins.append(one.starts_at)
    newest = max(begins, default=reading.now)
    if newest >= reading.now - timedelta(days=_STALE_DAYS):
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


def json_post(url: str, body: bytes) -> Request:
    """Return a request with a JSON body."""
    headers = (
        ("Content-Type", "application/json; charset=utf-8"),
        ("Accept", "application/json"),
    )
    return Request(url=url, method="POST", body=body, headers=headers)
