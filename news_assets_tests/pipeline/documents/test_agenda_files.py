"""The items and notes of an agenda that is a PDF or a Word document."""

from io import BytesIO

import docx
import pytest

from news_assets.pipeline.documents.agenda_files import numbered_lines, read_agenda
from news_assets_tests.support.pdfs import pdf_of

AGENDA = """City Council Agenda
Tuesday, March 10, 2026 at 6:00 PM
100 Main Street
Comments: clerk@springfield.gov
1. Call to Order
2. Public Hearings
2.A ORD 2026-101: An Ordinance on the night buses
2.B Contract with Acme Inc.
4. Adjournment"""


def test_numbered_lines_are_the_items_and_the_others_the_notes() -> None:
    agenda = read_agenda(pdf_of(AGENDA), "https://town.example.org/agenda.pdf")
    assert agenda is not None
    assert [
        (item.number, item.section, item.title, item.matter_file)
        for item in agenda.items
    ] == [
        ("1", "", "Call to Order", None),
        ("2.A", "Public Hearings", "An Ordinance on the night buses", "ORD 2026-101"),
        ("2.B", "Public Hearings", "Contract with Acme Inc.", None),
        ("4", "", "Adjournment", None),
    ]
    assert [fact.value for fact in agenda.participation] == ["clerk@springfield.gov"]
    assert agenda.packet_url is None


def test_a_wrapped_title_is_joined_also_if_it_goes_on_with_a_digit() -> None:
    lines = [
        "1. A contract with Delta Paving for the resurfacing of Oak Street for",
        "412,000 dollars",
        "2. Recess",
    ]
    assert [line.title for line in numbered_lines(lines)] == [
        "A contract with Delta Paving for the resurfacing of Oak Street for 412,000 dollars",
        "Recess",
    ]


def test_numbers_that_do_not_follow_one_another_are_no_items() -> None:
    assert (
        numbered_lines(
            ["5 Clinic Way", "8:15 AM", "3. of the code", "9. of the charter"]
        )
        == []
    )


def test_an_agenda_in_word_has_the_numbers_of_its_lists() -> None:
    document = docx.Document()
    document.add_paragraph("Questions: clerk@springfield.gov")
    document.add_paragraph("Call to Order", style="List Number")
    document.add_paragraph("Contract for the night buses", style="List Number")
    written = BytesIO()
    document.save(written)

    agenda = read_agenda(written.getvalue(), "https://town.example.org/agenda.docx")

    assert agenda is not None
    assert [(item.number, item.title) for item in agenda.items] == [
        ("1", "Call to Order"),
        ("2", "Contract for the night buses"),
    ]
    assert [fact.value for fact in agenda.participation] == ["clerk@springfield.gov"]


def test_an_agenda_in_word_may_have_its_numbers_in_a_table() -> None:
    document = docx.Document()
    table = document.add_table(rows=2, cols=2)
    for row, texts in enumerate(
        [("1.", "Call to Order"), ("2.", "Contract for the buses")]
    ):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    written = BytesIO()
    document.save(written)

    agenda = read_agenda(written.getvalue(), "https://town.example.org/agenda.docx")

    assert agenda is not None
    assert [item.title for item in agenda.items] == [
        "Call to Order",
        "Contract for the buses",
    ]


@pytest.mark.parametrize(
    "numbers",
    [
        ["I.A", "I.B", "II.A", "III.A", "III.B", "IV.A", "V"],
        ["A", "B", "C", "D", "E"],
        ["1", "1a", "1b", "2", "3"],
        ["I", "II", "III", "IV", "V", "VI"],
        ["1", "A", "B", "2", "A", "B", "C"],
        ["1.1", "1.2", "1.2.i", "1.2.ii", "2.1"],
    ],
)
def test_numbers_of_any_style_are_read_in_their_order(numbers: list[str]) -> None:
    lines = [f"{number}. A matter of business" for number in numbers]
    assert [line.number for line in numbered_lines(lines)] == numbers
