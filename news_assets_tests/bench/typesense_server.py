"""Time of the tests' Typesense server to start, import and search; tests that use it
should stay fast.

`python -m news_assets_tests.bench.typesense_server`
"""

import json
import random
import statistics
import time
from collections.abc import Callable
from functools import partial

import httpx

from news_assets_tests.typesense_server import running

DOCUMENTS, WORDS_EACH, VOCABULARY, DIM = 10_000, 300, 30_000, 384
BATCH = 1000
ROUNDS = 5
HEADERS = {"X-TYPESENSE-API-KEY": "k"}
FIELDS = [
    {"name": "title", "type": "string"},
    {"name": "text", "type": "string"},
    {"name": "agency", "type": "string", "facet": True},
    {"name": "published_ts", "type": "int64"},
    {"name": "vector", "type": "float[]", "num_dim": DIM, "optional": True},
]


def main() -> None:
    """Print the figures."""
    rng = random.Random(7)
    words = [
        "".join(rng.choices("abcdefghijlmnoprstuvz", k=rng.randint(3, 11)))
        for _ in range(VOCABULARY)
    ]
    start = time.perf_counter()
    with (
        running(admin_key="k") as server,
        httpx.Client(base_url=server.url, headers=HEADERS, timeout=300) as client,
    ):
        client.get("/health")
        _show("start", time.perf_counter() - start)
        schema = {
            "name": "docs",
            "fields": FIELDS,
            "default_sorting_field": "published_ts",
        }
        client.post("/collections", json=schema).raise_for_status()
        _show(f"import {BATCH}", statistics.median(_import(client, rng, words)))
        vector = [rng.gauss(0, 1) for _ in range(DIM)]
        for name, search in _searches(words, vector).items():
            _show(
                name,
                statistics.median(
                    _timed(partial(_search, client, search)) for _ in range(ROUNDS)
                ),
            )


def _show(name: str, took_s: float) -> None:
    print(f"{name:28} {took_s * 1000:8.1f} ms")


def _timed(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _import(client: httpx.Client, rng: random.Random, words: list[str]) -> list[float]:
    times = []
    for first in range(0, DOCUMENTS, BATCH):
        lines = "\n".join(
            json.dumps(_document(number, rng, words))
            for number in range(first, first + BATCH)
        )
        url = "/collections/docs/documents/import?action=create"
        times.append(_timed(partial(client.post, url, content=lines.encode())))
    return times


def _document(number: int, rng: random.Random, words: list[str]) -> dict[str, object]:
    return {
        "id": str(number),
        "title": " ".join(rng.choices(words, k=8)),
        "text": " ".join(rng.choices(words, k=WORDS_EACH)),
        "agency": f"agency{number % 50}",
        "published_ts": 1_700_000_000 + number,
        "vector": [rng.gauss(0, 1) for _ in range(DIM)],
    }


def _searches(words: list[str], vector: list[float]) -> dict[str, dict[str, object]]:
    nearest = f"vector:([{','.join(map(str, vector))}],k:50)"
    keyword: dict[str, object] = {"q": words[5], "query_by": "title,text"}
    return {
        "one word": keyword,
        "a prefix": keyword | {"q": words[5][:2]},
        "three words": keyword | {"q": " ".join(words[5:8])},
        "a typo": keyword | {"q": words[7] + "zz", "drop_tokens_threshold": 0},
        "facets": keyword | {"facet_by": "agency"},
        "everything, filtered": {
            "q": "*",
            "filter_by": "agency:=agency7 && published_ts:>1700000500",
        },
        "vector": {"q": "*", "vector_query": nearest},
        "vector, filtered": {
            "q": "*",
            "vector_query": nearest,
            "filter_by": "agency:=agency7",
        },
        "hybrid": keyword | {"vector_query": nearest},
    }


def _search(client: httpx.Client, search: dict[str, object]) -> None:
    result = client.post(
        "/multi_search", json={"searches": [search | {"collection": "docs"}]}
    ).json()["results"][0]
    assert "hits" in result, result


if __name__ == "__main__":
    main()
