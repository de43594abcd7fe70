from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.errors import (
    ExtractError,
    FetchError,
    ForbiddenAddressError,
    ListingChangedError,
    NewsAssetsError,
    RobotsError,
    TooLargeError,
)
from news_assets.pipeline.schedule import (
    MAX_ATTEMPTS,
    MAX_INTERVAL_S,
    MAX_PAUSE_S,
    MIN_INTERVAL_S,
    next_interval,
    next_poll_at,
    next_try_at,
    outcome_of,
    retry_at,
)
from news_assets.records import Outcome

NOW = datetime(2026, 9, 8, 12, 0, tzinfo=UTC)
URL = "https://example.org/"
HOUR, DAY = 3600, 86_400

_seconds = st.floats(0, 1e12)
_counts = st.integers(0, 10_000)


# --- rhythm ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known_count", "new_count", "expected_s"),
    [(0, 0, 4500), (30, 0, 4500), (8, 2, 4500), (6, 4, 3600), (4, 6, 3600), (3, 7, 1800), (0, 10, 1800)],
)
def test_known_entries_lengthen_the_interval_and_new_ones_shorten_it(
    known_count: int, new_count: int, expected_s: float
) -> None:
    assert next_interval(3600, known_count, new_count, None) == expected_s


def test_a_source_that_brings_news_is_asked_as_often_as_it_does() -> None:
    assert next_interval(6 * HOUR, 48, 2, quiet_s=2 * HOUR) == HOUR
    assert next_interval(6 * HOUR, 50, 0, quiet_s=2 * HOUR) == 7.5 * HOUR


@pytest.mark.parametrize(("every_minutes", "expected_s"), [(15, 900), (1, 300), (100_000, DAY)])
def test_every_minutes_fixes_the_interval(every_minutes: int, expected_s: float) -> None:
    assert next_interval(7200, 0, 10, None, every_minutes) == expected_s


def test_server_and_feed_can_ask_for_a_longer_pause_but_not_beyond_a_day() -> None:
    assert next_poll_at(600, NOW) == NOW + timedelta(seconds=600)
    assert next_poll_at(600, NOW, max_age_s=900, ttl_s=1200) == NOW + timedelta(seconds=1200)
    assert next_poll_at(600, NOW, max_age_s=0, ttl_s=None) == NOW + timedelta(seconds=600)
    assert next_poll_at(600, NOW, max_age_s=31_536_000) == NOW + timedelta(days=1)


@given(_seconds, _counts, _counts, st.none() | _seconds, st.none() | st.integers(1, 10**6), st.none() | _seconds)
def test_a_source_that_answers_is_asked_within_five_minutes_and_a_day(
    interval_s: float,
    known_count: int,
    new_count: int,
    quiet_s: float | None,
    every_minutes: int | None,
    asked_s: float | None,
) -> None:
    next_s = next_interval(interval_s, known_count, new_count, quiet_s, every_minutes)
    assert MIN_INTERVAL_S <= next_s <= MAX_INTERVAL_S
    due_s = (next_poll_at(next_s, NOW, max_age_s=asked_s, ttl_s=asked_s) - NOW).total_seconds()
    assert next_s <= due_s <= MAX_INTERVAL_S


@given(_seconds, _counts, st.none() | _seconds)
def test_without_news_the_interval_never_gets_shorter(interval_s: float, known_count: int, quiet_s: float) -> None:
    assert next_interval(interval_s, known_count, 0, quiet_s) >= min(interval_s, MAX_INTERVAL_S)


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
def test_failures_double_the_pause_point_by_point(
    interval_s: float, points: float, outcome: Outcome, retry_after_s: float | None, expected_s: float
) -> None:
    due_at = next_try_at(interval_s, points, outcome, NOW, retry_after_s=retry_after_s)
    assert due_at == NOW + timedelta(seconds=expected_s)


@given(_seconds, st.floats(0, 1e6), st.floats(0, 10), st.sampled_from(["failed", "gone", "blocked"]), _seconds)
def test_a_failing_source_is_asked_ever_later_but_within_thirty_days(
    interval_s: float, points: float, more_points: float, outcome: Outcome, retry_after_s: float
) -> None:
    due_at = next_try_at(interval_s, points, outcome, NOW, retry_after_s=retry_after_s)
    later_at = next_try_at(interval_s, points + more_points, outcome, NOW, retry_after_s=retry_after_s)
    assert NOW + timedelta(seconds=MIN_INTERVAL_S) <= due_at <= later_at <= NOW + timedelta(seconds=MAX_PAUSE_S)


# --- failed articles -------------------------------------------------------------------------------------------------


def _pauses(failure: NewsAssetsError | Outcome) -> list[float | None]:
    return [
        (at - NOW).total_seconds() if (at := retry_at(attempts, failure, NOW)) else None
        for attempts in range(1, MAX_ATTEMPTS + 2)
    ]


@pytest.mark.parametrize("failure", [FetchError(URL, "no answer in time"), FetchError(URL, "failed", status=503)])
def test_a_transient_failure_is_tried_again_soon_and_then_daily_and_given_up(failure: FetchError) -> None:
    assert _pauses(failure) == [300, 1800, 2 * HOUR, 6 * HOUR, DAY, DAY, DAY, None, None]


@pytest.mark.parametrize("failure", [FetchError(URL, "", status=404), FetchError(URL, "", status=403), "failed"])
def test_a_refusal_is_tried_again_slowly(failure: FetchError | Outcome) -> None:
    assert _pauses(failure) == [DAY, 7 * DAY, 7 * DAY, 7 * DAY, *[None] * 5]


@pytest.mark.parametrize(
    "failure",
    [
        FetchError(URL, "gone", status=410),
        FetchError(URL, "not an http(s) address", is_transient=False),
        RobotsError(URL, "", is_transient=False),
        ForbiddenAddressError(URL, "", is_transient=False),
        TooLargeError(URL, "", status=200),
        "gone",
        "skipped",
    ],
)
def test_what_cannot_get_better_is_never_tried_again(failure: NewsAssetsError | Outcome) -> None:
    assert _pauses(failure) == [None] * 9


def test_a_longer_retry_after_wins_over_the_table() -> None:
    assert _pauses(FetchError(URL, "", status=429, retry_after_s=3600))[:3] == [3600, 3600, 2 * HOUR]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (FetchError(URL, "gone", status=410), "gone"),
        (FetchError(URL, "forbidden", status=403), "blocked"),
        (FetchError(URL, "blocked: Cloudflare", status=503), "blocked"),
        (RobotsError(URL, "forbidden by robots.txt"), "blocked"),
        (FetchError(URL, "not found", status=404), "failed"),
        (ListingChangedError("no entry"), "failed"),
        (ExtractError("no text"), "failed"),
    ],
)
def test_an_error_has_an_outcome(error: NewsAssetsError, outcome: Outcome) -> None:
    assert outcome_of(error) == outcome
