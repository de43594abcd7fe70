from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.errors import (
    FetchError,
    ForbiddenAddressError,
    RobotsError,
    TooLargeError,
)
from news_assets.pipeline.articles.attempts import (
    Attempts,
    after_failure,
    fetch_retry_at,
)
from news_assets.records.reading import Outcome
from news_assets.retry_table import STAGE
from news_assets_tests.support.small_desk import NOW

URL = "https://example.org/"
HOUR, DAY = 3600, 86_400
BUSY, MISSING = (
    FetchError(URL, "server error (503)", status=503),
    FetchError(URL, "not found (404)", status=404),
)


def _pauses(failure: FetchError | Outcome) -> list[float | None]:
    return [
        (at - NOW).total_seconds()
        if (at := fetch_retry_at(attempts, failure, NOW))
        else None
        for attempts in range(1, STAGE.max_attempts + 2)
    ]


@pytest.mark.parametrize(
    "failure",
    [FetchError(URL, "no answer in time"), FetchError(URL, "failed", status=503)],
)
def test_a_transient_failure_is_retried_soon_then_daily_and_given_up(
    failure: FetchError,
) -> None:
    assert _pauses(failure) == [
        300,
        1800,
        2 * HOUR,
        6 * HOUR,
        DAY,
        DAY,
        DAY,
        None,
        None,
    ]


@pytest.mark.parametrize(
    "failure",
    [FetchError(URL, "", status=404), FetchError(URL, "", status=403), "failed"],
)
def test_a_refusal_is_retried_after_a_day_and_then_weekly(
    failure: FetchError | Outcome,
) -> None:
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
def test_a_permanent_failure_is_not_retried(failure: FetchError | Outcome) -> None:
    assert _pauses(failure) == [None] * 9


def test_a_retry_after_lengthens_the_pause() -> None:
    assert _pauses(FetchError(URL, "", status=429, retry_after_s=3600))[:3] == [
        3600,
        3600,
        2 * HOUR,
    ]


def test_transient_failures_and_refusals_are_counted_apart() -> None:
    so_far = Attempts()
    for failure in (BUSY,) * 5 + (MISSING, BUSY, MISSING):
        so_far = after_failure(so_far, failure, NOW)
        assert so_far.next_try_at is not None
    assert so_far == Attempts(8, 2, NOW + timedelta(days=7))
    assert after_failure(so_far, BUSY, NOW) == Attempts(9, 2, NOW + timedelta(days=1))


@given(st.lists(st.sampled_from([BUSY, MISSING]), min_size=20))
def test_a_page_that_always_fails_is_given_up_in_the_end(
    failures: list[FetchError],
) -> None:
    so_far = Attempts()
    for failure in failures:
        so_far = after_failure(so_far, failure, NOW)
        if so_far.next_try_at is None:
            break
    assert (so_far.attempts <= STAGE.max_attempts + 5, so_far.next_try_at) == (
        True,
        None,
    )
