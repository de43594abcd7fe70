"""Decide which pages of a listing are fetched after the first, and where paging stops."""

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import date
from math import inf

from news_assets.errors import FetchError, SourceError
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing, Page
from news_assets.text.dates import day_of
from news_assets.text.urls import url_hash

# which of these URL hashes a source has stored
KnownHashes = Callable[[Source, Sequence[str]], Collection[str]]

# known URLs in a row: one or two may be articles pinned to the top
_STOP_AFTER_KNOWN = 3
MAX_PAGES = 20  # some 600 entries; older ones can be polled by day
# of a source that is new: polling 160 agencies on one host takes minutes, not an hour
MAX_FIRST_PAGES = 1
MAX_PAST_PAGES = 200
SOURCE_S = 60.0  # for all requests of a poll, without waits for host slots
_MAX_DEFERRED = MAX_PAGES  # a sitemap index may name thousands
_SLACK_S = 0.1  # of a request that ended at its limit
_NO_SUCH_PAGE = (400, 404, 410)
# an index of sitemaps lists no entries itself, and some of its sitemaps may be empty
_MAX_EMPTY_PAGES = 20


def nothing_known(source: Source, hashes: Sequence[str]) -> Collection[str]:
    """Return no hashes, for a source of which nothing is stored."""
    return ()


class Pagination:
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
        self._known, self._first_day, self._max_pages = known, first_day, max_pages
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
        return filled >= self._max_pages or empty > _MAX_EMPTY_PAGES

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
        return self._reaches_known(entries) or self._is_before_first_day(entries)

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
        if self._first_day is None or not entries:
            return False
        for entry in entries:
            if entry.published_at is None:
                return False
            if day_of(entry.published_at, self.source.timezone) >= self._first_day:
                return False
        return True
