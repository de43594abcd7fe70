"""Vectors and features as bytes and back."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from news_assets.pipeline.stories.features import features_of
from news_assets.pipeline.stories.packing import (
    codes_of,
    features_from,
    pack_features,
    pack_vector,
    unpack_columns,
    unpack_vector,
)


@given(st.integers(0, 2**32 - 1), st.sampled_from([4, 384, 1024]))
def test_a_unit_vector_comes_back_nearly_the_same(seed: int, dim: int) -> None:
    vector = np.random.default_rng(seed).normal(size=dim).astype(np.float32)
    unit = vector / np.linalg.norm(vector)

    assert float(unit @ unpack_vector(pack_vector(unit))) > 0.999


SENTENCES = "Seven words make a sentence of this length. So do these six here too."


@given(st.lists(st.text(max_size=300), min_size=1, max_size=4))
@example(["", SENTENCES, "Too short.", SENTENCES * 2])
def test_features_of_several_articles_come_back_the_same(texts: list[str]) -> None:
    before = [features_of(text[:60], text, "pt") for text in texts]
    vector = pack_vector(np.ones(4, np.float32))

    found = unpack_columns(
        ids=texts,
        days=np.zeros(len(texts), np.int32),
        languages=["pt"] * len(texts),
        vectors=[vector] * len(texts),
        features=[pack_features(one) for one in before],
    )

    expected = [codes_of(one) for one in before]
    for kind, lengths, codes in zip(range(5), found.lengths, found.codes, strict=True):
        assert lengths.tolist() == [len(one[kind]) for one in expected]
        assert codes.tolist() == [
            code for one in expected for code in one[kind].tolist()
        ]
    again = features_from("pt", expected[0])
    for name in ("words", "counts", "names", "numbers", "keys"):
        assert getattr(again, name).tolist() == getattr(before[0], name).tolist()
