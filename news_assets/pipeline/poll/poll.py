"""Asking sources what they list: sources and what is remembered of them in; listings, or why there is none, out.

The adapter that reads a document and the fetcher are arguments. Where a listing of several pages ends is decided in
`paging.py`; what is stored of a poll, in `poll_rows.py`.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from news_assets.errors import FetchError, ListingChangedError, SourceError
from news_assets.pipeline.poll.paging import MAX_FIRST_PAGES, MAX_PAGES, MAX_PAST_PAGES, Known, Walk, nothing_known
from news_assets.pipeline.schedule import outcome_of
from news_assets.ports import Fetcher, PageRequest
from news_assets.records import Listing, Outcome, Page, Source, SourceState, Validators
from news_assets.sources.adapter import Adapter, Parse
from news_assets.text.dates import day_in_address

AdapterOf = Callable[[Source], Adapter]

MAX_EMPTY_BYTES = 5_000  # a feed without items is 1-2 kB; a page larger than this is another page
_TRUST_S = 3 * 86_400.0  # after so long without news the document is asked for whole: some servers never change an ETag
MAX_REASON_CHARS = 300  # of what a library raised: some repeat the whole document


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

    def walk(source: Source, page: Page, listing: Listing) -> Walk:
        most = MAX_PAGES if source.source_id in states else MAX_FIRST_PAGES
        return Walk(source, page, listing, known, first_day, most)

    polls = (polled(by_id[request.key], answer) for request, answer in fetcher.fetch_all(requests))
    yield from _with_next_pages(polls, walk, adapter_of, fetcher)


def list_days(
    sources: Sequence[Source], first: date, last: date, adapter_of: AdapterOf, fetcher: Fetcher
) -> Iterator[Polled]:
    """Yield what the sources that can list their past have of these days; nothing is remembered of such a poll.

    Where a listing has to be walked back from today, what lies between is listed too. An entry whose day
    neither a date nor its address tells is left out: it would be filed under today.
    """
    starts: dict[str, Source] = {}
    requests = []
    for source in sources:
        for url in _addresses_of(source, first, last, adapter_of):
            requests.append(PageRequest(url, str(len(starts)), obeys_robots=False))
            starts[str(len(starts))] = source

    def polled(source: Source, answer: Page | FetchError) -> Polled:
        return replace(_polled(source, None, answer, dated_of(source).parse), is_of_past=True)

    def dated_of(source: Source) -> Adapter:
        adapter = adapter_of(source)
        return replace(adapter, parse=_of_stated_days(adapter.parse))

    def walk(source: Source, page: Page, listing: Listing) -> Walk:
        return Walk(source, page, listing, nothing_known, first, MAX_PAST_PAGES)

    polls = (polled(starts[request.key], answer) for request, answer in fetcher.fetch_all(requests))
    yield from _with_next_pages(polls, walk, dated_of, fetcher)


def _of_stated_days(parse: Parse) -> Parse:
    """Return a reader of the same documents that takes only entries of which something tells the day."""

    def parse_of_days(page: Page, source: Source) -> Listing:
        listing = parse(page, source)
        named = (replace(entry, day=day_in_address(entry.url)) for entry in listing.entries)
        kept = tuple(entry for entry in named if entry.published_at or entry.day)
        if listing.entries and not kept:
            raise SourceError(f"of {len(listing.entries)} entries neither a date nor the address tells the day")
        return replace(listing, entries=kept)

    return parse_of_days


def lists_past(source: Source, adapter_of: AdapterOf) -> bool:
    """Whether a source can be asked for days gone by."""
    return adapter_of(source).day_url is not None


def _addresses_of(source: Source, first: date, last: date, adapter_of: AdapterOf) -> Iterable[str]:
    """Return where the listings of these days begin, newest first; none where a source cannot list its past."""
    day_url = adapter_of(source).day_url
    if day_url is None:
        return ()
    return dict.fromkeys(day_url(source, last - timedelta(days=n)) for n in range((last - first).days + 1))


def _with_next_pages(
    polls: Iterable[Polled], walk_of: Callable[[Source, Page, Listing], Walk], adapter_of: AdapterOf, fetcher: Fetcher
) -> Iterator[Polled]:
    """Yield the polls, those that name further pages when these were read: one page of each source at a time."""
    walks = []
    for polled in polls:
        if polled.page is None or polled.listing is None or not polled.listing.next_urls:
            yield polled
        else:
            walks.append((polled, walk_of(polled.source, polled.page, polled.listing)))
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
