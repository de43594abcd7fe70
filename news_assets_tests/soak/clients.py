"""Hostile clients of `serve`: `python -m news_assets_tests.soak.clients [--requests
100000]`.

Starts the command over a small lake and sends it requests that are meant to exhaust it:
idle connections, heads and bodies that never end, long addresses and keys, articles
that take long to render, metrics with changing parameters, absurd cursors. A client
from another address reads a page and `/health/live` all the time. Prints its answers
and the memory of the server. Fails if the client was refused, or the server has 300 MB
or more.
"""

import argparse
import http.client
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from news_assets.records.articles import RawArticle
from news_assets.store.lake import Lake
from news_assets_tests.store.examples import full, upsert

MAX_BYTES = 300 << 20
_GOOD, _HOSTILE = "127.0.0.2", "127.0.0.1"
_TEXTS = ("![" * 450_000, "[a](" * 200_000, "> " * 200_000, "**a _" * 150_000)
_KEYS = "k" * 3_600
_CURSOR = urlsafe_b64encode(b"[99999999999999999999999]").decode()

Request = Callable[[int], str]

PATHS: tuple[Request, ...] = (
    lambda n: f"/search?q={n}{_KEYS}",
    lambda n: f"/metrics?n={n}",
    lambda n: f"/metricsX{n}",
    lambda n: f"/articles/a-{n % len(_TEXTS)}?n={n}",
    lambda n: f"/articles/none-{n}.json?{_KEYS}",
    lambda n: f"/search.json?cursor={_CURSOR}&n={n}",
    lambda n: f"//evil.example/search?n={n}",
    lambda n: f"/api/v1/agencies?limit=1&cursor={n}",
    lambda n: "/" + "a" * 70_000 + str(n),
)


@dataclass
class Good:
    """A client that reads two addresses, one after the other, until it is stopped."""

    port: int
    answers: Counter[str] = field(default_factory=Counter)
    longest_s: float = 0.0
    is_over: bool = False

    def run(self) -> None:
        number = 0
        while not self.is_over:
            number += 1
            for path in ("/health/live", f"/search?q=good{number % 50}&mode=keyword"):
                began = time.monotonic()
                self.answers[
                    f"{path.partition('?')[0]} {status_of(self.port, path, _GOOD)}"
                ] += 1
                self.longest_s = max(self.longest_s, time.monotonic() - began)
            time.sleep(0.2)


def status_of(port: int, path: str, source: str) -> str:
    """Return the status of an answer, or the name of the error without one."""
    connection = http.client.HTTPConnection(
        "127.0.0.1", port, timeout=30, source_address=(source, 0)
    )
    try:
        with closing(connection):
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            return str(answer.status)
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__


def attack(port: int, first: int, last: int) -> None:
    """Send the requests of these numbers over one connection after another."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    for number in range(first, last):
        if number % 50 == 0:
            hold(port)
        try:
            connection.request("GET", PATHS[number % len(PATHS)](number))
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            connection.close()
    connection.close()


def hold(port: int) -> None:
    """Leave connections with nothing, half a head, an endless one and half a body to
    the server.
    """
    for sent in (
        b"",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: ",
        b"POST /operations/login HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
    ):
        with suppress(OSError):
            held = socket.create_connection(("127.0.0.1", port), timeout=5)
            held.sendall(sent)
            held.detach()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=8)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        return run(Path(folder), given.requests, given.clients)


def run(home: Path, requests: int, clients: int) -> int:
    environment = {
        **os.environ,
        "NEWS_HOME": str(home),
        "NEWS_DESKS": "sample",
        "NEWS_CATALOG": str(home / "c.sqlite"),
    }
    environment["NEWS_DATA"] = str(home / "data")
    with Lake.open(home / "c.sqlite", home / "data") as lake:
        upsert(
            lake,
            [
                full(RawArticle, article_id=f"a-{n}", text=text, meeting_id="")
                for n, text in enumerate(_TEXTS)
            ],
        )
    port = free_port()
    command = [
        str(Path(sys.executable).with_name("news-assets")),
        "serve",
        "--port",
        str(port),
        "--requests-per-minute",
        "0",
    ]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL
    ) as server:
        try:
            return watch(psutil.Process(server.pid), port, requests, clients)
        finally:
            server.terminate()


def watch(server: psutil.Process, port: int, requests: int, clients: int) -> int:
    while status_of(port, "/health/live", _GOOD) != "200":
        time.sleep(0.2)
    status_of(port, "/search?q=warm&mode=keyword", _GOOD)
    before = server.memory_info().rss
    good = Good(port)
    watcher = threading.Thread(target=good.run)
    watcher.start()
    share = requests // clients
    attackers = [
        threading.Thread(target=attack, args=(port, n * share, (n + 1) * share))
        for n in range(clients)
    ]
    for one in attackers:
        one.start()
    for one in attackers:
        one.join()
    good.is_over = True
    watcher.join()
    after = server.memory_info().rss
    print(f"hostile requests {share * clients:,}, by {clients} clients at a time")
    print(f"another client: {dict(good.answers)}, longest {good.longest_s:.1f} s")
    print(f"memory of the server: {before >> 20} MB before, {after >> 20} MB after")
    is_answered = set(good.answers) == {"/health/live 200", "/search 200"}
    return 0 if is_answered and after < MAX_BYTES else 1


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
