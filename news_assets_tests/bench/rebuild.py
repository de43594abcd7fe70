"""Cost of `news-assets rebuild search` from a lake of synthetic articles, for both
backends.

    python -m news_assets_tests.bench.rebuild [--documents N] [--keep DIR]

Articles of 2 kB of Zipf-distributed words, 384-d vectors, 160 agencies by 600 days,
inserted by SQL in the lake's own transactions. Each rebuild runs in its own process:
wall time, CPU time and peak memory. The Typesense is the tests' own server in another
process and far slower than a real one, so only the client's CPU time counts. The
reference reads the same rows from the lake without building or sending anything.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from news_assets.pipeline.stage_declaration import DOCUMENT_STATE
from news_assets.records.articles import RawArticle
from news_assets.records.derived import ArticleEmbedding, EnrichedArticle
from news_assets.store.lake import Lake
from news_assets.store.transaction import Transaction

AGENCIES, DAYS, ROWS_PER_TRANSACTION = 160, 600, 20_000
KEY = "bench-key"
MAX_CPU_S, MAX_MB = 60.0, 1024

_WORDS = """
    CREATE OR REPLACE TEMP TABLE made_words AS
    SELECT list(a || b || c) AS words FROM
        (SELECT unnest(['ba', 'ca', 'de', 'fe', 'go', 'in', 'la', 'ma', 'ni', 'or', 'pa', 'ri', 'so', 'ta', 'ver']) a),
        (SELECT unnest(['con', 'est', 'pre', 'bra', 'cri', 'dul', 'fon', 'gis', 'lar', 'mus', 'nor', 'pel']) b),
        (SELECT unnest(['ção', 'ções', 'mento', 'dade', 'ar', 'ou', 'os', 'a', 'ando', 'ivel', 'ismo', 'al']) c)
"""
_ARTICLES = """
    CREATE OR REPLACE TEMP TABLE made AS
    SELECT 'a' || (n % $agencies) AS agency, DATE '2024-01-01' + (n // $agencies % $days)::INT AS day,
        sha256('h' || n) AS h, agency || '-' || day || '-titulo-' || h[:10] AS article_id, 'bench' AS desk,
        list_aggregate(list_transform(range(280), x -> words[1 + (pow(random(), 3) * len(words))::INT % len(words)]),
            'string_agg', ' ') AS "text"
    FROM range($first, $last) numbers(n), made_words
"""
_TABLES = (
    """
    INSERT INTO raw_articles BY NAME
    SELECT article_id, desk, agency, day, agency || '/feed' AS source_id, h AS entry_id, h AS entry_hash,
        'https://example.org/' || h AS url, url AS canonical_url, h AS url_hash, sha256('t' || h) AS text_hash,
        sha256('c' || h) AS content_hash, "text"[:70] AS title, []::VARCHAR[] AS authors, ['x', 'y'] AS tags,
        'pt-BR' AS "language", day::TIMESTAMPTZ AS published_at, published_at AS first_seen_at,
        published_at AS fetched_at, "text", 'page' AS text_origin, len("text") AS text_chars, 280 AS word_count,
        []::VARCHAR[] AS out_links, 'ok' AS outcome, 1 AS rev_n, 0 AS attempts, h[:16] AS trace_id
    FROM made
    """,
    """
    INSERT INTO enriched_articles BY NAME
    SELECT article_id, desk, agency, day, sha256('i' || h) AS input_hash, sha256('c' || h) AS content_hash,
        '03.01' AS theme_code, ['03', '03.01'] AS theme_path, ['Saúde', 'Vacinas'] AS theme_labels, .9 AS theme_score,
        "text"[:200] AS summary, ['a', 'b'] AS keywords, 'pt-BR' AS "language", 280 AS word_count,
        1 AS reading_minutes, 'local' AS enricher, 'm' AS model, '1' AS prompt_version, '1' AS taxonomy_version,
        day::TIMESTAMPTZ AS enriched_at, 'ok' AS outcome, h[:16] AS trace_id
    FROM made
    """,
    """
    INSERT INTO article_embeddings BY NAME
    SELECT article_id, desk, agency, day, sha256('v' || h) AS input_hash, sha256('c' || h) AS content_hash,
        'made' AS model, 384 AS dim, list_transform(range(384), x -> random() - .5)::FLOAT[] AS vector,
        300 AS token_count, false AS is_cut, day::TIMESTAMPTZ AS embedded_at, 'ok' AS outcome, h[:16] AS trace_id
    FROM made
    """,
    f"""
    INSERT INTO indexed_documents BY NAME
    SELECT article_id, desk, agency, day, sha256(concat_ws(chr(10), '{DOCUMENT_STATE.code_version}', sha256('c' || h),
            sha256('i' || h), '', 'made', sha256('v' || h), 'Agency ' || agency)) AS document_hash,
        true AS has_vector, day::TIMESTAMPTZ AS indexed_at, 'ok' AS outcome, h[:16] AS trace_id
    FROM made
    """,
)


def fill(home: Path, count: int) -> None:
    agencies = {
        f"a{n}": {
            "name": f"Agency a{n}",
            "sources": [{"kind": "feed", "url": f"https://example.org/a{n}.xml"}],
        }
        for n in range(AGENCIES)
    }
    desk = {
        "desk": "bench",
        "timezone": "UTC",
        "language": "pt",
        "first_day": "2024-01-01",
        "agencies": agencies,
    }
    (home / "bench.yaml").write_text(yaml.safe_dump(desk))
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        for first in range(0, count, ROWS_PER_TRANSACTION):
            span = {"first": first, "last": min(count, first + ROWS_PER_TRANSACTION)}

            def write(transaction: Transaction, span: dict[str, int] = span) -> None:
                transaction.cursor.execute(_WORDS)
                transaction.cursor.execute(
                    _ARTICLES, {"agencies": AGENCIES, "days": DAYS, **span}
                )
                for sql in _TABLES:
                    transaction.cursor.execute(sql)

            lake.transact(write)


def environment(home: Path, search: str) -> dict[str, str]:
    return {
        **os.environ,
        "NEWS_HOME": str(home),
        "NEWS_DESKS": str(home / "bench.yaml"),
        "NEWS_SEARCH": search,
        "NEWS_TYPESENSE_API_KEY": KEY,
    }


def measure(
    name: str, words: list[str], env: dict[str, str]
) -> tuple[float, float, float]:
    """Run the command and return its wall seconds, CPU seconds and peak memory in MB."""
    code = (
        "import json, resource, subprocess, sys;"
        "done = subprocess.run(sys.argv[1:]);"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN);"
        "print(json.dumps([done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))"
    )
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    took = time.perf_counter() - started
    code_, cpu, memory = json.loads(done.stdout.splitlines()[-1])
    if code_:
        sys.exit(f"{name} failed: {done.stderr}")
    print(
        f"{name:24} {took:8.1f} s {cpu:8.1f} s of CPU time {memory:8.0f} MB   {done.stdout.splitlines()[0]}"
    )
    return took, cpu, memory


def read_only() -> None:
    """Stream every row that a rebuild reads."""
    home = Path(os.environ["NEWS_HOME"])
    with Lake.open(home / "catalog.sqlite", home / "data") as lake:
        rows = sum(
            f.height
            for record in (RawArticle, EnrichedArticle, ArticleEmbedding)
            for f in lake.stream(record)
        )
    print(f"{rows} rows")


@contextmanager
def typesense() -> Iterator[str]:
    command = [sys.executable, "-u", "-m", "news_assets_tests.typesense_server", KEY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[0].replace("http://", "typesense://")
        finally:
            server.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument(
        "--backend", choices=("embedded", "typesense"), help="measure only this backend"
    )
    parser.add_argument(
        "--keep", type=Path, help="folder of the lake; filled if it is empty, and kept"
    )
    parser.add_argument("--read", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        read_only()
        return
    with tempfile.TemporaryDirectory() as temporary:
        home = options.keep or Path(temporary)
        home.mkdir(parents=True, exist_ok=True)
        if not (home / "bench.yaml").exists():
            started = time.perf_counter()
            fill(home, options.documents)
            print(
                f"{options.documents} articles written in {time.perf_counter() - started:.0f} s"
            )
        load = os.getloadavg()[0]
        print(f"load {load:.1f}, {os.cpu_count()} cores")
        measure(
            "reading",
            [sys.executable, "-m", __spec__.name, "--read"],
            environment(home, "embedded"),
        )
        rebuild = [
            sys.executable,
            "-c",
            "from news_assets.cli import main; main()",
            "rebuild",
            "search",
        ]
        figures = {}
        if options.backend != "typesense":
            figures["embedded"] = measure(
                "embedded", rebuild, environment(home, "embedded")
            )
        if options.backend != "embedded":
            with typesense() as address:
                figures["typesense"] = measure(
                    "typesense (client)", rebuild, environment(home, address)
                )
    # wall time of the embedded index, CPU time of the client
    limited = {
        "embedded": 0,
        "typesense": 1,
    }
    slow = [
        name
        for name, figure in figures.items()
        if figure[limited[name]] > MAX_CPU_S or figure[2] > MAX_MB
    ]
    sys.exit(f"over {MAX_CPU_S:.0f} s or {MAX_MB} MB: {', '.join(slow)}" if slow else 0)


if __name__ == "__main__":
    main()
