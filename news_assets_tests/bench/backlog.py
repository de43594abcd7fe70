"""Time of the backlog queries, by wall clock and CPU: `python -m
news_assets_tests.bench.backlog [--rows N]`.

Fills a lake (160 agencies, 600 days) in which every stage is complete. Prints median
and fastest time of the queries for pending entries and stale rows, without a backlog
and after 5,000 articles have changed: for the last 35 days, as the sensors run them at
every change of the lake (target: both together under 500 ms), and for all days. Reading
the snapshot number in the same run is the reference. The last line compares the
receipts with a fake index that has lost 100 documents. With --keep the changes stay in
the lake.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from news_assets.pipeline.stage_declaration import DOCUMENT_STATE
from news_assets.records.desks import Agency, Desk
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import pending_entries, stale_rows
from news_assets.store.queries.freshness import lost_documents
from news_assets.store.transaction import Transaction
from news_assets_tests.bench.lake import (
    AGENCIES,
    DAYS,
    FIRST_DAY,
    Times,
    catalog_in,
    fill,
    timed,
)

if TYPE_CHECKING:
    import polars as pl

NOW = datetime(2026, 9, 1, tzinfo=UTC)
DESK = Desk(
    key="govbr",
    timezone="UTC",
    language="pt-BR",
    first_day=FIRST_DAY,
    agencies=tuple(
        Agency(
            key=key,
            name=f"Ministério {key}",
            timezone="UTC",
            language="pt-BR",
            sources=(),
        )
        for key in AGENCIES
    ),
)
RECENT = DAYS[-1] - timedelta(days=35)

_STAGES = (
    """
    INSERT INTO entries BY NAME
    SELECT entry_id, source_id, desk, agency, day, article_id, url, url_hash, title, 'Resumo ' || url AS summary,
        authors, tags AS categories, published_at, false AS is_future_dated, false AS is_moved, entry_hash,
        first_seen_at, first_seen_at AS last_seen_at, trace_id
    FROM raw_articles WHERE day BETWEEN $1 AND $2
    """,
    """
    INSERT INTO enriched_articles BY NAME
    SELECT article_id, desk, agency, day, sha256('i' || article_id) AS input_hash, content_hash, '03.01' AS theme_code,
        ['03', '03.01'] AS theme_path, ['Saúde', 'Vacinas'] AS theme_labels, 0.9 AS theme_score,
        left("text", 280) AS summary, ['a', 'b'] AS keywords, 'pt-BR' AS "language", 310 AS word_count,
        2 AS reading_minutes, 'local' AS enricher, 'lexical-1' AS model, '1' AS prompt_version,
        '1' AS taxonomy_version, fetched_at AS enriched_at, 'ok' AS outcome, trace_id
    FROM raw_articles WHERE day BETWEEN $1 AND $2
    """,
    """
    INSERT INTO article_embeddings BY NAME
    SELECT article_id, desk, agency, day, sha256('v' || article_id) AS input_hash, content_hash, 'minilm' AS model,
        8 AS dim, [random(), .1, .2, .3, .4, .5, .6, .7]::FLOAT[] AS vector, 310 AS token_count, false AS is_cut,
        fetched_at AS embedded_at, 'ok' AS outcome, trace_id
    FROM raw_articles WHERE day BETWEEN $1 AND $2
    """,
    f"""
    INSERT INTO indexed_documents BY NAME
    SELECT article_id, desk, agency, day,
        sha256(concat_ws(chr(10), '{DOCUMENT_STATE.code_version}', content_hash, sha256('i' || article_id), '',
            'minilm', sha256('v' || article_id), 'Ministério ' || agency)) AS document_hash,
        true AS has_vector, fetched_at AS indexed_at, 'ok' AS outcome, trace_id
    FROM raw_articles WHERE day BETWEEN $1 AND $2
    """,
)

# Changes the stored states of 5,000 articles of all days: each has a pending entry and
# three stale stages.
_CHANGE = (
    "CREATE OR REPLACE TEMP TABLE changed AS SELECT article_id FROM raw_articles USING SAMPLE 5000 ROWS (reservoir, 7)",
    "UPDATE raw_articles SET content_hash = 'other', entry_hash = 'other' WHERE article_id IN (FROM changed)",
)


_RECEIVED = "SELECT article_id, agency, day, document_hash FROM indexed_documents ORDER BY hash(article_id)"


@dataclass(frozen=True)
class _FakeIndex:
    """The part of a search index that `lost_documents` reads."""

    documents: "pl.DataFrame"

    def stored(
        self, desk: str, keys: object = None, first_day: date | None = None
    ) -> "pl.DataFrame":
        return self.documents


def fill_stages(lake: Lake, days: Sequence[date] = DAYS) -> None:
    """Store entries and the rows of all stages for the articles of these days."""
    for statement in _STAGES:
        for start in range(0, len(days), 30):
            part = days[start : start + 30]

            def work(
                transaction: Transaction,
                sql: str = statement,
                span: tuple[object, ...] = (part[0], part[-1]),
            ) -> None:
                transaction.cursor.execute(sql, list(span))

            lake.transact(work)


def change(lake: Lake) -> None:
    def work(transaction: Transaction) -> None:
        for statement in _CHANGE:
            transaction.cursor.execute(statement)

    lake.transact(work)


def measure(lake: Lake, times: int) -> Iterator[tuple[str, int, list[Times]]]:
    counts: dict[str, int] = {}
    index: Any = _FakeIndex(lake.query(_RECEIVED)[100:])

    def counted(name: str, query: Callable[[], int]) -> Callable[[], None]:
        return lambda: counts.__setitem__(name, query())

    queries: dict[str, Callable[[], int]] = {
        "snapshot number": lake.snapshot,
        "pending entries, 35 days": lambda: (
            pending_entries(lake, DESK, NOW, RECENT).height
        ),
        "stale rows, 35 days": lambda: stale_rows(lake, DESK, NOW, RECENT).height,
        "pending entries, all days": lambda: pending_entries(lake, DESK, NOW).height,
        "stale rows, all days": lambda: stale_rows(lake, DESK, NOW).height,
        "lost documents, all days": lambda: (
            lost_documents(lake, index, DESK, NOW).height
        ),
    }
    for name, query in queries.items():
        spent = timed(counted(name, query), times)
        yield name, counts[name], spent


def report(lake: Lake, times: int, title: str) -> None:
    print(f"{title:28}{'found':>8}{'median':>9}{'fastest':>9}{'cpu':>9}  ms")
    for name, count, spent in measure(lake, times):
        clock, worked = zip(*spent, strict=True)
        print(
            f"  {name:26}{count:8}{statistics.median(clock):9.1f}{min(clock):9.1f}{statistics.median(worked):9.1f}"
        )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--times", type=int, default=7)
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
                fill_stages(lake)
            print(
                f"{options.rows:,} articles, filled in {time.perf_counter() - started:.0f} s"
            )
            report(lake, options.times, "no backlog")
            change(lake)
            report(lake, options.times, "5,000 articles changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
