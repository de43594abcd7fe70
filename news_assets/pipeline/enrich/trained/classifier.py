"""Probabilities of themes.

A linear model over stems, an embedding and the evidence for the taxonomy's themes.

Each of the parts has length 1: stems weighted by frequency and rarity, the embedding
less the mean embedding, the evidence for themes of level 1, and the roots of the
evidence for all themes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from news_assets.pipeline.enrich.theme_vectors import unit
from news_assets.pipeline.enrich.trained.features import ThemeInput

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

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

        known = [
            (self._columns[stem], count)
            for stem, count in stems.items()
            if stem in self._columns
        ]
        columns = np.array([column for column, _ in known], np.int64)
        counts = np.array([count for _, count in known], np.float32)
        return columns, unit((1 + np.log(counts)) * self.rarity[columns])

    def rest(self, found: ThemeInput, vector: Sequence[float]) -> "Floats":
        """Return the values of the other columns."""
        import numpy as np

        evidence = np.array(
            [max(found.evidence[code], 0.0) for code in self.themes], np.float32
        )
        of_roots = np.array(
            [max(found.evidence[code], 0.0) for code in self.roots], np.float32
        )
        embedding = np.array(vector, np.float32) - self.center
        return np.concatenate(
            [unit(embedding), unit(np.sqrt(evidence)), unit(of_roots)]
        )


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
        scores = (
            values @ self.weights[columns]
            + rest @ self.weights[len(self.space.stems) :]
            + self.bias
        )
        scores = scores + self.untrained_weight * centred(untrained, self.codes)
        return dict(
            zip(
                self.codes,
                softmax(scores[None], self.sharpness)[0].tolist(),
                strict=True,
            )
        )


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
