"""Limits of connections, and of what clients can request: how long a connection may wait,
how many one client and all clients hold, time for an answer, length of an address,
requests at a time and a minute.

uvicorn closes idle connections between two requests only, and counts waiting
connections as requests. hypercorn has a time limit for each read, which a request of
one byte a second never reaches; granian has none. So uvicorn's protocol over h11 is
extended here; h11 bounds the size of a request's head.
"""

import asyncio
import ipaddress
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from functools import lru_cache
from typing import Final
from weakref import WeakValueDictionary

import anyio
from anyio import CapacityLimiter, to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from news_assets.web.archive import MAX_SECONDS
from news_assets.web.forms import problem

# from the opening of a connection, or the answer before, to the end of a request
_REQUEST_S: Final = 10.0
# from there to the end of the answer, also where the client does not read it
_ANSWER_S: Final = 60.0
# by as long again, of an answer that is sent as it is made: whole lists as tables
_MAX_EXTENSIONS: Final = 10
STOP_S: Final = 5  # for which a server that is to end goes on with its answers
_MAX_OF_CLIENT: Final = 20
_MAX_CONNECTIONS: Final = 500
_MAX_UNSENT_BYTES: Final = 50_000_000  # of answers that are not read yet; one has 20 MB


@lru_cache(10_000)
def client_of(address: str) -> str:
    """Return whom an address counts for: of IPv6 its network of 64 bits, all of which
    one client holds (RFC 6177).
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    return str(found.ipv4_mapped or ipaddress.IPv6Network((found, 64), strict=False))


class Connections:
    """The open connections by client, each with those that wait for a request, the
    longest waiting first.

    A new connection beyond a limit takes the place of the one that has waited longest,
    so that a client that holds connections without a request shuts out itself only.
    `of_client` is 0 behind a proxy that limits its clients.
    """

    def __init__(
        self,
        of_client: int = _MAX_OF_CLIENT,
        in_all: int = _MAX_CONNECTIONS,
        request_s: float = _REQUEST_S,
        answer_s: float = _ANSWER_S,
        unsent_bytes: int = _MAX_UNSENT_BYTES,
    ) -> None:
        self._of_client, self._in_all = of_client, in_all
        self._unsent_bytes = unsent_bytes
        self._unread: dict[asyncio.Transport, str] = {}
        self.request_s, self.answer_s = request_s, answer_s
        self._open: dict[str, dict[asyncio.Transport, None]] = defaultdict(dict)
        self._waiting: dict[asyncio.Transport, str] = {}
        self._count = 0

    def opened(self, client: str, transport: asyncio.Transport) -> bool:
        """Count a new connection; return False if it is to be closed, because all the
        others are being answered.
        """
        own = self._open[client]
        if self._of_client and len(own) >= self._of_client:
            return self._replaces(
                next((one for one in own if one in self._waiting), None),
                client,
                transport,
            )
        if self._count >= self._in_all:
            return self._replaces(next(iter(self._waiting), None), client, transport)
        return self._added(client, transport)

    def _replaces(
        self,
        oldest: asyncio.Transport | None,
        client: str,
        transport: asyncio.Transport,
    ) -> bool:
        if oldest is None:
            return False
        oldest.abort()
        self.closed(self._waiting[oldest], oldest)
        return self._added(client, transport)

    def _added(self, client: str, transport: asyncio.Transport) -> bool:
        self._open[client][transport] = None
        self._count += 1
        self.waits(client, transport)
        return True

    def waits(self, client: str, transport: asyncio.Transport) -> None:
        """Note that a connection waits for a request."""
        if transport in self._open.get(client, ()):
            self._waiting[transport] = client

    def is_answered(self, transport: asyncio.Transport) -> None:
        """Note that a connection has sent a whole request."""
        self._waiting.pop(transport, None)

    def is_unread(self, client: str, transport: asyncio.Transport) -> None:
        """Note an answer that its client reads slowly.

        While there is too much of these, the client with most of it loses its oldest
        one.
        """
        self._unread[transport] = client
        while len(self._unread) > 1 and self._unsent(self._unread) > self._unsent_bytes:
            by_client: dict[str, list[asyncio.Transport]] = defaultdict(list)
            for one, of_client in self._unread.items():
                by_client[of_client].append(one)
            oldest = max(by_client.values(), key=self._unsent)[0]
            oldest.abort()
            del self._unread[oldest]

    def is_read(self, transport: asyncio.Transport) -> None:
        """Note that a client has read its answer."""
        self._unread.pop(transport, None)

    @staticmethod
    def _unsent(transports: Iterable[asyncio.Transport]) -> int:
        return sum(one.get_write_buffer_size() for one in transports)

    def closed(self, client: str, transport: asyncio.Transport) -> None:
        """Forget a connection."""
        self._waiting.pop(transport, None)
        self._unread.pop(transport, None)
        own = self._open.get(client, {})
        if transport in own:
            del own[transport]
            self._count -= 1
        if not own:
            self._open.pop(client, None)


class _BoundedProtocol(H11Protocol):
    """A connection that is closed when it takes too long to send a request or to read
    its answer.
    """

    all_connections: Connections
    _deadline: asyncio.TimerHandle | None = None
    _extensions = 0
    _has_read = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, unless there are too many connections."""
        super().connection_made(transport)
        if self.all_connections.opened(self._client, transport):
            self._close_after(self.all_connections.request_s)
        else:
            transport.abort()

    @property
    def _client(self) -> str:
        if self.client:
            return client_of(self.client[0])
        return ""

    def handle_events(self) -> None:
        """Read what has come of requests; where one is complete, its answer has to be
        read in time.
        """
        super().handle_events()
        if (
            self.cycle is not None
            and not self.cycle.more_body
            and not self.cycle.response_complete
        ):
            self.all_connections.is_answered(self.transport)
            self._extensions = 0
            self._has_read = False
            self._close_answer_after(self.all_connections.answer_s)

    def on_response_complete(self) -> None:
        """Wait for the next request, if the whole answer is sent."""
        if not self.flow.write_paused:
            self._wait()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self.all_connections.is_unread(self._client, self.transport)

    def resume_writing(self) -> None:
        """Wait for the next request where the answer was too long to be sent at once."""
        super().resume_writing()
        self._has_read = True
        self.all_connections.is_read(self.transport)
        if self.cycle is not None and self.cycle.response_complete:
            self._wait()

    def _wait(self) -> None:
        self.all_connections.waits(self._client, self.transport)
        self._close_after(self.all_connections.request_s)

    def shutdown(self) -> None:
        """Close the connection at the end of its answer, or at once where there is none
        to send.
        """
        if self._is_answering:
            super().shutdown()
        else:
            self.transport.abort()

    @property
    def _is_answering(self) -> bool:
        if self.cycle is None:
            return False
        if self.cycle.response_complete:
            return self.flow.write_paused
        return not self.cycle.more_body

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self.all_connections.closed(self._client, self.transport)
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)

    def _close_answer_after(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, self._extend_or_close)

    def _extend_or_close(self) -> None:
        """Allow an answer that is still being made more time, if its client has read
        what there is of it, or a part of it since the last look.
        """
        is_whole = self.cycle is None or self.cycle.response_complete
        reads = self._has_read or not self.transport.get_write_buffer_size()
        if is_whole or not reads or self._extensions == _MAX_EXTENSIONS:
            self.transport.abort()
            return
        self._extensions += 1
        self._has_read = False
        self._close_answer_after(self.all_connections.answer_s)

    def _close_after(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(seconds, self.transport.abort)


def bounded_protocol(connections: Connections) -> type[_BoundedProtocol]:
    """Return the class of connections that are counted in these, for uvicorn's option
    `http`.
    """

    class Counted(_BoundedProtocol):
        all_connections = connections

    return Counted


_MAX_URL_CHARS: Final = 4_000
# after a pause, the requests of so many seconds may come at once
_BURST_SECONDS: Final = 10.0
_MAX_CLIENTS: Final = 10_000
# that are answered at a time; further ones are refused with 503
_MAX_REQUESTS: Final = 100
_MAX_THREADS: Final = 12  # anyio allows 40; each keeps memory of its own
_MAX_THREADS_OF_CLIENT: Final = 8  # so that one client's long answers leave some free
LIVE_PATH: Final = "/health/live"  # answered whatever else is to be done


def in_time(
    handler: Callable[[Request], Response],
) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler that runs this one in a thread, and answers with 503 if it takes
    longer than MAX_SECONDS, the wait for a thread included.
    """

    async def answer(request: Request) -> Response:
        to_thread.current_default_thread_limiter().total_tokens = _MAX_THREADS
        try:
            with anyio.fail_after(MAX_SECONDS):
                async with _threads_of(request):
                    return await to_thread.run_sync(
                        handler, request, abandon_on_cancel=True
                    )
        except TimeoutError:
            detail = f"the answer takes more than {MAX_SECONDS:.0f} s; ask for less, or again later"
            raise HTTPException(503, detail, {"Retry-After": "10"}) from None

    return answer


# By client, while it has requests.
_threads: WeakValueDictionary[str, CapacityLimiter] = WeakValueDictionary()


def _threads_of(request: Request) -> CapacityLimiter:
    """Return the threads that the client of a request may hold."""
    client = client_of(request.client.host) if request.client else ""
    limiter = _threads.get(client)
    if limiter is None:
        limiter = _threads[client] = CapacityLimiter(_MAX_THREADS_OF_CLIENT)
    return limiter


class RequestLimits:
    """Refuses addresses that are too long, too many requests at a time, and those of a
    client beyond `per_minute`.

    A client may send as if it had been idle for ten seconds, then at the even rate
    (generic cell rate algorithm).
    """

    def __init__(self, app: ASGIApp, per_minute: int) -> None:
        self._app = app
        self._interval = 60 / per_minute if per_minute else 0.0
        # by client, the time of its last request if it had kept the even rate
        self._next: dict[str, float] = {}
        self._active = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http" or scope["path"] == LIVE_PATH:
            await self._app(scope, receive, send)
            return
        if refusal := self._refusal(scope):
            await refusal(scope, receive, send)
            return
        self._active += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._active -= 1

    def _refusal(self, scope: Scope) -> Response | None:
        if len(scope["path"]) + len(scope["query_string"]) > _MAX_URL_CHARS:
            return problem(
                414, f"the address has more than {_MAX_URL_CHARS} characters"
            )
        if self._active >= _MAX_REQUESTS:
            return problem(
                503,
                f"{_MAX_REQUESTS} requests are being answered; try again",
                {"Retry-After": "5"},
            )
        if not self._interval or scope["path"].startswith("/static/"):
            return None
        client = client_of(scope["client"][0]) if scope["client"] else ""
        if wait := self._wait(client, time.monotonic()):
            detail = (
                f"more than {60 / self._interval:.0f} requests a minute from {client}; wait"
                f" {wait} s"
            )
            return problem(429, detail, {"Retry-After": str(wait)})
        return None

    def _wait(self, client: str, now: float) -> int:
        """Count a request; return 0, or the seconds to wait if it is refused."""
        due = max(self._next.get(client, now), now)
        if due - now > _BURST_SECONDS:
            return int(due - now - _BURST_SECONDS) + 1
        if len(self._next) >= _MAX_CLIENTS:
            self._next = {one: at for one, at in self._next.items() if at > now}
        self._next[client] = due + self._interval
        return 0
