"""Polls of listings: the first page, those that follow it, and where paging stops. No
lake; `poll_loop.py` sends the requests.
"""

import hashlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from math import inf

from news_assets.errors import (
    FetchError,
    ListingChangedError,
    NewsAssetsError,
    SourceError,
)
from news_assets.pipeline.failures import outcome_of
from news_assets.pipeline.poll.poll_loop import SOURCE_S, Polled, SourcePoll
from news_assets.ports.services import Clock, PageRequest, Sandbox
from news_assets.records.articles import SourceState
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing, Page, Validators
from news_assets.sources.source_kinds import Adapter
from news_assets.text.dates import day_in_address, day_of
from news_assets.text.urls import url_hash

AdapterOf = Callable[[Source], Adapter]

# a feed without items is 1-2 kB; a larger document without entries is not a listing
_MAX_EMPTY_BYTES = 5_000
# after so long without new entries no validators are sent: some servers never change an
# ETag
_TRUST_S = 3 * 86_400.0

# which of these URL hashes a source has stored
KnownHashes = Callable[[Source, Sequence[str]], Collection[str]]

# known URLs in a row: one or two may be articles pinned to the top
_STOP_AFTER_KNOWN = 3
MAX_PAGES = 20  # some 600 entries; older ones can be polled by day
# of a source that is new: polling 160 agencies on one host takes minutes, not an hour
_MAX_FIRST_PAGES = 1
_MAX_PAST_PAGES = 200
_MAX_DEFERRED = MAX_PAGES  # a sitemap index may name thousands
_SLACK_S = 0.1  # of a request that ended at its limit
_NO_SUCH_PAGE = (400, 404, 410)
# an index of sitemaps lists no entries itself, and some of its sitemaps may be empty
_MAX_EMPTY_PAGES = 20


def nothing_known(source: Source, hashes: Sequence[str]) -> Collection[str]:
    """Return no hashes, for a source without stored entries."""
    return ()


def listing_polls(
    sources: Sequence[Source],
    states: Mapping[str, SourceState],
    adapter_of: AdapterOf,
    sandbox: Sandbox,
    clock: Clock,
    known: KnownHashes = nothing_known,
    first_day: date | None = None,
) -> dict[PageRequest, SourcePoll]:
    """Return the polls of what each source lists now, by their first requests.

    A source is unchanged if it answers 304 or its first page has the same bytes as last
    time. Next pages are fetched until entries are known or old, or until the requests
    have taken SOURCE_S; of a source without a state, _MAX_FIRST_PAGES only.

    Args:
        sources: The sources.
        states: Their states, by source_id.
        adapter_of: The adapter of a source.
        sandbox: Reads the answers.
        clock: The time, for answers that failed.
        known: Which URLs of a source are stored.
        first_day: Older entries end a listing.
    """
    polls: dict[PageRequest, SourcePoll] = {}
    for source in sources:
        adapter = adapter_of(source)
        state = states.get(source.source_id)
        max_pages = _MAX_FIRST_PAGES if state is None else MAX_PAGES
        if state is not None and state.url != source.url:
            state = None  # it describes another address
        request = _first_request(source, state, adapter)
        pagination = _Pagination(
            source,
            known,
            first_day,
            max_pages,
            max_s=SOURCE_S,
            carried_over=() if state is None else state.left_urls,
        )
        known_hash = None if state is None else state.document_hash
        polls[request] = _ListingPoll(pagination, adapter, sandbox, clock, known_hash)
    return polls


def _first_request(
    source: Source, state: SourceState | None, adapter: Adapter
) -> PageRequest:
    """Return the request for the first page of a listing, conditional by its state."""
    return PageRequest(
        adapter.first_url(source),
        source.source_id,
        Validators() if state is None else _validators_of(state),
        obeys_robots=False,
        max_s=SOURCE_S,
        access=source.access,
    )


def past_polls(
    sources: Sequence[Source],
    first: date,
    last: date,
    adapter_of: AdapterOf,
    sandbox: Sandbox,
    clock: Clock,
) -> dict[PageRequest, SourcePoll]:
    """Return the polls of what sources that can list past days have of these days, by
    their first requests.

    A listing without a URL per day is read from today back to `first`, and its later
    days are listed too. An entry without a date and without a day in its URL is
    skipped: it would be filed under today.

    Args:
        sources: The sources; those that cannot list past days are skipped.
        first: The first day.
        last: The last day.
        adapter_of: The adapter of a source.
        sandbox: Reads the answers.
        clock: The time, for answers that failed.
    """
    polls: dict[PageRequest, SourcePoll] = {}
    for source in sources:
        adapter = adapter_of(source)
        for url in _day_urls(source, first, last, adapter):
            request = PageRequest(
                url, source.source_id, obeys_robots=False, access=source.access
            )
            pagination = _Pagination(source, nothing_known, first, _MAX_PAST_PAGES)
            polls[request] = _ListingPoll(
                pagination, adapter, sandbox, clock, is_of_past=True
            )
    return polls


def can_list_past(source: Source, adapter_of: AdapterOf) -> bool:
    """Whether a source can be polled for past days."""
    return adapter_of(source).day_url is not None


def document_hash(page: Page) -> str:
    """Return the SHA-256 of the body."""
    return hashlib.sha256(page.body).hexdigest()


def _day_urls(
    source: Source, first: date, last: date, adapter: Adapter
) -> Iterable[str]:
    """Return the first pages of the listings of these days, newest first; none if the
    source cannot list past days.
    """
    day_url = adapter.day_url
    if day_url is None:
        return ()
    urls: dict[str, None] = {}
    for n in range((last - first).days + 1):
        urls[day_url(source, last - timedelta(days=n))] = None
    return urls


def _validators_of(state: SourceState) -> Validators:
    """Return the validators to send: none after _TRUST_S without new entries."""
    if state.last_new_at is not None:
        quiet = state.last_polled_at - state.last_new_at
        if quiet.total_seconds() > _TRUST_S:
            return Validators()
    return Validators(state.etag, state.last_modified)


# --- the poll of one listing ----------------------------------------------------------


class _ListingPoll:
    """The poll of one listing, page by page.

    `known_hash` is that of the last document: a first page with the same bytes is
    unchanged.
    """

    def __init__(
        self,
        pagination: "_Pagination",
        adapter: Adapter,
        sandbox: Sandbox,
        clock: Clock,
        known_hash: str | None = None,
        *,
        is_of_past: bool = False,
    ) -> None:
        self._pagination = pagination
        self._adapter = adapter
        self._sandbox = sandbox
        self._clock = clock
        self._known_hash = known_hash
        self._is_of_past = is_of_past
        self._first: Polled | None = None
        self._first_url = ""
        self._is_over = False

    def take(
        self, request: PageRequest, answer: Page | FetchError
    ) -> list[PageRequest]:
        """Add a page or its error; return the request for the next page."""
        at = answer.fetched_at if isinstance(answer, Page) else self._clock()
        if self._first is None:
            self._first = self._first_page(answer, at)
            self._first_url = request.url
        else:
            self._first = replace(self._first, polled_at=at)
            self._add_page(request.url, answer)
        url = None
        if self._first.listing is not None:
            url = self._pagination.next_url()
        if url is None:
            self._is_over = True
            return []
        return [self._request(url)]

    def _request(self, url: str) -> PageRequest:
        """Return the request for a next page. Two polls of a source may request the same
        one: the key has the first page of its poll.
        """
        source = self._pagination.source
        return PageRequest(
            url,
            f"{source.source_id} {self._first_url}",
            max_s=self._pagination.remaining_s,
            access=source.access,
        )

    def defer(self, request: PageRequest) -> None:
        """Stop before a page; without a first page nothing is known of the listing."""
        if self._first is not None:
            self._pagination.defer(request.url)
            self._is_over = True

    def polled(self) -> Polled | None:
        """Return the poll with the entries of all its pages."""
        if self._first is None:
            return None
        if not self._is_over:
            return None
        if self._first.listing is None:
            return self._first
        return replace(
            self._first,
            listing=self._pagination.listing(),
            elapsed_ms=self._pagination.elapsed_ms,
        )

    def _first_page(self, answer: Page | FetchError, at: datetime) -> Polled:
        """Return the poll after its first page, which is added to the pagination if it
        is a listing.
        """
        source = self._pagination.source
        polled = Polled(
            source=source,
            polled_at=at,
            elapsed_ms=answer.elapsed_ms,
            outcome="failed",
            is_of_past=self._is_of_past,
        )
        if isinstance(answer, FetchError):
            return replace(polled, error=answer, outcome=outcome_of(answer))
        if answer.is_unchanged or document_hash(answer) == self._known_hash:
            return replace(polled, page=answer, outcome="unchanged")
        try:
            listing = self._listing_on(answer)
            _check_listing(answer, listing)
        except SourceError as error:
            return replace(polled, page=answer, error=error)
        self._pagination.add(answer, listing)
        return replace(polled, page=answer, listing=listing, outcome="ok")

    def _add_page(self, url: str, answer: Page | FetchError) -> None:
        if isinstance(answer, FetchError):
            self._pagination.fail(url, answer)
            return
        try:
            listing = self._listing_on(answer)
        except SourceError as error:
            self._pagination.fail(url, error)
            return
        self._pagination.add(answer, listing)

    def _listing_on(self, page: Page) -> Listing:
        """Return what a page lists; in a poll of past days the entries whose day is
        stated.

        Raises:
            SourceError: It cannot be read: a bug in an adapter, or a document over the
                limits, fails only its source.
        """
        source = self._pagination.source
        [listing] = self._sandbox.run(self._adapter.parse, [(page, source)])
        if isinstance(listing, SourceError):
            raise listing
        if isinstance(listing, NewsAssetsError):
            raise SourceError(f"`{source.kind}`: {listing}") from listing
        if self._is_of_past:
            return _with_stated_days(listing)
        return listing


def _check_listing(page: Page, listing: Listing) -> None:
    if listing.entries:
        return
    if listing.next_urls:
        return
    if listing.states_empty:
        return
    if not page.body.strip():
        raise SourceError("the document is empty")
    if len(page.body) > _MAX_EMPTY_BYTES:
        raise ListingChangedError(
            f"no entry in {len(page.body):,} bytes of {page.content_type or 'unknown type'}: "
            "probably a changed page, a log-in page or a bot wall"
        )


def _with_stated_days(listing: Listing) -> Listing:
    """Return the listing with only the entries whose day a date or the URL states.

    Raises:
        SourceError: There are entries, but none of these.
    """
    dated: list[ListedEntry] = []
    for entry in listing.entries:
        day = day_in_address(entry.url)
        if entry.published_at or day:
            dated.append(replace(entry, day=day))
    if listing.entries and not dated:
        raise SourceError(
            f"none of {len(listing.entries)} entries has a date or a day in its URL"
        )
    return replace(listing, entries=tuple(dated))


# --- the pages of one listing ---------------------------------------------------------


class _Pagination:
    """The pages of one listing, newest entries first: those read, and the URLs of those
    still to fetch.

    It ends at a page with _STOP_AFTER_KNOWN known entries in a row, at a page with only
    entries before `first_day`, at `max_pages` pages with entries, or where no page
    follows.

    After `max_s` seconds of requests it ends too, and the listing names the pages that
    follow. The next poll gets them as `carried_over`, and reads them after its own.
    """

    def __init__(
        self,
        source: Source,
        known: KnownHashes,
        first_day: date | None,
        max_pages: int,
        *,
        max_s: float = inf,
        carried_over: Sequence[str] = (),
    ) -> None:
        self.source = source
        self.elapsed_ms = 0
        self._max_s = max_s
        self._carried_over = tuple(carried_over)
        self._has_resumed = False
        self._deferred: tuple[str, ...] = ()
        self._known = known
        self._first_day = first_day
        self._max_pages = max_pages
        self._new_count, self._known_in_a_row = 0, 0
        self._stop_after = _STOP_AFTER_KNOWN
        self._listings: list[Listing] = []
        self._queue: deque[str] = deque()
        self._seen: set[str] = set()
        self._problems: list[str] = []
        self._is_whole = True

    def add(self, page: Page, listing: Listing) -> None:
        """Add a page that was read, and queue the pages that follow it."""
        self._listings.append(listing)
        self.elapsed_ms += page.elapsed_ms
        # a next page may have the source's own URL
        self._seen |= {page.url, page.final_url}
        if (listing.next_urls or self._carried_over) and self._is_end(listing.entries):
            self._queue.clear()
            return
        for url in listing.next_urls:
            if url not in self._seen:
                self._seen.add(url)
                self._queue.append(url)

    def fail(self, url: str, error: FetchError | SourceError) -> None:
        """Stop at a page that could not be fetched or read; the next poll begins again
        at the first page.

        A page that does not exist is the regular end: WordPress answers 400 after its
        last page, others 404. A page for which the time was too short is deferred to
        the next poll, once.
        """
        reason: object = error
        if isinstance(error, FetchError):
            self.elapsed_ms += error.elapsed_ms
            reason = error.reason
            if self.remaining_s <= _SLACK_S and url not in self._carried_over:
                self.defer(url)
                return
        self._queue.clear()
        if isinstance(error, FetchError) and error.status in _NO_SUCH_PAGE:
            return
        self._problems.append(f"stopped at {url}: {reason}")
        self._is_whole = False

    @property
    def remaining_s(self) -> float:
        """The seconds that remain for the next pages."""
        return max(0.0, self._max_s - self.elapsed_ms / 1000)

    def defer(self, url: str) -> None:
        """Stop before this page: the next poll reads it, and those after it."""
        deferred = [url, *self._queue]
        if not self._has_resumed:
            deferred += self._unread_carried_over()
        self._deferred = tuple(deferred[:_MAX_DEFERRED])
        self._queue.clear()
        self._has_resumed = True
        self._problems.append(
            f"left for the next poll: {url} and {len(self._deferred) - 1} more"
        )
        self._is_whole = False

    def _unread_carried_over(self) -> list[str]:
        return [url for url in self._carried_over if url not in self._seen]

    def next_url(self) -> str | None:
        """Return the URL to fetch now, None at the end."""
        if not self._queue and not self._has_resumed:
            self._has_resumed = True
            self._queue.extend(self._unread_carried_over())
            # Pages that were deferred begin with entries that were read by now: new
            # ones have moved them down.
            self._known_in_a_row = 0
            self._stop_after = _STOP_AFTER_KNOWN + self._new_count
        if not self._queue:
            return None
        if self._has_enough_pages():
            self._problems.append(f"stopped after {len(self._listings)} pages")
            self._queue.clear()
            return None
        url = self._queue.popleft()
        if self.remaining_s <= _SLACK_S:
            self.defer(url)
            return None
        return url

    def _has_enough_pages(self) -> bool:
        filled = sum(bool(listing.entries) for listing in self._listings)
        empty = len(self._listings) - filled
        if filled >= self._max_pages:
            return True
        return empty > _MAX_EMPTY_PAGES

    def listing(self) -> Listing:
        """Return all pages as one listing; an entry that moved to the next page between
        two requests counts once.
        """
        entries: dict[tuple[str, str], ListedEntry] = {}
        problems: list[str] = []
        for listing in self._listings:
            problems += listing.problems
            for entry in listing.entries:
                entries.setdefault((entry.entry_id, entry.url), entry)
        is_whole = all(listing.is_whole for listing in self._listings)
        return replace(
            self._listings[0],
            entries=tuple(entries.values()),
            is_whole=self._is_whole and is_whole,
            next_urls=self._deferred,
            problems=(*problems, *self._problems),
        )

    def _is_end(self, entries: Sequence[ListedEntry]) -> bool:
        """Whether a page reaches known entries, or those before the first day."""
        if self._reaches_known(entries):
            return True
        return self._is_before_first_day(entries)

    def _reaches_known(self, entries: Sequence[ListedEntry]) -> bool:
        if not entries:
            return False
        hashes = [url_hash(entry.url) for entry in entries]
        known = self._known(self.source, hashes)
        self._new_count += sum(hashed not in known for hashed in hashes)
        for hashed in hashes:
            self._known_in_a_row = self._known_in_a_row + 1 if hashed in known else 0
            if self._known_in_a_row >= self._stop_after:
                return True
        return False

    def _is_before_first_day(self, entries: Sequence[ListedEntry]) -> bool:
        if self._first_day is None:
            return False
        if not entries:
            return False
        for entry in entries:
            if entry.published_at is None:
                return False
            if day_of(entry.published_at, self.source.timezone) >= self._first_day:
                return False
        return True
