"""Connections that wait, and clients that hold many of them: others are answered all
the same.
"""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from news_assets.web.connections import Connections, bounded_protocol, client_of
from news_assets_tests.support.waiting import HANG_S


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
