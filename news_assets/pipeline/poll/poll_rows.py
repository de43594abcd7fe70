"""Store polls: next states of the sources, entries, and one row per poll."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from news_assets.errors import ClosedSourceError, FetchError
from news_assets.pipeline.articles.withdrawal import withdrawn_among
from news_assets.pipeline.civic.meeting_rows import store_answer
from news_assets.pipeline.civic.pace import signal_interval
from news_assets.pipeline.poll.entry_rows import (
    ALL_OWN,
    EntryChanges,
    Filing,
    entry_changes,
    keyed_entries,
)
from news_assets.pipeline.poll.listings import Polled, document_hash
from news_assets.pipeline.poll.rates import PublishingRates, rates_of
from news_assets.pipeline.schedule import (
    CIVIC_WEEKS,
    MIN_INTERVAL_S,
    civic_interval,
    first_interval,
    is_adaptive,
    learnt_interval,
    next_poll_after_failure,
    next_poll_at,
)
from news_assets.pipeline.stage_state.retries import MAX_PAUSE_S
from news_assets.ports.lake import Rows
from news_assets.records.content import without_content
from news_assets.records.desks import Source
from news_assets.records.meetings import MeetingAnswer
from news_assets.records.polling import FeedEntry, Poll, SourceState
from news_assets.records.reading import Page
from news_assets.text.urls import url_hash

_PARSE_WEIGHT = 1.0


def store_polls(
    rows: Rows,
    batch: Sequence[Polled],
    trace_id: str,
    filing: Filing = ALL_OWN,
) -> list[Poll]:
    """Store entries, states and poll rows of these polls in the transaction of `rows`;
    return the poll rows.

    Everything gets the time of the poll's answer: the batch may be stored a minute
    later, on another day.
    """
    sources = {polled.source.source_id for polled in batch}
    states = {
        state.source_id: state for state in rows.read(SourceState, source_id=sources)
    }
    changed = _store_entries(rows, batch, trace_id, filing)
    recent = _recent_counts(rows, [polled for polled in batch if not polled.is_of_past])
    learning = {
        one.source
        for one in batch
        if not one.is_of_past and one.error is None and is_adaptive(one.source)
    }
    rates = (
        rates_of(rows, learning, max(one.polled_at for one in batch))
        if learning
        else {}
    )
    next_states, polls = [], []
    for polled, changes in zip(batch, changed, strict=True):
        source_id, now = polled.source.source_id, polled.polled_at
        if not polled.is_of_past:
            state = states.get(source_id)
            habit = recent[source_id], rates.get(source_id)
            following = next_state(polled.source, state, polled, changes, now, *habit)
            next_states.append(
                _after_answer(following, polled.answer, now)
                if polled.answer
                else following
            )
        polls.append(poll_row(polled, changes, now))
    rows.upsert(next_states)
    rows.append(polls)
    return polls


def _after_answer(
    state: SourceState, answer: MeetingAnswer, now: datetime
) -> SourceState:
    """Return the state of a civic source with what its change signal listed and the
    time of the last pass.
    """
    return replace(
        state,
        signals=state.signals if answer.signals is None else answer.signals,
        passed_at=now if answer.is_pass else state.passed_at,
    )


# --- states ---------------------------------------------------------------------------


def next_state(
    source: Source,
    state: SourceState | None,
    polled: Polled,
    changes: EntryChanges,
    now: datetime,
    recent_count: int = 0,
    rates: PublishingRates | None = None,
) -> SourceState:
    """Return the source's state after a poll, to be stored in the transaction that
    stores the poll's entries.

    After an error it keeps the validators and the hash of the last document whose
    entries were stored. `recent_count`, the entries of the last CIVIC_WEEKS, is used
    for civic sources only, and `rates` for those whose interval is learnt; without them
    the interval stays.
    """
    if state is not None and state.url != source.url:
        state = None
    if polled.error is not None or polled.page is None:
        return _failed_state(source, state, polled, now)
    interval_s = (
        first_interval(source)
        if state is None
        else _interval(source, state, changes, now, recent_count, rates)
    )
    return _answered_state(source, state, polled.page, polled, changes, now, interval_s)


def _failed_state(
    source: Source, state: SourceState | None, polled: Polled, now: datetime
) -> SourceState:
    error, before = polled.error, state or _new_state(source, now)
    points = before.failure_points + (
        error.weight if isinstance(error, FetchError) else _PARSE_WEIGHT
    )
    retry_after_s = error.retry_after_s if isinstance(error, FetchError) else None
    if isinstance(error, ClosedSourceError):
        retry_after_s = MAX_PAUSE_S
    return replace(
        before,
        last_polled_at=now,
        next_poll_at=next_poll_after_failure(
            before.interval_s, points, polled.outcome, now, retry_after_s=retry_after_s
        ),
        failure_points=points,
        last_outcome=polled.outcome,
        last_reason=polled.reason,
        elapsed_ms=polled.elapsed_ms,
    )


def _answered_state(
    source: Source,
    state: SourceState | None,
    page: Page,
    polled: Polled,
    changes: EntryChanges,
    now: datetime,
    interval_s: float,
) -> SourceState:
    before = state or _new_state(source, now)
    ttl_s = polled.listing.ttl_s if polled.listing is not None else before.ttl_s
    due_at = next_poll_at(
        source,
        interval_s,
        now,
        is_first=state is None,
        max_age_s=page.max_age_s,
        ttl_s=ttl_s,
    )
    left_urls = before.left_urls if polled.listing is None else polled.listing.next_urls
    if changes.deferred_count or left_urls:
        due_at = now + timedelta(seconds=MIN_INTERVAL_S)
    is_whole = not changes.deferred_count and (
        polled.listing is None or polled.listing.is_whole
    )
    stored_hash = before.document_hash if page.is_unchanged else document_hash(page)
    return replace(
        before,
        etag=page.validators.etag if is_whole else None,
        last_modified=page.validators.last_modified if is_whole else None,
        document_hash=stored_hash if is_whole else None,
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


def _interval(
    source: Source,
    state: SourceState,
    changes: EntryChanges,
    now: datetime,
    recent_count: int,
    rates: PublishingRates | None,
) -> float:
    if source.every_minutes is not None:
        return first_interval(source)
    if source.pace == "civic":
        return civic_interval(recent_count)
    if source.pace == "signals":
        is_changed = bool(changes.new_count or changes.updated_count)
        return signal_interval(
            state.interval_s, source.timezone, now, is_changed=is_changed
        )
    return (
        learnt_interval(source, rates, now) if rates is not None else state.interval_s
    )


def _new_state(source: Source, now: datetime) -> SourceState:
    """Return the state of a source that was never polled, for `next_state` to change."""
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


def poll_row(polled: Polled, changes: EntryChanges, now: datetime) -> Poll:
    """Return the row of a poll."""
    page, source = polled.page, polled.source
    return Poll(
        source_id=source.source_id,
        desk=source.desk,
        agency=source.agency,
        polled_at=now,
        outcome=polled.outcome,
        reason=polled.reason,
        status=(
            page.status
            if page
            else polled.error.status
            if isinstance(polled.error, FetchError)
            else None
        ),
        entry_count=(
            len(polled.answer.meetings if polled.answer else polled.listing.entries)
            if polled.listing
            else 0
        ),
        new_count=changes.new_count,
        updated_count=changes.updated_count,
        body_bytes=len(page.body) if page else 0,
        elapsed_ms=polled.elapsed_ms,
    )


def skipped_poll(source: Source, reason: str, now: datetime) -> Poll:
    """Return the row of a source that was not polled. It is not stored."""
    return replace(
        poll_row(
            Polled(source=source, polled_at=now, outcome="skipped"), EntryChanges(), now
        ),
        reason=reason,
    )


# --- entries --------------------------------------------------------------------------


def _store_entries(
    rows: Rows, batch: Sequence[Polled], trace_id: str, filing: Filing
) -> list[EntryChanges]:
    """Store and return what the listings change; each listing sees the changes of those
    before it in the batch.
    """
    known: dict[str, dict[tuple[str, str], FeedEntry]] = defaultdict(dict)
    for row in _known_entries(
        rows, [polled for polled in batch if polled.listing is not None]
    ):
        known[row.agency][row.source_id, row.entry_id] = row
    changed = []
    written: dict[tuple[str, str], FeedEntry] = {}
    for polled in batch:
        of_agency = known[polled.source.agency]
        if polled.answer is not None:
            changed.append(
                store_answer(
                    rows, polled.source, polled.answer, polled.polled_at, trace_id
                )
            )
            continue
        now, stored = polled.polled_at, of_agency.values()
        changes = entry_changes(
            polled.source, polled.listing, stored, now, trace_id, filing
        )
        by_key = {(row.source_id, row.entry_id): row for row in changes.rows}
        of_agency |= by_key
        written |= by_key
        changed.append(changes)
    if written:
        withdrawn = withdrawn_among(rows, {row.article_id for row in written.values()})
        rows.upsert(
            [
                without_content(row) if row.article_id in withdrawn else row
                for row in written.values()
            ]
        )
    return changed


def _known_entries(rows: Rows, listed: Sequence[Polled]) -> list[FeedEntry]:
    """Return the stored rows that match listed entries: of these sources by id, of
    their agencies by URL hash.
    """
    entries = [
        keyed_entries(polled.listing) for polled in listed if polled.listing is not None
    ]
    ids = {entry_id for keyed in entries for entry_id in keyed}
    hashes = {url_hash(entry.url) for keyed in entries for entry in keyed.values()}
    sources = [polled.source for polled in listed]
    desks, agencies = (
        {source.desk for source in sources},
        {source.agency for source in sources},
    )
    own = rows.read(
        FeedEntry, source_id={source.source_id for source in sources}, entry_id=ids
    )
    shared = rows.read(FeedEntry, desk=desks, agency=agencies, url_hash=hashes)
    return [*own, *shared]


def _recent_counts(rows: Rows, batch: Sequence[Polled]) -> Counter[str]:
    """Count the entries of the last CIVIC_WEEKS of the civic sources among these, by
    source_id.

    They are counted by their day: a first poll, or a poll of past days, stores entries
    of many days at once.
    """
    civic = [
        one
        for one in batch
        if one.source.pace == "civic" and one.source.every_minutes is None
    ]
    if not civic:
        return Counter()
    sources, now = (
        {one.source.source_id for one in civic},
        max(one.polled_at for one in civic),
    )
    days = {(now - timedelta(days=ago)).date() for ago in range(7 * CIVIC_WEEKS)}
    return Counter(
        rows.frame(FeedEntry, None, ("source_id",), source_id=sources, day=days)[
            "source_id"
        ]
    )
