"""Accuracy of themes by words and vectors, and of classifiers trained as `train-themes` does; exits 1 below a floor.

`vectors` is the share of right themes without labels, `accuracy` that of a classifier by cross-validation, with the
labels of the sets in place of those of a model. `error`: share of wrong themes among those that are sure at a wanted
error rate of .1 (`is_sure`), first without labels, then of the classifier; `sure`: share of themes that are sure, whose
calls are saved. `calibration`: the expected calibration error of the classifier. Embedding the texts takes 15 minutes
of CPU time.
Run: python -m news_assets_tests.quality.trained_themes
"""

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from news_assets.clients import theme_models
from news_assets.clients.embedding.embedder import OnnxEmbedder
from news_assets.clients.embedding.models import BUILT_IN_MODEL
from news_assets.pipeline.enrich.local import LocalEnricher
from news_assets.pipeline.enrich.theme_vectors import MIN_SCORE, score_of
from news_assets.pipeline.enrich.themes import descend
from news_assets.pipeline.enrich.trained.training import Example, train
from news_assets.ports.search import Embedder
from news_assets.taxonomy.loader import load_taxonomy
from news_assets_tests.quality.themes import CASES, CORPUS, Case, calibration_error, label_of

WANTED_ERROR_RATE = 0.1


@dataclass(frozen=True)
class Floors:
    """Lowest accuracy by vectors and of the classifier, and highest calibration error of the latter."""

    vectors: float
    accuracy: float
    calibration: float


FLOORS = {
    "themes_govbr, its own tree": Floors(0.585, 0.645, 0.12),
    "themes_govbr, built-in": Floors(0.58, 0.615, 0.15),
    "themes_ptnews_sections": Floors(0.665, 0.775, 0.075),
    "themes_sib200 pt": Floors(0.665, 0.78, 0.075),
    "themes_bbc_en": Floors(0.92, 0.975, 0.03),
    "themes_agnews_en": Floors(0.81, 0.885, 0.03),
}


def main() -> int:
    """Print one line per set; return 1 if one is beyond its floors."""
    if not CORPUS.exists():
        print("skipped: no corpus beside the repository")
        return 0
    print(
        f"{'set':26}{'items':>6}{'vectors':>9}{'sure':>7}{'error':>7}"
        f"{'accuracy':>10}{'sure':>7}{'error':>7}{'calibration':>13}"
    )
    cases = {case.name: case for case in CASES}
    with tempfile.TemporaryDirectory() as folder:
        models_dir = Path(folder)
        embedder = OnnxEmbedder.open(BUILT_IN_MODEL, models_dir, threads=1)
        kept = [_measure(cases[name], floors, embedder, models_dir) for name, floors in FLOORS.items()]
    return int(not all(kept))


@dataclass(frozen=True)
class Untrained:
    """The label without labelled examples, and its score."""

    label: str | None
    score: float


def _examples(case: Case, embedder: Embedder, models_dir: Path) -> tuple[list[Example], list[Untrained]]:
    """Return the items of a set as examples, and what they are without labels."""
    taxonomy = load_taxonomy(case.tree)
    local, items = LocalEnricher(taxonomy), case.items()
    inputs = [local.theme_input(one["title"], one["text"], one["language"]) for one in items]
    vectors = embedder.embed([found.text for found in inputs])
    of_themes = theme_models.vectors_of(models_dir, taxonomy, items[0]["language"], embedder)
    examples, untrained = [], []
    for place, (item, found, embedded) in enumerate(zip(items, inputs, vectors, strict=True)):
        scores = of_themes.scores(found.evidence, embedded.vector)
        best = max(scores, key=lambda code: scores[code])
        score = score_of(scores, best)
        path = descend(taxonomy, best, lambda code: found.evidence[code])  # noqa: B023
        label = label_of(path, case.codes_of) if score >= MIN_SCORE else None
        untrained.append(Untrained(label, score))
        of_labels = _scores_of_labels(scores, case.codes_of)
        examples.append(Example(str(place), found, embedded.vector, item["label"], of_labels))
    return examples, untrained


def _scores_of_labels(scores: Mapping[str, float], codes_of: Mapping[str, str] | None) -> Mapping[str, float]:
    """Return the highest score of the themes of level 1 that stand for each label."""
    if codes_of is None:
        return scores
    roots = {label: [code.split(".")[0] for code in codes.split()] for label, codes in codes_of.items()}
    return {label: max(scores[code] for code in codes) for label, codes in roots.items()}


def _measure(case: Case, floors: Floors, embedder: Embedder, models_dir: Path) -> bool:
    examples, untrained = _examples(case, embedder, models_dir)
    labels = [example.code for example in examples]
    hits = [one.label == label for one, label in zip(untrained, labels, strict=True)]
    by_vectors = sum(hits) / len(hits)
    sure_hits = [
        hit
        for hit, one in zip(hits, untrained, strict=True)
        if one.label is not None and one.score >= 1 - WANTED_ERROR_RATE
    ]
    wrong = 1 - sum(sure_hits) / len(sure_hits) if sure_hits else 0.0
    _, found = train(examples, load_taxonomy(case.tree), BUILT_IN_MODEL)
    is_right = [code == label for code, label in zip(found.codes, labels, strict=True)]
    sure, error = found.sure(examples, WANTED_ERROR_RATE)
    calibration = calibration_error(found.scores, is_right)
    is_kept = (
        by_vectors >= floors.vectors
        and found.accuracy >= floors.accuracy
        and calibration <= floors.calibration
        and max(wrong, error) <= WANTED_ERROR_RATE
    )
    print(
        f"{case.name:26}{len(examples):6}{by_vectors:9.3f}{len(sure_hits) / len(hits):7.3f}{wrong:7.3f}"
        f"{found.accuracy:10.3f}{sure:7.3f}{error:7.3f}{calibration:13.3f}" + ("" if is_kept else "  BELOW"),
        flush=True,
    )
    return is_kept


if __name__ == "__main__":
    sys.exit(main())
