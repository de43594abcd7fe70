"""Time and size of pages and API over many articles: `python -m news_assets_tests.bench.web [--articles N]`.

Fills a lake and an embedded index with articles of 2 kB (2,000 by default; 100,000 take some minutes), serves them in a
process of its own, and prints for pages, feeds and lists the time to the first byte of answers that are not in the
cache, and their sizes as sent; then the requests a second of a cached list, by four clients at once. Fails over the
goals: 100 ms for 95 of 100 answers, 60 kB for a page, and 200 requests a second.
"""

import argparse
import http.client
import itertools
import math
import multiprocessing
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote_plus

import uvicorn

from news_assets.clients.search.embedded.index import SqliteSearchIndex
from news_assets.ports.search import SearchDocument
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.records.desks import Agency, Desk
from news_assets.search import Index
from news_assets.store.lake import Lake
from news_assets.taxonomy.loader import load_taxonomy
from news_assets.web.app import build_app
from news_assets.web.archive import Archive
from news_assets_tests.bench.search import FIRST_DAY, documents, topical, vocabulary
from news_assets_tests.store.examples import sparse
from news_assets_tests.support.small_desk import Words

GOAL_MS, GOAL_BYTES, GOAL_PER_SECOND = 100, 60_000, 200
CLIENTS = 4
_BATCH = 5_000
AGENCIES = tuple(
    Agency(key=f"agency-{n}", name=f"Agency {n}", timezone="UTC", language="pt", sources=()) for n in range(160)
)
DESKS = [
    Desk(key=key, timezone="UTC", language="pt", first_day=FIRST_DAY, agencies=AGENCIES) for key in ("govbr", "world")
]
# Tables that were never written are the slowest to read: DuckLake asks for their statistics for each column again.
_OTHER_TABLES = (
    """
    INSERT INTO entries BY NAME
    SELECT url AS entry_id, agency || '/feed' AS source_id, desk, agency, day, article_id, url, title,
        first_seen_at, first_seen_at AS last_seen_at FROM raw_articles
    """,
    """
    INSERT INTO polls BY NAME
    SELECT source_id, desk, agency, first_seen_at AS polled_at, 'ok' AS outcome, count(*) AS entry_count,
        count(*) AS new_count, 300 AS elapsed_ms FROM entries GROUP BY ALL
    """,
    """
    INSERT INTO sources BY NAME
    SELECT source_id, desk, agency, max(polled_at) AS last_polled_at, max(polled_at) AS last_new_at,
        'ok' AS last_outcome FROM polls GROUP BY ALL
    """,
    """
    INSERT INTO pages BY NAME
    SELECT article_id, desk, agency, day, url, url AS final_url, 200 AS status, first_seen_at AS fetched_at,
        encode("text") AS body_gzip, 2000 AS body_bytes FROM raw_articles
    """,
    """
    INSERT INTO article_embeddings BY NAME
    SELECT article_id, desk, agency, day, [random(), .1, .2, .3, .4, .5, .6, .7]::FLOAT[] AS vector, 8 AS dim,
        'words' AS model, first_seen_at AS embedded_at, 'ok' AS outcome FROM raw_articles
    """,
    """
    INSERT INTO indexed_documents BY NAME
    SELECT article_id, desk, agency, day, first_seen_at AS indexed_at, 'ok' AS outcome FROM raw_articles
    """,
    """
    INSERT INTO article_revisions BY NAME
    SELECT article_id, desk, agency, day, 1 AS rev_n, first_seen_at AS fetched_at, first_seen_at AS replaced_at,
        "text" FROM raw_articles WHERE hash(article_id) % 50 = 0
    """,
    """
    INSERT INTO failures BY NAME
    SELECT 'raw_articles' AS stage, article_id, desk, agency, day, 'timeout' AS reason, 3 AS attempts,
        first_seen_at AS first_failed_at, first_seen_at AS last_failed_at FROM raw_articles
        WHERE hash(article_id) % 200 = 0
    """,
)


def fill(folder: Path, count: int, words: dict[str, list[str]]) -> None:
    source = documents(count, words)
    with (
        Lake.open(folder / "catalog.sqlite", folder / "data") as lake,
        SqliteSearchIndex.open(folder / "search.sqlite") as index,
    ):
        while batch := list(itertools.islice(source, _BATCH)):
            index.upsert(batch)
            rows = [row for document in batch for row in _rows(document)]
            lake.transact(lambda transaction, rows=rows: _append(transaction, rows))
        for statement in _OTHER_TABLES:
            lake.transact(lambda transaction, sql=statement: transaction.cursor.execute(sql))


def _append(transaction: object, rows: list[object]) -> None:
    for record in {type(row) for row in rows}:
        transaction.append([row for row in rows if isinstance(row, record)])  # type: ignore[attr-defined]


def _rows(document: SearchDocument) -> Iterator[object]:
    names = ("article_id", "desk", "agency", "day", "language")
    shared = {name: getattr(document, name) for name in names} | {"outcome": "ok"}
    at = datetime.fromtimestamp(document.published_ts, UTC)
    yield sparse(
        RawArticle,
        **shared,
        url=document.url,
        canonical_url=document.url,
        title=document.title,
        text=document.text,
        published_at=at,
        first_seen_at=at,
        word_count=280,
        rev_n=1,
    )
    yield sparse(EnrichedArticle, **shared, summary=document.title, theme_code=document.theme_path[-1], enriched_at=at)


def serve(folder: Path, ready: "multiprocessing.Queue[int]") -> None:
    with (
        Lake.open(folder / "catalog.sqlite", folder / "data") as lake,
        SqliteSearchIndex.open(folder / "search.sqlite") as index,
    ):
        archive = Archive(Index(index, Words, index.close), lake, DESKS, {desk.key: load_taxonomy() for desk in DESKS})
        server = uvicorn.Server(uvicorn.Config(build_app(archive, ("127.0.0.1",)), port=0, log_level="error"))
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


def measure(client: Client, name: str, path: Callable[[int], str], times: int) -> bool:
    found = [client.get(path(number)) for number in range(times)]
    spent, size = sorted(ms for ms, _ in found), max(size for _, size in found)
    p50, p95 = (spent[math.ceil(share * times) - 1] for share in (0.5, 0.95))
    print(
        f"{name:34} p50 {p50:7.1f}   p95 {p95:7.1f}   max {spent[-1]:7.1f} ms   largest {size / 1000:6.1f} kB",
        flush=True,
    )
    return p95 <= GOAL_MS and size <= GOAL_BYTES


def requests_a_second(port: int, path: str, seconds: float) -> float:
    counts = [0] * CLIENTS
    end = time.perf_counter() + seconds

    def ask(number: int) -> None:
        client = Client(port)
        while time.perf_counter() < end:
            client.get(path)
            counts[number] += 1

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=2_000)
    parser.add_argument("--times", type=int, default=60)
    parser.add_argument("--keep", type=Path, help="folder of lake and index; filled if it is empty, and kept")
    options = parser.parse_args()
    words = {"pt": vocabulary("pt", 30_000), "en": vocabulary("en", 30_000)}
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        context = multiprocessing.get_context("spawn")
        if not (folder / "search.sqlite").exists():
            folder.mkdir(parents=True, exist_ok=True)
            fill(folder, options.articles, words)
        ready = context.Queue()
        server = context.Process(target=serve, args=(folder, ready), daemon=True)
        server.start()
        port = ready.get(timeout=60)
        texts = [quote_plus(text) for text in topical(words["pt"], options.times)]
        n = options.times

        def paged(path: str) -> Callable[[int], str]:
            return lambda i: f"{path}{'&' if '?' in path else '?'}agency=agency-{i % 160}&limit={50 - i // 160}"

        client = Client(port)
        client.get("/search?q=x&mode=keyword")  # loads what the index keeps in memory
        reached = [
            measure(client, "search page, words", lambda i: f"/search?q={texts[i]}&mode=keyword", n),
            measure(client, "search page, words, by date", lambda i: f"/search?q={texts[i]}&mode=keyword&sort=date", n),
            measure(client, "search page, newest of an agency", lambda i: f"/search?agency=agency-{i % 160}", n),
            measure(client, "Atom of a search, 50 entries", lambda i: f"/search.atom?q={texts[i]}&mode=keyword", n),
            measure(client, "API: search", lambda i: f"/api/v1/search?q={texts[i]}&mode=keyword", n),
            measure(client, "API: articles of an agency", paged("/api/v1/articles"), n),
            measure(client, "API: articles, newest", lambda i: f"/api/v1/articles?limit={i % 100 + 1}", n),
            measure(client, "API: coverage", lambda i: f"/api/v1/coverage?limit={i % 100 + 1}", min(n, 20)),
            measure(client, "API: failures", lambda i: f"/api/v1/failures?limit={i % 100 + 1}", min(n, 20)),
            measure(client, "article page", lambda i: f"/articles/agency-{i % 160}-{i}", min(n, options.articles)),
            measure(client, "operations page", lambda i: f"/operations?limit={i + 1}", min(n, 10)),
        ]
        rate = requests_a_second(port, "/api/v1/articles?limit=50", 5)
        print(f"{'cached list of the API':34} {rate:.0f} requests/s by {CLIENTS} clients in this process")
        server.terminate()
        server.join()
    return 0 if all(reached) and rate >= GOAL_PER_SECOND else 1


if __name__ == "__main__":
    sys.exit(main())
