"""When an article is fetched: for a new entry, again after a failed attempt, and again
after a change of its entry. `store/queries/backlog.py` has `is_due` in SQL, to find what
is due in the whole lake.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from news_assets.errors import (
    FetchError,
    ForbiddenAddressError,
    RobotsError,
    TooLargeError,
)
from news_assets.pipeline.failures import FAILED
from news_assets.records.articles import FeedEntry, RawArticle
from news_assets.records.reading import Outcome, Page
from news_assets.retry_table import (
    FETCH,
    LONGEST_PAUSE_S,
    REFUSED_FETCH,
    RELISTED_FETCH,
    RELISTED_RESET_S,
)


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


# --- after a failed attempt -----------------------------------------------------------


class Attempts(NamedTuple):
    """The failed attempts to fetch an article, the refusals among them, and the time of
    the next attempt: three columns of its row.
    """

    attempts: int = 0
    refusals: int = 0
    next_try_at: datetime | None = None


def attempts_before(
    entry: FeedEntry, previous: RawArticle | None, now: datetime
) -> Attempts:
    """Return the failed attempts so far for this version of the entry; `previous` is
    the stored row.
    """
    if previous is None or is_new_version(entry, previous, now):
        return Attempts()
    return Attempts(previous.attempts, previous.refusals)


def after_failure(
    before: Attempts, failure: FetchError | Outcome, now: datetime
) -> Attempts:
    """Return the attempts with one more failure; transient failures and refusals are
    counted apart.

    `failure` is the error of the fetch, or the outcome of a page without an article.
    """
    attempts = before.attempts + 1
    refusals = before.refusals
    if isinstance(failure, FetchError) and failure.is_transient:
        of_this_kind = attempts - refusals
    else:
        refusals += 1
        of_this_kind = refusals
    due_at = fetch_retry_at(of_this_kind, failure, now)
    return Attempts(attempts, refusals, due_at)


def fetch_retry_at(
    attempts: int, failure: FetchError | Outcome, now: datetime
) -> datetime | None:
    """Return when a failed article is fetched again, None if it is not.

    `attempts` are those that failed in the same way, transiently or not, with the one
    that just failed. Articles that are gone, forbidden or too large are not retried.
    """
    if isinstance(failure, FetchError) and failure.is_transient:
        return _after_transient(attempts, failure, now)
    if _is_final(failure):
        return None
    return REFUSED_FETCH.next_at(attempts, now)


def _after_transient(
    attempts: int, error: FetchError, now: datetime
) -> datetime | None:
    due_at = FETCH.next_at(attempts, now)
    if due_at is None:
        return None
    pause_s = min(error.retry_after_s or 0.0, LONGEST_PAUSE_S)
    return max(due_at, now + timedelta(seconds=pause_s))


def _is_final(failure: FetchError | Outcome) -> bool:
    if isinstance(failure, str):
        return failure not in FAILED
    if isinstance(failure, RobotsError | ForbiddenAddressError | TooLargeError):
        return True
    return failure.status in (None, 410)


# --- removed by the publisher ---------------------------------------------------------

# An article with a text is withdrawn after a second answer that its page was removed.
CONFIRMED_AFTER = timedelta(days=1)
_REMOVED = (410, 451)


def is_removal(result: Page | FetchError) -> bool:
    """Whether the publisher answers that it removed the page."""
    if not isinstance(result, FetchError):
        return False
    return result.status in _REMOVED


def removed_at(
    result: Page | FetchError, kept: RawArticle, now: datetime
) -> datetime | None:
    """Return the time since which the page of this stored article is answered as
    removed; None if it is not.

    A transient failure says nothing about that.
    """
    if is_removal(result):
        return kept.removed_at or now
    if not isinstance(result, FetchError):
        return None
    if result.is_transient:
        return kept.removed_at
    return None


def is_confirmed(result: Page | FetchError, row: RawArticle) -> bool:
    """Whether this answer confirms a removal that was first answered at least a day ago;
    the row was made from the answer.
    """
    if row.removed_at is None:
        return False
    if not is_removal(result):
        return False
    return row.fetched_at - row.removed_at >= CONFIRMED_AFTER


# --- after a change of the entry ------------------------------------------------------

# A listing with a counter of views changes its text at every poll. So if nothing but the
# text of the listing changed, the article is fetched again only after a pause from the
# last fetch (`RELISTED_FETCH`). The pauses begin again when the listing has news
# (`news_hash`) and after two days without a fetch.
_QUIET = timedelta(seconds=RELISTED_RESET_S)


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
    due_at = RELISTED_FETCH.next_at(article.relisted + 1, article.fetched_at)
    assert due_at is not None  # without end
    return due_at


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
