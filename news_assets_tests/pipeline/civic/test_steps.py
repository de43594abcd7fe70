"""Steps of a matter's way."""

from dataclasses import replace

import pytest

from news_assets.pipeline.civic.matters import step_of
from news_assets_tests.support.stored_meeting import ITEM


@pytest.mark.parametrize(
    ("action", "result", "section", "is_first", "step"),
    [
        ("introduced", "", "", True, "introduced"),
        ("Introduced and referred to committee", "", "", True, "referred"),
        ("referred", "Pass", "", False, "referred"),
        ("Public hearing held", "", "", False, "heard"),
        ("continued", "Pass", "", False, "heard"),
        ("adopted", "Pass", "", False, "voted"),
        ("", "Fail", "", False, "voted"),
        ("", "", "Public Hearings", True, "heard"),
        ("", "", "New Business", True, "introduced"),
        ("", "", "New Business", False, "heard"),
    ],
)
def test_a_step_is_what_the_action_says(
    action: str, result: str, section: str, is_first: bool, step: str
) -> None:
    item = replace(ITEM, action=action, result=result, section=section)
    assert step_of(item, "passed", is_first=is_first) == step


def test_what_is_to_come_is_scheduled_or_cancelled() -> None:
    assert [
        step_of(ITEM, status, is_first=True)
        for status in ("tentative", "confirmed", "cancelled")
    ] == [
        "scheduled",
        "scheduled",
        "cancelled",
    ]
