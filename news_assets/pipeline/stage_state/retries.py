"""Decide when a failed article is tried again, and what outcome an error is."""

from datetime import datetime, timedelta
from typing import NamedTuple

from news_assets.errors import (
    FetchError,
    ForbiddenAddressError,
    NewsAssetsError,
    RobotsError,
    TooLargeError,
)
from news_assets.records.reading import Outcome
from news_assets.retry_table import FETCH, LONGEST_PAUSE_S, REFUSED_FETCH, STAGE


class Tries(NamedTuple):
    """The failed attempts of an article, the refusals among them, and the time of the
    next attempt.
    """

    attempts: int = 0
    refusals: int = 0
    next_try_at: datetime | None = None


def after_failure(
    before: Tries, failure: NewsAssetsError | Outcome, now: datetime
) -> Tries:
    """Return the attempts with one more failure; transient failures and refusals are
    counted apart.
    """
    attempts = before.attempts + 1
    if _is_transient(failure):
        return Tries(
            attempts,
            before.refusals,
            retry_at(attempts - before.refusals, failure, now),
        )
    refusals = before.refusals + 1
    return Tries(attempts, refusals, retry_at(refusals, failure, now))


def retry_at(
    attempts: int, failure: NewsAssetsError | Outcome, now: datetime
) -> datetime | None:
    """Return when a failed article is fetched again, None if it is not.

    `attempts` are those that failed in the same way, transiently or not, with the one
    that just failed. Transient failures are retried after minutes, then hours and days,
    or after Retry-After if that is later, up to 8 attempts; other refusals after a
    day and then weekly, a few times. Articles that are gone, forbidden or too large are
    not retried.
    """
    if _is_transient(failure):
        return _retry_transient(attempts, failure, now)
    if _is_final(failure):
        return None
    return _after(REFUSED_FETCH.pause_s(attempts), now)


def stage_retry_at(attempts: int, now: datetime) -> datetime | None:
    """Return when a stage retries an article it could not enrich, embed or index; None
    after all attempts.
    """
    return _after(STAGE.pause_s(attempts), now)


def _after(pause_s: float | None, now: datetime) -> datetime | None:
    return None if pause_s is None else now + timedelta(seconds=pause_s)


def outcome_of(error: NewsAssetsError) -> Outcome:
    """Return the outcome of an error: gone, blocked (access denied) or failed."""
    if isinstance(error, RobotsError | ForbiddenAddressError):
        return "blocked"
    if isinstance(error, FetchError):
        if error.status == 410:
            return "gone"
        if error.status in (401, 403, 451) or error.reason.startswith("blocked"):
            return "blocked"
    return "failed"


def _is_transient(failure: NewsAssetsError | Outcome) -> bool:
    return isinstance(failure, NewsAssetsError) and failure.is_transient


def _retry_transient(
    attempts: int, failure: NewsAssetsError | Outcome, now: datetime
) -> datetime | None:
    due_at = _after(FETCH.pause_s(attempts), now)
    retry_after_s = failure.retry_after_s if isinstance(failure, FetchError) else None
    return due_at and max(
        due_at, now + timedelta(seconds=min(retry_after_s or 0.0, LONGEST_PAUSE_S))
    )


def _is_final(failure: NewsAssetsError | Outcome) -> bool:
    if isinstance(failure, str):
        return failure not in ("failed", "blocked")
    if isinstance(failure, RobotsError | ForbiddenAddressError | TooLargeError):
        return True
    return isinstance(failure, FetchError) and failure.status in (None, 410)
