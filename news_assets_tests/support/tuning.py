"""Finds the values of a method's thresholds that score best on labelled sets."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

Thresholds = TypeVar("Thresholds", bound=NamedTuple)


def tuned(
    first: Thresholds,
    grid: Mapping[str, Sequence[float]],
    score: Callable[[Thresholds], float],
) -> Thresholds:
    """Return the thresholds with the highest score; the first of equal ones.

    They are found one at a time, in two passes over the grid from the first value of
    each.
    """
    found = first._replace(**{name: values[0] for name, values in grid.items()})
    for name in [*grid, *grid]:
        found = max(
            (found._replace(**{name: value}) for value in grid[name]), key=score
        )
    return found
