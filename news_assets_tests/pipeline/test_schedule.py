from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.pipeline.publishing_habits import PublishingRates
from news_assets.pipeline.schedule import (
    MAX_INTERVAL_S,
    MIN_INTERVAL_S,
    SLOTS,
    Forecast,
    civic_interval,
    due_sources,
    first_interval,
    forecast,
    learnt_interval,
    most_overdue_first,
    next_poll_after_failure,
    next_poll_at,
    recently_polled,
)
from news_assets.records.desks import Source
from news_assets.records.reading import Outcome
from news_assets.retry_table import LONGEST_PAUSE_S
from news_assets_tests.pipeline.poll.poll_cases import NOW, SOURCE, STATE

CIVIC = replace(SOURCE, pace="civic")
SIGNALS = replace(SOURCE, pace="signals")
DAYS = timedelta(days=1)
URL = "https://example.org/"
HOUR, DAY = 3600, 86_400

_seconds = st.floats(0, 1e12)


def even(per_hour: float) -> PublishingRates:
    return PublishingRates(SOURCE.timezone, np.full(168, per_hour))


# Half an entry an hour from 9 to 18 on working days, one in a hundred days otherwise
OFFICE = PublishingRates(
    SOURCE.timezone,
    np.array(
        [
            0.5 if day < 5 and 9 <= hour < 18 else 0.0004
            for day in range(7)
            for hour in range(24)
        ]
    ),
)


# --- intervals ------------------------------------------------------------------------


def test_at_an_even_rate_the_interval_is_the_one_after_which_the_expected_entries_have_waited_the_price() -> (
    None
):
    for per_hour in (0.1, 0.4, 1.5):
        hours = learnt_interval(SOURCE, even(per_hour), NOW, price_minutes=1.0) / HOUR
        assert per_hour * hours * hours / 2 == pytest.approx(1 / 60)


def test_a_dearer_request_means_fewer_of_them() -> None:
    cheap, dear = (
        learnt_interval(SOURCE, even(0.5), NOW, price) for price in (0.3, 2.7)
    )
    assert dear == pytest.approx(3 * cheap)


@pytest.mark.parametrize(
    "quiet_for",
    [timedelta(hours=11), timedelta(days=2, hours=11)],
    ids=["night", "weekend"],
)
def test_the_first_poll_of_a_working_morning_is_not_late(quiet_for: timedelta) -> None:
    """Working hours are 9 to 18; the rest is quiet. Monday, 7 September: polls from the
    evening before on.
    """
    start = datetime(2026, 9, 7, 9, tzinfo=ZoneInfo(SOURCE.timezone)).astimezone(UTC)
    at, polls = start - quiet_for, []
    while at < start + timedelta(hours=1):
        at = next_poll_at(SOURCE, learnt_interval(SOURCE, OFFICE, at), at)
        polls.append(at)
    in_the_morning = [one - start for one in polls if one >= start]
    assert in_the_morning[0] <= timedelta(minutes=12)
    assert len(polls) - len(in_the_morning) <= quiet_for / timedelta(hours=4), (
        "and the quiet hours have few polls"
    )


def test_max_minutes_bounds_the_interval_in_working_hours_only() -> None:
    rare = even(0.001)
    source = replace(SOURCE, max_minutes=15)
    monday = datetime(2026, 9, 7, tzinfo=ZoneInfo(SOURCE.timezone))

    def minutes(at: timedelta) -> float:
        return learnt_interval(source, rare, (monday + at).astimezone(UTC)) / 60

    assert [minutes(timedelta(hours=hour)) for hour in (7, 12, 19.9)] == [15, 15, 15]
    assert minutes(timedelta(hours=22)) > 60, "the night"
    assert minutes(timedelta(days=5, hours=12)) > 60, "Saturday"
    before_the_start = minutes(timedelta(hours=6, minutes=50))
    assert 10 <= before_the_start <= 25, (
        "in the first 15 minutes from 7:00, each source at its own time"
    )


def test_max_minutes_does_not_lengthen_the_interval() -> None:
    busy = even(3.0)
    assert learnt_interval(
        replace(SOURCE, max_minutes=60), busy, NOW
    ) == learnt_interval(SOURCE, busy, NOW)
    assert first_interval(replace(SOURCE, max_minutes=15)) == 900
    assert first_interval(replace(SOURCE, max_minutes=60)) == 1800


def test_a_forecast_has_requests_and_delay_of_each_kind_of_interval() -> None:
    rates = even(0.3)
    minutes = learnt_interval(SOURCE, rates, NOW) / 60
    learnt = forecast(SOURCE, rates)
    assert (
        learnt.entries_a_day,
        learnt.requests_a_day,
        learnt.delay_minutes,
    ) == pytest.approx((7.2, 1440 / minutes, minutes / 2))
    assert forecast(SOURCE, rates, ttl_s=HOUR) == Forecast(
        learnt.entries_a_day, 24, pytest.approx(30)
    )
    assert (
        forecast(replace(SOURCE, every_minutes=15), rates, 999.0).requests_a_day == 96
    )
    assert forecast(CIVIC, rates, 7 * DAY).delay_minutes == pytest.approx(3.5 * 1440)
    bounded = forecast(replace(SOURCE, max_minutes=5), even(0.01))
    assert bounded.requests_a_day > 12 * 13 * 5 / 7


def test_the_forecast_is_what_the_polls_of_a_week_come_to() -> None:
    source = replace(SOURCE, max_minutes=15)
    at, polls = NOW, 0
    while at < NOW + timedelta(days=7):
        at, polls = (
            next_poll_at(source, learnt_interval(source, OFFICE, at), at),
            polls + 1,
        )
    assert forecast(source, OFFICE).requests_a_day == pytest.approx(polls / 7, rel=0.1)


@pytest.mark.parametrize(
    ("recent_count", "expected_s"),
    [(0, 7 * DAY), (3, 7 * DAY), (4, DAY), (7, DAY), (8, DAY / 2), (900, DAY / 2)],
)
def test_a_civic_interval_follows_the_entries_of_four_weeks(
    recent_count: int, expected_s: float
) -> None:
    assert civic_interval(recent_count) == expected_s


def test_the_first_interval_is_the_stated_one_or_that_of_the_pace() -> None:
    assert [
        first_interval(one) for one in (SOURCE, CIVIC, replace(CIVIC, every_minutes=15))
    ] == [1800, DAY / 2, 900]
    assert [
        first_interval(replace(SOURCE, every_minutes=stated)) for stated in (1, 100_000)
    ] == [300, DAY]


def test_max_age_and_ttl_lengthen_the_pause_up_to_a_day() -> None:
    assert next_poll_at(SOURCE, 600, NOW) == NOW + timedelta(seconds=600)
    assert next_poll_at(SOURCE, 600, NOW, max_age_s=900, ttl_s=1200) == NOW + timedelta(
        seconds=1200
    )
    assert next_poll_at(SOURCE, 600, NOW, max_age_s=0, ttl_s=None) == NOW + timedelta(
        seconds=600
    )
    assert next_poll_at(SOURCE, 600, NOW, max_age_s=31_536_000) == NOW + timedelta(
        days=1
    )
    assert next_poll_at(CIVIC, DAY / 2, NOW, ttl_s=31_536_000) == NOW + timedelta(
        days=1
    )
    assert next_poll_at(CIVIC, 7 * DAY, NOW, ttl_s=31_536_000) > NOW + timedelta(days=6)


def test_what_a_server_asks_for_lengthens_the_pause_of_signals_up_to_an_hour() -> None:
    assert first_interval(SIGNALS) == 600
    assert next_poll_at(
        SIGNALS, 900, NOW, is_first=True, max_age_s=60
    ) == NOW + timedelta(seconds=900)
    assert next_poll_at(SIGNALS, 900, NOW, max_age_s=1800) == NOW + timedelta(
        seconds=1800
    )
    assert next_poll_at(SIGNALS, 900, NOW, max_age_s=31_536_000) == NOW + timedelta(
        hours=1
    )


@given(
    st.lists(st.floats(1e-9, 1e6), min_size=168, max_size=168),
    st.integers(0, 7 * DAY),
    st.none() | st.integers(1, 10**6),
    st.none() | st.integers(5, 1440),
    st.none() | _seconds,
)
def test_a_source_that_answers_is_due_within_five_minutes_and_a_day(
    per_hour: list[float],
    late_s: int,
    every_minutes: int | None,
    max_minutes: int | None,
    hint_s: float | None,
) -> None:
    source = replace(SOURCE, every_minutes=every_minutes, max_minutes=max_minutes)
    now = NOW + timedelta(seconds=late_s)
    rates = PublishingRates(SOURCE.timezone, np.array(per_hour))
    next_s = (
        first_interval(source) if every_minutes else learnt_interval(source, rates, now)
    )
    assert next_s <= MAX_INTERVAL_S
    due_s = (
        next_poll_at(source, next_s, now, max_age_s=hint_s, ttl_s=hint_s) - now
    ).total_seconds()
    assert due_s + 1e-6 >= MIN_INTERVAL_S  # times have microseconds
    assert due_s <= MAX_INTERVAL_S


# --- slots ----------------------------------------------------------------------------


@given(
    st.text(),
    st.sampled_from([10, 15, 60, 1440]),
    st.floats(0, 240),
    st.floats(-4.9 * 60, 240),
)
def test_a_stated_interval_keeps_its_slots_although_polls_are_late_or_early(
    source_id: str, every_minutes: int, late_s: float, next_late_s: float
) -> None:
    source, interval = (
        replace(SOURCE, source_id=source_id, every_minutes=every_minutes),
        every_minutes * 60.0,
    )
    slot = next_poll_at(source, interval, NOW)
    later = next_poll_at(source, interval, slot + timedelta(seconds=late_s))
    polled_at = later + timedelta(seconds=next_late_s)
    assert later == slot + timedelta(seconds=interval)
    assert next_poll_at(source, interval, polled_at) == min(
        later + timedelta(seconds=interval), polled_at + DAYS
    )


@given(
    st.text(),
    st.lists(st.sampled_from([DAY / 2, DAY, 7 * DAY]), min_size=2, max_size=5),
)
def test_a_civic_source_is_due_after_its_interval_also_when_that_changes(
    source_id: str, intervals: list[float]
) -> None:
    source = replace(CIVIC, source_id=source_id)
    at = next_poll_at(source, DAY / 2, NOW)
    assert timedelta(minutes=5) <= at - NOW <= timedelta(hours=12, minutes=5)
    for interval_s in intervals:
        late = at + timedelta(seconds=61)
        assert next_poll_at(source, interval_s, late) == at + timedelta(
            seconds=interval_s
        )
        at = next_poll_at(source, interval_s, late)


def _polls_a_minute(sources: Sequence[Source], minutes: int) -> list[list[int]]:
    """Return how many of the sources are polled in each minute after the fifth, in
    three rounds of so many minutes.

    All are polled together at first; then, as the sensor does, all that are due every
    62 s.
    """
    due = {
        source: next_poll_at(source, first_interval(source), NOW, is_first=True)
        for source in sources
    }
    counts = []
    for minute in range(3 * minutes + 5):
        now = NOW + timedelta(seconds=62 * (minute + 1))
        polled = [source for source in sources if due[source] <= now]
        due |= {
            source: next_poll_at(source, first_interval(source), now)
            for source in polled
        }
        counts.append(len(polled))
    return [counts[start : start + minutes] for start in range(5, len(counts), minutes)]


@pytest.mark.parametrize("every_minutes", [10, 15, 30, 60])
def test_160_sources_polled_together_spread_over_their_slots(
    every_minutes: int,
) -> None:
    sources = [
        replace(SOURCE, source_id=f"govbr/a{n}/feed", every_minutes=every_minutes)
        for n in range(160)
    ]
    for counts in _polls_a_minute(sources, every_minutes):
        assert sum(counts) >= 140
        assert max(counts) <= 2 * 160 / SLOTS


def test_160_new_sources_are_due_in_the_second_half_of_their_first_interval() -> None:
    sources = [replace(SOURCE, source_id=f"govbr/a{n}/feed") for n in range(160)]
    (counts, *_) = _polls_a_minute(sources, 30)
    assert (sum(counts[:9]), sum(counts), max(counts) <= 20) == (0, 160, True)


# --- cooldown -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ago_s", "is_recent"), [(0, True), (59, True), (60, False), (-5, False)]
)
def test_a_source_polled_within_the_cooldown_was_polled_recently(
    ago_s: int, is_recent: bool
) -> None:
    state = replace(STATE, last_polled_at=NOW - timedelta(seconds=ago_s))
    recent = {SOURCE: state.last_polled_at} if is_recent else {}
    assert recently_polled([SOURCE], [state], NOW, timedelta(minutes=1)) == recent
    assert recently_polled([SOURCE], [state], NOW, timedelta(0)) == {}
    assert (
        recently_polled([SOURCE], [replace(state, url=URL)], NOW, timedelta(minutes=1))
        == {}
    )


# --- failing sources ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interval_s", "points", "outcome", "retry_after_s", "expected_s"),
    [
        (300, 1.0, "failed", None, 600),
        (300, 3.0, "failed", None, 2400),
        (DAY, 1.0, "failed", None, 2 * HOUR),
        (300, 0.5, "failed", 5000, 5000),
        (300, 0.5, "failed", 1e9, LONGEST_PAUSE_S),
        (300, 1.0, "gone", None, 2 * DAY),
        (300, 1e6, "failed", None, LONGEST_PAUSE_S),
    ],
)
def test_each_failure_point_doubles_the_pause(
    interval_s: float,
    points: float,
    outcome: Outcome,
    retry_after_s: float | None,
    expected_s: float,
) -> None:
    due_at = next_poll_after_failure(
        interval_s, points, outcome, NOW, retry_after_s=retry_after_s
    )
    assert due_at == NOW + timedelta(seconds=expected_s)


@given(
    _seconds,
    st.floats(0, 1e6),
    st.floats(0, 10),
    st.sampled_from(["failed", "gone", "blocked"]),
    _seconds,
)
def test_a_failing_source_backs_off_to_thirty_days(
    interval_s: float,
    points: float,
    more_points: float,
    outcome: Outcome,
    retry_after_s: float,
) -> None:
    due_at = next_poll_after_failure(
        interval_s, points, outcome, NOW, retry_after_s=retry_after_s
    )
    later_at = next_poll_after_failure(
        interval_s, points + more_points, outcome, NOW, retry_after_s=retry_after_s
    )
    assert (
        NOW + timedelta(seconds=MIN_INTERVAL_S)
        <= due_at
        <= later_at
        <= NOW + timedelta(seconds=LONGEST_PAUSE_S)
    )


@pytest.mark.parametrize(
    ("outcome", "seconds", "is_due"),
    [
        ("ok", 30, True),
        ("unchanged", 30, True),
        ("ok", 31, False),
        ("failed", 30, False),  # a server that names a time is left alone until then
        ("failed", 0, True),
    ],
)
def test_a_source_that_answered_is_due_half_a_minute_early(
    outcome: str, seconds: int, is_due: bool
) -> None:
    due_at = NOW + timedelta(seconds=seconds)
    state = replace(STATE, next_poll_at=due_at, last_outcome=outcome)
    assert due_sources([SOURCE], [state], NOW) == [SOURCE] * is_due


def test_of_due_sources_the_one_that_is_most_intervals_late_is_first() -> None:
    quiet, active, new = (
        replace(SOURCE, source_id=key) for key in ("quiet", "active", "new")
    )
    states = {
        key: replace(
            STATE,
            source_id=key,
            interval_s=interval_s,
            next_poll_at=NOW - timedelta(seconds=late_s),
        )
        for key, interval_s, late_s in (
            ("quiet", 3600.0, 900.0),
            ("active", 600.0, 300.0),
        )
    }
    assert most_overdue_first([quiet, active, new], states, NOW) == [new, active, quiet]
    an_hour_later = NOW + timedelta(hours=1)
    states["active"] = replace(states["active"], next_poll_at=an_hour_later)
    assert most_overdue_first([active, quiet], states, an_hour_later) == [quiet, active]
