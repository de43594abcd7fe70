"""Whether two articles are about one event: parts, weights and thresholds."""

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Bools = NDArray[np.bool_]


class Parts(NamedTuple):
    """What an article has in common with each of several others, 0 to 1.

    vector: Cosine of their vectors, above that of unrelated articles.
    words: Cosine of their stems by TF-IDF.
    names: Cosine of their capitalised words by IDF.
    numbers: The same of their numbers.
    days: The days between them, in windows.
    """

    vector: "Floats"
    words: "Floats"
    names: "Floats"
    numbers: "Floats"
    days: "Floats"


# Mean cosine of unrelated articles by model: of the sets of `quality/stories.py`. The
# vectors of a model that is not here are taken to be spread over all directions.
_UNRELATED: Final = {"multilingual-e5-small-q4": 0.75, "all-MiniLM-L6-v2": 0.05}


def above_unrelated(cosines: "Floats", model: str) -> "Floats":
    """Return cosines such that 0 is that of unrelated articles and 1 that of equals."""
    unrelated = _UNRELATED.get(model, 0.0)
    return ((cosines - unrelated) / (1 - unrelated)).clip(0, 1)


class Weights(NamedTuple):
    """The weight of each part in the log-odds of being about one event, and their
    constant.
    """

    vector: float
    words: float
    names: float
    numbers: float
    days: float
    constant: float


# Logistic regression over the pairs of ECB+ and of CSTNews among other texts, each set
# with the same weight, a pair of one event with that of twenty others. No set has both
# days and events: a week apart is as if a tenth of the words were not shared.
SAME_LANGUAGE: Final = Weights(9.1, 5.0, 7.7, 6.7, -0.5, -11.4)
# The same over translated sentences of SIB-200, with a lower constant: among 1,900 of
# them 95 % find a translation with -11.2 and 8 % another sentence, 90 % and 5 % with
# this. Stems of two languages are seldom equal.
OTHER_LANGUAGE: Final = Weights(27.9, 0.0, 4.2, 5.0, -0.5, -12.6)


def probabilities(parts: Parts, is_same_language: "Bools") -> "Floats":
    """Return how probable it is of each that both articles are about one event."""
    import numpy as np

    same, other = (
        log_odds(parts, weights) for weights in (SAME_LANGUAGE, OTHER_LANGUAGE)
    )
    odds = np.exp(np.where(is_same_language, same, other))
    return (odds / (1 + odds)).astype(np.float32)  # type: ignore[no-any-return]  # numpy types it Any


def log_odds(parts: Parts, weights: Weights) -> "Floats":
    """Return the log-odds that these weights give."""
    total = parts.vector * 0 + weights.constant
    for part, weight in zip(parts, weights, strict=False):
        total = total + part * weight
    return total
