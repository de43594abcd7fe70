"""The vectorised ranking equals ranking every document one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.clients.search.embedded import ranking
from news_assets.clients.search.embedded.postings import (
    ListedPostings,
    Postings,
    postings_of,
    union,
)
from news_assets.clients.search.embedded.ranking import (
    K1,
    MIN_SHARE,
    B,
    QueryWord,
    Scored,
    best,
    length_factor,
)

SIZES = st.integers(1, 120)
AVERAGE = 300.0


def term(rng: np.random.Generator, size: int) -> Postings:
    """A term of few or many documents, listed or as a column."""
    share = rng.choice([0.02, 0.1, 0.5, 0.95])
    ns = np.flatnonzero(rng.random(size) < share)
    return postings_of(
        ns,
        rng.integers(1, 256, len(ns)).astype(np.uint8),
        int(rng.choice([size, 100 * size])),
    )


def words_of(rng: np.random.Generator, size: int, count: int) -> list[QueryWord]:
    found = [
        union([term(rng, size) for _ in range(rng.integers(1, 3))], size)
        for _ in range(count)
    ]
    return [
        QueryWord(
            postings,
            float(np.log(1 + (size - postings.count + 0.5) / (postings.count + 0.5))),
        )
        for postings in found
    ]


def weight(postings: Postings, n: int) -> int:
    if isinstance(postings, ListedPostings):
        return dict(
            zip(postings.ns.tolist(), postings.weights.tolist(), strict=True)
        ).get(n, 0)
    return int(postings.weights[n]) if n < len(postings.weights) else 0


def ranked_one_by_one(
    words: list[QueryWord], mask: np.ndarray, lengths: np.ndarray, is_every: bool
) -> dict[int, float]:
    least = MIN_SHARE * sum(word.idf for word in words)
    scores = {}
    for n in np.flatnonzero(mask).tolist():
        k = K1 * (1 - B + B * int(lengths[n]) / AVERAGE)
        has = [(word.idf, weight(word.postings, n)) for word in words]
        if (
            all(found for _, found in has)
            if is_every
            else sum(idf for idf, found in has if found) >= least
        ):
            scores[n] = sum(
                idf * (K1 + 1) * found / (found + k) for idf, found in has if found
            )
    return {n: score for n, score in scores.items() if score > 0}


@given(
    st.integers(0, 2**32), SIZES, st.integers(1, 4), st.sampled_from([0.03, 0.5, 1.0])
)
@pytest.mark.parametrize("is_every", [True, False])
def test_ranking_equals_scoring_every_document(
    is_every: bool, seed: int, size: int, count: int, passing: float
) -> None:
    rng = np.random.default_rng(seed)
    lengths, mask = (
        rng.integers(0, 0x10000, size).astype(np.uint16),
        rng.random(size) < passing,
    )
    words = words_of(rng, size, count)
    expected = ranked_one_by_one(words, mask, lengths, is_every)
    rank = ranking.with_every_word if is_every else ranking.with_some_words
    found = rank(words, mask, length_factor(lengths, AVERAGE))
    assert found.ns.tolist() == sorted(expected)
    assert found.scores == pytest.approx(
        [expected[n] for n in found.ns.tolist()], rel=1e-5
    )


def test_a_document_with_exactly_the_minimum_share_matches() -> None:
    words = [
        QueryWord(ListedPostings(np.array([n]), np.array([1], np.uint8)), idf)
        for n, idf in enumerate((1.0, 9.0))
    ]
    found = ranking.with_some_words(
        words, np.ones(2, np.bool_), length_factor(np.ones(2, np.uint16), 1.0)
    )
    assert found.ns.tolist() == [0, 1]


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.25, 1.5]), st.sampled_from([0, 3, 9])),
        max_size=60,
    ),
    st.integers(1, 70),
)
def test_the_best_equal_sorting_all_also_with_ties(
    rows: list[tuple[float, int]], limit: int
) -> None:
    ns = np.arange(1, 2 * len(rows) + 1, 2)
    published = np.zeros(2 * len(rows) + 1, np.int64)
    published[ns] = [time for _, time in rows]
    scores = np.array([score for score, _ in rows], np.float64)
    found = best(Scored(ns, scores), published, limit)
    order = sorted(
        range(len(rows)),
        key=lambda i: (scores[i], published[ns[i]], ns[i]),
        reverse=True,
    )[:limit]
    assert found.ns.tolist() == ns[order].tolist()
    assert found.scores.tolist() == scores[order].tolist()
    newest = sorted(
        range(len(rows)), key=lambda i: (published[ns[i]], ns[i]), reverse=True
    )[:limit]
    by_date = best(Scored(ns, scores), published, limit, "date")
    assert (by_date.ns.tolist(), by_date.scores.tolist()) == (
        ns[newest].tolist(),
        scores[newest].tolist(),
    )


@given(st.integers(0, 2**32), SIZES)
def test_both_forms_of_postings_are_equivalent(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    ns = np.flatnonzero(rng.random(size) < 0.4)
    weights = rng.integers(1, 256, len(ns)).astype(np.uint8)
    more = np.flatnonzero(rng.random(size) < 0.4) + size
    more_weights = rng.integers(1, 256, len(more)).astype(np.uint8)
    wanted, mask = (
        np.flatnonzero(rng.random(2 * size) < 0.5),
        rng.random(2 * size) < 0.5,
    )
    results = []
    for among in (1, 10**6):
        postings = postings_of(ns, weights, size if among == 1 else among)
        if len(more):
            postings = postings.joined(more, more_weights)
        column = postings.column(2 * size).tolist()
        found = postings.weights_at(wanted, 2 * size).tolist()
        results.append(
            (postings.count, column, found, postings.ns_within(mask).tolist())
        )
    assert results[0] == results[1]


def test_the_length_factor_follows_the_formula() -> None:
    lengths = np.array([0, 1, 300, 0xFFFF], np.uint16)
    expected = [K1 * (1 - B + B * length / AVERAGE) for length in lengths.tolist()]
    assert length_factor(lengths, AVERAGE).at(np.arange(4)).tolist() == pytest.approx(
        expected
    )


def fused(by_words: dict[int, float], near: dict[int, float]) -> list[int]:
    rankings = (
        Scored(np.array(list(one)), np.array(list(one.values())))
        for one in (by_words, near)
    )
    return ranking.fused(*rankings).ns.tolist()


def test_a_document_that_is_best_by_words_and_by_vector_is_first() -> None:
    assert fused({1: 9.0, 2: 8.0}, {3: 0.9, 1: 0.89, 4: 0.8}) == [1, 3, 2, 4]


def test_a_clear_lead_of_the_vector_outweighs_the_words_and_a_small_one_does_not() -> (
    None
):
    assert fused({1: 9.0}, {2: 0.9, 1: 0.82, 3: 0.8})[0] == 2
    assert fused({1: 9.0}, {2: 0.9, 1: 0.89, 3: 0.8})[0] == 1


def test_of_few_documents_with_nearly_the_same_cosine_words_decide() -> None:
    assert fused({1: 9.0}, {2: 0.861, 1: 0.86}) == [1, 2]


def test_a_further_page_has_the_scores_of_the_first() -> None:
    cosines = dict(enumerate(np.linspace(0.9, 0.7, 200).tolist()))
    by_words = {150: 2.0, 500: 1.0}
    assert (
        fused(by_words, dict(list(cosines.items())[:100]))[:50]
        == fused(by_words, cosines)[:50]
    )
    assert fused({}, cosines) == list(cosines)


def test_words_without_a_score_do_not_change_the_order_of_vectors() -> None:
    assert fused({1: 0.0, 2: 0.0}, {2: 0.9, 1: 0.5}) == [2, 1]
