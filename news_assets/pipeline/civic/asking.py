"""Ask civic sources for their meetings: what is requested of each in which order, and what its answers say. No lake.

A source is asked for all days of a pass once a night (`pace.py`), because what vendors say about changes is not always
true. Between two such passes it is asked for the vendor's change signal, where there is one, and
then for the days that changed. Items are asked for where a meeting is new or changed, and at each pass.
"""

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from math import inf
from typing import Literal, NamedTuple

from news_assets.errors import ClosedSourceError, FetchError, NewsAssetsError, SourceError
from news_assets.pipeline.civic.pace import is_pass_due, pass_days
from news_assets.pipeline.poll.listings import Polled
from news_assets.pipeline.poll.paging import SOURCE_S
from news_assets.pipeline.stage_state.retries import outcome_of
from news_assets.ports.reading import Fetcher, PageRequest, Sandbox
from news_assets.records.desks import ItemFilters, Source
from news_assets.records.meetings import AnswerState, Meeting, MeetingAnswer, MeetingListing, Request, StoredMeeting
from news_assets.records.polling import SourceState
from news_assets.records.reading import Listing, Outcome, Page
from news_assets.sources.civic.exchanges import merged
from news_assets.sources.civic.kinds import vendor_of
from news_assets.sources.civic.reading.ids import meeting_id
from news_assets.sources.civic.reading.signal import UNDATED, changed_days, fingerprint, fingerprints
from news_assets.sources.civic.vendor import Reading, Vendor, read
from news_assets.text.dates import day_of
from news_assets.text.urls import host_of

ITEMS_EVERY = timedelta(hours=12)  # a pass asks again for items that are older
MAX_ITEM_REQUESTS = 60  # of one poll, nearest days first; the next poll asks for the others
MAX_REQUESTS = 200  # of one poll: an answer may name pages without end

Step = Literal["signal", "listing", "items"]
Days = tuple[date, date]
_OUTCOMES: Mapping[AnswerState, Outcome] = {"closed": "failed", "unknown_client": "failed", "blocked": "blocked"}


class _Asked(NamedTuple):
    """One request of a poll: the poll, what is asked for, and the vendor's id of the meeting whose items they are."""

    inquiry: "_Inquiry"
    step: Step
    meeting: str = ""


@dataclass(slots=True, eq=False)
class _Inquiry:
    """The poll of one source while its answers arrive."""

    source: Source
    vendor: Vendor
    reading: Reading
    stored: Mapping[str, StoredMeeting]
    filters: ItemFilters
    days: Days
    is_pass: bool
    is_of_past: bool
    known_signals: Mapping[str, str]
    listings: list[MeetingListing] = field(default_factory=list)
    partial: list[Meeting] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    signals: dict[str, str] | None = None
    page: Page | None = None
    error: FetchError | SourceError | None = None
    outcome: Outcome = "failed"
    waiting: int = 0
    requests: int = 0
    elapsed_ms: int = 0
    is_whole: bool = True
    has_asked_items: bool = False

    # --- requests ----------------------------------------------------------------------------------------------------

    def first(self, since: datetime | None) -> list[tuple[Request, _Asked]]:
        """Return the requests that the poll begins with: the signal since a time, or those of its days."""
        if since is not None and self.vendor.signal is not None:
            return [(self.vendor.signal(self.source.url, since), _Asked(self, "signal"))]
        return self._of_days()

    def _of_days(self) -> list[tuple[Request, _Asked]]:
        days, url = self.vendor.days, self.source.url
        today = day_of(self.reading.now, self.source.timezone)
        found = days(url, *self.days) if days is not None else self.vendor.upcoming(url, today)
        return [(request, _Asked(self, "listing")) for request in found]

    def of_items(self) -> list[tuple[Request, _Asked]]:
        """Return the requests for the items of the listed meetings that need them, once."""
        if self.has_asked_items:
            return []
        self.has_asked_items = True
        if self.vendor.items is None:
            self.asked |= {meeting.vendor_id for meeting in self._listed()}
            return []
        wanted = sorted(filter(self._needs_items, self._listed()), key=self._distance)
        if len(wanted) > MAX_ITEM_REQUESTS:
            self.problems.append(f"items of {len(wanted) - MAX_ITEM_REQUESTS} meetings are left for the next poll")
        found = {one.vendor_id: self.vendor.items(self.source.url, one) for one in wanted[:MAX_ITEM_REQUESTS]}
        self.asked |= {meeting for meeting, requests in found.items() if not requests}  # it has no agenda yet
        return [(request, _Asked(self, "items", meeting)) for meeting in found for request in found[meeting]]

    def _needs_items(self, meeting: Meeting) -> bool:
        if meeting.items or meeting.starts_at is None or meeting.status == "cancelled":
            return False
        known = self.stored.get(meeting_id(self.source.agency, self.source.kind, meeting))
        if known is None or known.items_asked_at is None or known.listed_hash != fingerprint(meeting):
            return True
        return self.is_pass and self.reading.now - known.items_asked_at >= ITEMS_EVERY

    def _distance(self, meeting: Meeting) -> timedelta:
        return abs(meeting.starts_at - self.reading.now) if meeting.starts_at else timedelta.max

    # --- answers -----------------------------------------------------------------------------------------------------

    def take(self, asked: _Asked, answer: Page | FetchError, sandbox: Sandbox) -> list[tuple[Request, _Asked]]:
        """Add an answer; return the requests that continue it."""
        self.waiting -= 1
        self.elapsed_ms += answer.elapsed_ms
        listing = self._read(answer, sandbox)
        if isinstance(listing, NewsAssetsError):
            return self._fail(asked, listing, outcome_of(listing))
        if listing.state in _OUTCOMES:
            kind = SourceError if listing.state == "blocked" else ClosedSourceError
            return self._fail(asked, kind("; ".join(listing.problems)), _OUTCOMES[listing.state])
        self.page = answer if isinstance(answer, Page) and self.page is None else self.page
        self.problems += listing.problems
        if asked.step == "signal":
            return self._after_signal(listing)
        if asked.step == "items":
            self.asked.add(asked.meeting)
            self.partial += [meeting for meeting in listing.meetings if meeting.is_partial]
        else:
            self.listings.append(listing)
        return [(request, asked) for request in listing.next_requests]

    def _read(self, answer: Page | FetchError, sandbox: Sandbox) -> MeetingListing | NewsAssetsError:
        if isinstance(answer, FetchError):
            return answer
        [listing] = sandbox.run(read, [(self.vendor, answer, self.reading)])
        return listing

    def _fail(self, asked: _Asked, error: NewsAssetsError, outcome: Outcome) -> list[tuple[Request, _Asked]]:
        """Note a failed answer: nothing is inferred from it, and items that were not had are asked for again."""
        self.is_whole = False
        if asked.step == "items":
            self.problems.append(f"items of meeting {asked.meeting}: {error}")
        else:
            self.error = error if isinstance(error, FetchError | SourceError) else SourceError(str(error))
            self.outcome = outcome
        return []

    def _after_signal(self, listing: MeetingListing) -> list[tuple[Request, _Asked]]:
        """Return the requests for the days that changed."""
        found, lists_changes_only = fingerprints(listing), self.vendor.lists_changes_only
        changed = changed_days(self.known_signals, found, lists_changes_only=lists_changes_only)
        self.signals = {**self.known_signals, **found} if lists_changes_only else found
        if not changed:
            return []
        if UNDATED not in changed and self.vendor.days is not None:
            days = [date.fromisoformat(day) for day in changed]
            self.days = min(days), max(days)
        return self._of_days()

    # --- the poll ----------------------------------------------------------------------------------------------------

    def _listed(self) -> tuple[Meeting, ...]:
        """Return the meetings of the days asked for, with their items; some clients ignore the days of a request."""
        found = merged([*(meeting for listing in self.listings for meeting in listing.meetings), *self.partial])
        first, last = self.days if self.vendor.days is not None else (self.days[0], date.max)
        return tuple(
            meeting
            for meeting in found
            if not meeting.is_partial and (meeting.starts_at is None or first <= meeting.starts_at.date() <= last)
        )

    def _whole_days(self, meetings: Sequence[Meeting]) -> Days | None:
        """Return the days of which every meeting is listed: those asked for, or up to the last one listed."""
        if not self.is_whole or not self.listings:
            return None
        if self.vendor.days is not None:
            return self.days
        listed = [meeting.starts_at.date() for meeting in meetings if meeting.starts_at]
        today = day_of(self.reading.now, self.source.timezone)
        return (today, max(listed)) if listed and max(listed) >= today else None

    def polled(self, now: datetime) -> Polled:
        """Return the poll."""
        if self.error is not None and not self.listings:
            return Polled(
                source=self.source,
                polled_at=now,
                elapsed_ms=self.elapsed_ms,
                outcome=self.outcome,
                error=self.error,
                is_of_past=self.is_of_past,
            )
        meetings = self._listed()
        signals = None if self.signals is None else tuple(f"{day}={found}" for day, found in self.signals.items())
        stale = [problem for listing in self.listings if listing.state == "stale" for problem in listing.problems]
        return Polled(
            source=self.source,
            polled_at=now,
            elapsed_ms=self.elapsed_ms,
            outcome="ok" if self.listings else "unchanged",
            is_of_past=self.is_of_past,
            page=self.page,
            listing=Listing(entries=(), is_whole=False, problems=tuple(self.problems)) if self.listings else None,
            note=next(iter(stale), str(self.error) if self.error else None),
            answer=MeetingAnswer(
                meetings=meetings,
                whole_days=self._whole_days(meetings),
                asked=frozenset(self.asked),
                signals=signals,
                is_pass=self.is_pass and self.is_whole,
                filters=self.filters,
            ),
        )


def ask_sources(
    sources: Iterable[Source],
    states: Mapping[str, SourceState],
    stored: Mapping[str, StoredMeeting],
    filters: ItemFilters,
    fetcher: Fetcher,
    sandbox: Sandbox,
    clock: Callable[[], datetime],
    begin_within_s: float = inf,
    past: Days | None = None,
) -> Generator[Polled, None, None]:
    """Yield the poll of each source once its answers are there; an error of one source does not affect the others.

    `stored` are meetings by meeting_id: their items are asked for again only if they changed. After `begin_within_s`
    seconds no request begins: sources of which nothing was requested are left out, and what else is missing is asked
    for by the next poll. With `past` the sources that can list past days are asked for these.
    """
    ends_at = time.monotonic() + begin_within_s
    now = clock()
    waiting: dict[PageRequest, _Asked] = {}
    for source in sources:
        inquiry, since = _begun(source, states.get(source.source_id), stored, filters, now, past)
        if past is None or inquiry.vendor.days is not None:
            _send(inquiry, inquiry.first(since), waiting)
    while waiting:
        following: dict[PageRequest, _Asked] = {}
        left_s = None if begin_within_s == inf else max(0.0, ends_at - time.monotonic())
        for request, answer in fetcher.fetch_all(tuple(waiting), left_s):
            asked = waiting.pop(request)
            _send(asked.inquiry, asked.inquiry.take(asked, answer, sandbox), following)
            if _is_over(asked.inquiry, following):
                yield asked.inquiry.polled(clock())
        for asked in waiting.values():  # no time was left for them
            asked.inquiry.waiting -= 1
            asked.inquiry.is_whole = False
            if not asked.inquiry.waiting and asked.inquiry.page is not None:
                yield asked.inquiry.polled(clock())
        waiting = following


def _begun(
    source: Source,
    state: SourceState | None,
    stored: Mapping[str, StoredMeeting],
    filters: ItemFilters,
    now: datetime,
    past: Days | None,
) -> tuple[_Inquiry, datetime | None]:
    """Return the poll of a source, and the time since which the signal is asked for; None for a pass."""
    is_known = state is not None and state.url == source.url and state.passed_at is not None
    since = None
    if past is None and is_known and state is not None and not is_pass_due(source, state.passed_at, now):
        since = state.last_polled_at
    vendor = vendor_of(source.kind)
    today = day_of(now, source.timezone)
    inquiry = _Inquiry(
        source=source,
        vendor=vendor,
        reading=Reading(timezone=source.timezone, now=now, selectors=source.selectors),
        stored=stored,
        filters=filters,
        days=past or pass_days(today),
        is_pass=past is None and (since is None or vendor.signal is None),
        is_of_past=past is not None,
        known_signals=dict(one.partition("=")[::2] for one in (state.signals if state and is_known else ())),
    )
    return inquiry, since


def _send(inquiry: _Inquiry, requests: Iterable[tuple[Request, _Asked]], waiting: dict[PageRequest, _Asked]) -> None:
    """Add requests to those that wait."""
    for request, asked in requests:
        if inquiry.requests == MAX_REQUESTS:
            inquiry.is_whole = False
            inquiry.problems.append(f"stopped after {MAX_REQUESTS} requests")
            return
        inquiry.requests += 1
        inquiry.waiting += 1
        source = inquiry.source
        page_request = PageRequest(
            request.url,
            f"{source.source_id} {inquiry.requests}",
            obeys_robots=host_of(request.url) != host_of(source.url),
            max_s=SOURCE_S,
            access=source.access,
            body=request.body if request.method == "POST" else None,
            headers=request.headers,
            keeps_refusals=True,
        )
        waiting[page_request] = asked


def _is_over(inquiry: _Inquiry, following: dict[PageRequest, _Asked]) -> bool:
    """Whether a poll has all its answers; once its meetings are listed, their items are asked for."""
    if inquiry.waiting:
        return False
    _send(inquiry, inquiry.of_items(), following)
    return not inquiry.waiting
