"""The way to the network: an httpx transport that connects to permitted addresses only and keeps to a deadline.

Hosts are resolved here and the addresses checked before a socket is opened, so no second resolution can answer
otherwise (DNS rebinding), and redirects pass the same check. httpx offers no such seam itself, httpcore does. What a
URL's answer means belongs to `http.py`.
"""

import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpcore
import httpx

from news_assets.clients.web.addresses import AddressPolicy

_DEADLINE: ContextVar[float | None] = ContextVar("deadline", default=None)

_HTTPX_CLASSES: dict[type[Exception], type[httpx.TransportError]] = {
    httpcore.ConnectError: httpx.ConnectError,
    httpcore.ConnectTimeout: httpx.ConnectTimeout,
    httpcore.ConnectionNotAvailable: httpx.TransportError,
    httpcore.LocalProtocolError: httpx.LocalProtocolError,
    httpcore.NetworkError: httpx.NetworkError,
    httpcore.PoolTimeout: httpx.PoolTimeout,
    httpcore.ProtocolError: httpx.ProtocolError,
    httpcore.ProxyError: httpx.ProxyError,
    httpcore.ReadError: httpx.ReadError,
    httpcore.ReadTimeout: httpx.ReadTimeout,
    httpcore.RemoteProtocolError: httpx.RemoteProtocolError,
    httpcore.TimeoutException: httpx.TimeoutException,
    httpcore.UnsupportedProtocol: httpx.UnsupportedProtocol,
    httpcore.WriteError: httpx.WriteError,
    httpcore.WriteTimeout: httpx.WriteTimeout,
}
# Hosts with a connection kept. Each has a pool of its own, because httpcore looks at every pair of a pool's connections
# for each request: 2,000 hosts in one pool that keeps 100 took 14 ms of CPU a request, in pools of their own 2.6.
_KEPT_HOSTS = 100
_KEEP_ALIVE_S = 4.0  # Apache closes after 5: a connection is better given up than found closed


class UnknownHostError(httpcore.ConnectError):
    """The host has no address."""


class ForbiddenHostError(httpcore.ConnectError):
    """No address of the host may be asked."""


class DeadlineError(httpcore.ReadTimeout):
    """The time for the whole request is over."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Limit all that this thread reads and writes inside the block to so many seconds in total."""
    token = _DEADLINE.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def _time_left(timeout: float | None) -> float | None:
    at = _DEADLINE.get()
    if at is None:
        return timeout
    left = at - time.monotonic()
    if left <= 0:
        raise DeadlineError("out of time")
    return left if timeout is None else min(left, timeout)


class GuardedTransport(httpx.BaseTransport):
    """httpx's transport over connection pools, one a host, whose connections lead to permitted addresses only."""

    def __init__(self, policy: AddressPolicy, ssl_context: ssl.SSLContext) -> None:
        self._ssl_context = ssl_context
        self._backend = _GuardedBackend(policy)
        self._pools: dict[str, httpcore.ConnectionPool] = {}  # by origin; the one used last is the last
        self._lock = threading.Lock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; the answer's body is still to be read."""
        url = request.url
        assert isinstance(request.stream, httpx.SyncByteStream)
        with _as_httpx():
            asked = httpcore.Request(
                method=request.method,
                url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
            answer = self._pool_of(str(asked.url.origin)).handle_request(asked)
        return httpx.Response(
            answer.status, headers=answer.headers, stream=_Body(answer), extensions=dict(answer.extensions)
        )

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            for pool in self._pools.values():
                pool.close()
            self._pools.clear()

    def _pool_of(self, origin: str) -> httpcore.ConnectionPool:
        """Return the host's pool; those that were used longest ago are closed where there are too many."""
        with self._lock:
            pool = self._pools.pop(origin, None) or self._new_pool()
            self._pools[origin] = pool
            for other in list(self._pools)[: max(0, len(self._pools) - _KEPT_HOSTS)]:
                if all(connection.is_idle() for connection in self._pools[other].connections):
                    self._pools.pop(other).close()
        return pool

    def _new_pool(self) -> httpcore.ConnectionPool:
        return httpcore.ConnectionPool(
            ssl_context=self._ssl_context,
            max_connections=None,
            max_keepalive_connections=4,
            keepalive_expiry=_KEEP_ALIVE_S,
            http2=True,
            network_backend=self._backend,
        )


class _Body(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        with _as_httpx():
            yield from self._answer.iter_stream()

    def close(self) -> None:
        with _as_httpx():
            self._answer.close()


@contextmanager
def _as_httpx() -> Iterator[None]:
    try:
        yield
    except tuple(_HTTPX_CLASSES) as error:
        nearest = next(cls for cls in type(error).__mro__ if cls in _HTTPX_CLASSES)
        raise _HTTPX_CLASSES[nearest](str(error)) from error


class _GuardedBackend(httpcore.NetworkBackend):
    """Resolves, checks, connects; the first permitted address that answers is taken."""

    def __init__(self, policy: AddressPolicy) -> None:
        self._policy = policy
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        refusal: Exception | None = None
        for address in self._permitted(host, port):
            try:
                stream = self._plain.connect_tcp(address, port, _time_left(timeout), local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                refusal = error
            else:
                return _TimedStream(stream)
        assert refusal is not None
        raise refusal

    def _permitted(self, host: str, port: int) -> list[str]:
        addresses = _resolve(host, port)
        permitted = [address for address in addresses if self._policy.is_allowed(host, address)]
        if not permitted:
            raise ForbiddenHostError(f"{host} is {addresses[0]}, not a public address")
        return permitted


def _resolve(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:  # UnicodeError: a label of more than 63 characters
        raise UnknownHostError(f"no address for {host}") from error
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class _TimedStream(httpcore.NetworkStream):
    """A connection whose reads and writes end at the thread's deadline, however slowly the other side drips."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            return self._stream.read(max_bytes, _time_left(timeout))
        except httpcore.ReadTimeout:
            _time_left(timeout)  # raises where it was the deadline that cut the read short
            raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _time_left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _TimedStream(self._stream.start_tls(ssl_context, server_hostname, _time_left(timeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
