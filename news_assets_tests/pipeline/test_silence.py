from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from news_assets.pipeline.publishing_habits import (
    PublishingHistory,
    describe_habit,
    duration,
    learn_habit,
)
from news_assets.pipeline.source_health import find_silences
from news_assets.pipeline.stage_declaration import Findings

HEADER = ("agency", "last_entry_at", "silent_for", "missed", "habit")
MONDAY = date(2025, 11, 3)
OFFICE_HOURS = [0] * 12 + [20] * 9 + [0] * 3  # UTC: 9 to 18 in São Paulo


def agency(counts: list[int], key: str = "mec", **given: object) -> PublishingHistory:
    """Return an agency with so many entries on each day from a Monday on."""
    days = {
        MONDAY + timedelta(days=n): count for n, count in enumerate(counts) if count
    }
    last_at = datetime.combine(
        max(days, default=MONDAY), datetime.min.time(), UTC
    ) + timedelta(hours=18)
    known: dict[str, object] = {
        "seen_hours": OFFICE_HOURS,
        "last_entry_at": last_at,
        **given,
    }
    return PublishingHistory(
        agency=key, timezone="America/Sao_Paulo", day_counts=days, **known
    )


def day(number: int, local_hour: int = 9) -> datetime:
    """Return a local hour of the n-th day of the history."""
    return datetime.combine(MONDAY, datetime.min.time(), UTC) + timedelta(
        days=number, hours=local_hour + 3
    )


def week(count: int) -> list[int]:
    return [count] * 5 + [0, 0]


def is_silent(counts: list[int], now: datetime) -> bool:
    return bool(find_silences([agency(counts)], now).rows)


def test_an_agency_without_weekend_entries_is_not_silent_on_monday_morning() -> None:
    counts = week(20) * 20
    for hour in range(0, 24, 3):
        assert not is_silent(counts, day(138, hour))  # Saturday
        assert not is_silent(counts, day(139, hour))
    assert not is_silent(counts, day(140, 9))
    assert not is_silent(counts, day(140, 12))


def test_an_agency_with_twenty_entries_a_day_is_silent_after_one_day() -> None:
    row = (
        "mec",
        day(137, 15),
        "3 days 8 h",
        18.6,
        "20.0 a day, none at weekends; longest silence 2 days",
    )
    assert find_silences([agency(week(20) * 20)], day(140, 23)) == Findings(
        1, HEADER, (row,)
    )


def test_an_agency_with_two_entries_a_month_is_silent_after_months_only() -> None:
    counts = ([0] * 14 + [1]) * 24
    assert [is_silent(counts, day(360 + days)) for days in (14, 28, 45, 150)] == [
        False,
        False,
        False,
        True,
    ]


def test_an_agency_with_bursts_is_silent_later_than_a_steady_one() -> None:
    dice = np.random.default_rng(3)
    steady = dice.poisson(1, 300).tolist()
    bursts = (10 * (dice.random(300) < 0.1)).tolist()
    steady[-1], bursts[-1] = 1, 10
    delays = [
        next(n for n in range(400) if is_silent(counts, day(300 + n)))
        for counts in (steady, bursts)
    ]
    assert 9 <= delays[0] <= 16
    assert 50 <= delays[1] <= 200


def test_a_silence_in_the_same_season_last_year_is_taken_into_account() -> None:
    with_break = week(5) * 52
    with_break[56:70] = [0] * 14
    until_break = with_break + week(5) * 8
    assert [is_silent(until_break, day(418 + days)) for days in (4, 14, 30)] == [
        False,
        False,
        True,
    ]
    assert is_silent(week(5) * 60, day(434))


def test_one_long_break_does_not_hide_the_next_silence_for_months() -> None:
    counts = week(5) * 40
    counts[200:221] = [0] * 21
    assert is_silent(counts, day(280 + 9))


def test_two_long_breaks_are_part_of_the_habit() -> None:
    counts = week(5) * 40
    counts[182:196] = counts[231:245] = [0] * 14
    assert not is_silent(counts, day(280 + 14))
    assert is_silent(counts, day(280 + 35))


def test_a_day_without_entries_of_any_agency_is_a_holiday() -> None:
    names = [f"agency{number}" for number in range(20)]
    worked = [agency(week(20) * 20 + [20, 20], name) for name in names]
    rested = [agency(week(20) * 20 + [20], name) for name in names]
    evening = day(141, 23)
    assert find_silences([agency(week(20) * 20 + [20]), *rested], evening).rows == ()
    assert [
        row[0]
        for row in find_silences([agency(week(20) * 20 + [20]), *worked], evening).rows
    ] == ["mec"]


def test_a_desk_that_is_silent_as_a_whole_is_found() -> None:
    names = [f"agency{number}" for number in range(20)]
    desk = [agency(week(20) * 20, name) for name in names]
    assert find_silences(desk, day(140, 23)).rows == ()
    assert len(find_silences(desk, day(147, 23)).rows) == 20


def test_time_after_the_last_answer_is_not_silence() -> None:
    not_polled = agency(week(20) * 20, last_answer_at=day(138, 9))
    assert find_silences([not_polled], day(170)).rows == ()
    assert (
        len(
            find_silences([replace(not_polled, last_answer_at=day(170))], day(170)).rows
        )
        == 1
    )


def test_an_agency_that_has_been_dead_for_years_is_still_found() -> None:
    (row,) = find_silences([agency(week(3) * 20)], day(2000)).rows
    assert row[0:3] == ("mec", day(137, 15), "1862 days 18 h")


def test_agencies_with_little_history_are_not_silent() -> None:
    assert find_silences([agency([1] * 13)], day(300)).rows == ()
    assert find_silences([agency([1, *[0] * 20, 1, 1, 1])], day(300)).rows == ()


def test_an_agency_without_entries_days_after_its_first_answer_is_found() -> None:
    never = agency(
        [], last_entry_at=None, first_answer_at=day(0), last_answer_at=day(5)
    )
    row = ("mec", None, "5 days", None, "no entry since the first poll")
    assert find_silences([never], day(5)) == Findings(1, HEADER, (row,))
    assert find_silences([never], day(2)).rows == ()
    assert find_silences([replace(never, first_answer_at=None)], day(5)).rows == ()


def test_the_most_unusual_silence_comes_first() -> None:
    slow, fast = agency(week(3) * 20, "slow"), agency(week(20) * 20, "fast")
    never = agency([], "never", last_entry_at=None, first_answer_at=day(0))
    assert [row[0] for row in find_silences([slow, fast, never], day(160)).rows] == [
        "never",
        "fast",
        "slow",
    ]


_histories = st.lists(st.lists(st.integers(0, 60), max_size=60), max_size=5)


@settings(deadline=None)
@given(
    _histories,
    st.integers(-10, 900),
    st.integers(0, 23),
    st.none() | st.integers(-20, 900),
)
def test_any_history_gives_findings(
    histories: list[list[int]], number: int, hour: int, answered: int | None
) -> None:
    answered_at = None if answered is None else day(answered)
    desk = [
        agency(counts, str(n), last_answer_at=answered_at)
        for n, counts in enumerate(histories)
    ]
    found = find_silences(desk, day(number, hour))
    assert found.checked == len(desk)
    assert {row[0] for row in found.rows} <= {
        one.agency for one in desk if learn_habit(one)
    }


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.05, 20))
def test_a_silence_once_found_stays_found_until_it_ends(seed: int, rate: float) -> None:
    counts = np.random.default_rng(seed).poisson(rate, 120).tolist()
    found = [is_silent(counts, day(120 + days)) for days in range(0, 150, 6)]
    assert found == sorted(found)


# --- as text --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (week(3) * 20, "3.0 a day, none at weekends; longest silence 2 days"),
        ([4] * 140, "4.0 a day; never a day without"),
        (([2] * 6 + [0]) * 20, "2.0 a day, none on Sundays; longest silence 1 day"),
        ([1, 0, 0, 0, 0, 0, 0] * 30, "1.0 a week; longest silence 6 days"),
        (([0] * 13 + [1]) * 26, "2.2 a month; longest silence 13 days"),
        (([0] * 59 + [1]) * 6, "7.3 a year; longest silence 59 days"),
    ],
)
def test_a_habit_is_described(counts: list[int], words: str) -> None:
    habit = learn_habit(agency(counts))
    assert habit is not None
    assert describe_habit(habit) == words


@pytest.mark.parametrize(
    ("span", "words"),
    [
        (timedelta(minutes=5), "5 min"),
        (timedelta(hours=5, minutes=20), "5 h 20 min"),
        (timedelta(days=1), "1 day"),
        (timedelta(days=3, hours=4, minutes=59), "3 days 4 h"),
        (timedelta(seconds=-5), "0 min"),
    ],
)
def test_a_duration_has_its_two_largest_units(span: timedelta, words: str) -> None:
    assert duration(span) == words
