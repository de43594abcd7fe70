"""The local enricher: summaries, keywords and reading ease."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.pipeline.enrich.local_enricher import (
    MAX_KEYWORDS,
    LocalEnricher,
    keywords,
    readability,
    summary,
    syllable_count,
)
from news_assets.records.reading import Enrichment
from news_assets.taxonomy import load_taxonomy
from news_assets.text.prose import paragraphs, prose, sentences
from news_assets.text.words import stopwords


@pytest.fixture(scope="module")
def local() -> LocalEnricher:
    return LocalEnricher(load_taxonomy())


def test_the_local_enricher_fills_every_field(local: LocalEnricher) -> None:
    text = (
        "O Banco Central reduziu nesta quarta-feira a taxa básica de juros para 10% ao ano, menor nível desde 2013. "
        "A decisão do Copom foi unânime e era esperada pelo mercado financeiro.\n\nFoto: Divulgação."
    )
    found = local.enrich("Copom reduz a Selic para 10%", text, "pt-BR")

    unlike = {"theme_score": 1.0, "keywords": (), "readability": None}
    assert replace(found, entities_json=None, **unlike) == Enrichment(
        theme_path=("economy", "economy.macro", "economy.macro.rates"),
        theme_labels=(
            "Economia e negócios",
            "Conjuntura e política econômica",
            "Juros e banco central",
        ),
        theme_score=1.0,
        summary=text.split("\n")[0],
        keywords=(),
        language="pt-BR",
        word_count=34,
        reading_minutes=1,
        readability=None,
        entities=("Banco Central",),
    )
    [name] = json.loads(found.entities_json or "")
    assert (name["kind"], name["spans"]) == ("organisation", [[2, 15]])
    assert 0.5 < found.theme_score <= 1
    assert {"Banco Central", "Copom"} <= set(found.keywords)


@pytest.mark.parametrize(
    "text",
    ["", "![Foto](a.jpg)", "\x00\ud800", "слово " * 50, "a" * 100_000, "1 " * 5_000],
)
def test_the_local_enricher_accepts_any_text(local: LocalEnricher, text: str) -> None:
    found = local.enrich("", text, None)

    assert (
        found.theme_path,
        len(found.summary or "") <= 280,
        found.reading_minutes >= 1,
    ) == ((), True, True)


def test_a_result_names_the_taxonomy_that_lends_words(local: LocalEnricher) -> None:
    built_in = load_taxonomy()
    assert (
        LocalEnricher(built_in, built_in).model == f"{local.model}+{built_in.version}"
    )


TITLE = "Prefeitura abre vagas em creches"
LEAD = "A prefeitura de Campo Alegre abriu nesta segunda-feira 300 vagas em creches da zona rural."
SECOND = "As inscrições vão até sexta e podem ser feitas nas escolas, segundo a secretária Ana Lima."
TEXT = f"""{TITLE}

Por Redação
Publicado em 20/11/2026 14h30

![Foto: Divulgação](foto.jpg)
Foto: João Souza/Divulgação.

CAMPO ALEGRE, 20/11/2026

**Leia mais**
Leia também: outras notícias da cidade no site.

{LEAD} {SECOND}

O programa começou em 2019 e atende hoje duas mil crianças em todo o município.
"""


def test_a_summary_is_the_first_sentences_without_boilerplate() -> None:
    assert summary(TITLE, TEXT, "pt") == f"{LEAD} {SECOND}"


def test_a_long_first_sentence_is_enough() -> None:
    long = " ".join(
        ["The council of Springfield voted on Monday"]
        + ["to rebuild the old bridge over the river"] * 4
    )

    assert (
        summary("Bridge", f"{long}. Work begins in May after a long wait.", "en")
        == f"{long}."
    )


def test_a_sentence_like_the_title_is_skipped() -> None:
    text = "Council opens new school in Springfield. The building cost 3 million and took two years to finish."

    assert (
        summary("Council opens new school in Springfield", text, "en")
        == text.partition(". ")[2]
    )


@pytest.mark.parametrize(
    "text",
    ["", "# Heading", "Leia mais: tudo aqui.", "No end to this line", TITLE + "."],
)
def test_a_text_without_a_sentence_of_its_own_has_no_summary(text: str) -> None:
    assert summary(TITLE, text, "pt") is None


@given(st.text(), st.text())
def test_every_summary_is_verbatim(title: str, text: str) -> None:
    every = [
        sentence for paragraph in paragraphs(text) for sentence in sentences(paragraph)
    ]
    pairs = {f"{first} {second}" for first in every for second in every}

    found = summary(title, text, "en")
    assert found in {None, *every, *pairs} or found in " ".join(prose(text).split())


def test_a_text_without_sentences_is_summarised_by_its_beginning() -> None:
    recipe = "Unidades\n\n40\n\n1. Em uma vasilha grande coloque os ingredientes secos peneirados"
    assert (
        summary("Sequilho", recipe, "pt")
        == "Em uma vasilha grande coloque os ingredientes secos peneirados"
    )
    chinese = "益水之阳，是名益阳。这个洞庭湖区的重要城市，60年前就曾在作家周立波笔下的《山乡巨变》中展现风貌。"
    assert (
        summary("益阳", chinese * 9, "zh")
        == (chinese * 9)[:280].rpartition("。")[0] + "。"
    )
    assert summary("Only a title", "Only a title", "en") is None


NEWS = (
    "O Ministério da Saúde iniciou nesta segunda-feira a vacinação contra a dengue em Goiânia. A vacinação contra a "
    "dengue começa pelos postos de saúde. Segundo o Ministério da Saúde, as doses da vacina chegam na terça. "
    "Em Goiânia, a dengue atingiu 3 mil pessoas neste ano."
)


def test_names_and_repeated_words_are_keywords_as_written() -> None:
    found = keywords("Vacinação contra a dengue começa em Goiânia", NEWS, "pt")

    assert {"Ministério da Saúde", "dengue", "Goiânia", "vacinação"} <= set(found)


def test_no_two_keywords_share_a_word() -> None:
    found = [
        word
        for term in keywords("", NEWS, "pt")
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
