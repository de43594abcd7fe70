"""Fetch and parse what sources list; no lake. Where paging stops is decided in
`paging.py`.
"""

import hashlib
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from math import inf

from news_assets.errors import (
    FetchError,
    ListingChangedError,
    NewsAssetsError,
    SourceError,
)
from news_assets.pipeline.poll.paging import (
    MAX_FIRST_PAGES,
    MAX_PAGES,
    MAX_PAST_PAGES,
    SOURCE_S,
    KnownHashes,
    Pagination,
    nothing_known,
)
from news_assets.pipeline.stage_state.retries import outcome_of
from news_assets.ports.services import Fetcher, PageRequest, Sandbox
from news_assets.records.articles import SourceState
from news_assets.records.desks import Source
from news_assets.records.meetings import MeetingAnswer
from news_assets.records.reading import ListedEntry, Listing, Outcome, Page, Validators
from news_assets.sources.source_kinds import Adapter, Parse
from news_assets.text.dates import day_in_address

AdapterOf = Callable[[Source], Adapter]
Clock = Callable[[], datetime]

# a feed without items is 1-2 kB; a larger document without entries is not a listing
_MAX_EMPTY_BYTES = 5_000
# after so long without new entries no validators are sent: some servers never change an
# ETag
_TRUST_S = 3 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Polled:
    """The result of polling one source: a listing, an unchanged document, or an error.

    `polled_at` is the time of the answer, or of the failure; of a listing with several
    pages, that of the last page.
    """

    source: Source
    outcome: Outcome
    polled_at: datetime
    elapsed_ms: int = 0  # of all requests
    page: Page | None = None
    listing: Listing | None = None
    error: FetchError | SourceError | None = None
    answer: MeetingAnswer | None = None  # of a civic source
    note: str | None = None  # what is odd about an answer that could be read
    is_of_past: bool = False  # of past days: does not change when the source is due

    @property
    def reason(self) -> str | None:
        """Return the error's message if there is an error, else the note."""
        if isinstance(self.error, FetchError):
            return self.error.reason
        return str(self.error) if self.error else self.note


def poll_sources(
    sources: Sequence[Source],
    states: Mapping[str, SourceState],
    adapter_of: AdapterOf,
    fetcher: Fetcher,
    sandbox: Sandbox,
    clock: Clock,
    known: KnownHashes = nothing_known,
    first_day: date | None = None,
    begin_within_s: float = inf,
) -> Generator[Polled, None, None]:
    """Yield what each source lists now, as the answers arrive; an error of one source
    does not affect the others.

    A source is unchanged if it answers 304 or its first page has the same bytes as last
    time. Next pages are fetched until entries are known or old, or until the requests
    have taken SOURCE_S; of a source without a state, MAX_FIRST_PAGES only.

    Args:
        sources: The sources.
        states: Their states, by source_id.
        adapter_of: The adapter of a source.
        fetcher: Sends the requests.
        sandbox: Reads the answers.
        clock: The time, for answers that failed.
        known: Which URLs of a source are stored.
        first_day: Older entries end a listing.
        begin_within_s: Seconds after which no request begins: sources of which nothing
            was requested are missing, and the next poll reads the next pages.
    """
    listings: dict[PageRequest, Pagination] = {}
    current: dict[str, SourceState] = {}
    for source in sources:
        state = states.get(source.source_id)
        max_pages = MAX_FIRST_PAGES if state is None else MAX_PAGES
        validators = Validators()
        deferred: tuple[str, ...] = ()
        if state is not None and state.url == source.url:
            current[source.source_id] = state
            validators, deferred = _validators_of(state), state.left_urls
        request = PageRequest(
            adapter_of(source).first_url(source),
            source.source_id,
            validators,
            obeys_robots=False,
            max_s=SOURCE_S,
            access=source.access,
        )
        listings[request] = Pagination(
            source, known, first_day, max_pages, max_s=SOURCE_S, carried_over=deferred
        )
    return _fetch_listings(
        listings, current, _parser(adapter_of, sandbox), fetcher, clock, begin_within_s
    )


def poll_past_days(
    sources: Sequence[Source],
    first: date,
    last: date,
    adapter_of: AdapterOf,
    fetcher: Fetcher,
    sandbox: Sandbox,
    clock: Clock,
) -> Generator[Polled, None, None]:
    """Yield what the sources that can list past days have of these days.

    A listing without a URL per day is read from today back to `first`, and its later
    days are listed too. An entry without a date and without a day in its URL is
    skipped: it would be filed under today.

    Args:
        sources: The sources; those that cannot list past days are skipped.
        first: The first day.
        last: The last day.
        adapter_of: The adapter of a source.
        fetcher: Sends the requests.
        sandbox: Reads the answers.
        clock: The time, for answers that failed.
    """
    listings: dict[PageRequest, Pagination] = {}
    for source in sources:
        for url in _day_urls(source, first, last, adapter_of):
            request = PageRequest(
                url, source.source_id, obeys_robots=False, access=source.access
            )
            pagination = Pagination(source, nothing_known, first, MAX_PAST_PAGES)
            listings[request] = pagination
    parse = _of_stated_days(_parser(adapter_of, sandbox))
    polls = _fetch_listings(listings, {}, parse, fetcher, clock)
    return (replace(polled, is_of_past=True) for polled in polls)


def can_list_past(source: Source, adapter_of: AdapterOf) -> bool:
    """Whether a source can be polled for past days."""
    return adapter_of(source).day_url is not None


def document_hash(page: Page) -> str:
    """Return the SHA-256 of the body."""
    return hashlib.sha256(page.body).hexdigest()


def _day_urls(
    source: Source, first: date, last: date, adapter_of: AdapterOf
) -> Iterable[str]:
    """Return the first pages of the listings of these days, newest first; none if the
    source cannot list past days.
    """
    day_url = adapter_of(source).day_url
    if day_url is None:
        return ()
    return dict.fromkeys(
        day_url(source, last - timedelta(days=n))
        for n in range((last - first).days + 1)
    )


def _validators_of(state: SourceState) -> Validators:
    """Return the validators to send: none after _TRUST_S without new entries."""
    if state.last_new_at is not None:
        quiet = state.last_polled_at - state.last_new_at
        if quiet.total_seconds() > _TRUST_S:
            return Validators()
    return Validators(state.etag, state.last_modified)


# --- fetch ----------------------------------------------------------------------------


def _fetch_listings(
    listings: Mapping[PageRequest, Pagination],
    states: Mapping[str, SourceState],
    parse: Parse,
    fetcher: Fetcher,
    clock: Clock,
    begin_within_s: float = inf,
) -> Generator[Polled, None, None]:
    """Fetch the first pages, then the next pages in rounds of one page per listing;
    yield each poll once complete.
    """
    begun: dict[Pagination, Polled] = {}
    ends_at = time.monotonic() + begin_within_s
    requests = dict(listings)
    while requests:
        following: dict[PageRequest, Pagination] = {}
        for request, answer in fetcher.fetch_all(tuple(requests), remaining_s(ends_at)):
            pagination = requests.pop(request)
            at = answer.fetched_at if isinstance(answer, Page) else clock()
            if pagination in begun:
                polled = replace(begun[pagination], polled_at=at)
                _add_page(pagination, request.url, answer, parse)
            else:
                polled = _polled(pagination, states.get(request.key), answer, at, parse)
            url = None if polled.listing is None else pagination.next_url()
            if url is None:
                yield _complete(polled, pagination)
                continue
            begun[pagination] = polled
            next_page = PageRequest(
                url,
                str(len(following)),
                max_s=pagination.remaining_s,
                access=pagination.source.access,
            )
            following[next_page] = pagination
        for request, pagination in requests.items():  # no time remained for them
            if pagination in begun:
                pagination.defer(request.url)
                yield _complete(begun[pagination], pagination)
        requests = following


def remaining_s(ends_at: float) -> float | None:
    """Return the seconds until a time of the monotonic clock; None without an end."""
    return None if ends_at == inf else max(0.0, ends_at - time.monotonic())


def _complete(polled: Polled, pagination: Pagination) -> Polled:
    """Return a poll with the entries of all its pages."""
    if polled.listing is None:
        return polled
    return replace(
        polled, listing=pagination.listing(), elapsed_ms=pagination.elapsed_ms
    )


def _add_page(
    pagination: Pagination, url: str, answer: Page | FetchError, parse: Parse
) -> None:
    try:
        if isinstance(answer, FetchError):
            raise answer
        pagination.add(answer, parse(answer, pagination.source))
    except (FetchError, SourceError) as error:
        pagination.fail(url, error)


# --- parse ----------------------------------------------------------------------------


def _polled(
    pagination: Pagination,
    state: SourceState | None,
    answer: Page | FetchError,
    at: datetime,
    parse: Parse,
) -> Polled:
    """Return the poll after its first page, which is added to the pagination if it is a
    listing.
    """
    source = pagination.source
    polled = Polled(
        source=source, polled_at=at, elapsed_ms=answer.elapsed_ms, outcome="failed"
    )
    if isinstance(answer, FetchError):
        return replace(polled, error=answer, outcome=outcome_of(answer))
    known_hash = state.document_hash if state else None
    if answer.is_unchanged or document_hash(answer) == known_hash:
        return replace(polled, page=answer, outcome="unchanged")
    try:
        listing = parse(answer, source)
        _check_listing(answer, listing)
    except SourceError as error:
        return replace(polled, page=answer, error=error)
    pagination.add(answer, listing)
    return replace(polled, page=answer, listing=listing, outcome="ok")


def _check_listing(page: Page, listing: Listing) -> None:
    if listing.entries or listing.next_urls or listing.states_empty:
        return
    if not page.body.strip():
        raise SourceError("the document is empty")
    if len(page.body) > _MAX_EMPTY_BYTES:
        raise ListingChangedError(
            f"no entry in {len(page.body):,} bytes of {page.content_type or 'unknown type'}: "
            "probably a changed page, a log-in page or a bot wall"
        )


def _parser(adapter_of: AdapterOf, sandbox: Sandbox) -> Parse:
    """Return the parser of every source; a bug in an adapter, or a document over the
    limits, fails only its source.
    """

    def parse(page: Page, source: Source) -> Listing:
        [listing] = sandbox.run(adapter_of(source).parse, [(page, source)])
        if isinstance(listing, SourceError):
            raise listing
        if isinstance(listing, NewsAssetsError):
            raise SourceError(f"`{source.kind}`: {listing}") from listing
        return listing

    return parse


def _of_stated_days(parse: Parse) -> Parse:
    """Return a parser that keeps only the entries whose day a date or the URL tells."""

    def parse_dated(page: Page, source: Source) -> Listing:
        listing = parse(page, source)
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

    return parse_dated
