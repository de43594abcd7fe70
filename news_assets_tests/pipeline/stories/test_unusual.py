"""Rare themes of publishers, and themes with more articles than usual."""

from datetime import date, timedelta

import pytest

from news_assets.pipeline.stories.unusual import ThemeHabits

DAY = date(2026, 11, 20)
WEEKS = [DAY - timedelta(weeks=number) for number in range(1, 9)]


def _habits(today: dict[str, int], usual: tuple[int, ...] = (10,) * 8) -> ThemeHabits:
    """Return habits of weeks with so many articles about sport, and 90 others each."""
    before = {
        day: {"sport": count, "other": 90}
        for day, count in zip(WEEKS, usual, strict=True)
    }
    return ThemeHabits({}, {**before, DAY: today})


def test_a_theme_that_a_publisher_rarely_has_is_rare_for_it_only() -> None:
    of_publisher = {
        "d/sport": {"sport": 990, "economy": 10},
        "d/money": {"economy": 1000},
    }
    habits = ThemeHabits(of_publisher, {})

    assert habits.one_in("economy", ["d/sport"]) > 40
    assert habits.one_in("economy", ["d/money"]) == pytest.approx(1, abs=0.02)
    both = habits.one_in("economy", ["d/sport", "d/money"])
    assert both == pytest.approx(habits.one_in("economy", ["d/sport"]) ** 0.5, rel=0.02)


def test_nothing_is_rare_in_an_archive_without_history() -> None:
    assert ThemeHabits({}, {}).one_in("sport", ["d/a"]) == 1
    assert ThemeHabits({}, {DAY: {"sport": 50}}).rising(DAY) == []


def test_a_theme_rises_above_its_share_of_the_weekday() -> None:
    [rising] = _habits({"sport": 40, "other": 90}).rising(DAY)

    assert (rising.theme_code, rising.articles) == ("sport", 40)
    assert rising.usual == pytest.approx(13)


def test_a_day_that_is_not_over_is_compared_by_its_shares() -> None:
    assert _habits({"sport": 3, "other": 27}).rising(DAY) == []
    assert _habits({"sport": 15, "other": 15}).rising(DAY)[0].theme_code == "sport"


def test_a_theme_that_always_varies_is_not_rising_by_the_same_number() -> None:
    varying = (1, 30, 2, 25, 1, 28, 3, 2)

    assert _habits({"sport": 28, "other": 90}, varying).rising(DAY) == []
    assert _habits({"sport": 28, "other": 90}).rising(DAY)
