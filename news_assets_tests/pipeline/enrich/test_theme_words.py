"""Finding themes by the words of a taxonomy."""

from pathlib import Path

import pytest

from news_assets.pipeline.enrich.theme_words import FoundTheme, ThemeTable
from news_assets.taxonomy import Taxonomy, load_taxonomy

TREE = """
- code: sport
  label: Sport
  children:
  - code: sport.football
    label: Football
    keywords: [goalkeeper, penalty kick, world cup]
  - code: sport.tennis
    label: Tennis
    keywords: [racket, wimbledon]
- code: health
  label: Health
  keywords: [vaccine, hospital]
  excludes: [hospital ship (see Defence)]
- code: defence
  label: Defence
  keywords: [navy, recommendations]
- code: trade
  label: Trade
  keywords: [imports]
"""


LENDER = """
- code: games
  label: Games
  keywords: [sport, football, midfielder]
- code: seas
  label: Seas
  keywords: [coral reef, plankton]
"""


def tree(folder: Path, text: str) -> Taxonomy:
    path = folder / "themes.yaml"
    path.write_text(text, encoding="utf-8")
    return load_taxonomy(path)


@pytest.fixture
def taxonomy(tmp_path: Path) -> Taxonomy:
    return tree(tmp_path, TREE)


@pytest.fixture
def table(taxonomy: Taxonomy) -> ThemeTable:
    return ThemeTable(taxonomy, "en")


def path_of(table: ThemeTable, text: str, title: str = "") -> tuple[str, ...]:
    return table.find(title, text).path


def test_the_words_of_a_theme_lead_to_its_whole_path(table: ThemeTable) -> None:
    assert path_of(table, "The goalkeeper saved a penalty kick at the World Cup.") == (
        "sport",
        "sport.football",
    )


def test_the_path_ends_at_the_last_clear_level(table: ThemeTable) -> None:
    assert path_of(table, "Sport: a goalkeeper met a racket. Sport is sport.") == (
        "sport",
    )


@pytest.mark.parametrize(
    "text", ["", "Nothing here is about anything.", "12 34 !!", "\ud800 \x00"]
)
def test_a_text_without_evidence_has_no_theme(table: ThemeTable, text: str) -> None:
    assert table.find("", text) == FoundTheme(reason="the text has no words of a theme")


def test_a_tie_has_no_theme(table: ThemeTable) -> None:
    found = table.find("", "A vaccine for the navy.")
    assert (found.path, found.reason) == ((), "two themes fit equally")


def test_a_theme_that_is_as_likely_wrong_as_right_is_not_given() -> None:
    found = ThemeTable(load_taxonomy(), "pt").find(
        "Ministério abre vagas", "Universidades federais abrem vagas."
    )
    assert (found.path, round(found.score, 2)) == ((), 0.4)
    assert (
        found.reason
        == "the evidence is weak: the best theme has a score of 0.40, less than 0.42"
    )


@pytest.mark.parametrize(
    ("language", "reason"),
    [
        (
            "sw",
            "no stop words and no stems are known for language sw; the text has no words of a theme",
        ),
        (
            "nl",
            "no stop words are known for language nl; the text has no words of a theme",
        ),
        (None, "the language is unknown; the text has no words of a theme"),
        ("de", "the text has no words of a theme"),
    ],
)
def test_what_a_language_lacks_is_part_of_the_reason(
    taxonomy: Taxonomy, language: str | None, reason: str
) -> None:
    assert (
        ThemeTable(taxonomy, language).find("Habari", "Timu ya soka imeshinda.").reason
        == reason
    )
    assert (
        ThemeTable(taxonomy, language).find("Wimbledon", "Wimbledon racket.").reason
        is None
    )


def test_a_taxonomy_without_words_in_the_language_is_the_reason() -> None:
    built_in = load_taxonomy()
    assert (
        ThemeTable(built_in, "de").find("", "Bundesliga").reason
        == "the taxonomy has no words in language de"
    )
    assert ThemeTable(built_in, "sw").find("", "Habari").reason == (
        "no stop words and no stems are known for language sw; the taxonomy has no words in language sw"
    )


def test_only_whole_words_count(table: ThemeTable) -> None:
    assert (
        path_of(
            table, "Commendation, hospitalisation-free vaccineless unworldly bracketed."
        )
        == ()
    )


def test_a_word_with_only_the_stem_in_common_weighs_less(table: ThemeTable) -> None:
    assert (
        table.find("", "An important hall.").score
        < table.find("", "An imports hall.").score
    )


def test_excludes_are_evidence_against_a_theme(table: ThemeTable) -> None:
    assert path_of(table, "The hospital ship of the navy.") == ("defence",)


def test_the_title_weighs_more_than_the_text(table: ThemeTable) -> None:
    assert path_of(table, "A hospital waits.", title="Wimbledon begins")[0] == "sport"


@pytest.fixture
def helped(taxonomy: Taxonomy, tmp_path: Path) -> ThemeTable:
    return ThemeTable(taxonomy, "en", ThemeTable(tree(tmp_path, LENDER), "en"))


def test_words_of_another_taxonomy_are_evidence_for_the_theme_that_shares_its_words(
    helped: ThemeTable,
) -> None:
    assert path_of(helped, "The midfielder was hurt.", title="A midfielder") == (
        "sport",
    )


def test_a_theme_of_another_taxonomy_that_shares_no_words_is_evidence_for_none(
    helped: ThemeTable,
) -> None:
    assert set(
        helped.evidence("A coral reef", "Plankton of the coral reef.").values()
    ) == {0}


def test_words_of_another_language_are_ignored() -> None:
    built_in = load_taxonomy()

    assert (
        path_of(ThemeTable(built_in, "de"), "Der goalkeeper und die Bundesregierung")
        == ()
    )
    assert path_of(ThemeTable(built_in, None), "Vacinação no hospital") == ()


@pytest.mark.parametrize(
    ("language", "title", "text", "path"),
    [
        ("pt", "Copom reduz a Selic", "O Banco Central cortou os juros.", ("economy", "economy.macro")),
        ("pt", "Vacinacao contra a dengue", "Postos de saude aplicam as doses.", ("health",)),
        ("en", "Striker scores twice", "The Premier League club won the match.", ("sport", "sport.football")),
        ("en", "Earthquake kills dozens", "The quake left survivors.", ("disasters", "disasters.natural")),
    ],
)  # fmt: skip
def test_the_built_in_taxonomy_finds_themes_of_news(
    language: str, title: str, text: str, path: tuple[str, ...]
) -> None:
    assert (
        path_of(ThemeTable(load_taxonomy(), language), text, title)[: len(path)] == path
    )
