"""A receiver of messages on loopback: it keeps every request, and answers with the
statuses it is told.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from news_assets_tests.support.waiting import HANG_S


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """`answers` are the statuses of the next requests, 200 afterwards; 0 is no answer
    until `release` is set.
    """

    address: str = ""
    answers: list[int] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)


@contextmanager
def receiver() -> Iterator[Receiver]:
    """Yield a running receiver."""
    state = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            state.received.append(
                Received(
                    self.path, {k.lower(): v for k, v in self.headers.items()}, body
                )
            )
            status = state.answers.pop(0) if state.answers else 200
            if status == 0:
                state.release.wait(HANG_S)
                return
            self.send_response(status)
            if status == 429:
                self.send_header("Retry-After", "7200")
            if status == 302:
                self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    state.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield state
    finally:
        state.release.set()
        server.shutdown()
        thread.join()
        server.server_close()
