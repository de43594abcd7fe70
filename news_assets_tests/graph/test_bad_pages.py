"""Pages and feeds that cannot be read: each is a row with an outcome and a reason, and
the others are stored.
"""

import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.pipeline.poll.poll import poll_agencies
from news_assets.pipeline.stages import stage_named
from news_assets.records.articles import FeedEntry, Poll, RawArticle, SourceState
from news_assets.records.desks import Agency, Desk, Source
from news_assets.records.reading import AgencyDays
from news_assets.sources.source_kinds import adapter_of
from news_assets.store.lake import Lake
from news_assets_tests.support.inline_sandbox import InlineSandbox
from news_assets_tests.support.pdfs import pdf_of

NOW = datetime(2026, 11, 20, 15, tzinfo=UTC)
STORY = "<p>The city council voted on Tuesday to keep the night buses running for another year, after four hours.</p>"
ARTICLE = f"<html><head><title>Night buses stay</title></head><body><article><h1>Night buses stay</h1>{STORY * 4}"
LOGIN = (
    "<html><head><title>Log in</title></head><body><form action='/login' method='post'><h1>Log in</h1>"
    "<input name='user'><input type='password' name='password'><button>Log in</button></form></body></html>"
)
PAGES: dict[str, tuple[str, bytes]] = {
    "/good.html": ("text/html", ARTICLE.encode()),
    "/empty.html": ("text/html", b""),
    "/huge.html": ("text/html", b"x" * (30 << 20)),
    "/report.pdf": ("application/pdf", b"%PDF-1.7\n" + b"\0" * 2000),
    "/minutes.pdf": (
        "text/html",
        pdf_of("Minutes of the council\nThe night buses stay for another year."),
    ),
    "/login.html": ("text/html", LOGIN.encode()),
    "/image.html": ("image/png", b"\x89PNG\r\n\x1a\n" + b"\0" * 500),
    "/latin.html": (
        "text/html; charset=utf-8",
        ARTICLE.replace("Tuesday", "terça-feira").encode("latin-1"),
    ),
}
EXPECTED = {
    "good.html": "ok",
    "empty.html": "failed",
    "huge.html": "failed",
    "report.pdf": "failed",
    "minutes.pdf": "ok",
    "login.html": "blocked",
    "image.html": "skipped",
    "latin.html": "ok",
    "missing.html": "failed",
}
FEEDS: dict[str, tuple[bytes, str]] = {
    "html": (
        b"<!doctype html><html><body>Welcome to our news page"
        + b" " * 6000
        + b"</body></html>",
        "failed",
    ),
    "empty": (b"", "failed"),
    "truncated": (
        b'<rss version="2.0"><channel><title>t</title><item><title>One</title><link>http://h.example/1</link></item>'
        b"<item><title>Tw",
        "ok",
    ),
    "latin": (
        '<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel><item><title>Eleição</title>'
        "<link>http://h.example/2</link></item></channel></rss>".encode("latin-1"),
        "ok",
    ),
    "undated": (
        b'<rss version="2.0"><channel><item><title>One</title><link>http://h.example/3</link></item></channel></rss>',
        "ok",
    ),
}


@pytest.fixture
def base() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, body = PAGES.get(self.path, ("", b""))
            if self.path.startswith("/feed-"):
                kind, body = (
                    "application/rss+xml",
                    FEEDS[self.path.removeprefix("/feed-")][0],
                )
            if self.path == "/feed.xml":
                links = "".join(
                    f"<item><title>{n}</title><link>{address}/{n}</link></item>"
                    for n in EXPECTED
                )
                kind, body = (
                    "application/rss+xml",
                    f'<rss version="2.0"><channel>{links}</channel></rss>'.encode(),
                )
            self.send_response(200 if kind else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except ConnectionError:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield address
    server.shutdown()
    server.server_close()


@pytest.fixture
def fetcher(tmp_path: Path) -> Iterator[HttpFetcher]:
    with HttpFetcher(
        user_agent="news_assets",
        delay_s=0,
        allow_private_hosts=("127.0.0.0/8",),
        state_dir=tmp_path / "hosts",
        clock=lambda: NOW,
    ) as opened:
        yield opened


def desk_of(*urls: str) -> Desk:
    sources = tuple(
        Source(
            source_id=url,
            desk="d",
            agency="a",
            kind="feed",
            url=url,
            timezone="UTC",
            language="en",
        )
        for url in urls
    )
    agency = Agency(key="a", name="A", timezone="UTC", language="en", sources=sources)
    return Desk(
        key="d",
        timezone="UTC",
        language="en",
        first_day=date(2026, 1, 1),
        agencies=(agency,),
    )


def test_each_bad_page_is_a_row_with_its_outcome(
    base: str, lake: Lake, fetcher: HttpFetcher
) -> None:
    desk = desk_of(f"{base}/feed.xml")
    assert [
        poll.outcome
        for poll in poll_agencies(
            lake, desk, {"a"}, fetcher, InlineSandbox(), adapter_of, lambda: NOW, "t"
        )
    ] == ["ok"]
    keys = AgencyDays("d", frozenset({("a", NOW.date())}))
    ports = {"fetcher": fetcher, "sandbox": InlineSandbox()}
    stage_named("raw_articles").run_batch(lake, desk, keys, lambda: NOW, ports)
    rows = {row.url.rpartition("/")[2]: row for row in lake.read(RawArticle)}
    assert {name: row.outcome for name, row in rows.items()} == EXPECTED
    assert [
        name for name, row in rows.items() if row.outcome != "ok" and not row.reason
    ] == []
    assert "terça-feira" in str(rows["latin.html"].text)
    assert (
        rows["minutes.pdf"].text
        == "Minutes of the council\nThe night buses stay for another year."
    )


def test_a_malformed_feed_yields_its_readable_entries_or_a_reason(
    base: str, lake: Lake, fetcher: HttpFetcher
) -> None:
    desk = desk_of(*(f"{base}/feed-{name}" for name in FEEDS))
    polls: dict[str, Poll] = {
        poll.source_id.rpartition("-")[2]: poll
        for poll in poll_agencies(
            lake, desk, {"a"}, fetcher, InlineSandbox(), adapter_of, lambda: NOW, "t"
        )
    }
    assert {name: poll.outcome for name, poll in polls.items()} == {
        name: FEEDS[name][1] for name in FEEDS
    }
    assert all(poll.reason for poll in polls.values() if poll.outcome != "ok")
    titles = {
        entry.source_id.rpartition("-")[2]: entry.title
        for entry in lake.read(FeedEntry)
    }
    assert titles == {"truncated": "One", "latin": "Eleição", "undated": "One"}
    assert {entry.day for entry in lake.read(FeedEntry)} == {NOW.date()}


def test_a_truncated_feed_is_requested_again_without_validators(
    base: str, lake: Lake, fetcher: HttpFetcher
) -> None:
    desk = desk_of(f"{base}/feed-truncated")
    list(
        poll_agencies(
            lake, desk, {"a"}, fetcher, InlineSandbox(), adapter_of, lambda: NOW, "t"
        )
    )
    (state,) = lake.read(SourceState)
    assert (state.etag, state.last_modified, state.document_hash) == (None, None, None)
