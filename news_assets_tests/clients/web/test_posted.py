"""Requests with a body or for the headers only, and refusals that are kept as pages."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.errors import FetchError
from news_assets.ports.services import PageRequest


class Echo(BaseHTTPRequestHandler):
    """Answers with method, content type and body; `/moved` redirects, `/403` and `/503`
    refuse.
    """

    def do_GET(self) -> None:
        self._answer(f"GET {self.headers.get('Content-Type')} ")

    def do_HEAD(self) -> None:
        self._answer("12345")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self._answer(f"POST {self.headers.get('Content-Type')} {body}")

    def _answer(self, said: str) -> None:
        status = {"/moved": 302, "/403": 403, "/503": 503, "/robots.txt": 404}.get(
            self.path, 200
        )
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/there")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(said.encode())

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def base() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def fetcher(tmp_path: Path) -> Iterator[HttpFetcher]:
    with HttpFetcher(
        user_agent="t",
        delay_s=0,
        state_dir=tmp_path,
        allow_private_hosts=("127.0.0.1",),
    ) as made:
        yield made


JSON = (("Content-Type", "application/json"),)


def test_the_headers_are_requested_without_the_body(
    fetcher: HttpFetcher, base: str
) -> None:
    page = fetcher.fetch(PageRequest(f"{base}/moved", is_head=True))
    assert (page.final_url, page.status, page.body, page.content_length) == (
        f"{base}/there",
        200,
        b"",
        5,
    )


def test_a_body_is_posted_with_its_headers(fetcher: HttpFetcher, base: str) -> None:
    page = fetcher.fetch(PageRequest(f"{base}/list", body=b'{"from": 1}', headers=JSON))
    assert page.body == b'POST application/json {"from": 1}'


def test_a_redirect_of_a_post_is_followed_by_get(
    fetcher: HttpFetcher, base: str
) -> None:
    page = fetcher.fetch(PageRequest(f"{base}/moved", body=b"{}"))
    assert (page.final_url, page.body) == (f"{base}/there", b"GET None ")


def test_a_refusal_is_a_page_where_it_is_kept_unless_another_attempt_can_help(
    fetcher: HttpFetcher, base: str
) -> None:
    assert fetcher.fetch(PageRequest(f"{base}/403", keeps_refusals=True)).status == 403
    for request in (
        PageRequest(f"{base}/403"),
        PageRequest(f"{base}/503", keeps_refusals=True),
    ):
        with pytest.raises(FetchError):
            fetcher.fetch(request)
