"""Terms of a batch equal those of counting the words of each document; typos are
corrected.
"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from news_assets.clients.search.embedded.terms import (
    PACKED_TERM,
    TITLE_WEIGHT,
    batch_terms,
    field_term,
    one_edit_away,
    term_of,
)
from news_assets.ports.search_index import SearchDocument
from news_assets.text.query_tree import field_values
from news_assets.text.words import stem, words
from news_assets_tests.clients.search.contract.examples import document

TEXTS = st.text("aBç Ã-'1“–…Σ漢\ud800\u0301", max_size=12) | st.sampled_from(
    ["vacina vacinas", "x " * 300, "w" * 70]
)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
DOCUMENTS = st.lists(
    st.builds(
        document,
        st.integers(0, 99),
        TEXTS,
        TEXTS,
        summary=st.none() | TEXTS,
        tags=st.tuples(TEXTS),
        language=st.sampled_from(["pt-BR", "en", None]),
    ),
    max_size=5,
)


def counted(document: SearchDocument) -> tuple[dict[int, int], int]:
    title = words(document.title)
    body = words(document.text) + words(
        "\n".join((document.summary or "", *document.tags))
    )
    found = Counter[int]()
    for word in title * TITLE_WEIGHT + body:
        found[term_of(word[:64], document.language)] += 1
    found.update(field_terms(document))
    return {term: min(count, 255) for term, count in found.items()}, TITLE_WEIGHT * len(
        title
    ) + len(body)


def field_terms(document: SearchDocument) -> set[int]:
    """Return the terms of the title's stems, and of authors, publisher and themes."""
    stems = {stem(word[:64], document.language) for word in words(document.title)}
    found = {field_term("title", one) for one in stems}
    for field, values in field_values(document).items():
        found |= {field_term(field, value) for value in values}
    return found


@settings(max_examples=60, deadline=None)
@given(DOCUMENTS)
def test_batch_terms_equal_counted_words(documents: list[SearchDocument]) -> None:
    found = [
        (dict(np.frombuffer(one.packed, PACKED_TERM).tolist()), one.length)
        for one in batch_terms(documents).documents
    ]
    assert found == [counted(one) for one in documents]


def test_terms_of_a_document_are_distinct() -> None:
    written = document(1, "vacina escola", "vacinas hospital vacina", authors=("Ana",))
    (one,) = batch_terms([written]).documents
    terms = np.frombuffer(one.packed, PACKED_TERM)["term"].tolist()
    assert len(terms) == len(set(terms))
    assert {field_term("title", "vacin"), field_term("author", "ana")} <= set(terms)


def test_a_long_text_is_indexed_by_its_first_20_000_words_and_its_tags() -> None:
    (one,) = batch_terms(
        [document(1, "", "a " * 20_000 + "late", tags=("tag",), language=None)]
    ).documents
    found = set(np.frombuffer(one.packed, PACKED_TERM)["term"].tolist())
    found -= field_terms(document(1, ""))
    assert (found, one.length) == ({term_of("a", None), term_of("tag", None)}, 20_001)


@given(st.text(LETTERS, min_size=5, max_size=12), st.data())
def test_every_single_edit_is_corrected(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(word) - 2))
    letter = data.draw(st.sampled_from(LETTERS))
    mistakes = {
        word[:at] + word[at + 1 :],
        word[:at] + letter + word[at:],
        word[:at] + letter + word[at + 1 :],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
    }
    assert all(word in one_edit_away(mistake) for mistake in mistakes - {word})


@pytest.mark.parametrize("word", ["", "abc", "a1b2c3", "a" * 40])
def test_short_long_and_numbered_words_are_not_corrected(word: str) -> None:
    assert one_edit_away(word) == set()


def test_each_alphabet_is_corrected_with_its_own_letters() -> None:
    assert "привет" in one_edit_away("превет")
