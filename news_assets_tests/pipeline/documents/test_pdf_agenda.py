"""The items and notes of an agenda that is a PDF."""

from news_assets.pipeline.documents.pdf.agenda import numbered_lines, read_agenda
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
    assert [(item.number, item.title, item.matter_file) for item in agenda.items] == [
        ("1", "Call to Order", None),
        ("2", "Public Hearings", None),
        ("2.A", "An Ordinance on the night buses", "ORD 2026-101"),
        ("2.B", "Contract with Acme Inc.", None),
        ("4", "Adjournment", None),
    ]
    assert [fact.value for fact in agenda.participation] == ["clerk@springfield.gov"]
    assert agenda.packet_url is None


def test_a_wrapped_title_is_joined_also_if_it_goes_on_with_a_digit() -> None:
    lines = ["1. A contract with Delta Paving for the resurfacing of Oak Street for", "412,000 dollars", "2. Recess"]
    assert [line.title for line in numbered_lines(lines)] == [
        "A contract with Delta Paving for the resurfacing of Oak Street for 412,000 dollars",
        "Recess",
    ]


def test_numbers_that_do_not_follow_one_another_are_no_items() -> None:
    assert numbered_lines(["5 Clinic Way", "8:15 AM", "3. of the code", "9. of the charter"]) == []
