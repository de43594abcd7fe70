from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from news_assets.errors import (
    FetchError,
    ForbiddenAddressError,
    ListingChangedError,
    NewsAssetsError,
    ReadingError,
    RobotsError,
    TooLargeError,
)
from news_assets.pipeline.failures import (
    Tries,
    after_failure,
    fetch_retry_at,
    outcome_of,
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


def _pauses(failure: NewsAssetsError | Outcome) -> list[float | None]:
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
def test_a_permanent_failure_is_not_retried(failure: NewsAssetsError | Outcome) -> None:
    assert _pauses(failure) == [None] * 9


def test_a_retry_after_lengthens_the_pause() -> None:
    assert _pauses(FetchError(URL, "", status=429, retry_after_s=3600))[:3] == [
        3600,
        3600,
        2 * HOUR,
    ]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (FetchError(URL, "gone", status=410), "gone"),
        (FetchError(URL, "forbidden", status=403), "blocked"),
        (FetchError(URL, "blocked: Cloudflare", status=503), "blocked"),
        (RobotsError(URL, "forbidden by robots.txt"), "blocked"),
        (FetchError(URL, "not found", status=404), "failed"),
        (ListingChangedError("no entry"), "failed"),
        (ReadingError("not read in 20 s"), "failed"),
    ],
)
def test_the_outcome_of_an_error(error: NewsAssetsError, outcome: Outcome) -> None:
    assert outcome_of(error) == outcome


def test_transient_failures_and_refusals_are_counted_apart() -> None:
    tries = Tries()
    for failure in (BUSY,) * 5 + (MISSING, BUSY, MISSING):
        tries = after_failure(tries, failure, NOW)
        assert tries.next_try_at is not None
    assert tries == Tries(8, 2, NOW + timedelta(days=7))
    assert after_failure(tries, BUSY, NOW) == Tries(9, 2, NOW + timedelta(days=1))


@given(st.lists(st.sampled_from([BUSY, MISSING]), min_size=20))
def test_a_page_that_always_fails_is_given_up_in_the_end(
    failures: list[FetchError],
) -> None:
    tries = Tries()
    for failure in failures:
        tries = after_failure(tries, failure, NOW)
        if tries.next_try_at is None:
            break
    assert (tries.attempts <= STAGE.max_attempts + 5, tries.next_try_at) == (True, None)
