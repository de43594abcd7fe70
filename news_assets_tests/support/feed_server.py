"""A server of thousands of feeds, each on its own host: feed `n` is at 127.10.x.y,
chosen by the Host header.

    with feed_server() as port:
        urls = [feed_url(n, port) for n in range(2000)]

The server is stateless. A request without a validator gets a feed with the ETag "1"; a
request with that ETag gets a 304, and from every twentieth host the same feed with one
more entry and the ETag "2". It runs in a process of its own (`python -m
news_assets_tests.support.feed_server PORT`), so that its CPU time is not added to the
client's.
"""

import asyncio
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cache

from news_assets_tests.support.servers import free_port
from news_assets_tests.support.waiting import HANG_S

ENTRIES = 20  # of a feed; those of ../shared/corpus/feeds_real have 15 on average
NEWS_EVERY = 20  # every so many hosts have a new entry
_NEWEST = datetime(2026, 11, 20, 12, tzinfo=UTC)
_HOST = re.compile(rb"\r\nhost: 127\.10\.(\d+)\.(\d+)", re.IGNORECASE)
_VALIDATOR = re.compile(rb"\r\nif-none-match: (\S+)", re.IGNORECASE)
_WORDS = "A câmara municipal aprovou na terça-feira o projeto que amplia as linhas de ônibus noturnas da cidade. "


def feed_url(number: int, port: int) -> str:
    """Return the address of one feed, on a host of its own."""
    return f"http://127.10.{number // 250}.{number % 250 + 1}:{port}/feed.xml"


def rss(site: str, numbers: range, text_chars: int = 0) -> bytes:
    """Return an RSS feed as WordPress writes it, newest first; full texts where
    `text_chars` is given.
    """
    items = "".join(_item(site, number, text_chars) for number in reversed(numbers))
    return (
        '<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"'
        ' xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/"'
        ' xmlns:media="http://search.yahoo.com/mrss/" xmlns:sy="http://purl.org/rss/1.0/modules/syndication/">\n'
        f"<channel><title>Notícias de {site}</title><link>{site}</link><language>pt-BR</language>"
        f"<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>1</sy:updateFrequency>\n{items}</channel></rss>"
    ).encode()


def _item(site: str, number: int, text_chars: int) -> str:
    at = format_datetime(_NEWEST - timedelta(hours=6 * (ENTRIES - number)))
    paragraphs = f'<p class="lead">{_WORDS * 3}<a href="{site}/leis?a=1&amp;b={number}">Leia a lei</a></p>\n'
    text = (paragraphs * (text_chars // len(paragraphs) + 1))[:text_chars]
    content = f"<content:encoded><![CDATA[{text}]]></content:encoded>" if text else ""
    return (
        f"<item><title>Ônibus noturno {number} &#8211; &#8220;Linha {number}&#8221;</title>"
        f"<link>{site}/{number}</link><guid isPermaLink='false'>{site}/?p={number}</guid><pubDate>{at}</pubDate>"
        f"<dc:creator><![CDATA[Redação]]></dc:creator><category><![CDATA[Transporte]]></category>"
        f"<category><![CDATA[Cidade]]></category><description><![CDATA[<p>{_WORDS}</p>]]></description>{content}"
        f"<media:content url='{site}/{number}.jpg' medium='image' width='800'/></item>\n"
    )


@contextmanager
def feed_server() -> Iterator[int]:
    """Run the server and yield its port."""
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "news_assets_tests.support.feed_server", str(port)]
    )
    try:
        _wait_for(feed_url(0, port))
        yield port
    finally:
        server.terminate()
        server.wait()


def _wait_for(url: str) -> None:
    for _ in range(100):
        with suppress(OSError):
            urllib.request.urlopen(url, timeout=HANG_S).close()
            return
        time.sleep(0.05)
    raise AssertionError(f"{url} does not answer")


# --- the server's process -------------------------------------------------------------


@cache
def _answer(number: int, validator: bytes) -> bytes:
    is_new = validator == b'"1"' and number % NEWS_EVERY == 0
    if validator and not is_new:
        return b"HTTP/1.1 304 Not Modified\r\netag: " + validator + b"\r\n\r\n"
    body = rss(
        f"http://feed{number}.example.org",
        range(1, ENTRIES + 1) if is_new else range(ENTRIES),
    )
    head = f'HTTP/1.1 200 OK\r\ncontent-type: application/rss+xml\r\netag: "{2 if is_new else 1}"\r\n'
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


class _Connection(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._received = transport, b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            request, _, self._received = self._received.partition(b"\r\n\r\n")
            host, validator = _HOST.search(request), _VALIDATOR.search(request)
            number = int(host[1]) * 250 + int(host[2]) - 1 if host else 0
            self._transport.write(_answer(number, validator[1] if validator else b""))


async def _serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    # all of 127.0.0.0/8
    server = await loop.create_server(_Connection, "0.0.0.0", port, backlog=2048)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
