"""Score themes of level 1 by a taxonomy's words and by vectors, without labelled articles.

The likeness of an article to a theme is the cosine of its vector and the mean vector of the theme's texts, both less
the mean over all themes. It counts most where a text has few of the taxonomy's words.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from news_assets.taxonomy.loader import Taxonomy, Theme

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

VERSION = "vectors-1"  # changed with every change to the scores

# Of the values 2, 5, 10 and .4, .6, .8, 1 these are the best on average over six labelled sets, and within .02 of the
# best on each. Texts of newspapers have evidence of a length of 18 in the median, single sentences of 1.
EVIDENCE_AT_HALF_WEIGHT = 5.0
LIKENESS_WEIGHT = 0.6
# Scores are lower than the share of right themes on most sets, so that on each set at most 10 % of the themes with a
# score of .9 and more are wrong.
SHARPNESS = 8.0
SCORE_OFFSET, SCORE_SLOPE = 0.7, 0.67
MIN_SCORE = 0.3

_PARTS: tuple[Callable[[Theme], Mapping[str, tuple[str, ...]]], ...] = (
    lambda theme: theme.labels,
    lambda theme: theme.descriptions,
    lambda theme: theme.keywords,
    lambda theme: theme.includes,
    lambda theme: theme.examples,
)


@dataclass(frozen=True)
class ThemeVectors:
    """The vectors of themes of level 1: `directions` has a unit row for each of `codes`."""

    codes: tuple[str, ...]
    center: "Floats"
    directions: "Floats"

    def scores(self, evidence: Mapping[str, float], vector: Sequence[float]) -> dict[str, float]:
        """Return the score of each theme from the evidence of its words and the article's vector."""
        import numpy as np

        found = np.array([max(evidence[code], 0.0) for code in self.codes], np.float32)
        length = float(np.linalg.norm(found))
        weight = length / (length + EVIDENCE_AT_HALF_WEIGHT)
        likeness = self.directions @ unit(np.array(vector, np.float32) - self.center)
        scores = weight * unit(np.sqrt(found)) + LIKENESS_WEIGHT * likeness
        return dict(zip(self.codes, scores.tolist(), strict=True))


def theme_texts(taxonomy: Taxonomy, language: str | None) -> dict[str, list[str]]:
    """Return the texts of each theme of level 1 and of those below it, by code.

    They are in the given language, or in all languages where the taxonomy has none in it.
    """
    texts: dict[str, list[str]] = {code: [] for code in taxonomy.roots}
    is_known = any(language in theme.labels for theme in taxonomy.themes.values())
    for code, theme in taxonomy.themes.items():
        texts[taxonomy.path(code)[0]] += _texts(theme, language if is_known else None)
    return texts


def _texts(theme: Theme, language: str | None) -> list[str]:
    found = []
    for part in _PARTS:
        for of_language, texts in part(theme).items():
            if language in (None, of_language) or not of_language:
                found.append("; ".join(texts))
    for of_language, examples in theme.examples.items():
        if language in (None, of_language) or not of_language:
            found += examples
    return found


def theme_vectors(vectors: Mapping[str, Sequence[Sequence[float]]]) -> ThemeVectors:
    """Return the vectors of themes from those of their texts, by code."""
    import numpy as np

    means = np.array([unit(np.array(of_theme, np.float32).mean(axis=0)) for of_theme in vectors.values()])
    center = means.mean(axis=0)
    return ThemeVectors(tuple(vectors), center, np.array([unit(mean) for mean in means - center]))


def score_of(scores: Mapping[str, float], code: str) -> float:
    """Return the lower estimate of the probability that this theme is right, from the scores of all."""
    others = [SHARPNESS * (score - scores[code]) for other, score in scores.items() if other != code]
    if not others:
        return 1 / (1 + math.exp(-SCORE_OFFSET))
    log_odds = -math.log(sum(math.exp(other) for other in others))
    return 1 / (1 + math.exp(-(SCORE_OFFSET + SCORE_SLOPE * log_odds)))


def unit(values: "Floats") -> "Floats":
    """Return the vector with length 1; zeros stay zeros."""
    import numpy as np

    length = float(np.linalg.norm(values))
    return values / np.float32(length) if length else values
