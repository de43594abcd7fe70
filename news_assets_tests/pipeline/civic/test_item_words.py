"""Filters, topics, and steps of a matter's way."""

from dataclasses import replace

import pytest

from news_assets.pipeline.civic.item_words import (
    OTHER,
    Filtered,
    filtered,
    step_of,
    topics_of_item,
    topics_of_meeting,
    topics_taxonomy,
)
from news_assets.records.desks import ItemFilters
from news_assets_tests.support.stored_meeting import ITEM

# --- filters --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "tier"),
    [
        ("ROLL CALL", "dropped"),
        ("1. Pledge of Allegiance", "dropped"),
        ("Approval of Minutes of the Regular Meeting of March 3, 2026", "dropped"),
        ("ADJOURN", "dropped"),
        ("Proclamation: Arbor Day", "not_enriched"),
        ("Commendation of Officer Bee", "not_enriched"),
        ("Re-appointments to the Library Board", "not_enriched"),
        ("Liquor License for Acme Tavern", "not_enriched"),
        ("Recommendation to award a contract", None),
        ("Adopt recommendations on the budget of the parks department", None),
        ("Lease of the barn", None),
        (
            "Contract with Acme Inc. for the taking of minutes and the recording of all hearings for five years",
            None,
        ),
        ("A ten-minute parking zone", None),
        ("", None),
        ("Public Comment", "dropped"),
        ("5.A Communications", "dropped"),
        ("Approve the agenda", "dropped"),
        ("Call to Order - 6:00 PM", "dropped"),
        ("Invocation by Pastor John Smith", "dropped"),
        ("Pledge of Allegiance (Troop 12)", "dropped"),
        ("Roll Call Vote on the Budget Ordinance", None),
        ("Amendment to the Minutes Retention Ordinance", None),
        ("Public Comment Policy Ordinance", None),
        ("Communications tower at 12 Oak Street", None),
        ("Closing of Elm Street for the parade", None),
        ("Reports of flooding on River Road", None),
        ("Proclamation of a Local Emergency", None),
        ("Proclamation declaring December as Adopt a Pet Month", "not_enriched"),
        ("Resolution of Commendation for Ann Lee", "not_enriched"),
        ("Approve liquor license for Acme Tavern", "not_enriched"),
        ("Ordinance on liquor licenses", None),
        ("Hearing on the appointment of a receiver", None),
    ],
)
def test_a_filter_fits_a_whole_title_and_never_a_word_in_one(
    title: str, tier: str | None
) -> None:
    found = filtered(title, ItemFilters())
    assert (found.tier if found else None) == tier


def test_the_reason_quotes_the_words_that_fit() -> None:
    assert filtered("Roll  Call", ItemFilters()) == Filtered(
        "dropped", 'procedural: "roll call"'
    )


def test_a_desks_own_phrases_replace_the_defaults() -> None:
    own = ItemFilters(dropped=("safety briefing",), not_enriched=())
    assert filtered("Safety briefing (C++)", own) == Filtered(
        "dropped", 'procedural: "safety briefing"'
    )
    assert filtered("Roll call", own) is None
    assert filtered("Proclamation", own) is None


# --- topics ---------------------------------------------------------------------------


def test_there_are_16_topics_with_words_of_their_own() -> None:
    themes = topics_taxonomy().themes
    assert len(themes) == 16
    words = [word for theme in themes.values() for word in theme.keywords.get("en", ())]
    assert [word for word in set(words) if words.count(word) > 1] == []
    assert [
        code for code, theme in themes.items() if len(theme.keywords.get("en", ())) < 10
    ] == [OTHER]


@pytest.mark.parametrize(
    ("title", "topic"),
    [
        (
            "Resolution accepting a grant for 40 affordable housing units on Main Street",
            "housing",
        ),
        (
            "Ordinance rezoning 2.3 acres from R-1 to C-2 with a variance for the setback",
            "zoning",
        ),
        ("Traffic calming and new crosswalks on Oak Avenue", "transportation"),
        ("Second reading: FY 2027 budget and property tax levy", "budget"),
        ("Police department body camera policy", "public_safety"),
        ("Climate action plan and greenhouse gas inventory", "environment"),
        ("Playground replacement at Lincoln Park", "parks"),
        ("Water main and sanitary sewer replacement, phase 2", "utilities"),
        (
            "Downtown business improvement district and tax increment financing",
            "economic_development",
        ),
        (
            "Joint meeting with the school district on after-school classrooms",
            "education",
        ),
        ("Opioid settlement funds for the mental health clinic", "health"),
        (
            "Comprehensive plan update and final plat of Willow Creek subdivision",
            "planning",
        ),
        ("Liquor license renewal", "permits"),
        (
            "Award of bid and change order for professional services agreement",
            "contracts",
        ),
        ("Reappointment of two commissioners to fill a vacancy", "appointments"),
        ("Remarks of the mayor", "other"),
    ],
)
def test_a_title_has_its_topic(title: str, topic: str) -> None:
    assert topics_of_item(title)[0] == topic


def test_an_item_has_several_topics_and_its_summary_counts() -> None:
    assert set(topics_of_item("Contract award for sidewalk repairs")) == {
        "contracts",
        "transportation",
    }
    assert topics_of_item(
        "Item 7", "The council sets water rates and sewer rates for next year."
    ) == ("utilities",)


def test_topics_of_a_meeting_are_counted_over_its_items_with_other_last() -> None:
    items = [("housing", "zoning"), ("zoning",), ("other",), ("other",), ("other",)]
    assert topics_of_meeting(items) == (("zoning", 2), ("housing", 1), ("other", 3))
    assert topics_of_meeting([]) == ()


# --- steps of a matter ----------------------------------------------------------------


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
