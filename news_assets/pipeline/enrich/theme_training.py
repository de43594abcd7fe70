"""Train a classifier of themes on the labelled articles of a desk.

It is measured by cross-validation. Needs scikit-learn.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from news_assets.errors import NewsAssetsError
from news_assets.pipeline.enrich.enriched_rows import labels_in_force, title_and_text
from news_assets.pipeline.enrich.theme_vectors import (
    NO_THEME,
    Space,
    ThemeClassifier,
    ThemeInput,
    ThemeVectors,
    centred,
    softmax,
)
from news_assets.ports.services import Reader
from news_assets.records.articles import RawArticle
from news_assets.records.derived import ArticleEmbedding, EnrichedArticle, ThemeLabel
from news_assets.taxonomy import Taxonomy

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Scores = npt.NDArray[np.float32]
    Places = npt.NDArray[Any]

FOLDS = 5
_MIN_EXAMPLES = 50  # with fewer the calibration is a guess
_MIN_ARTICLES_OF_STEM = 2
_PENALTY = 1.0  # LinearSVC's C
_UNKNOWN_SCORE = -1.3  # of a theme without an example; a decided "no" is about -1
_UNTRAINED_WEIGHTS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
CHECKED_ERROR_RATES = (0.05, 0.1, 0.2)
# Of a wanted error rate, on the texts that scores are fitted to: others have more.
FITTED_SHARE = 0.7
MIN_LABELS_OF_THEME = 5  # one for each part of the cross-validation


@dataclass(frozen=True, slots=True)
class Example:
    """One labelled article.

    Its input, its embedding, its theme of level 1, and the scores of themes without
    labels.
    """

    article_id: str
    found: ThemeInput
    vector: Sequence[float]
    code: str
    untrained: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Validation:
    """Cross-validated results in the order of the examples: the code with the highest
    probability, and this probability.

    `untrained_accuracy` is the share of right themes on the same examples without their
    labels.
    """

    codes: list[str]
    scores: list[float]
    accuracy: float
    untrained_accuracy: float

    def sure(
        self, examples: Sequence[Example], wanted_error_rate: float
    ) -> tuple[float, float]:
        """Return the share of examples with a sure theme (`is_sure`), which need no
        call, and the share of wrong themes among the sure ones.
        """
        sure, wrong = 0, 0
        rows = zip(self.codes, self.scores, examples, strict=True)
        for code, score, example in rows:
            if score >= 1 - wanted_error_rate:
                sure += 1
                wrong += code != example.code
        return sure / len(examples), wrong / max(sure, 1)


def train(
    examples: Sequence[Example], taxonomy: Taxonomy, embedding_model: str
) -> tuple[ThemeClassifier, _Validation]:
    """Train on all examples; return the classifier and its cross-validation scores.

    A theme of level 1 without an example can still be found by its untrained score.

    Raises:
        NewsAssetsError: There are too few examples, or all have one theme.
    """
    import numpy as np

    _check(examples)
    codes = tuple(sorted({example.code for example in examples} | set(taxonomy.roots)))
    untrained = np.stack([centred(example.untrained, codes) for example in examples])
    truth = np.array([codes.index(example.code) for example in examples])
    trained = _held_out_scores(examples, taxonomy, codes)
    held_out = _calibrated(trained, untrained, truth)
    validation = _validation(held_out, untrained, truth, codes)
    space = _space(examples, taxonomy)
    weights, bias = _fit(examples, space, codes)
    classifier = ThemeClassifier(
        space,
        codes,
        weights,
        bias,
        held_out.sharpness,
        taxonomy.version,
        embedding_model,
        held_out.untrained_weight,
    )
    return classifier, validation


class _HeldOut(NamedTuple):
    """Scores of held-out examples, the weight of the untrained scores in them, and the
    factor that makes probabilities of them.
    """

    scores: "Scores"
    untrained_weight: float
    sharpness: float


def _calibrated(trained: "Scores", untrained: "Scores", truth: "Places") -> _HeldOut:
    """Return the mix of both scores that makes the true themes most likely."""
    import numpy as np

    mixed: dict[float, Scores] = {}
    for weight in _UNTRAINED_WEIGHTS:
        mixed[weight] = trained + np.float32(weight) * untrained
    best = max(mixed, key=lambda weight: _likelihood(mixed[weight], truth))
    return _HeldOut(mixed[best], best, _sharpness(mixed[best], truth))


def _validation(
    held_out: _HeldOut, untrained: "Scores", truth: "Places", codes: Sequence[str]
) -> _Validation:
    best = held_out.scores.argmax(axis=1)
    probabilities = softmax(held_out.scores, held_out.sharpness).max(axis=1)
    return _Validation(
        codes=[codes[column] for column in best],
        scores=probabilities.tolist(),
        accuracy=float((best == truth).mean()),
        untrained_accuracy=float((untrained.argmax(axis=1) == truth).mean()),
    )


def _held_out_scores(
    examples: Sequence[Example], taxonomy: Taxonomy, codes: Sequence[str]
) -> "Scores":
    """Return the scores of each example by a classifier of the other folds, a row for
    each.
    """
    import numpy as np

    folds = np.array(folds_of(examples))
    scores = np.empty((len(examples), len(codes)), np.float32)
    for fold in range(FOLDS):
        rest = [examples[place] for place in np.flatnonzero(folds != fold).tolist()]
        held_out = [examples[place] for place in np.flatnonzero(folds == fold).tolist()]
        space = _space(rest, taxonomy)
        weights, bias = _fit(rest, space, codes)
        scores[folds == fold] = _matrix(held_out, space) @ weights + bias
    return scores


def data_hash(examples: Sequence[Example]) -> str:
    """Return the SHA-256 of what a classifier is trained on."""
    content = sorted(
        (one.article_id, one.code, sorted(one.found.stems.items()), one.found.text)
        for one in examples
    )
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _check(examples: Sequence[Example]) -> None:
    themes = len({example.code for example in examples})
    if len(examples) < _MIN_EXAMPLES or themes < 2:
        raise NewsAssetsError(
            f"{len(examples)} labelled articles with {themes} themes are too few to train on; "
            f"label at least {_MIN_EXAMPLES} with two themes (`news-assets label`), "
            "or enrich them with a language model"
        )


def folds_of(examples: Sequence[Example]) -> list[int]:
    """Return the fold of each example: each theme evenly over all folds, the same at
    every call.
    """
    keys: list[tuple[str, bytes, int]] = []
    for place, example in enumerate(examples):
        digest = hashlib.sha256(example.article_id.encode()).digest()
        keys.append((example.code, digest, place))
    folds = [0] * len(examples)
    for rank, (_, _, place) in enumerate(sorted(keys)):
        folds[place] = rank % FOLDS
    return folds


def _space(examples: Sequence[Example], taxonomy: Taxonomy) -> Space:
    import numpy as np

    articles = Counter(chain.from_iterable(example.found.stems for example in examples))
    frequent: list[str] = []
    for stem, count in articles.items():
        if count >= _MIN_ARTICLES_OF_STEM:
            frequent.append(stem)
    stems = tuple(sorted(frequent))
    counts = np.array([articles[stem] for stem in stems])
    rarity = (1 + np.log((1 + len(examples)) / (1 + counts))).astype(np.float32)
    center = np.array([example.vector for example in examples], np.float32).mean(axis=0)
    return Space(stems, rarity, center, tuple(taxonomy.themes), taxonomy.roots)


def _matrix(examples: Sequence[Example], space: Space) -> Any:
    """Return the features of the examples, a sparse matrix with a row for each."""
    import numpy as np
    from scipy.sparse import csr_matrix, hstack  # type: ignore[import-untyped]

    rows = [space.words(example.found.stems) for example in examples]
    starts = np.cumsum([0, *(len(columns) for columns, _ in rows)])
    indices = np.concatenate([columns for columns, _ in rows])
    values = np.concatenate([values for _, values in rows])
    stems = csr_matrix((values, indices, starts), shape=(len(rows), len(space.stems)))
    rest = csr_matrix(
        np.array([space.rest(example.found, example.vector) for example in examples])
    )
    return hstack([stems, rest]).tocsr()


def _fit(
    examples: Sequence[Example], space: Space, codes: Sequence[str]
) -> "tuple[Scores, Scores]":
    """Return the weights (a column for each code) and biases.

    _UNKNOWN_SCORE for codes without an example.
    """
    import numpy as np
    from sklearn.svm import LinearSVC  # type: ignore[import-untyped]

    model = LinearSVC(C=_PENALTY, class_weight="balanced", random_state=0)
    model.fit(_matrix(examples, space), [one.code for one in examples])
    found = model.coef_.T.astype(np.float32)
    found_bias = model.intercept_.astype(np.float32)
    if found.shape[1] == 1:  # of two themes only the second has weights
        found = np.hstack([-found, found])
        found_bias = np.concatenate([-found_bias, found_bias])
    columns = [codes.index(code) for code in model.classes_]
    weights = np.zeros((found.shape[0], len(codes)), np.float32)
    bias = np.full(len(codes), _UNKNOWN_SCORE, np.float32)
    weights[:, columns] = found
    bias[columns] = found_bias
    return weights, bias


def _sharpness(scores: "Scores", truth: "Places") -> float:
    """Return the factor that makes the held-out themes most likely, or a safer, lower
    one.

    At each of CHECKED_ERROR_RATES, FITTED_SHARE of it must hold with a standard error
    more of wrong themes than there are.
    """
    likely = _most_likely(scores, truth)
    is_right = scores.argmax(axis=1) == truth
    for sharpness in [likely * 0.9**step for step in range(30)]:
        probabilities = softmax(scores, sharpness).max(axis=1)
        if _keeps_all_rates(is_right, probabilities):
            return float(sharpness)
    return float(likely * 0.9**30)


def _keeps_all_rates(is_right: "Places", probabilities: "Scores") -> bool:
    return all(
        _is_kept(is_right[probabilities >= 1 - rate], rate)
        for rate in CHECKED_ERROR_RATES
    )


def _is_kept(is_right: "Places", wanted_error_rate: float) -> bool:
    count = len(is_right)
    wrong = int((~is_right).sum())
    allowed = FITTED_SHARE * wanted_error_rate * count
    if wrong == 0:
        return True
    return wrong + math.sqrt(wrong) <= allowed


def _most_likely(scores: "Scores", truth: "Places") -> float:
    import numpy as np

    factors = np.geomspace(0.3, 30, 60)
    return float(max(factors, key=lambda one: _log_likelihood(scores, truth, one)))


def _likelihood(scores: "Scores", truth: "Places") -> float:
    """Return the log-likelihood of the held-out themes with the best factor."""
    return _log_likelihood(scores, truth, _most_likely(scores, truth))


def _log_likelihood(scores: "Scores", truth: "Places", sharpness: float) -> float:
    import numpy as np

    of_truth = softmax(scores, sharpness)[np.arange(len(truth)), truth]
    return float(np.log(of_truth + 1e-12).sum())


_READ_TOGETHER = 500  # articles, whose texts and vectors are in memory at once

_ThemeInputOf = Callable[[str, str, str | None], ThemeInput]


@dataclass(frozen=True, slots=True)
class _Labels:
    """Codes of level 1 by article id, NO_THEME among them, and the model of the
    articles' vectors.

    `by_person` is the number of labels that persons gave.
    """

    codes: dict[str, str]
    by_person: int
    embedding_model: str


def labels_of(lake: Reader, desk: str, taxonomy: Taxonomy) -> _Labels:
    """Return the labels of a desk: those of language models, replaced by those of
    persons.

    Articles without a vector, copies that took their original's theme, and codes that
    the taxonomy has no longer are left out. That no theme fits is learnt from persons
    only.

    Raises:
        NewsAssetsError: The desk has no vectors.
    """
    models = _embedding_models(lake, desk)
    [(model, _)] = Counter(models.values()).most_common(1)
    given = labels_in_force(lake.read(ThemeLabel, desk=[desk]))
    codes = _codes_of_models(lake, desk)
    for article_id, label in given.items():
        codes[article_id] = label.code or NO_THEME
    usable: dict[str, str] = {}
    for article_id, code in sorted(codes.items()):
        root = _root_of(code, taxonomy)
        if root is None:
            continue
        if models.get(article_id) == model:
            usable[article_id] = root
    return _Labels(usable, len(usable.keys() & given.keys()), model)


def _embedding_models(lake: Reader, desk: str) -> dict[str, str]:
    """Return the model of each vector of a desk, by article id."""
    columns = ("article_id", "model")
    embedded = lake.frame(ArticleEmbedding, None, columns, desk=[desk], outcome=["ok"])
    models: dict[str, str] = dict(embedded.iter_rows())
    if not models:
        raise NewsAssetsError(
            f"desk {desk} has no embeddings to train on; run `article_embeddings` first"
        )
    return models


def _root_of(code: str | None, taxonomy: Taxonomy) -> str | None:
    """Return the theme of level 1 above a label's; None for a theme of another
    taxonomy.
    """
    if code == NO_THEME:
        return NO_THEME
    if code is None:
        return None
    if code not in taxonomy.themes:
        return None
    return taxonomy.path(code)[0]


def _codes_of_models(lake: Reader, desk: str) -> dict[str, str | None]:
    """Return the themes that language models gave, by article id, without those of
    copies.
    """
    columns = ("article_id", "enricher", "theme_code", "reused_from")
    enriched = lake.frame(EnrichedArticle, None, columns, desk=[desk], outcome=["ok"])
    return {
        article_id: code
        for article_id, enricher, code, original in enriched.iter_rows()
        if enricher != "local" and original is None
    }


def examples_of(
    lake: Reader,
    labels: _Labels,
    theme_input: _ThemeInputOf,
    vectors: ThemeVectors | None,
) -> list[Example]:
    """Return an example for each label whose article has a text and a vector.

    Without `vectors` the themes have no untrained scores.
    """
    ids = list(labels.codes)
    examples: list[Example] = []
    for start in range(0, len(ids), _READ_TOGETHER):
        part = ids[start : start + _READ_TOGETHER]
        examples += _examples(lake, part, labels, theme_input, vectors)
    return examples


def _examples(
    lake: Reader,
    ids: Sequence[str],
    labels: _Labels,
    theme_input: _ThemeInputOf,
    vectors: ThemeVectors | None,
) -> Iterator[Example]:
    embeddings = lake.read(ArticleEmbedding, article_id=ids, outcome=["ok"])
    embedded = {row.article_id: row.vector for row in embeddings}
    enriched = lake.read(EnrichedArticle, article_id=ids)
    languages = {row.article_id: row.language for row in enriched}
    for article in lake.read(RawArticle, article_id=ids, outcome=["ok"]):
        article_id = article.article_id
        language = languages.get(article.article_id)
        found = theme_input(*title_and_text(article), language)
        if not found.text:
            continue
        if article_id not in embedded:
            continue
        untrained: dict[str, float] = {}
        if vectors is not None:
            untrained = vectors.scores(found.evidence, embedded[article_id])
        yield Example(
            article_id, found, embedded[article_id], labels.codes[article_id], untrained
        )
