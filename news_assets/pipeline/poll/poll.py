"""Poll the sources of some agencies and store what they list."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import date, timedelta

from news_assets.errors import SourceError
from news_assets.pipeline.batches import store_apart
from news_assets.pipeline.poll.listings import AdapterOf, Clock, Polled, poll_past_days, poll_sources
from news_assets.pipeline.poll.microbatch import micro_batches
from news_assets.pipeline.poll.paging import KnownHashes
from news_assets.pipeline.poll.storing import skipped_poll, store_polls
from news_assets.pipeline.schedule import due_sources, recently_polled
from news_assets.ports import Fetcher, Lake, Sandbox
from news_assets.records import Desk, FeedEntry, Poll, Source, SourceState


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
    past: tuple[date, date] | None = None,
    cooldown: timedelta = timedelta(0),
) -> Iterator[Poll]:
    """Yield the poll of each source of these agencies, once everything it listed is stored.

    With `past`, a first and a last day, only sources that can list past days are polled, for those days. Otherwise
    `only_due` polls the due sources; without it, all sources are polled except those polled less than `cooldown` ago,
    whose poll has the outcome `skipped` and is not stored. Which sources are due is decided once, at the start;
    everything stored has the time of its answer.
    """
    sources = [source for source in desk.sources if source.agency in agencies]
    if past is not None:
        polls = poll_past_days(sources, *past, adapter_of, fetcher, sandbox, clock)
    else:
        now = clock()
        states = {state.source_id: state for state in lake.read(SourceState, desk=[desk.key])}
        recent = {} if only_due else recently_polled(sources, states.values(), now, cooldown)
        for source, polled_at in recent.items():
            yield skipped_poll(source, polled_at, cooldown, now)
        due = due_sources(sources, states.values(), now) if only_due else [one for one in sources if one not in recent]
        polls = poll_sources(due, states, adapter_of, fetcher, sandbox, clock, _known_hashes(lake), desk.first_day)
    for batch in micro_batches(polls):
        yield from store_apart(batch, lambda polls: _store(lake, polls, trace_id), _unstored)


def _store(lake: Lake, polls: Sequence[Polled], trace_id: str) -> list[Poll]:
    return lake.transact(lambda rows: store_polls(rows, polls, trace_id))


def _unstored(polled: Polled, reason: str) -> Polled:
    return replace(polled, listing=None, error=SourceError(reason), outcome="failed")


def _known_hashes(lake: Lake) -> KnownHashes:
    def known(source: Source, hashes: Sequence[str]) -> Collection[str]:
        where = {"desk": [source.desk], "agency": [source.agency], "url_hash": hashes}
        return set(lake.frame(FeedEntry, None, ("url_hash",), **where)["url_hash"])

    return known
