"""Vectors and features as bytes and back."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from news_assets.pipeline.stories.features import features_of
from news_assets.pipeline.stories.packing import (
    pack_features,
    pack_vector,
    unpack_features,
    unpack_vector,
)


@given(st.integers(0, 2**32 - 1), st.sampled_from([4, 384, 1024]))
def test_a_unit_vector_comes_back_nearly_the_same(seed: int, dim: int) -> None:
    vector = np.random.default_rng(seed).normal(size=dim).astype(np.float32)
    unit = vector / np.linalg.norm(vector)

    assert float(unit @ unpack_vector(pack_vector(unit))) > 0.999


@given(st.text(max_size=300), st.text(max_size=60))
def test_features_come_back_the_same(text: str, title: str) -> None:
    before = features_of(title, text, "pt")

    after = unpack_features("pt", pack_features(before))

    for name in ("words", "counts", "names", "numbers", "keys"):
        assert getattr(after, name).tolist() == getattr(before, name).tolist()
