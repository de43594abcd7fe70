"""Listings of several pages: which are asked, in which order, and where it stops."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from news_assets.errors import FetchError, ListingChangedError
from news_assets.pipeline.poll.agencies import poll_agencies
from news_assets.pipeline.poll.paging import MAX_PAGES, nothing_known
from news_assets.pipeline.poll.poll import Polled, list_days, poll_sources
from news_assets.ports import PageRequest
from news_assets.records import (
    Agency,
    Desk,
    FeedEntry,
    ListedEntry,
    Listing,
    Page,
    Poll,
    Source,
    SourceState,
    Validators,
)
from news_assets.sources.adapter import Adapter
from news_assets.store.lake import Lake
from news_assets.text.urls import url_hash
from news_assets_tests.support.scripted_fetcher import ScriptedFetcher

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PER_PAGE = 5
STATE = SourceState(
    source_id="s",
    desk="govbr",
    agency="mec",
    url="https://s.example.org/",
    etag=None,
    last_modified=None,
    document_hash=None,
    last_polled_at=NOW - timedelta(hours=1),
    last_new_at=NOW - timedelta(hours=1),
    next_poll_at=NOW,
    interval_s=3600.0,
    failure_points=0.0,
    last_outcome="ok",
    last_reason=None,
)


def source(name: str = "s") -> Source:
    return Source(
        source_id=name,
        desk="govbr",
        agency="mec",
        kind="listing",
        url=f"https://{name}.example.org/",
        timezone="UTC",
        language="pt",
    )


def parse(page: Page, source: Source) -> Listing:
    """Read `index`, or a page of five entries a day, newest first, that names the next page."""
    number = int(page.url.rpartition("=")[2]) if "=" in page.url else 0
    if page.body == b"changed":
        raise ListingChangedError("another template")
    if page.body == b"index":
        return Listing(entries=(), next_urls=(f"{source.url}?page=1",))
    entries = tuple(
        ListedEntry(
            entry_id=f"{number}-{n}", url=f"{source.url}{number}/{n}", published_at=NOW - timedelta(days=number)
        )
        for n in range(PER_PAGE)
    )
    return Listing(entries=entries, next_urls=(f"{source.url}?page={number + 1}",))


def adapter_of(source: Source) -> Adapter:
    return Adapter(parse=parse)


class Site(ScriptedFetcher):
    """A fetcher over pages that go on for ever; some answer with something else."""

    def __init__(self, **instead: bytes | FetchError) -> None:
        self.instead = {name.replace("_", "="): answer for name, answer in instead.items()}
        self.asked: list[str] = []

    def answer(self, request: PageRequest) -> Page | FetchError:
        self.asked.append(request.url)
        answer = self.instead.get(request.url.rpartition("?")[2] if "?" in request.url else "first", b"page")
        if isinstance(answer, FetchError):
            return answer
        return Page(
            url=request.url,
            final_url=request.url,
            status=200,
            body=answer,
            validators=Validators('"e"'),
            fetched_at=NOW,
        )


def knows(*pages: int) -> object:
    """Return a memory that has the entries of these pages."""
    stored = {url_hash(f"https://s.example.org/{page}/{n}") for page in pages for n in range(PER_PAGE)}

    def known(source: Source, hashes: Sequence[str]) -> Collection[str]:
        return stored & set(hashes)

    return known


def polled(site: Site, known: object = nothing_known, first_day: date | None = None) -> Polled:
    (result,) = poll_sources([source()], {"s": STATE}, adapter_of, site, known, first_day)  # type: ignore[arg-type]
    return result


def pages(site: Site) -> list[int]:
    return [int(url.rpartition("=")[2]) if "=" in url else 0 for url in site.asked]


def test_it_goes_on_until_three_entries_in_a_row_are_known() -> None:
    site = Site()
    result = polled(site, knows(2, 3))
    assert pages(site) == [0, 1, 2]
    assert result.listing is not None
    assert (len(result.listing.entries), result.listing.is_whole, result.listing.problems) == (15, True, ())


def test_a_few_known_entries_on_top_do_not_stop_it() -> None:
    site = Site()
    stuck = {url_hash("https://s.example.org/0/0"), url_hash("https://s.example.org/0/1")}
    rest = knows(1)
    polled(site, lambda source, hashes: (stuck & set(hashes)) | set(rest(source, hashes)))  # type: ignore[operator]
    assert pages(site) == [0, 1]


def test_nothing_new_is_one_page() -> None:
    site = Site()
    polled(site, knows(0))
    assert pages(site) == [0]


def test_it_stops_where_a_whole_page_lies_before_the_first_day() -> None:
    site = Site()
    polled(site, first_day=(NOW - timedelta(days=2)).date())
    assert pages(site) == [0, 1, 2, 3]


def test_it_stops_at_its_cap_and_says_so() -> None:
    site = Site()
    result = polled(site)
    assert len(site.asked) == MAX_PAGES
    assert result.listing is not None
    assert result.listing.problems == (f"stopped after {MAX_PAGES} pages",)


def test_a_source_never_asked_before_is_asked_for_its_first_page() -> None:
    site = Site()
    (result,) = poll_sources([source()], {}, adapter_of, site)
    assert (pages(site), result.outcome) == ([0], "ok")


def test_an_index_lists_nothing_and_is_followed() -> None:
    site = Site(first=b"index")
    (result,) = poll_sources([source()], {}, adapter_of, site)
    assert result.listing is not None
    assert (pages(site), len(result.listing.entries)) == ([0, 1], PER_PAGE)


def test_what_came_before_a_page_that_fails_is_kept_and_the_source_is_asked_again_from_the_beginning() -> None:
    for answer, said in ((FetchError("u", "no answer in time"), "no answer in time"), (b"changed", "another template")):
        result = polled(Site(**{"page_1": answer}))  # type: ignore[arg-type]
        assert (result.outcome, result.listing and len(result.listing.entries)) == ("ok", PER_PAGE)
        assert result.listing is not None
        assert not result.listing.is_whole
        assert result.listing.problems == (f"stopped at https://s.example.org/?page=1: {said}",)


def test_a_page_that_the_server_does_not_have_is_the_end() -> None:
    result = polled(Site(**{"page_1": FetchError("u", "bad request", status=400)}))
    assert result.listing is not None
    assert (result.listing.is_whole, result.listing.problems) == (True, ())


def test_pages_of_several_sources_are_asked_in_turn() -> None:
    site = Site()
    sources = [source("a"), source("b")]
    states = {one.source_id: replace(STATE, source_id=one.source_id) for one in sources}
    list(poll_sources(sources, states, adapter_of, site, first_day=NOW.date()))
    assert [url[8] for url in site.asked] == ["a", "b", "a", "b"]


def test_an_entry_that_moved_to_the_next_page_meanwhile_is_listed_once() -> None:
    def parse_shifted(page: Page, source: Source) -> Listing:
        listing = parse(page, source)
        return replace(listing, entries=(ListedEntry(entry_id="moving", url=f"{source.url}moving"), *listing.entries))

    (result,) = poll_sources(
        [source()], {"s": STATE}, lambda source: Adapter(parse=parse_shifted), Site(), first_day=NOW.date()
    )
    assert result.listing is not None
    assert [entry.entry_id for entry in result.listing.entries].count("moving") == 1


def test_a_sources_own_address_is_a_page_like_others_and_the_one_asked_first_is_not_asked_twice() -> None:
    def parse_index(page: Page, source: Source) -> Listing:
        if page.url == source.url:
            return replace(parse(page, source), next_urls=())
        return Listing(entries=(), next_urls=(page.url, source.url))

    site, index = Site(), "https://s.example.org/index"
    adapter = Adapter(parse=parse_index, first_url=lambda source: index)
    (result,) = poll_sources([source()], {"s": STATE}, lambda source: adapter, site)
    assert site.asked == [index, source().url]
    assert result.listing is not None
    assert len(result.listing.entries) == PER_PAGE


# --- the past --------------------------------------------------------------------------------------------------------


def dated(page: Page, source: Source) -> Listing:
    day = date.fromisoformat(page.url.rpartition("=")[2])
    at = datetime(day.year, day.month, day.day, 9, tzinfo=UTC)
    return Listing(entries=(ListedEntry(entry_id=str(day), url=f"{source.url}{day}", published_at=at),))


AGENCY = Agency(key="mec", name="MEC", timezone="UTC", language="pt", sources=(source(),))
DESK = Desk(key="govbr", timezone="UTC", language="pt", first_day=date(2026, 1, 1), agencies=(AGENCY,))
SEARCH = Adapter(parse=dated, day_url=lambda source, day: f"{source.url}?day={day}")
WALKED = Adapter(parse=parse, day_url=lambda source, day: source.url)


def test_a_source_that_answers_by_day_is_asked_for_each_day_and_one_that_cannot_list_its_past_is_not() -> None:
    site, day = Site(), NOW.date() - timedelta(days=9)
    found = list(
        list_days(
            [source("a"), source("b")],
            day - timedelta(days=1),
            day,
            lambda one: SEARCH if one.source_id == "a" else Adapter(parse=parse),
            site,
        )
    )
    assert site.asked == [f"https://a.example.org/?day={day}", f"https://a.example.org/?day={day - timedelta(days=1)}"]
    assert [(one.outcome, one.is_of_past) for one in found] == [("ok", True)] * 2


def test_a_listing_that_is_walked_back_stops_behind_the_first_day_asked_for() -> None:
    site, day = Site(), NOW.date() - timedelta(days=3)
    (found,) = list_days([source()], day, day + timedelta(days=1), lambda one: WALKED, site)
    assert pages(site) == [0, 1, 2, 3, 4]
    assert found.listing is not None


def test_of_days_gone_by_only_entries_are_taken_that_state_their_day() -> None:
    def parse_some(page: Page, source: Source) -> Listing:
        listing, number = parse(page, source), int(page.url.rpartition("=")[2]) if "=" in page.url else 0
        undated = [replace(entry, published_at=None) for entry in listing.entries]
        return replace(listing, entries=(*listing.entries[:2], *undated[2:]) if number < 2 else tuple(undated))

    adapter, site, day = replace(WALKED, parse=parse_some), Site(), NOW.date() - timedelta(days=9)
    (found,) = list_days([source()], day, day, lambda one: adapter, site)
    assert found.listing is not None
    assert [entry.entry_id for entry in found.listing.entries] == ["0-0", "0-1", "1-0", "1-1"]
    assert found.listing.problems == (
        "stopped at https://s.example.org/?page=2: of 5 entries neither a date nor the address tells the day",
    )


def test_an_undated_entry_of_days_gone_by_is_filed_by_the_day_in_its_address(tmp_path: Path) -> None:
    def parse_map(page: Page, source: Source) -> Listing:
        urls = (f"{source.url}2026/05/04/nota", f"{source.url}nota")
        return Listing(entries=tuple(ListedEntry(entry_id=url, url=url) for url in urls))

    adapter, day = replace(WALKED, parse=parse_map), date(2026, 5, 4)
    with Lake.open(str(tmp_path / "catalog.sqlite"), str(tmp_path / "data")) as lake:
        list(poll_agencies(lake, DESK, {"mec"}, Site(), lambda one: adapter, NOW, "t", past=(day, day)))
        assert [(row.day, row.published_at) for row in lake.read(FeedEntry)] == [(day, None)]


def test_days_gone_by_are_stored_and_the_sources_state_is_left_alone(tmp_path: Path) -> None:
    day = NOW.date() - timedelta(days=200)
    with Lake.open(str(tmp_path / "catalog.sqlite"), str(tmp_path / "data")) as lake:
        lake.transact(lambda rows: rows.upsert([STATE]))
        polls = list(poll_agencies(lake, DESK, {"mec"}, Site(), lambda one: SEARCH, NOW, "t", past=(day, day)))
        assert [poll.new_count for poll in polls] == [1]
        assert [row.day for row in lake.read(FeedEntry)] == [day]
        assert lake.read(SourceState) == [STATE]
        assert lake.read(Poll) == polls
