"""Poll the sources of some agencies and store what they list."""

from collections import defaultdict
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from math import inf

from news_assets.errors import SourceError
from news_assets.pipeline.batches import store_apart
from news_assets.pipeline.civic.council_poll import KnownVersions
from news_assets.pipeline.civic.pace import FUTURE_DAYS, PAST_DAYS, waiting_sources
from news_assets.pipeline.civic.request_loop import poll_councils
from news_assets.pipeline.poll.due_runs import most_overdue_first
from news_assets.pipeline.poll.entry_rows import Filing
from news_assets.pipeline.poll.listings import (
    AdapterOf,
    Clock,
    Polled,
    poll_past_days,
    poll_sources,
)
from news_assets.pipeline.poll.microbatch import micro_batches
from news_assets.pipeline.poll.paging import KnownHashes
from news_assets.pipeline.poll.poll_rows import skipped_poll, store_polls
from news_assets.pipeline.schedule import due_sources, recently_polled
from news_assets.ports.lake import Lake
from news_assets.ports.reading import Fetcher, Sandbox
from news_assets.records.desks import Desk, Source
from news_assets.records.meetings import StoredItem, StoredMeeting
from news_assets.records.polling import FeedEntry, Poll, SourceState

RUN_S = (
    120.0  # after so long a run begins no further poll: the next run begins with those
)
_BUSY = "another run polls it now; with `ask_again: true` it is polled all the same"
_NOT_BEGUN = "not begun in the time of a run; it stays due"


def poll_agencies(
    lake: Lake,
    desk: Desk,
    agencies: Collection[str],
    fetcher: Fetcher,
    sandbox: Sandbox,
    adapter_of: AdapterOf,
    clock: Clock,
    trace_id: str,
    *,
    only_due: bool = False,
    only: Collection[str] | None = None,
    busy: Collection[str] = (),
    past: tuple[date, date] | None = None,
    cooldown: timedelta = timedelta(0),
    run_s: float = RUN_S,
    full_pass: bool = False,
) -> Iterator[Poll]:
    """Yield the poll of each source of these agencies, once everything it listed is
    stored.

    With `past`, a first and a last day, only sources that can list past days are
    polled, for those days. Otherwise `only_due` polls the due sources; without it, all
    sources are polled except those polled less than `cooldown` ago, and civic sources
    that stand in for others that answer. `only` are the ids of the sources to poll, if
    not all. Which are due is decided once, at the start; everything stored has the time
    of its answer.

    With `full_pass` civic sources are asked for all days of a pass, whatever their
    change signal would say.

    The poll of a source that is not polled has the outcome `skipped` and is not stored:
    one that another run polls now (the ids in `busy`), one that was polled a moment
    ago, and with `only_due` one that has not begun after `run_s` seconds, which stays
    due.
    """
    now = clock()
    sources = [
        one
        for one in desk.sources
        if one.agency in agencies and (only is None or one.source_id in only)
    ]
    yield from (
        skipped_poll(one, _BUSY, now) for one in sources if one.source_id in busy
    )
    sources = [one for one in sources if one.source_id not in busy]
    due: Sequence[Source] = ()
    civic = [one for one in sources if one.is_civic]
    states: dict[str, SourceState] = {}
    begin_within_s = inf
    if past is not None:
        listed = [one for one in sources if not one.is_civic]
        polls = poll_past_days(listed, *past, adapter_of, fetcher, sandbox, clock)
    else:
        states = {
            state.source_id: state for state in lake.read(SourceState, desk=[desk.key])
        }
        recent = (
            {} if only_due else recently_polled(sources, states.values(), now, cooldown)
        )
        yield from (
            skipped_poll(one, _recent(now, at, cooldown), now)
            for one, at in recent.items()
        )
        due = (
            most_overdue_first(due_sources(sources, states.values(), now), states, now)
            if only_due
            else _not_waiting(
                [one for one in sources if one not in recent], desk, states, only
            )
        )
        begin_within_s = run_s if only_due else inf
        known = _known_hashes(lake)
        civic, listed = (
            [one for one in due if one.is_civic],
            [one for one in due if not one.is_civic],
        )
        polls = poll_sources(
            listed,
            states,
            adapter_of,
            fetcher,
            sandbox,
            clock,
            known,
            desk.first_day,
            begin_within_s,
        )
    asked = poll_councils(
        civic,
        states,
        _stored_meetings(lake, civic, past or (now.date(), now.date())),
        lambda meeting: lake.read(StoredItem, meeting_id=[meeting]),
        _known_versions(lake, desk),
        desk.filters,
        fetcher,
        sandbox,
        clock,
        begin_within_s,
        past,
        full_pass=full_pass,
    )
    polled, filing = set(), Filing.of(desk, now)
    for batch in micro_batches(_one_after_the_other(polls, asked)):
        polled |= {one.source.source_id for one in batch}
        yield from store_apart(
            batch, lambda polls: _store(lake, polls, trace_id, filing), _unstored
        )
    yield from (
        skipped_poll(one, _NOT_BEGUN, now) for one in due if one.source_id not in polled
    )


def _one_after_the_other(
    *polls: Generator[Polled, None, None],
) -> Generator[Polled, None, None]:
    for of_kind in polls:
        yield from of_kind


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


def _stored_meetings(
    lake: Lake, sources: Sequence[Source], days: tuple[date, date]
) -> dict[str, list[StoredMeeting]]:
    """Return the meetings of these sources' agencies, from some days before these days
    to some days after.
    """
    by_agency: dict[str, list[StoredMeeting]] = defaultdict(list)
    if not sources:
        return by_agency
    first, last = (
        days[0] - timedelta(days=PAST_DAYS + 1),
        days[1] + timedelta(days=FUTURE_DAYS + 1),
    )
    around = [first + timedelta(days=after) for after in range((last - first).days + 1)]
    agencies = {source.agency for source in sources}
    for row in lake.read(
        StoredMeeting, desk=[sources[0].desk], agency=agencies, day=around
    ):
        by_agency[row.agency].append(row)
    return by_agency


def _known_versions(lake: Lake, desk: Desk) -> KnownVersions:
    def known(agency: str, versions: Collection[str]) -> Collection[str]:
        where = {"desk": [desk.key], "agency": [agency], "votes_version": versions}
        found = lake.frame(StoredItem, None, ("votes_version",), **where)
        return set(found["votes_version"])

    return known


def _recent(now: datetime, polled_at: datetime, cooldown: timedelta) -> str:
    ago_s, again_at = (now - polled_at).total_seconds(), polled_at + cooldown
    return f"polled {ago_s:.0f} s ago; again from {again_at:%H:%M:%S} UTC, or with `ask_again: true`"


def _store(
    lake: Lake, polls: Sequence[Polled], trace_id: str, filing: Filing
) -> list[Poll]:
    return lake.transact(lambda rows: store_polls(rows, polls, trace_id, filing))


def _unstored(polled: Polled, reason: str) -> Polled:
    return replace(
        polled, listing=None, answer=None, error=SourceError(reason), outcome="failed"
    )


def _known_hashes(lake: Lake) -> KnownHashes:
    def known(source: Source, hashes: Sequence[str]) -> Collection[str]:
        where = {"desk": [source.desk], "agency": [source.agency], "url_hash": hashes}
        return set(lake.frame(FeedEntry, None, ("url_hash",), **where)["url_hash"])

    return known
