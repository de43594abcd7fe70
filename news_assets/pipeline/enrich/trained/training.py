"""Train a classifier of themes, and measure it by cross-validation. Needs scikit-learn."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from news_assets.errors import NewsAssetsError
from news_assets.pipeline.enrich.trained.classifier import Space, ThemeClassifier, softmax
from news_assets.pipeline.enrich.trained.features import ThemeInput
from news_assets.taxonomy.loader import Taxonomy

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Scores = npt.NDArray[np.float32]

FOLDS = 5
MIN_EXAMPLES = 50  # with fewer the calibration is a guess
MIN_ARTICLES_OF_STEM = 2
PENALTY = 0.5  # LinearSVC's C
UNKNOWN_SCORE = -2.0  # of a theme that a fold has no example of; a decided "no" is about -1


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled article: its input, its embedding, and its theme of level 1."""

    article_id: str
    found: ThemeInput
    vector: Sequence[float]
    code: str


@dataclass(frozen=True, slots=True)
class Validation:
    """Cross-validated results in the order of the examples: the best code and its probability."""

    codes: list[str]
    scores: list[float]
    accuracy: float

    def sure(self, examples: Sequence[Example], wanted_error_rate: float) -> tuple[float, float]:
        """Return the share of sure themes (`is_sure`), which are the calls saved, and the share of these wrong."""
        kept = [
            code == example.code
            for code, score, example in zip(self.codes, self.scores, examples, strict=True)
            if score >= 1 - wanted_error_rate
        ]
        return len(kept) / len(examples), 1 - sum(kept) / len(kept) if kept else 0.0


def train(examples: Sequence[Example], taxonomy: Taxonomy, embedding_model: str) -> tuple[ThemeClassifier, Validation]:
    """Return a classifier of all examples, and how its likes did on the examples that each was not trained on.

    Raises:
        NewsAssetsError: There are too few examples, or all have one theme.
    """
    import numpy as np

    _check(examples)
    codes = tuple(sorted({example.code for example in examples}))
    held = folds_of(examples)
    scores = np.full((len(examples), len(codes)), UNKNOWN_SCORE, np.float32)
    for fold in range(FOLDS):
        rest = [example for example, at in zip(examples, held, strict=True) if at != fold]
        test = [place for place, at in enumerate(held) if at == fold]
        space = _space(rest, taxonomy)
        known, weights, bias = _fit(rest, space)
        columns = [codes.index(code) for code in known]
        scores[np.ix_(test, columns)] = _matrix([examples[place] for place in test], space) @ weights + bias
    truth = [codes.index(example.code) for example in examples]
    sharpness = _sharpness(scores, truth)
    best = scores.argmax(axis=1)
    validation = Validation(
        [codes[column] for column in best],
        softmax(scores, sharpness).max(axis=1).tolist(),
        float((best == truth).mean()),
    )
    space = _space(examples, taxonomy)
    known, weights, bias = _fit(examples, space)
    return ThemeClassifier(space, known, weights, bias, sharpness, taxonomy.version, embedding_model), validation


def data_hash(examples: Sequence[Example]) -> str:
    """Return the SHA-256 of what a classifier is trained on."""
    content = sorted((one.article_id, one.code, sorted(one.found.stems.items()), one.found.text) for one in examples)
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _check(examples: Sequence[Example]) -> None:
    themes = len({example.code for example in examples})
    if len(examples) < MIN_EXAMPLES or themes < 2:
        raise NewsAssetsError(
            f"{len(examples)} labelled articles with {themes} themes are too few to train on; "
            f"label at least {MIN_EXAMPLES} with two themes (`news-assets label`), or enrich them with a language model"
        )


def folds_of(examples: Sequence[Example]) -> list[int]:
    """Return the fold of each example: each theme evenly over all folds, the same at every call."""
    order = sorted(
        range(len(examples)),
        key=lambda place: (examples[place].code, hashlib.sha256(examples[place].article_id.encode()).digest()),
    )
    folds = [0] * len(examples)
    for rank, place in enumerate(order):
        folds[place] = rank % FOLDS
    return folds


def _space(examples: Sequence[Example], taxonomy: Taxonomy) -> Space:
    import numpy as np

    articles = Counter(stem for example in examples for stem in example.found.stems)
    stems = tuple(sorted(stem for stem, count in articles.items() if count >= MIN_ARTICLES_OF_STEM))
    rarity = [1 + math.log((1 + len(examples)) / (1 + articles[stem])) for stem in stems]
    center = np.array([example.vector for example in examples], np.float32).mean(axis=0)
    return Space(stems, np.array(rarity, np.float32), center, tuple(taxonomy.themes), taxonomy.roots)


def _matrix(examples: Sequence[Example], space: Space) -> Any:
    """Return the features of the examples, a sparse matrix with a row for each."""
    import numpy as np
    from scipy.sparse import csr_matrix, hstack  # type: ignore[import-untyped]

    rows = [space.words(example.found.stems) for example in examples]
    starts = np.cumsum([0, *(len(columns) for columns, _ in rows)])
    indices = np.concatenate([columns for columns, _ in rows])
    values = np.concatenate([values for _, values in rows])
    stems = csr_matrix((values, indices, starts), shape=(len(rows), len(space.stems)))
    rest = csr_matrix(np.array([space.rest(example.found, example.vector) for example in examples]))
    return hstack([stems, rest]).tocsr()


def _fit(examples: Sequence[Example], space: Space) -> tuple[tuple[str, ...], "Scores", "Scores"]:
    """Return the codes of the examples with their weights (a column each) and biases."""
    import numpy as np
    from sklearn.svm import LinearSVC  # type: ignore[import-untyped]

    model = LinearSVC(C=PENALTY, random_state=0).fit(_matrix(examples, space), [one.code for one in examples])
    weights, bias = model.coef_.T.astype(np.float32), model.intercept_.astype(np.float32)
    if weights.shape[1] == 1:  # of two themes only the second has weights
        weights, bias = np.hstack([-weights, weights]), np.concatenate([-bias, bias])
    return tuple(map(str, model.classes_)), weights, bias


def _sharpness(scores: "Scores", truth: Sequence[int]) -> float:
    """Return the factor with which the probabilities of the held-out themes are the most likely."""
    import numpy as np

    rows = np.arange(len(truth))
    choices = np.geomspace(0.3, 30, 120)
    return float(max(choices, key=lambda one: np.log(softmax(scores, one)[rows, truth] + 1e-12).sum()))
