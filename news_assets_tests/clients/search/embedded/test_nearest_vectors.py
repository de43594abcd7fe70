import numpy as np
import pytest

from news_assets.clients.search.embedded.nearest_vectors import (
    Float32s,
    quantised_block,
    quantised_query,
    query_levels,
)

rng = np.random.default_rng(11)


def units(rows: np.ndarray) -> Float32s:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


NOISE = rng.standard_normal((500, 384))
ROWS = {
    "directions all over": (NOISE, 0.05),
    "directions close together": (rng.standard_normal(384) + 0.05 * NOISE, 0.05),
    "one value far above the others": (
        NOISE * np.where(np.arange(384) == 7, 300, 1),
        0.2,
    ),
    "a single value": (np.eye(384), 0.02),
    "two dimensions": (rng.standard_normal((500, 2)), 0.02),
}


@pytest.mark.parametrize("levels", sorted({63, query_levels()}))
@pytest.mark.parametrize(("directions", "width"), ROWS.values(), ids=ROWS.keys())
def test_every_product_is_within_narrow_bounds(
    directions: np.ndarray, width: float, levels: int
) -> None:
    rows = units(directions)
    block = quantised_block(rows)
    # the same in any order of the tests: the width depends on a query's largest value
    queries = np.random.default_rng(11).standard_normal((20, rows.shape[1]))
    for unit in (*rows[:20], *units(queries)):
        lower, upper = block.bounds(quantised_query(unit, levels))
        products = rows.astype(np.float64) @ unit.astype(np.float64)
        assert (lower <= products).all()
        assert (products <= upper).all()
        assert (upper - lower).max() < width * 127 / levels


def test_the_largest_8_bit_products_do_not_overflow() -> None:
    rows = units(np.ones((40, 384)))
    for sign in (1, -1):
        query = quantised_query(rows[0] * sign, query_levels())
        lower, upper = quantised_block(rows).bounds(query)
        assert np.allclose(lower, sign, atol=0.001)
        assert np.allclose(upper, sign, atol=0.001)
