"""Decompression and caps of a body."""

import gzip
import resource
import socket
import zlib
from datetime import UTC, datetime

import httpcore
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.clients.web.responses import (
    HTTPX_ERRORS,
    REASONS,
    BodyCaps,
    charset_of,
    content_length_of,
    fetch_error_of,
    max_age_s,
    retry_after_s,
    validators_of,
)
from news_assets.clients.web.transport import _HTTPX_CLASSES
from news_assets.errors import TooLargeError
from news_assets.records.reading import Validators
from news_assets.retry_table import LONGEST_PAUSE_S
from news_assets_tests.clients.web.conftest import (
    OpenFetcher,
    Site,
    answer,
    failure_of,
    request,
    summary_of,
)

NOW = datetime(2026, 9, 8, 12, 0, tzinfo=UTC)
_DATE = "Tue, 08 Sep 2026 12:00:00 GMT"
_LATER = "Tue, 08 Sep 2026 12:10:00 GMT"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "120"}, 120),
        ({"retry-after": _LATER}, 600),
        ({"retry-after": _LATER, "date": "Tue, 08 Sep 2026 12:09:00 GMT"}, 60),
        ({"retry-after": "Mon, 07 Sep 2026 12:00:00 GMT"}, 0),
        ({"retry-after": "9999999999"}, LONGEST_PAUSE_S),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, LONGEST_PAUSE_S),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "soon"}, None),
    ],
)
def test_retry_after_is_read_in_both_forms(
    headers: dict[str, str], expected: float | None
) -> None:
    assert retry_after_s(httpx.Headers(headers), NOW) == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"cache-control": "public, max-age=600"}, 600),
        ({"cache-control": "max-age=600", "age": "200"}, 400),
        ({"cache-control": "max-age=600", "age": "700"}, 0),
        ({"cache-control": 'MAX-AGE = "60"', "expires": _LATER}, 60),
        ({"cache-control": "s-maxage=600"}, None),
        ({"cache-control": "no-cache", "expires": _LATER, "date": _DATE}, 600),
        ({"expires": "0"}, None),
    ],
)
def test_max_age_is_the_freshness_left(
    headers: dict[str, str], expected: float | None
) -> None:
    assert max_age_s(httpx.Headers(headers), NOW) == expected


def test_validators_generated_for_each_response_are_ignored() -> None:
    generated = {
        "etag": '"x"',
        "last-modified": _DATE,
        "expires": "0",
        "cache-control": "no-store, no-cache",
    }
    assert validators_of(httpx.Headers(generated)) == Validators()
    assert validators_of(
        httpx.Headers(generated | {"cache-control": "no-cache"})
    ) == Validators('"x"', _DATE)


@pytest.mark.parametrize("value", ["x" * 1_001, "x\ny", "x\x1by"])
def test_a_validator_that_is_long_or_has_control_characters_is_absent(
    value: str,
) -> None:
    headers = httpx.Headers({"etag": value, "last-modified": value})
    assert validators_of(headers) == Validators()
    assert validators_of(headers, Validators('"e"', _DATE)) == Validators('"e"', _DATE)


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("text/html; charset=UTF-8", "utf-8"),
        ("text/html;boundary=x;CHARSET = 'iso-8859-1'", "iso-8859-1"),
        ('text/html; charset="windows-1252"; x=y', "windows-1252"),
        ("text/html; charset=", None),
        ("text/html; xcharset=utf-8", None),
        ("charset=utf-8", None),
    ],
)
def test_the_charset_of_a_content_type(content_type: str, expected: str | None) -> None:
    assert charset_of(content_type) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("17", 17), ("", None), ("-1", None), ("9" * 5_000, None), ("٣", None)],
)
def test_the_length_that_a_response_states(value: str, expected: int | None) -> None:
    assert (
        content_length_of(httpx.Headers({"content-length": value.encode()})) == expected
    )


@given(st.text())
def test_any_header_value_is_accepted(value: str) -> None:
    headers = {
        "retry-after": value,
        "expires": value,
        "date": value,
        "cache-control": value,
        "age": value,
    }
    encoded = httpx.Headers(
        {name: text.encode("utf-8", "replace") for name, text in headers.items()}
    )
    assert (retry_after_s(encoded, NOW) or 0) >= 0
    assert (max_age_s(encoded, NOW) or 0) >= 0


def test_a_body_is_decompressed(site: Site, fetcher: HttpFetcher) -> None:
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    for path, coding, body in (
        (
            "/gzip",
            "gzip",
            gzip.compress(b"first ") + gzip.compress(b"second") + b"\0\0",
        ),
        ("/zlib", "deflate", zlib.compress(b"first second")),
        ("/raw", "deflate", raw.compress(b"first second") + raw.flush()),
        ("/none", "utf-8", b"first second"),
    ):
        url = site.put(path, answer(body, content_encoding=coding))
        assert fetcher.fetch(request(url)).body == b"first second", path


def test_the_bytes_on_the_wire_are_capped(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    def endless(connection: socket.socket, _: object) -> None:
        connection.sendall(b"HTTP/1.1 200 -\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            connection.sendall(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")

    error = failure_of(
        open_fetcher(caps=BodyCaps(300_000, 1_000_000)),
        request(site.put("/x", endless)),
    )
    assert summary_of(error) == (
        "TooLargeError",
        "more than 300,000 bytes",
        200,
        1.0,
        False,
    )


def test_a_pdf_may_be_as_large_as_a_decompressed_page(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    fetcher = open_fetcher(caps=BodyCaps(300_000, 1_000_000))
    large, larger = (
        answer(b"x" * size, content_type="application/pdf")
        for size in (900_000, 1_000_001)
    )
    assert len(fetcher.fetch(request(site.put("/a", large))).body) == 900_000
    error = failure_of(fetcher, request(site.put("/b", larger)))
    assert summary_of(error) == (
        "TooLargeError",
        "more than 1,000,000 bytes",
        200,
        1.0,
        False,
    )


def test_a_gzip_bomb_ends_at_the_cap_without_using_memory(
    site: Site, fetcher: HttpFetcher
) -> None:
    packer = zlib.compressobj(1, wbits=zlib.MAX_WBITS | 16)
    bomb = (
        b"".join(packer.compress(bytes(1 << 20)) for _ in range(100)) + packer.flush()
    )
    url = site.put("/x", answer(bomb, content_encoding="gzip"))
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error = failure_of(fetcher, request(url))
    assert summary_of(error) == (
        "TooLargeError",
        "more than 20,000,000 bytes decompressed",
        200,
        1.0,
        False,
    )
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 60_000


def test_a_body_at_the_cap_is_a_page(site: Site, open_fetcher: OpenFetcher) -> None:
    url = site.put("/x", answer(b"x" * 1000))
    assert len(open_fetcher(caps=BodyCaps(1000, 1000)).fetch(request(url)).body) == 1000
    with pytest.raises(TooLargeError):
        open_fetcher(caps=BodyCaps(1000, 999)).fetch(request(url))


_HTTPX_EXCEPTIONS = [
    value
    for name in httpx.__all__
    if isinstance(value := getattr(httpx, name), type) and issubclass(value, Exception)
]
_HTTPCORE_EXCEPTIONS = [
    value
    for name in httpcore.__all__
    if isinstance(value := getattr(httpcore, name), type)
    and issubclass(value, Exception)
]


def test_every_exception_of_httpx_has_a_reason_and_is_caught() -> None:
    assert set(REASONS) == set(_HTTPX_EXCEPTIONS)
    assert [cls for cls in _HTTPX_EXCEPTIONS if not issubclass(cls, HTTPX_ERRORS)] == []


def test_every_exception_of_httpcore_becomes_one_of_httpx() -> None:
    assert set(_HTTPX_CLASSES) == set(_HTTPCORE_EXCEPTIONS)


@pytest.mark.parametrize(
    "cls", [httpx.ReadTimeout, httpx.ConnectError, httpx.RemoteProtocolError]
)
def test_the_nearest_class_decides_the_reason(cls: type[httpx.TransportError]) -> None:
    error = fetch_error_of("http://x/", cls("its message"))
    assert error.reason.startswith(REASONS[cls][0])
    assert (error.url, error.weight, error.is_transient) == (
        "http://x/",
        *REASONS[cls][1:],
    )
