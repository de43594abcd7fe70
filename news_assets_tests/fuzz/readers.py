"""Every reader of bytes and text from outside, with real inputs to start from.

A reader takes bytes and may raise `NewsAssetsError` only. Inputs come from the samples
of the tests and from the evaluation material beside the repository, if it is there.
"""

import gzip
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path

import httpx

from news_assets.clients.web.origins import Robots
from news_assets.desks.desk_files import built_in_desks, parse_desk, path_of
from news_assets.desks.site_lists import parse_opml
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.embed import embedding_text
from news_assets.pipeline.enrich.local_enricher import LocalEnricher
from news_assets.pipeline.page.readers import read_entry
from news_assets.ports.services import PageRequest
from news_assets.sources.civic.vendors import CIVIC_KINDS, read_saved_answers
from news_assets.sources.source_kinds import KINDS, adapter_of
from news_assets.taxonomy import load_taxonomy
from news_assets.text.prose import strip_markdown
from news_assets.text.urls import canonical_url, url_hash, web_url
from news_assets_tests.desks import test_site_lists
from news_assets_tests.pipeline.page import samples
from news_assets_tests.soak.hostile import SHARED_CASES
from news_assets_tests.sources.civic import (
    answers,
    test_calendar_file,
    test_html_vendors,
    test_json_vendors,
    test_legistar,
    test_portal_vendors,
)
from news_assets_tests.sources.page_builders import INSTEAD, page_of, source_of
from news_assets_tests.sources.test_adapter_contract import SAMPLES

SHARED = SHARED_CASES.parents[1]
_SHARED_INPUTS = 40  # of each kind, at most
_SHARED_BYTES = 200_000
_ROBOTS = b"""User-agent: *\nDisallow: /a*b$\nAllow: /\nCrawl-delay: 2.5\nSitemap: https://example.org/s.xml\n
user-agent: news_assets\nDisallow:\n"""
_MARKDOWN = (
    '# Title\n\nA **bold** _word_, `code` and a [link](https://example.org/a_(b) "t") ![image](a.png).\n\n'
    "- one\n  - two\n1. three\n\n> quote\n\n| a | b |\n| --- | --- |\n| c | d |\n\n"
    "```\ncode\n```\n\n***\nDr. A. said 1.5.\n"
)
_URLS = (
    "https://www.example.org:443/a/../b/./c?utm_source=x&b=2&a=1#top",
    "http://user:pass@EXAMPLE.org/%7Ea%2fb/index.html?fbclid=1&&=&id=3#!/route",
    "https://m.example.com.br/amp/noticia.ghtml?_ga=2.1",
    "https://xn--caf-dma.example/caf%C3%A9?url=https%3A%2F%2Fexample.org%2Fx",
    "//[2001:db8::1]:80/a;b=c?d",
)


@dataclass(frozen=True)
class Reader:
    """A reader and its inputs. `tokens` are pieces that have a meaning for it, which
    mutations insert.
    """

    read: Callable[[bytes], object]
    inputs: Callable[[], Iterator[bytes]]
    tokens: tuple[bytes, ...] = ()


def read(name: str, data: bytes) -> None:
    """Read an input; errors of this package are what a reader may raise."""
    try:
        READERS[name].read(data)
    except NewsAssetsError:
        return


def inputs_of(name: str) -> list[bytes]:
    """Return the inputs of a reader, samples first."""
    return list(READERS[name].inputs())


# --- reading --------------------------------------------------------------------------


def _listing(kind: str, data: bytes) -> object:
    source = source_of(kind, SAMPLES[kind][0])
    adapter = adapter_of(source)
    return adapter.parse(page_of(data, adapter.first_url(source)), source)


def _meetings(kind: str, data: bytes) -> object:
    return read_saved_answers(
        kind,
        [("answer", data)],
        "https://town.example.org/AgendaCenter",
        answers.context(),
    )


def _page(data: bytes) -> object:
    return read_entry(samples.page(data), None, samples.ZONE, "pt-BR")


def _fragment(data: bytes) -> object:
    return read_entry(None, _text(data).ljust(300), samples.ZONE, None)


def _enrich(data: bytes) -> object:
    title, _, text = _text(data).partition("\n")
    return _enricher().enrich(title, text, None)


def _embedding_text(data: bytes) -> object:
    title, _, text = _text(data).partition("\n")
    return embedding_text(title, text, text[:50])


def _url(data: bytes) -> object:
    text = _text(data)
    url_hash(text)
    once = canonical_url(text)
    assert canonical_url(once) == once, (
        "the canonical URL of a canonical URL is another one"
    )
    return web_url(text, "https://example.org/a/b")


def _robots(data: bytes) -> object:
    with tempfile.TemporaryDirectory() as folder:
        robots = Robots("news_assets/0.1", lambda *_: _text(data), Path(folder))
        url = "https://example.org/a/x/b?c=d"
        return robots.check(httpx.URL(url), PageRequest(url))


def _desk(data: bytes) -> object:
    return parse_desk(_text(data), Path("desk.yaml"), KINDS)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


@cache
def _enricher() -> LocalEnricher:
    return LocalEnricher(load_taxonomy())


# --- inputs ---------------------------------------------------------------------------


def _listings(kind: str) -> Iterator[bytes]:
    yield from (_bytes(document) for document in SAMPLES[kind][1])
    yield from (_bytes(document) for document, _ in INSTEAD)
    if kind in ("feed", "json_feed", "sitemap", "g1"):
        yield from _shared(
            "hostile/dev/cases/*ml",
            "hostile/dev/cases/*.json",
            "feeds_*/dev/**/*.xml",
            "feeds_*/dev/**/*.gz",
        )


_CIVIC: dict[str, object] = {
    "boarddocs": test_portal_vendors.DETAILED,
    "civicclerk": {"value": [test_json_vendors.CIVICCLERK]},
    "civicengage": '<h1>Archive Center</h1><a href="Archive.aspx?ADID=8">City Council Agenda - March 17, 2026</a>',
    "civicplus": test_html_vendors.AGENDA_CENTER,
    "civicweb": [test_portal_vendors.CIVICWEB],
    "escribe": {"d": [test_json_vendors.ESCRIBE]},
    "granicus": f"<table>{test_html_vendors.granicus_row('Council', 'Mar 1, 2026 - 8:00 AM', 7)}</table>",
    "icalendar": test_calendar_file.calendar(
        test_calendar_file.event("DTSTART:20260319T183000", "RRULE:FREQ=WEEKLY")
    ),
    "iqm2": test_html_vendors.IQM2,
    "legistar": [test_legistar.EVENT, *test_legistar.ITEMS],
    "legistar_html": test_legistar.CALENDAR,
    "municode": {
        "Meetings": [
            {"MeetingID": 5, "CalendarDate": [{"FromDate": "2026-03-19 18:00:00"}]}
        ]
    },
    "novusagenda": test_html_vendors.NOVUS,
    "onbase": test_portal_vendors.ROW.format("DownloadFile"),
    "pdf_links": "<h2>Board</h2><li>April 16, 2026 <a href='/a/x_3-19-26.pdf'>Agenda</a></li>",
    "primegov": [test_json_vendors.PRIMEGOV],
}


def _answers(kind: str) -> Iterator[bytes]:
    yield answers.page(_CIVIC[kind]).body


def _pages() -> Iterator[bytes]:
    yield samples.html(samples.BODY).encode()
    yield from _shared("hostile/dev/cases/*.html", "article_*/dev/html/*.gz")


def _texts() -> Iterator[bytes]:
    yield from (
        _MARKDOWN.encode(),
        f"{samples.FIRST}\n{samples.SECOND}".encode(),
        "Título\nDr. É 1.5 às 11h11".encode(),
    )
    if naughty := next(_shared("hostile/common/naughty_strings/blns.txt"), None):
        yield naughty


def _desks() -> Iterator[bytes]:
    yield path_of("sample").read_bytes()
    yield from (
        b"\n".join(path_of(name).read_bytes().splitlines()[:60])
        for name in built_in_desks()
    )


def _shared(*patterns: str) -> Iterator[bytes]:
    """Yield files of the evaluation material, decompressed; nothing if it is missing."""
    for pattern in patterns:
        found = (
            path
            for path in sorted(SHARED.glob(pattern))
            if path.is_file() and path.stat().st_size < _SHARED_BYTES
        )
        for path in islice(found, _SHARED_INPUTS):
            content = path.read_bytes()
            yield gzip.decompress(content) if path.suffix == ".gz" else content


def _bytes(document: bytes | str) -> bytes:
    return document.encode() if isinstance(document, str) else document


_XML = (
    b"<item>",
    b"<![CDATA[",
    b"]]>",
    b"<!ENTITY a 'b'>",
    b"&#x0;",
    b"&a;",
    b"<pubDate>",
    b"xmlns:x='",
    b"\xff\xfe",
)
_HTML = (
    b"<p>",
    b"<table>",
    b"<ul><li>",
    b"<br>",
    b"<script type='application/ld+json'>",
    b"<time datetime='",
    b"&nbsp;",
)
_JSON = (b"[", b"{", b"null", b"1e999", b'"\\ud800"', b"-1", b"[]", b'""', b"true")
_MEETINGS = (
    b"<tr>",
    b"<td>",
    b"</td>",
    b"31/31/9999",
    b"13:61 PM",
    b"RRULE:FREQ=DAILY\r\n",
    b"BEGIN:VEVENT\r\n",
    b"TZID=A",
)
_MARKS = (
    b"[",
    b"](",
    b"**",
    b"_",
    b"`",
    b"\n\n",
    b"| ",
    b"> ",
    b"- ",
    "\u0301".encode(),
    "\u202e".encode(),
    b"Dr. ",
)
_PARTS = (
    b"://",
    b"@",
    b"#",
    b"?",
    b"%",
    b"%2e",
    b"..",
    b"[",
    b"]",
    b":",
    b"//",
    b"\\",
    b"&",
    b"utm_a=",
    "\u3002".encode(),
)

READERS: dict[str, Reader] = {
    **{
        kind: Reader(
            partial(_listing, kind),
            partial(_listings, kind),
            (*_XML, *_HTML, *_JSON, *_PARTS),
        )
        for kind in KINDS
    },
    **{
        f"meetings of {kind}": Reader(
            partial(_meetings, kind),
            partial(_answers, kind),
            (*_MEETINGS, *_HTML, *_JSON),
        )
        for kind in CIVIC_KINDS
    },
    "page": Reader(_page, _pages, _HTML),
    "fragment": Reader(_fragment, _pages, _HTML),
    "strip_markdown": Reader(lambda data: strip_markdown(_text(data)), _texts, _MARKS),
    "embedding_text": Reader(_embedding_text, _texts, _MARKS),
    "enrich": Reader(_enrich, _texts, _MARKS),
    "canonical_url": Reader(_url, lambda: (url.encode() for url in _URLS), _PARTS),
    "robots": Reader(
        _robots,
        lambda: iter((_ROBOTS,)),
        (b"User-agent:", b"Disallow: ", b"*", b"$", b"Crawl-delay: "),
    ),
    "desk": Reader(
        _desk,
        _desks,
        (
            b"? ",
            b"- ",
            b": ",
            b"&a ",
            b"*a",
            b"<<: ",
            b"!!binary ",
            b"{",
            b"[",
            b"|\n",
            b"1e9",
        ),
    ),
    "opml": Reader(
        lambda data: parse_opml(_text(data)),
        lambda: iter((test_site_lists.READER.encode(),)),
        _XML,
    ),
}
