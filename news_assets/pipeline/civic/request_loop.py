"""Polls civic sources: sends the requests of their polls and hands the answers over. No
lake.

All days of a pass are requested once a night (`pace.py`), because what vendors say
about changes is not always true. Between two passes the vendor's change signal is
requested, where there is one, and then the days that changed. Which requests follow an
answer is decided in `council_poll.py`.
"""

import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
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
from news_assets.pipeline.poll.listings import Polled
from news_assets.pipeline.poll.paging import SOURCE_S
from news_assets.ports.reading import Fetcher, PageRequest, Sandbox
from news_assets.records.desks import ItemFilters, Source
from news_assets.records.meetings import Request, StoredMeeting
from news_assets.records.polling import SourceState
from news_assets.sources.civic.kinds import vendor_of
from news_assets.sources.civic.vendor import Reading
from news_assets.text.dates import day_of
from news_assets.text.urls import host_of

_ROSTER_WEEKDAY = (
    6  # Sunday: bodies and members are listed by the pass of one night a week
)
MAX_REQUESTS = 200  # of one poll: an answer may name pages without end


def poll_councils(
    sources: Iterable[Source],
    states: Mapping[str, SourceState],
    stored: Mapping[str, Sequence[StoredMeeting]],
    known_items: KnownItems,
    known_versions: KnownVersions,
    filters: ItemFilters,
    fetcher: Fetcher,
    sandbox: Sandbox,
    clock: Callable[[], datetime],
    begin_within_s: float = inf,
    past: Days | None = None,
    *,
    full_pass: bool = False,
) -> Generator[Polled, None, None]:
    """Yield the poll of each source once its answers are there; an error of one source
    does not affect the others.

    `stored` are meetings by agency: their items are requested again if they changed, or
    are near or old. `known_versions` tells which versions of items have their votes and
    sponsors.

    With `full_pass` no change signal is requested, but the items of every listed
    meeting are. After `begin_within_s` seconds no request begins: sources without any
    request are left out of the result, and the next poll requests what is missing. With
    `past` the sources that can list past days are polled for these.
    """
    ends_at = time.monotonic() + begin_within_s
    now = clock()
    waiting: dict[PageRequest, Purpose] = {}
    for source in sources:
        poll, since = _begun(
            source,
            states.get(source.source_id),
            stored.get(source.agency, ()),
            known_items,
            known_versions,
            filters,
            now,
            past,
            full_pass=full_pass,
        )
        if past is None or poll.vendor.days is not None:
            _send(poll, poll.first(since), waiting)
    while waiting:
        following: dict[PageRequest, Purpose] = {}
        left_s = None if begin_within_s == inf else max(0.0, ends_at - time.monotonic())
        for request, answer in fetcher.fetch_all(tuple(waiting), left_s):
            purpose = waiting.pop(request)
            _send(purpose.poll, purpose.poll.take(purpose, answer, sandbox), following)
            if _is_over(purpose.poll, following):
                yield purpose.poll.polled(clock())
        for purpose in waiting.values():  # no time was left for them
            purpose.poll.waiting -= 1
            purpose.poll.defer(purpose)
            if not purpose.poll.waiting and purpose.poll.page is not None:
                yield purpose.poll.polled(clock())
        waiting = following


def _begun(
    source: Source,
    state: SourceState | None,
    stored: Sequence[StoredMeeting],
    known_items: KnownItems,
    known_versions: KnownVersions,
    filters: ItemFilters,
    now: datetime,
    past: Days | None,
    *,
    full_pass: bool,
) -> tuple[CouncilPoll, datetime | None]:
    """Return the poll of a source, and the time since which the signal is requested;
    None for a pass.
    """
    is_known = (
        state is not None and state.url == source.url and state.passed_at is not None
    )
    passed_at = state.passed_at if state and is_known else None
    is_pass = full_pass or is_pass_due(source, passed_at, now)
    since = state.last_polled_at if past is None and state and not is_pass else None
    vendor = vendor_of(source.kind)
    today = day_of(now, source.timezone)
    poll = CouncilPoll(
        source=source,
        vendor=vendor,
        reading=Reading(timezone=source.timezone, now=now, selectors=source.selectors),
        stored=stored,
        known_items=known_items,
        known_versions=known_versions,
        is_roster_due=past is None
        and (full_pass or not is_known or today.weekday() == _ROSTER_WEEKDAY),
        filters=filters,
        days=past or pass_days(today),
        needs=Needs(
            now=now,
            is_pass=past is None and is_pass,
            is_forced=past is None and full_pass,
        ),
        is_of_past=past is not None,
        known_signals=dict(
            one.partition("=")[::2]
            for one in (state.signals if state and is_known else ())
        ),
    )
    return poll, since


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
