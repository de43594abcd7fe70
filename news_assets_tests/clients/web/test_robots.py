"""robots.txt: fetched once per origin and obeyed, with its Crawl-delay."""

import pytest

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.errors import RobotsError
from news_assets.ports import PageRequest
from news_assets.records import Page
from news_assets_tests.clients.web.conftest import (
    OpenFetcher,
    OpenSites,
    Site,
    answer,
    body_or_reason,
    requests,
    shortest_pause,
)


def test_robots_txt_is_fetched_once_and_obeyed(site: Site, fetcher: HttpFetcher) -> None:
    rules = b"User-agent: *\nDisallow: /\n\nUser-agent: News_Assets\nDisallow: /private\n"
    site.put("/robots.txt", answer(rules))
    site.put("*", answer(b"x"))
    wanted = requests(f"{site.url}/a", f"{site.url}/private/b", f"{site.url}/c", obeys_robots=True)
    results = [page for _, page in fetcher.fetch_all(wanted)]
    assert [body_or_reason(page) for page in results] == [b"x", "forbidden by robots.txt", b"x"]
    assert isinstance(results[1], RobotsError)
    assert not results[1].is_transient
    assert site.paths == ["/robots.txt", "/a", "/c"]


def test_robots_txt_is_not_fetched_for_a_feed(site: Site, fetcher: HttpFetcher) -> None:
    fetcher.fetch(PageRequest(site.put("/feed", answer(b"x")), obeys_robots=False))
    assert site.paths == ["/feed"]


def test_crawl_delay_lengthens_the_pause_also_after_robots_txt_itself(site: Site, open_fetcher: OpenFetcher) -> None:
    site.put("/robots.txt", answer(b"User-agent: *\nCrawl-delay: 0.15\n"))
    site.put("*", answer(b"x"))
    list(open_fetcher(delay_s=0.05).fetch_all(requests(site.url, site.url, obeys_robots=True)))
    assert len(site.requests) == 3
    assert shortest_pause(site) >= 0.15


@pytest.mark.parametrize(("status", "is_allowed"), [(404, True), (403, True), (500, False), (429, False)])
def test_a_missing_robots_txt_allows_and_a_failing_one_forbids_for_now(
    site: Site, fetcher: HttpFetcher, status: int, is_allowed: bool
) -> None:
    site.put("/robots.txt", answer(status=status))
    site.put("*", answer(b"x"))
    results = [page for _, page in fetcher.fetch_all(requests(site.url, site.url, obeys_robots=True))]
    assert [isinstance(page, Page) for page in results] == [is_allowed] * 2
    assert all(isinstance(page, Page) or page.is_transient for page in results)
    assert site.paths == ["/robots.txt", *["/"] * (2 if is_allowed else 0)]


def test_a_robots_txt_beyond_its_cap_is_read_up_to_the_cap(site: Site, fetcher: HttpFetcher) -> None:
    site.put("/robots.txt", answer(b"User-agent: *\nDisallow: /a\n" + b"# padding\n" * 60_000))
    site.put("*", answer(b"x"))
    results = fetcher.fetch_all(requests(f"{site.url}/a", f"{site.url}/b", obeys_robots=True))
    assert [body_or_reason(page) for _, page in results] == ["forbidden by robots.txt", b"x"]


def test_a_redirect_obeys_the_robots_txt_of_its_target(sites: OpenSites, fetcher: HttpFetcher) -> None:
    first, second = sites(2)
    first.put("/a", answer(status=302, location=f"{second.url}/b"))
    second.put("/robots.txt", answer(b"User-agent: *\nDisallow: /b\n"))
    results = fetcher.fetch_all(requests(f"{first.url}/a", obeys_robots=True))
    assert [(error.url, body_or_reason(error)) for _, error in results] == [
        (f"{first.url}/a", "forbidden by robots.txt")
    ]
    assert second.paths == ["/robots.txt"]
