"""Time and size of pages and API over many articles: `python -m
news_assets_tests.bench.web [--articles N]`.

Fills a lake and an embedded index with articles of 2 kB (2,000 by default; 100,000 take
some minutes), serves them in a process of its own, and prints for pages, feeds and
lists the time to the first byte of answers that are not in the cache, the server's
processor time for them, and their sizes as sent; then the requests a second of a cached
list, by four clients at once. Fails over the goals: 100 ms for 95 of 100 answers (200
ms over more than 100,000 articles), 60 kB for a page, and 200 requests a second.
"""

import argparse
import http.client
import math
import multiprocessing
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from urllib.parse import quote_plus

import uvicorn

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.search import Index
from news_assets.store.lake import Lake
from news_assets.taxonomy import load_taxonomy
from news_assets.web.app import build_app
from news_assets.web.archive import Archive
from news_assets.web.parameters import cursor_of
from news_assets_tests.bench.lake import AGENCIES
from news_assets_tests.bench.search import topical, vocabulary
from news_assets_tests.bench.web_lake import desk_of, fill, ids_of, newest_day
from news_assets_tests.support.small_desk import Words

GOAL_BYTES, GOAL_PER_SECOND = 60_000, 200
CLIENTS = 4


def serve(folder: Path, today: date, ready: "multiprocessing.Queue[int]") -> None:
    with (
        Lake.open(folder / "catalog.sqlite", folder / "data") as lake,
        SqliteSearchIndex.open(folder / "search.sqlite") as index,
    ):
        desk = desk_of(today)
        archive = Archive(
            Index(index, Words, index.close), lake, [desk], {desk.key: load_taxonomy()}
        )
        server = uvicorn.Server(
            uvicorn.Config(
                build_app(archive, ("127.0.0.1",)), port=0, log_level="error"
            )
        )
        threading.Thread(target=_announce, args=(server, ready), daemon=True).start()
        server.run()


def _announce(server: uvicorn.Server, ready: "multiprocessing.Queue[int]") -> None:
    while not server.started:
        time.sleep(0.05)
    ready.put(server.servers[0].sockets[0].getsockname()[1])


class Client:
    """A connection that is kept open, as a browser's."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)

    def get(self, path: str) -> tuple[float, int]:
        """Return milliseconds to the first byte, and the bytes of the answer as sent."""
        started = time.perf_counter()
        self._connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
        answer = self._connection.getresponse()
        spent = (time.perf_counter() - started) * 1000
        body = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {body[:200]!r}")
        return spent, len(body)


def cpu_ms(pid: int) -> float:
    """Return the processor time of a process so far, by Linux's clock for it
    (clock_getcpuclockid(3)).
    """
    return time.clock_gettime((~pid << 3) | 2) * 1000


def measure(
    client: Client, pid: int, path: Callable[[int], str], times: int, goal_ms: float
) -> tuple[str, bool]:
    """Return a line about this many answers, each of another address, and whether they
    reach the goals.
    """
    spent, worked, sizes = [], [], []
    for number in range(times):
        before = cpu_ms(pid)
        ms, size = client.get(path(number))
        worked.append(cpu_ms(pid) - before)
        spent.append(ms)
        sizes.append(size)
    wall, cpu = (
        [sorted(found)[math.ceil(share * times) - 1] for share in (0.5, 0.95)]
        for found in (spent, worked)
    )
    columns = (*wall, *cpu, max(spent))
    line = "".join(f"{ms:9.1f}" for ms in columns) + f"{max(sizes) / 1000:9.1f}"
    return line, wall[1] <= goal_ms and max(sizes) <= GOAL_BYTES


def requests_a_second(port: int, path: str, seconds: float) -> float:
    counts = [0] * CLIENTS
    end = time.perf_counter() + seconds

    def ask(number: int) -> None:
        client = Client(port)
        while time.perf_counter() < end:
            client.get(path)
            counts[number] += 1

    threads = [
        threading.Thread(target=ask, args=(number,)) for number in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


def searches(
    texts: list[str], ids: list[str]
) -> Iterator[tuple[str, Callable[[int], str]]]:
    yield "search page, words", lambda i: f"/search?q={texts[i]}&mode=keyword"
    yield (
        "search page, words, by date",
        lambda i: f"/search?q={texts[i]}&mode=keyword&sort=date",
    )
    yield "search page, newest of an agency", lambda i: f"/search?agency={AGENCIES[i]}"
    yield "search, CSV", lambda i: f"/search.csv?q={texts[i]}&mode=keyword&limit=50"
    yield "search, JSON Feed", lambda i: f"/search.feed.json?q={texts[i]}&mode=keyword"
    yield "search, Atom", lambda i: f"/search.atom?q={texts[i]}&mode=keyword"
    yield "API: search", lambda i: f"/api/v1/search?q={texts[i]}&mode=keyword"
    yield "article page, with similar ones", lambda i: f"/articles/{ids[i]}"


def lists(ids: list[str], today: date) -> Iterator[tuple[str, Callable[[int], str]]]:
    cursor = cursor_of((today - timedelta(days=300)).isoformat(), AGENCIES[-1])
    yield "API: articles, newest", lambda i: f"/api/v1/articles?limit={100 - i % 60}"
    yield (
        "API: articles, of 300 days ago",
        lambda i: f"/api/v1/articles?limit={100 - i % 60}&cursor={cursor}",
    )
    yield (
        "API: articles of an agency",
        lambda i: f"/api/v1/articles?agency={AGENCIES[i]}",
    )
    yield (
        "API: failed articles (none)",
        lambda i: f"/api/v1/articles?outcome=failed&limit={100 - i % 60}",
    )
    yield "API: failures", lambda i: f"/api/v1/failures?limit={100 - i % 60}"
    yield "API: changes", lambda i: f"/api/v1/changes?since=0-{i + 1}-0"
    yield "API: an article", lambda i: f"/api/v1/articles/{ids[-i - 1]}"
    yield "API: sources", lambda i: f"/api/v1/sources?limit={100 - i % 60}"
    yield "API: coverage", lambda i: f"/api/v1/coverage?limit={100 - i % 60}"
    yield "API: meetings", lambda i: f"/api/v1/meetings?limit={100 - i % 60}"
    yield (
        "meetings of a council, iCalendar",
        lambda i: f"/meetings.ics?agency=city{i % 50}&limit={100 - i % 60}",
    )
    for path in (
        "/meetings",
        "/operations",
        "/operations/sources",
        "/operations/failures",
    ):
        yield f"page {path}", lambda i, path=path: f"{path}?number={i}"  # type: ignore[misc]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=2_000)
    parser.add_argument("--times", type=int, default=60)
    parser.add_argument(
        "--keep",
        type=Path,
        help="folder of lake and index; filled if it is empty, and kept",
    )
    parser.add_argument(
        "--no-search",
        action="store_true",
        help="fill no index, and leave out what reads it",
    )
    options = parser.parse_args()
    words = {"pt": vocabulary("pt", 30_000), "en": vocabulary("en", 30_000)}
    goal_ms = 100 if options.articles <= 100_000 else 200
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        if not (folder / "catalog.sqlite").exists():
            folder.mkdir(parents=True, exist_ok=True)
            fill(folder, options.articles, words, with_index=not options.no_search)
        with Lake.open(folder / "catalog.sqlite", folder / "data") as lake:
            ids, today = ids_of(lake, 2 * options.times), newest_day(lake)
        context = multiprocessing.get_context("spawn")
        ready = context.Queue()
        server = context.Process(target=serve, args=(folder, today, ready), daemon=True)
        server.start()
        port = ready.get(timeout=60)
        client = Client(port)
        asked = list(lists(ids, today))
        if not options.no_search:
            # loads what the index keeps in memory
            client.get("/search?q=x&mode=keyword")
            asked = [
                *searches(
                    [quote_plus(text) for text in topical(words["pt"], options.times)],
                    ids,
                ),
                *asked,
            ]
        print(
            f"{'ms':34}{'p50':>9}{'p95':>9}{'CPU p50':>9}{'CPU p95':>9}{'longest':>9}{'kB':>9}"
        )
        reached = []
        for name, path in asked:
            line, is_reached = measure(
                client, server.pid or 0, path, options.times, goal_ms
            )
            print(f"{name:34}{line}", flush=True)
            reached.append(is_reached)
        rate = requests_a_second(port, "/api/v1/articles?limit=50", 5)
        print(
            f"{'cached list of the API':34} {rate:.0f} requests/s by {CLIENTS} clients in this process"
        )
        server.terminate()
        server.join()
    return 0 if all(reached) and rate >= GOAL_PER_SECOND else 1


if __name__ == "__main__":
    sys.exit(main())
