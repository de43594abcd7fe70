"""Polling the sources of agencies."""

from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime, timedelta

from news_assets.pipeline.poll.paging import Known
from news_assets.pipeline.poll.poll import AdapterOf, list_days, poll_sources
from news_assets.pipeline.poll.storing import passed_over, store_polls, stored_together
from news_assets.pipeline.schedule import asked_lately, due_sources
from news_assets.ports import Fetcher, Lake
from news_assets.records import Desk, FeedEntry, Poll, Source, SourceState


def poll_agencies(
    lake: Lake,
    desk: Desk,
    agencies: Collection[str],
    fetcher: Fetcher,
    adapter_of: AdapterOf,
    now: datetime,
    trace_id: str,
    *,
    only_due: bool = False,
    past: tuple[date, date] | None = None,
    cooldown: timedelta = timedelta(0),
) -> Iterator[Poll]:
    """Yield the poll of each source of these agencies, once everything it listed is stored.

    `past`, a first and a last day, asks the sources that can list their past for those days, and no others. Otherwise
    `only_due` asks those that are due; without it, those that were asked less than `cooldown` ago are passed over,
    which is a poll that is `skipped` and leaves nothing in the lake.
    """
    sources = [source for source in desk.sources if source.agency in agencies]
    if past is not None:
        polls = list_days(sources, *past, adapter_of, fetcher)
    else:
        states = {state.source_id: state for state in lake.read(SourceState, desk=[desk.key])}
        sources, passed = _to_ask(sources, states.values(), now, only_due, cooldown)
        yield from passed
        polls = poll_sources(sources, states, adapter_of, fetcher, _known_addresses(lake), desk.first_day)
    for group in stored_together(polls):
        yield from lake.transact(lambda rows: store_polls(rows, group, now, trace_id))  # noqa: B023 - run at once


def _to_ask(
    sources: Sequence[Source], states: Collection[SourceState], now: datetime, only_due: bool, cooldown: timedelta
) -> tuple[list[Source], list[Poll]]:
    """Return the sources to ask, and the rows of those that are passed over."""
    if only_due:
        return due_sources(sources, states, now), []
    lately = asked_lately(sources, states, now, cooldown)
    asked = [source for source in sources if source.source_id not in lately]
    return asked, [
        passed_over(source, lately[source.source_id], cooldown, now) for source in sources if source.source_id in lately
    ]


def _known_addresses(lake: Lake) -> Known:
    def known(source: Source, hashes: Sequence[str]) -> Collection[str]:
        where = {"desk": [source.desk], "agency": [source.agency], "url_hash": hashes}
        return set(lake.frame(FeedEntry, None, ("url_hash",), **where)["url_hash"])

    return known
