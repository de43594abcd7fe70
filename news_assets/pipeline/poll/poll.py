"""Poll the sources of some agencies and store what they list."""

import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from math import inf

from news_assets.errors import SourceError
from news_assets.pipeline.civic.council_poll import CouncilRun, council_polls
from news_assets.pipeline.poll.entry_rows import EntryRules
from news_assets.pipeline.poll.listings import (
    AdapterOf,
    KnownHashes,
    listing_polls,
    past_polls,
)
from news_assets.pipeline.poll.poll_loop import Polled, SourcePoll, run_polls
from news_assets.pipeline.poll.poll_rows import skipped_poll, store_polls
from news_assets.pipeline.schedule import (
    due_sources,
    most_overdue_first,
    recently_polled,
    waiting_sources,
)
from news_assets.pipeline.storing import store_apart, with_ticks
from news_assets.ports.services import Clock, Fetcher, Lake, PageRequest, Sandbox
from news_assets.records.articles import FeedEntry, Poll, SourceState
from news_assets.records.desks import Desk, Source

# after so long a run begins no further poll: the next run begins with those
_RUN_S = 120.0
_BUSY = "another run polls it now; with `ask_again: true` it is polled all the same"
_NOT_BEGUN = "not begun in the time of a run; it stays due"


@dataclass(frozen=True, slots=True, kw_only=True)
class PollOptions:
    """Which sources of some agencies a run polls, and for which days.

    Without `past` and `only_due` all sources are polled, except those polled less than
    `cooldown` ago, and civic sources that stand in for others that answer.
    """

    only_due: bool = False  # the due sources only, the most overdue ones first
    run_s: float = _RUN_S  # with only_due, no poll begins later; the rest stay due
    only: Collection[str] | None = None  # ids of the sources, if not all
    busy: Collection[str] = ()  # ids of sources that another run polls: skipped
    # first and last day: sources that can list past days are polled for these
    past: tuple[date, date] | None = None
    cooldown: timedelta = timedelta(0)
    # all days of a pass from civic sources, whatever their change signals would show
    full_pass: bool = False

    @property
    def begin_within_s(self) -> float:
        """Seconds after which no poll begins."""
        if self.only_due and self.past is None:
            return self.run_s
        return inf


_ALL_SOURCES = PollOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What a run polls: sources of news and of councils, with their states by
    source_id.

    `skipped` are the rows of sources that are not polled.
    """

    listed: list[Source]
    civic: list[Source]
    states: Mapping[str, SourceState] = field(default_factory=dict)
    skipped: Sequence[Poll] = ()

    @classmethod
    def of(
        cls,
        sources: Sequence[Source],
        states: Mapping[str, SourceState] | None = None,
        skipped: Sequence[Poll] = (),
    ) -> "_Plan":
        """Return the plan to poll these sources."""
        listed: list[Source] = []
        civic: list[Source] = []
        for source in sources:
            if source.is_civic:
                civic.append(source)
            else:
                listed.append(source)
        return cls(listed=listed, civic=civic, states=states or {}, skipped=skipped)


def poll_agencies(
    lake: Lake,
    desk: Desk,
    agencies: Collection[str],
    fetcher: Fetcher,
    sandbox: Sandbox,
    adapter_of: AdapterOf,
    clock: Clock,
    trace_id: str,
    options: PollOptions = _ALL_SOURCES,
) -> Iterator[Poll]:
    """Yield the poll of each source of these agencies, once everything it listed is
    stored.

    Which sources are due is decided once, at the start; everything stored has the time
    of its answer. The poll of a source that is not polled has the outcome `skipped` and
    is not stored.

    Args:
        lake: Where states are read, and polls stored.
        desk: The desk of the agencies.
        agencies: Keys of the agencies.
        fetcher: Sends the requests.
        sandbox: Reads the answers.
        adapter_of: The adapter of a source.
        clock: The time, for answers that failed.
        trace_id: Id of the run, stored with each entry.
        options: Which sources are polled, and for which days.
    """
    now = clock()
    wanted: list[Source] = []
    for source in _sources_of(desk, agencies, options.only):
        if source.source_id in options.busy:
            yield skipped_poll(source, _BUSY, now)
        else:
            wanted.append(source)
    plan = _plan(lake, desk, wanted, now, options)
    yield from plan.skipped
    polls = _polls_of_listings(lake, desk, plan, options, adapter_of, sandbox, clock)
    run = CouncilRun(
        lake=lake,
        desk=desk,
        states=plan.states,
        past=options.past,
        full_pass=options.full_pass,
    )
    polls |= council_polls(plan.civic, run, sandbox, clock)
    polled = set[str]()
    entry_rules = EntryRules.of(desk, now)

    def store(batch: Sequence[Polled]) -> list[Poll]:
        return lake.transact(
            lambda rows: store_polls(rows, batch, trace_id, entry_rules)
        )

    for batch in micro_batches(run_polls(polls, fetcher, options.begin_within_s)):
        polled.update(one.source.source_id for one in batch)
        yield from store_apart(batch, store, _unstored)
    if options.past is None:
        yield from _not_begun(plan, polled, now)


def _polls_of_listings(
    lake: Lake,
    desk: Desk,
    plan: _Plan,
    options: PollOptions,
    adapter_of: AdapterOf,
    sandbox: Sandbox,
    clock: Clock,
) -> dict[PageRequest, SourcePoll]:
    """Return the polls of the listings of news, now or of past days, by first request."""
    if options.past is not None:
        return past_polls(plan.listed, *options.past, adapter_of, sandbox, clock)
    known = _known_hashes(lake)
    return listing_polls(
        plan.listed, plan.states, adapter_of, sandbox, clock, known, desk.first_day
    )


def _not_begun(plan: _Plan, polled: Collection[str], now: datetime) -> Iterator[Poll]:
    """Yield the rows of the sources of a plan that were not polled."""
    for source in (*plan.listed, *plan.civic):
        if source.source_id not in polled:
            yield skipped_poll(source, _NOT_BEGUN, now)


def _sources_of(
    desk: Desk, agencies: Collection[str], only: Collection[str] | None
) -> list[Source]:
    sources = [one for one in desk.sources if one.agency in agencies]
    if only is None:
        return sources
    return [one for one in sources if one.source_id in only]


def _plan(
    lake: Lake,
    desk: Desk,
    sources: Sequence[Source],
    now: datetime,
    options: PollOptions,
) -> _Plan:
    """Return what a run polls of these sources: for past days all; else the due ones, or
    those that were not polled a moment ago.
    """
    if options.past is not None:
        return _Plan.of(sources)
    states = {one.source_id: one for one in lake.read(SourceState, desk=[desk.key])}
    if options.only_due:
        due = due_sources(sources, states.values(), now)
        return _Plan.of(most_overdue_first(due, states, now), states)
    recent = recently_polled(sources, states.values(), now, options.cooldown)
    skipped: list[Poll] = []
    for source, polled_at in recent.items():
        reason = _reason_of_cooldown(now, polled_at, options.cooldown)
        skipped.append(skipped_poll(source, reason, now))
    others = [one for one in sources if one not in recent]
    return _Plan.of(_not_waiting(others, desk, states, options.only), states, skipped)


def _not_waiting(
    sources: Sequence[Source],
    desk: Desk,
    states: Mapping[str, SourceState],
    only: Collection[str] | None,
) -> list[Source]:
    """Return the sources without those that stand in for others that answer, unless
    they are named.
    """
    waiting = waiting_sources(desk.sources, states) - set(only or ())
    return [source for source in sources if source.source_id not in waiting]


def _reason_of_cooldown(now: datetime, polled_at: datetime, cooldown: timedelta) -> str:
    ago_s = (now - polled_at).total_seconds()
    again_at = polled_at + cooldown
    again = f"again from {again_at:%H:%M:%S} UTC, or with `ask_again: true`"
    return f"polled {ago_s:.0f} s ago; {again}"


def _unstored(polled: Polled, reason: str) -> Polled:
    """Return the poll as a failed one, so that its row records the reason."""
    return replace(
        polled, listing=None, civic=None, error=SourceError(reason), outcome="failed"
    )


def _known_hashes(lake: Lake) -> KnownHashes:
    def known(source: Source, hashes: Sequence[str]) -> Collection[str]:
        where = {"desk": [source.desk], "agency": [source.agency], "url_hash": hashes}
        found = lake.frame(FeedEntry, None, ("url_hash",), **where)
        return set(found["url_hash"])

    return known


# --- batches --------------------------------------------------------------------------


_PAUSE_S = 1.0  # least time from one batch to the next
# largest share of the time spent storing: slow transactions get larger, rarer batches
_BUSY_SHARE = 0.2
_MAX_BATCH_BYTES = 40_000_000  # 400 pages of 100 kB
# polls without a listing in one transaction, which takes 0.2 s of CPU whatever it
# stores
MAX_QUIET = 200
_TICK_S = 0.1  # a batch is at most so late


def micro_batches(
    polls: Generator[Polled, None, None],
    pause_s: float = _PAUSE_S,
    max_bytes: int = _MAX_BATCH_BYTES,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[list[Polled]]:
    """Yield the polls in order, in batches that the caller stores before it takes the
    next.

    The first listing is yielded as soon as it arrives. After that, a batch with a
    listing or with MAX_QUIET polls is yielded every `pause_s`, less often if storing
    takes long, and at once if it holds about `max_bytes`. Other polls wait for the next
    listing: a run that is killed before loses them, and the next run polls these
    sources again.
    """
    batch: list[Polled] = []
    held_bytes, not_before = 0, 0.0
    with closing(with_ticks(polls, _TICK_S)) as arrivals:
        for polled in arrivals:
            if polled is not None:
                batch.append(polled)
                held_bytes += _held_bytes(polled)
            is_due = clock() >= not_before and _is_worth_storing(batch)
            if not is_due and held_bytes < max_bytes:
                continue
            started_at = clock()
            yield batch
            busy_s = clock() - started_at
            not_before = started_at + max(pause_s, busy_s / _BUSY_SHARE)
            batch, held_bytes = [], 0
    if batch:
        yield batch


def _is_worth_storing(batch: list[Polled]) -> bool:
    if len(batch) >= MAX_QUIET:
        return True
    return any(polled.listing or polled.lists_meetings for polled in batch)


def _held_bytes(polled: Polled) -> int:
    """Return about how much memory a poll takes: its page, and the listing made of it."""
    return 1000 + (2 * len(polled.page.body) if polled.page else 0)
