"""Polls of civic sources: their requests, which `poll/poll_loop.py` sends. No lake.

All days of a pass are requested once a night (`pace.py`), because what vendors say
about changes is not always true. Between two passes the vendor's change signal is
requested, where there is one, and then the days that changed. Which requests follow an
answer is decided in `council_poll.py`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from news_assets.errors import FetchError
from news_assets.pipeline.civic.council_findings import Days
from news_assets.pipeline.civic.council_poll import (
    CouncilPoll,
    KnownItems,
    KnownVersions,
    Purpose,
)
from news_assets.pipeline.civic.pace import Needs, is_pass_due, pass_days
from news_assets.pipeline.poll.poll_loop import SOURCE_S, Polled, SourcePoll
from news_assets.ports.services import PageRequest, Sandbox
from news_assets.records.articles import SourceState
from news_assets.records.desks import ItemFilters, Source
from news_assets.records.meetings import Request, StoredMeeting
from news_assets.records.reading import Page
from news_assets.sources.civic.reading.meetings import ParseContext
from news_assets.sources.civic.vendors import vendor_of
from news_assets.text.dates import day_of
from news_assets.text.urls import host_of

# Sunday: bodies and members are listed by the pass of one night a week
_ROSTER_WEEKDAY = 6
_MAX_REQUESTS = 200  # of one poll: an answer may name pages without end


@dataclass(frozen=True, slots=True, kw_only=True)
class CouncilRun:
    """What the polls of a run have in common.

    Attributes:
        states: Of the sources, by source_id.
        stored: Meetings by agency: their items are requested again if they changed, or
            are near or old.
        known_items: The stored items of a meeting.
        known_versions: Which versions of items have their votes and sponsors.
        filters: Of agenda items, by their title.
        past: First and last day: sources that can list past days are polled for these.
        full_pass: No change signal is requested, but the items of every listed meeting.
    """

    states: Mapping[str, SourceState]
    stored: Mapping[str, Sequence[StoredMeeting]]
    known_items: KnownItems
    known_versions: KnownVersions
    filters: ItemFilters
    past: Days | None = None
    full_pass: bool = False


def council_polls(
    sources: Iterable[Source],
    run: CouncilRun,
    sandbox: Sandbox,
    clock: Callable[[], datetime],
) -> dict[PageRequest, SourcePoll]:
    """Return the polls of these sources by their first requests, for `run_polls`.

    Args:
        sources: The civic sources to poll.
        run: What their polls have in common.
        sandbox: Reads the answers.
        clock: The time of a poll.
    """
    now = clock()
    polls: dict[PageRequest, SourcePoll] = {}
    for source in sources:
        if run.past is not None and vendor_of(source.kind).days is None:
            continue
        poll, since = _begun(source, run, now)
        requests = _CouncilRequests(poll, sandbox, clock)
        for request in requests.send(poll.first(since)):
            polls[request] = requests
    return polls


def _begun(
    source: Source, run: CouncilRun, now: datetime
) -> tuple[CouncilPoll, datetime | None]:
    """Return the poll of a source, and the time since which the signal is requested;
    None for a pass.
    """
    is_of_past = run.past is not None
    state = run.states.get(source.source_id)
    known = _passed_state(state, source)
    passed_at = known.passed_at if known else None
    is_pass = run.full_pass or is_pass_due(source, passed_at, now)
    today = day_of(now, source.timezone)
    is_roster_day = known is None or today.weekday() == _ROSTER_WEEKDAY
    is_roster_due = run.full_pass or is_roster_day
    needs = Needs(now=now, is_pass=is_pass, is_forced=run.full_pass)
    if is_of_past:
        is_roster_due = False
        needs = Needs(now=now, is_pass=False, is_forced=False)
    poll = CouncilPoll(
        source=source,
        vendor=vendor_of(source.kind),
        context=ParseContext(
            timezone=source.timezone, now=now, selectors=source.selectors
        ),
        stored=run.stored.get(source.agency, ()),
        known_items=run.known_items,
        known_versions=run.known_versions,
        is_roster_due=is_roster_due,
        filters=run.filters,
        days=run.past or pass_days(today),
        needs=needs,
        is_of_past=is_of_past,
        known_signals=_signals_of(known),
    )
    if state is None or is_of_past or is_pass:
        return poll, None
    return poll, state.last_polled_at


def _passed_state(state: SourceState | None, source: Source) -> SourceState | None:
    """Return the state of a source if it has had a pass at the address of today."""
    if state is None:
        return None
    if state.url != source.url:
        return None
    if state.passed_at is None:
        return None
    return state


def _signals_of(state: SourceState | None) -> dict[str, str]:
    """Return the fingerprints of the last change signal by day."""
    signals: dict[str, str] = {}
    for one in state.signals if state else ():
        day, _, found = one.partition("=")
        signals[day] = found
    return signals


class _CouncilRequests:
    """The requests of one council's poll: each is sent once, _MAX_REQUESTS at most."""

    def __init__(
        self, poll: CouncilPoll, sandbox: Sandbox, clock: Callable[[], datetime]
    ) -> None:
        self._poll = poll
        self._sandbox = sandbox
        self._clock = clock
        self._waiting: dict[PageRequest, Purpose] = {}
        self._count = 0
        self._has_deferred = False

    def send(self, requests: Iterable[tuple[Request, Purpose]]) -> list[PageRequest]:
        """Return the requests to send of these."""
        poll = self._poll
        sent: list[PageRequest] = []
        for request, purpose in requests:
            if request in poll.sent:  # a page that names itself as the next one
                continue
            poll.sent.add(request)
            if self._count == _MAX_REQUESTS:
                poll.problems.append(f"stopped after {_MAX_REQUESTS} requests")
            self._count += 1
            if self._count > _MAX_REQUESTS:
                poll.defer(purpose)
                continue
            page_request = self._page_request(request)
            self._waiting[page_request] = purpose
            sent.append(page_request)
        return sent

    def _page_request(self, request: Request) -> PageRequest:
        source = self._poll.source
        return PageRequest(
            request.url,
            f"{source.source_id} {self._count}",
            obeys_robots=host_of(request.url) != host_of(source.url),
            max_s=SOURCE_S,
            access=source.access,
            body=request.body if request.method == "POST" else None,
            headers=request.headers,
            keeps_refusals=True,
        )

    def take(
        self, request: PageRequest, answer: Page | FetchError
    ) -> list[PageRequest]:
        """Add an answer; return the requests that follow it.

        After the listing come the items, agendas that are documents, and votes.
        """
        poll = self._poll
        purpose = self._waiting.pop(request)
        sent = self.send(poll.take(purpose, answer, self._sandbox))
        for requests in (poll.of_items, poll.of_documents, poll.of_votes):
            if self._waiting:
                break
            sent += self.send(requests())
        return sent

    def defer(self, request: PageRequest) -> None:
        """Note a request that is not sent: the next poll sends it."""
        self._poll.defer(self._waiting.pop(request))
        self._has_deferred = True

    def polled(self) -> Polled | None:
        """Return the poll once no answer is to come; None if none came in time."""
        if self._waiting:
            return None
        if self._has_deferred and self._poll.page is None:
            return None
        return self._poll.polled(self._clock())
