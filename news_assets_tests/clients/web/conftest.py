"""A real HTTP server on loopback with scripted responses, and fetchers that may request
it.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from news_assets.clients.web.fetcher import HttpFetcher
from news_assets.errors import FetchError, without_credentials
from news_assets.ports.services import PageRequest
from news_assets.records.reading import Page
from news_assets_tests.support.waiting import HANG_S

Answer = bytes | Callable[[socket.socket, dict[str, str]], None]
OpenFetcher = Callable[..., HttpFetcher]
OpenSites = Callable[[int], list["Site"]]


def answer(body: bytes = b"", status: int = 200, **headers: str) -> bytes:
    """Return a whole response; `content_type="text/html"` becomes a header."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [
        f"HTTP/1.1 {status} -",
        *(f"{name}: {value}" for name, value in named.items()),
    ]
    if status not in (204, 304) and "transfer-encoding" not in named:
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


class Site:
    """Responds by path; a list of answers is sent one by one, the last one repeatedly."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.answers: dict[str, list[Answer]] = {"/robots.txt": [answer(status=404)]}
        self.every_request: list[tuple[str, float, dict[str, str]]] = []
        self.bytes_sent = 0
        self.most_at_once = self._at_once = 0
        self._lock = threading.Lock()
        self._server = socket.create_server((host, 0))
        self._is_open = True
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        host, port = self._server.getsockname()[:2]
        return f"http://{host}:{port}"

    @property
    def requests(self) -> list[tuple[str, float, dict[str, str]]]:
        """Path, time and headers of each request but those for robots.txt."""
        return [
            request for request in self.every_request if request[0] != "/robots.txt"
        ]

    @property
    def paths(self) -> list[str]:
        return [path for path, *_ in self.requests]

    @property
    def every_path(self) -> list[str]:
        return [path for path, *_ in self.every_request]

    def put(self, path: str, *answers: Answer) -> str:
        self.answers[path] = list(answers)
        return self.url + path

    def close(self) -> None:
        self._is_open = False
        with suppress(OSError):
            socket.create_connection(self._server.getsockname()[:2], timeout=1).close()
        self._threads[0].join()
        self._server.close()

    def _accept(self) -> None:
        while self._is_open:
            with suppress(OSError):
                connection, _ = self._server.accept()
                threading.Thread(
                    target=self._serve, args=(connection,), daemon=True
                ).start()

    def _serve(self, connection: socket.socket) -> None:
        # TLS, spoken to a plain server
        with (
            connection,
            suppress(OSError, ValueError, IndexError),
        ):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection.makefile("rb") as lines:
                while start := lines.readline():
                    path = start.decode().split(" ")[1]
                    headers = {}
                    while (line := lines.readline().decode().strip()) != "":
                        name, _, value = line.partition(": ")
                        headers[name.lower()] = value
                    self._respond(connection, path, headers)

    def _respond(
        self, connection: socket.socket, path: str, headers: dict[str, str]
    ) -> None:
        with self._lock:
            self.every_request.append((path, time.monotonic(), headers))
            scripted = (
                self.answers.get(path) or self.answers.get("*") or [answer(status=404)]
            )
            chosen = scripted.pop(0) if len(scripted) > 1 else scripted[0]
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            if callable(chosen):
                chosen(connection, headers)
            else:
                connection.sendall(chosen)
                self.bytes_sent += len(chosen)
        finally:
            with self._lock:
                self._at_once -= 1


def request(url: str, **changes: object) -> PageRequest:
    return PageRequest(url, **{"obeys_robots": False, **changes})  # type: ignore[arg-type]


def requests(*urls: str, obeys_robots: bool = False) -> list[PageRequest]:
    return [PageRequest(url, key=url, obeys_robots=obeys_robots) for url in urls]


def body_or_reason(result: Page | FetchError) -> object:
    return result.body if isinstance(result, Page) else result.reason


def failure_of(fetcher: HttpFetcher, wanted: PageRequest) -> FetchError:
    with pytest.raises(FetchError) as raised:
        fetcher.fetch(wanted)
    assert raised.value.url == without_credentials(wanted.url)
    return raised.value


def summary_of(error: FetchError) -> tuple[object, ...]:
    return (
        type(error).__name__,
        error.reason,
        error.status,
        error.weight,
        error.is_transient,
    )


def shortest_pause(requests: Sequence[tuple[str, float, dict[str, str]]]) -> float:
    return min(later - earlier for (_, earlier, _), (_, later, _) in pairwise(requests))


@pytest.fixture
def site() -> Iterator[Site]:
    opened = Site()
    yield opened
    opened.close()


@pytest.fixture
def sites() -> Iterator[Callable[[int], list[Site]]]:
    """Sites on addresses of their own: 127.0.1.1, 127.0.1.2, ..."""
    with ExitStack() as stack:

        def open_sites(count: int) -> list[Site]:
            opened = [Site(f"127.0.1.{number + 1}") for number in range(count)]
            for one in opened:
                stack.callback(one.close)
            return opened

        yield open_sites


@pytest.fixture
def open_fetcher(tmp_path: Path) -> Iterator[Callable[..., HttpFetcher]]:
    """Fetchers that share one state folder and may request loopback; no pause by
    default.
    """
    with ExitStack() as stack:

        def open_one(**changes: Any) -> HttpFetcher:
            defaults: dict[str, Any] = {
                "user_agent": "news_assets/0.1 (+https://example.org)",
                "delay_s": 0,
                "state_dir": tmp_path / "hosts",
                "allow_private_hosts": ("127.0.0.0/8",),
                "connect_s": HANG_S,
                "read_s": HANG_S,
                "total_s": HANG_S,
            }
            return stack.enter_context(HttpFetcher(**{**defaults, **changes}))

        yield open_one


@pytest.fixture
def fetcher(open_fetcher: Callable[..., HttpFetcher]) -> HttpFetcher:
    return open_fetcher()
