"""An HTTP proxy on loopback that resolves names by a table of its own: forwards
requests, and tunnels CONNECT.
"""

import http.client
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from news_assets_tests.support.waiting import HANG_S

PROXY_HOST = "127.0.0.9"  # an address of its own, to be allowed or not


class ForwardProxy(ThreadingHTTPServer):
    """A running proxy. `seen` has method, target and headers of each request; `login`
    is required if given.
    """

    daemon_threads = True

    def __init__(self, hosts: Mapping[str, tuple[str, int]], login: str | None) -> None:
        super().__init__((PROXY_HOST, 0), _Handler)
        self.hosts, self.login = hosts, login
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self.url = f"http://{PROXY_HOST}:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: ForwardProxy

    def do_GET(self) -> None:
        target = urlsplit(self.path)
        address = self._address(target.hostname)
        if address is None:
            return
        with closing(http.client.HTTPConnection(*address, timeout=HANG_S)) as upstream:
            upstream.request("GET", target.path or "/", headers=dict(self.headers))
            response = upstream.getresponse()
            body = response.read()
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in (
                "content-length",
                "transfer-encoding",
                "connection",
            ):
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_CONNECT(self) -> None:
        address = self._address(self.path.rpartition(":")[0])
        if address is None:
            return
        with socket.create_connection(address, timeout=HANG_S) as upstream:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(
                target=_copy, args=(upstream, self.connection), daemon=True
            )
            back.start()
            _copy(self.connection, upstream)
            back.join(HANG_S)

    def _address(self, host: str | None) -> tuple[str, int] | None:
        """Note the request; return where to connect, or answer with an error."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append((self.command, self.path, headers))
        if (
            self.server.login is not None
            and headers.get("proxy-authorization") != self.server.login
        ):
            self.send_error(407)
        elif host is None or host not in self.server.hosts:
            self.send_error(502)
        else:
            return self.server.hosts[host]
        return None

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def forward_proxy(
    hosts: Mapping[str, tuple[str, int]], login: str | None = None
) -> Iterator[ForwardProxy]:
    """Run a proxy that reaches these hosts, each at an address of its own."""
    with ForwardProxy(hosts, login) as proxy:
        threading.Thread(target=proxy.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield proxy
        finally:
            proxy.shutdown()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
