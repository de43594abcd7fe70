"""Evaluates addresses of civic vendors: one request each, for the meetings to come.

Where that answer lists none itself but names the lists of committees, the first of them
is requested too.
"""

from dataclasses import replace
from typing import Final

from news_assets.errors import FetchError, NewsAssetsError
from news_assets.pipeline.discovery.budgeted_fetcher import BudgetedFetcher
from news_assets.pipeline.discovery.candidates import Candidate, Contents, Criteria
from news_assets.ports.services import PageRequest, Sandbox
from news_assets.records.meetings import Meeting, MeetingListing, Request
from news_assets.records.reading import ListedEntry
from news_assets.sources.civic.detection import VendorAddress
from news_assets.sources.civic.vendor import Reading, read
from news_assets.sources.civic.vendor_readers import vendor_of
from news_assets.text.dates import day_of

_KEY_NOTE: Final = "give the agency the key of its city, such as paloaltoCA"
_TOKEN_NOTE: Final = "name the variable of its token with `token_env` if you have one"


def civic_candidate(
    at: VendorAddress,
    found_by: str,
    requests: BudgetedFetcher,
    sandbox: Sandbox,
    criteria: Criteria,
) -> Candidate:
    """Return the candidate at an address of a vendor, refused where it lists no current
    meetings.
    """
    today = day_of(criteria.now, criteria.timezone)
    request = vendor_of(at.kind).upcoming(at.url, today)[0]
    candidate = Candidate(url=at.url, kind=at.kind, found_by=found_by)
    listing = _listing(at, request, requests, sandbox, criteria)
    committees = _lists_of_committees(listing)
    if committees:
        listing = _listing(at, committees[0], requests, sandbox, criteria)
    if isinstance(listing, FetchError):
        return replace(candidate, refusals=(listing.reason,))
    if isinstance(listing, NewsAssetsError):
        return replace(candidate, refusals=(str(listing),))
    if listing.state != "ok":
        return replace(
            candidate,
            refusals=tuple(listing.problems or ["no meetings"]),
            notes=(_TOKEN_NOTE,) if listing.state == "closed" else (),
        )
    return replace(
        candidate,
        contents=_contents(listing, at),
        notes=(_meetings_note(listing, criteria), _KEY_NOTE),
    )


def _lists_of_committees(
    listing: MeetingListing | NewsAssetsError,
) -> tuple[Request, ...]:
    """Return the requests that an answer without meetings names."""
    if isinstance(listing, NewsAssetsError) or listing.meetings:
        return ()
    return listing.next_requests


def _listing(
    at: VendorAddress,
    request: Request,
    requests: BudgetedFetcher,
    sandbox: Sandbox,
    criteria: Criteria,
) -> MeetingListing | NewsAssetsError:
    answer = requests.answer_to(
        PageRequest(
            request.url,
            body=request.body if request.method == "POST" else None,
            headers=request.headers,
            keeps_refusals=True,
        )
    )
    if isinstance(answer, FetchError):
        return answer
    reading = Reading(timezone=criteria.timezone, now=criteria.now)
    [listing] = sandbox.run(read, [(vendor_of(at.kind), answer, reading)])
    return listing


def _contents(listing: MeetingListing, at: VendorAddress) -> Contents:
    entries = tuple(_entry(meeting, at) for meeting in listing.meetings)
    dated = sum(entry.published_at is not None for entry in entries) / len(entries)
    titled = sum(bool(entry.title) for entry in entries) / len(entries)
    return Contents(entries=entries, dated_ratio=dated, titled_ratio=titled)


def _entry(meeting: Meeting, at: VendorAddress) -> ListedEntry:
    return ListedEntry(
        entry_id=meeting.vendor_id,
        url=meeting.url or meeting.agenda_url or f"{at.url}#{meeting.vendor_id}",
        title=meeting.title or meeting.body,
        published_at=meeting.starts_at,
    )


def _meetings_note(listing: MeetingListing, criteria: Criteria) -> str:
    starts = [meeting.starts_at for meeting in listing.meetings if meeting.starts_at]
    count = f"{len(listing.meetings)} meetings"
    coming = [at for at in starts if at >= criteria.now]
    if coming:
        return f"{count}, the next on {min(coming):%Y-%m-%d}"
    return f"{count}, the last on {max(starts):%Y-%m-%d}" if starts else count
