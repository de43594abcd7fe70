"""httpx transport that connects to permitted addresses only and enforces a deadline.

Permitted are public addresses, and those that the settings allow. Hosts are resolved
here and the connection is made to the checked address, so a second resolution cannot
return another one (DNS rebinding); redirects pass the same check. httpx has no hook for
this, httpcore has.
"""

import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import httpcore
import httpx

# --- permitted addresses and ports ----------------------------------------------------


# RFC 6052: the last four bytes are the IPv4 address
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# RFC 6761, 6762, 8375; ICANN 2024
_LOCAL_NAMES = re.compile(r"(?:.*\.)?(?:localhost|local|internal|home\.arpa)")
# RFC 4291: all that IANA assigns to hosts
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")

# Blocks that `is_global` accepts on some or all versions of Python.
_ALSO_REFUSED_V4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            # Azure's metadata and DNS, a public address that is reachable only from
            # inside
            "168.63.129.16/32",
            "192.0.0.0/24",  # RFC 6890; Oracle's metadata is 192.0.0.192
            "192.88.99.0/24",  # RFC 7526: former 6to4 relays
        ),
    )
)
_ALSO_REFUSED_V6 = (ipaddress.IPv6Network("3fff::/20"),)  # RFC 9637: documentation

# "Bad ports" of WHATWG Fetch, https://fetch.spec.whatwg.org/#port-blocking: browsers
# refuse them too.
_OF_BROWSERS = """
    1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95
    101 102 103 104 109 110 111 113 115 117 119 123 135 137 139 143 161 179
    389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995
    1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080
"""
# Servers that obey or store what a request of plain text contains, or answer it with
# data; IANA's service names.
_OF_SERVERS = {
    445: "SMB",
    873: "rsync",
    1433: "SQL Server",
    1521: "Oracle",
    2181: "ZooKeeper",
    2375: "Docker",
    2376: "Docker",
    2379: "etcd",
    2380: "etcd",
    3306: "MySQL",
    3389: "RDP",
    4369: "epmd",
    5432: "PostgreSQL",
    5672: "AMQP",
    5900: "VNC",
    5984: "CouchDB",
    6379: "Redis",
    6443: "Kubernetes",
    8086: "InfluxDB",
    8108: "Typesense",
    9042: "Cassandra",
    9092: "Kafka",
    9200: "Elasticsearch",
    9300: "Elasticsearch",
    10250: "Kubernetes",
    11211: "memcached",
    25672: "RabbitMQ",
    27017: "MongoDB",
}
BAD_PORTS = frozenset(map(int, _OF_BROWSERS.split())) | frozenset(_OF_SERVERS)


class AddressPolicy:
    """Allows public addresses, and those that `allowed` names as hosts or CIDR blocks."""

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._hosts: set[str] = set()
        self._blocks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
        for text in allowed:
            try:
                self._blocks.append(
                    ipaddress.ip_network(text.strip("[]"), strict=False)
                )
            except ValueError:
                self._hosts.add(_normalised(text))

    def is_allowed(self, host: str, address: str) -> bool:
        """Return whether `address`, which `host` resolved to, may be connected to."""
        ip = _embedded(ipaddress.ip_address(address))
        if is_public(ip):
            return True
        if _normalised(host) in self._hosts:
            return True
        return any(ip in block for block in self._blocks)

    def is_allowed_unresolved(self, host: str) -> bool:
        """Return whether a host may be requested through a proxy, which resolves it.

        Private addresses and names of local networks may not; what a public name
        resolves to, the proxy checks.
        """
        literal = _literal_of(host)
        if literal is not None:
            return self.is_allowed(host, literal)
        name = _normalised(host)
        if name in self._hosts:
            return True
        if "." not in name:
            return False
        return _LOCAL_NAMES.fullmatch(name) is None


def _literal_of(host: str) -> str | None:
    """Return the address that a host is written as, also as `127.1` or `2130706433`;
    None for a name.
    """
    try:
        found = socket.getaddrinfo(host, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    _, _, _, _, address = found[0]
    return str(address[0])


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address is on the public internet.

    False for private, loopback, link-local, shared, multicast, reserved, documentation
    and cloud metadata addresses, also if wrapped in IPv6 (mapped, NAT64, 6to4; Teredo
    is refused as a whole).
    """
    ip = _embedded(address)
    if not ip.is_global or ip.is_multicast or ip.is_reserved:
        return False
    if isinstance(ip, IPv4Address):
        return not any(ip in block for block in _ALSO_REFUSED_V4)
    if ip not in _GLOBAL_UNICAST:
        return False
    return not any(ip in block for block in _ALSO_REFUSED_V6)


def _embedded(ip: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address that an IPv6 address wraps, else the address itself."""
    if isinstance(ip, IPv4Address):
        return ip
    if ip in _NAT64:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip


def _normalised(host: str) -> str:
    return host.strip("[]").rstrip(".").lower()


# --- transport ------------------------------------------------------------------------


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
# Origins with open connections. Each has its own pool, because httpcore compares every
# pair of a pool's connections for each request: 2,000 hosts in one pool that keeps 100
# took 14 ms of CPU a request, in separate pools 2.6.
_MAX_POOLS = 100
_KEEP_ALIVE_S = 4.0  # Apache closes after 5, and a request on a closed connection fails


class UnknownHostError(httpcore.ConnectError):
    """The host has no address."""


class ForbiddenHostError(httpcore.ConnectError):
    """No address of the host is permitted."""


class DeadlineError(httpcore.ReadTimeout):
    """The deadline of the whole request has passed."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Limit the network time of this thread inside the block, in total."""
    token = _DEADLINE.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def _remaining_s(timeout: float | None) -> float | None:
    """Return the time limit of one step: until the deadline, at most `timeout`. Raises
    DeadlineError.
    """
    at = _DEADLINE.get()
    if at is None:
        return timeout
    remaining_s = at - time.monotonic()
    if remaining_s <= 0:
        raise DeadlineError("out of time")
    if timeout is None:
        return remaining_s
    return min(remaining_s, timeout)


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy that resolves the host and connects to it; `authorization` is its
    Proxy-Authorization header.
    """

    url: str
    authorization: str | None = None


class GuardedTransport(httpx.BaseTransport):
    """httpx transport over one httpcore connection pool per origin and proxy.

    A request's extension `proxy` is its Proxy. The proxy's own address is checked like
    any other; of the host behind it only addresses and local names are refused.
    """

    def __init__(self, policy: AddressPolicy, ssl_context: ssl.SSLContext) -> None:
        self._ssl_context = ssl_context
        self._policy = policy
        self._backend = _GuardedBackend(policy)
        # least recently used first
        self._pools: dict[tuple[str, Proxy | None], httpcore.ConnectionPool] = {}
        self._lock = threading.Lock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; the response's body is streamed.

        Raises:
            ForbiddenHostError: The host is not public.
            UnknownHostError: The host has no address.
            DeadlineError: The time of `deadline` is over.
            httpx.HTTPError: The connection failed.
        """
        url = request.url
        proxy: Proxy | None = request.extensions.get("proxy")
        with _as_httpx():
            if proxy is not None and not self._policy.is_allowed_unresolved(url.host):
                raise ForbiddenHostError(
                    f"{url.host}, requested through a proxy, is not a public address"
                )
            core_request = _core_request(request)
            pool = self._pool_of(str(core_request.url.origin), proxy)
            core_response = pool.handle_request(core_request)
        return httpx.Response(
            core_response.status,
            headers=core_response.headers,
            stream=_Body(core_response),
            extensions=dict(core_response.extensions),
        )

    def close(self) -> None:
        """Close every connection."""
        with self._lock:
            for pool in self._pools.values():
                pool.close()
            self._pools.clear()

    def _pool_of(self, origin: str, proxy: Proxy | None) -> httpcore.ConnectionPool:
        """Return the origin's pool; close idle, least recently used ones beyond
        _MAX_POOLS.
        """
        key = origin, proxy
        with self._lock:
            pool = self._pools.pop(key, None) or self._new_pool(proxy)
            self._pools[key] = pool
            surplus = max(0, len(self._pools) - _MAX_POOLS)
            for other in list(self._pools)[:surplus]:
                connections = self._pools[other].connections
                if all(connection.is_idle() for connection in connections):
                    self._pools.pop(other).close()
        return pool

    def _new_pool(self, proxy: Proxy | None) -> httpcore.ConnectionPool:
        options: dict[str, Any] = {
            "ssl_context": self._ssl_context,
            "max_connections": None,
            "max_keepalive_connections": 4,
            "keepalive_expiry": _KEEP_ALIVE_S,
            "http2": True,
            "network_backend": self._backend,
        }
        if proxy is None:
            return httpcore.ConnectionPool(**options)
        if proxy.authorization:
            options["proxy_headers"] = {"Proxy-Authorization": proxy.authorization}
        if proxy.url.startswith("https:"):
            options["proxy_ssl_context"] = self._ssl_context
        return httpcore.HTTPProxy(proxy.url, **options)


def _core_request(request: httpx.Request) -> httpcore.Request:
    assert isinstance(request.stream, httpx.SyncByteStream)
    url = request.url
    return httpcore.Request(
        method=request.method,
        url=httpcore.URL(
            scheme=url.raw_scheme,
            host=url.raw_host,
            port=url.port,
            target=url.raw_path,
        ),
        headers=request.headers.raw,
        content=request.stream,
        extensions=request.extensions,
    )


class _Body(httpx.SyncByteStream):
    def __init__(self, response: httpcore.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        with _as_httpx():
            yield from self._response.iter_stream()

    def close(self) -> None:
        with _as_httpx():
            self._response.close()


@contextmanager
def _as_httpx() -> Iterator[None]:
    try:
        yield
    except tuple(_HTTPX_CLASSES) as error:
        nearest = next(cls for cls in type(error).__mro__ if cls in _HTTPX_CLASSES)
        raise _HTTPX_CLASSES[nearest](str(error)) from error


class _GuardedBackend(httpcore.NetworkBackend):
    """Connects to the first permitted address of a host that accepts."""

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
        failure: Exception | None = None
        for address in self._permitted(host, port):
            try:
                stream = self._plain.connect_tcp(
                    address, port, _remaining_s(timeout), local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return _TimedStream(stream)
        assert failure is not None
        raise failure

    def _permitted(self, host: str, port: int) -> list[str]:
        addresses = _resolve(host, port)
        permitted = []
        for address in addresses:
            if self._policy.is_allowed(host, address):
                permitted.append(address)
        if not permitted:
            raise ForbiddenHostError(f"{host} is {addresses[0]}, not a public address")
        return permitted


def _resolve(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        # UnicodeError: a label has more than 63 characters.
        raise UnknownHostError(f"no address for {host}") from error
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class _TimedStream(httpcore.NetworkStream):
    """A connection whose reads and writes end at the thread's deadline, also if the
    server sends slowly.
    """

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            return self._stream.read(max_bytes, _remaining_s(timeout))
        except httpcore.ReadTimeout:
            # raises DeadlineError if the deadline cut the read short
            _remaining_s(timeout)
            raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        limit_s = _remaining_s(timeout)
        self._stream.write(buffer, limit_s)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        return _TimedStream(
            self._stream.start_tls(ssl_context, server_hostname, _remaining_s(timeout))
        )

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
