"""Keywords: significant terms, as written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.pipeline.enrich.keywords import MAX_KEYWORDS, keywords
from news_assets.text.words import stopwords

TEXT = (
    "O Ministério da Saúde iniciou nesta segunda-feira a vacinação contra a dengue em Goiânia. A vacinação contra a "
    "dengue começa pelos postos de saúde. Segundo o Ministério da Saúde, as doses da vacina chegam na terça. "
    "Em Goiânia, a dengue atingiu 3 mil pessoas neste ano."
)


def test_names_and_repeated_words_are_keywords_as_written() -> None:
    found = keywords("Vacinação contra a dengue começa em Goiânia", TEXT, "pt")

    assert {"Ministério da Saúde", "dengue", "Goiânia", "vacinação"} <= set(found)


def test_no_two_keywords_share_a_word() -> None:
    found = [
        word
        for term in keywords("", TEXT, "pt")
        for word in term.split()
        if word not in stopwords("pt")
    ]

    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    ("title", "text"), [("", ""), ("", "1 2 3 ..."), ("O que é", "de da do")]
)
def test_a_text_without_significant_words_has_no_keywords(
    title: str, text: str
) -> None:
    assert keywords(title, text, "pt") == ()


@given(st.text(), st.text(), st.sampled_from(["pt", "en", "ru", None]))
def test_keywords_are_few_and_occur_in_title_or_text(
    title: str, text: str, language: str | None
) -> None:
    found = keywords(title, text, language)

    assert len(found) <= MAX_KEYWORDS
    assert all(term in title or term in text for term in found)
    assert not {term.lower() for term in found} & stopwords(language)
