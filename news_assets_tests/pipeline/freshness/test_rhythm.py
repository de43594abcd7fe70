from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from news_assets.pipeline.freshness.rhythm import (
    Habit,
    PublishingHistory,
    learn_habit,
    share_of_day,
)

LAST = date(2026, 11, 19)  # a Thursday


def published(
    counts: list[int], last: date = LAST, **given: object
) -> PublishingHistory:
    """Return an agency with so many entries on each day up to the last."""
    days = {
        last - timedelta(days=n): count
        for n, count in enumerate(reversed(counts))
        if count
    }
    return PublishingHistory(
        agency="mec", timezone="America/Sao_Paulo", day_counts=days, **given
    )


def habit(counts: list[int], last: date = LAST, **given: object) -> Habit:
    learnt = learn_habit(published(counts, last, **given))
    assert learnt is not None
    return learnt


def workdays(weeks: int, count: int) -> list[int]:
    """Return counts from Monday to Friday, ending on a Friday."""
    return ([0, 0] + [count] * 5) * weeks


@pytest.mark.parametrize(
    "counts", [[], [5], [1] * 13, [4, *[0] * 200], [1, *[0] * 50, 1, 1, 1]]
)
def test_no_habit_is_learnt_from_few_entries_or_days(counts: list[int]) -> None:
    assert learn_habit(published(counts)) is None


def test_a_habit_is_learnt_from_five_entries_in_two_weeks() -> None:
    assert (
        habit([1, 1, 1, *[0] * 10, 1, 1]).first
        == (LAST - timedelta(days=14)).toordinal()
    )


def test_each_weekday_has_its_own_rate() -> None:
    rates = habit(workdays(20, 4), date(2026, 11, 20)).rates
    assert rates[5:].tolist() == [0, 0]
    assert rates[:5] == pytest.approx(4, rel=0.02)


def test_a_habit_does_not_depend_on_the_days_after_the_last_entry() -> None:
    months_ago = date(2026, 3, 20)
    assert (
        habit(workdays(20, 4), months_ago).rates.tolist()
        == habit(workdays(20, 4), date(2026, 11, 20)).rates.tolist()
    )


def test_a_rare_publisher_is_learnt_from_more_than_twelve_weeks() -> None:
    fortnightly = habit(([0] * 13 + [1]) * 20)
    assert fortnightly.learnt_days == len(fortnightly.counts) > 200
    assert habit([3] * 300).learnt_days == 84


def test_bursts_have_a_high_dispersion() -> None:
    even, bursts = habit([2] * 200), habit(([0] * 9 + [20]) * 20)
    dice = np.random.default_rng(7)
    by_chance = habit(dice.poisson(2, 200).tolist())
    assert even.dispersion < by_chance.dispersion < bursts.dispersion
    assert by_chance.dispersion == pytest.approx(1, abs=0.4)
    assert 7 < bursts.dispersion < 20


def test_the_incomplete_first_day_and_old_pinned_entries_are_skipped() -> None:
    pinned = [1, *[0] * 300, 3, *[10] * 13, *[10] * 14]
    seen_at = datetime(2026, 11, 5, 12, 0, tzinfo=UTC) + timedelta(days=1)
    learnt = habit(pinned, first_seen_at=seen_at)
    assert learnt.counts.sum() < sum(pinned)
    assert learnt.rates == pytest.approx(10, rel=0.1)
    assert learnt.counts.tolist() == [10] * len(learnt.counts)


_counts = st.lists(st.integers(0, 500), min_size=0, max_size=500)


@settings(deadline=None)
@given(_counts, st.dates(date(1990, 1, 1), date(2026, 11, 19)))
def test_any_history_gives_finite_rates_or_no_habit(
    counts: list[int], last: date
) -> None:
    learnt = learn_habit(published(counts, last))
    if learnt is not None:
        assert np.isfinite([*learnt.rates, learnt.dispersion, learnt.limit(0.03)]).all()
        assert learnt.dispersion > 0
        assert learnt.limit(0.03) > 0
        assert len(learnt.counts) == learnt.last - learnt.first + 1
        assert learnt.counts[-1] > 0


# --- time of day ----------------------------------------------------------------------


def at_local(hour: int) -> datetime:
    return datetime(2026, 11, 20, hour, 0, tzinfo=UTC) + timedelta(hours=3)


def test_the_share_of_a_day_follows_the_hours_in_which_entries_are_seen() -> None:
    hours = [0] * 24
    for local in range(9, 18):
        hours[(local + 3) % 24] = 100
    one = published([1], seen_hours=hours)
    shares = [share_of_day(one, at_local(hour)) for hour in (0, 9, 12, 18, 23)]
    assert shares == pytest.approx([0, 0, 300 / 910, 900 / 910, 900 / 910])


def test_without_known_hours_the_share_of_a_day_is_zero() -> None:
    assert [share_of_day(published([1]), at_local(hour)) for hour in (0, 12, 23)] == [
        0,
        0,
        0,
    ]


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 1000), min_size=24, max_size=24),
    st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - bounds are naive
    st.sampled_from(
        [
            "America/Sao_Paulo",
            "Asia/Kathmandu",
            "Australia/Lord_Howe",
            "America/New_York",
            "UTC",
        ]
    ),
)
def test_the_share_is_below_one_also_when_clocks_change(
    hours: list[int], moment: datetime, timezone: str
) -> None:
    one = PublishingHistory(
        agency="mec", timezone=timezone, day_counts={}, seen_hours=hours
    )
    assert 0 <= share_of_day(one, moment) < 1
