from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from news_assets.pipeline.publishing_habits import (
    Floats,
    Habit,
    PublishingHistory,
    PublishingRates,
    learn_habit,
    learn_rates,
    rates_of,
    share_of_day,
)
from news_assets.records.articles import FeedEntry
from news_assets.store.lake import Lake
from news_assets_tests.pipeline.poll.poll_cases import NOW, SOURCE
from news_assets_tests.store.examples import sparse

ZONE = SOURCE.timezone  # UTC-3
MONDAY = datetime(2026, 9, 7, 3, tzinfo=UTC)  # 00:00 there
NONE: Floats = np.array([])
HOUR_S = 3600.0


def local_times(hours: list[float], weeks: int = 8, days: range = range(5)) -> Floats:
    """Return times at these local hours of these weekdays, in the weeks before MONDAY."""
    starts = [
        MONDAY - timedelta(weeks=week) + timedelta(days=day)
        for week in range(1, weeks + 1)
        for day in days
    ]
    return np.array(
        sorted(
            (start + timedelta(hours=hour)).timestamp()
            for start in starts
            for hour in hours
        )
    )


def table(rates: PublishingRates) -> Floats:
    return rates.per_hour.reshape(7, 24)


def test_a_new_source_is_expected_to_publish_once_a_day_mostly_in_working_hours() -> (
    None
):
    rates = learn_rates(NONE, NONE, ZONE, NOW)
    assert rates.per_day == pytest.approx(1)
    assert table(rates)[0, 10] == pytest.approx(10 * table(rates)[0, 3])
    assert table(rates)[5, 10] == pytest.approx(0.35 * table(rates)[0, 10])


def test_the_rates_of_working_hours_are_learnt_in_the_zone_of_the_source() -> None:
    times = local_times([9.5, 10.5, 11.5, 15.5])
    found = table(learn_rates(times, times + 60, ZONE, MONDAY))
    assert found.sum() == pytest.approx(20, rel=0.15)
    assert found[:5, [9, 10, 11, 15]].min() > 0.4
    assert found[:5, :7].max() < 0.05
    assert found[5:].max() < 0.05


def test_a_weekday_of_its_own_is_learnt() -> None:
    times = np.sort(
        np.concatenate(
            [local_times([10.5]), local_times([16.2, 16.4, 16.6], days=range(3, 4))]
        )
    )
    found = table(learn_rates(times, times + 60, ZONE, MONDAY))
    assert found[3, 16] > 0.8
    assert found[[0, 1, 2, 4], 16].max() < 0.5


def test_few_entries_change_little() -> None:
    prior, times = (
        learn_rates(NONE, NONE, ZONE, MONDAY),
        local_times([2.5], weeks=1, days=range(1)),
    )
    found = learn_rates(times, times + 60, ZONE, MONDAY)
    assert table(found)[0, 2] < 3 * table(prior)[0, 2]


def test_the_first_listing_tells_the_rate_of_the_days_that_it_covers_but_for_pinned_entries() -> (
    None
):
    """Twenty entries of the last five days, and one pinned three weeks ago."""
    times = np.append(
        local_times([9, 11, 14, 16], weeks=1), MONDAY.timestamp() - 21 * 24 * HOUR_S
    )
    seen = np.full(len(times), MONDAY.timestamp())
    assert 2 < learn_rates(np.sort(times), seen, ZONE, MONDAY).per_day < 4


def test_entries_without_a_time_of_day_count_when_first_seen_but_for_those_of_the_first_poll() -> (
    None
):
    seen = local_times([10.5])
    dates = (seen - 3 * HOUR_S) // 86_400 * 86_400 + 3 * HOUR_S  # 00:00 there
    for published in (np.full(len(seen), np.nan), dates, seen + 10 * HOUR_S):
        found = table(learn_rates(published, seen, ZONE, MONDAY))
        assert (found[:5, 10].min() > 0.3, found[:5, 0].max() < 0.05) == (True, True)
    at_once = np.full(50, MONDAY.timestamp() - 30 * HOUR_S)
    assert learn_rates(
        np.full(50, np.nan), at_once, ZONE, MONDAY
    ).per_day == pytest.approx(1)


def test_a_misstated_zone_or_a_late_listing_shifts_the_hours_to_those_when_the_entries_appear() -> (
    None
):
    published = local_times([9.5, 13.5])
    found = table(learn_rates(published, published + 3.2 * HOUR_S, ZONE, MONDAY))
    assert found[:5, [12, 16]].min() > 0.3
    assert found[:5, 9].max() < 0.1


def test_a_change_of_habit_is_learnt_within_the_weeks_that_count() -> None:
    old, new = local_times([6.5], weeks=30)[:-40], local_times([20.5], weeks=8)
    times = np.concatenate([old, new])
    found = table(learn_rates(times, times + 60, ZONE, MONDAY))
    assert found[:5, 20].min() > 0.25
    assert found[:5, 6].max() < 0.05


def test_rates_are_yielded_from_the_hour_of_a_time_on() -> None:
    rates = PublishingRates(ZONE, np.arange(168.0))
    following = rates.from_time(MONDAY - timedelta(minutes=15))
    assert [next(following) for _ in range(3)] == [
        (0.25, 167.0),
        (1.0, 0.0),
        (1.0, 1.0),
    ]


def test_the_rates_of_each_source_are_learnt_from_its_own_entries_in_the_lake(
    tmp_path: Path,
) -> None:
    base = {"desk": "govbr", "agency": "mec", "source_id": SOURCE.source_id}
    times = [datetime.fromtimestamp(at, UTC) for at in local_times([10.5, 15.5])]
    entries = [
        sparse(
            FeedEntry,
            **base,
            entry_id=f"{at}",
            day=at.date(),
            published_at=at,
            first_seen_at=at + timedelta(0, 60),
        )
        for at in times
    ]
    other = sparse(
        FeedEntry,
        **base | {"source_id": "other"},
        entry_id="o",
        day=NOW.date(),
        published_at=NOW,
        first_seen_at=NOW,
    )
    with Lake.open(tmp_path / "catalog.sqlite", tmp_path / "data") as lake:
        lake.transact(lambda rows: rows.upsert([*entries, other]))
        found = rates_of(lake, [SOURCE], MONDAY)
    seconds = np.array([at.timestamp() for at in times])
    assert list(found) == [SOURCE.source_id]
    assert (
        found[SOURCE.source_id].per_hour.tolist()
        == learn_rates(seconds, seconds + 60, ZONE, MONDAY).per_hour.tolist()
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
