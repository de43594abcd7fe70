"""Terms of many documents at once are those of counting the words of each by itself."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from news_assets.clients.search.embedded.terms import PACKED_TERM, TITLE_WEIGHT, batch_terms, term_of
from news_assets.ports import SearchDocument
from news_assets.text.words import words
from news_assets_tests.clients.search.test_contract import document

TEXTS = st.text("aBç Ã-'1“–…Σ漢\ud800\u0301", max_size=12) | st.sampled_from(["vacina vacinas", "x " * 300, "w" * 70])
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
    body = words(document.text) + words("\n".join((document.summary or "", *document.tags)))
    found = Counter[int]()
    for word in title * TITLE_WEIGHT + body:
        found[term_of(word[:64], document.language)] += 1
    return {term: min(count, 255) for term, count in found.items()}, TITLE_WEIGHT * len(title) + len(body)


@settings(max_examples=60, deadline=None)
@given(DOCUMENTS)
def test_every_document_has_the_terms_that_counting_its_words_gives(documents: list[SearchDocument]) -> None:
    found = [
        (dict(np.frombuffer(one.packed, PACKED_TERM).tolist()), one.length) for one in batch_terms(documents).documents
    ]
    assert found == [counted(one) for one in documents]


def test_a_documents_terms_are_in_order_and_each_is_there_once() -> None:
    (one,) = batch_terms([document(1, "vacina escola", "vacinas hospital vacina")]).documents
    terms = np.frombuffer(one.packed, PACKED_TERM)["term"]
    assert np.all(np.diff(terms) > 0)


def test_of_a_very_long_text_the_first_20_000_words_are_found_and_its_tags_too() -> None:
    (one,) = batch_terms([document(1, "", "a " * 20_000 + "late", tags=("tag",), language=None)]).documents
    found = set(np.frombuffer(one.packed, PACKED_TERM)["term"].tolist())
    assert (found, one.length) == ({term_of("a", None), term_of("tag", None)}, 20_001)
