"""Numbers of agenda items, and public numbers of matters."""

from dataclasses import replace

import pytest

from news_assets.records.meetings import AgendaItem, Meeting
from news_assets.sources.civic.numbering import (
    canonical_file,
    file_in,
    number_alone,
    split_number,
    with_matter_numbers,
)


@pytest.mark.parametrize("number", ["4.A", "III.B.2", "10a", "C-1", "VII", "2.b.iv"])
def test_a_number_stands_alone_or_before_a_title(number: str) -> None:
    assert number_alone(f"({number})") == number_alone(f"{number}.") == number
    assert split_number(f"{number}. Budget") == (number, "Budget")


@pytest.mark.parametrize(
    "title", ["1.5 million dollars", "4 parcels", "Mix. use", "12 Oak Street"]
)
def test_a_title_may_begin_with_digits(title: str) -> None:
    assert split_number(title) == ("", title)


def _titled(title: str) -> AgendaItem:
    item = AgendaItem(sequence=1, title=title)
    [found] = with_matter_numbers(replace(Meeting(vendor_id="7"), items=(item,))).items
    return found


@pytest.mark.parametrize(
    ("title", "file", "kind", "rest"),
    [
        (
            "ORD-2026-101: An Ordinance to rezone",
            "ORD-2026-101",
            "Ordinance",
            "An Ordinance to rezone",
        ),
        ("LL 26-014 Solar arrays", "LL 26-014", "Local Law", "Solar arrays"),
        (
            "CB 120999: Relating to trees",
            "CB 120999",
            "Council Bill",
            "Relating to trees",
        ),
        ("R2026-05 Night buses", "R2026-05", "Resolution", "Night buses"),
        ("2026-0457 Mooring fees", "2026-0457", None, "Mooring fees"),
        ("Z-2026-17: Rezoning of a lot", "Z-2026-17", None, "Rezoning of a lot"),
        (
            "A Resolution to award a contract",
            None,
            "Resolution",
            "A Resolution to award a contract",
        ),
        ("2026-27 Budget", None, None, "2026-27 Budget"),
        ("1414-1420 Elm Street", None, None, "1414-1420 Elm Street"),
        ("2026-2040 Comprehensive Plan", None, None, "2026-2040 Comprehensive Plan"),
        ("SUP 1200 Oak Street", None, None, "SUP 1200 Oak Street"),
        ("FY 2026-27 budget", None, None, "FY 2026-27 budget"),
    ],
)
def test_a_title_tells_number_and_kind_of_its_matter(
    title: str, file: str | None, kind: str | None, rest: str
) -> None:
    item = _titled(title)
    assert (item.matter_file, item.matter_type, item.title) == (file, kind, rest)


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("File ID: RES 2026-7", "RES 2026-7"),
        ("Item number 240123", "240123"),
        ("File #: 26-1234", "26-1234"),
        ("2026-0457", "2026-0457"),
        ("LL 26-014", "LL 26-014"),
        ("10-12", None),
        ("File 12", None),
        ("Item No. 4", None),
        ("Communication", None),
    ],
)
def test_a_text_states_the_number_of_a_matter(text: str, file: str | None) -> None:
    assert file_in(text) == file


def test_a_number_has_one_form_however_it_is_written() -> None:
    written = (
        "Ord. No. 2026-101",
        "ORD-2026-101",
        "ORD 2026-101",
        "Ordinance 2026-101",
    )
    assert {canonical_file(one) for one in written} == {"ORD 2026-101"}
