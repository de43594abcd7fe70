"""Servers that send too much, too slowly or nonsense: each request ends in bounded
time, with one reason.

Those of one URL that merely fail are in `test_fetcher.py`, bombs of gzip in
`test_body.py`.
"""

import gzip
import socket
import time
import zlib
from collections.abc import Callable
from itertools import count

import pytest

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.ports.services import PageRequest
from news_assets_tests.clients.web.conftest import (
    Answer,
    OpenFetcher,
    Site,
    answer,
    failure_of,
    request,
)
from news_assets_tests.support.growth import grows_linearly

_START = b"HTTP/1.1 200 -\r\n"


def _endless(start: bytes, repeated: bytes) -> Callable[[socket.socket, object], None]:
    """Return an answer that ends when the client closes the connection, and that the
    server survives.
    """

    def send(connection: socket.socket, _: object) -> None:
        connection.settimeout(2)
        connection.sendall(start)
        for _ in range(200_000_000 // len(repeated)):
            connection.sendall(repeated)

    return send


def _zeros(wbits: int) -> bytes:
    packer = zlib.compressobj(1, wbits=wbits)
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(40)) + packer.flush()


def _chunked(*chunks: bytes) -> bytes:
    return _START + b"transfer-encoding: chunked\r\n\r\n" + b"".join(chunks)


_SENDS_TOO_MUCH: dict[str, tuple[Answer, str]] = {
    "endless header lines": (_endless(_START, b"x: y\r\n" * 5_000), "invalid response"),
    "one endless header": (
        _endless(_START + b"x: ", b"y" * 60_000),
        "invalid response",
    ),
    "an endless status line": (
        _endless(b"HTTP/1.1 200 ", b"y" * 60_000),
        "invalid response",
    ),
    "endless cookies": (
        _endless(_START, b"set-cookie: a=b\r\n" * 2_000),
        "invalid response",
    ),
    "endless informational responses": (
        _endless(b"", b"HTTP/1.1 103 -\r\nlink: </a>\r\n\r\n" * 100),
        "total time limit exceeded",
    ),
    "an endless chunk header": (
        _endless(_START + b"transfer-encoding: chunked\r\n\r\n1;", b"x" * 60_000),
        "invalid",
    ),
    "endless trailers": (
        _endless(_chunked(b"1\r\nx\r\n0\r\n"), b"x: y\r\n" * 5_000),
        "invalid response",
    ),
    "an endless body": (
        _endless(_START + b"\r\n", b"x" * 60_000),
        "more than 5,000,000 bytes",
    ),
    "an endless body of many small chunks": (
        _endless(_chunked(), b"1\r\nx\r\n" * 10_000),
        "more than 5,000,000 bytes|total time limit exceeded",
    ),
    "a redirect with an endless body": (
        _endless(b"HTTP/1.1 302 -\r\nlocation: /b\r\n\r\n", b"x" * 60_000),
        "not found",
    ),
    "an error with an endless body": (
        _endless(b"HTTP/1.1 500 -\r\n\r\n", b"x" * 60_000),
        "server error",
    ),
    "a huge Location": (
        answer(status=302, location="/" + "a" * 60_000),
        "not a valid address: longer",
    ),
    "a Location of a megabyte": (
        answer(status=302, location="/" + "a" * 1_000_000),
        "invalid response",
    ),
    "a bomb of deflate": (
        answer(_zeros(zlib.MAX_WBITS), content_encoding="deflate"),
        "bytes decompressed",
    ),
    "a bomb of deflate without a frame": (
        answer(_zeros(-zlib.MAX_WBITS), content_encoding="deflate"),
        "decompressed",
    ),
}
_NONSENSE: dict[str, tuple[Answer, str]] = {
    "br": (
        answer(b"x", content_encoding="br"),
        "Content-Encoding br was not requested",
    ),
    "zstd": (
        answer(b"x", content_encoding="ZSTD"),
        "Content-Encoding zstd was not requested",
    ),
    "nested encodings": (
        answer(gzip.compress(gzip.compress(b"x")), content_encoding="gzip, gzip"),
        "Content-Encoding gzip, gzip was not requested",
    ),
    "many encodings": (
        answer(b"x", content_encoding=", ".join(["gzip"] * 9_000)),
        "Content-Encoding gzip, gzip",
    ),
    "many lines of encodings": (
        _START + b"content-encoding: gzip\r\n" * 1_000 + b"content-length: 1\r\n\r\nx",
        "Content-Encoding gzip, gzip",
    ),
    "two lengths": (
        _START + b"content-length: 1\r\ncontent-length: 5\r\n\r\nxxxxx",
        "invalid response",
    ),
    "a negative length": (_START + b"content-length: -1\r\n\r\nx", "invalid response"),
    "a length of 5,000 digits": (
        _START + b"content-length: " + b"9" * 5_000 + b"\r\n\r\nx",
        "invalid response",
    ),
    "a chunk of negative size": (_chunked(b"-1\r\nx\r\n"), "invalid response"),
    "a chunk of an enormous size": (
        _chunked(b"f" * 15 + b"\r\nx\r\n"),
        "no response in time|invalid response",
    ),
    "a chunk that is longer than stated": (
        _chunked(b"1\r\nxxxxx\r\n0\r\n\r\n"),
        "invalid response",
    ),
    "an unknown transfer encoding": (
        _START + b"transfer-encoding: gzip\r\n\r\nx",
        "invalid response",
    ),
    "a status of four digits": (b"HTTP/1.1 2000 -\r\n\r\n", "invalid response"),
    "an upgrade": (
        b"HTTP/1.1 101 -\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n",
        "invalid response",
    ),
    "NUL in a header": (_START + b"etag: a\0b\r\n\r\n", "invalid response"),
    "HTTP/0.9": (b"<html>news</html>", "invalid response|no response in time"),
    "a Location that splits the response": (
        b"HTTP/1.1 302 -\r\nlocation: /b\r\n\r\nHTTP/1.1 200 -\r\ncontent-length: 1\r\n\r\nx",
        "not found",
    ),
    "a Location with a control character": (
        answer(status=302, location="/a\tb\x0bc"),
        "invalid response|not a valid",
    ),
    "a Location with an impossible host": (
        answer(status=302, location="http://a..b/"),
        "invalid response|host not",
    ),
    "a Location with an impossible IDN": (
        answer(status=302, location="http://xn--\xff/"),
        "invalid response|host not",
    ),
    "a Location with an impossible port": (
        answer(status=302, location="http://127.0.0.1:0x50/"),
        "invalid response",
    ),
    "a Location of another scheme": (
        answer(status=302, location="file:///etc/passwd"),
        "redirects to file:",
    ),
    "a Location that is a script": (
        answer(status=302, location="javascript:alert(1)"),
        "not a valid address",
    ),
}


@pytest.mark.parametrize(
    ("scripted", "reason"),
    [
        pytest.param(*case, id=name)
        for name, case in {**_SENDS_TOO_MUCH, **_NONSENSE}.items()
    ],
)
def test_a_hostile_response_ends_with_its_reason(
    site: Site, open_fetcher: OpenFetcher, scripted: Answer, reason: str
) -> None:
    error = failure_of(
        open_fetcher(total_s=1.0, read_s=0.3), request(site.put("/x", scripted))
    )
    assert any(part in error.reason for part in reason.split("|")), error.reason
    assert len(error.reason) <= 500


def test_a_length_shorter_than_the_body_gives_the_stated_part(
    site: Site, fetcher: HttpFetcher
) -> None:
    url = site.put(
        "/x", _START + b"content-length: 1\r\n\r\n" + b"xHTTP/1.1 200 -\r\n\r\nsmuggled"
    )
    assert fetcher.fetch(request(url)).body == b"x"


def test_a_slow_redirect_chain_ends_at_the_time_limit(
    site: Site, open_fetcher: OpenFetcher
) -> None:
    numbers = count()

    def slow(connection: socket.socket, _: object) -> None:
        time.sleep(0.15)
        connection.sendall(answer(status=302, location=f"/{next(numbers)}"))

    site.put("*", slow)
    assert (
        failure_of(open_fetcher(total_s=0.4), request(f"{site.url}/a")).reason
        == "total time limit exceeded"
    )
    assert len(site.requests) <= 4


MAX_HEADER_CHARS = 60_000


@pytest.mark.parametrize(
    "cookie", ["a=b; expires={}0", "a=b; path={}/", "a={};=", "{}a=b,"]
)
def test_cookies_of_a_redirect_are_read_in_linear_time(
    site: Site, fetcher: HttpFetcher, cookie: str
) -> None:
    start, piece = cookie.split("{}")
    site.put("/end", answer(b"x"))

    def redirect(size: int) -> PageRequest:
        value = start + piece * (size // len(piece))
        url = site.put(
            f"/{size}", answer(status=302, location="/end", set_cookie=value)
        )
        return request(url)

    assert fetcher.fetch(redirect(MAX_HEADER_CHARS)).body == b"x"
    assert grows_linearly(fetcher.fetch, redirect, MAX_HEADER_CHARS)


HEADERS = (
    "retry-after",
    "expires",
    "date",
    "age",
    "cache-control",
    "content-type",
    "etag",
)


@pytest.mark.parametrize("piece", ["9", "max-age ", ", ", "Tue, "])
def test_headers_of_a_page_are_read_in_linear_time(
    site: Site, fetcher: HttpFetcher, piece: str
) -> None:
    def page_with_headers(size: int) -> PageRequest:
        value = piece * (size // len(HEADERS) // len(piece))
        return request(
            site.put(f"/{size}", answer(b"x", **dict.fromkeys(HEADERS, value)))
        )

    assert fetcher.fetch(page_with_headers(MAX_HEADER_CHARS)).body == b"x"
    assert grows_linearly(fetcher.fetch, page_with_headers, MAX_HEADER_CHARS)
