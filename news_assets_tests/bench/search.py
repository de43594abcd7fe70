"""Speed, size and memory of the search index with 100,000 documents of 2 kB; `--documents 10000` for a quick look.

Words follow Zipf's law over 50,000 made-up Portuguese and English words; vectors are random, 384-d, of length 1. The
reference for the vector search is the bare matrix product of the same size, measured in the same run.
"""

import argparse
import itertools
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from news_assets.clients.sqlite_search import SqliteSearchIndex
from news_assets.ports import SearchDocument, SearchQuery

DIM = 384
SYLLABLES = (
    "ba",
    "ca",
    "de",
    "fe",
    "go",
    "in",
    "la",
    "ma",
    "ni",
    "or",
    "pa",
    "ri",
    "so",
    "ta",
    "ver",
    "con",
    "est",
    "pre",
)
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
    return words[:count].tolist()


def zipf(count: int) -> np.ndarray:
    weights = 1 / (np.arange(count) + 2.7)
    return np.cumsum(weights / weights.sum())


def documents(count: int, words: dict[str, list[str]], first: int = 0) -> Iterator[SearchDocument]:
    cumulated = zipf(len(words["pt"]))
    for i in range(first, first + count):
        language = "en" if i % 5 == 0 else "pt"
        drawn = np.minimum(np.searchsorted(cumulated, rng.random(280)), len(cumulated) - 1)
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


def queries(words: dict[str, list[str]], count: int) -> list[str]:
    """One to three words; a third of them among the 100 most common, a third among the next 2,000, a third any."""
    bounds = (100, 2_000, 30_000)
    return [
        " ".join(words["pt"][rng.integers(bounds[rng.integers(3)])] for _ in range(rng.integers(1, 4)))
        for _ in range(count)
    ]


def measured(call: Callable[[int], object], count: int) -> tuple[float, float, float]:
    times = []
    for i in range(count):
        started = time.perf_counter()
        call(i)
        times.append((time.perf_counter() - started) * 1000)
    times.sort()
    return statistics.median(times), times[int(0.95 * (count - 1))], times[-1]


def show(name: str, times: tuple[float, float, float]) -> None:
    print(f"{name:44} p50 {times[0]:8.2f} ms   p95 {times[1]:8.2f} ms   max {times[2]:8.2f} ms")


def build(path: Path, count: int, words: dict[str, list[str]]) -> None:
    spent, index = 0.0, SqliteSearchIndex.open(path)
    source = documents(count, words)
    while batch := list(itertools.islice(source, 1000)):
        started = time.perf_counter()
        index.upsert(batch)
        spent += time.perf_counter() - started
    size = sum(file.stat().st_size for file in path.parent.iterdir())
    print(f"{count} documents, built in {spent:.1f} s ({count / spent:.0f}/s), {size / 2**20:.0f} MB")
    index.close()


def rss_mb() -> float:
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return int(next(line for line in status.read_text().splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--keep", type=Path, help="folder of the index; an index that is there is used as it is")
    asked = parser.parse_args()
    words = {"pt": vocabulary("pt", 30_000), "en": vocabulary("en", 20_000) + vocabulary("en", 10_000)}
    with tempfile.TemporaryDirectory() as folder:
        path = (asked.keep or Path(folder)) / "search.sqlite"
        if not path.exists():
            build(path, asked.documents, words)
        measure(path, asked.documents, asked.queries, words)


def measure(path: Path, count: int, query_count: int, words: dict[str, list[str]]) -> None:
    texts = queries(words, query_count)
    vectors = [tuple(row) for row in rng.standard_normal((query_count, DIM)).tolist()]
    before = rss_mb()
    with SqliteSearchIndex.open(path) as index:
        show(
            "first keyword search (reads the facts)",
            measured(lambda i: index.search(SearchQuery(text="x", mode="keyword")), 1),
        )
        for turn in ("cold", "again"):
            keyword = measured(lambda i: index.search(SearchQuery(text=texts[i], mode="keyword")), query_count)
            show(f"keyword, 1-3 words, facets, {turn}", keyword)
        common = " ".join(words["pt"][:2])
        show(
            "keyword, the two most common words",
            measured(lambda i: index.search(SearchQuery(text=common, mode="keyword")), 30),
        )
        show("the newest, no words", measured(lambda i: index.search(SearchQuery(text="")), 30))
        show(
            "keyword, one typing mistake",
            measured(lambda i: index.search(SearchQuery(text="x" + texts[i], mode="keyword")), 50),
        )
        print(f"memory: {rss_mb() - before:.0f} MB more than before")
        show(
            "first vector search (reads the vectors)",
            measured(lambda i: index.search(SearchQuery(text="", mode="vector", vector=vectors[i])), 1),
        )
        show(
            "vector",
            measured(lambda i: index.search(SearchQuery(text="", mode="vector", vector=vectors[i])), query_count),
        )
        show("hybrid", measured(lambda i: index.search(SearchQuery(text=texts[i], vector=vectors[i])), query_count))
        show(
            "hybrid, one agency",
            measured(
                lambda i: index.search(SearchQuery(text=texts[i], vector=vectors[i], agency="agency-7")), query_count
            ),
        )
        matrix = rng.standard_normal((count, DIM), dtype=np.float32)
        query = rng.standard_normal(DIM, dtype=np.float32)
        show("reference: matrix product alone", measured(lambda i: matrix @ query, 60))
        print(f"memory: {rss_mb() - before:.0f} MB more than before, {rss_mb():.0f} MB in all")
        batches = [list(documents(20, words, first=10_000_000 + time.time_ns() % 10**9 + 20 * i)) for i in range(60)]
        show("upsert of 20", measured(lambda i: index.upsert(batches[i]), len(batches)))
        show("the same 20 again", measured(lambda i: index.upsert(batches[i]), len(batches)))


if __name__ == "__main__":
    main()
