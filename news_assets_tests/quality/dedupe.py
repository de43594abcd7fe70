"""Precision and recall of the duplicate finder on altered copies and on real pairs.

    python -m news_assets_tests.quality.dedupe

Exits 1 below a floor. Precision counts more: two stories taken for one is the worse error.
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


def score(name: str, wanted: set[Pair], found: set[Pair]) -> dict[str, float]:
    hits = len(wanted & found)
    precision, recall = hits / max(len(found), 1), hits / max(len(wanted), 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    print(f"{name:6} pairs {len(wanted):5}  P {precision:.4f}  R {recall:.4f}  F1 {f1:.4f}")
    return {f"{name} precision": precision, f"{name} recall": recall}


def score_synth() -> dict[str, float]:
    """One shuffled stream; two documents of one group are duplicates, any others are not."""
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
    lost = Counter(kinds[key] for key in found if found[key] != main_root[groups[key]])
    for kind, count in sorted(Counter(kinds.values()).items()):
        print(f"       {kind:16} {count - lost[kind]:3}/{count}")
    print(f"       {1000 * seconds / len(documents):.2f} ms a document")
    return result


def score_real() -> dict[str, float]:
    """Labelled pairs, each pair as a stream of its own."""
    folder = CORPUS / "dedupe_real" / "dev"
    documents = {one["id"]: one for one in lines(folder / "docs.jsonl")}
    pairs = lines(folder / "pairs.jsonl")
    found = {
        frozenset((pair["a"], pair["b"]))
        for pair in pairs
        if len(set(roots([documents[pair["a"]], documents[pair["b"]]]).values())) == 1
    }
    kinds = Counter(pair["label"] for pair in pairs)
    taken = Counter(pair["label"] for pair in pairs if frozenset((pair["a"], pair["b"])) in found)
    result = score("real", {frozenset((p["a"], p["b"])) for p in pairs if p["label"] == "duplicate"}, found)
    for kind, count in sorted(kinds.items()):
        print(f"       {kind:28} taken for copies {taken[kind]:3}/{count}")
    return result


def score_pool() -> None:
    """All real documents as one stream: what is joined without a label saying so."""
    folder = CORPUS / "dedupe_real" / "dev"
    documents = lines(folder / "docs.jsonl")
    labelled = {frozenset((pair["a"], pair["b"])): pair["label"] for pair in lines(folder / "pairs.jsonl")}
    joined = Counter(labelled.get(pair, "no label") for pair in pairs_of(roots(documents)))
    print(f"pool   {len(documents)} documents, joined pairs: {dict(joined)}")


def main() -> int:
    if not CORPUS.is_dir():
        print("no corpus beside the repository: nothing to score")
        return 0
    results = score_synth() | score_real()
    score_pool()
    low = [name for name, floor in FLOORS.items() if results[name] < floor]
    for name in low:
        print(f"BELOW FLOOR: {name} {results[name]:.4f} < {FLOORS[name]}")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
