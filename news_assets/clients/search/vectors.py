"""Unit vectors, which both backends store and compare."""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from news_assets.errors import IndexingError

Float64s = npt.NDArray[np.float64]


def unit_vectors(vectors: Sequence[Sequence[float] | None]) -> list[Float64s | None]:
    """Return each vector scaled to length 1; None for None and for a vector without a
    direction.

    A vector has no direction if it is empty, all zeros, or holds a value that is not
    finite.
    """
    units: list[Float64s | None] = [None] * len(vectors)
    for positions, rows in _matrices(vectors):
        highest = np.abs(rows).max(axis=1, keepdims=True)
        has_direction = np.isfinite(highest) & (highest > 0)
        # Divided by its highest value first, so that no square overflows or vanishes.
        scaled = np.divide(rows, highest, out=np.zeros_like(rows), where=has_direction)
        norms = np.sqrt(np.vecdot(scaled, scaled))[:, None]
        np.divide(scaled, norms, out=scaled, where=has_direction)
        for position, unit, is_usable in zip(
            positions, scaled, has_direction[:, 0].tolist(), strict=True
        ):
            units[position] = unit if is_usable else None
    return units


def _matrices(
    vectors: Sequence[Sequence[float] | None],
) -> Iterator[tuple[list[int], Float64s]]:
    """Yield the non-empty vectors of each dimension as the rows of one matrix, with
    their positions.
    """
    of_dim: dict[int, list[int]] = {}
    for position, vector in enumerate(vectors):
        if vector:
            of_dim.setdefault(len(vector), []).append(position)
    for dim, positions in of_dim.items():
        values = chain.from_iterable(vectors[position] or () for position in positions)
        yield (
            positions,
            np.fromiter(values, np.float64, dim * len(positions)).reshape(-1, dim),
        )


def check_query_vector(where: object, vector: Sequence[float], dim: int | None) -> None:
    """Raise IndexingError, which names the index by `where`, if the query's vector does
    not fit its vectors.
    """
    if dim is not None and len(vector) != dim:
        raise IndexingError(
            f"{where}: the query has {len(vector)} dimensions, the index has {dim}; use the model"
            " the index was made with, or embed everything with the other model, then run"
            " `news-assets rebuild search`"
        )
    if unit_vectors([vector])[0] is None:
        raise IndexingError(
            f"{where}: the query's vector is empty, all zeros or holds a value that is not finite"
        )
