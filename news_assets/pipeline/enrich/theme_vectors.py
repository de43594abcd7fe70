"""Themes of level 1 by vectors and by a classifier that is trained on a desk's labels.

Without labels, the likeness of an article to a theme is the cosine of its vector and
the mean vector of the theme's texts, both less the mean over all themes. It counts most
where a text has few of the taxonomy's words.

With labels, a linear model gives the probabilities of themes. Each part of its input
has length 1: stems weighted by frequency and rarity, the embedding less the mean
embedding, the evidence for themes of level 1, and the roots of the evidence for all
themes.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from news_assets.errors import EmbedError, EnrichError
from news_assets.pipeline.embed import embedding_text
from news_assets.pipeline.enrich.theme_words import (
    MAX_CHARS,
    FoundTheme,
    ThemeTable,
    descend,
)
from news_assets.ports.search_index import Embedder
from news_assets.ports.services import Enricher
from news_assets.records.reading import Enrichment
from news_assets.taxonomy import Taxonomy, Theme
from news_assets.text.prose import prose
from news_assets.text.words import stem, stopwords, words

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

VERSION = "vectors-3"  # changed with every change to the scores

# Length of the evidence that counts half. With 5 and 20 the results are within .01 of
# these. Newspaper articles have evidence of a length of 18 in the median, single
# sentences of 1.
_EVIDENCE_AT_HALF_WEIGHT = 10.0
# In the logit of the score: of two themes with equal scores the first is right in a
# third of the texts.
_SCORE_OFFSET = -0.6
# Of the best theme, before it is made a probability: texts about nothing ("Leia mais",
# "Nothing.") have up to 0.051.
MIN_BEST = 0.052


class Weights(NamedTuple):
    """How the likeness counts beside the evidence, and how the lead of the best theme
    is its score.

    Set on six labelled sets of news and sentences.
    `news_assets_tests/quality/trained_themes.py` prints the results on each set with
    the weights set on the others.
    """

    likeness: float = 0.4
    slope: float = 4.5
    """Of the logit of the score over the square root of the lead."""


WEIGHTS = Weights()

_PARTS: tuple[Callable[[Theme], Mapping[str, tuple[str, ...]]], ...] = (
    lambda theme: theme.labels,
    lambda theme: theme.descriptions,
    lambda theme: theme.keywords,
    lambda theme: theme.includes,
    lambda theme: theme.examples,
)


@dataclass(frozen=True)
class ThemeVectors:
    """The vectors of themes of level 1: `directions` has a unit row for each of
    `codes`.
    """

    codes: tuple[str, ...]
    center: "Floats"
    directions: "Floats"

    def scores(
        self,
        evidence: Mapping[str, float],
        vector: Sequence[float],
        weights: Weights = WEIGHTS,
    ) -> dict[str, float]:
        """Return the score of each theme from the evidence of words and the article's
        vector.
        """
        import numpy as np

        found = _evidence_of(evidence, self.codes)
        length = float(np.linalg.norm(found))
        share = length / (length + _EVIDENCE_AT_HALF_WEIGHT)
        likeness = self.directions @ _unit(np.array(vector, np.float32) - self.center)
        scores = share * _unit(np.sqrt(found)) + weights.likeness * likeness
        return dict(zip(self.codes, scores.tolist(), strict=True))


def theme_texts(taxonomy: Taxonomy) -> dict[str, list[str]]:
    """Return the texts of each theme of level 1 and of those below it in all languages,
    by code.

    Vectors of texts in several languages are better than those in one (by .01 on two
    sets of six, elsewhere the same), and are used for articles in any language.
    """
    texts: dict[str, list[str]] = {code: [] for code in taxonomy.roots}
    for code, theme in taxonomy.themes.items():
        texts[taxonomy.path(code)[0]] += _texts(theme)
    return texts


def _texts(theme: Theme) -> list[str]:
    found = []
    for part in _PARTS:
        found += ["; ".join(texts) for texts in part(theme).values()]
    for examples in theme.examples.values():
        found += examples
    return found


def theme_vectors(vectors: Mapping[str, Sequence[Sequence[float]]]) -> ThemeVectors:
    """Return the vectors of themes by code, from the vectors of their texts."""
    import numpy as np

    means = np.array(
        [
            _unit(np.array(of_theme, np.float32).mean(axis=0))
            for of_theme in vectors.values()
        ]
    )
    center = means.mean(axis=0)
    directions = np.array([_unit(mean) for mean in means - center])
    return ThemeVectors(tuple(vectors), center, directions)


def score_of(scores: Mapping[str, float], weights: Weights = WEIGHTS) -> float:
    """Return the probability, rather too low, that the best theme is right."""
    first, second = [*sorted(scores.values(), reverse=True), 0.0][:2]
    logit = _SCORE_OFFSET + weights.slope * math.sqrt(max(first - second, 0.0))
    return 1 / (1 + math.exp(-logit))


def _evidence_of(evidence: Mapping[str, float], codes: Sequence[str]) -> "Floats":
    """Return the evidence for these themes; 0 where it is against them."""
    import numpy as np

    return np.array([max(evidence[code], 0.0) for code in codes], np.float32)


def _unit(values: "Floats") -> "Floats":
    """Return the vector with length 1; zeros stay zeros."""
    import numpy as np

    length = float(np.linalg.norm(values))
    return values / np.float32(length) if length else values


_TITLE_REPEATS = 3


@dataclass(frozen=True, slots=True)
class ThemeInput:
    """Counts of stems, evidence by theme code, and the text to embed, empty without
    words.
    """

    stems: Mapping[str, int]
    evidence: Mapping[str, float]
    text: str


def theme_input(
    table: ThemeTable, title: str, text: str, language: str | None
) -> ThemeInput:
    """Return the input of one article; its title counts _TITLE_REPEATS times."""
    plain = prose(text)
    stop = stopwords(language)
    found = [*words(title) * _TITLE_REPEATS, *words(plain[:MAX_CHARS])]
    stems = Counter(stem(word, language) for word in found if word not in stop)
    return ThemeInput(
        dict(stems), table.evidence(title, plain), embedding_text(title, text, None)
    )


NO_THEME = ""  # the code of articles that no theme fits


@dataclass(frozen=True)
class Space:
    """The features: columns of stems with their rarity, of the embedding, and of the
    themes.
    """

    stems: tuple[str, ...]
    rarity: "Floats"
    center: "Floats"
    themes: tuple[str, ...]
    roots: tuple[str, ...]

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {stem: column for column, stem in enumerate(self.stems)}

    def words(self, stems: Mapping[str, int]) -> "tuple[npt.NDArray[np.int64], Floats]":
        """Return columns and values of the stems that the space knows."""
        import numpy as np

        columns: list[int] = []
        counts: list[int] = []
        for word, count in stems.items():
            if word in self._columns:
                columns.append(self._columns[word])
                counts.append(count)
        places = np.array(columns, np.int64)
        frequency = 1 + np.log(np.array(counts, np.float32))
        return places, _unit(frequency * self.rarity[places])

    def rest(self, found: ThemeInput, vector: Sequence[float]) -> "Floats":
        """Return the values of the other columns."""
        import numpy as np

        embedding = np.array(vector, np.float32) - self.center
        evidence = np.sqrt(_evidence_of(found.evidence, self.themes))
        of_roots = _evidence_of(found.evidence, self.roots)
        return np.concatenate([_unit(embedding), _unit(evidence), _unit(of_roots)])


@dataclass(frozen=True)
class ThemeClassifier:
    """A trained model. `weights` has a row for each feature and a column for each of
    `codes`.

    `untrained_weight` is that of the scores that themes have without labels. One of the
    codes may be NO_THEME.
    """

    space: Space
    codes: tuple[str, ...]
    weights: "Floats"
    bias: "Floats"
    sharpness: float
    taxonomy_version: str
    embedding_model: str
    untrained_weight: float = 0.0

    def probabilities(
        self, found: ThemeInput, vector: Sequence[float], untrained: Mapping[str, float]
    ) -> dict[str, float]:
        """Return the probability of each code that the classifier knows."""
        columns, values = self.space.words(found.stems)
        rest = self.space.rest(found, vector)
        of_words = values @ self.weights[columns]
        of_rest = rest @ self.weights[len(self.space.stems) :]
        scores = of_words + of_rest + self.bias
        scores = scores + self.untrained_weight * centred(untrained, self.codes)
        probabilities = softmax(scores[None], self.sharpness)[0].tolist()
        return dict(zip(self.codes, probabilities, strict=True))


def centred(untrained: Mapping[str, float], codes: Sequence[str]) -> "Floats":
    """Return the untrained scores in the order of the codes, less their mean.

    0 for a code without one.
    """
    import numpy as np

    mean = sum(untrained.values()) / max(len(untrained), 1)
    return np.array([untrained.get(code, mean) - mean for code in codes], np.float32)


def softmax(scores: "Floats", sharpness: float) -> "Floats":
    """Return probabilities by row."""
    import numpy as np

    powers = np.exp(sharpness * (scores - scores.max(axis=1, keepdims=True)))
    return powers / powers.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]  # numpy types it Any


class VectorEnricher:
    """Summary and keywords of the local enricher.

    A theme from words, the article's vector and a classifier.

    They give the theme of level 1; the levels below are found by the taxonomy's words.

    Args:
        local: Finds all but the theme.
        theme_input: Returns what is read of an article.
        vectors: Returns the vectors of the themes.
        taxonomy: Whose themes are given.
        embedder: Gives the article's vector.
        classifier: That of the desk, if it has one.
        version: That of the classifier.
    """

    def __init__(
        self,
        local: Enricher,
        theme_input: Callable[[str, str, str | None], ThemeInput],
        vectors: Callable[[], ThemeVectors],
        taxonomy: Taxonomy,
        embedder: Embedder,
        classifier: ThemeClassifier | None = None,
        version: str = VERSION,
    ) -> None:
        self.name, self.model = local.name, f"{local.model}+{version}"
        self.prompt_version = local.prompt_version
        self.taxonomy_version = local.taxonomy_version
        self._local = local
        self._theme_input = theme_input
        self._vectors = vectors
        self._taxonomy, self._embedder = taxonomy, embedder
        self._classifier = classifier

    def enrich(self, title: str, text: str, language: str | None) -> Enrichment:
        """Return the enrichment of one article.

        Raises:
            EnrichError: Of the local enricher, or the text cannot be embedded.
        """
        enrichment = self._local.enrich(title, text, language)
        read = self._theme_input(title, text, enrichment.language)
        if not read.text:
            return enrichment
        found = self._found_theme(read, enrichment.theme_reason)
        return replace(
            enrichment,
            theme_path=found.path,
            theme_labels=self._taxonomy.labels(found.path, enrichment.language),
            theme_score=round(found.score, 4),
            theme_reason=found.reason,
        )

    def _found_theme(self, read: ThemeInput, reason: str | None) -> FoundTheme:
        """Return the theme by the classifier, or without one by the untrained scores;
        `reason` is why the words alone give none.
        """
        try:
            vector = self._embedder.embed([read.text])[0].vector
            scores = self._vectors().scores(read.evidence, vector)
        except EmbedError as error:
            raise EnrichError(f"no theme without an embedding: {error}") from error
        if self._classifier is None:
            return self._untrained(scores, read, reason)
        probabilities = self._classifier.probabilities(read, vector, scores)
        return self._trained(probabilities, read)

    def _untrained(
        self, scores: dict[str, float], read: ThemeInput, reason: str | None
    ) -> FoundTheme:
        """Return the theme; for a text without evidence `reason`, which names what is
        missing.
        """
        best = max(scores, key=lambda code: scores[code])
        score = score_of(scores)
        if scores[best] < MIN_BEST:
            if any(evidence > 0 for evidence in read.evidence.values()):
                reason = "the evidence is weak"
            return FoundTheme((), score, reason)
        return FoundTheme(self._path(best, read), score)

    def _trained(self, probabilities: dict[str, float], read: ThemeInput) -> FoundTheme:
        best = max(probabilities, key=lambda code: probabilities[code])
        score = probabilities[best]
        if best == NO_THEME:
            reason = "no theme fits: articles like this one were labelled so"
            return FoundTheme((), score, reason)
        return FoundTheme(self._path(best, read), score)

    def _path(self, code: str, read: ThemeInput) -> tuple[str, ...]:
        return descend(self._taxonomy, code, lambda each: read.evidence[each])
