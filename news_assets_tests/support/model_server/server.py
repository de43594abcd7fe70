"""The HTTP server: finds the dialect of a path, records the request, and sends the
answer or the fault.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

from news_assets_tests.support.model_server import (
    anthropic,
    bedrock,
    gemini,
    ollama,
    openai_chat,
    openai_responses,
)
from news_assets_tests.support.model_server.asked import Answer, Asked, Usage
from news_assets_tests.support.model_server.batches.jobs import BatchFault, Job
from news_assets_tests.support.model_server.exchange import Request
from news_assets_tests.support.model_server.faults import STATUS, Fault, faulty_answer

# Names of AWS's errors travel in a header.
_AWS_ERRORS = {
    401: "UnrecognizedClientException",
    429: "ThrottlingException",
    500: "InternalServerException",
}
_HANG_S = 60.0


class Dialect(Protocol):
    """A module that reads requests and writes answers of one API."""

    PATH: re.Pattern[str]

    def asked(self, path: re.Match[str], body: dict[str, Any], /) -> Asked: ...
    def response(self, asked: Asked, answer: Answer, /) -> dict[str, Any]: ...
    def error(self, status: int, message: str, /) -> dict[str, Any]: ...


DIALECTS: tuple[Dialect, ...] = (
    openai_chat,
    openai_responses,
    anthropic,
    gemini,
    bedrock,
    ollama,
)


@dataclass(frozen=True)
class Seen:
    """One direct call or one line of a batch that the server answered or failed."""

    asked: Asked
    path: str
    body: dict[str, Any]
    fault: Fault | None
    is_batch: bool = False


@dataclass
class ModelServer:
    """A running server; set the fields at any time.

    `answer` gives the model's answer to a user's text: an object or a raw string.
    `fault` gives the fault of a call from its text and the number of calls with this
    text before it. `usage` gives the tokens that are claimed. `clock` gives the time at
    which batches are made. The next batches fail as `batch_faults` says, and end after
    they were polled `batch_polls` times. `seen` lists the calls in order; `paid` counts
    those that a provider would bill, by the user's text.
    """

    url: str
    answer: Callable[[str], dict[str, Any] | str] = lambda _text: {}
    fault: Callable[[str, int], Fault | None] = lambda _text, _earlier: None
    usage: Callable[[Asked, str], Usage] = lambda asked, raw: Usage(
        len(f"{asked.instructions} {asked.text}".split()), len(raw.split())
    )
    retry_after_s: float = 0.05
    latency_s: float = 0.0
    seen: list[Seen] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    batch_polls: int = 0
    batch_faults: list[BatchFault | None] = field(default_factory=list)
    min_records: int = 100
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    jobs: list[Job] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    stopping: threading.Event = field(default_factory=threading.Event)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which the providers' own clients find the server."""
        amazon = {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        return {
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_API_KEY": "key",
            "OLLAMA_BASE_URL": f"{self.url}/v1",
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "key",
            "GOOGLE_GEMINI_BASE_URL": self.url,
            "GOOGLE_API_KEY": "key",
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": self.url,
            "AWS_ENDPOINT_URL_BEDROCK": self.url,
            "AWS_ENDPOINT_URL_S3": f"{self.url}/s3",
            **amazon,
        }

    @property
    def calls(self) -> Counter[str]:
        """The calls by the user's text, failed ones included."""
        with self.lock:
            return Counter(seen.asked.text for seen in self.seen)

    @property
    def paid(self) -> Counter[str]:
        """The calls that a model answered, by the user's text."""
        with self.lock:
            return Counter(
                s.asked.text
                for s in self.seen
                if s.fault not in STATUS and s.fault is not Fault.HANG
            )

    def fail_next(self, *faults: Fault) -> None:
        """Let the next calls fail so, one fault a call."""
        waiting = list(faults)
        self.fault = lambda _text, _earlier: waiting.pop(0) if waiting else None

    def record(
        self, asked: Asked, path: str, body: dict[str, Any], is_batch: bool = False
    ) -> Fault | None:
        """Record a call and return its fault."""
        with self.lock:
            fault = self.fault(asked.text, self.calls[asked.text])
            self.seen.append(Seen(asked, path, body, fault, is_batch))
            return fault

    def answer_to(self, asked: Asked, fault: Fault | None) -> Answer:
        """Return what the model says."""
        content = self.answer(asked.text)
        raw = (
            content
            if isinstance(content, str)
            else json.dumps(content, ensure_ascii=False)
        )
        return faulty_answer(content, self.usage(asked, raw), fault)


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """Run a server on a free port of loopback."""
    http = _Server(("127.0.0.1", 0), _Handler)
    http.models = ModelServer(f"http://127.0.0.1:{http.server_port}")
    thread = threading.Thread(
        target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    try:
        yield http.models
    finally:
        http.models.stopping.set()
        http.shutdown()
        http.server_close()


class _Server(ThreadingHTTPServer):
    models: ModelServer
    daemon_threads = True
    request_queue_size = 256  # many calls in flight connect at once

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that time out or are killed break their connections."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = urlsplit(self.path).path
        for dialect in DIALECTS:
            if match := dialect.PATH.fullmatch(path):
                self._call(dialect, match, json.loads(body))
                return
        self._route(body)

    def do_GET(self) -> None:
        self._route(b"")

    def do_PUT(self) -> None:
        self._route(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def do_DELETE(self) -> None:
        self._route(b"")

    def _route(self, body: bytes) -> None:
        """Reply with what the batch APIs say."""
        # They import ModelServer.
        from news_assets_tests.support.model_server.batches import (
            anthropic,
            bedrock,
            gemini,
            openai,
        )

        path = urlsplit(self.path)
        query = dict(parse_qsl(path.query))
        for method, pattern, reply in (
            openai.ROUTES + anthropic.ROUTES + gemini.ROUTES + bedrock.ROUTES
        ):
            if method == self.command and (match := pattern.fullmatch(path.path)):
                with self.server.models.lock:
                    answer = reply(
                        self.server.models, Request(match, query, self.headers, body)
                    )
                self._send(answer.status, answer.content, answer.headers)
                return
        self._send(404, {"message": f"no such path: {path.path}"})

    def _call(
        self, dialect: Dialect, path: re.Match[str], body: dict[str, Any]
    ) -> None:
        models = self.server.models
        if body.get("stream"):
            self._send(
                400, dialect.error(400, "streams are not simulated: set max_tokens")
            )
            return
        asked = dialect.asked(path, body)
        with models.lock:
            models.in_flight += 1
            models.most_in_flight = max(models.most_in_flight, models.in_flight)
        try:
            fault = models.record(asked, path[0], body)
            models.stopping.wait(_HANG_S if fault is Fault.HANG else models.latency_s)
        finally:
            with models.lock:
                models.in_flight -= 1
        if status := STATUS.get(fault) if fault else None:
            self._send(status, dialect.error(status, f"simulated {status}"))
        elif fault is Fault.PAGE:
            self._send(200, b"<html>log in</html>", {"Content-Type": "text/html"})
        elif fault is not Fault.HANG:
            self._send(200, dialect.response(asked, models.answer_to(asked, fault)))

    def _send(
        self,
        status: int,
        body: dict[str, Any] | bytes,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        named = {
            "Content-Type": "application/json",
            "Content-Length": str(len(content)),
            **headers,
        }
        if status == 429:
            named["Retry-After"] = f"{self.server.models.retry_after_s:g}"
        if status == 307:
            named["Location"] = self.path
        if status in _AWS_ERRORS:
            named.setdefault("x-amzn-ErrorType", _AWS_ERRORS[status])
        self.send_response(status)
        for name, value in named.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass
