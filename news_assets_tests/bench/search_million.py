"""First and later searches of the embedded index with 100,000 and 1,000,000 documents, as
a table with the growth from one to the other; exits 1 if a first search of the larger one
takes more processor time than it may.

Documents are made and their rows written directly: a million in some minutes, 7 GB. Texts
are of `TEXTS` templates with words by Zipf's law, so that each part of the postings is
that of the first; ids, days, entities and vectors (384-d, random) are each document's own.
Each first search is that of a new process, after imports, with the file in the page
cache; the best of some. `--keep FOLDER` keeps the files for later runs.
"""

import argparse
import json
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from news_assets.clients.search.embedded.document_table import CODE, PATH_SEPARATOR
from news_assets.clients.search.embedded.postings import POSTING
from news_assets.clients.search.embedded.search_file import FACTS, connect, writing
from news_assets.clients.search.embedded.sqlite_index import (
    SqliteSearchIndex,
    save_arrays,
)
from news_assets.clients.search.embedded.terms import (
    correctable_forms,
    key_of,
    term_of,
)
from news_assets.ports.search_index import SearchDocument, SearchQuery
from news_assets_tests.bench.search import (
    common_pairs,
    query_vectors,
    topical,
    vocabulary,
)

DIM = 384
FIRST_DAY = date(2024, 1, 1)
TEXTS = 32_000  # a part has as many
_WORDS_OF_TEXT = 280
_TITLE_CHARS = 70
_AGENCIES = 160
_DAYS = 600
_NAMES = 20_000
_ENTITIES = 3  # of a document
_LANGUAGES = ("pt-BR", "en")


@dataclass(frozen=True)
class Templates:
    """Titles, texts, and the packed postings by term of one part."""

    titles: list[str]
    texts: list[str]
    postings: list[tuple[int, bytes]]
    lengths: np.ndarray


def make_index(path: Path, count: int, words: list[str]) -> None:
    """Write a new search file with `count` documents. Every fifth states English as
    its language; words are those of the texts, the most common first.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    templates = _templates(words)
    with closing(connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        with writing(connection):
            _insert_values(connection, words)
        for first in range(0, count, TEXTS):
            ns = np.arange(first, min(first + TEXTS, count)) + 1
            with writing(connection):
                _insert_documents(connection, ns, templates)
                _insert_part(connection, ns, templates)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        save_arrays(connection)


def _templates(words: list[str]) -> Templates:
    rng = np.random.default_rng(20240101)
    weights = 1 / (np.arange(len(words)) + 2.7)
    limits = np.cumsum(weights / weights.sum())
    drawn = np.searchsorted(limits[:-1], rng.random((TEXTS, _WORDS_OF_TEXT)))
    texts = [" ".join(words[one] for one in row) for row in drawn.tolist()]
    terms = np.array([term_of(word, "pt-BR") for word in words])
    return Templates(
        titles=[text[:_TITLE_CHARS] for text in texts],
        texts=[text[_TITLE_CHARS:] for text in texts],
        postings=_packed_postings(terms[drawn]),
        lengths=np.full(TEXTS, _WORDS_OF_TEXT),
    )


def _packed_postings(terms: np.ndarray) -> list[tuple[int, bytes]]:
    """Return the postings by term of documents with these terms, one row each."""
    distinct, ranks = np.unique(terms, return_inverse=True)
    offsets = np.repeat(np.arange(len(terms)), terms.shape[1])
    pairs = ranks.reshape(-1) * len(terms) + offsets
    found, counts = np.unique(pairs, return_counts=True)
    packed = np.empty(len(found), POSTING)
    packed["offset"] = found % len(terms)
    packed["weight"] = np.minimum(counts, 255)
    ends = np.searchsorted(found, (np.arange(len(distinct)) + 1) * len(terms))
    starts = np.concatenate([[0], ends[:-1]])
    rows = []
    for term, start, end in zip(distinct.tolist(), starts, ends, strict=True):
        rows.append((term, packed[start:end].tobytes()))
    return rows


def _insert_values(connection: sqlite3.Connection, words: list[str]) -> None:
    """Store the words, codes and names that documents have."""
    forms = set[tuple[str]]()
    for word in words:
        forms.update((form,) for form in correctable_forms(word, "pt-BR"))
    connection.executemany("INSERT OR IGNORE INTO words VALUES (?)", sorted(forms))
    connection.executemany("INSERT INTO codes VALUES (?, ?, ?)", _codes())
    names = [(n + 1, "entity", f"Name {n}") for n in range(_NAMES)]
    connection.executemany("INSERT INTO names VALUES (?, ?, ?)", names)
    connection.execute("INSERT INTO state VALUES ('dim', ?)", (DIM,))


_DESKS = ("govbr", "world")
_FIRST_AGENCY = 1 + len(_DESKS)
_FIRST_LANGUAGE = _FIRST_AGENCY + _AGENCIES
_FIRST_THEME = _FIRST_LANGUAGE + len(_LANGUAGES)
_THEMES = 100


def _codes() -> Iterator[tuple[int, str, str]]:
    values = [("desk", desk) for desk in _DESKS]
    values += [("agency", f"agency-{n}") for n in range(_AGENCIES)]
    values += [("language", language) for language in _LANGUAGES]
    for n in range(_THEMES):
        path = (f"{n // 4:02d}", f"{n // 4:02d}.{n % 4:02d}")
        values.append(("theme", PATH_SEPARATOR.join(path)))
    for code, (kind, value) in enumerate(values, 1):
        yield code, kind, value


def _insert_documents(
    connection: sqlite3.Connection, ns: np.ndarray, templates: Templates
) -> None:
    facts = _facts(ns, templates)
    rng = np.random.default_rng(int(ns[0]))
    entities = rng.integers(1, _NAMES + 1, (len(ns), _ENTITIES)).astype(CODE)
    vectors = rng.standard_normal((len(ns), DIM), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    documents, texts, packed = [], [], []
    for place, n in enumerate(ns.tolist()):
        agency = f"agency-{n % _AGENCIES}"
        day = FIRST_DAY + timedelta(days=n % _DAYS)
        documents.append(
            (
                n,
                _article_id(n),
                _DESKS[n % 2],
                agency,
                day.isoformat(),
                f"{n:064x}",
                facts[place].tobytes(),
                entities[place].tobytes(),
            )
        )
        title, text = templates.titles[place], templates.texts[place]
        language = _LANGUAGES[n % 5 == 0]
        url = f"https://example.org/{n}"
        texts.append((n, url, title, None, language, None, "", text))
        packed.append((n, vectors[place].astype("<f2").tobytes()))
    _insert(connection, "documents", documents)
    _insert(connection, "texts", texts)
    _insert(connection, "vectors", packed)


def _article_id(n: int) -> str:
    return f"agency-{n % _AGENCIES}-{n}"


def _insert(
    connection: sqlite3.Connection, table: str, rows: list[tuple[object, ...]]
) -> None:
    places = ", ".join("?" * len(rows[0]))
    connection.executemany(f"INSERT INTO {table} VALUES ({places})", rows)


def _facts(ns: np.ndarray, templates: Templates) -> np.ndarray:
    facts = np.zeros(len(ns), FACTS)
    facts["n"] = ns
    facts["day"] = FIRST_DAY.toordinal() + ns % _DAYS
    facts["published"] = 1_700_000_000 + ns
    facts["id_key"] = [key_of(f"id {_article_id(n)}") for n in ns.tolist()]
    facts["text_key"] = [key_of(f"text {n}") for n in ns.tolist()]
    facts["desk"] = 1 + ns % 2
    facts["agency"] = _FIRST_AGENCY + ns % _AGENCIES
    facts["language"] = _FIRST_LANGUAGE + (ns % 5 == 0)
    facts["theme"] = _FIRST_THEME + ns % _THEMES
    facts["length"] = templates.lengths[: len(ns)]
    return facts


def _insert_part(
    connection: sqlite3.Connection, ns: np.ndarray, templates: Templates
) -> None:
    made = (int(ns[0]), int(ns[-1]), len(ns))
    insert = "INSERT INTO parts (first_n, last_n, document_count) VALUES (?, ?, ?)"
    part = connection.execute(insert, made).lastrowid
    rows = []
    for term, packed in templates.postings:
        kept = np.frombuffer(packed, POSTING)
        if len(ns) < TEXTS:
            kept = kept[kept["offset"] < len(ns)]
        if len(kept):
            rows.append((part, term, kept.tobytes()))
    _insert(connection, "postings", rows)


# --- measuring ------------------------------------------------------------------------

SIZES = (100_000, 1_000_000)
_FIRSTS = 3  # processes; the best one counts
_SEARCHES = 40
# processor seconds of a first search of 1,000,000 documents, and the search of a process
MOST_S = {"first search by words": 0.5, "first search by meaning": 1.0}

Figures = dict[str, float]
_Call = Callable[[int], object]


def milliseconds(call: _Call, count: int) -> tuple[float, float]:
    """Return the median wall and processor milliseconds of calls."""
    wall, cpu = [], []
    for place in range(count):
        started, started_cpu = time.perf_counter(), time.process_time()
        call(place)
        cpu.append(time.process_time() - started_cpu)
        wall.append(time.perf_counter() - started)
    return sorted(wall)[count // 2] * 1000, sorted(cpu)[count // 2] * 1000


def first_search(path: Path, mode: str) -> Figures:
    """Return the times of opening a file and of one search."""
    words = vocabulary("pt", 30_000)
    texts, vectors = topical(words, 1), query_vectors(1)

    def search(place: int) -> None:
        with SqliteSearchIndex.open(path) as index:
            if mode == "words":
                index.search(SearchQuery(text=texts[0], mode="keyword"))
            else:
                index.search(SearchQuery(text="", mode="vector", vector=vectors[0]))

    wall, cpu = milliseconds(search, 1)
    name = f"first search by {mode}"
    return {f"{name}, ms": wall, f"{name}, ms of processor": cpu}


def later_searches(path: Path) -> Figures:
    """Return the times of searches and writes of one process, and its memory."""
    words = vocabulary("pt", 30_000)
    texts, pairs = topical(words, _SEARCHES), common_pairs(words, _SEARCHES)
    vectors = query_vectors(_SEARCHES)
    days = {"from_day": FIRST_DAY, "to_day": FIRST_DAY + timedelta(days=29)}
    queries: dict[str, Callable[[int], SearchQuery]] = {
        "words": lambda n: SearchQuery(text=texts[n], mode="keyword"),
        "two common words": lambda n: SearchQuery(text=pairs[n], mode="keyword"),
        "all documents, newest": lambda n: SearchQuery(text="", mode="keyword"),
        "words, an agency": lambda n: SearchQuery(
            text=texts[n], mode="keyword", agency="agency-7"
        ),
        "words, 30 days": lambda n: SearchQuery(text=texts[n], mode="keyword", **days),
        "words, an entity": lambda n: SearchQuery(
            text=texts[n], mode="keyword", entity="Name 7"
        ),
        "meaning": lambda n: SearchQuery(text="", mode="vector", vector=vectors[n]),
        "both": lambda n: SearchQuery(text=texts[n], vector=vectors[n]),
        "both, an agency": lambda n: SearchQuery(
            text=texts[n], vector=vectors[n], agency="agency-7"
        ),
    }
    found: Figures = {}
    with SqliteSearchIndex.open(path) as index:
        for name, query in queries.items():
            every = [query(n) for n in range(_SEARCHES)]
            _measure_searches(found, index, name, every)
        found |= _memory()
        _measure_writes(found, index)
    return found


def _measure_searches(
    found: Figures, index: SqliteSearchIndex, name: str, queries: list[SearchQuery]
) -> None:
    index.search(queries[0])
    _add_times(found, name, lambda n: index.search(queries[n]), len(queries))


def _measure_writes(found: Figures, index: SqliteSearchIndex) -> None:
    first = index.count() + 10_000_000
    new = [[_new(first + 20 * n + k) for k in range(20)] for n in range(20)]
    _add_times(found, "upsert of 20", lambda n: index.upsert(new[n]), len(new))
    query = SearchQuery(text="", vector=query_vectors(1)[0])
    index.search(query)
    old = [[_article_id(1 + 997 * n + k) for k in range(20)] for n in range(20)]
    _add_times(found, "deletion of 20", lambda n: index.delete(old[n]), len(old))
    _add_times(found, "search after a deletion", lambda n: index.search(query), 1)


def _new(n: int) -> SearchDocument:
    rng = np.random.default_rng(n)
    return SearchDocument(
        article_id=f"new-{n}",
        desk="govbr",
        agency="agency-7",
        agency_name="Agency 7",
        day=FIRST_DAY,
        url=f"https://example.org/{n}",
        title="made title",
        text="made text of some words",
        language="pt-BR",
        published_ts=1_700_000_000 + n,
        text_hash=f"{n:x}",
        vector=tuple(rng.standard_normal(DIM).tolist()),
        document_hash=f"{n:x}",
    )


def _add_times(found: Figures, name: str, call: _Call, count: int) -> None:
    wall, cpu = milliseconds(call, count)
    found[f"{name}, ms"] = wall
    found[f"{name}, ms of processor"] = cpu


def _memory() -> Figures:
    """Return the memory of this process after its searches."""
    found: Figures = {}
    names = {"RssAnon:": "memory of its own, MB", "RssFile:": "mapped files, MB"}
    for line in Path("/proc/self/status").read_text().splitlines():
        name, *values = line.split()
        if name in names:
            found[names[name]] = int(values[0]) / 1024
    return found


def _size(path: Path) -> Figures:
    arrays = Path(f"{path}.arrays").rglob("*.npy")
    return {
        "search file, MB": path.stat().st_size / 2**20,
        "arrays, MB": sum(one.stat().st_size for one in arrays) / 2**20,
    }


def measured_apart(path: Path, what: str) -> Figures:
    """Return what a new process measures."""
    command = [sys.executable, "-m", __spec__.name, "--measure", what, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: Figures = json.loads(done.stdout)
    return found


def figures_of(path: Path) -> Figures:
    """Return all figures of a file."""
    found = _size(path)
    for mode in ("words", "meaning"):
        runs = [measured_apart(path, mode) for _ in range(_FIRSTS)]
        for name in runs[0]:
            found[name] = min(run[name] for run in runs)
    return found | measured_apart(path, "later")


def machine() -> str:
    """Return what this machine is, in one line."""
    model = platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = os.getloadavg()[0]
    return f"{os.cpu_count()} cores, {model}, {memory:.0f} GiB, load {load:.1f}"


def show(figures: dict[int, Figures]) -> None:
    sizes = sorted(figures)
    print("".join([f"{'':44}", *(f"{size:>12,}" for size in sizes), "      growth"]))
    for name in figures[sizes[0]]:
        values = [figures[size][name] for size in sizes]
        shown = "".join(f"{value:12,.1f}" for value in values)
        print(f"{name:44}{shown}{values[-1] / max(values[0], 1e-9):12.1f}")


def misses(figures: Figures) -> list[str]:
    """Return which first searches took more processor time than they may."""
    found = []
    for name, most in MOST_S.items():
        if figures[f"{name}, ms of processor"] > most * 1000:
            found.append(f"{name}: more than {most} s")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, nargs="+", default=SIZES)
    parser.add_argument("--keep", type=Path, help="folder of the files, which are kept")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        what, path = options.measure
        measure = later_searches(Path(path)) if what == "later" else None
        print(json.dumps(measure or first_search(Path(path), what)))
        return 0
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        figures = {}
        for size in options.documents:
            path = (options.keep or Path(folder)) / f"{size}" / "search.sqlite"
            if not path.exists():
                make_index(path, size, vocabulary("pt", 30_000))
            figures[size] = figures_of(path)
    show(figures)
    missed = misses(figures[max(figures)])
    print("\n".join(missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
