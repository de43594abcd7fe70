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
    stopwords,
    word_spans,
    words,
    words_of_texts,
)


def stems(text: str, language: str | None) -> list[str]:
    return [stem(word, language) for word in words(text)]


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
def test_words_are_lower_cased_letters_and_digits(
    text: str, expected: list[str]
) -> None:
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
def test_only_latin_and_greek_letters_lose_their_marks(
    text: str, expected: str
) -> None:
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
def test_forms_of_a_word_have_one_stem_with_and_without_accents(
    language: str, forms: str
) -> None:
    assert len(set(stems(forms, language))) == 1


def test_different_words_have_different_stems() -> None:
    assert len(set(stems("eleição educação eletricidade", "pt"))) == 3
    assert stems("aos caos ao", "pt") == ["aos", "caos", "ao"]


def test_without_a_language_words_are_only_folded() -> None:
    assert (
        stems("Eleições municipais", None)
        == stems("Eleições municipais", "xx")
        == ["eleicoes", "municipais"]
    )


def test_stop_words_are_known_by_language_and_an_unknown_one_has_none() -> None:
    assert {"não", "para"} < stopwords("pt-BR")
    assert "the" in stopwords("en")
    assert "también" in stopwords("es")
    assert stopwords(None) == stopwords("xx") == frozenset()


@given(st.text(), st.sampled_from(["pt", "en", "es", "fr", "tr", "ru", None]))
def test_a_word_and_its_folded_form_have_the_same_stem(
    text: str, language: str | None
) -> None:
    found = stems(text, language)
    assert len(found) == len(words(text))
    assert all(
        stem(fold(word), language) == one
        for word, one in zip(words(text), found, strict=True)
    )


@given(st.text())
def test_spans_are_the_positions_of_the_words(text: str) -> None:
    text = unicodedata.normalize("NFC", text)
    assert all(text[start:end].lower() == word for word, start, end in word_spans(text))


@given(st.text(st.characters(max_codepoint=0x3FF), max_size=40))
def test_the_latin_shortcut_gives_the_same_words(text: str) -> None:
    beyond = "\u3042"  # disables the shortcut
    assert words(text) == words(f"{text} {beyond}")[:-1]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.text() | st.text("aBç ÃéEç-_'1“–…İßǅ\u0301кΣσ漢\ud800\n"), max_size=6)
)
def test_words_of_many_texts_equal_those_of_each(texts: list[str]) -> None:
    found = words_of_texts(texts)
    flat = iter([found.distinct[code] for code in found.codes.tolist()])
    assert [list(islice(flat, count)) for count in found.counts.tolist()] == [
        words(text) for text in texts
    ]


def test_the_latin_shortcut_admits_no_other_word_characters() -> None:
    characters = [
        chr(n) for n in range(0x300, 0x3000) if _BEYOND_LATIN.search(chr(n)) is None
    ]
    assert [
        one
        for one in characters
        if one.isalnum()
        or unicodedata.normalize("NFC", one) != one
        or one.lower() != one
    ] == []


def test_a_shared_stem_does_not_depend_on_the_language() -> None:
    languages = ("pt", "en")
    assert {
        shared_stem(word, languages) for word in ("vacina", "vacinas", "vacinação")
    } == {"vacin"}
    assert shared_stem("vaccines", languages) == shared_stem("vaccine", languages)
    assert shared_stem("ação", ()) == "acao"
