"""Summaries: verbatim sentences, early ones preferred, without boilerplate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.pipeline.enrich.summary import summary
from news_assets.text.prose import paragraphs, prose, sentences

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
