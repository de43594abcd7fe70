"""robots.txt: fetched once a day and obeyed, with its Crawl-delay."""

import os
import time
from pathlib import Path

import pytest
from protego import Protego

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.clients.web.origins import for_protego, product_token
from news_assets.errors import RobotsError
from news_assets.records.reading import Page
from news_assets_tests.clients.web.conftest import (
    OpenFetcher,
    OpenSites,
    Site,
    answer,
    body_or_reason,
    requests,
    shortest_pause,
)
from news_assets_tests.support.growth import grows_linearly


def test_robots_txt_is_fetched_once_and_obeyed(
    site: Site, fetcher: HttpFetcher
) -> None:
    rules = (
        b"User-agent: *\nDisallow: /\n\nUser-agent: News_Assets\nDisallow: /private\n"
    )
    site.put("/robots.txt", answer(rules))
    site.put("*", answer(b"x"))
    wanted = requests(
        f"{site.url}/a", f"{site.url}/private/b", f"{site.url}/c", obeys_robots=True
    )
    results = [page for _, page in fetcher.fetch_all(wanted)]
    assert [body_or_reason(page) for page in results] == [
        b"x",
        "forbidden by robots.txt",
        b"x",
    ]
    assert isinstance(results[1], RobotsError)
    assert not results[1].is_transient
    assert site.every_path == ["/robots.txt", "/a", "/c"]


def test_crawl_delay_lengthens_the_pause_also_after_robots_txt_itself(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    site.put("/robots.txt", answer(b"User-agent: *\nCrawl-delay: 0.15\n"))
    site.put("*", answer(b"x"))
    list(
        open_fetcher(delay_s=0.05).fetch_all(
            requests(site.url, site.url, obeys_robots=True)
        )
    )
    assert len(site.every_request) == 3
    assert shortest_pause(site.every_request) >= 0.15


# --- addresses that the operator configured -------------------------------------------


def test_the_address_of_a_source_obeys_the_crawl_delay_only(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    site.put("/robots.txt", answer(b"User-agent: *\nDisallow: /\nCrawl-delay: 0.15\n"))
    site.put("*", answer(b"x"))
    results = open_fetcher(delay_s=0.01).fetch_all(
        requests(site.url, site.url, obeys_robots=False)
    )
    assert [body_or_reason(page) for _, page in results] == [b"x", b"x"]
    assert shortest_pause(site.every_request) >= 0.15


def test_the_address_of_a_source_is_fetched_although_robots_txt_fails(
    site: Site, fetcher: HttpFetcher
) -> None:
    site.put("/robots.txt", answer(status=500))
    site.put("*", answer(b"x"))
    results = fetcher.fetch_all(
        [*requests(site.url), *requests(site.url, obeys_robots=True)]
    )
    assert [body_or_reason(page) for _, page in results] == [
        b"x",
        "robots.txt: server error (500)",
    ]


# --- what counts as rules -------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "is_allowed"), [(404, True), (403, True), (500, False), (429, False)]
)
def test_a_missing_robots_txt_allows_and_a_failing_one_forbids_for_now(
    site: Site, fetcher: HttpFetcher, status: int, is_allowed: bool
) -> None:
    site.put("/robots.txt", answer(status=status))
    site.put("*", answer(b"x"))
    results = [
        page
        for _, page in fetcher.fetch_all(
            requests(site.url, site.url, obeys_robots=True)
        )
    ]
    assert [isinstance(page, Page) for page in results] == [is_allowed] * 2
    assert all(isinstance(page, Page) or page.is_transient for page in results)
    assert site.every_path == ["/robots.txt", *["/"] * (2 if is_allowed else 0)]


def test_a_robots_txt_is_read_up_to_the_last_whole_line_below_its_cap(
    site: Site, fetcher: HttpFetcher
) -> None:
    start = b"User-agent: *\nDisallow: /a\n#\n"
    cut = start + b"x" * (512_000 - len(start) - 12) + b"\nDisallow: /b/private\n"
    site.put("/robots.txt", answer(cut))
    site.put("*", answer(b"x"))
    results = fetcher.fetch_all(
        requests(f"{site.url}/a", f"{site.url}/b", obeys_robots=True)
    )
    assert [body_or_reason(page) for _, page in results] == [
        "forbidden by robots.txt",
        b"x",
    ]


_TRAPS = {
    "a byte order mark": b"\xef\xbb\xbfUser-agent: *\nDisallow: /a",
    "a version": b"User-agent: news_assets/2.0\nDisallow: /a",
    "a version after a star group": b"User-agent: *\nDisallow:\n\nUser-agent: NEWS_ASSETS/0.1 (x)\nDisallow: /a",
    "only CR": b"User-agent: *\rDisallow: /b\r\rUser-agent: news_assets\rDisallow: /a",
    "CRLF": b"User-agent: *\r\nDisallow: /a\r\n",
    "no UTF-8": b"User-agent: *\n# \xff\xfe\nDisallow: /\xff\nDisallow: /a",
    "a line separator within a line": "# one\u2028User-agent: none\nUser-agent: *\nDisallow: /a".encode(),
    "a line separator within a group": "User-agent: *\nDisallow: /x#\x85User-agent: y\nDisallow: /a".encode(),
    "several groups": b"User-agent: news_assets\nDisallow: /x\nUser-agent: news_assets/1\nDisallow: /a",
    "several agents": b"User-agent: z\nUser-agent: news_assets\nDisallow: /a",
    "part of our name": b"User-agent: news\nDisallow: /b\n\nUser-agent: *\nDisallow: /a",
    "our name as a part": b"User-agent: news_assets-image\nAllow: /\n\nUser-agent: *\nDisallow: /a",
    "percent-encoding": b"User-agent: *\nDisallow: /%61",
    "a longer rule": b"User-agent: *\nDisallow: /\nAllow: /b",
    "an empty rule of ours": b"User-agent: *\nDisallow: /b\n\nUser-agent: news_assets\nDisallow:\nDisallow: /a",
    "a rule without an agent": b"Disallow: /b\nUser-agent: *\nDisallow: /a",
    "HTML": b"<html>User-agent: x</html>\nUser-agent: *\nDisallow: /a",
}


@pytest.mark.parametrize(
    "text", [pytest.param(text, id=name) for name, text in _TRAPS.items()]
)
def test_the_rules_are_read_as_in_rfc_9309(
    text: bytes, site: Site, fetcher: HttpFetcher
) -> None:
    site.put("/robots.txt", answer(text))
    site.put("*", answer(b"x"))
    results = fetcher.fetch_all(
        requests(f"{site.url}/a", f"{site.url}/b", obeys_robots=True)
    )
    assert [body_or_reason(page) for _, page in results] == [
        "forbidden by robots.txt",
        b"x",
    ]


@pytest.mark.parametrize(
    ("user_agent", "token"),
    [
        ("news_assets/0.1 (+https://example.org)", "news_assets"),
        ("MyBot", "MyBot"),
        ("Mozilla/5.0 (compatible; MyBot/1.0; +https://example.org)", "MyBot"),
        ("Mozilla/5.0 (X11)", "Mozilla"),
        ("007", "007"),
    ],
)
def test_the_product_token_of_a_user_agent(user_agent: str, token: str) -> None:
    assert product_token(user_agent) == token


def test_many_agents_with_many_rules_take_linear_time() -> None:
    def robots(size: int) -> str:
        agents = "".join(f"User-agent: a{number}\n" for number in range(size))
        return agents + "".join(f"Disallow: /{number}\n" for number in range(size))

    assert grows_linearly(
        lambda text: Protego.parse(for_protego(text, "news_assets")), robots
    )


@pytest.mark.parametrize(("redirects", "is_allowed"), [(5, False), (11, True)])
def test_at_least_five_redirects_are_followed_and_too_many_allow_everything(
    site: Site, fetcher: HttpFetcher, redirects: int, is_allowed: bool
) -> None:
    site.put("/robots.txt", answer(status=302, location="/r1"))
    for number in range(1, redirects):
        site.put(f"/r{number}", answer(status=302, location=f"/r{number + 1}"))
    site.put(f"/r{redirects}", answer(b"User-agent: *\nDisallow: /a"))
    ((_, result),) = fetcher.fetch_all(
        requests(site.put("/a", answer(b"x")), obeys_robots=True)
    )
    assert isinstance(result, Page) is is_allowed


# --- the cache ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("age_s", "request_count"), [(0, 1), (86_000, 1), (86_500, 2), (-600, 2)]
)
def test_fetchers_of_a_machine_share_a_robots_txt_for_a_day(
    site: Site,
    open_fetcher: OpenFetcher,
    tmp_path: Path,
    age_s: float,
    request_count: int,
) -> None:
    site.put("/robots.txt", answer(b"User-agent: *\nDisallow: /a"))
    wanted = requests(site.put("/a", answer(b"x")), obeys_robots=True)
    results = [body_or_reason(page) for _, page in open_fetcher().fetch_all(wanted)]
    (file,) = (tmp_path / "hosts").glob("*.robots")
    os.utime(file, (time.time() - age_s,) * 2)
    results += [body_or_reason(page) for _, page in open_fetcher().fetch_all(wanted)]
    assert results == ["forbidden by robots.txt"] * 2
    assert site.every_path == ["/robots.txt"] * request_count


def test_a_missing_robots_txt_is_shared_and_a_failing_one_is_not(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    wanted = requests(site.put("/a", answer(b"x")), obeys_robots=True)
    site.put(
        "/robots.txt",
        answer(status=500),
        answer(status=404),
        answer(b"User-agent: *\nDisallow: /"),
    )
    results = [
        body_or_reason(page)
        for _ in range(3)
        for _, page in open_fetcher().fetch_all(wanted)
    ]
    assert results == ["robots.txt: server error (500)", b"x", b"x"]


def test_a_redirect_obeys_the_robots_txt_of_its_target(
    sites: OpenSites, fetcher: HttpFetcher
) -> None:
    first, second = sites(2)
    first.put("/a", answer(status=302, location=f"{second.url}/b"))
    second.put("/robots.txt", answer(b"User-agent: *\nDisallow: /b\n"))
    results = fetcher.fetch_all(requests(f"{first.url}/a", obeys_robots=True))
    assert [(error.url, body_or_reason(error)) for _, error in results] == [
        (f"{first.url}/a", "forbidden by robots.txt")
    ]
    assert second.every_path == ["/robots.txt"]
