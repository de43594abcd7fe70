import pytest

from news_assets.pipeline.civic.item_words import (
    OTHER,
    topics_of_item,
    topics_of_meeting,
    topics_taxonomy,
)


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
