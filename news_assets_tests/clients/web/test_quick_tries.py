"""Connections that fail are tried again within the run, while other hosts go on."""

import socket

import pytest

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.clients.web.quick_tries import QuickTries
from news_assets.errors import FetchError
from news_assets.ports.reading import PageRequest
from news_assets.records.reading import Page
from news_assets.retry_table import CONNECTION
from news_assets_tests.clients.web.conftest import (
    OpenFetcher,
    OpenSites,
    Site,
    answer,
    body_or_reason,
    shortest_pause,
)
from news_assets_tests.support.waiting import HANG_S

URL = "https://example.org/"
LOST = FetchError(URL, "connection failed", is_connection=True)


def drop(connection: socket.socket, _: dict[str, str]) -> None:
    """Close the connection without a response, as a server does that is restarted."""
    connection.shutdown(socket.SHUT_RDWR)


def retried(*urls: str, obeys_robots: bool = False) -> list[PageRequest]:
    return [
        PageRequest(url, url, obeys_robots=obeys_robots, retries_connection=True)
        for url in urls
    ]


def results_of(fetcher: HttpFetcher, wanted: list[PageRequest]) -> list[object]:
    return [body_or_reason(result) for _, result in fetcher.fetch_all(wanted)]


def test_a_lost_connection_is_tried_twice_more_and_the_pages_of_a_host_keep_their_order(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    site.put("/a", drop, drop, answer(b"a"))
    site.put("/b", answer(b"b"))
    fetcher = open_fetcher(retry_pauses_s=(0.1, 0.1), delay_s=0.15)
    assert results_of(fetcher, retried(f"{site.url}/a", f"{site.url}/b")) == [
        b"a",
        b"b",
    ]
    assert site.paths == ["/a", "/a", "/a", "/b"]
    assert shortest_pause(site.requests) >= 0.15


def test_a_host_that_is_down_has_two_further_tries_for_all_its_pages(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    site.put("*", drop)
    results = results_of(
        open_fetcher(retry_pauses_s=(0.01, 0.01)),
        retried(*(f"{site.url}/{n}" for n in range(3))),
    )
    assert (len(set(results)), site.paths) == (1, ["/0", "/0", "/0", "/1", "/2"])


def test_a_robots_txt_that_was_not_had_is_requested_again(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    site.put("/robots.txt", drop, answer(b"User-agent: *\nDisallow:"))
    site.put("/a", answer(b"a"))
    assert results_of(
        open_fetcher(retry_pauses_s=(0.01,)),
        retried(f"{site.url}/a", obeys_robots=True),
    ) == [b"a"]
    assert site.every_path == ["/robots.txt", "/robots.txt", "/a"]


def test_other_hosts_go_on_during_the_pauses(
    sites: OpenSites, open_fetcher: OpenFetcher
) -> None:
    dead, *others = sites(4)
    dead.put("*", drop)
    urls = [
        f"{one.put('*', answer(b'x')) and one.url}/{n}"
        for one in others
        for n in range(3)
    ]
    fetcher = open_fetcher(retry_pauses_s=(0.5, 0.5), max_workers=1)
    results = [
        request.url for request, _ in fetcher.fetch_all(retried(f"{dead.url}/a", *urls))
    ]
    assert (len(results), results[-1]) == (10, f"{dead.url}/a")


def test_leaving_during_a_pause_ends_the_wait(
    site: Site, open_fetcher: OpenFetcher, sites: OpenSites
) -> None:
    site.put("*", drop)
    (other,) = sites(1)
    fetcher = open_fetcher(retry_pauses_s=(10 * HANG_S,))
    results = fetcher.fetch_all(retried(f"{site.url}/a", other.put("/b", answer(b"b"))))
    assert next(results)[0].url == f"{other.url}/b"
    results.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("refused", [answer(status=503), answer(status=404)])
def test_an_answer_is_no_lost_connection(
    site: Site, open_fetcher: OpenFetcher, refused: bytes
) -> None:
    site.put("*", refused)
    results_of(open_fetcher(retry_pauses_s=(0.01, 0.01)), retried(f"{site.url}/a"))
    assert site.paths == ["/a"]


def test_requests_that_do_not_ask_for_it_have_one_try(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    site.put("*", drop)
    results_of(
        open_fetcher(retry_pauses_s=(0.01, 0.01)),
        [PageRequest(f"{site.url}/a", obeys_robots=False)],
    )
    assert site.paths == ["/a"]


# --- the rule -------------------------------------------------------------------------


def test_the_pauses_are_about_two_and_ten_seconds() -> None:
    assert CONNECTION.pauses_s == (2.0, 10.0)
    tries = QuickTries(CONNECTION.pauses_s, total_s=60)
    (request,) = retried(URL)
    first, second, third = (
        tries.pause_s("example.org", request, LOST, spent_s=1) for _ in range(3)
    )
    assert first is not None
    assert second is not None
    assert (1.5 <= first <= 2.5, 7.5 <= second <= 12.5, third) == (True, True, None)


def test_a_host_that_answers_has_its_tries_again() -> None:
    tries = QuickTries((1.0,), total_s=60)
    (request,) = retried(URL)
    refused = FetchError(URL, "not found (404)", status=404)
    results: list[Page | FetchError] = [LOST, LOST, refused, LOST]
    pauses = [
        tries.pause_s("example.org", request, result, spent_s=1) is not None
        for result in results
    ]
    assert pauses == [True, False, False, True]


def test_the_tries_of_a_url_share_its_total_time() -> None:
    tries = QuickTries((1.0, 1.0), total_s=60)
    (request,) = retried(URL)
    assert tries.pause_s("example.org", request, LOST, spent_s=59) is not None
    assert tries.spent_s("example.org") == 59
    assert tries.pause_s("example.org", request, LOST, spent_s=60) is None
    assert tries.spent_s("example.org") == 0
