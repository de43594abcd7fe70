"""Evaluates addresses of civic vendors: one request each, for the meetings to come.

Where that answer lists none itself but names the lists of committees, the first of them
is requested too.
"""

from collections.abc import Collection
from typing import Final

from news_assets.errors import FetchError, NewsAssetsError
from news_assets.pipeline.discovery.budgeted_fetcher import BudgetedFetcher
from news_assets.pipeline.discovery.candidates import Candidate, Contents, Criteria
from news_assets.ports.reading import PageRequest, Sandbox
from news_assets.records.meetings import Meeting, MeetingListing, Request
from news_assets.records.reading import ListedEntry
from news_assets.sources.civic.detection import VendorAddress
from news_assets.sources.civic.vendor import Reading, read
from news_assets.sources.civic.vendor_readers import vendor_of
from news_assets.text.dates import day_of

KEY_NOTE: Final = "give the agency the key of its city, such as paloaltoCA"
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
    request = vendor_of(at.kind).upcoming(
        at.url, day_of(criteria.now, criteria.timezone)
    )[0]
    refused = Candidate(url=at.url, kind=at.kind, found_by=found_by)
    listing = _listing(at, request, requests, sandbox, criteria)
    if (
        isinstance(listing, MeetingListing)
        and not listing.meetings
        and listing.next_requests
    ):
        listing = _listing(at, listing.next_requests[0], requests, sandbox, criteria)
    if isinstance(listing, FetchError):
        return _refused(refused, [listing.reason])
    if isinstance(listing, NewsAssetsError):
        return _refused(refused, [str(listing)])
    if listing.state != "ok":
        return _refused(refused, listing.problems or ["no meetings"], listing.state)
    return Candidate(
        url=at.url,
        kind=at.kind,
        found_by=found_by,
        contents=_contents(listing, at),
        notes=(_meetings_note(listing, criteria), KEY_NOTE),
    )


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


def _refused(
    candidate: Candidate, reasons: Collection[str], state: str = ""
) -> Candidate:
    notes = (_TOKEN_NOTE,) if state == "closed" else ()
    return Candidate(
        url=candidate.url,
        kind=candidate.kind,
        found_by=candidate.found_by,
        refusals=tuple(reasons),
        notes=notes,
    )


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
    times = sorted(
        meeting.starts_at for meeting in listing.meetings if meeting.starts_at
    )
    following = next((at for at in times if at >= criteria.now), None)
    count = f"{len(listing.meetings)} meetings"
    if following is not None:
        return f"{count}, the next on {following:%Y-%m-%d}"
    return f"{count}, the last on {times[-1]:%Y-%m-%d}" if times else count
