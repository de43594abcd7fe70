"""Store polls: next states of the sources, entries, and one row per poll."""

import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from news_assets.errors import ClosedSourceError, FetchError
from news_assets.pipeline.articles.withdrawal import withdrawn_among
from news_assets.pipeline.civic.meeting_storage import store_meetings
from news_assets.pipeline.poll.entry_rows import (
    ALL_OWN,
    EntryChanges,
    EntryRules,
    entry_changes,
    keyed_entries,
)
from news_assets.pipeline.poll.listings import document_hash
from news_assets.pipeline.poll.poll_loop import Polled
from news_assets.pipeline.publishing_habits import PublishingRates, rates_of
from news_assets.pipeline.schedule import (
    CIVIC_WEEKS,
    MIN_INTERVAL_S,
    civic_interval,
    first_interval,
    is_adaptive,
    learnt_interval,
    next_poll_after_failure,
    next_poll_at,
    signal_interval,
)
from news_assets.ports.services import Rows
from news_assets.records.articles import FeedEntry, Poll, SourceState
from news_assets.records.content import without_content
from news_assets.records.desks import Source
from news_assets.records.reading import Page
from news_assets.retry_table import LONGEST_PAUSE_S
from news_assets.text.urls import url_hash

_logger = logging.getLogger(__name__)

_PARSE_WEIGHT = 1.0


def store_polls(
    rows: Rows,
    batch: Sequence[Polled],
    trace_id: str,
    entry_rules: EntryRules = ALL_OWN,
) -> list[Poll]:
    """Store entries, states and poll rows of these polls in the transaction of `rows`;
    return the poll rows.

    Everything gets the time of the poll's answer: the batch may be stored a minute
    later, on another day.
    """
    changed = _store_listed(rows, batch, trace_id, entry_rules)
    current = [one for one in zip(batch, changed, strict=True) if not one[0].is_of_past]
    rows.upsert(_next_states(rows, current))
    polls: list[Poll] = []
    for polled, changes in zip(batch, changed, strict=True):
        polls.append(poll_row(polled, changes))
    rows.append(polls)
    return polls


def _next_states(
    rows: Rows, batch: Sequence[tuple[Polled, EntryChanges]]
) -> list[SourceState]:
    """Return the states of the sources after these polls of the present, whose entries
    are stored.
    """
    polls = [polled for polled, _ in batch]
    sources = {polled.source.source_id for polled in polls}
    states = {one.source_id: one for one in rows.read(SourceState, source_id=sources)}
    recent = _recent_counts(rows, polls)
    rates = _rates(rows, polls)
    following: list[SourceState] = []
    for polled, changes in batch:
        key = polled.source.source_id
        before = states.get(key)
        state = next_state(before, polled, changes, recent[key], rates.get(key))
        following.append(_with_signals(state, polled))
    return following


def _rates(rows: Rows, polls: Sequence[Polled]) -> Mapping[str, PublishingRates]:
    """Return the rates of the sources whose interval is learnt, by source_id."""
    learning: set[Source] = set()
    for polled in polls:
        if polled.error is None and is_adaptive(polled.source):
            learning.add(polled.source)
    if not learning:
        return {}
    return rates_of(rows, learning, max(one.polled_at for one in polls))


def _with_signals(state: SourceState, polled: Polled) -> SourceState:
    """Return the state of a civic source with what its change signal listed and the
    time of the last pass.
    """
    civic = polled.civic
    if civic is None:
        return state
    if civic.signals is not None:
        state = replace(state, signals=civic.signals)
    if civic.is_pass:
        state = replace(state, passed_at=polled.polled_at)
    return state


# --- states ---------------------------------------------------------------------------


def next_state(
    state: SourceState | None,
    polled: Polled,
    changes: EntryChanges,
    recent_count: int = 0,
    rates: PublishingRates | None = None,
) -> SourceState:
    """Return the source's state after a poll, to be stored in the transaction that
    stores the poll's entries.

    After an error it keeps the validators and the hash of the last document whose
    entries were stored.

    Args:
        state: Its state so far; None before its first poll.
        polled: The poll.
        changes: What it changed among the entries.
        recent_count: Entries of the last CIVIC_WEEKS, for the pace `civic`.
        rates: For sources whose interval is learnt; without them it stays.
    """
    if state is not None and state.url != polled.source.url:
        state = None
    if polled.error is not None or polled.page is None:
        return _failed_state(state, polled)
    interval_s = first_interval(polled.source)
    if state is not None:
        interval_s = _interval(state, polled, changes, recent_count, rates)
    return _answered_state(state, polled, polled.page, changes, interval_s)


def _failed_state(state: SourceState | None, polled: Polled) -> SourceState:
    error, now = polled.error, polled.polled_at
    before = state or _new_state(polled)
    points, retry_after_s = before.failure_points + _PARSE_WEIGHT, None
    if isinstance(error, FetchError):
        points = before.failure_points + error.weight
        retry_after_s = error.retry_after_s
    if isinstance(error, ClosedSourceError):
        retry_after_s = LONGEST_PAUSE_S
    due_at = next_poll_after_failure(
        before.interval_s, points, polled.outcome, now, retry_after_s=retry_after_s
    )
    return replace(
        before,
        last_polled_at=now,
        next_poll_at=due_at,
        failure_points=points,
        last_outcome=polled.outcome,
        last_reason=polled.reason,
        elapsed_ms=polled.elapsed_ms,
    )


def _answered_state(
    state: SourceState | None,
    polled: Polled,
    page: Page,
    changes: EntryChanges,
    interval_s: float,
) -> SourceState:
    """Return the state after an answer, whose first page is `page`; `interval_s` is that
    to the next poll.
    """
    now = polled.polled_at
    before = state or _new_state(polled)
    ttl_s = before.ttl_s
    left_urls = before.left_urls
    is_whole = True
    if polled.lists_meetings:
        is_whole = False  # councils are polled without validators
    if polled.listing is not None:
        ttl_s = polled.listing.ttl_s
        left_urls = polled.listing.next_urls
        is_whole = polled.listing.is_whole
    due_at = next_poll_at(
        polled.source,
        interval_s,
        now,
        is_first=state is None,
        max_age_s=page.max_age_s,
        ttl_s=ttl_s,
    )
    if changes.deferred_count or left_urls:
        due_at = now + timedelta(seconds=MIN_INTERVAL_S)
    after = replace(
        before,
        etag=None,
        last_modified=None,
        document_hash=None,
        last_polled_at=now,
        last_new_at=now if changes.new_count else before.last_new_at,
        next_poll_at=due_at,
        interval_s=interval_s,
        failure_points=0.0,
        last_outcome=polled.outcome,
        last_reason=polled.reason,
        ttl_s=ttl_s,
        elapsed_ms=polled.elapsed_ms,
        left_urls=left_urls,
    )
    if changes.deferred_count or not is_whole:
        return after  # without validators, so that the rest is listed again
    return _with_validators(after, before, page)


def _with_validators(
    state: SourceState, before: SourceState, page: Page
) -> SourceState:
    """Return a state with what makes the next request conditional."""
    hashed = before.document_hash
    if not page.is_unchanged:
        hashed = document_hash(page)
    return replace(
        state,
        etag=page.validators.etag,
        last_modified=page.validators.last_modified,
        document_hash=hashed,
    )


def _interval(
    state: SourceState,
    polled: Polled,
    changes: EntryChanges,
    recent_count: int,
    rates: PublishingRates | None,
) -> float:
    source, now = polled.source, polled.polled_at
    if source.every_minutes is not None:
        return first_interval(source)
    if source.pace == "civic":
        return civic_interval(recent_count)
    if source.pace == "signals":
        is_changed = changes.new_count + changes.updated_count > 0
        return signal_interval(
            state.interval_s, source.timezone, now, is_changed=is_changed
        )
    if rates is None:
        return state.interval_s
    return learnt_interval(source, rates, now)


def _new_state(polled: Polled) -> SourceState:
    """Return the state of a source that was never polled, for `next_state` to change."""
    source, now = polled.source, polled.polled_at
    return SourceState(
        source_id=source.source_id,
        desk=source.desk,
        agency=source.agency,
        url=source.url,
        etag=None,
        last_modified=None,
        document_hash=None,
        last_polled_at=now,
        last_new_at=None,
        next_poll_at=now,
        interval_s=first_interval(source),
        failure_points=0.0,
        last_outcome="skipped",
        last_reason=None,
    )


# --- poll rows ------------------------------------------------------------------------


def poll_row(polled: Polled, changes: EntryChanges) -> Poll:
    """Return the row of a poll."""
    source = polled.source
    return Poll(
        source_id=source.source_id,
        desk=source.desk,
        agency=source.agency,
        polled_at=polled.polled_at,
        outcome=polled.outcome,
        reason=polled.reason,
        status=_status(polled),
        entry_count=_entry_count(polled),
        new_count=changes.new_count,
        updated_count=changes.updated_count,
        body_bytes=len(polled.page.body) if polled.page else 0,
        elapsed_ms=polled.elapsed_ms,
    )


def _status(polled: Polled) -> int | None:
    if polled.page is not None:
        return polled.page.status
    if isinstance(polled.error, FetchError):
        return polled.error.status
    return None


def _entry_count(polled: Polled) -> int:
    """Return the number of entries listed, or of meetings."""
    if polled.listing is not None:
        return len(polled.listing.entries)
    if polled.civic is None:
        return 0
    if polled.lists_meetings:
        return len(polled.civic.meetings)
    return 0


def skipped_poll(source: Source, reason: str, now: datetime) -> Poll:
    """Return the row of a source that was not polled. It is not stored."""
    _logger.debug("%s is not polled: %s", source.source_id, reason)
    polled = Polled(source=source, polled_at=now, outcome="skipped", note=reason)
    return poll_row(polled, EntryChanges())


# --- entries --------------------------------------------------------------------------


def _store_listed(
    rows: Rows, batch: Sequence[Polled], trace_id: str, entry_rules: EntryRules
) -> list[EntryChanges]:
    """Store and return what the listings change; each listing sees the changes of those
    before it in the batch.
    """
    known: dict[str, dict[tuple[str, str], FeedEntry]] = defaultdict(dict)
    for row in _known_entries(rows, batch):
        known[row.agency][row.source_id, row.entry_id] = row
    changed: list[EntryChanges] = []
    written: dict[tuple[str, str], FeedEntry] = {}
    for polled in batch:
        source, now = polled.source, polled.polled_at
        if polled.civic is not None:
            changed.append(store_meetings(rows, source, polled.civic, now, trace_id))
            continue
        of_agency = known[source.agency]
        before = of_agency.values()
        changes = entry_changes(
            source, polled.listing, before, now, trace_id, entry_rules
        )
        by_key = {(row.source_id, row.entry_id): row for row in changes.rows}
        of_agency.update(by_key)
        written.update(by_key)
        changed.append(changes)
    if written:
        _write_entries(rows, written.values())
    return changed


def _write_entries(rows: Rows, written: Collection[FeedEntry]) -> None:
    """Store entries; entries of withdrawn articles are stored without content."""
    withdrawn = withdrawn_among(rows, {row.article_id for row in written})
    kept: list[FeedEntry] = []
    for row in written:
        if row.article_id in withdrawn:
            kept.append(without_content(row))
        else:
            kept.append(row)
    rows.upsert(kept)


def _known_entries(rows: Rows, batch: Sequence[Polled]) -> list[FeedEntry]:
    """Return the stored rows that match listed entries: of these sources by id, of
    their agencies by URL hash.
    """
    ids = set[str]()
    hashes = set[str]()
    listed: list[Source] = []
    for polled in batch:
        if polled.listing is None:
            continue
        listed.append(polled.source)
        for entry_id, entry in keyed_entries(polled.listing).items():
            ids.add(entry_id)
            hashes.add(url_hash(entry.url))
    sources = {source.source_id for source in listed}
    desks = {source.desk for source in listed}
    agencies = {source.agency for source in listed}
    own = rows.read(FeedEntry, source_id=sources, entry_id=ids)
    return own + rows.read(FeedEntry, desk=desks, agency=agencies, url_hash=hashes)


def _recent_counts(rows: Rows, batch: Sequence[Polled]) -> Counter[str]:
    """Count the entries of the last CIVIC_WEEKS of the civic sources among these, by
    source_id.

    They are counted by their day: a first poll, or a poll of past days, stores entries
    of many days at once.
    """
    civic: dict[str, datetime] = {}
    for one in batch:
        if one.source.pace != "civic":
            continue
        if one.source.every_minutes is None:
            civic[one.source.source_id] = one.polled_at
    if not civic:
        return Counter()
    now = max(civic.values())
    days = {(now - timedelta(days=ago)).date() for ago in range(7 * CIVIC_WEEKS)}
    found = rows.frame(FeedEntry, None, ("source_id",), source_id=civic, day=days)
    return Counter(found["source_id"])
