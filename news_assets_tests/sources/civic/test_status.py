"""Whether 200 titles say that their meeting is cancelled; one in three was set aside
while the rules were written.
"""

from pathlib import Path

import pytest

from news_assets.sources.civic.reading.build import says_cancelled

TITLES = Path(__file__).parent / "data" / "titles_with_status.tsv"


def test_a_word_in_a_title_cancels_a_meeting_only_if_it_is_said_of_the_meeting() -> (
    None
):
    rows = [line.split("\t") for line in TITLES.read_text("utf-8").splitlines()]
    wrong = [
        title
        for status, title in rows
        if says_cancelled(title) != (status == "cancelled")
    ]
    assert len(rows) == 200
    assert wrong == []


@pytest.mark.parametrize(
    ("title", "is_cancelled"),
    [
        ("City Council Regular Meeting - Winter Recess", True),
        ("Board of Health will not meet in December", True),
        ("No meeting in December - Board of Health", True),
        ("Sesión del 9 de diciembre cancelada", True),
        ("Rescheduled: City Council, now December 9 at 6 PM", False),
        ("Policy on a commission that will not be held liable", False),
        ("Committee on Cancelled Debts", False),
    ],
)
def test_other_forms_of_these_words(title: str, is_cancelled: bool) -> None:
    assert says_cancelled(title) is is_cancelled
