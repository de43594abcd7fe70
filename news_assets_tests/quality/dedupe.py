"""Precision and recall of near-duplicate detection on altered copies and on labelled
pairs.

Both are scored twice: as a stream of documents, and as articles that are stored in a
lake, some at a time.

    python -m news_assets_tests.quality.dedupe

Exits 1 below a floor. Precision has the higher floors: a false duplicate is worse than
a missed one.
"""

import json
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

from news_assets.pipeline.articles.dedupe import WINDOW, store_marked
from news_assets.pipeline.articles.likeness import dedupe_stream, minhash
from news_assets.records.articles import RawArticle
from news_assets.store.lake import Lake
from news_assets.text.fingerprint import text_hash
from news_assets.text.urls import canonical_url, url_hash
from news_assets_tests.store.examples import full

CORPUS = Path(__file__).parents[2] / "../shared/corpus"
FLOORS = {
    f"{name}{where} {measure}": floor
    for where in ("", " in the lake")
    for name, measure, floor in (
        ("synth", "precision", 0.999),
        ("synth", "recall", 0.98),
        ("real", "precision", 0.98),
        ("real", "recall", 0.88),
    )
}
FIRST_DAY = date(2000, 1, 1)
BATCH = 50

Pair = frozenset[str]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def roots(documents: Iterable[dict[str, Any]]) -> dict[str, str]:
    return {key: original or key for key, original, _, _ in dedupe_stream(documents)}


def plain(pairs: set[Pair]) -> set[Pair]:
    """Return pairs of articles in the lake as pairs of documents."""
    return {frozenset(key.partition("|")[2] for key in pair) for pair in pairs}


def lake_roots(groups: Sequence[Sequence[dict[str, Any]]]) -> dict[str, str]:
    """Return the original of each document; those of different groups are too many days
    apart to be compared.
    """
    found: dict[str, str] = {}
    columns = ("article_id", "duplicate_of")
    with (
        tempfile.TemporaryDirectory() as folder,
        Lake.open(f"{folder}/catalog.sqlite", f"{folder}/data") as lake,
    ):
        if len(groups) == 1:
            batches = [
                groups[0][start : start + BATCH]
                for start in range(0, len(groups[0]), BATCH)
            ]
            numbered = [[(0, document) for document in batch] for batch in batches]
        else:
            numbered = [
                list(enumerate(documents)) for documents in zip(*groups, strict=True)
            ]
        for place, batch in enumerate(numbered):
            rows = [
                article_of(document, n, 1000 * place + second)
                for second, (n, document) in enumerate(batch)
            ]
            lake.transact(
                lambda transaction, rows=rows: store_marked(transaction, rows, {})
            )
        for key, original in lake.frame(RawArticle, None, columns).iter_rows():
            found[key] = original or key
    return found


def article_of(document: dict[str, Any], group: int, number: int) -> RawArticle:
    """Return the document as the article of a group; `number` orders the articles by
    time.
    """
    day = FIRST_DAY + group * (WINDOW + timedelta(days=1))
    text, url = (
        document["text"] or "",
        canonical_url(document["url"] or f"https://example.org/{document['id']}"),
    )
    return full(
        RawArticle,
        article_id=f"{group}|" + document["id"],
        desk=f"desk{number % 3}",
        day=day,
        canonical_url=url,
        url_hash=url_hash(url),
        text=text,
        text_hash=text_hash(text),
        text_chars=len(text),
        lead_minhash=minhash(text),
        published_at=datetime(day.year, day.month, day.day, tzinfo=UTC)
        + timedelta(seconds=number),
        outcome="ok",
        duplicate_of=None,
    )


def pairs_of(groups: dict[str, str]) -> set[Pair]:
    members: defaultdict[str, list[str]] = defaultdict(list)
    for key, group in groups.items():
        members[group].append(key)
    return {
        frozenset(pair) for keys in members.values() for pair in combinations(keys, 2)
    }


def score(name: str, expected: set[Pair], found: set[Pair]) -> dict[str, float]:
    hits = len(expected & found)
    precision, recall = hits / max(len(found), 1), hits / max(len(expected), 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    print(
        f"{name:6} pairs {len(expected):5}  P {precision:.4f}  R {recall:.4f}  F1 {f1:.4f}"
    )
    return {f"{name} precision": precision, f"{name} recall": recall}


def score_synth() -> dict[str, float]:
    """Score one shuffled stream, in which exactly the documents of one group are
    duplicates.
    """
    folder = CORPUS / "dedupe_synth" / "dev"
    documents, labels = lines(folder / "docs.jsonl"), lines(folder / "labels.jsonl")
    started = time.perf_counter()
    found = roots(documents)
    seconds = time.perf_counter() - started
    result = score(
        "synth", pairs_of({one["id"]: one["group"] for one in labels}), pairs_of(found)
    )
    groups = {one["id"]: one["group"] for one in labels}
    main_root = {
        group: Counter(
            found[key] for key in groups if groups[key] == group
        ).most_common(1)[0][0]
        for group in set(groups.values())
    }
    kinds = {one["id"]: one["kind"] for one in labels}
    missed = Counter(
        kinds[key] for key in found if found[key] != main_root[groups[key]]
    )
    for kind, count in sorted(Counter(kinds.values()).items()):
        print(f"       {kind:16} {count - missed[kind]:3}/{count}")
    print(f"       {1000 * seconds / len(documents):.2f} ms per document")
    return result | score(
        "synth in the lake", pairs_of(groups), plain(pairs_of(lake_roots([documents])))
    )


def score_real() -> dict[str, float]:
    """Score labelled pairs, each as its own stream."""
    folder = CORPUS / "dedupe_real" / "dev"
    documents = {one["id"]: one for one in lines(folder / "docs.jsonl")}
    pairs = lines(folder / "pairs.jsonl")
    found = {
        frozenset((pair["a"], pair["b"]))
        for pair in pairs
        if len(set(roots([documents[pair["a"]], documents[pair["b"]]]).values())) == 1
    }
    kinds = Counter(pair["label"] for pair in pairs)
    matched = Counter(
        pair["label"] for pair in pairs if frozenset((pair["a"], pair["b"])) in found
    )
    result = score(
        "real",
        {frozenset((p["a"], p["b"])) for p in pairs if p["label"] == "duplicate"},
        found,
    )
    for kind, count in sorted(kinds.items()):
        print(f"       {kind:28} found as duplicates {matched[kind]:3}/{count}")
    in_lake = plain(
        pairs_of(
            lake_roots([(documents[pair["a"]], documents[pair["b"]]) for pair in pairs])
        )
    )
    expected = {frozenset((p["a"], p["b"])) for p in pairs if p["label"] == "duplicate"}
    return result | score("real in the lake", expected, in_lake)


def score_pool() -> None:
    """Print the labels of the pairs that are joined when all real documents are one
    stream.
    """
    folder = CORPUS / "dedupe_real" / "dev"
    documents = lines(folder / "docs.jsonl")
    labelled = {
        frozenset((pair["a"], pair["b"])): pair["label"]
        for pair in lines(folder / "pairs.jsonl")
    }
    joined = Counter(
        labelled.get(pair, "no label") for pair in pairs_of(roots(documents))
    )
    print(f"pool   {len(documents)} documents, joined pairs: {dict(joined)}")
    in_lake = plain(pairs_of(lake_roots([documents])))
    print(
        f"       in the lake: {dict(Counter(labelled.get(pair, 'no label') for pair in in_lake))}"
    )


def main() -> int:
    if not CORPUS.is_dir():
        print("skipped: no corpus beside the repository")
        return 0
    results = score_synth() | score_real()
    score_pool()
    low = [name for name, floor in FLOORS.items() if results[name] < floor]
    for name in low:
        print(f"BELOW FLOOR: {name} {results[name]:.4f} < {FLOORS[name]}")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
