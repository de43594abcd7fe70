"""The names that a text has, by rules."""

import json

import pytest

from news_assets.pipeline.enrich.names import name_ids, names_of
from news_assets.text.fingerprint import name_id
from news_assets_tests.support.growth import grows_linearly

PORTUGUESE = (
    "A ministra da Saúde, Nísia Trindade, anunciou o programa em Belo Horizonte. Segundo"
    " o Ministério da Gestão e da Inovação (MGI), o MGI vai pagar a conta. O presidente"
    " Luiz Inácio Lula da Silva e Geraldo Alckmin foram à Praça da Sé. Lula da Silva"
    " discursou. Trindade saiu."
)
ENGLISH = (
    "The mayor Jane Porter said on Monday that the Bank of England and the City Council"
    " of Bristol would pay. Porter's plan is for Park Street. Fulton County District"
    " Attorney Paul Howard agreed in New York."
)


def found(
    text: str, language: str, title: str = ""
) -> dict[str, tuple[str, list[str]]]:
    names = names_of(title, text, language)
    return {one["name"]: (one["kind"], one["forms"]) for one in names}


def test_people_bodies_and_places_of_a_portuguese_text_are_found() -> None:
    assert found(PORTUGUESE, "pt") == {
        "Ministério da Gestão e da Inovação": ("organisation", ["MGI"]),
        "Luiz Inácio Lula da Silva": ("person", ["Lula da Silva"]),
        "Nísia Trindade": ("person", ["Trindade"]),
        "Belo Horizonte": ("place", []),
        "Geraldo Alckmin": ("person", []),
        "Praça da Sé": ("place", []),
    }


def test_people_bodies_and_places_of_an_english_text_are_found() -> None:
    assert found(ENGLISH, "en") == {
        "Jane Porter": ("person", ["Porter"]),
        "Bank of England": ("organisation", []),
        "City Council of Bristol": ("organisation", []),
        "Park Street": ("place", []),
        "Paul Howard": ("person", []),
        "New York": ("place", []),
    }


@pytest.mark.parametrize(
    ("text", "language", "names"),
    [
        ("A renda subiu em São Paulo.", "pt", {"São Paulo"}),
        ("São três.", "pt", set()),
        (
            "Dr. Priya Raman of Stanford University spoke.",
            "en",
            {"Priya Raman", "Stanford University"},
        ),
        ("The chancellor, Fiona McBride, left.", "en", {"Fiona McBride"}),
        ("Rep. Alice Chen and Rep. Xan Barrow", "en", {"Alice Chen", "Xan Barrow"}),
    ],
)
def test_titles_saints_and_the_body_of_a_person_are_told_apart(
    text: str, language: str, names: set[str]
) -> None:
    assert found(text, language).keys() == names


@pytest.mark.parametrize(
    "text",
    [
        "Segundo Fontes Próximas, nada mudou.",
        "GOVERNO FEDERAL ANUNCIA NOVO PROGRAMA",
        "Foi na Segunda-feira Passada.",
        "Versão Beta 2 do Produto Novo",
        "",
        "\n\n- [ ](x) **\n",
    ],
)
def test_capitals_alone_are_no_name(text: str) -> None:
    assert found(text, "pt") == {}


def test_a_surname_that_two_people_have_is_neither_of_them() -> None:
    text = "Ana Lima e Pedro Lima chegaram. Para Lima, foi cedo."
    assert found(text, "pt") == {
        "Ana Lima": ("person", []),
        "Pedro Lima": ("person", []),
    }


def test_names_of_the_headline_are_the_most_salient() -> None:
    text = "Ana Lima falou. Bruno Reis falou."
    [first, second] = names_of("Bruno Reis fala", text, "pt")
    salience = {one["name"]: one["salience"] for one in (first, second)}
    assert salience == {"Ana Lima": 0.6, "Bruno Reis": 1.0}


def test_an_id_is_the_same_with_and_without_accents_and_capitals() -> None:
    assert name_id("person", "Nísia Trindade") == "person/nisia-trindade"
    assert name_id("organisation", "MINISTERIO da Educação") == (
        name_id("organisation", "Ministério da Educação")
    )
    assert name_id("place", "東京") == "place/東京"


def test_names_of_a_model_have_ids_too() -> None:
    names = [{"name": "Ana Lima", "kind": "person"}, {"name": "Lei 1/2", "kind": "law"}]
    assert name_ids(json.dumps(names)) == ("person/ana-lima", "law/lei-1-2")
    assert name_ids(None) == ()


@pytest.mark.parametrize(
    "part", ["Ana ", "Ana de ", "A (B) ", "e Ana e ", "Ana-", "A'"]
)
def test_a_text_of_capitals_is_read_in_linear_time(part: str) -> None:
    assert grows_linearly(
        lambda text: names_of("", text, "pt"), lambda size: part * size, 20_000
    )
