"""The HTTP server, on a free port and in a thread of this process."""

import contextlib
import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from news_assets_tests.typesense_server.collections.store import Store
from news_assets_tests.typesense_server.description import Description
from news_assets_tests.typesense_server.errors import FORBIDDEN, ApiError, NoAnswerError
from news_assets_tests.typesense_server.faults import Faults, Request
from news_assets_tests.typesense_server.keys import Keys, with_sealed
from news_assets_tests.typesense_server.routes import Call, Route, route_of
from news_assets_tests.typesense_server.search.multi_search import searches_of

SILENT_S = 60.0  # longer than any client waits
KEY_HEADER = "x-typesense-api-key"
_JSON, _TEXT = "application/json; charset=utf-8", "text/plain; charset=utf-8"


class TestServer(ThreadingHTTPServer):
    """A Typesense server in memory. A lock serializes requests."""

    __test__ = False  # for pytest: not a class of tests
    daemon_threads = True
    block_on_close = False  # a client may keep its connection open

    def __init__(
        self,
        admin_key: str,
        description: Description | None,
        keeps_log: bool,
        address: str = "127.0.0.1",
    ) -> None:
        super().__init__((address, 0), _Handler)
        self.admin_key = admin_key
        self.store = Store(Keys(admin_key))
        self.faults = Faults()
        self.requests: list[Request] = []
        self.writes: list[tuple[bool, Route, Call]] | None = [] if keeps_log else None
        self.violations: list[str] = []
        self.description = description
        self.lock = threading.Lock()
        self.is_stopping = threading.Event()
        self._connections: set[socket.socket] = set()

    def start(self) -> None:
        """Start to serve."""
        self.is_stopping.clear()
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Close every connection and stop to listen; the data stay."""
        self.is_stopping.set()
        self.shutdown()
        self._thread.join()
        self.server_close()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def down(self) -> Iterator[None]:
        """Refuse connections within the block; afterwards serve the same data at the
        same address.
        """
        self.stop()
        try:
            yield
        finally:
            self.socket = socket.socket(self.address_family, self.socket_type)
            self.server_bind()
            self.server_activate()
            self.start()

    def restart(self) -> None:
        """Replay the log of writes in the order that loses most: first those that were
        sent to an alias.

        A real server replays in parallel queues by collection. It resolves an alias
        when a write is queued; until then the alias, which is written by another queue,
        may not exist.
        """
        assert self.writes is not None, "the server was started without a log"
        with self.lock:
            self.store = Store(self.store.keys)
            for _, route, call in sorted(self.writes, key=lambda write: not write[0]):
                call.store = self.store
                with contextlib.suppress(ApiError):
                    route.run(call)

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://{self.server_address[0]!s}:{self.server_port}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Keep the connection, so that `stop` can close it."""
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Drop the connection."""
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnected; print other errors."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # one packet for head and body: a second small one would wait 40 ms for an
    # acknowledgement
    wbufsize = -1
    disable_nagle_algorithm = True
    server: TestServer

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing; the log is `TestServer.requests`."""

    def _serve(self) -> None:
        body = self._body()
        server = self.server
        if server.faults.takes_connection():
            self._log(body, 0)
            self.close_connection = True
            return
        server.faults.wait()
        try:
            status, text, kind = self._answer(body)
        except NoAnswerError:
            self._log(body, 0)
            server.is_stopping.wait(SILENT_S)
            self.close_connection = True
            return
        self._log(body, status)
        self._send(status, text, kind)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _serve  # noqa: N815

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        chunks = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def _log(self, body: bytes, status: int) -> None:
        split = urlsplit(self.path)
        query = _query(split.query)
        action = (
            query.get("action", "create")
            if self.command == "POST" and "/documents" in split.path
            else ""
        )
        self.server.requests.append(
            Request(self.command, split.path, query, len(body), status, action)
        )

    def _answer(self, body: bytes) -> tuple[int, str, str]:
        try:
            with self.server.lock:
                status, answer = self._routed(body)
        except ApiError as error:
            is_whole = error.message.startswith("{")
            return (
                error.status,
                error.message if is_whole else _dumped({"message": error.message}),
                _JSON,
            )
        return (
            (status, answer, _TEXT)
            if isinstance(answer, str)
            else (status, _dumped(answer), _JSON)
        )

    def _routed(self, body: bytes) -> tuple[int, Any]:
        split = urlsplit("/" + self.path.lstrip("/"))
        segments = [unquote(segment) for segment in split.path.split("/") if segment]
        query = _query(split.query)
        found = route_of(self.command, segments)
        if self.server.description is not None:
            self.server.violations += self.server.description.violations(
                self.command, segments, query, body
            )
        if found is None:
            raise ApiError(404, "Not Found")
        route, names = found
        self.server.faults.check(self.command, segments[0], route.is_write)
        call = Call(
            self.server.store, self.server.faults, names, query, body, len(split.query)
        )
        self._authorize(route, call)
        if (
            self.server.writes is not None
            and segments[0] in ("collections", "aliases")
            and route.is_write
        ):
            self.server.writes.append(
                (
                    segments[0] == "collections"
                    and bool(names)
                    and names[0] in call.store.aliases,
                    route,
                    call,
                )
            )
        return route.status, route.run(call)

    def _authorize(self, route: Route, call: Call) -> None:
        """Add the parameters of a scoped key to the call, or reject it."""
        value = self.headers.get(KEY_HEADER, call.query.pop(KEY_HEADER, ""))
        keys = call.store.keys
        if not route.action or value == keys.admin:
            return
        action = (
            f"documents:{call.query['action']}"
            if _names_action(route, call)
            else route.action
        )
        allowed = [
            keys.params_allowed(value, action, name)
            for name in _collections_of(route, call)
        ]
        if not value or not allowed or None in allowed:
            raise ApiError(401, FORBIDDEN)
        call.sealed = allowed[0] or {}
        if route.action == "documents:search" and call.names:
            call.query = with_sealed(call.query, call.sealed)

    def _send(self, status: int, text: str, kind: str) -> None:
        payload = b"" if self.command == "HEAD" else text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)


def _dumped(answer: Any) -> str:
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def _query(text: str) -> dict[str, str]:
    return {
        name: values[-1]
        for name, values in parse_qs(text, keep_blank_values=True).items()
    }


def _names_action(route: Route, call: Call) -> bool:
    return route.action == "documents:create" and "action" in call.query


def _collections_of(route: Route, call: Call) -> list[str]:
    """Return the collections that the key must allow: that of the path, or of every
    search.
    """
    if route.action == "documents:search" and not call.names:
        try:
            searches = searches_of(call.json())
        except ApiError:
            return []
        given = [one if isinstance(one, dict) else {} for one in searches]
        return [
            str(call.query.get("collection", one.get("collection", "")))
            for one in given
        ]
    is_of_collection = route.action.partition(":")[0] in ("documents", "collections")
    return [call.names[0] if is_of_collection and call.names else ""]


@contextmanager
def running(
    admin_key: str = "admin-key",
    description: Description | None = None,
    *,
    is_strict: bool = False,
    keeps_log: bool = False,
    address: str = "127.0.0.1",
) -> Iterator[TestServer]:
    """Run a server that validates requests against the description, if there is one.

    Args:
        admin_key: The key that allows everything.
        description: The OpenAPI description; by default the one beside the repository,
            if it exists.
        is_strict: Whether violations raise at the end.
        keeps_log: Whether `restart` can replay the writes.
        address: An address of this machine.

    Raises:
        AssertionError: `is_strict` and there are violations.
    """
    server = TestServer(
        admin_key,
        description or Description.beside_the_repository(),
        keeps_log,
        address,
    )
    server.start()
    try:
        yield server
    finally:
        server.stop()
    if is_strict:
        assert not server.violations, "\n".join(server.violations)
