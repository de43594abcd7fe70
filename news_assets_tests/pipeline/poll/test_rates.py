from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from news_assets.pipeline.poll.rates import (
    Floats,
    PublishingRates,
    learn_rates,
    rates_of,
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
