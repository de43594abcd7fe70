"""Tokens and typos."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets_tests.typesense_server.collections.indexes import TextIndex
from news_assets_tests.typesense_server.collections.schema import Field
from news_assets_tests.typesense_server.collections.tokens import Analysis, fold
from news_assets_tests.typesense_server.search.typos import candidates

WORDS = st.text("abc", min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("analysis", "tokens"),
    [
        (Analysis(), ["guardachuva", "e", "acao", "105", "no"]),
        (Analysis("en"), ["guardachuva", "e", "acao", "105", "no"]),
        (Analysis("pt"), ["guarda", "chuva", "e", "ação", "10", "5", "nº"]),
        (Analysis("pt", stem=True), ["guard", "chuv", "e", "açã", "10", "5", "nº"]),
    ],
)
def test_punctuation_and_accents_are_removed_without_a_locale_only(
    analysis: Analysis, tokens: list[str]
) -> None:
    assert analysis.tokens("Guarda-chuva e AÇÃO: 10.5% nº") == tokens


@given(st.text())
def test_a_folded_word_folds_to_itself(word: str) -> None:
    assert fold(fold(word)) == fold(word)


@given(st.text())
def test_spans_have_the_same_tokens(text: str) -> None:
    assert [token for token, _, _ in Analysis().spans(text)] == Analysis().tokens(text)


@given(st.sets(WORDS, max_size=20), WORDS)
def test_candidates_have_exactly_the_edit_distance(words: set[str], token: str) -> None:
    index = TextIndex(Field(name="t", type="string"))
    index.add(0, " ".join(sorted(words)))
    found = {
        word: typos
        for typos in (1, 2)
        for word in candidates(index, token, typos, is_prefix=False)
    }
    expected = {word: _distance(word, token) for word in words}
    assert found == {word: typos for word, typos in expected.items() if typos in (1, 2)}


def _distance(one: str, other: str) -> int:
    rows = [
        [a + b if not a * b else 0 for b in range(len(other) + 1)]
        for a in range(len(one) + 1)
    ]
    for a in range(1, len(one) + 1):
        for b in range(1, len(other) + 1):
            steps = [
                rows[a - 1][b] + 1,
                rows[a][b - 1] + 1,
                rows[a - 1][b - 1] + (one[a - 1] != other[b - 1]),
            ]
            if (
                a > 1
                and b > 1
                and one[a - 1] == other[b - 2]
                and one[a - 2] == other[b - 1]
            ):
                steps.append(rows[a - 2][b - 2] + 1)
            rows[a][b] = min(steps)
    return rows[-1][-1]
