from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.pipeline.schedule import (
    MAX_INTERVAL_S,
    MAX_PAUSE_S,
    MIN_INTERVAL_S,
    SLOTS,
    civic_interval,
    first_interval,
    next_interval,
    next_poll_after_failure,
    next_poll_at,
    recently_polled,
)
from news_assets.records import Outcome, Source
from news_assets_tests.pipeline.poll.poll_cases import NOW, SOURCE, STATE

CIVIC = replace(SOURCE, pace="civic")
DAYS = timedelta(days=1)
URL = "https://example.org/"
HOUR, DAY = 3600, 86_400

_seconds = st.floats(0, 1e12)
_counts = st.integers(0, 10_000)


# --- intervals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known_count", "new_count", "expected_s"),
    [(0, 0, 4500), (30, 0, 4500), (8, 2, 4500), (6, 4, 3600), (4, 6, 3600), (3, 7, 1800), (0, 10, 1800)],
)
def test_known_entries_lengthen_the_interval_and_new_ones_shorten_it(
    known_count: int, new_count: int, expected_s: float
) -> None:
    assert next_interval(3600, known_count, new_count, None) == expected_s


def test_the_interval_does_not_exceed_the_time_per_new_entry() -> None:
    assert next_interval(6 * HOUR, 48, 2, quiet_s=2 * HOUR) == HOUR
    assert next_interval(6 * HOUR, 50, 0, quiet_s=2 * HOUR) == 7.5 * HOUR


@pytest.mark.parametrize(
    ("recent_count", "expected_s"), [(0, 7 * DAY), (3, 7 * DAY), (4, DAY), (7, DAY), (8, DAY / 2), (900, DAY / 2)]
)
def test_a_civic_interval_follows_the_entries_of_four_weeks(recent_count: int, expected_s: float) -> None:
    assert civic_interval(recent_count) == expected_s


def test_the_first_interval_is_the_stated_one_or_that_of_the_pace() -> None:
    assert [first_interval(one) for one in (SOURCE, CIVIC, replace(CIVIC, every_minutes=15))] == [1800, DAY / 2, 900]
    assert [first_interval(replace(SOURCE, every_minutes=stated)) for stated in (1, 100_000)] == [300, DAY]


def test_max_age_and_ttl_lengthen_the_pause_up_to_a_day() -> None:
    assert next_poll_at(SOURCE, 600, NOW) == NOW + timedelta(seconds=600)
    assert next_poll_at(SOURCE, 600, NOW, max_age_s=900, ttl_s=1200) == NOW + timedelta(seconds=1200)
    assert next_poll_at(SOURCE, 600, NOW, max_age_s=0, ttl_s=None) == NOW + timedelta(seconds=600)
    assert next_poll_at(SOURCE, 600, NOW, max_age_s=31_536_000) == NOW + timedelta(days=1)
    assert next_poll_at(CIVIC, DAY / 2, NOW, ttl_s=31_536_000) == NOW + timedelta(days=1)
    assert next_poll_at(CIVIC, 7 * DAY, NOW, ttl_s=31_536_000) > NOW + timedelta(days=6)


@given(_seconds, _counts, _counts, st.none() | _seconds, st.none() | st.integers(1, 10**6), st.none() | _seconds)
def test_a_source_that_answers_is_due_within_five_minutes_and_a_day(
    interval_s: float,
    known_count: int,
    new_count: int,
    quiet_s: float | None,
    every_minutes: int | None,
    hint_s: float | None,
) -> None:
    source = replace(SOURCE, every_minutes=every_minutes)
    next_s = first_interval(source) if every_minutes else next_interval(interval_s, known_count, new_count, quiet_s)
    assert MIN_INTERVAL_S <= next_s <= MAX_INTERVAL_S
    due_s = (next_poll_at(source, next_s, NOW, max_age_s=hint_s, ttl_s=hint_s) - NOW).total_seconds()
    assert (MIN_INTERVAL_S if every_minutes else next_s) - 1e-6 <= due_s <= MAX_INTERVAL_S  # times have microseconds


@given(_seconds, _counts, st.none() | _seconds)
def test_without_new_entries_the_interval_does_not_shrink(interval_s: float, known_count: int, quiet_s: float) -> None:
    assert next_interval(interval_s, known_count, 0, quiet_s) >= min(interval_s, MAX_INTERVAL_S)


# --- slots -----------------------------------------------------------------------------------------------------------


@given(st.text(), st.sampled_from([10, 15, 60, 1440]), st.floats(0, 240), st.floats(-4.9 * 60, 240))
def test_a_stated_interval_keeps_its_slots_although_polls_are_late_or_early(
    source_id: str, every_minutes: int, late_s: float, next_late_s: float
) -> None:
    source, interval = replace(SOURCE, source_id=source_id, every_minutes=every_minutes), every_minutes * 60.0
    slot = next_poll_at(source, interval, NOW)
    later = next_poll_at(source, interval, slot + timedelta(seconds=late_s))
    polled_at = later + timedelta(seconds=next_late_s)
    assert later == slot + timedelta(seconds=interval)
    assert next_poll_at(source, interval, polled_at) == min(later + timedelta(seconds=interval), polled_at + DAYS)


@given(st.text(), st.lists(st.sampled_from([DAY / 2, DAY, 7 * DAY]), min_size=2, max_size=5))
def test_a_civic_source_is_due_after_its_interval_also_when_that_changes(
    source_id: str, intervals: list[float]
) -> None:
    source = replace(CIVIC, source_id=source_id)
    at = next_poll_at(source, DAY / 2, NOW)
    assert timedelta(minutes=5) <= at - NOW <= timedelta(hours=12, minutes=5)
    for interval_s in intervals:
        late = at + timedelta(seconds=61)
        assert next_poll_at(source, interval_s, late) == at + timedelta(seconds=interval_s)
        at = next_poll_at(source, interval_s, late)


def _polls_a_minute(sources: Sequence[Source], minutes: int) -> list[list[int]]:
    """Return how many of the sources are polled in each minute after the fifth, in three rounds of so many minutes.

    All are polled together at first; then, as the sensor does, all that are due every 62 s.
    """
    due = {source: next_poll_at(source, first_interval(source), NOW, is_first=True) for source in sources}
    counts = []
    for minute in range(3 * minutes + 5):
        now = NOW + timedelta(seconds=62 * (minute + 1))
        polled = [source for source in sources if due[source] <= now]
        due |= {source: next_poll_at(source, first_interval(source), now) for source in polled}
        counts.append(len(polled))
    return [counts[start : start + minutes] for start in range(5, len(counts), minutes)]


@pytest.mark.parametrize("every_minutes", [10, 15, 30, 60])
def test_160_sources_polled_together_spread_over_their_slots(every_minutes: int) -> None:
    sources = [replace(SOURCE, source_id=f"govbr/a{n}/feed", every_minutes=every_minutes) for n in range(160)]
    for counts in _polls_a_minute(sources, every_minutes):
        assert sum(counts) >= 140
        assert max(counts) <= 2 * 160 / SLOTS


def test_160_new_sources_are_due_in_the_second_half_of_their_first_interval() -> None:
    sources = [replace(SOURCE, source_id=f"govbr/a{n}/feed") for n in range(160)]
    (counts, *_) = _polls_a_minute(sources, 30)
    assert (sum(counts[:9]), sum(counts), max(counts) <= 20) == (0, 160, True)


# --- cooldown --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ago_s", "is_recent"), [(0, True), (59, True), (60, False), (-5, False)])
def test_a_source_polled_within_the_cooldown_was_polled_recently(ago_s: int, is_recent: bool) -> None:
    state = replace(STATE, last_polled_at=NOW - timedelta(seconds=ago_s))
    recent = {SOURCE: state.last_polled_at} if is_recent else {}
    assert recently_polled([SOURCE], [state], NOW, timedelta(minutes=1)) == recent
    assert recently_polled([SOURCE], [state], NOW, timedelta(0)) == {}
    assert recently_polled([SOURCE], [replace(state, url=URL)], NOW, timedelta(minutes=1)) == {}


# --- failing sources -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interval_s", "points", "outcome", "retry_after_s", "expected_s"),
    [
        (300, 1.0, "failed", None, 600),
        (300, 3.0, "failed", None, 2400),
        (DAY, 1.0, "failed", None, 2 * HOUR),
        (300, 0.5, "failed", 5000, 5000),
        (300, 0.5, "failed", 1e9, MAX_PAUSE_S),
        (300, 1.0, "gone", None, 2 * DAY),
        (300, 1e6, "failed", None, MAX_PAUSE_S),
    ],
)
def test_each_failure_point_doubles_the_pause(
    interval_s: float, points: float, outcome: Outcome, retry_after_s: float | None, expected_s: float
) -> None:
    due_at = next_poll_after_failure(interval_s, points, outcome, NOW, retry_after_s=retry_after_s)
    assert due_at == NOW + timedelta(seconds=expected_s)


@given(_seconds, st.floats(0, 1e6), st.floats(0, 10), st.sampled_from(["failed", "gone", "blocked"]), _seconds)
def test_a_failing_source_backs_off_to_thirty_days(
    interval_s: float, points: float, more_points: float, outcome: Outcome, retry_after_s: float
) -> None:
    due_at = next_poll_after_failure(interval_s, points, outcome, NOW, retry_after_s=retry_after_s)
    later_at = next_poll_after_failure(interval_s, points + more_points, outcome, NOW, retry_after_s=retry_after_s)
    assert NOW + timedelta(seconds=MIN_INTERVAL_S) <= due_at <= later_at <= NOW + timedelta(seconds=MAX_PAUSE_S)
