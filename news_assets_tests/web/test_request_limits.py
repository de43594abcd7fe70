"""Limits: too many requests, answers that take too long, other sites that may read."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.errors import EmbedError
from news_assets.ports.search_index import Embedder, SearchAnswer, SearchQuery
from news_assets.search import Index
from news_assets.store.lake import Lake
from news_assets.web import archive as archive_module
from news_assets.web import request_limits
from news_assets.web.archive import Archive
from news_assets.web.request_limits import Connections, bounded_protocol, client_of
from news_assets_tests.support.lakes import copy_lake
from news_assets_tests.support.small_desk import DESK, Newsroom, entry
from news_assets_tests.support.waiting import HANG_S
from news_assets_tests.web.conftest import served

Serve = Callable[..., AbstractContextManager[httpx.Client]]


class _SlowIndex(SqliteSearchIndex):
    """An index whose searches for `slow` wait until they may go on."""

    gate = threading.Event()

    def search(self, query: SearchQuery) -> SearchAnswer:
        if query.text == "slow":
            self.gate.wait(HANG_S)
        return super().search(query)


@pytest.fixture(scope="module")
def small_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a closed lake and index with one article."""
    folder = tmp_path_factory.mktemp("small")
    with (
        Lake.open(folder / "catalog.sqlite", folder / "data") as lake,
        SqliteSearchIndex.open(folder / "search.sqlite") as index,
    ):
        room = Newsroom(lake, index)
        room.list(entry(1))
        room.run()
    return folder


@pytest.fixture
def serve(small_home: Path, tmp_path: Path) -> Iterator[Serve]:
    """A function that serves a small lake with these arguments of `build_app`."""
    copy_lake(small_home, tmp_path)
    with (
        Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake,
        _SlowIndex.open(tmp_path / "search.sqlite") as index,
    ):
        room = Newsroom(lake, index)

        @contextmanager
        def start(
            before_model: Callable[[], object] = lambda: None,
            loads: bool = False,
            **options: Any,
        ) -> Iterator[httpx.Client]:
            def model() -> Embedder:
                before_model()
                return room.embedder

            archive = Archive(Index(index, model, index.close), lake, [DESK], {})
            if loads:
                archive.load_model()
            with (
                served(archive, **options) as address,
                httpx.Client(base_url=address, timeout=HANG_S) as client,
            ):
                client.room = room  # type: ignore[attr-defined]
                yield client

        yield start


def test_a_client_that_asks_too_often_is_told_when_to_come_again(serve: Serve) -> None:
    with serve(requests_per_minute=60) as client:
        statuses = [client.get("/api/v1/agencies").status_code for _ in range(14)]
        assert (statuses[:11], 429 in statuses[11:]) == ([200] * 11, True)
        refused = client.get("/api/v1/agencies")
        assert (refused.status_code, refused.headers["content-type"]) == (
            429,
            "application/problem+json",
        )
        assert 1 <= int(refused.headers["retry-after"]) <= 2
        assert client.get("/health/live").status_code == 200


def test_an_answer_that_takes_too_long_is_given_up_and_the_others_go_on(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    # far above the other, also on a busy machine
    monkeypatch.setattr(request_limits, "MAX_SECONDS", 1.5)
    monkeypatch.setattr(archive_module, "MAX_SECONDS", 0.2)
    with serve() as client:
        late = client.get("/search.json?q=slow&mode=keyword")
        assert (late.status_code, late.headers["retry-after"]) == (503, "10")
        assert "ask for less, or again later" in late.json()["detail"]
        waiting = client.get("/search.json?q=bus&mode=keyword")
        assert (waiting.status_code, "try again" in waiting.json()["detail"]) == (
            503,
            True,
        )
        assert client.get("/api/v1/articles").status_code == 200
        _SlowIndex.gate.set()
        for _ in range(50):
            if client.get("/search.json?q=bus&mode=keyword").status_code == 200:
                break
        else:
            pytest.fail("the index is not free again")


def test_searches_by_words_go_on_while_the_model_is_loaded(serve: Serve) -> None:
    is_begun, is_loaded = threading.Event(), threading.Event()

    def load() -> None:
        is_begun.set()
        is_loaded.wait(HANG_S)

    with serve(before_model=load) as client, ThreadPoolExecutor(1) as pool:
        by_meaning = pool.submit(client.get, "/search.json?q=bus")
        is_begun.wait(HANG_S)
        by_words = client.get("/search.json?q=bus&mode=keyword")
        is_loaded.set()
        statuses = by_words.status_code, by_meaning.result(HANG_S).status_code
        assert statuses == (200, 200)


def test_long_answers_of_one_client_leave_threads_for_the_others(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_module, "MAX_SECONDS", HANG_S)
    monkeypatch.setattr(_SlowIndex, "gate", threading.Event())
    with serve() as client, ThreadPoolExecutor(16) as pool:
        path = "/search.json?q=slow&mode=keyword"
        long = [pool.submit(client.get, path) for _ in range(16)]
        other = httpx.HTTPTransport(local_address="127.0.0.2")
        with httpx.Client(base_url=client.base_url, transport=other) as other_client:
            statuses = [
                other_client.get(f"/api/v1/articles?limit={n}", timeout=HANG_S)
                for n in range(1, 9)
            ]
        _SlowIndex.gate.set()
        wait(long)
    assert {answer.status_code for answer in statuses} == {200}


def test_while_the_model_is_loaded_searches_are_by_words_and_say_so(
    serve: Serve,
) -> None:
    is_loaded = threading.Event()
    said = "These articles were found by words."
    with serve(lambda: is_loaded.wait(HANG_S), loads=True) as client:
        for mode in ("hybrid", "vector"):
            answer = client.get(f"/api/v1/search?q=bus&mode={mode}")
            assert (answer.status_code, answer.json()["mode"]) == (200, "keyword")
            assert [one["article_id"] for one in answer.json()["items"]] == ["a-1"]
        page = client.get("/search?q=bus", headers={"Accept": "text/html"})
        assert (page.status_code, said in page.text) == (200, True)
        is_loaded.set()
        for _ in range(500):
            answer = client.get("/api/v1/search?q=bus")
            if answer.json()["mode"] == "hybrid":
                break
            time.sleep(0.01)
        else:
            pytest.fail("the model is not used")
        page = client.get("/search?q=bus", headers={"Accept": "text/html"})
        assert said not in page.text


def test_without_a_model_searches_are_by_words(serve: Serve) -> None:
    def refuse() -> None:
        raise EmbedError("no such model")

    with serve(refuse, loads=True) as client:
        answer = client.get("/api/v1/search?q=bus")
        assert (answer.status_code, answer.json()["mode"]) == (200, "keyword")


def test_only_the_named_sites_may_read(serve: Serve) -> None:
    with serve(origins=["https://pages.example.org"]) as client:
        allowed = [
            client.get("/api/v1/agencies", headers={"Origin": origin}).headers.get(
                "access-control-allow-origin"
            )
            for origin in ("https://pages.example.org", "https://other.example.org")
        ]
    assert allowed == ["https://pages.example.org", None]


def test_what_is_stored_is_shown_at_once_and_changes_the_etag(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_module, "_COMMIT_SECONDS", 0.0)
    with serve() as client:
        before = client.get("/api/v1/articles")
        room: Newsroom = client.room  # type: ignore[attr-defined]
        room.list(entry(2))
        room.run()
        after = client.get(
            "/api/v1/articles", headers={"If-None-Match": before.headers["etag"]}
        )
    assert [len(answer.json()["items"]) for answer in (before, after)] == [1, 2]
    assert before.headers["etag"] != after.headers["etag"]


class Transport(asyncio.Transport):
    """A connection that knows whether it was closed, and how much is not sent."""

    is_aborted = False

    def __init__(self, unsent: int = 0) -> None:
        super().__init__()
        self.unsent = unsent

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def abort(self) -> None:
        self.is_aborted = True


def opened(connections: Connections, client: str, number: int) -> list[Transport]:
    made = [Transport() for _ in range(number)]
    assert all(connections.opened(client, one) for one in made)
    return made


def test_a_client_s_connection_beyond_its_limit_takes_the_place_of_its_longest_waiting_one() -> (
    None
):
    connections = Connections(of_client=3)
    others, held = opened(connections, "other", 2), opened(connections, "one", 3)

    assert connections.opened("one", Transport())

    assert [one.is_aborted for one in held] == [True, False, False]
    assert not any(one.is_aborted for one in others)


def test_connections_that_are_answered_are_not_closed_for_new_ones() -> None:
    connections = Connections(of_client=2)
    held = opened(connections, "one", 2)
    for one in held:
        connections.is_answered(one)
    assert not connections.opened("one", Transport())

    connections.waits("one", held[1])
    assert connections.opened("one", Transport())
    assert [one.is_aborted for one in held] == [False, True]


def test_all_connections_have_a_limit_too_and_closed_ones_do_not_count() -> None:
    connections = Connections(of_client=0, in_all=3)
    first = [opened(connections, client, 1)[0] for client in "abc"]
    connections.closed("a", first[0])
    opened(connections, "d", 2)
    assert [one.is_aborted for one in first] == [False, True, False]


_LONG = "x" * 8_000_000  # more than the buffers of both sockets
_GET = b"GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


def test_of_too_many_unread_answers_the_client_with_most_of_them_loses_its_oldest() -> (
    None
):
    connections = Connections(unsent_bytes=10)
    good, slow, more = Transport(4), Transport(4), Transport(4)
    connections.is_unread("good", good)
    connections.is_unread("bad", slow)
    connections.is_unread("bad", more)
    assert [one.is_aborted for one in (good, slow, more)] == [False, True, False]

    connections.is_read(good)
    connections.is_unread("good", Transport(6))
    assert not more.is_aborted


class Served:
    """A server in a thread, with one short and one long answer, and one that waits
    until `is_made`.
    """

    def __init__(self, connections: Connections, listening: socket.socket) -> None:
        self.port = listening.getsockname()[1]
        self.is_made = threading.Event()
        routes = [
            Route("/", self._short, methods=["GET", "POST"]),
            Route("/long", lambda request: PlainTextResponse(_LONG)),
            Route("/slow", self._slow),
            Route("/parts", lambda request: StreamingResponse(self._parts())),
        ]
        config = uvicorn.Config(
            Starlette(routes=routes),
            http=bounded_protocol(connections),
            ws="none",
            log_level="critical",
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(
            target=self.server.run, args=([listening],), daemon=True
        )
        self.thread.start()

    async def _short(self, request: Request) -> Response:
        await request.body()
        return PlainTextResponse("here")

    def _slow(self, request: Request) -> Response:
        self.is_made.wait(HANG_S)
        return PlainTextResponse("slow")

    def _parts(self) -> Iterator[str]:
        yield "begin"
        self.is_made.wait(HANG_S)
        yield "end"

    def connected(self, sent: bytes = b"") -> socket.socket:
        held = socket.create_connection(("127.0.0.1", self.port), timeout=HANG_S)
        held.sendall(sent)
        return held

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(HANG_S)


@contextmanager
def serving(connections: Connections) -> Iterator[Served]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        served = Served(connections, listening)
        try:
            yield served
        finally:
            served.is_made.set()
            served.stop()


def _read(held: socket.socket) -> bytes:
    """Return all that comes until the connection is closed."""
    parts = list[bytes]()
    while part := held.recv(1 << 16):
        parts.append(part)
    return b"".join(parts)


_UNFINISHED = {
    "half a head": b"GET / HTTP/1.1\r\nHost: x\r\nX-Half: ",
    "half a body": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf",
}


@pytest.mark.parametrize(
    "sent", [b"", *_UNFINISHED.values()], ids=["nothing", *_UNFINISHED]
)
def test_a_connection_without_a_whole_request_is_closed(sent: bytes) -> None:
    with (
        serving(Connections(request_s=0.2)) as served,
        closing(served.connected(sent)) as held,
        suppress(ConnectionResetError),
    ):
        assert b"here" not in held.recv(1000)


def test_a_client_that_reads_a_long_answer_slowly_gets_all_of_it() -> None:
    with (
        serving(Connections(request_s=0.1)) as served,
        closing(served.connected(_GET % b"/long")) as held,
    ):
        time.sleep(0.3)
        assert _read(held).endswith(_LONG.encode())


def test_an_answer_that_is_made_for_longer_is_sent_to_a_client_that_reads_it() -> None:
    with (
        serving(Connections(answer_s=0.1)) as served,
        closing(served.connected(_GET % b"/parts")) as held,
    ):
        time.sleep(0.3)
        served.is_made.set()
        assert b"end" in _read(held)


@pytest.mark.parametrize(
    "sent", [b"", *_UNFINISHED.values()], ids=["nothing", *_UNFINISHED]
)
def test_a_server_that_ends_does_not_wait_for_clients_without_a_whole_request(
    sent: bytes,
) -> None:
    with (
        serving(Connections(request_s=10 * HANG_S)) as served,
        closing(served.connected(sent)),
    ):
        # so the other has been read
        assert httpx.get(f"http://127.0.0.1:{served.port}/").text == "here"
        served.stop()
        assert not served.thread.is_alive()


def test_a_server_that_ends_sends_the_answers_that_are_being_made() -> None:
    with (
        serving(Connections()) as served,
        closing(served.connected(_GET % b"/slow")) as held,
    ):
        while not served.server.server_state.tasks:
            time.sleep(0.01)
        served.server.should_exit = True
        served.is_made.set()
        assert _read(held).endswith(b"slow")


def test_a_client_is_answered_while_others_hold_many_idle_connections() -> None:
    with serving(Connections(of_client=5)) as served:
        held = [served.connected() for _ in range(60)]
        with httpx.Client(
            base_url=f"http://127.0.0.1:{served.port}", timeout=HANG_S
        ) as client:
            assert [
                client.get("/").text,
                client.post("/", content=b"x" * 9_000).text,
            ] == ["here", "here"]
        for one in held:
            one.close()


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
    ],
)
def test_all_addresses_that_one_client_has_count_as_one(
    address: str, client: str
) -> None:
    assert client_of(address) == client
