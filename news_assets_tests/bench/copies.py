"""Time to mark one new article among many: `python -m news_assets_tests.bench.copies
[--rows N] [--times N]`.

The lake has copy keys of 1,000,000 articles over 600 days, and the articles of a month
of these. Prints the median and fastest wall time of marking an article without a copy,
and one that is nearly the same as a stored one, the median CPU time, and the peak
memory; fails if the fastest time of the first is over the goal.
"""

import argparse
import resource
import statistics
import sys
import tempfile
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from multiprocessing import get_context

from news_assets.pipeline.articles.dedupe import marked_articles, store_marked
from news_assets.pipeline.articles.likeness import minhash
from news_assets.records.articles import RawArticle
from news_assets.store.lake import Lake
from news_assets.store.transaction import Transaction
from news_assets.text.fingerprint import text_hash
from news_assets_tests.bench.lake import _ARTICLES, _BODIES, timed

GOAL_MS = 20
DAY = date(2025, 6, 15)
_KEYS = """
    INSERT INTO copy_keys BY NAME
    SELECT agency || '-' || day || '-um-titulo-qualquer-' || h[:8] AS article_id, day,
        unhex(h || md5(h)[:8]) AS copy_key  -- 36 bytes that are like no other
    FROM (
        SELECT sha256(i::VARCHAR) AS h, 'agency' || lpad((i % 160)::VARCHAR, 3, '0') AS agency,
            DATE '2025-01-01' + ((i // 160) % 600)::INT AS day
        FROM range(?) numbers(i)
    )
"""


def open_lake(folder: str) -> Lake:
    return Lake.open(f"{folder}/catalog.sqlite", f"{folder}/data")


def fill(folder: str, rows: int) -> None:
    def work(transaction: Transaction) -> None:
        transaction.cursor.execute(_BODIES)
        first, last = DAY - timedelta(days=14), DAY + timedelta(days=15)
        transaction.cursor.execute(_ARTICLES, [rows, first, last])
        transaction.cursor.execute(_KEYS, [rows])

    with open_lake(folder) as lake:
        lake.transact(work)


def new_article(stored: RawArticle, text: str) -> RawArticle:
    return replace(
        stored,
        article_id="another",
        url_hash="another",
        text=text,
        text_chars=len(text),
        text_hash=text_hash(text),
        lead_minhash=minhash(text),
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--times", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # its memory is not counted
        filling = get_context("spawn").Process(target=fill, args=(folder, options.rows))
        filling.start()
        filling.join()
        with open_lake(folder) as lake:
            [example] = lake.read(
                RawArticle, article_id=[lake.query(_EXAMPLE, [DAY]).item()]
            )
            stored = replace(
                new_article(example, example.text or ""),
                article_id="agency000-original",
                url_hash="original",
            )
            lake.transact(lambda rows: store_marked(rows, [stored], {}))
            return lake.transact(partial(measure, stored=stored, times=options.times))


def measure(transaction: Transaction, stored: RawArticle, times: int) -> int:
    """Print times of marking within a transaction, in which batches are stored; return
    1 if the goal is missed.
    """
    unlike = new_article(stored, " ".join(f"word{n}" for n in range(400)))
    alike = new_article(stored, f"Breaking news. {stored.text}")
    marked = marked_articles(transaction, [unlike]) + marked_articles(
        transaction, [alike]
    )
    assert [row.duplicate_of for row in marked] == [None, stored.article_id]

    print(f"{transaction.query('SELECT count(*) FROM copy_keys').item():,} articles")
    print(f"{'':20}{'median':>8}{'fastest':>9}{'cpu':>8}{'goal':>8}  ms")
    before_mb = peak_mb()
    fastest = []
    for name, row, goal in (
        ("no copy", unlike, GOAL_MS),
        ("nearly the same", alike, ""),
    ):
        clock, worked = zip(
            *timed(partial(marked_articles, transaction, [row]), times), strict=True
        )
        fastest.append(min(clock))
        print(
            f"{name:20}{statistics.median(clock):8.1f}{min(clock):9.1f}{statistics.median(worked):8.1f}{goal:>8}"
        )
    print(
        f"peak memory: {peak_mb():.0f} MB, {peak_mb() - before_mb:.0f} MB more than after one article"
    )
    return int(fastest[0] > GOAL_MS)


_EXAMPLE = "SELECT min(article_id) FROM raw_articles WHERE day = ?"


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
