"""Asking sources what is new: sources and what is remembered of them in; rows of entries, state and poll out.

The adapter that reads a document, the fetcher and `now` are arguments. Which entries are new is decided in
`entries.py`, when a source is due again in `schedule.py`.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

from news_assets.errors import FetchError, ListingChangedError, SourceError
from news_assets.pipeline.entries import EntryChanges, entry_changes, keyed_entries
from news_assets.pipeline.paging import MAX_FIRST_PAGES, MAX_PAGES, MAX_PAST_PAGES, Known, Walk, nothing_known
from news_assets.pipeline.schedule import (
    FIRST_INTERVAL_S,
    MIN_INTERVAL_S,
    clamped,
    next_interval,
    next_poll_at,
    next_try_at,
    outcome_of,
    spread,
)
from news_assets.ports import Fetcher, PageRequest, Rows
from news_assets.records import FeedEntry, Listing, Outcome, Page, Poll, Source, SourceState, Validators
from news_assets.sources.adapter import Adapter, Parse
from news_assets.text.urls import url_hash

AdapterOf = Callable[[Source], Adapter]

MAX_EMPTY_BYTES = 5_000  # a feed without items is 1-2 kB; a page larger than this is another page
_TRUST_S = 3 * 86_400.0  # after so long without news the document is asked for whole: some servers never change an ETag
_PARSE_WEIGHT = 1.0
MAX_REASON_CHARS = 300  # of what a library raised: some repeat the whole document
QUIET_TOGETHER = 50  # polls without a listing in one transaction, which takes tens of milliseconds whatever it stores


@dataclass(frozen=True, slots=True, kw_only=True)
class Polled:
    """What one poll brought: a listing, nothing new, or an error."""

    source: Source
    outcome: Outcome
    page: Page | None = None
    listing: Listing | None = None
    error: FetchError | SourceError | None = None
    is_of_past: bool = False  # asked for days gone by, which says nothing of when the source is due

    @property
    def reason(self) -> str | None:
        """Why the outcome is not ok; None where it is."""
        return self.error.reason if isinstance(self.error, FetchError) else str(self.error) if self.error else None


def poll_sources(
    sources: Sequence[Source],
    states: Mapping[str, SourceState],
    adapter_of: AdapterOf,
    fetcher: Fetcher,
    known: Known = nothing_known,
    first_day: date | None = None,
) -> Iterator[Polled]:
    """Yield what each source lists now, as the answers arrive; one source's error stays its own.

    Unchanged is a source that says so (304) or whose first page is byte for byte the last one. A listing goes on over
    several pages until it reaches what is known, or days before `first_day`; pages of all sources are asked in turn.
    """
    by_id = {source.source_id: source for source in sources}
    requests = [
        PageRequest(
            adapter_of(source).first_url(source),
            source_id,
            _validators_of(source, states.get(source_id)),
            obeys_robots=False,
        )
        for source_id, source in by_id.items()
    ]

    def polled(source: Source, answer: Page | FetchError) -> Polled:
        return _polled(source, states.get(source.source_id), answer, adapter_of(source).parse)

    def walk(source: Source, listing: Listing) -> Walk:
        return Walk(source, listing, known, first_day, MAX_PAGES if source.source_id in states else MAX_FIRST_PAGES)

    polls = (polled(by_id[request.key], answer) for request, answer in fetcher.fetch_all(requests))
    yield from _with_next_pages(polls, walk, adapter_of, fetcher)


def list_days(
    sources: Sequence[Source], first: date, last: date, adapter_of: AdapterOf, fetcher: Fetcher
) -> Iterator[Polled]:
    """Yield what the sources that can list their past have of these days; nothing is remembered of such a poll.

    Where a listing has to be walked back from today, what lies between is listed too.
    """
    starts: dict[str, Source] = {}
    requests = []
    for source in sources:
        for url in _addresses_of(source, first, last, adapter_of):
            requests.append(PageRequest(url, str(len(starts)), obeys_robots=False))
            starts[str(len(starts))] = source

    def polled(source: Source, answer: Page | FetchError) -> Polled:
        return replace(_polled(source, None, answer, adapter_of(source).parse), is_of_past=True)

    def walk(source: Source, listing: Listing) -> Walk:
        return Walk(source, listing, nothing_known, first, MAX_PAST_PAGES)

    polls = (polled(starts[request.key], answer) for request, answer in fetcher.fetch_all(requests))
    yield from _with_next_pages(polls, walk, adapter_of, fetcher)


def _addresses_of(source: Source, first: date, last: date, adapter_of: AdapterOf) -> Iterable[str]:
    """Return where the listings of these days begin, newest first; none where a source cannot list its past."""
    day_url = adapter_of(source).day_url
    if day_url is None:
        return ()
    return dict.fromkeys(day_url(source, last - timedelta(days=n)) for n in range((last - first).days + 1))


def _with_next_pages(
    polls: Iterable[Polled], walk_of: Callable[[Source, Listing], Walk], adapter_of: AdapterOf, fetcher: Fetcher
) -> Iterator[Polled]:
    """Yield the polls, those that name further pages when these were read: one page of each source at a time."""
    walks = []
    for polled in polls:
        if polled.listing is None or not polled.listing.next_urls:
            yield polled
        else:
            walks.append((polled, walk_of(polled.source, polled.listing)))
    while walks:
        going, requests = {}, []
        for number, (polled, walk) in enumerate(walks):
            url = walk.next_url()
            if url is None:
                yield replace(polled, listing=walk.listing())
            else:
                going[str(number)] = (polled, walk)
                requests.append(PageRequest(url, str(number), obeys_robots=False))
        for request, answer in fetcher.fetch_all(requests):
            _take(going[request.key][1], request.url, answer, adapter_of)
        walks = list(going.values())


def _take(walk: Walk, url: str, answer: Page | FetchError, adapter_of: AdapterOf) -> None:
    if isinstance(answer, FetchError):
        walk.fail(url, answer)
        return
    try:
        walk.take(adapter_of(walk.source).parse(answer, walk.source))
    except SourceError as error:
        walk.fail(url, error)
    except Exception as error:  # noqa: BLE001 - an adapter's own mistake is its source's, and nobody else's
        walk.fail(url, _unexpected(walk.source, error))


def _validators_of(source: Source, state: SourceState | None) -> Validators:
    """Give the validators to ask with: none for another address, and none after days without news."""
    if state is None or state.url != source.url:
        return Validators()
    if state.last_new_at is not None and (state.last_polled_at - state.last_new_at).total_seconds() > _TRUST_S:
        return Validators()
    return Validators(state.etag, state.last_modified)


def _polled(source: Source, state: SourceState | None, page: Page | FetchError, parse: Parse) -> Polled:
    if isinstance(page, FetchError):
        return Polled(source=source, error=page, outcome=outcome_of(page))
    known_hash = state.document_hash if state is not None and state.url == source.url else None
    if page.is_unchanged or document_hash(page) == known_hash:
        return Polled(source=source, page=page, outcome="unchanged")
    try:
        listing = parse(page, source)
        _check_listing(page, listing)
    except SourceError as error:
        return Polled(source=source, page=page, error=error, outcome="failed")
    except Exception as error:  # noqa: BLE001 - an adapter's own mistake is its source's failed poll, and nobody else's
        return Polled(source=source, page=page, error=_unexpected(source, error), outcome="failed")
    return Polled(source=source, page=page, listing=listing, outcome="ok")


def _unexpected(source: Source, error: Exception) -> SourceError:
    said = " ".join(f"{type(error).__name__}: {error}".split())[:MAX_REASON_CHARS]
    return SourceError(f"a mistake in the adapter of `{source.kind}`: {said}")


def _check_listing(page: Page, listing: Listing) -> None:
    if listing.entries or listing.next_urls:
        return
    if not page.body.strip():
        raise SourceError("the document is empty")
    if len(page.body) > MAX_EMPTY_BYTES:
        raise ListingChangedError(
            f"not a single entry in {len(page.body):,} bytes of {page.content_type or 'unknown type'}: "
            "another page, a log-in or a shield"
        )


def document_hash(page: Page) -> str:
    """Return the SHA-256 of the body."""
    return hashlib.sha256(page.body).hexdigest()


# --- rows ------------------------------------------------------------------------------------------------------------


def next_state(
    source: Source, state: SourceState | None, polled: Polled, changes: EntryChanges, now: datetime
) -> SourceState:
    """Return what is to be remembered, for the transaction that stores the poll's entries.

    After an error the validators and hash are still those of the last document whose entries were stored.
    """
    if state is not None and state.url != source.url:
        state = None
    if polled.error is not None or polled.page is None:
        return _failed_state(source, state, polled, now)
    return _answered_state(source, state, polled.page, polled, changes, now)


def _failed_state(source: Source, state: SourceState | None, polled: Polled, now: datetime) -> SourceState:
    error = polled.error
    points = (state.failure_points if state else 0.0) + (
        error.weight if isinstance(error, FetchError) else _PARSE_WEIGHT
    )
    interval_s = state.interval_s if state else _first_interval(source)
    retry_after_s = error.retry_after_s if isinstance(error, FetchError) else None
    return SourceState(
        **_identity(source),
        etag=state.etag if state else None,
        last_modified=state.last_modified if state else None,
        document_hash=state.document_hash if state else None,
        last_polled_at=now,
        last_new_at=state.last_new_at if state else None,
        next_poll_at=next_try_at(interval_s, points, polled.outcome, now, retry_after_s=retry_after_s),
        interval_s=interval_s,
        failure_points=points,
        last_outcome=polled.outcome,
        last_reason=polled.reason,
    )


def _answered_state(
    source: Source, state: SourceState | None, page: Page, polled: Polled, changes: EntryChanges, now: datetime
) -> SourceState:
    known_count = len(changes.rows) - changes.new_count
    last_new_at = state.last_new_at if state else None
    quiet_s = (now - last_new_at).total_seconds() if last_new_at else None
    interval_s = (
        next_interval(state.interval_s, known_count, changes.new_count, quiet_s, source.every_minutes)
        if state is not None
        else _first_interval(source)
    )
    is_fixed = source.every_minutes is not None
    is_whole = not changes.left_count and (polled.listing is None or polled.listing.is_whole)
    return SourceState(
        **_identity(source),
        etag=page.validators.etag if is_whole else None,
        last_modified=page.validators.last_modified if is_whole else None,
        document_hash=_stored_hash(state, page) if is_whole else None,
        last_polled_at=now,
        last_new_at=now if changes.new_count else last_new_at,
        next_poll_at=next_poll_at(
            MIN_INTERVAL_S if changes.left_count else interval_s if state is not None else spread(source, interval_s),
            now,
            max_age_s=None if is_fixed or changes.left_count else page.max_age_s,
            ttl_s=None if is_fixed or changes.left_count or polled.listing is None else polled.listing.ttl_s,
        ),
        interval_s=interval_s,
        failure_points=0.0,
        last_outcome=polled.outcome,
        last_reason=None,
    )


def _stored_hash(state: SourceState | None, page: Page) -> str | None:
    return state.document_hash if page.is_unchanged and state else document_hash(page)


def _first_interval(source: Source) -> float:
    return FIRST_INTERVAL_S if source.every_minutes is None else clamped(source.every_minutes * 60.0)


def _identity(source: Source) -> dict[str, Any]:
    return {"source_id": source.source_id, "desk": source.desk, "agency": source.agency, "url": source.url}


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


def stored_together(polls: Iterable[Polled]) -> Iterator[list[Polled]]:
    """Yield the polls in groups that are stored in one transaction: one with a listing alone, as soon as it is there.

    Those without one are put together. A run that is killed loses them, and they are asked again.
    """
    quiet: list[Polled] = []
    for polled in polls:
        if polled.listing is not None:
            yield [polled]
            continue
        quiet.append(polled)
        if len(quiet) == QUIET_TOGETHER:
            yield quiet
            quiet = []
    if quiet:
        yield quiet


def store_polls(rows: Rows, group: Sequence[Polled], now: datetime, trace_id: str) -> list[Poll]:
    """Store the entries, states and rows of these polls in the transaction that `rows` is; return the rows."""
    stored = rows.read(SourceState, source_id={polled.source.source_id for polled in group})
    states = {state.source_id: state for state in stored}
    next_states, polls = [], []
    for polled in group:
        source = polled.source
        changes = entry_changes(source, polled.listing, _known(rows, polled), now, trace_id)
        if changes.rows:
            rows.upsert(changes.rows)
        if not polled.is_of_past:
            next_states.append(next_state(source, states.get(source.source_id), polled, changes, now))
        polls.append(poll_row(polled, changes, now))
    rows.upsert(next_states)
    rows.append(polls)
    return polls


def _known(rows: Rows, polled: Polled) -> list[FeedEntry]:
    """Read what the listed entries may already be: rows of this source by id, rows of the agency by address."""
    if polled.listing is None:
        return []
    source, keyed = polled.source, keyed_entries(polled.listing)
    hashes = {url_hash(entry.url) for entry in keyed.values()}
    own = rows.read(FeedEntry, source_id=[source.source_id], entry_id=list(keyed))
    shared = rows.read(FeedEntry, desk=[source.desk], agency=[source.agency], url_hash=hashes)
    return [*own, *shared]
