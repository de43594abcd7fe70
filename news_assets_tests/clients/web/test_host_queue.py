"""Many URLs: host slots, pauses, Retry-After, several fetchers and processes, early
exit.
"""

import multiprocessing
import socket
import threading
import time
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.clients.web.politeness import QuickTries
from news_assets.errors import FetchError
from news_assets.ports.services import PageRequest
from news_assets.records.reading import Page
from news_assets.retry_table import CONNECTION
from news_assets_tests.clients.web.conftest import (
    OpenFetcher,
    OpenSites,
    Site,
    answer,
    body_or_reason,
    requests,
    shortest_pause,
)
from news_assets_tests.support.waiting import HANG_S


def test_every_request_is_returned_with_its_page_or_error(
    sites: OpenSites, fetcher: HttpFetcher
) -> None:
    first, second = sites(2)
    first.put("/a", answer(b"a"))
    second.put("/b", answer(b"b"))
    wanted = requests(
        f"{first.url}/a",
        f"{second.url}/b",
        f"{first.url}/none",
        "mailto:x",
        "http://[::1",
    )
    assert {
        request.key: body_or_reason(page) for request, page in fetcher.fetch_all(wanted)
    } == {
        f"{first.url}/a": b"a",
        f"{second.url}/b": b"b",
        f"{first.url}/none": "not found (404)",
        "mailto:x": "not an http(s) address",
        "http://[::1": "not a valid address: Invalid port: ':1'",
    }


def test_no_requests_give_no_pages(fetcher: HttpFetcher) -> None:
    assert list(fetcher.fetch_all([])) == []


def test_a_host_gets_one_request_at_a_time_in_order_with_the_pause_between(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    def slow(connection: object, _: object) -> None:
        time.sleep(0.03)
        connection.sendall(answer(b"x"))  # type: ignore[attr-defined]

    site.put("*", slow)
    wanted = requests(*(f"{site.url}/{number}" for number in range(3)))
    results = list(open_fetcher(delay_s=0.05).fetch_all(wanted))
    assert [request for request, _ in results] == wanted
    assert site.paths == ["/0", "/1", "/2"]
    assert site.most_at_once == 1
    assert shortest_pause(site.every_request) >= 0.05


def test_hosts_are_fetched_concurrently_by_few_workers(
    sites: OpenSites, open_fetcher: OpenFetcher
) -> None:
    opened = sites(6)
    urls = [
        f"{one.put('*', answer(b'x')) and one.url}/{number}"
        for one in opened
        for number in range(4)
    ]
    results = list(open_fetcher(delay_s=0.1, max_workers=2).fetch_all(requests(*urls)))
    assert all(isinstance(page, Page) for _, page in results)
    assert min(shortest_pause(one.every_request) for one in opened) >= 0.1


def test_fetchers_that_share_a_folder_keep_the_pause_together(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    site.put("*", answer(b"x"))
    fetchers = [open_fetcher(delay_s=0.05) for _ in range(3)]
    threads = [
        threading.Thread(
            target=lambda one=one: list(one.fetch_all(requests(*[site.url] * 2)))
        )
        for one in fetchers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (
        len(site.requests),
        site.most_at_once,
        shortest_pause(site.every_request) >= 0.05,
    ) == (6, 1, True)


def _fetch_thrice(url: str, folder: Path) -> None:
    with HttpFetcher(
        user_agent="x",
        delay_s=0.1,
        state_dir=folder,
        allow_private_hosts=("127.0.0.1",),
    ) as fetcher:
        for request in requests(*[url] * 3):
            fetcher.fetch(request)


def test_processes_that_share_a_folder_keep_the_pause_together(
    site: Site, tmp_path: Path
) -> None:
    site.put("*", answer(b"x"))
    process = multiprocessing.get_context("spawn").Process(
        target=_fetch_thrice, args=(site.url, tmp_path)
    )
    process.start()
    while not site.requests and process.is_alive():
        time.sleep(0.005)
    _fetch_thrice(site.url, tmp_path)
    process.join()
    assert process.exitcode == 0
    assert (
        len(site.requests),
        site.most_at_once,
        shortest_pause(site.every_request) >= 0.1,
    ) == (6, 1, True)


def test_a_short_retry_after_is_waited_out(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    site.put(
        "*",
        answer(status=429, retry_after="Tue, 08 Sep 2026 12:00:01 GMT"),
        answer(b"x"),
    )
    fetcher = open_fetcher(clock=lambda: datetime(2026, 9, 8, 12, 0, 0, 800_000, UTC))
    results = [
        body_or_reason(page)
        for _, page in fetcher.fetch_all(requests(site.url, site.url))
    ]
    assert results == ["too many requests (429)", b"x"]
    assert shortest_pause(site.requests) >= 0.2


def test_a_long_retry_after_is_an_error_for_every_fetcher(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    site.put("*", answer(status=503, retry_after="3600"))
    errors = [error for _, error in open_fetcher().fetch_all(requests(*[site.url] * 3))]
    errors += [error for _, error in open_fetcher().fetch_all(requests(site.url))]
    assert [
        (e.status, round((e.retry_after_s or 0) / 10), e.is_transient) for e in errors
    ] == [  # type: ignore[union-attr]
        (503, 360, True),
        *[(None, 360, True)] * 3,
    ]
    assert len(site.requests) == 1


# --- early exit -----------------------------------------------------------------------


def test_leaving_the_iteration_stops_the_workers(
    sites: OpenSites, open_fetcher: OpenFetcher
) -> None:
    opened = sites(4)
    urls = [
        f"{one.put('*', answer(b'x')) and one.url}/{number}"
        for one in opened
        for number in range(50)
    ]
    results = open_fetcher(delay_s=0.02, max_workers=3).fetch_all(requests(*urls))
    assert len(list(islice(results, 5))) == 5
    results.close()  # type: ignore[attr-defined]
    time.sleep(0.1)
    request_count = sum(len(one.requests) for one in opened)
    assert request_count < 20
    time.sleep(0.1)
    assert sum(len(one.requests) for one in opened) == request_count
    assert not [
        thread for thread in threading.enumerate() if thread.name.startswith("fetch")
    ]


def test_workers_wait_for_a_slow_caller(
    sites: OpenSites, open_fetcher: OpenFetcher
) -> None:
    opened = sites(3)
    urls = [
        f"{one.put('*', answer(b'x')) and one.url}/{number}"
        for one in opened
        for number in range(20)
    ]
    results = open_fetcher(max_workers=3).fetch_all(requests(*urls))
    next(results)
    time.sleep(0.2)
    # taken, buffered, held by a worker
    assert sum(len(one.requests) for one in opened) <= 1 + 3 + 3
    assert len(list(results)) == 59


def test_closing_the_fetcher_cancels_its_waits(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    fetcher = open_fetcher(delay_s=2)
    threading.Timer(0.2, fetcher.close).start()
    # of the page, which waits after robots.txt
    with pytest.raises(FetchError, match="stopped"):
        fetcher.fetch(PageRequest(site.put("/a", answer(b"x"))))
    assert site.every_path == ["/robots.txt"]


# --- limits of time -------------------------------------------------------------------


def _stalls(connection: object, _: object) -> None:
    time.sleep(5.0)


def test_requests_that_have_not_begun_in_time_are_left_out_and_those_that_have_are_answered(
    sites: OpenSites, open_fetcher: OpenFetcher
) -> None:
    quick, slow = sites(2)
    quick.put("/a", answer(b"a"))
    slow.put("*", _stalls)
    wanted = requests(
        f"{quick.url}/a", *(f"{slow.url}/{number}" for number in range(3))
    )
    results = list(
        open_fetcher(read_s=2.0, total_s=4.0).fetch_all(wanted, begin_within_s=1.0)
    )
    assert {request.url: body_or_reason(result) for request, result in results} == {
        f"{quick.url}/a": b"a",
        f"{slow.url}/0": "no response in time",
    }
    assert slow.paths == ["/0"]


def test_a_request_that_waits_for_its_host_is_left_out_too(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    site.put("*", answer(b"x"))
    fetcher = open_fetcher(delay_s=2)
    fetcher.fetch(PageRequest(f"{site.url}/first", obeys_robots=False))
    assert (
        list(fetcher.fetch_all(requests(f"{site.url}/second"), begin_within_s=0.1))
        == []
    )
    assert site.paths == ["/first"]


def test_a_request_may_have_less_time_than_the_fetcher_and_its_error_has_the_time_it_took(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    site.put("*", _stalls)
    fetcher = open_fetcher(read_s=60.0, total_s=60.0)
    ((_, error),) = fetcher.fetch_all(
        [PageRequest(f"{site.url}/a", obeys_robots=False, max_s=0.5)]
    )
    assert body_or_reason(error) == "total time limit exceeded"
    assert 500 <= error.elapsed_ms < 4000


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
