"""What an article of news names of councils and laws."""

from datetime import date

import pytest

from news_assets.pipeline.civic.mentions import (
    is_national,
    label_of,
    mentions_of,
    number_of_matter,
    numbers_in,
)

DAY = date(2026, 11, 25)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ordinance No. 2026-14 and Resolution 24-0103", ["ORD 2026-14", "RES 24-103"]),
        ("ORD-2026-101, VAR 2026-3", ["ORD 2026-101", "VAR 2026-3"]),
        ("Council File 24-0123-S1", ["FILE 24-123-S1"]),
        ("Intro. 0123-2026, O2026-0012345", ["INT 123-2026", "O 2026-12345"]),
        ("Ord. 5123 of the county", ["ORD 5123"]),
        ("PL 1.234/2026 e PL 12/26", ["PL 1234/2026", "PL 12/2026"]),
        ("Lei nº 14.133, de 1º de abril de 2021", ["LEI 14133/2021"]),
        ("a Lei 14.133, de 2021", ["LEI 14133/2021"]),
        ("Projeto de Lei Complementar nº 7/2026", ["PLP 7/2026"]),
        ("Lei Municipal 88/2020", ["LEI MUNICIPAL 88/2020"]),
        ("Public Law 117-58", ["PUBLIC LAW 117-58"]),
        ("the bill 2026 of Flight 370, seat A 12, on page 26-101", []),
        ("bill 12.5 million; 26-101 votes", []),
    ],
)
def test_numbers_are_found_in_one_form(text: str, found: list[str]) -> None:
    assert numbers_in(text) == found


@pytest.mark.parametrize(
    ("stated", "number"),
    [
        ("RES 2026-077", "RES 2026-77"),
        ("26-0412", "26-412"),
        ("CB 120812", "CB 120812"),
        ("Projeto de Lei 12/2026", "PL 12/2026"),
    ],
)
def test_the_number_of_a_matter_has_the_same_form(stated: str, number: str) -> None:
    assert number_of_matter(stated) == number


def test_a_law_of_the_country_is_known_by_kind_and_year() -> None:
    assert is_national("LEI 14133/2021")
    assert label_of("LEI 14133/2021") == "Lei 14.133/2021"
    assert is_national("PEC 45/2019")
    assert not is_national(
        "LEI 1234/2020"
    )  # a city's: the country's have other numbers
    assert not is_national("LEI 8666")
    assert not is_national("ORD 2026-14")


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("The City Council met Tuesday.", ["2026-12-01", "2026-11-24"]),
        ("The City Council votes on Dec. 1.", ["2026-12-01"]),
        ("The Parks Board meets tonight.", ["2026-11-25"]),
        ("A Câmara votou nesta terça-feira (24).", ["2026-12-01", "2026-11-24"]),
        ("A Câmara vota em 1º de dezembro.", ["2026-12-01"]),
        ("The council met on February 30.", []),
        ("The council met on May 3, 2019.", []),
        ("It rained on Tuesday.", []),
    ],
)
def test_a_body_and_a_day_in_one_sentence_may_be_a_meeting(
    text: str, days: list[str]
) -> None:
    found = mentions_of(None, text, (), DAY)
    assert [named for kind, named, _ in found if kind == "meeting"] == days


def test_addresses_of_agendas_and_the_sentence_with_a_number_are_kept() -> None:
    links = (
        "https://oak.primegov.com/Portal/Meeting?id=1#top",
        "https://shop.example/",
    )
    found = mentions_of("Homes", "It rains. Ordinance 26-14 passed. Good.", links, DAY)
    assert found == [
        ("number", "ORD 26-14", "Ordinance 26-14 passed."),
        ("address", "https://oak.primegov.com/Portal/Meeting?id=1", links[0]),
    ]
