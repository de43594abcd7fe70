import unicodedata
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from news_assets.text.words import (
    _BEYOND_LATIN,
    fold,
    shared_stem,
    stem,
    stems,
    stopwords,
    word_spans,
    words,
    words_of_texts,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("São Paulo: 1.500 d'água", ["são", "paulo", "1", "500", "d", "água"]),
        ("guarda-chuva snake_case", ["guarda", "chuva", "snake", "case"]),
        ("Sa\u0303o", ["são"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("日本のnews", ["日", "本", "の", "news"]),
        ("… — !", []),
    ],
)
def test_words_are_lower_cased_letters_and_digits(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("AÇÃO é ñandú", "ACAO e nandu"),
        ("straße", "strasse"),
        ("ﬁm", "fim"),
        ("й हिन्दी", "й हिन्दी"),
        ("plain", "plain"),
    ],
)
def test_folding_takes_the_marks_of_latin_letters_only(text: str, expected: str) -> None:
    assert fold(text) == expected


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("pt-BR", "eleição eleições eleicao eleicoes Eleições"),
        ("pt", "educação educacao educações"),
        ("pt", "cidadão cidadãos cidadao cidadaos"),
        ("pt", "alemão alemães"),
        ("pt", "possível possíveis possivel possiveis"),
        ("pt", "ciência ciências ciencia"),
        ("es", "elección elecciones eleccion"),
        ("en", "election elections"),
    ],
)
def test_forms_of_a_word_meet_with_and_without_accents(language: str, forms: str) -> None:
    assert len(set(stems(forms, language))) == 1


def test_other_words_stay_apart() -> None:
    assert len(set(stems("eleição educação eletricidade", "pt"))) == 3
    assert stems("aos caos ao", "pt") == ["aos", "caos", "ao"]


def test_without_a_language_words_are_only_folded() -> None:
    assert stems("Eleições municipais", None) == stems("Eleições municipais", "xx") == ["eleicoes", "municipais"]


def test_stop_words_are_known_by_language_and_an_unknown_one_has_none() -> None:
    assert {"não", "para"} < stopwords("pt-BR")
    assert "the" in stopwords("en")
    assert "también" in stopwords("es")
    assert stopwords(None) == stopwords("xx") == frozenset()


@given(st.text(), st.sampled_from(["pt", "en", "es", "fr", "tr", "ru", None]))
def test_stems_are_one_for_each_word_and_the_same_for_folded_words(text: str, language: str | None) -> None:
    found = stems(text, language)
    assert len(found) == len(words(text))
    assert all(stem(fold(word), language) == one for word, one in zip(words(text), found, strict=True))


@given(st.text())
def test_spans_are_the_words_where_they_stand(text: str) -> None:
    text = unicodedata.normalize("NFC", text)
    assert all(text[start:end].lower() == word for word, start, end in word_spans(text))


@given(st.text(st.characters(max_codepoint=0x3FF), max_size=40))
def test_words_of_plain_latin_text_are_those_of_any_text(text: str) -> None:
    beyond = "\u3042"  # lets the text be read as one of any script
    assert words(text) == words(f"{text} {beyond}")[:-1]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text() | st.text("aBç ÃéEç-_'1“–…İßǅ\u0301кΣσ漢\ud800\n"), max_size=6))
def test_words_of_many_texts_are_those_of_each(texts: list[str]) -> None:
    found = words_of_texts(texts)
    flat = iter([found.distinct[code] for code in found.codes.tolist()])
    assert [list(islice(flat, count)) for count in found.counts.tolist()] == [words(text) for text in texts]


def test_signs_that_plain_latin_text_may_hold_are_no_words_and_have_one_spelling() -> None:
    signs = [chr(n) for n in range(0x300, 0x3000) if _BEYOND_LATIN.search(chr(n)) is None]
    assert [
        one for one in signs if one.isalnum() or unicodedata.normalize("NFC", one) != one or one.lower() != one
    ] == []


def test_a_shared_stem_is_the_same_in_every_language_of_the_index() -> None:
    languages = ("pt", "en")
    assert {shared_stem(word, languages) for word in ("vacina", "vacinas", "vacinação")} == {"vacin"}
    assert shared_stem("vaccines", languages) == shared_stem("vaccine", languages)
    assert shared_stem("ação", ()) == "acao"
