"""Accuracy of classifiers trained as `news-assets train-themes` does, by cross-validation; exits 1 below a floor.

Labels of the sets are used as if a model had given them. `error`: share of wrong themes among those that are sure at a
wanted error rate of .1 (`is_sure`); `saved`: share of themes that are sure, whose calls are saved. `calibration`: the
expected calibration error. Embedding the texts takes 12 minutes of CPU time.
Run: python -m news_assets_tests.quality.trained_themes
"""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from news_assets.clients.embedding.embedder import OnnxEmbedder
from news_assets.clients.embedding.models import BUILT_IN_MODEL
from news_assets.pipeline.enrich.local import LocalEnricher
from news_assets.pipeline.enrich.trained.training import Example, train
from news_assets.ports.search import Embedder
from news_assets.taxonomy.loader import load_taxonomy
from news_assets_tests.quality.themes import CASES, CORPUS, Case, calibration_error

WANTED_ERROR_RATE = 0.1


@dataclass(frozen=True)
class Floors:
    """Lowest accuracy, and highest calibration error."""

    accuracy: float
    calibration: float


FLOORS = {
    "themes_govbr, its own tree": Floors(0.595, 0.09),
    "themes_ptnews_sections": Floors(0.77, 0.075),
    "themes_bbc_en": Floors(0.978, 0.02),
    "themes_agnews_en": Floors(0.89, 0.03),
}


def main() -> int:
    """Print one line per set; return 1 if one is beyond its floors."""
    if not CORPUS.exists():
        print("skipped: no corpus beside the repository")
        return 0
    print(f"{'set':26}{'items':>6}{'accuracy':>10}{'sure':>8}{'error':>8}{'calibration':>13}")
    cases = {case.name: case for case in CASES}
    with tempfile.TemporaryDirectory() as folder:
        embedder = OnnxEmbedder.open(BUILT_IN_MODEL, Path(folder), threads=1)
        return int(not all([_measure(cases[name], floors, embedder) for name, floors in FLOORS.items()]))


def examples_of(case: Case, embedder: Embedder) -> list[Example]:
    """Return the items of a set as examples."""
    local = LocalEnricher(load_taxonomy(case.tree))
    items = case.items()
    inputs = [local.theme_input(item["title"], item["text"], item["language"]) for item in items]
    vectors = embedder.embed([found.text for found in inputs])
    return [
        Example(str(place), found, vector.vector, item["label"])
        for place, (item, found, vector) in enumerate(zip(items, inputs, vectors, strict=True))
    ]


def _measure(case: Case, floors: Floors, embedder: Embedder) -> bool:
    examples = examples_of(case, embedder)
    _, found = train(examples, load_taxonomy(case.tree), BUILT_IN_MODEL)
    is_right = [code == example.code for code, example in zip(found.codes, examples, strict=True)]
    sure, error = found.sure(examples, WANTED_ERROR_RATE)
    calibration = calibration_error(found.scores, is_right)
    is_kept = found.accuracy >= floors.accuracy and calibration <= floors.calibration
    print(
        f"{case.name:26}{len(examples):6}{found.accuracy:10.3f}{sure:8.3f}{error:8.3f}{calibration:13.3f}"
        + ("" if is_kept else "  BELOW"),
        flush=True,
    )
    return is_kept


if __name__ == "__main__":
    sys.exit(main())
