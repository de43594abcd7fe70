"""Listings of several pages: which pages are fetched, in which order, and where paging
stops.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date, timedelta

from news_assets.errors import FetchError
from news_assets.pipeline.poll.listings import (
    MAX_PAGES,
    KnownHashes,
    nothing_known,
)
from news_assets.pipeline.poll.poll_loop import Polled
from news_assets.ports.services import PageRequest
from news_assets.records.desks import Source
from news_assets.records.reading import ListedEntry, Listing, Page
from news_assets.sources.source_kinds import Adapter
from news_assets.text.urls import url_hash
from news_assets_tests.pipeline.poll.paged_site import (
    NOW,
    PER_PAGE,
    STATE,
    Site,
    adapter_of,
    parse,
    source,
)
from news_assets_tests.pipeline.poll.poll_cases import poll_sources
from news_assets_tests.support.inline_sandbox import InlineSandbox


def knows(*pages: int) -> KnownHashes:
    """Return a lookup that knows the entries of these pages."""
    stored = {
        url_hash(f"https://s.example.org/{page}/{n}")
        for page in pages
        for n in range(PER_PAGE)
    }

    def known(source: Source, hashes: Sequence[str]) -> Collection[str]:
        return stored & set(hashes)

    return known


def polled(
    site: Site, known: KnownHashes = nothing_known, first_day: date | None = None
) -> Polled:
    (result,) = poll_sources(
        [source()],
        {"s": STATE},
        adapter_of,
        site,
        InlineSandbox(),
        lambda: NOW,
        known,
        first_day,
    )
    return result


def test_paging_stops_after_three_known_entries_in_a_row() -> None:
    site = Site()
    result = polled(site, knows(2, 3))
    assert site.pages() == [0, 1, 2]
    assert result.listing is not None
    assert (
        len(result.listing.entries),
        result.listing.is_whole,
        result.listing.problems,
    ) == (15, True, ())


def test_two_known_entries_at_the_top_do_not_stop_paging() -> None:
    site = Site()
    pinned = {
        url_hash("https://s.example.org/0/0"),
        url_hash("https://s.example.org/0/1"),
    }
    rest = knows(1)
    polled(
        site, lambda source, hashes: (pinned & set(hashes)) | set(rest(source, hashes))
    )
    assert site.pages() == [0, 1]


def test_the_following_pages_obey_robots_txt_and_the_source_itself_does_not() -> None:
    site = Site()
    polled(site, knows(2))
    assert site.obeying == [False, True, True]


def test_a_listing_without_new_entries_is_one_page() -> None:
    site = Site()
    polled(site, knows(0))
    assert site.pages() == [0]


def test_paging_stops_at_a_page_before_the_first_day() -> None:
    site = Site()
    polled(site, first_day=(NOW - timedelta(days=2)).date())
    assert site.pages() == [0, 1, 2, 3]


def test_paging_stops_at_the_cap_and_reports_it() -> None:
    site = Site()
    result = polled(site)
    assert len(site.requested) == MAX_PAGES
    assert result.listing is not None
    assert result.listing.problems == (f"stopped after {MAX_PAGES} pages",)


def test_a_new_source_has_its_first_page_fetched_only() -> None:
    site = Site()
    (result,) = poll_sources(
        [source()], {}, adapter_of, site, InlineSandbox(), lambda: NOW
    )
    assert (site.pages(), result.outcome) == ([0], "ok")


def test_an_index_has_no_entries_and_its_pages_are_fetched() -> None:
    site = Site(first=b"index")
    (result,) = poll_sources(
        [source()], {}, adapter_of, site, InlineSandbox(), lambda: NOW
    )
    assert result.listing is not None
    assert (site.pages(), len(result.listing.entries)) == ([0, 1], PER_PAGE)


def test_entries_before_a_failed_page_are_kept_and_the_listing_is_not_whole() -> None:
    answers: list[tuple[bytes | FetchError, str]] = [
        (FetchError("u", "no answer in time"), "no answer in time"),
        (b"changed", "another template"),
    ]
    for answer, reason in answers:
        result = polled(Site(page_1=answer))
        assert (result.outcome, result.listing and len(result.listing.entries)) == (
            "ok",
            PER_PAGE,
        )
        assert result.listing is not None
        assert not result.listing.is_whole
        assert result.listing.problems == (
            f"stopped at https://s.example.org/?page=1: {reason}",
        )


def test_a_page_that_does_not_exist_is_the_end() -> None:
    result = polled(Site(page_1=FetchError("u", "bad request", status=400)))
    assert result.listing is not None
    assert (result.listing.is_whole, result.listing.problems) == (True, ())


def test_the_pages_of_several_sources_are_fetched_in_rounds() -> None:
    site = Site()
    sources = [source("a"), source("b")]
    states = {one.source_id: replace(STATE, source_id=one.source_id) for one in sources}
    list(
        poll_sources(
            sources,
            states,
            adapter_of,
            site,
            InlineSandbox(),
            lambda: NOW,
            first_day=NOW.date(),
        )
    )
    assert [url[8] for url in site.requested] == ["a", "b", "a", "b"]


def test_an_entry_that_moves_to_the_next_page_is_listed_once() -> None:
    def parse_shifted(page: Page, source: Source) -> Listing:
        listing = parse(page, source)
        return replace(
            listing,
            entries=(
                ListedEntry(entry_id="moving", url=f"{source.url}moving"),
                *listing.entries,
            ),
        )

    (result,) = poll_sources(
        [source()],
        {"s": STATE},
        lambda source: Adapter(parse=parse_shifted),
        Site(),
        InlineSandbox(),
        lambda: NOW,
        first_day=NOW.date(),
    )
    assert result.listing is not None
    assert [entry.entry_id for entry in result.listing.entries].count("moving") == 1


def test_the_sources_own_url_can_be_a_next_page_and_the_first_page_is_fetched_once() -> (
    None
):
    def parse_index(page: Page, source: Source) -> Listing:
        if page.url == source.url:
            return replace(parse(page, source), next_urls=())
        return Listing(entries=(), next_urls=(page.url, source.url))

    site, index = Site(), "https://s.example.org/index"
    adapter = Adapter(parse=parse_index, first_url=lambda source: index)
    (result,) = poll_sources(
        [source()],
        {"s": STATE},
        lambda source: adapter,
        site,
        InlineSandbox(),
        lambda: NOW,
    )
    assert site.requested == [index, source().url]
    assert result.listing is not None
    assert len(result.listing.entries) == PER_PAGE


# --- limits of time -------------------------------------------------------------------


class SlowSite(Site):
    """A site that takes so many seconds for a page; `max_s` of each request."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds, self.max_s = seconds, list[float | None]()

    def answer(self, request: PageRequest) -> Page | FetchError:
        self.max_s.append(request.max_s)
        answer = super().answer(request)
        assert isinstance(answer, Page)
        if request.max_s is not None and request.max_s < self.seconds:
            return FetchError(
                request.url,
                "total time limit exceeded",
                elapsed_ms=round(request.max_s * 1000),
            )
        return replace(answer, elapsed_ms=round(self.seconds * 1000))


def test_pages_that_a_poll_has_no_time_for_are_left_and_read_by_the_next_polls_until_all_are() -> (
    None
):
    site, state, known, are_whole = SlowSite(25.0), STATE, {4, 5}, []
    for _ in range(4):
        (result,) = poll_sources(
            [source()],
            {"s": state},
            adapter_of,
            site,
            InlineSandbox(),
            lambda: NOW,
            knows(*known),
        )
        assert result.listing is not None
        known |= {int(entry.entry_id.split("-")[0]) for entry in result.listing.entries}
        state = replace(STATE, left_urls=result.listing.next_urls)
        are_whole.append(result.listing.is_whole)
    assert site.pages() == [0, 1, 2, 0, 2, 3, 0, 3, 4, 0, 4]
    assert site.max_s[:3] == [60.0, 35.0, 10.0]
    assert (are_whole, state.left_urls) == ([False, False, False, True], ())


def test_pages_that_were_left_are_found_although_new_entries_have_moved_them() -> None:
    site, state = Site(), replace(STATE, left_urls=("https://s.example.org/?page=3",))
    known = knows(1, 2, 3, 6, 7)
    (result,) = poll_sources(
        [source()], {"s": state}, adapter_of, site, InlineSandbox(), lambda: NOW, known
    )
    assert site.pages() == [0, 1, 3, 4, 5, 6, 7]
    assert result.listing is not None
    assert (result.listing.next_urls, result.listing.is_whole) == ((), True)


def test_a_page_that_was_left_and_takes_too_long_again_is_given_up() -> None:
    site, state = (
        SlowSite(40.0),
        replace(STATE, left_urls=("https://s.example.org/?page=3",)),
    )
    (result,) = poll_sources(
        [source()],
        {"s": state},
        adapter_of,
        site,
        InlineSandbox(),
        lambda: NOW,
        knows(0),
    )
    assert result.listing is not None
    assert (site.pages(), result.listing.next_urls, result.elapsed_ms) == (
        [0, 3],
        (),
        60_000,
    )
    assert result.listing.problems == (
        "stopped at https://s.example.org/?page=3: total time limit exceeded",
    )
