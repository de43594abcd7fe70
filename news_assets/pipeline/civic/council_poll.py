"""Polls of councils: how each begins, and what becomes of its answers.

`poll/poll_loop.py` sends the requests, `council_requests.py` decides which follow, and
`council_findings.py` holds what the answers say. The lake is read, and nothing is stored.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Final

from news_assets.errors import (
    ClosedSourceError,
    FetchError,
    ListingChangedError,
    NewsAssetsError,
    SourceError,
)
from news_assets.pipeline.civic.council_findings import CouncilFindings, Days
from news_assets.pipeline.civic.council_requests import (
    AgendaRules,
    CouncilRequests,
    PlannedRequests,
    Purpose,
)
from news_assets.pipeline.documents.agenda_files import read_agenda
from news_assets.pipeline.failures import outcome_of
from news_assets.pipeline.poll.poll_loop import SOURCE_S, Polled, SourcePoll
from news_assets.pipeline.schedule import (
    FUTURE_DAYS,
    PAST_DAYS,
    is_pass_due,
    pass_days,
)
from news_assets.ports.services import Clock, PageRequest, Reader, Sandbox
from news_assets.records.articles import SourceState
from news_assets.records.desks import Desk, Source
from news_assets.records.meetings import (
    AgendaItem,
    AnswerState,
    MeetingListing,
    Request,
    StoredMeeting,
)
from news_assets.records.reading import Outcome, Page
from news_assets.sources.civic.vendor_meetings import ParseContext
from news_assets.sources.civic.vendors import read_answer, vendor_of
from news_assets.sources.platforms import file_of
from news_assets.text.dates import day_of
from news_assets.text.urls import host_of

# Sunday: bodies and members are listed by the pass of one night a week
_ROSTER_WEEKDAY = 6
_MAX_REQUESTS = 200  # of one poll: an answer may name pages without end
_NO_PAGE: Final = (404, 410)
_OUTCOMES: Mapping[AnswerState, Outcome] = {
    "closed": "failed",
    "unknown_client": "failed",
    "blocked": "blocked",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CouncilRun:
    """What the polls of a run have in common.

    Attributes:
        lake: Where stored meetings and items are read.
        desk: The desk of the sources.
        states: Of the sources, by source_id.
        past: First and last day: sources that can list past days are polled for these.
        full_pass: No change signal is requested, but the items of every listed meeting.
    """

    lake: Reader
    desk: Desk
    states: Mapping[str, SourceState]
    past: Days | None = None
    full_pass: bool = False


def council_polls(
    sources: Sequence[Source],
    run: CouncilRun,
    sandbox: Sandbox,
    clock: Clock,
) -> dict[PageRequest, SourcePoll]:
    """Return the polls of these sources by their first requests, for `run_polls`.

    Args:
        sources: The civic sources to poll.
        run: What their polls have in common.
        sandbox: Reads the answers.
        clock: The time of a poll.
    """
    now = clock()
    stored = _stored_meetings(run, sources, now.date())
    polls: dict[PageRequest, SourcePoll] = {}
    for source in sources:
        if run.past is not None and vendor_of(source.kind).days is None:
            continue
        of_agency = stored.get(source.agency, ())
        requests = _requests_of(source, run, of_agency, now)
        poll = _CouncilPoll(requests, sandbox, clock)
        for request in poll.send(requests.first()):
            polls[request] = poll
    return polls


def _stored_meetings(
    run: CouncilRun, sources: Sequence[Source], today: date
) -> Mapping[str, Sequence[StoredMeeting]]:
    """Return the meetings of the agencies of these sources, on the days that are polled
    and those of a pass around them.
    """
    by_agency: dict[str, list[StoredMeeting]] = defaultdict(list)
    if not sources:
        return by_agency
    first, last = run.past or (today, today)
    first -= timedelta(days=PAST_DAYS + 1)
    last += timedelta(days=FUTURE_DAYS + 1)
    count = (last - first).days + 1
    for row in run.lake.read(
        StoredMeeting,
        desk=[run.desk.key],
        agency={source.agency for source in sources},
        day=[first + timedelta(days=n) for n in range(count)],
    ):
        by_agency[row.agency].append(row)
    return by_agency


def _requests_of(
    source: Source, run: CouncilRun, stored: Sequence[StoredMeeting], now: datetime
) -> CouncilRequests:
    """Return the requests of a source's poll; `stored` are the meetings of its agency."""
    is_of_past = run.past is not None
    state = _passed_state(run.states.get(source.source_id), source)
    today = day_of(now, source.timezone)
    rules = _agenda_rules(source, run, state, now)
    is_roster_day = state is None or today.weekday() == _ROSTER_WEEKDAY
    is_roster_due = not is_of_past and (run.full_pass or is_roster_day)
    found = CouncilFindings(
        source=source,
        vendor=vendor_of(source.kind),
        now=now,
        stored=stored,
        filters=run.desk.filters,
        days=run.past or pass_days(today),
        is_pass=rules.is_pass,
        is_of_past=is_of_past,
    )
    signal_since = None
    if state is not None and not is_of_past and not rules.is_pass:
        signal_since = state.last_polled_at
    return CouncilRequests(
        found=found,
        rules=rules,
        lake=run.lake,
        signal_since=signal_since,
        known_signals=_signals_of(state),
        is_roster_due=is_roster_due,
    )


def _agenda_rules(
    source: Source, run: CouncilRun, state: SourceState | None, now: datetime
) -> AgendaRules:
    """Return which agendas a poll requests; `state` is None before the first pass."""
    if run.past is not None:
        return AgendaRules(now=now, is_pass=False, is_forced=False)
    passed_at = state.passed_at if state else None
    is_pass = run.full_pass or is_pass_due(source, passed_at, now)
    return AgendaRules(now=now, is_pass=is_pass, is_forced=run.full_pass)


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


class _CouncilPoll:
    """The poll of one council while its answers arrive.

    Each request is sent once, _MAX_REQUESTS at most.
    """

    def __init__(
        self,
        requests: CouncilRequests,
        sandbox: Sandbox,
        clock: Clock,
    ) -> None:
        self._requests = requests
        self._found = requests.found
        self._sandbox = sandbox
        self._clock = clock
        self._sent: set[Request] = set()
        self._waiting: dict[PageRequest, Purpose] = {}
        self._count = 0
        self._has_deferred = False

    # --- requests ---------------------------------------------------------------------

    def send(self, requests: PlannedRequests) -> list[PageRequest]:
        """Return the requests to send of these."""
        to_send: list[PageRequest] = []
        for request, purpose in requests:
            if request in self._sent:  # a page that names itself as the next one
                continue
            self._sent.add(request)
            if self._count == _MAX_REQUESTS:
                self._found.note(f"stopped after {_MAX_REQUESTS} requests")
            self._count += 1
            if self._count > _MAX_REQUESTS:
                self._defer(purpose)
                continue
            page_request = self._page_request(request)
            self._waiting[page_request] = purpose
            to_send.append(page_request)
        return to_send

    def _page_request(self, request: Request) -> PageRequest:
        source = self._found.source
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

    def defer(self, request: PageRequest) -> None:
        """Note a request that is not sent: the next poll sends it."""
        self._defer(self._waiting.pop(request))
        self._has_deferred = True

    def _defer(self, purpose: Purpose) -> None:
        found = self._found
        if purpose.step in ("signal", "listing"):
            found.is_whole = False
            return
        if purpose.step == "roster":
            return
        found.undetailed.add(purpose.meeting)
        if purpose.step == "votes":
            found.failed_versions.update(purpose.versions)
            return
        found.has_deferred_items = True
        if purpose.step == "items":
            found.unread_agendas.add(purpose.meeting)

    # --- answers ----------------------------------------------------------------------

    def take(
        self, request: PageRequest, answer: Page | FetchError
    ) -> list[PageRequest]:
        """Add an answer; return the requests that follow it.

        After the listing come the items, agendas that are documents, and votes.
        """
        to_send = self.send(self._take(self._waiting.pop(request), answer))
        if not self._waiting:
            to_send += self.send(self._requests.of_items())
        if not self._waiting:
            to_send += self.send(self._requests.of_documents(self._sent))
        if not self._waiting:
            to_send += self.send(self._requests.of_votes())
        return to_send

    def polled(self) -> Polled | None:
        """Return the poll once no answer is to come; None if none came in time."""
        if self._waiting:
            return None
        if self._has_deferred and self._found.page is None:
            return None
        return self._found.polled(self._clock())

    def _take(self, purpose: Purpose, answer: Page | FetchError) -> PlannedRequests:
        """Add an answer; return the requests that continue it."""
        found = self._found
        found.elapsed_ms += answer.elapsed_ms
        is_file = purpose.step == "items" and _is_file(answer)
        if is_file or purpose.step == "document":
            self._take_document(purpose, answer)
            return []
        listing = self._read(answer)
        if purpose.step in ("votes", "roster"):
            return self._take_people(purpose, answer, listing)
        if isinstance(listing, NewsAssetsError):
            return self._fail(purpose, listing, outcome_of(listing))
        if listing.state in _OUTCOMES:
            return self._fail(purpose, _refusal(listing), _OUTCOMES[listing.state])
        if found.page is None and isinstance(answer, Page):
            found.page = answer
        return self._take_listing(purpose, listing)

    def _read(self, answer: Page | FetchError) -> MeetingListing | NewsAssetsError:
        if isinstance(answer, FetchError):
            return answer
        source = self._found.source
        context = ParseContext(
            timezone=source.timezone, now=self._found.now, selectors=source.selectors
        )
        [listing] = self._sandbox.run(
            read_answer, [(self._found.vendor, answer, context)]
        )
        return listing

    def _take_listing(
        self, purpose: Purpose, listing: MeetingListing
    ) -> PlannedRequests:
        """Add what a page of meetings states."""
        for problem in listing.problems:
            self._found.note(problem)
        if purpose.step == "signal":
            return self._requests.after_signal(listing)
        following = [(request, purpose) for request in listing.next_requests]
        if purpose.step == "listing":
            self._found.listings.append(listing)
            return following
        return following + self._take_items(purpose, listing)

    def _take_items(self, purpose: Purpose, listing: MeetingListing) -> PlannedRequests:
        """Add what completes a meeting; return the requests for the own pages of its
        items.
        """
        self._found.read_agendas.add(purpose.meeting)
        listed: list[AgendaItem] = []
        for meeting in listing.meetings:
            items = meeting.items
            listed += items
            if purpose.step == "details":
                items = tuple(replace(item, vendor_id=purpose.item) for item in items)
            # the key finds the listed meeting, whatever id the answer states
            part = replace(
                meeting,
                vendor_id=purpose.meeting,
                agenda_id="",
                items=items,
                is_partial=True,
            )
            self._found.partial.append(part)
        if purpose.step == "details":
            return []
        return self._requests.of_details(purpose.meeting, listed)

    def _take_document(self, purpose: Purpose, answer: Page | FetchError) -> None:
        """Add what the agenda says as a document; one that cannot be read is read as an
        article only.
        """
        found = self._found
        found.read_agendas.add(purpose.meeting)
        if isinstance(answer, FetchError):
            return
        if not _is_file(answer):
            return
        [agenda] = self._sandbox.run(read_agenda, [(answer.body, answer.url)])
        if agenda is None:  # of a kind that has no items
            return
        if isinstance(agenda, NewsAssetsError):
            found.note(f"agenda of meeting {purpose.meeting}: {agenda}")
            return
        agenda = replace(agenda, vendor_id=purpose.meeting)
        for part in found.partial:
            if part.vendor_id != purpose.meeting:
                continue
            if part.items:
                agenda = replace(agenda, items=())
        found.partial.append(agenda)

    def _take_people(
        self,
        purpose: Purpose,
        answer: Page | FetchError,
        listing: MeetingListing | NewsAssetsError,
    ) -> PlannedRequests:
        """Add votes, sponsors or a part of the roster; what failed is requested again
        when its meeting's items are.
        """
        found = self._found
        if answer.status in _NO_PAGE:  # the client has none
            return []
        if isinstance(listing, NewsAssetsError):
            reason = str(listing)
        elif listing.state in _OUTCOMES:
            reason = "; ".join(listing.problems)
        else:
            found.votes.append(listing)
            found.rosters.append(listing.roster)
            return [(request, purpose) for request in listing.next_requests]
        found.failed_versions.update(purpose.versions)
        found.note(f"{purpose.step}: {reason}")
        return []

    def _fail(
        self, purpose: Purpose, error: NewsAssetsError, outcome: Outcome
    ) -> PlannedRequests:
        """Note a failed answer: nothing is inferred from it.

        Without the signal all days are requested. The next poll requests missing items
        again.
        """
        found = self._found
        if purpose.step == "listing":
            if not isinstance(error, FetchError | SourceError):
                error = SourceError(str(error))
            found.is_whole = False
            found.error = error
            found.outcome = outcome
            return []
        if purpose.step == "signal":
            found.note(f"no change signal: {error}")
            return self._requests.of_days()
        found.note(f"items of meeting {purpose.meeting}: {error}")
        if purpose.step == "details":
            found.undetailed.add(purpose.meeting)
        elif _says_no_page(error):
            found.read_agendas.add(purpose.meeting)
        else:
            found.unread_agendas.add(purpose.meeting)
        return []


def _refusal(listing: MeetingListing) -> SourceError:
    """Return the error of an answer that gives no meetings to anyone, or not to us."""
    reason = "; ".join(listing.problems)
    if listing.state == "blocked":
        return SourceError(reason)
    return ClosedSourceError(reason)


def _is_file(answer: Page | FetchError) -> bool:
    if not isinstance(answer, Page):
        return False
    return file_of(answer) is not None


def _says_no_page(error: NewsAssetsError) -> bool:
    """Whether a failed answer says that there is no agenda, or none as a page that can
    be read.
    """
    if isinstance(error, FetchError):
        return error.status in _NO_PAGE
    return isinstance(error, ListingChangedError | ClosedSourceError)
