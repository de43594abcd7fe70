"""Polls civic sources: sends the requests of their polls and hands the answers over. No
lake.

All days of a pass are requested once a night (`pace.py`), because what vendors say
about changes is not always true. Between two passes the vendor's change signal is
requested, where there is one, and then the days that changed. Which requests follow an
answer is decided in `council_poll.py`.
"""

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf

from news_assets.pipeline.civic.council_poll import (
    CouncilPoll,
    Days,
    KnownItems,
    KnownVersions,
    Purpose,
)
from news_assets.pipeline.civic.pace import Needs, is_pass_due, pass_days
from news_assets.pipeline.poll.listings import Polled, remaining_s
from news_assets.pipeline.poll.paging import SOURCE_S
from news_assets.ports.services import Fetcher, PageRequest, Sandbox
from news_assets.records.articles import SourceState
from news_assets.records.desks import ItemFilters, Source
from news_assets.records.meetings import Request, StoredMeeting
from news_assets.sources.civic.vendor import Reading
from news_assets.sources.civic.vendor_readers import vendor_of
from news_assets.text.dates import day_of
from news_assets.text.urls import host_of

# Sunday: bodies and members are listed by the pass of one night a week
_ROSTER_WEEKDAY = 6
MAX_REQUESTS = 200  # of one poll: an answer may name pages without end


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


def poll_councils(
    sources: Iterable[Source],
    run: CouncilRun,
    fetcher: Fetcher,
    sandbox: Sandbox,
    clock: Callable[[], datetime],
    begin_within_s: float = inf,
) -> Generator[Polled, None, None]:
    """Yield the poll of each source once its answers are there; an error of one source
    does not affect the others.

    Args:
        sources: The civic sources to poll.
        run: What their polls have in common.
        fetcher: Sends the requests.
        sandbox: Reads the answers.
        clock: The time of a poll.
        begin_within_s: Seconds after which no request begins: sources without any
            request are missing in the result, and the next poll requests the rest.
    """
    ends_at = time.monotonic() + begin_within_s
    now = clock()
    waiting: dict[PageRequest, Purpose] = {}
    for source in sources:
        if run.past is None or vendor_of(source.kind).days is not None:
            poll, since = _begun(source, run, now)
            _send(poll, poll.first(since), waiting)
    while waiting:
        following: dict[PageRequest, Purpose] = {}
        for request, answer in fetcher.fetch_all(tuple(waiting), remaining_s(ends_at)):
            purpose = waiting.pop(request)
            poll = purpose.poll
            _send(poll, poll.take(purpose, answer, sandbox), following)
            if _is_over(poll, following):
                yield poll.polled(clock())
        for purpose in waiting.values():  # no time remained for them
            poll = purpose.poll
            poll.waiting -= 1
            poll.defer(purpose)
            if not poll.waiting and poll.page is not None:
                yield poll.polled(clock())
        waiting = following


def _begun(
    source: Source, run: CouncilRun, now: datetime
) -> tuple[CouncilPoll, datetime | None]:
    """Return the poll of a source, and the time since which the signal is requested;
    None for a pass.
    """
    is_of_past = run.past is not None
    state = run.states.get(source.source_id)
    known = state
    if state is None or state.url != source.url or state.passed_at is None:
        known = None
    passed_at = known.passed_at if known else None
    is_pass = run.full_pass or is_pass_due(source, passed_at, now)
    today = day_of(now, source.timezone)
    is_roster_day = known is None or today.weekday() == _ROSTER_WEEKDAY
    poll = CouncilPoll(
        source=source,
        vendor=vendor_of(source.kind),
        reading=Reading(timezone=source.timezone, now=now, selectors=source.selectors),
        stored=run.stored.get(source.agency, ()),
        known_items=run.known_items,
        known_versions=run.known_versions,
        is_roster_due=not is_of_past and (run.full_pass or is_roster_day),
        filters=run.filters,
        days=run.past or pass_days(today),
        needs=Needs(
            now=now,
            is_pass=is_pass and not is_of_past,
            is_forced=run.full_pass and not is_of_past,
        ),
        is_of_past=is_of_past,
        known_signals=_signals_of(known),
    )
    if state is None or is_of_past or is_pass:
        return poll, None
    return poll, state.last_polled_at


def _signals_of(state: SourceState | None) -> dict[str, str]:
    """Return the fingerprints of the last change signal by day."""
    signals: dict[str, str] = {}
    for one in state.signals if state else ():
        day, _, found = one.partition("=")
        signals[day] = found
    return signals


def _send(
    poll: CouncilPoll,
    requests: Iterable[tuple[Request, Purpose]],
    waiting: dict[PageRequest, Purpose],
) -> None:
    """Add requests to those that wait."""
    for request, purpose in requests:
        if request in poll.sent:  # a page that names itself as the next one
            continue
        poll.sent.add(request)
        if poll.requests == MAX_REQUESTS:
            poll.problems.append(f"stopped after {MAX_REQUESTS} requests")
        if poll.requests >= MAX_REQUESTS:
            poll.defer(purpose)
            continue
        poll.requests += 1
        poll.waiting += 1
        source = poll.source
        page_request = PageRequest(
            request.url,
            f"{source.source_id} {poll.requests}",
            obeys_robots=host_of(request.url) != host_of(source.url),
            max_s=SOURCE_S,
            access=source.access,
            body=request.body if request.method == "POST" else None,
            headers=request.headers,
            keeps_refusals=True,
        )
        waiting[page_request] = purpose


def _is_over(poll: CouncilPoll, following: dict[PageRequest, Purpose]) -> bool:
    """Whether a poll has all its answers: after the listing come the items, agendas
    that are documents, and votes.
    """
    for requests in (poll.of_items, poll.of_documents, poll.of_votes):
        if poll.waiting:
            return False
        _send(poll, requests(), following)
    return not poll.waiting
