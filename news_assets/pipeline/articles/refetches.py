"""Decides when an article is fetched again because its entry changed.

A listing with a counter of views changes its text at every poll. So if nothing but the
text of the listing changed, the article is fetched again only after a pause from the
last fetch: 1, 2, 4, 8, 16 and then 24 hours, which begin again when the listing has
news (`news_hash`) and after two days without a fetch. `store/queries/backlog.py` has
the same rule in SQL.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from news_assets.records.articles import RawArticle
from news_assets.records.polling import FeedEntry

MAX_DOUBLINGS = 5
MAX_PAUSE_H = 24
_QUIET = timedelta(days=2)


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
    if article is None or article.day != entry.day:
        return True
    if article.next_try_at is not None and article.next_try_at <= now:
        return True
    return is_new_version(entry, article, now)


def is_new_version(entry: FeedEntry, article: RawArticle, now: datetime) -> bool:
    """Whether the entry changed since its article was fetched, with news or after the
    pause.
    """
    if entry.entry_hash == article.entry_hash:
        return False
    return has_news(entry, article) or refetch_at(article) <= now


def has_news(entry: FeedEntry, article: RawArticle) -> bool:
    """Whether more than the listing's text may differ from what the article was fetched
    for.
    """
    return not entry.news_hash or entry.news_hash != article.news_hash


def refetch_at(article: RawArticle) -> datetime:
    """Return the time from which the article is fetched again if only the listing's
    text changed.
    """
    return article.fetched_at + timedelta(
        hours=min(2 ** min(article.relisted, MAX_DOUBLINGS), MAX_PAUSE_H)
    )


def relisted(entry: FeedEntry, previous: RawArticle | None, now: datetime) -> int:
    """Return the row's `relisted` after a fetch for this entry; `previous` is the
    stored row.
    """
    if previous is None:
        return 0
    if entry.entry_hash == previous.entry_hash:
        return previous.relisted
    return (
        0
        if has_news(entry, previous) or now - previous.fetched_at >= _QUIET
        else previous.relisted + 1
    )


def with_pause_stated(article: RawArticle) -> RawArticle:
    """Return the row with the pause as its reason, if only the listing's text had
    changed and there is no other.
    """
    if article.outcome != "ok" or not article.relisted or article.reason:
        return article
    return replace(article, reason=_pause(article))


def without_pause_stated(article: RawArticle) -> RawArticle:
    """Return the row without the reason that `with_pause_stated` gave it."""
    return (
        replace(article, reason=None) if article.reason == _pause(article) else article
    )


def _pause(article: RawArticle) -> str:
    return (
        "only the listing's text changed; fetched again for that from"
        f" {refetch_at(article):%Y-%m-%d %H:%M}Z"
    )
