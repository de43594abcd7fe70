"""Pairs of texts that are taken for copies with thresholds set on other pairs, beside
those with the ones in use.

    python -m news_assets_tests.quality.likeness

The labelled pairs of real news are left out fifth by fifth, and the altered copies as a
whole. The thresholds are found as in `thresholds`, by F0.5, in which precision counts
more: a false duplicate is worse than a missed one. Only pairs whose leads are alike are
compared, as in the lake; `dedupe` scores what is found of all. Exits 1 if the figures
with the thresholds of others are below their floors.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from news_assets.pipeline.articles.likeness import (
    MIN_EQUAL_BYTES,
    THRESHOLDS,
    Overlap,
    Shingles,
    Thresholds,
    likeness,
    minhash,
    overlap,
)
from news_assets_tests.quality.dedupe import CORPUS, lines
from news_assets_tests.support.tuning import tuned

GRID: dict[str, tuple[float, ...]] = {
    "lead": (0.5, 0.6, 0.7),
    "jaccard": (0.45, 0.55, 0.65),
    "contained": (0.8, 0.9, 0.95),
    "contained_lead": (0.6, 0.7, 0.8),
    "reworded": (0.3, 0.4, 0.5),
    "lead_words": (0.65, 0.75, 0.85),
}
FOLDS = 5
FLOORS = {"real": (0.985, 0.91), "altered": (0.999, 0.985)}  # precision, recall


class Pair(NamedTuple):
    """What two texts have in common, and whether they are labelled as copies."""

    found: Overlap
    is_copy: bool


Score = tuple[float, float, float]


def real() -> Iterator[tuple[int, Pair]]:
    """Yield the labelled pairs of real news with the fifth that each is in."""
    folder = CORPUS / "dedupe_real" / "dev"
    texts = {
        one["id"]: Shingles.of(one["text"] or "")
        for one in lines(folder / "docs.jsonl")
    }
    for pair in lines(folder / "pairs.jsonl"):
        one, other = texts[pair["a"]], texts[pair["b"]]
        if one and other:
            found = Pair(overlap(one, other), pair["label"] == "duplicate")
            yield (
                crc32("|".join(sorted((pair["a"], pair["b"]))).encode()) % FOLDS,
                found,
            )


def altered() -> Iterator[Pair]:
    """Yield the pairs of altered copies and their originals whose leads are alike."""
    folder = CORPUS / "dedupe_synth" / "dev"
    groups = {one["id"]: one["group"] for one in lines(folder / "labels.jsonl")}
    documents: list[tuple[Any, Shingles, bytes]] = []
    for one in lines(folder / "docs.jsonl"):
        shingles, signature = Shingles.of(one["text"]), minhash(one["text"])
        if shingles and signature:
            documents.append((groups[one["id"]], shingles, signature))
    signatures = np.frombuffer(
        b"".join(signature for _, _, signature in documents), np.uint8
    ).reshape(len(documents), -1)
    for first, second in combinations(range(len(documents)), 2):
        if np.count_nonzero(signatures[first] == signatures[second]) >= MIN_EQUAL_BYTES:
            (group, one, _), (other_group, other, _) = (
                documents[first],
                documents[second],
            )
            yield Pair(overlap(one, other), group == other_group)


def counts(pairs: Iterable[Pair], thresholds: Thresholds) -> tuple[int, int, int]:
    """Return how many copies are found, other pairs taken for copies, and copies
    missed.
    """
    taken = [(bool(likeness(pair.found, thresholds)), pair.is_copy) for pair in pairs]
    return (
        taken.count((True, True)),
        taken.count((True, False)),
        taken.count((False, True)),
    )


def best(sets: Sequence[Sequence[Pair]]) -> Thresholds:
    """Return the thresholds with the highest F0.5 over these sets."""

    def score(thresholds: Thresholds) -> float:
        scores = []
        for pairs in sets:
            hits, wrong, missed = counts(pairs, thresholds)
            scores.append(1.25 * hits / max(1.25 * hits + wrong + 0.25 * missed, 1))
        return sum(scores) / len(scores)

    return tuned(THRESHOLDS, GRID, score)


def line(name: str, found: tuple[int, int, int]) -> Iterator[str]:
    """Print precision, recall and F1 of one set; yield what is below its floor."""
    hits, wrong, missed = found
    precision, recall = hits / max(hits + wrong, 1), hits / max(hits + missed, 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    print(
        f"{name:22} copies {hits + missed:4}   P {precision:.4f}  R {recall:.4f}  F1 {f1:.4f}",
        flush=True,
    )
    kind, _, how = name.partition(", ")
    if how == "left out" and (precision < FLOORS[kind][0] or recall < FLOORS[kind][1]):
        yield f"{name}: P {precision:.4f}, R {recall:.4f}; floors {FLOORS[kind]}"


def main() -> int:
    if not CORPUS.is_dir():
        print("skipped: no corpus beside the repository")
        return 0
    made, numbered = list(altered()), list(real())
    every = [pair for _, pair in numbered]
    folds = [[pair for n, pair in numbered if n == fold] for fold in range(FOLDS)]
    of_folds = []
    for fold, pairs in enumerate(folds):
        thresholds = best([made, [pair for n, pair in numbered if n != fold]])
        print(f"real, fifth {fold + 1}: {' '.join(map(str, thresholds))}")
        of_folds.append(counts(pairs, thresholds))
    hits, wrong, missed = (sum(column) for column in zip(*of_folds, strict=True))
    low = [
        *line("real, left out", (hits, wrong, missed)),
        *line("real, in use", counts(every, THRESHOLDS)),
        *line("altered, left out", counts(made, best([every]))),
        *line("altered, in use", counts(made, THRESHOLDS)),
    ]
    for one in low:
        print(f"BELOW FLOOR: {one}")
    return int(bool(low))


if __name__ == "__main__":
    sys.exit(main())
