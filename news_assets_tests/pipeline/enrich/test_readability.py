"""Flesch's reading ease in English and Portuguese."""

import pytest

from news_assets.pipeline.enrich.readability import readability, syllable_count


@pytest.mark.parametrize(
    ("word", "language", "count"),
    [
        ("casa", "pt", 2),
        ("água", "pt", 2),
        ("guerra", "pt", 2),
        ("questão", "pt", 2),
        ("saúde", "pt", 3),
        ("administração", "pt", 5),
        ("pão", "pt", 1),
        ("house", "en", 1),
        ("table", "en", 2),
        ("wanted", "en", 2),
        ("jumped", "en", 1),
        ("government", "en", 3),
        ("rhythm", "en", 1),
        ("2026", "en", 1),
    ],
)
def test_syllables_are_counted_by_language(
    word: str, language: str, count: int
) -> None:
    assert syllable_count(word, language) == count


def test_short_words_and_sentences_read_easily() -> None:
    easy = readability(["o", "gato", "viu", "o", "rato"], 1, "pt-BR")
    hard = readability(
        ["institucionalização", "administrativa", "intergovernamental"], 1, "pt-BR"
    )

    assert (easy, hard) == (100.0, 0.0)


def test_a_language_without_a_formula_has_no_readability() -> None:
    assert [
        readability(["слово"], 1, "ru"),
        readability(["word"], 1, None),
        readability([], 0, "en"),
    ] == [None] * 3
