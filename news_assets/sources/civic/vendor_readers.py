"""The table of vendors: kind -> Vendor. A new kind is one module and one entry here and
in `vendor_limits.py`.

Saved answers of one client are read here too: a single answer, JSON lines of exchanges,
or a folder of answers. An exchange is `{method, url, status, headers, text}` or with
`base64` in place of `text`. Answers that are not of the vendor's pages, such as its PDF
documents, are omitted. Meetings of several answers are put together: an answer that
only has a meeting's items completes the listed one.
"""

import base64
import binascii
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from news_assets.errors import NewsAssetsError, SourceError
from news_assets.records.meetings import AnswerState, Meeting, MeetingListing
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
from news_assets.sources.civic.reading.merging import merged, with_votes
from news_assets.sources.civic.vendor import Reading, Vendor, read
from news_assets.sources.platforms import file_of

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
        upcoming=civicweb.upcoming,
        days=civicweb.days,
        items=civicweb.items,
    ),
    "escribe": Vendor(
        parse=escribe.parse,
        upcoming=escribe.upcoming,
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
        upcoming=iqm2.upcoming,
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
        upcoming=municode.upcoming,
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
        upcoming=onbase.upcoming,
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


def read_answers(
    kind: str, answers: list[tuple[str, bytes]], url: str, reading: Reading
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
        for page in _pages_of(name, body, url, reading.now):
            try:
                listings.append(read(vendor, page, reading))
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
    status, url = found.get("status"), found.get("url")
    if not isinstance(status, int):
        return None
    if not isinstance(url, str):
        return None
    method = str(found.get("method", "GET")).upper()
    return method, _page(url, status, _body(found), now)


def _body(exchange: dict[str, object]) -> bytes:
    text, encoded = exchange.get("text"), exchange.get("base64")
    if isinstance(encoded, str):
        try:
            return base64.b64decode(encoded)
        except binascii.Error:
            return b""
    if not isinstance(text, str):
        return b""
    return text.encode("utf-8", "replace")


def _page(url: str, status: int, body: bytes, now: datetime) -> Page:
    return Page(url=url, final_url=url, status=status, body=body, fetched_at=now)
