"""Speed, size and memory of the search index with 100,000 documents of 2 kB;
`--documents 1000000` takes 20 minutes.

Words follow Zipf's law over 50,000 synthetic Portuguese and English words; vectors are
random, 384-d, of length 1. The reference of the vector search is one product with a
matrix of 100,000 vectors, measured in the same run. Searches while another process
writes are compared with the same searches without it. `--keep FOLDER` keeps the index
for later runs.
"""

import argparse
import itertools
import math
import multiprocessing
import multiprocessing.synchronize
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex
from news_assets.ports.search_index import SearchDocument, SearchQuery

DIM = 384
SYLLABLES = (
    "ba", "ca", "de", "fe", "go", "in", "la", "ma", "ni", "or", "pa", "ri", "so", "ta", "ver", "con", "est", "pre",
)  # fmt: skip
ENDINGS = {
    "pt": ("ção", "ções", "mento", "dade", "ar", "ou", "os", "a"),
    "en": ("ing", "ed", "tion", "s", "er", "ly", "y"),
}
FIRST_DAY = date(2024, 1, 1)
rng = np.random.default_rng(20240101)


def vocabulary(language: str, count: int) -> list[str]:
    made: dict[str, None] = {}
    for length in (1, 2, 3, 4):
        for parts in itertools.product(SYLLABLES, repeat=length):
            for ending in ENDINGS[language]:
                made["".join(parts) + ending] = None
            if len(made) > count * 3:
                break
    words = np.array(list(made), dtype=object)
    rng.shuffle(words)
    return [str(word) for word in words[:count]]


def zipf(count: int) -> np.ndarray:
    weights = 1 / (np.arange(count) + 2.7)
    return np.cumsum(weights / weights.sum())


def documents(
    count: int, words: dict[str, list[str]], first: int = 0
) -> Iterator[SearchDocument]:
    cumulated = zipf(len(words["pt"]))
    for i in range(first, first + count):
        language = "en" if i % 5 == 0 else "pt"
        drawn = np.minimum(
            np.searchsorted(cumulated, rng.random(280)), len(cumulated) - 1
        )
        vector = rng.standard_normal(DIM)
        text = " ".join(words[language][j] for j in drawn)
        day = FIRST_DAY + timedelta(days=i % 600)
        yield SearchDocument(
            article_id=f"agency-{i % 160}-{i}",
            desk="govbr" if i % 3 else "world",
            agency=f"agency-{i % 160}",
            agency_name=f"Agency {i % 160}",
            day=day,
            url=f"https://example.org/{i}",
            title=text[:70],
            text=text[70:],
            language="pt-BR" if language == "pt" else "en",
            theme_path=(f"{i % 25:02d}", f"{i % 25:02d}.{i % 4:02d}"),
            published_ts=1_700_000_000 + i,
            text_hash=f"{i:064x}",
            vector=tuple((vector / np.linalg.norm(vector)).tolist()),
            document_hash=f"{i:064x}",
        )


def topical(words: list[str], count: int) -> list[str]:
    """Return queries of one to three words of medium frequency, ranks 200 to 5,000."""
    query_rng = np.random.default_rng(7)
    return [
        " ".join(
            words[n] for n in query_rng.integers(200, 5_000, query_rng.integers(1, 4))
        )
        for _ in range(count)
    ]


def common_pairs(words: list[str], count: int) -> list[str]:
    """Return queries of two of the 20 most common words; most documents have both."""
    query_rng = np.random.default_rng(8)
    return [
        " ".join(words[n] for n in query_rng.choice(20, 2, replace=False))
        for _ in range(count)
    ]


# between two searches during writes; without it few searches would coincide with a
# write
READER_PAUSE_S = 0.02
PERCENTILES = (0.5, 0.95, 1.0)


@dataclass(frozen=True)
class Times:
    """Sorted wall and CPU milliseconds of the calls."""

    wall: list[float]
    cpu: list[float]


def measured(call: Callable[[int], object], count: int, pause_s: float = 0.0) -> Times:
    wall, cpu = [], []
    for i in range(count):
        time.sleep(pause_s)
        started, started_cpu = time.perf_counter(), time.thread_time()
        call(i)
        cpu.append((time.thread_time() - started_cpu) * 1000)
        wall.append((time.perf_counter() - started) * 1000)
    return Times(sorted(wall), sorted(cpu))


def show(name: str, times: Times, quiet: Times | None = None) -> None:
    at = [math.ceil(share * len(times.wall)) - 1 for share in PERCENTILES]
    wall, cpu = ([sorted_ms[i] for i in at] for sorted_ms in (times.wall, times.cpu))
    ratio = (
        f"   p95 {wall[1] / quiet.wall[at[1]]:.1f}x wall, {cpu[1] / quiet.cpu[at[1]]:.1f}x cpu"
        if quiet
        else ""
    )
    print(
        f"{name:46} p50 {wall[0]:8.2f}   p95 {wall[1]:8.2f}   max {wall[2]:8.2f} ms"
        f"   cpu p50 {cpu[0]:8.2f}   p95 {cpu[1]:8.2f} ms{ratio}",
        flush=True,
    )


def show_memory(when: str) -> None:
    lines = (
        line.split() for line in Path("/proc/self/status").read_text().splitlines()
    )
    mb = {fields[0]: int(fields[1]) // 1024 for fields in lines if fields[-1] == "kB"}
    print(
        f"memory {when}: {mb['VmRSS:']} MB, of which {mb['RssAnon:']} MB anonymous, {mb['RssFile:']} MB file-backed; "
        f"peak {mb['VmHWM:']} MB; load {os.getloadavg()[0]:.1f}",
        flush=True,
    )


def build(path: Path, count: int, words: dict[str, list[str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    spent = spent_cpu = 0.0
    source = documents(count, words)
    with SqliteSearchIndex.open(path) as index:
        while batch := list(itertools.islice(source, 1000)):
            started, started_cpu = time.perf_counter(), time.thread_time()
            index.upsert(batch)
            spent_cpu += time.thread_time() - started_cpu
            spent += time.perf_counter() - started
    print(
        f"{count} documents, built in {spent:.1f} s ({count / spent:.0f}/s), {spent_cpu:.1f} s of CPU time"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument(
        "--keep", type=Path, help="folder of the index; built if it is empty, and kept"
    )
    options = parser.parse_args()
    words = {
        "pt": vocabulary("pt", 30_000),
        "en": vocabulary("en", 20_000) + vocabulary("en", 10_000),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = (options.keep or Path(folder)) / "search.sqlite"
        if not path.exists():
            build(path, options.documents, words)
        print(
            f"{sum(file.stat().st_size for file in path.parent.glob(path.name + '*')) / 2**20:.0f} MB on disk"
        )
        show_memory("before")
        with SqliteSearchIndex.open(path) as index:
            measure_words(index, options.queries, words["pt"])
            measure_vectors(index, options.queries, words["pt"])
            measure_upserts(index, words)
            measure_while_writing(index, path, options.queries, words)


def keyword(
    index: SqliteSearchIndex, texts: list[str], **fields: Any
) -> Callable[[int], object]:
    return lambda i: index.search(
        SearchQuery(text=texts[i], **({"mode": "keyword"} | fields))
    )


def measure_words(index: SqliteSearchIndex, count: int, words: list[str]) -> None:
    texts, pairs = topical(words, count), common_pairs(words, count)
    days = {
        "from_day": FIRST_DAY + timedelta(days=200),
        "to_day": FIRST_DAY + timedelta(days=229),
    }
    show("first keyword search (loads the facts)", measured(keyword(index, ["x"]), 1))
    show("keyword, topical, words not cached", measured(keyword(index, texts), count))
    show("keyword, topical", measured(keyword(index, texts), count))
    show("keyword, two common words", measured(keyword(index, pairs), count))
    show(
        "keyword, topical, an agency's 30 days",
        measured(keyword(index, texts, agency="agency-7", **days), count),
    )
    show(
        "keyword, topical, an agency",
        measured(keyword(index, texts, agency="agency-7"), count),
    )
    show(
        "keyword, one typo",
        measured(keyword(index, ["x" + text for text in texts]), count // 4),
    )
    show("newest, no words", measured(keyword(index, [""] * count), count // 4))
    show_memory("after keyword searches")


def measure_vectors(index: SqliteSearchIndex, count: int, words: list[str]) -> None:
    texts, vectors = topical(words, count), query_vectors(count)
    show(
        "first vector search (loads the vectors)",
        measured(hybrid(index, texts, vectors, mode="vector"), 1),
    )
    show_memory("after the first vector search")
    show("vector", measured(hybrid(index, texts, vectors, mode="vector"), count))
    show("hybrid, topical", measured(hybrid(index, texts, vectors), count))
    show(
        "hybrid, topical, an agency",
        measured(hybrid(index, texts, vectors, agency="agency-7"), count),
    )
    show_memory("after hybrid searches")
    matrix = rng.standard_normal((100_000, DIM), dtype=np.float32)
    query = rng.standard_normal(DIM, dtype=np.float32)
    show(
        "reference: matrix product, 100,000 vectors",
        measured(lambda i: matrix @ query, 60),
    )


def query_vectors(count: int) -> list[tuple[float, ...]]:
    return [
        tuple(row)
        for row in np.random.default_rng(9).standard_normal((count, DIM)).tolist()
    ]


def hybrid(
    index: SqliteSearchIndex,
    texts: list[str],
    vectors: list[tuple[float, ...]],
    **fields: Any,
) -> Callable[[int], object]:
    return lambda i: index.search(
        SearchQuery(text=texts[i], vector=vectors[i], **fields)
    )


def measure_upserts(index: SqliteSearchIndex, words: dict[str, list[str]]) -> None:
    batches = [
        list(documents(20, words, first=new_number() + 20 * i)) for i in range(100)
    ]
    show("upsert of 20", measured(lambda i: index.upsert(batches[i]), len(batches)))
    show(
        "the same 20 again", measured(lambda i: index.upsert(batches[i]), len(batches))
    )


def new_number() -> int:
    return 10_000_000 + time.time_ns() // 1_000_000 % 10**9 * 1000


def measure_while_writing(
    index: SqliteSearchIndex, path: Path, count: int, words: dict[str, list[str]]
) -> None:
    texts, vectors = topical(words["pt"], count), query_vectors(count)
    kinds = {
        "keyword, topical": keyword(index, texts),
        "hybrid, topical": hybrid(index, texts, vectors),
    }
    quiet = {
        name: measured(call, count, READER_PAUSE_S) for name, call in kinds.items()
    }
    with writing_20_each_second(path, words):
        for name, call in kinds.items():
            show(f"{name}, no writes", quiet[name])
            show(
                f"{name}, during 20 upserts per second",
                measured(call, count, READER_PAUSE_S),
                quiet[name],
            )


@contextmanager
def writing_20_each_second(path: Path, words: dict[str, list[str]]) -> Iterator[None]:
    spawned = multiprocessing.get_context("spawn")
    is_writing = spawned.Event()
    process = spawned.Process(
        target=write_steadily, args=(path, words, is_writing), daemon=True
    )
    process.start()
    is_writing.wait(60)
    try:
        yield
    finally:
        process.terminate()
        process.join()


def write_steadily(
    path: Path,
    words: dict[str, list[str]],
    is_writing: "multiprocessing.synchronize.Event",
) -> None:
    first = new_number()
    with SqliteSearchIndex.open(path) as index:
        for number in itertools.count():
            started = time.monotonic()
            index.upsert(list(documents(20, words, first=first + 20 * number)))
            is_writing.set()
            time.sleep(max(0.0, 1 - (time.monotonic() - started)))


if __name__ == "__main__":
    main()
