"""Decompression and caps of a body."""

import gzip
import resource
import socket
import zlib

import pytest

from news_assets.clients.web.body import BodyCaps
from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.errors import TooLargeError
from news_assets_tests.clients.web.conftest import (
    OpenFetcher,
    Site,
    answer,
    failure_of,
    request,
    summary_of,
)


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
