"""Score themes of level 1 by a taxonomy's words and by vectors, without labelled
articles.

The likeness of an article to a theme is the cosine of its vector and the mean vector of
the theme's texts, both less the mean over all themes. It counts most where a text has
few of the taxonomy's words.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from news_assets.taxonomy.taxonomy_files import Taxonomy, Theme

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

        found = np.array([max(evidence[code], 0.0) for code in self.codes], np.float32)
        length = float(np.linalg.norm(found))
        share = length / (length + _EVIDENCE_AT_HALF_WEIGHT)
        likeness = self.directions @ unit(np.array(vector, np.float32) - self.center)
        scores = share * unit(np.sqrt(found)) + weights.likeness * likeness
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
    """Return the vectors of themes from those of their texts, by code."""
    import numpy as np

    means = np.array(
        [
            unit(np.array(of_theme, np.float32).mean(axis=0))
            for of_theme in vectors.values()
        ]
    )
    center = means.mean(axis=0)
    return ThemeVectors(
        tuple(vectors), center, np.array([unit(mean) for mean in means - center])
    )


def score_of(scores: Mapping[str, float], weights: Weights = WEIGHTS) -> float:
    """Return the probability, rather too low, that the best theme is right."""
    ranked = sorted(scores.values(), reverse=True)
    lead = ranked[0] - ranked[1] if len(ranked) > 1 else ranked[0]
    return 1 / (
        1 + math.exp(-(_SCORE_OFFSET + weights.slope * math.sqrt(max(lead, 0.0))))
    )


def unit(values: "Floats") -> "Floats":
    """Return the vector with length 1; zeros stay zeros."""
    import numpy as np

    length = float(np.linalg.norm(values))
    return values / np.float32(length) if length else values
