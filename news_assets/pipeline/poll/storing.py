"""What is stored of a poll: listings and what was remembered in; rows of entries, state and poll out.

Which entries are new is decided in `entries.py`, when a source is due again in `schedule.py`. Asking is `poll.py`'s.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from news_assets.errors import FetchError
from news_assets.pipeline.poll.entries import EntryChanges, entry_changes, keyed_entries
from news_assets.pipeline.poll.microbatch import in_heaps
from news_assets.pipeline.poll.poll import Polled, document_hash
from news_assets.pipeline.schedule import (
    CIVIC_WEEKS,
    civic_interval,
    first_interval,
    next_interval,
    next_poll_at,
    next_try_at,
    rest_at,
)
from news_assets.ports import Rows
from news_assets.records import FeedEntry, Page, Poll, Source, SourceState
from news_assets.text.urls import url_hash

QUIET_TOGETHER = 200  # polls without a listing in one transaction, which takes 0.2 s of CPU whatever it stores
_PARSE_WEIGHT = 1.0


# --- what is remembered ----------------------------------------------------------------------------------------------


def next_state(
    source: Source,
    state: SourceState | None,
    polled: Polled,
    changes: EntryChanges,
    now: datetime,
    recent_count: int = 0,
) -> SourceState:
    """Return what is to be remembered, for the transaction that stores the poll's entries.

    After an error the validators and hash are still those of the last document whose entries were stored. The
    `recent_count` of CIVIC_WEEKS matters to a civic source only.
    """
    if state is not None and state.url != source.url:
        state = None
    if polled.error is not None or polled.page is None:
        return _failed_state(source, state, polled, now)
    return _answered_state(source, state, polled.page, polled, changes, now, recent_count)


def _failed_state(source: Source, state: SourceState | None, polled: Polled, now: datetime) -> SourceState:
    error, before = polled.error, state or _never_asked(source, now)
    points = before.failure_points + (error.weight if isinstance(error, FetchError) else _PARSE_WEIGHT)
    retry_after_s = error.retry_after_s if isinstance(error, FetchError) else None
    return replace(
        before,
        last_polled_at=now,
        next_poll_at=next_try_at(before.interval_s, points, polled.outcome, now, retry_after_s=retry_after_s),
        failure_points=points,
        last_outcome=polled.outcome,
        last_reason=polled.reason,
    )


def _answered_state(
    source: Source,
    state: SourceState | None,
    page: Page,
    polled: Polled,
    changes: EntryChanges,
    now: datetime,
    recent_count: int,
) -> SourceState:
    before = state or _never_asked(source, now)
    interval_s = first_interval(source) if state is None else _interval(source, state, changes, now, recent_count)
    ttl_s = polled.listing.ttl_s if polled.listing is not None else before.ttl_s
    due_at = next_poll_at(source, interval_s, now, is_first=state is None, max_age_s=page.max_age_s, ttl_s=ttl_s)
    is_whole = not changes.left_count and (polled.listing is None or polled.listing.is_whole)
    return replace(
        before,
        etag=page.validators.etag if is_whole else None,
        last_modified=page.validators.last_modified if is_whole else None,
        document_hash=_stored_hash(before, page) if is_whole else None,
        last_polled_at=now,
        last_new_at=now if changes.new_count else before.last_new_at,
        next_poll_at=rest_at(now) if changes.left_count else due_at,
        interval_s=interval_s,
        failure_points=0.0,
        last_outcome=polled.outcome,
        last_reason=None,
        ttl_s=ttl_s,
    )


def _interval(source: Source, state: SourceState, changes: EntryChanges, now: datetime, recent_count: int) -> float:
    if source.every_minutes is not None:
        return first_interval(source)
    if source.pace == "civic":
        return civic_interval(recent_count)
    quiet_s = (now - state.last_new_at).total_seconds() if state.last_new_at else None
    return next_interval(state.interval_s, len(changes.rows) - changes.new_count, changes.new_count, quiet_s)


def _stored_hash(before: SourceState, page: Page) -> str | None:
    return before.document_hash if page.is_unchanged else document_hash(page)


def _never_asked(source: Source, now: datetime) -> SourceState:
    """Return the state that a first poll changes."""
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


# --- rows ------------------------------------------------------------------------------------------------------------


def poll_row(polled: Polled, changes: EntryChanges, now: datetime) -> Poll:
    """Return the poll as a row."""
    page, source = polled.page, polled.source
    return Poll(
        source_id=source.source_id,
        desk=source.desk,
        agency=source.agency,
        polled_at=now,
        outcome=polled.outcome,
        reason=polled.reason,
        status=page.status if page else polled.error.status if isinstance(polled.error, FetchError) else None,
        entry_count=len(polled.listing.entries) if polled.listing else 0,
        new_count=changes.new_count,
        updated_count=changes.updated_count,
        body_bytes=len(page.body) if page else 0,
        elapsed_ms=page.elapsed_ms if page else 0,
    )


def passed_over(source: Source, asked_at: datetime, cooldown: timedelta, now: datetime) -> Poll:
    """Return the row of a source that is not asked, because that was done a moment ago. It is shown and not stored."""
    ago_s, again_at = (now - asked_at).total_seconds(), asked_at + cooldown
    reason = f"asked {ago_s:.0f} s ago; again from {again_at:%H:%M:%S} UTC, or with `ask_again: true`"
    return replace(poll_row(Polled(source=source, outcome="skipped"), EntryChanges(), now), reason=reason)


def stored_together(polls: Iterator[Polled]) -> Iterator[list[Polled]]:
    """Yield the polls in groups that are stored in one transaction, which costs the same for one listing as for ten.

    The first listing is stored at once, then what was listed meanwhile; nobody's news wait for another's late answer.
    Polls without one go along with the next. A run that is killed loses them, and they are asked again.
    """
    group: list[Polled] = []
    for heap in in_heaps(polls, _kept_bytes):
        group += heap
        if len(group) >= QUIET_TOGETHER or any(polled.listing is not None for polled in heap):
            yield group
            group = []
    if group:
        yield group


def _kept_bytes(polled: Polled) -> int:
    """Return about how much memory a poll takes that waits to be stored."""
    return 1000 + (2 * len(polled.page.body) if polled.page else 0)


def store_polls(rows: Rows, group: Sequence[Polled], now: datetime, trace_id: str) -> list[Poll]:
    """Store the entries, states and rows of these polls in the transaction that `rows` is; return the rows."""
    stored = rows.read(SourceState, source_id={polled.source.source_id for polled in group})
    states = {state.source_id: state for state in stored}
    changed = _store_entries(rows, group, now, trace_id)
    recent = _recent_counts(rows, [polled.source for polled in group if not polled.is_of_past], now)
    next_states = []
    for polled, changes in zip(group, changed, strict=True):
        source_id = polled.source.source_id
        if not polled.is_of_past:
            before = states.get(source_id)
            next_states.append(next_state(polled.source, before, polled, changes, now, recent[source_id]))
    polls = [poll_row(polled, changes, now) for polled, changes in zip(group, changed, strict=True)]
    rows.upsert(next_states)
    rows.append(polls)
    return polls


def _store_entries(rows: Rows, group: Sequence[Polled], now: datetime, trace_id: str) -> list[EntryChanges]:
    """Store what the listings change, and return it; what one of them brings is known to the next."""
    known: dict[str, dict[tuple[str, str], FeedEntry]] = defaultdict(dict)
    for row in _known(rows, [polled for polled in group if polled.listing is not None]):
        known[row.agency][row.source_id, row.entry_id] = row
    changed = []
    written: dict[tuple[str, str], FeedEntry] = {}
    for polled in group:
        of_agency = known[polled.source.agency]
        changes = entry_changes(polled.source, polled.listing, of_agency.values(), now, trace_id)
        news = {(row.source_id, row.entry_id): row for row in changes.rows}
        of_agency |= news
        written |= news
        changed.append(changes)
    if written:
        rows.upsert(list(written.values()))
    return changed


def _known(rows: Rows, listed: Sequence[Polled]) -> list[FeedEntry]:
    """Read what the listed entries may already be: rows of these sources by id, rows of the agencies by address."""
    entries = [keyed_entries(polled.listing) for polled in listed if polled.listing is not None]
    ids = {entry_id for keyed in entries for entry_id in keyed}
    hashes = {url_hash(entry.url) for keyed in entries for entry in keyed.values()}
    sources = [polled.source for polled in listed]
    desks, agencies = {source.desk for source in sources}, {source.agency for source in sources}
    own = rows.read(FeedEntry, source_id={source.source_id for source in sources}, entry_id=ids)
    shared = rows.read(FeedEntry, desk=desks, agency=agencies, url_hash=hashes)
    return [*own, *shared]


def _recent_counts(rows: Rows, sources: Iterable[Source], now: datetime) -> Counter[str]:
    """Count the entries of the last CIVIC_WEEKS of the civic sources among these, by source_id.

    They are counted by their day: what a first poll or a look at days gone by brings at once did not appear at once.
    """
    civic = {source.source_id for source in sources if source.pace == "civic" and source.every_minutes is None}
    if not civic:
        return Counter()
    days = {(now - timedelta(days=ago)).date() for ago in range(7 * CIVIC_WEEKS)}
    return Counter(rows.frame(FeedEntry, None, ("source_id",), source_id=civic, day=days)["source_id"])
