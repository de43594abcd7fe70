"""A model server that was written without sight of this project, if it is beside the
repository, and its bill.
"""

import json
import socket
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from news_assets_tests.support.waiting import wait_for

MODELS = {
    "openai": "openai:gpt-5-mini",
    "anthropic": "anthropic:claude-haiku-4-5",
    "gemini": "google-gla:gemini-2.5-flash",
}


class Paid(NamedTuple):
    """A request that the server billed: title of its article, kind, and tokens."""

    title: str
    kind: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int


class ForeignServer:
    """The server at `url`; see the README beside it."""

    def __init__(self, url: str) -> None:
        self.url = url

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which the providers' own clients find it."""
        return {
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_API_KEY": "sk-test",
            "ANTHROPIC_BASE_URL": f"{self.url}/anthropic",
            "ANTHROPIC_API_KEY": "sk-ant-test",
            "GOOGLE_GEMINI_BASE_URL": f"{self.url}/gemini",
            "GEMINI_API_KEY": "test",
        }

    def get(self, path: str) -> Any:
        """Return what it says at `_bill`, `_calls` and the like."""
        with urllib.request.urlopen(f"{self.url}/{path}", timeout=600) as reply:
            return json.load(reply)

    def post(self, path: str, **body: Any) -> Any:
        """Set it up: `_set`, `_plan`, `_reset`."""
        request = urllib.request.Request(
            f"{self.url}/{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=600) as reply:
            return json.load(reply)

    def paid(self) -> Counter[Paid]:
        """Return the requests that it billed."""
        return Counter(
            Paid(call["title"], call["kind"], call["tin"], call["tout"], call["cached"])
            for call in self.get("_calls")
        )


@contextmanager
def foreign_server(program: Path) -> Iterator[ForeignServer]:
    """Run the server at a free port of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(program), str(port)])
    server = ForeignServer(f"http://127.0.0.1:{port}")
    try:
        wait_for(lambda: _answers(server))
        yield server
    finally:
        process.kill()
        process.wait()


def _answers(server: ForeignServer) -> bool:
    try:
        return bool(server.get("_bill") is not None)
    except OSError:
        return False
