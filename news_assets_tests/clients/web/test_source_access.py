"""What a source states about its requests: headers, a token, a proxy, pauses, and the
slots of its vendor.
"""

import logging
from base64 import b64encode
from collections.abc import Sequence
from itertools import pairwise

import pytest

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.clients.web.politeness import vendor_slot
from news_assets.errors import ForbiddenAddressError
from news_assets.ports.services import PageRequest
from news_assets.records.desks import Access, VendorLimits
from news_assets_tests.clients.web.conftest import (
    OpenFetcher,
    OpenSites,
    Site,
    answer,
    body_or_reason,
    failure_of,
    request,
    shortest_pause,
)
from news_assets_tests.support.forward_proxy import PROXY_HOST, forward_proxy

TOKEN = "s3cr3t-t0ken"
ENVIRONMENT = {
    "CITY_TOKEN": f" {TOKEN}\r\n",
    "BROKEN_TOKEN": f"{TOKEN}\nX: y",
    "EMPTY_TOKEN": "  ",
}


def received(site: Site, name: str) -> list[str | None]:
    return [headers.get(name) for *_, headers in site.requests]


def address_of(site: Site) -> tuple[str, int]:
    host, _, port = site.url.removeprefix("http://").partition(":")
    return host, int(port)


# --- headers --------------------------------------------------------------------------


def test_headers_are_sent_with_every_request_of_the_source_and_replace_ours(
    sites: OpenSites, fetcher: HttpFetcher
) -> None:
    first, second = sites(2)
    first.put("/a", answer(status=302, location=f"{second.url}/b"))
    second.put("/b", answer(b"x"))
    access = Access(headers=(("Accept", "application/json"), ("X-Api-Version", "2")))
    fetcher.fetch(request(f"{first.url}/a", access=access))
    every = [*first.every_request, *second.every_request]
    assert [
        (path, headers["accept"], headers["x-api-version"])
        for path, _, headers in every
    ] == [
        (path, "application/json", "2")
        for path in ("/robots.txt", "/a", "/robots.txt", "/b")
    ]
    first.put("/c", answer(b"x"))
    fetcher.fetch(request(f"{first.url}/c"))
    assert "x-api-version" not in first.requests[-1][2]


# --- tokens ---------------------------------------------------------------------------


def test_a_token_is_sent_to_the_origin_of_its_source_only(
    sites: OpenSites, open_fetcher: OpenFetcher
) -> None:
    first, second = sites(2)
    second.put("/c", answer(status=302, location=f"{first.url}/d"))
    second.put("/article", answer(b"x"))
    first.put("/a", answer(status=302, location="/b"))
    first.put("/b", answer(status=302, location=f"{second.url}/c"))
    first.put("/d", answer(b"x"))
    fetcher = open_fetcher(secret_of=ENVIRONMENT.get)
    access = Access(token_env="CITY_TOKEN", token_url=f"{first.url}/a")
    assert fetcher.fetch(request(f"{first.url}/a", access=access)).body == b"x"
    fetcher.fetch(request(f"{second.url}/article", access=access))
    assert first.paths == ["/a", "/b", "/d"]
    assert received(first, "authorization") == [f"Bearer {TOKEN}"] * 2 + [None], (
        "not after another host"
    )
    assert received(second, "authorization") == [None, None]
    assert TOKEN not in repr([*second.every_request, first.every_request[0]]), (
        "nor for robots.txt"
    )


def test_a_token_in_the_address_is_sent_and_neither_kept_nor_logged(
    site: Site, open_fetcher: OpenFetcher, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    site.put(f"/b?x=1&token={TOKEN}", answer(b"x"))
    site.put(f"/a?token={TOKEN}", answer(status=302, location=f"/b?x=1&token={TOKEN}"))
    fetcher = open_fetcher(secret_of=ENVIRONMENT.get)
    access = Access(token_env="CITY_TOKEN", token_param="token", token_url=site.url)

    page = fetcher.fetch(request(f"{site.url}/a", access=access))

    assert (page.body, page.final_url) == (b"x", f"{site.url}/b?x=1")
    assert received(site, "authorization") == [None, None]
    assert TOKEN not in repr(page) + caplog.text
    gone = failure_of(fetcher, request(f"{site.url}/gone", access=access))
    assert TOKEN not in repr(gone) + str(gone)


def test_a_named_header_carries_the_bare_token(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    url = site.put("/a", answer(b"x"))
    access = Access(token_env="CITY_TOKEN", token_header="X-App-Token", token_url=url)
    open_fetcher(secret_of=ENVIRONMENT.get).fetch(request(url, access=access))
    assert (received(site, "x-app-token"), received(site, "authorization")) == (
        [TOKEN],
        [None],
    )


@pytest.mark.parametrize(
    ("variable", "problem"),
    [
        ("NO_TOKEN", "is not set"),
        ("EMPTY_TOKEN", "is not set"),
        ("BROKEN_TOKEN", "holds characters that no header can carry"),
    ],
)
def test_a_token_that_cannot_be_sent_is_an_error_without_a_request(
    site: Site, open_fetcher: OpenFetcher, variable: str, problem: str
) -> None:
    url = site.put("/a", answer(b"x"))
    access = Access(token_env=variable, token_url=url)
    error = failure_of(
        open_fetcher(secret_of=ENVIRONMENT.get), request(url, access=access)
    )
    assert error.reason == f"the environment variable {variable} (token_env) {problem}"
    assert (error.weight, error.is_transient, site.paths) == (0.0, True, [])
    assert TOKEN not in str(error)


# --- a proxy --------------------------------------------------------------------------


def test_a_source_is_requested_through_its_proxy_which_resolves_the_host(
    site: Site, fetcher: HttpFetcher
) -> None:
    site.put("/robots.txt", answer(b"User-agent: *\nDisallow: /private"))
    site.put("/feed", answer(status=302, location="http://www.news.example/b"))
    site.put("/b", answer(b"x"))
    with forward_proxy(
        {name: address_of(site) for name in ("news.example", "www.news.example")}
    ) as proxy:
        access = Access(proxy=proxy.url)
        page = fetcher.fetch(PageRequest("http://news.example/feed", access=access))
        refused = failure_of(
            fetcher, PageRequest("http://news.example/private", access=access)
        )
    assert (page.body, page.final_url) == (b"x", "http://www.news.example/b")
    assert refused.reason == "forbidden by robots.txt"
    assert [target for _, target, _ in proxy.seen] == [
        "http://news.example/robots.txt",
        "http://news.example/feed",
        "http://www.news.example/robots.txt",
        "http://www.news.example/b",
    ]


def test_a_login_of_a_proxy_comes_from_the_logins(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    site.put("/feed", answer(b"x"))
    login = "Basic " + b64encode(b"user:w@rd").decode()
    wanted = "http://news.example/feed"
    with forward_proxy({"news.example": address_of(site)}, login) as proxy:
        access = Access(proxy=proxy.url)
        refused = failure_of(open_fetcher(), request(wanted, access=access))
        fetcher = open_fetcher(logins=(proxy.url.replace("://", "://user:w%40rd@"),))
        assert fetcher.fetch(request(wanted, access=access)).body == b"x"
    assert refused.reason == "refused (407)"
    assert "w@rd" not in str(site.every_request)
    assert {headers.get("authorization") for *_, headers in site.every_request} == {
        None
    }


def test_a_private_proxy_has_to_be_allowed(open_fetcher: OpenFetcher) -> None:
    with forward_proxy({}) as proxy:
        error = failure_of(
            open_fetcher(allow_private_hosts=()),
            request("http://news.example/", access=Access(proxy=proxy.url)),
        )
    assert isinstance(error, ForbiddenAddressError)
    assert (error.reason, proxy.seen) == (
        f"refused: {PROXY_HOST} is {PROXY_HOST}, not a public address",
        [],
    )


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "[::1]",
        "[::ffff:10.0.0.1]",
        "169.254.169.254",
        "localhost",
        "a.localhost",
        "metadata.google.internal",
        "printer.local",
        "router.home.arpa.",
        "intranet",
    ],
)
def test_private_addresses_and_local_names_are_not_requested_through_a_proxy(
    host: str, open_fetcher: OpenFetcher
) -> None:
    with forward_proxy({}) as proxy:
        fetcher = open_fetcher(allow_private_hosts=(PROXY_HOST,))
        error = failure_of(
            fetcher, request(f"http://{host}/", access=Access(proxy=proxy.url))
        )
    assert isinstance(error, ForbiddenAddressError)
    assert error.reason.endswith("requested through a proxy, is not a public address")
    assert proxy.seen == []


# --- pauses ---------------------------------------------------------------------------


def pauses(fetcher: HttpFetcher, site: Site, access: Access, count: int = 3) -> float:
    site.put("*", answer(b"x"))
    list(
        fetcher.fetch_all(
            [request(f"{site.url}/{number}", access=access) for number in range(count)]
        )
    )
    return shortest_pause(site.every_request)


@pytest.mark.parametrize(("delay_s", "expected_s"), [(0.15, 0.15), (0.01, 0.08)])
def test_the_longer_of_the_two_delays_applies(
    site: Site, open_fetcher: OpenFetcher, delay_s: float, expected_s: float
) -> None:
    assert (
        pauses(open_fetcher(delay_s=0.08), site, Access(delay_s=delay_s)) >= expected_s
    )


def test_a_longer_crawl_delay_still_applies(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    site.put("/robots.txt", answer(b"User-agent: *\nCrawl-delay: 0.15\n"))
    assert pauses(open_fetcher(), site, Access(delay_s=0.05)) >= 0.15


# --- vendors --------------------------------------------------------------------------


def in_order(sites: Sequence[Site]) -> list[tuple[str, float, dict[str, str]]]:
    return sorted(
        (one for site in sites for one in site.every_request), key=lambda one: one[1]
    )


def of_vendor(
    vendor: VendorLimits, sites: Sequence[Site], count: int = 2
) -> list[PageRequest]:
    access = Access(vendor=vendor)
    urls = [f"{site.url}/{number}" for number in range(count) for site in sites]
    for site in sites:
        site.put("*", answer(b"x"))
    return [request(url, access=access) for url in urls]


def test_hosts_of_one_slot_wait_for_each_other_and_a_break_lies_between_them(
    sites: OpenSites, open_fetcher: OpenFetcher
) -> None:
    opened = sites(2)
    vendor = VendorLimits(kind="legistar", slots=1, delay_s=0.04, break_s=0.2)
    answers = list(open_fetcher().fetch_all(of_vendor(vendor, opened)))
    assert [body_or_reason(page) for _, page in answers] == [b"x"] * 4
    every = in_order(opened)
    hosts = [headers["host"] for *_, headers in every]
    assert hosts == sorted(hosts), "all requests of a host, then those of the next"
    gaps = [
        (later[1] - earlier[1], earlier[2]["host"] != later[2]["host"])
        for earlier, later in pairwise(every)
    ]
    breaks = [gap for gap, is_break in gaps if is_break]
    assert len(breaks) == 1
    assert breaks[0] >= 0.2
    assert min(gap for gap, _ in gaps) >= 0.04


def test_without_a_break_the_hosts_of_a_slot_are_requested_in_turn(
    sites: OpenSites, open_fetcher: OpenFetcher
) -> None:
    opened = sites(3)
    vendor = VendorLimits(kind="legistar", slots=1, delay_s=0.02)
    # a host's requests follow each other
    wanted = sorted(of_vendor(vendor, opened, 3), key=lambda one: one.url)
    list(open_fetcher().fetch_all(wanted))
    hosts = [
        headers["host"]
        for path, _, headers in in_order(opened)
        if path != "/robots.txt"
    ]
    assert [len(set(hosts[n : n + 3])) for n in (0, 3, 6)] == [3, 3, 3]


def test_fetchers_of_several_processes_share_the_slots(
    sites: OpenSites, open_fetcher: OpenFetcher
) -> None:
    first, second = sites(2)
    vendor = VendorLimits(kind="legistar", delay_s=0.15)
    for site in (first, second):
        open_fetcher().fetch(of_vendor(vendor, [site], 1)[0])
    assert shortest_pause(in_order([first, second])) >= 0.15


def test_several_slots_serve_several_hosts_and_other_sources_do_not_wait(
    sites: OpenSites, open_fetcher: OpenFetcher
) -> None:
    vendor = VendorLimits(kind="granicus", slots=2, delay_s=0.5)
    opened = sites(6)
    slots = {vendor_slot(vendor, address_of(site)[0]) for site in opened[:5]}
    assert slots == {"vendor/granicus/0", "vendor/granicus/1"}
    other = opened[5].put("/a", answer(b"x"))
    wanted = [*of_vendor(vendor, opened[:1], 1), request(other)]
    list(open_fetcher().fetch_all(wanted))
    ends = {
        site.url: site.every_request[-1][1] for site in opened if site.every_request
    }
    assert ends[opened[5].url] < ends[opened[0].url], (
        "the vendor's pause after robots.txt delays its own host only"
    )
