"""Connections that wait, and clients that hold many of them: others are answered all
the same.
"""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from news_assets.web.connections import Connections, bounded_protocol, client_of
from news_assets_tests.support.waiting import HANG_S


class Transport(asyncio.Transport):
    """A connection that only knows whether it was closed."""

    is_aborted = False

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


@contextmanager
def served(connections: Connections) -> Iterator[int]:
    """Serve one short answer; yield the port."""

    async def answer(request: Request) -> Response:
        await request.body()
        return PlainTextResponse("here")

    app = Starlette(routes=[Route("/", answer, methods=["GET", "POST"])])
    config = uvicorn.Config(
        app, http=bounded_protocol(connections), ws="none", log_level="critical"
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(HANG_S)


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Half: ",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf",
    ],
    ids=["nothing", "half a head", "half a body"],
)
def test_a_connection_without_a_whole_request_is_closed(sent: bytes) -> None:
    with (
        served(Connections(request_s=0.2)) as port,
        closing(socket.create_connection(("127.0.0.1", port))) as held,
    ):
        held.settimeout(20)
        held.sendall(sent)
        with suppress(ConnectionResetError):
            assert b"here" not in held.recv(1000)


def test_a_client_is_answered_while_others_hold_many_idle_connections() -> None:
    with served(Connections(of_client=5)) as port:
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(60)]
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=HANG_S
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
