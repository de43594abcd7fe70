"""Decides when an article is fetched again: after a failure, or because its entry
changed; and what outcome an error is.

A listing with a counter of views changes its text at every poll. So if nothing but the
text of the listing changed, the article is fetched again only after a pause from the
last fetch (`RELISTED_FETCH`). The pauses begin again when the listing has news
(`news_hash`) and after two days without a fetch. `store/queries/backlog.py` has the
same rule in SQL.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from news_assets.errors import (
    FetchError,
    ForbiddenAddressError,
    NewsAssetsError,
    RobotsError,
    TooLargeError,
)
from news_assets.records.articles import FeedEntry, RawArticle
from news_assets.records.reading import Outcome
from news_assets.retry_table import (
    FETCH,
    LONGEST_PAUSE_S,
    REFUSED_FETCH,
    RELISTED_FETCH,
    RELISTED_RESET_S,
    STAGE,
)


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
            fetch_retry_at(attempts - before.refusals, failure, now),
        )
    refusals = before.refusals + 1
    return Tries(attempts, refusals, fetch_retry_at(refusals, failure, now))


def fetch_retry_at(
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
    if pause_s is None:
        return None
    return now + timedelta(seconds=pause_s)


def outcome_of(error: NewsAssetsError) -> Outcome:
    """Return the outcome of an error: gone, blocked (access denied) or failed."""
    if isinstance(error, RobotsError | ForbiddenAddressError):
        return "blocked"
    if isinstance(error, FetchError):
        if error.status == 410:
            return "gone"
        if error.status in (401, 403, 451):
            return "blocked"
        if error.reason.startswith("blocked"):
            return "blocked"
    return "failed"


def _is_transient(failure: NewsAssetsError | Outcome) -> bool:
    if not isinstance(failure, NewsAssetsError):
        return False
    return failure.is_transient


def _retry_transient(
    attempts: int, failure: NewsAssetsError | Outcome, now: datetime
) -> datetime | None:
    due_at = _after(FETCH.pause_s(attempts), now)
    if due_at is None:
        return due_at
    if not isinstance(failure, FetchError):
        return due_at
    pause_s = min(failure.retry_after_s or 0.0, LONGEST_PAUSE_S)
    return max(due_at, now + timedelta(seconds=pause_s))


def _is_final(failure: NewsAssetsError | Outcome) -> bool:
    if isinstance(failure, str):
        return failure not in ("failed", "blocked")
    if isinstance(failure, RobotsError | ForbiddenAddressError | TooLargeError):
        return True
    if not isinstance(failure, FetchError):
        return False
    return failure.status in (None, 410)


# --- entries that changed -------------------------------------------------------------

_QUIET = timedelta(seconds=RELISTED_RESET_S)


def first_entries(entries: Iterable[FeedEntry]) -> dict[str, FeedEntry]:
    """Return the entry that each article is fetched for, by article id: of several, the
    one seen first.
    """
    first: dict[str, FeedEntry] = {}
    for entry in sorted(
        entries,
        key=lambda entry: (entry.first_seen_at, entry.source_id, entry.entry_id),
    ):
        first.setdefault(entry.article_id, entry)
    return first


def is_due(entry: FeedEntry, article: RawArticle | None, now: datetime) -> bool:
    """Whether an entry is to be fetched now: never fetched, moved to another day, due
    for a retry, or changed.
    """
    if article is None:
        return True
    if article.day != entry.day:
        return True
    if article.next_try_at is not None and article.next_try_at <= now:
        return True
    return is_new_version(entry, article, now)


def why_not(article: RawArticle) -> str:
    """Return why an article that is not due is not fetched, for the log."""
    if article.next_try_at is not None:
        return f"{article.outcome}, retried at {article.next_try_at}"
    if article.outcome == "ok":
        return f"no news in the listing; text of {article.fetched_at}"
    return f"{article.outcome}, and not retried: {article.reason}"


def is_new_version(entry: FeedEntry, article: RawArticle, now: datetime) -> bool:
    """Whether the entry changed since its article was fetched, with news or after the
    pause.
    """
    if entry.entry_hash == article.entry_hash:
        return False
    if has_news(entry, article):
        return True
    return refetch_at(article) <= now


def has_news(entry: FeedEntry, article: RawArticle) -> bool:
    """Whether more than the listing's text may differ from what the article was fetched
    for.
    """
    if not entry.news_hash:
        return True
    return entry.news_hash != article.news_hash


def refetch_at(article: RawArticle) -> datetime:
    """Return the time from which the article is fetched again if only the listing's
    text changed.
    """
    pause_s = RELISTED_FETCH.pause_s(article.relisted + 1)
    assert pause_s is not None  # without end
    return article.fetched_at + timedelta(seconds=pause_s)


def relisted(entry: FeedEntry, previous: RawArticle | None, now: datetime) -> int:
    """Return the row's `relisted` after a fetch for this entry; `previous` is the
    stored row.
    """
    if previous is None:
        return 0
    if entry.entry_hash == previous.entry_hash:
        return previous.relisted
    if has_news(entry, previous):
        return 0
    if now - previous.fetched_at >= _QUIET:
        return 0
    return previous.relisted + 1


def with_pause_stated(article: RawArticle) -> RawArticle:
    """Return the row with the pause as its reason, if only the listing's text had
    changed and there is no other.
    """
    if article.outcome != "ok":
        return article
    if not article.relisted:
        return article
    if article.reason:
        return article
    return replace(article, reason=_pause(article))


def without_pause_stated(article: RawArticle) -> RawArticle:
    """Return the row without the reason that `with_pause_stated` gave it."""
    if article.reason != _pause(article):
        return article
    return replace(article, reason=None)


def _pause(article: RawArticle) -> str:
    return (
        "only the listing's text changed; fetched again for that from"
        f" {refetch_at(article):%Y-%m-%d %H:%M}Z"
    )
