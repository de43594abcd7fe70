"""Memory of `serve` under hostile requests: `python -m
news_assets_tests.bench.hostile_clients [--requests N]`.

Runs `news-assets serve` on loopback over a made lake, or over that of `--home`, sends
it N hostile requests (20,000 by default) by four clients of one address, which also
hold connections without a request, and prints the memory of the server on the way.
Another address asks for pages and liveness all the while. Fails if one of its answers
is missing, if the memory grows by more than a tenth after the first fifth of the
requests, or if it exceeds 300 MB beside that of the embedding model, which the first
search by meaning loads (`--model`).
"""

import argparse
import http.client
import itertools
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from news_assets.clients.embedding.exported_models import BUILT_IN_MODEL
from news_assets.settings import child_environment
from news_assets_tests.bench.search import vocabulary
from news_assets_tests.bench.web_lake import fill

GOAL_MB, GROWTH, CLIENTS, HELD = 300, 1.1, 4, 30
GOOD_ADDRESS = "127.0.0.2"
ANSWER_S = 30.0  # bounds hanging: far above any answer
_WORDS = vocabulary("pt", 5_000)

Request = tuple[str, str, bytes | None, dict[str, str]]  # method, path, body, headers


def _get(path: str, **headers: str) -> Request:
    return (
        "GET",
        path,
        None,
        {name.replace("_", "-"): value for name, value in headers.items()},
    )


def _noise(chance: random.Random, most: int) -> str:
    return quote(
        "".join(
            chr(chance.choice((0, 10, 34, 37, 60, 0x202E, 0xFFFF, 0x1F600)) + n)
            for n in range(most)
        )
    )


# What a hostile client sends, by how often of a hundred.
_KINDS: Mapping[Callable[[random.Random], Request], int] = {
    lambda chance: _get(
        f"/search?mode=keyword&q={'+'.join(map(quote, chance.sample(_WORDS, 4)))}"
    ): 8,
    lambda chance: _get(
        f"/search.csv?mode=keyword&sort=date&q={quote(chance.choice(_WORDS))}&n={chance.random()}"
    ): 3,
    lambda chance: _get(f"/search?mode=keyword&q={_noise(chance, 40)}"): 3,
    lambda chance: _get(
        f"/api/v1/articles?limit={chance.randrange(1, 100)}&agency={chance.random()}"
    ): 4,
    lambda chance: _get(f"/api/v1/articles?cursor={'9' * chance.randrange(1, 900)}"): 8,
    lambda chance: _get(
        f"/api/v1/changes?since={chance.randrange(1 << 80)}-{chance.randrange(1 << 70)}-1"
    ): 6,
    lambda chance: _get(
        f"/api/v1/search?limit={10 ** chance.randrange(3, 30)}&page=-{chance.random()}"
    ): 8,
    lambda chance: _get(f"/articles/{chance.randbytes(40).hex()}"): 8,
    lambda chance: _get(
        f"/meetings.ics?agency={chance.random()}&body={_noise(chance, 20)}"
    ): 3,
    lambda chance: _get(f"/metrics?{chance.random()}={'x' * 3_000}"): 6,
    lambda chance: _get(f"/metrics{chance.random()}/{_noise(chance, 60)}"): 8,
    lambda chance: _get(f"/{'a/' * 3_000}{chance.random()}"): 6,
    lambda chance: _get(
        f"//{chance.random()}.example/search?lang={_noise(chance, 9)}"
    ): 5,
    lambda chance: _get("/search?mode=keyword", Host=f"{chance.random()}.example"): 6,
    lambda chance: _get(
        "/queries",
        Accept=f"text/{chance.random()}",
        Accept_Language=f"x{chance.random()};q=9",
    ): 5,
    lambda chance: _get(
        "/queries", If_None_Match=f'W/"{chance.randbytes(2_000).hex()}"'
    ): 4,
    lambda chance: _get(f"/static/..%2f..%2f{chance.random()}"): 4,
    lambda chance: (
        "POST",
        "/operations/login",
        chance.randbytes(5_000),
        {"Cookie": chance.randbytes(900).hex()},
    ): 3,
    lambda chance: ("PUT", f"/articles/{chance.random()}", b"x" * 9_000, {}): 2,
}


def _by_meaning(chance: random.Random) -> Request:
    return _get(f"/search?q={quote(chance.choice(_WORDS))}")


@dataclass
class Answers:
    """How the requests were answered, by status; 0 for a connection that was closed.
    `reasons` are those of 503.
    """

    hostile: Counter[int] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    good: Counter[int] = field(default_factory=Counter)
    slowest_s: float = 0.0


class Client:
    """A client with one connection, which is opened again where the server closed it."""

    def __init__(
        self, port: int, source: str = "127.0.0.1", reasons: Counter[str] | None = None
    ) -> None:
        self._port, self._source = port, source
        self._reasons = Counter[str]() if reasons is None else reasons
        self._connection = self._opened()

    def _opened(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(
            "127.0.0.1", self._port, timeout=ANSWER_S, source_address=(self._source, 0)
        )

    def status(self, request: Request) -> int:
        """Send a request and read the answer; 0 if the connection was closed before."""
        method, path, body, headers = request
        try:
            self._connection.request(method, path, body, headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = self._opened()
            return 0
        if answer.status == 503:
            self._reasons[_reason_in(text.decode("utf-8", "replace"))] += 1
        return answer.status


def _reason_in(answer: str) -> str:
    """Return the reason that an answer states: the detail of a problem, or the
    paragraph of a page.
    """
    found = re.search(r'"detail":\s*"([^"]*)|class="warning">([^<]*)', answer)
    return (found[1] or found[2]).strip() if found else answer[-200:]


def attack(
    port: int,
    number: int,
    requests: Iterator[int],
    kinds: list[Callable[[random.Random], Request]],
    answers: Answers,
) -> None:
    """Send hostile requests until none is left, and hold connections that send nothing,
    or half a head.
    """
    chance, held = random.Random(number), list[socket.socket]()
    client = Client(port, reasons=answers.reasons)
    for n in requests:
        answers.hostile[client.status(chance.choice(kinds)(chance))] += 1
        if n % 50 == 0:
            with suppress(OSError):
                half = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S)
                half.sendall(
                    chance.choice(
                        (
                            b"",
                            b"GET / HT",
                            b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
                            b"\0" * 99,
                        )
                    )
                )
                held.append(half)
            while len(held) > HELD:
                held.pop(0).close()
    for one in held:
        one.close()


def ask(port: int, is_over: threading.Event, answers: Answers) -> None:
    """Ask for pages as another client does."""
    paths = itertools.cycle(
        ("/search?mode=keyword", "/health/live", "/queries", "/api/v1/articles?limit=5")
    )
    while not is_over.wait(0.5):
        started = time.perf_counter()
        answers.good[
            Client(port, GOOD_ADDRESS, answers.reasons).status(_get(next(paths)))
        ] += 1
        answers.slowest_s = max(answers.slowest_s, time.perf_counter() - started)


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    assert found
    return int(found[1]) / 1024


@contextmanager
def served(home: Path) -> Iterator[tuple[int, int]]:
    """Run the server over the lake of this home; yield its process id and port."""
    command = [
        sys.executable,
        "-c",
        "from news_assets.cli import main; main()",
        "serve",
        "--port",
        "0",
        "--requests-per-minute",
        "0",
    ]
    environment = child_environment(
        NEWS_HOME=str(home), NEWS_DESKS="sample", PYTHONUNBUFFERED="1"
    )
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout
        line = server.stdout.readline()
        found = re.search(r":(\d+)/", line)
        try:
            if not found:
                raise SystemExit(f"the server did not start: {line}")
            yield server.pid, int(found[1])
        finally:
            server.terminate()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument(
        "--home",
        type=Path,
        help="NEWS_HOME of a lake with articles; by default 500 are made",
    )
    parser.add_argument(
        "--model",
        action="store_true",
        help="also search by meaning, which loads the model",
    )
    options = parser.parse_args()
    kinds = [kind for kind, times in _KINDS.items() for _ in range(times)] + (
        [_by_meaning] if options.model else []
    )
    with tempfile.TemporaryDirectory() as temporary:
        home = options.home or Path(temporary)
        if not (home / "catalog.sqlite").exists():
            words = {language: vocabulary(language, 5_000) for language in ("pt", "en")}
            fill(home, 500, words, with_index=True, model=BUILT_IN_MODEL)
        with served(home) as (pid, port):
            return measure(pid, port, options.requests, kinds)


def measure(
    pid: int, port: int, total: int, kinds: list[Callable[[random.Random], Request]]
) -> int:
    answers, is_over, requests = Answers(), threading.Event(), iter(range(total))
    other = threading.Thread(target=ask, args=(port, is_over, answers))
    other.start()
    before = 0.0
    if _by_meaning in kinds:
        before = memory_mb(pid)
        # it is loaded beside this request
        while Client(port).status(_by_meaning(random.Random(0))) != 200:
            time.sleep(1)
        before = memory_mb(pid) - before
    print(
        f"{'requests':>10}{'MB':>8}{'hostile answers by status'}\n{0:10}{memory_mb(pid):8.0f}",
        flush=True,
    )
    sizes, part = [], total // 5
    for mark in range(part, 5 * part + 1, part):
        shared = _Shared(itertools.islice(requests, part))
        clients = [
            threading.Thread(
                target=attack, args=(port, mark + n, shared, kinds, answers)
            )
            for n in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        sizes.append(memory_mb(pid))
        print(
            f"{mark:10}{sizes[-1]:8.0f}  {dict(sorted(answers.hostile.items()))}",
            flush=True,
        )
    is_over.set()
    other.join()
    for reason, count in answers.reasons.most_common():
        print(f"503 {count:6} times: {reason}")
    failed = sum(count for status, count in answers.good.items() if status != 200)
    print(
        f"another client: {answers.good.total()} answers, {failed} failed, the slowest {answers.slowest_s:.1f} s"
    )
    is_flat, is_small = sizes[-1] <= sizes[0] * GROWTH, sizes[-1] - before <= GOAL_MB
    print(
        f"beside a model of {before:.0f} MB: {sizes[-1] - before:.0f} MB; {'flat' if is_flat else 'it grows'}"
    )
    return 0 if is_flat and is_small and not failed else 1


class _Shared:
    """An iterator that several threads take from, each number once."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers, self._lock = numbers, threading.Lock()

    def __iter__(self) -> "_Shared":
        return self

    def __next__(self) -> int:
        with self._lock:
            return next(self._numbers)


if __name__ == "__main__":
    sys.exit(main())
