"""User and password: sent to the origin of a login only, never stored."""

from base64 import b64encode

import httpx
import pytest

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.clients.web.logins import Logins
from news_assets_tests.clients.web.conftest import (
    OpenFetcher,
    OpenSites,
    Site,
    answer,
    failure_of,
    request,
)

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
