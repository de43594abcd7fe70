"""Redirect chains: their targets, their limit and their cookies."""

import socket
from base64 import b64encode

import httpx
import pytest

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.clients.web.origins import Logins
from news_assets_tests.clients.web.conftest import (
    OpenFetcher,
    OpenSites,
    Site,
    answer,
    failure_of,
    request,
    summary_of,
)


def test_redirects_are_followed(site: Site, fetcher: HttpFetcher) -> None:
    url = site.put("/a", answer(status=301, location="/b?x=1#top"))
    site.put("/b?x=1", answer(status=307, location="c"))
    site.put("/c", answer(b"here"))
    page = fetcher.fetch(request(url))
    assert (page.url, page.final_url, page.body) == (url, f"{site.url}/c", b"here")


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("/a", ("FetchError", "redirect loop at {site}/a", 302, 0.5, False)),
        (
            "ftp://example.org/",
            (
                "FetchError",
                "redirects to ftp://example.org/, not an http(s) address",
                None,
                1.0,
                False,
            ),
        ),
        (
            "http://[::1",
            (
                "FetchError",
                "invalid response: Invalid URL in location header",
                None,
                0.5,
                True,
            ),
        ),
        (
            "//127.0.0.1:22/",
            (
                "ForbiddenAddressError",
                "refused: port 22 of 127.0.0.1 belongs",
                None,
                1.0,
                False,
            ),
        ),
        (
            "/" + "a" * 8_000,
            ("FetchError", "not a valid address: longer than 8,000", None, 1.0, False),
        ),
        (
            "http://169.254.169.254/latest",
            ("ForbiddenAddressError", "refused: {metadata}", None, 1.0, False),
        ),
    ],
)
def test_a_redirect_that_cannot_be_followed_has_its_reason(
    site: Site, fetcher: HttpFetcher, location: str, expected: tuple[str, ...]
) -> None:
    error = failure_of(
        fetcher, request(site.put("/a", answer(status=302, location=location)))
    )
    named = {
        "site": site.url,
        "metadata": "169.254.169.254 is 169.254.169.254, not a public address",
    }
    assert summary_of(error)[2:] == expected[2:]
    assert error.reason.startswith(expected[1].format(**named)[:30])
    assert type(error).__name__ == expected[0]


def test_the_number_of_redirects_is_limited(site: Site, fetcher: HttpFetcher) -> None:
    for step in range(12):
        site.put(f"/{step}", answer(status=302, location=f"/{step + 1}"))
    error = failure_of(fetcher, request(f"{site.url}/0"))
    assert summary_of(error) == (
        "FetchError",
        "more than 10 redirects",
        302,
        0.5,
        False,
    )
    assert len(site.requests) == 11


def test_a_redirect_without_a_location_is_an_error(
    site: Site, fetcher: HttpFetcher
) -> None:
    assert (
        failure_of(fetcher, request(site.put("/a", answer(status=302)))).reason
        == "refused (302)"
    )


def test_a_cookie_set_by_a_redirect_is_sent_in_the_same_chain_only(
    site: Site, fetcher: HttpFetcher
) -> None:
    def gate(connection: socket.socket, headers: dict[str, str]) -> None:
        is_let_in = headers.get("cookie") == "seen=1"
        connection.sendall(
            answer(b"in")
            if is_let_in
            else answer(status=302, location="/a", set_cookie="seen=1")
        )

    url = site.put("/a", gate)
    assert [fetcher.fetch(request(url)).body for _ in range(2)] == [b"in", b"in"]
    assert [headers.get("cookie") for *_, headers in site.requests] == [
        None,
        "seen=1",
        None,
        "seen=1",
    ]


_BASIC = "Basic " + b64encode(b"user:w@rd").decode()


def sent(site: Site) -> list[str | None]:
    return [headers.get("authorization") for *_, headers in site.every_request]


def with_login(url: str) -> str:
    return url.replace("://", "://user:w%40rd@")


def test_a_login_is_sent_to_its_origin_only_and_not_after_another(
    sites: OpenSites, open_fetcher: OpenFetcher
) -> None:
    first, second = sites(2)
    second.put("/c", answer(status=302, location=f"{first.url}/d"))
    first.put("/a", answer(status=302, location="/b"))
    first.put("/b", answer(status=302, location=f"{second.url}/c"))
    first.put("/d", answer(b"x"))
    fetcher = open_fetcher(logins=(with_login(first.url),))
    assert fetcher.fetch(request(f"{first.url}/a")).body == b"x"
    assert first.every_path == ["/robots.txt", "/a", "/b", "/d"]
    assert (sent(first), sent(second)) == ([_BASIC] * 3 + [None], [None] * 2)


@pytest.mark.parametrize(
    "url",
    [
        "http://intranet:8080/",
        "https://intranet/",
        "http://other/",
        "http://x.intranet/",
    ],
)
def test_scheme_host_and_port_are_the_origin(url: str) -> None:
    logins = Logins(["http://user:word@intranet"])
    assert logins.header_for(httpx.URL(url)) is None
    assert logins.header_for(httpx.URL("http://INTRANET:80/a")) is not None


def test_user_and_password_of_an_address_are_neither_sent_nor_stored(
    site: Site, fetcher: HttpFetcher
) -> None:
    page = fetcher.fetch(request(with_login(site.put("/a", answer(b"x")))))
    assert (page.url, page.final_url) == (f"{site.url}/a",) * 2
    assert sent(site) == [None, None]


def test_user_and_password_of_a_redirect_are_neither_sent_nor_stored(
    site: Site, fetcher: HttpFetcher
) -> None:
    site.put("/b", answer(b"x"))
    page = fetcher.fetch(
        request(
            site.put("/a", answer(status=302, location=with_login(f"{site.url}/b")))
        )
    )
    assert page.final_url == f"{site.url}/b"
    assert sent(site) == [None, None, None]


def test_user_and_password_are_not_part_of_a_reason(
    site: Site, fetcher: HttpFetcher
) -> None:
    for location in (with_login(f"{site.url}/a"), "ftp://user:w%40rd@example.org/"):
        error = failure_of(
            fetcher, request(site.put("/a", answer(status=302, location=location)))
        )
        assert "w%40rd" not in str(error)


def test_a_cookie_of_a_redirect_is_not_sent_to_another_host(
    sites: OpenSites, fetcher: HttpFetcher
) -> None:
    first, second = sites(2)
    first.put("/a", answer(status=302, location=f"{second.url}/b", set_cookie="seen=1"))
    second.put("/b", answer(b"x"))
    fetcher.fetch(request(f"{first.url}/a"))
    assert [headers.get("cookie") for *_, headers in second.every_request] == [
        None,
        None,
    ]
