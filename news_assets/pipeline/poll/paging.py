"""Listings of several pages: what is asked after the first page, and where it stops.

Pages enter as listings, newest entries first; the listing of the whole walk leaves. It ends at what is known, at a day,
at its cap, or where no page follows. Asking and reading pages belongs to `poll.py`.
"""

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import date

from news_assets.errors import FetchError, SourceError
from news_assets.records import ListedEntry, Listing, Page, Source
from news_assets.text.dates import day_of
from news_assets.text.urls import url_hash

Known = Callable[[Source, Sequence[str]], Collection[str]]  # which of these hashes of addresses a source has stored

FENCE = 3  # known addresses in a row: one or two may be articles that stay on top
MAX_PAGES = 20  # some 600 entries; what a poll leaves is asked for by day
MAX_FIRST_PAGES = 1  # of a source never asked before: 160 agencies of one host are heard within minutes, not an hour
MAX_PAST_PAGES = 200
_NO_SUCH_PAGE = (400, 404, 410)
_MAX_EMPTY_PAGES = 20  # an index of sitemaps lists none itself, and some of its sitemaps may be empty


def nothing_known(source: Source, hashes: Sequence[str]) -> Collection[str]:
    """Return none of them, for a source of which nothing is stored."""
    return ()


class Walk:
    """One source's way through its pages.

    `page` is the first one, and `first` what it lists. `known` says what is stored already, `stops_at` is the first day
    of interest, `max_pages` caps the pages with entries.
    """

    def __init__(
        self, source: Source, page: Page, first: Listing, known: Known, stops_at: date | None, max_pages: int
    ) -> None:
        self.source = source
        self._known, self._stops_at, self._max_pages = known, stops_at, max_pages
        self._listings: list[Listing] = []
        self._waiting: deque[str] = deque()
        self._seen = {page.url, page.final_url}  # a source's own address may be a later page
        self._in_a_row = 0
        self._problems: list[str] = []
        self._is_whole = True
        self.take(first)

    def take(self, listing: Listing) -> None:
        """Take one page, and note which pages follow it."""
        self._listings.append(listing)
        if self._is_over(listing):
            self._waiting.clear()
            return
        for url in listing.next_urls:
            if url not in self._seen:
                self._seen.add(url)
                self._waiting.append(url)

    def fail(self, url: str, error: FetchError | SourceError) -> None:
        """Note a page that could not be had: the walk ends there, and the source is asked again from the beginning.

        A page that the server says there is not is the end: WordPress answers 400 behind its last page, others 404.
        """
        if isinstance(error, FetchError) and error.status in _NO_SUCH_PAGE:
            self._waiting.clear()
            return
        self._problems.append(f"stopped at {url}: {error.reason if isinstance(error, FetchError) else error}")
        self._waiting.clear()
        self._is_whole = False

    def next_url(self) -> str | None:
        """Return the page to ask now; None where the walk is over."""
        filled = sum(bool(listing.entries) for listing in self._listings)
        if self._waiting and (filled >= self._max_pages or len(self._listings) - filled > _MAX_EMPTY_PAGES):
            self._problems.append(f"stopped after {len(self._listings)} pages")
            self._waiting.clear()
        return self._waiting.popleft() if self._waiting else None

    def listing(self) -> Listing:
        """Return everything that was listed; of an entry that moved to the next page meanwhile the first one."""
        entries: dict[tuple[str, str], ListedEntry] = {}
        for listing in self._listings:
            for entry in listing.entries:
                entries.setdefault((entry.entry_id, entry.url), entry)
        problems = [problem for listing in self._listings for problem in listing.problems]
        return replace(
            self._listings[0],
            entries=tuple(entries.values()),
            is_whole=self._is_whole and all(listing.is_whole for listing in self._listings),
            next_urls=(),
            problems=(*problems, *self._problems),
        )

    def _is_over(self, listing: Listing) -> bool:
        """Whether what follows this page is known, or too old."""
        if not listing.next_urls:
            return False
        return self._meets_fence(listing.entries) or self._is_past(listing.entries)

    def _meets_fence(self, entries: Sequence[ListedEntry]) -> bool:
        hashes = [url_hash(entry.url) for entry in entries]
        known = self._known(self.source, hashes) if hashes else ()
        for hashed in hashes:
            self._in_a_row = self._in_a_row + 1 if hashed in known else 0
            if self._in_a_row >= FENCE:
                return True
        return False

    def _is_past(self, entries: Sequence[ListedEntry]) -> bool:
        if self._stops_at is None or not entries:
            return False
        days = [day_of(entry.published_at, self.source.timezone) for entry in entries if entry.published_at]
        return bool(days) and len(days) == len(entries) and max(days) < self._stops_at
