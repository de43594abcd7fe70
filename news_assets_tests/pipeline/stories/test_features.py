"""The words, names and numbers that articles are compared by."""

from zlib import crc32

from news_assets.pipeline.stories.features import CODES, Features, features_of


def has(codes: object, kind: str, text: str) -> bool:
    return crc32(f"{kind}{text}".encode()) % CODES in codes  # type: ignore[operator]


def features(text: str, title: str = "", language: str = "en") -> Features:
    return features_of(title, text, language)


def test_a_name_is_a_capitalised_word_inside_a_sentence() -> None:
    found = features("Yesterday the mayor of Zahedan resigned. Nobody was surprised.")

    assert has(found.names, "n", "zahedan")
    assert not has(found.names, "n", "yesterday")
    assert not has(found.names, "n", "nobody")


def test_a_word_that_is_written_without_a_capital_too_is_no_name() -> None:
    found = features("He left the Court at noon. The court was closed.")

    assert not has(found.names, "n", "court")


def test_a_span_of_capitalised_words_is_a_name_at_the_start_of_a_sentence() -> None:
    found = features("Lindsay Lohan checked in. Then she left.")

    assert has(found.names, "n", "lindsay")
    assert has(found.names, "n", "lohan")


def test_a_headline_in_capitals_names_nothing() -> None:
    found = features(
        "the market was calm.", title="Stocks Rally Before Holiday Weekend"
    )

    assert not len(found.names)


def test_names_have_no_accents() -> None:
    found = features("Ontem em Belém choveu.", language="pt")

    assert has(found.names, "n", "belem")


def test_numbers_of_one_digit_do_not_count_and_decimals_have_a_point() -> None:
    found = features("A quake of 7,1 killed 150 people on 3 islands.")

    assert has(found.numbers, "#", "7.1")
    assert has(found.numbers, "#", "150")
    assert len(found.numbers) == 2


def test_a_text_that_repeats_its_title_is_read_once() -> None:
    twice = features("Bridge opens\nThe bridge opens.", title="Bridge opens")
    once = features("Bridge opens\nThe bridge opens.")

    assert twice.counts.tolist() == once.counts.tolist()


def test_a_text_in_an_unknown_language_has_words() -> None:
    assert len(features_of(None, "zwei kurze Worte", None).words) == 3


def test_a_lone_surrogate_is_no_error() -> None:
    assert len(features_of("\ud800x", "Bem \ud800b perto", "pt").words) >= 1
