from dataclasses import replace

import pytest

from news_assets.pipeline.enrich.local import LocalEnricher
from news_assets.records.reading import Enrichment
from news_assets.taxonomy.taxonomy_files import load_taxonomy


@pytest.fixture(scope="module")
def local() -> LocalEnricher:
    return LocalEnricher(load_taxonomy())


def test_the_local_enricher_fills_every_field(local: LocalEnricher) -> None:
    text = (
        "O Banco Central reduziu nesta quarta-feira a taxa básica de juros para 10% ao ano, menor nível desde 2013. "
        "A decisão do Copom foi unânime e era esperada pelo mercado financeiro.\n\nFoto: Divulgação."
    )
    found = local.enrich("Copom reduz a Selic para 10%", text, "pt-BR")

    assert replace(found, theme_score=1.0, keywords=(), readability=None) == Enrichment(
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
    )
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
