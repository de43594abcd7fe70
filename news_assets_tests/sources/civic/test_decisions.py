"""Decisions in the text of minutes."""

import pytest

from news_assets.sources.civic.reading.decisions import ItemName, decisions_of


def item(number: str, title: str, matter_file: str | None = None) -> ItemName:
    return ItemName(item_id=number, number=number, title=title, matter_file=matter_file)


BUSES = item("4.A", "An ordinance on the contract for night buses", "ORD 2026-101")
PAVING = item(
    "4.B", "Award of the paving of Oak Street to Delta Paving LLC", "RES 2026-077"
)
SIGN = item("5", "Stop sign at Elm Street and Fifth Avenue")
LABELLED = """\
MINUTES OF THE CITY COUNCIL

4.A. ORD-2026-101 An ordinance on the contract for night buses

RESULT: ADOPTED [2 TO 1]
MOVER: Rosa Ruiz
AYES: Ruiz, Chen
NAYS: Okafor

4.B. RES-2026-077 Award of the paving of Oak Street
to Delta Paving LLC
RESULT: TABLED
"""


def test_labelled_lines_are_the_decision_of_the_item_above() -> None:
    assert decisions_of(LABELLED, [BUSES, PAVING, SIGN]) == {
        "4.A": "RESULT: ADOPTED [2 TO 1] MOVER: Rosa Ruiz AYES: Ruiz, Chen NAYS: Okafor",
        "4.B": "RESULT: TABLED",
    }


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        (
            "5. Stop sign at Elm Street\nMany spoke. Motion by Chen, seconded by Ruiz, carried 5-0. All left.",
            "Motion by Chen, seconded by Ruiz, carried 5-0.",
        ),
        (
            "Item 5: Stop sign at Elm Street and Fifth Avenue\nVote: 3-2, failed",
            "Vote: 3-2, failed",
        ),
        (
            "## 5) Stop sign, Elm Street\n**Action taken:** Continued to May 4",
            "Action taken: Continued to May 4",
        ),
        ("5. Stop sign at Elm Street\nThe committee moved on.", None),
        ("5. Adjournment\nMotion carried.", None),
        ("The five members met. Motion carried.", None),
    ],
)
def test_sentences_about_motions_are_decisions_where_number_and_title_agree(
    text: str, decision: str | None
) -> None:
    assert decisions_of(text, [SIGN]).get("5") == decision


@pytest.mark.parametrize(
    "written", ["ORD 2026-101", "Ord. 2026-101", "ord2026-101", "File #ORD-2026-101:"]
)
def test_a_file_number_is_found_as_people_write_it(written: str) -> None:
    assert decisions_of(f"{written} buses\nMotion approved, vote 3-0.", [BUSES]) == {
        "4.A": "Motion approved, vote 3-0."
    }


def test_a_decision_of_an_item_that_is_not_known_is_not_given_to_the_one_before() -> (
    None
):
    text = "4.A Contract for night buses, an ordinance\nNo action.\n5. Stop sign at Elm Street\nRESULT: DENIED"
    assert decisions_of(text, [BUSES, SIGN]) == {"5": "RESULT: DENIED"}
