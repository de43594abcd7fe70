from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from news_assets.pipeline.schedule import (
    SIGNAL_CEILING_S,
    SIGNAL_FLOOR_S,
    WORKING_CEILING_S,
    is_pass_due,
    pass_days,
    signal_interval,
)
from news_assets.records.desks import Source

ZONE = "America/Los_Angeles"
MONDAY_NOON, MONDAY_NIGHT, SUNDAY_NOON = (
    datetime(2026, 11, 23, 20, tzinfo=UTC),
    datetime(2026, 11, 24, 6, tzinfo=UTC),
    datetime(2026, 11, 22, 20, tzinfo=UTC),
)
SOURCE = Source(
    source_id="civic/paloaltoCA/primegov-1",
    desk="civic",
    agency="paloaltoCA",
    kind="primegov",
    url="https://cityofpaloalto.primegov.com/",
    timezone=ZONE,
    language="en",
)


@pytest.mark.parametrize("now", [MONDAY_NOON, MONDAY_NIGHT])
def test_after_a_change_the_next_signal_comes_at_the_floor(now: datetime) -> None:
    assert (
        signal_interval(SIGNAL_CEILING_S, ZONE, now, is_changed=True) == SIGNAL_FLOOR_S
    )


@pytest.mark.parametrize(
    ("now", "ceiling_s"),
    [
        (MONDAY_NOON, WORKING_CEILING_S),
        (MONDAY_NIGHT, SIGNAL_CEILING_S),
        (SUNDAY_NOON, SIGNAL_CEILING_S),
    ],
)
def test_without_changes_the_interval_grows_to_the_ceiling_of_the_hour(
    now: datetime, ceiling_s: float
) -> None:
    intervals = [SIGNAL_FLOOR_S]
    for _ in range(12):
        intervals.append(signal_interval(intervals[-1], ZONE, now, is_changed=False))
    assert intervals[1] == SIGNAL_FLOOR_S + 300
    assert intervals[-1] == ceiling_s


def test_a_pass_covers_a_week_back_and_90_days_on() -> None:
    assert pass_days(date(2026, 11, 23)) == (date(2026, 11, 16), date(2027, 2, 21))


def test_a_city_has_one_pass_in_each_of_its_nights() -> None:
    last, passes = None, []
    for minutes in range(0, 3 * 24 * 60, 10):
        now = datetime(2026, 11, 23, 20, tzinfo=UTC) + timedelta(minutes=minutes)
        if is_pass_due(SOURCE, last, now):
            passes.append(now)
            last = now
    assert passes[0] == datetime(2026, 11, 23, 20, tzinfo=UTC), (
        "a new city does not wait for the night"
    )
    assert [one - passes[1] for one in passes[1:]] == [
        timedelta(0),
        timedelta(days=1),
        timedelta(days=2),
    ]
    assert 9 <= passes[1].hour < 12, "one to four o'clock in California"


def test_the_passes_of_different_cities_are_spread_over_the_night() -> None:
    sources = [
        replace(SOURCE, source_id=f"civic/city{n}CA/primegov-1") for n in range(300)
    ]
    evening = datetime(2026, 11, 23, 20, tzinfo=UTC)
    due_by_two = [
        one
        for one in sources
        if is_pass_due(one, evening, datetime(2026, 11, 24, 10, tzinfo=UTC))
    ]
    assert 60 < len(due_by_two) < 140, "a third of them in the first of three hours"
