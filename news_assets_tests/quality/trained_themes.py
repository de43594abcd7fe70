"""Themes by words and vectors, and by classifiers that are trained on labels; exits 1
below a floor.

Without labels: the weights of each set are set on the others (`left out`), beside those
in use. Sets of the same texts are left out together. `sure` is the share of themes that
are sure at a wanted error rate of .1 (`is_sure`), `wrong` the share of wrong ones among
these, and `calibration` the expected calibration error of all scores.

With labels: each fifth of a set is classified by what `train-themes` learns from the
other four, with the labels of the set in place of those of a model. So no text was
trained or calibrated on.

Of large sets every second to twelfth text is measured. It takes 4 to 7 minutes of CPU
time, most of it for the vectors of 2,400 articles and of two taxonomies. Run: python -m
news_assets_tests.quality.trained_themes
"""

import math
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

from news_assets.clients.embedding.embedder import OnnxEmbedder
from news_assets.clients.embedding.exported_models import BUILT_IN_MODEL
from news_assets.clients.local_enrichers import vectors_of
from news_assets.pipeline.enrich.local_enricher import LocalEnricher
from news_assets.pipeline.enrich.theme_training import (
    CHECKED_ERROR_RATES,
    FITTED_SHARE,
    FOLDS,
    Example,
    folds_of,
    train,
)
from news_assets.pipeline.enrich.theme_vectors import (
    MIN_BEST,
    WEIGHTS,
    ThemeInput,
    ThemeVectors,
    Weights,
    score_of,
)
from news_assets.pipeline.enrich.theme_words import descend
from news_assets.ports.search_index import Embedder
from news_assets.taxonomy import Taxonomy, lender_of, load_taxonomy
from news_assets_tests.quality.themes import (
    CASES,
    CORPUS,
    SENTENCE_TOPICS,
    Case,
    calibration_error,
    label_of,
    sentences,
)

WANTED_ERROR_RATE = 0.1
LIKENESS = (0.1, 0.2, 0.4, 0.8)
SLOPES = (3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5)
# The taxonomy has no words in Russian: its themes are found by the vectors alone.
RUSSIAN = Case(
    "themes_sib200 ru",
    sentences("ru", "rus_Cyrl"),
    SENTENCE_TOPICS,
    None,
    floor=0,
    given_floor=0,
)


class Measure(NamedTuple):
    """How a set is measured: every so many texts, what it is left out with, and its
    floors.

    The floors are of the accuracy with the weights of others, and of trained
    classifiers (None: not measured).
    """

    step: int
    group: str
    floor: float
    trained_floor: float | None = None


MEASURES = {
    "themes_govbr, its own tree": Measure(1, "gov.br", 0.62, 0.665),
    "themes_govbr, built-in": Measure(1, "gov.br", 0.58, 0.61),
    "themes_ptnews_sections": Measure(2, "ptnews", 0.63, 0.68),
    "themes_sib200 pt": Measure(1, "SIB", 0.655, 0.77),
    "themes_sib200 en": Measure(2, "SIB", 0.72),
    "themes_sib200 ru": Measure(2, "SIB", 0.62),
    "themes_bbc_en": Measure(12, "BBC", 0.9, 0.94),
    "themes_agnews_en": Measure(12, "AG", 0.8, 0.83),
    "themes_masakhanews_en": Measure(6, "Masakha", 0.83),
}


class Result(NamedTuple):
    """The score of a text's best theme, and whether that is right."""

    score: float
    is_right: bool


@dataclass(frozen=True)
class MeasuredSet:
    """A labelled set with its vectors. `labels_of_themes` has the label of each theme
    by text.
    """

    name: str
    case: Case
    taxonomy: Taxonomy
    labels: list[str]
    inputs: list[ThemeInput]
    vectors: list[Sequence[float]]
    theme_vectors: ThemeVectors

    @cached_property
    def labels_of_themes(self) -> list[dict[str, str | None]]:
        """Return the label that each theme of level 1 stands for, for each text."""
        return [self._labels(found.evidence) for found in self.inputs]

    def _labels(self, evidence: Mapping[str, float]) -> dict[str, str | None]:
        found = {}
        for code in self.taxonomy.roots:
            path = descend(self.taxonomy, code, lambda each: evidence[each])
            found[code] = label_of(path, self.case.codes_of)
        return found

    def scores(self, weights: Weights) -> list[dict[str, float]]:
        """Return the scores of the themes of each text."""
        pairs = zip(self.inputs, self.vectors, strict=True)
        return [
            self.theme_vectors.scores(found.evidence, vector, weights)
            for found, vector in pairs
        ]

    def results(self, weights: Weights) -> list[Result]:
        """Return the result of each text; no theme is wrong."""
        scored = scores_of_best(self, weights)
        return [
            Result(score_of(best, weights), is_right and max(best.values()) >= MIN_BEST)
            for best, is_right in scored
        ]

    def examples(self) -> list[Example]:
        """Return the texts as examples to train on."""
        found = zip(
            self.inputs, self.vectors, self.labels, self.scores(WEIGHTS), strict=True
        )
        return [
            Example(str(place), read, vector, label, self._of_labels(scores))
            for place, (read, vector, label, scores) in enumerate(found)
        ]

    def _of_labels(self, scores: Mapping[str, float]) -> Mapping[str, float]:
        """Return the highest score of the themes of level 1 that stand for each label."""
        if self.case.codes_of is None:
            return scores
        found = {}
        for label, codes in self.case.codes_of.items():
            found[label] = max(scores[code.split(".")[0]] for code in codes.split())
        return found

    def __hash__(self) -> int:
        return hash(self.name)


Best = tuple[dict[str, float], bool]


def scores_of_best(of: MeasuredSet, weights: Weights) -> list[Best]:
    """Return the two highest scores of each text, and whether the best theme is right."""
    return _scores_of_best(of, weights.likeness)


@cache
def _scores_of_best(of: MeasuredSet, likeness: float) -> list[Best]:
    scored = of.scores(Weights(likeness))
    found = []
    for scores, labels, label in zip(
        scored, of.labels_of_themes, of.labels, strict=True
    ):
        first, second = sorted(scores, key=lambda code: -scores[code])[:2]
        found.append(
            ({code: scores[code] for code in (first, second)}, labels[first] == label)
        )
    return found


def accuracy(results: Sequence[Result]) -> float:
    """Return the share of right themes."""
    return sum(result.is_right for result in results) / len(results)


def sure(
    results: Iterable[Result], wanted_error_rate: float = WANTED_ERROR_RATE
) -> list[Result]:
    """Return the results that are sure."""
    return [result for result in results if result.score >= 1 - wanted_error_rate]


def fitted(sets: Sequence[MeasuredSet]) -> Weights:
    """Return the best weights on these sets.

    They have the highest accuracy; then the highest likelihood of those slopes with
    which no set has more wrong sure themes than FITTED_SHARE of those wanted, by more
    than a standard error, at any of CHECKED_ERROR_RATES: one rate alone has too few
    sure themes on most sets.
    """
    grid = [Weights(likeness) for likeness in LIKENESS]
    best = max(grid, key=lambda one: _mean(sets, lambda of: accuracy(of.results(one))))
    calibrated = [best._replace(slope=slope) for slope in SLOPES]
    kept = [one for one in calibrated if all(_is_kept(of.results(one)) for of in sets)]
    return max(
        kept or calibrated[:1],
        key=lambda one: _mean(sets, lambda of: _likelihood(of.results(one))),
    )


def _mean(
    sets: Sequence[MeasuredSet], measure: Callable[[MeasuredSet], float]
) -> float:
    """Return the mean over the groups of sets, so that a text in three languages counts
    once.
    """
    of_groups: dict[str, list[float]] = {}
    for of in sets:
        of_groups.setdefault(MEASURES[of.name].group, []).append(measure(of))
    means = [sum(values) / len(values) for values in of_groups.values()]
    return sum(means) / len(means)


def _is_kept(results: Sequence[Result]) -> bool:
    problems = [
        _too_many_wrong(sure(results, rate), 1, FITTED_SHARE * rate)
        for rate in CHECKED_ERROR_RATES
    ]
    return not any(problems)


def _too_many_wrong(
    given: Sequence[Result], standard_errors: int, wanted: float = WANTED_ERROR_RATE
) -> str | None:
    """Say how many sure themes are wrong, if it is more than wanted by so many standard
    errors.
    """
    wrong = sum(not result.is_right for result in given)
    error = math.sqrt(wanted * (1 - wanted) * len(given))
    if wrong <= wanted * len(given) + standard_errors * error:
        return None
    return f"{wrong} of {len(given)} sure themes are wrong"


def _likelihood(results: Sequence[Result]) -> float:
    logs = [math.log(one.score if one.is_right else 1 - one.score) for one in results]
    return sum(logs) / len(logs)


def trained(of: MeasuredSet) -> list[Result]:
    """Return the result of each text by a classifier that is trained on the other four
    fifths.
    """
    examples = of.examples()
    folds = folds_of(examples)
    results = []
    for fold in range(FOLDS):
        rest = [one for one, at in zip(examples, folds, strict=True) if at != fold]
        classifier, _ = train(rest, of.taxonomy, BUILT_IN_MODEL)
        for one in [one for one, at in zip(examples, folds, strict=True) if at == fold]:
            found = classifier.probabilities(one.found, one.vector, one.untrained)
            best = max(found, key=lambda code: found[code])
            results.append(Result(found[best], best == one.code))
    return results


def _read(case: Case, embedder: Embedder, models_dir: Path) -> MeasuredSet:
    taxonomy = load_taxonomy(case.tree)
    local, items = (
        LocalEnricher(taxonomy, lender_of(case.tree)),
        case.items()[:: MEASURES[case.name].step],
    )
    inputs = [
        local.theme_input(one["title"], one["text"], one["language"]) for one in items
    ]
    vectors = [one.vector for one in embedder.embed([found.text for found in inputs])]
    of_themes = vectors_of(models_dir, taxonomy, embedder)
    labels = [one["label"] for one in items]
    return MeasuredSet(case.name, case, taxonomy, labels, inputs, vectors, of_themes)


def _columns(results: Sequence[Result]) -> str:
    given = sure(results)
    wrong = 1 - accuracy(given) if given else 0.0
    calibration = calibration_error(
        [one.score for one in results], [one[1] for one in results]
    )
    return f"{accuracy(results):9.3f}{len(given) / len(results):7.3f}{wrong:7.3f}{calibration:7.3f}"


def _failures(results: Sequence[Result], floor: float) -> list[str]:
    found = []
    if accuracy(results) < floor:
        found.append(f"accuracy {accuracy(results):.3f} < {floor}")
    if wrong := _too_many_wrong(sure(results), standard_errors=2):
        found.append(wrong)
    return found


def main() -> int:
    """Print one line per set; return 1 if one is beyond its floors."""
    if not CORPUS.exists():
        print("skipped: no corpus beside the repository")
        return 0
    cases = {case.name: case for case in (*CASES, RUSSIAN)}
    with tempfile.TemporaryDirectory() as folder:
        embedder = OnnxEmbedder.open(BUILT_IN_MODEL, Path(folder), threads=1)
        sets = [_read(cases[name], embedder, Path(folder)) for name in MEASURES]
    columns = f"{'right':>9}{'sure':>7}{'wrong':>7}{'calib.':>7}"
    print(
        f"{'':26}{'':6}  {'weights of others':30}{'weights in use':30}trained on other texts"
    )
    print(f"{'set':26}{'items':>6}{3 * columns}", flush=True)
    low = []
    for of in sets:
        measure = MEASURES[of.name]
        weights = fitted(
            [one for one in sets if MEASURES[one.name].group != measure.group]
        )
        left_out = of.results(weights)
        low += [f"{of.name}: {one}" for one in _failures(left_out, measure.floor)]
        line = f"{of.name:26}{len(of.labels):6}{_columns(left_out)}{_columns(of.results(WEIGHTS))}"
        if measure.trained_floor is not None:
            found = trained(of)
            failures = _failures(found, measure.trained_floor)
            low += [f"{of.name}, trained: {one}" for one in failures]
            line += _columns(found)
        print(f"{line}  {' '.join(map(str, weights))}", flush=True)
    print(
        f"fitted to all: {' '.join(map(str, fitted(sets)))}; in use: {' '.join(map(str, WEIGHTS))}"
    )
    for one in low:
        print(f"BELOW FLOOR: {one}")
    return int(bool(low))


if __name__ == "__main__":
    sys.exit(main())
