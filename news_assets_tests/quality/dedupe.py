"""Precision and recall of near-duplicate detection on altered copies and on labelled pairs.

    python -m news_assets_tests.quality.dedupe

Exits 1 below a floor. Precision has the higher floors: a false duplicate is worse than a missed one.
"""

import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

from news_assets.pipeline.articles.near_duplicates import dedupe_stream

CORPUS = Path(__file__).parents[2] / "../shared/corpus"
FLOORS = {"synth precision": 0.999, "synth recall": 0.98, "real precision": 0.98, "real recall": 0.84}

Pair = frozenset[str]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def roots(documents: Iterable[dict[str, Any]]) -> dict[str, str]:
    return {key: original or key for key, original, _, _ in dedupe_stream(documents)}


def pairs_of(groups: dict[str, str]) -> set[Pair]:
    members: defaultdict[str, list[str]] = defaultdict(list)
    for key, group in groups.items():
        members[group].append(key)
    return {frozenset(pair) for keys in members.values() for pair in combinations(keys, 2)}


def score(name: str, expected: set[Pair], found: set[Pair]) -> dict[str, float]:
    hits = len(expected & found)
    precision, recall = hits / max(len(found), 1), hits / max(len(expected), 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    print(f"{name:6} pairs {len(expected):5}  P {precision:.4f}  R {recall:.4f}  F1 {f1:.4f}")
    return {f"{name} precision": precision, f"{name} recall": recall}


def score_synth() -> dict[str, float]:
    """Score one shuffled stream, in which exactly the documents of one group are duplicates."""
    folder = CORPUS / "dedupe_synth" / "dev"
    documents, labels = lines(folder / "docs.jsonl"), lines(folder / "labels.jsonl")
    started = time.perf_counter()
    found = roots(documents)
    seconds = time.perf_counter() - started
    result = score("synth", pairs_of({one["id"]: one["group"] for one in labels}), pairs_of(found))
    groups = {one["id"]: one["group"] for one in labels}
    main_root = {
        group: Counter(found[key] for key in groups if groups[key] == group).most_common(1)[0][0]
        for group in set(groups.values())
    }
    kinds = {one["id"]: one["kind"] for one in labels}
    missed = Counter(kinds[key] for key in found if found[key] != main_root[groups[key]])
    for kind, count in sorted(Counter(kinds.values()).items()):
        print(f"       {kind:16} {count - missed[kind]:3}/{count}")
    print(f"       {1000 * seconds / len(documents):.2f} ms per document")
    return result


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
    matched = Counter(pair["label"] for pair in pairs if frozenset((pair["a"], pair["b"])) in found)
    result = score("real", {frozenset((p["a"], p["b"])) for p in pairs if p["label"] == "duplicate"}, found)
    for kind, count in sorted(kinds.items()):
        print(f"       {kind:28} found as duplicates {matched[kind]:3}/{count}")
    return result


def score_pool() -> None:
    """Print the labels of the pairs that are joined when all real documents are one stream."""
    folder = CORPUS / "dedupe_real" / "dev"
    documents = lines(folder / "docs.jsonl")
    labelled = {frozenset((pair["a"], pair["b"])): pair["label"] for pair in lines(folder / "pairs.jsonl")}
    joined = Counter(labelled.get(pair, "no label") for pair in pairs_of(roots(documents)))
    print(f"pool   {len(documents)} documents, joined pairs: {dict(joined)}")


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
