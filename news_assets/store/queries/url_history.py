"""The history of one address, from the rows of every table.

The lake keeps the result and time of each stage and the number of attempts, so there are events for the first and the
last of repeated attempts, not for each one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from news_assets.pipeline import stages
from news_assets.pipeline.articles.refetches import first_entries, has_news, refetch_at
from news_assets.ports.lake import Reader
from news_assets.records.articles import ArticleRevision, RawArticle
from news_assets.records.derived import Failure
from news_assets.records.polling import FeedEntry, Poll, StoredPage
from news_assets.text.urls import canonical_url, url_hash

_REPLACED = {
    "edit": "replaced by a later text",
    "method": "extracted again from the stored page, with another text; the publisher changed nothing",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event; `stage` is the name of an asset."""

    at: datetime
    article_id: str
    stage: str
    outcome: str
    what: str
    attempts: int | None = None
    trace_id: str = ""


def url_history(lake: Reader, url: str) -> list[Event]:
    """Return the events of an address from its first listing to the index, oldest first; none for an unknown address.

    Any spelling of the listed address is accepted, and the address that it redirected to.
    """
    ids = article_ids_at(lake, url)
    return article_history(lake, ids) if ids else []


def article_history(lake: Reader, ids: Sequence[str]) -> list[Event]:
    """Return the events of these articles from their first listing to the index, oldest first."""
    entries = lake.read(FeedEntry, article_id=ids)
    articles = lake.read(RawArticle, article_id=ids)
    events = [
        *_listed(entries, _polls_of(lake, entries)),
        *_fetched(lake, ids, articles),
        *_waiting(entries, articles),
        *_derived(lake, ids),
        *_failed(lake.read(Failure, article_id=ids)),
    ]
    return sorted(events, key=lambda event: event.at)


def article_ids_at(lake: Reader, url: str) -> list[str]:
    """Return the ids of the articles listed at this address in any spelling, or redirected to it, in order."""
    hashed = [url_hash(canonical_url(url))]
    listed = lake.frame(FeedEntry, None, ("article_id",), url_hash=hashed)["article_id"]
    fetched = lake.frame(RawArticle, None, ("article_id",), url_hash=hashed)["article_id"]
    return sorted({*listed, *fetched})


def _polls_of(lake: Reader, entries: Sequence[FeedEntry]) -> dict[tuple[str, datetime], Poll]:
    """Return the polls that found these entries, by source and time."""
    sources, times = {entry.source_id for entry in entries}, {entry.first_seen_at for entry in entries}
    polls = lake.read(Poll, source_id=sources, polled_at=times)
    return {(poll.source_id, poll.polled_at): poll for poll in polls}


def _listed(entries: Iterable[FeedEntry], polls: dict[tuple[str, datetime], Poll]) -> Iterator[Event]:
    for entry in entries:
        poll = polls.get((entry.source_id, entry.first_seen_at))
        polled = f", polled in {poll.elapsed_ms} ms, {poll.new_count} new" if poll else ""
        dated = f", dated {entry.published_at:%Y-%m-%d %H:%M}Z" if entry.published_at else ", without a date"
        first = Event(
            at=entry.first_seen_at,
            article_id=entry.article_id,
            stage="feed_entries",
            outcome="ok",
            what=f"first listed by {entry.source_id}{dated}{polled}",
            trace_id=entry.trace_id,
        )
        yield first
        if entry.last_seen_at > entry.first_seen_at:
            yield replace(first, at=entry.last_seen_at, what=f"last listed by {entry.source_id}")


def _waiting(entries: Iterable[FeedEntry], articles: Iterable[RawArticle]) -> Iterator[Event]:
    first = first_entries(entries)
    for article in articles:
        entry = first.get(article.article_id)
        if entry and entry.entry_hash != article.entry_hash and not has_news(entry, article):
            again = f"the page is fetched again for that from {refetch_at(article):%Y-%m-%d %H:%M}Z"
            yield Event(
                at=entry.last_seen_at,
                article_id=article.article_id,
                stage="raw_articles",
                outcome="skipped",
                what=f"the listing's text changed; {again}",
                trace_id=entry.trace_id,
            )


def _fetched(lake: Reader, ids: Sequence[str], articles: Iterable[RawArticle]) -> Iterator[Event]:
    columns = ("article_id", "status", "final_url", "body_bytes", "fetched_at")
    for row in lake.frame(StoredPage, None, columns, article_id=ids).iter_rows(named=True):
        yield Event(
            at=row["fetched_at"],
            article_id=row["article_id"],
            stage="raw_articles",
            outcome=str(row["status"]),
            what=f"page of {row['body_bytes']:,} bytes from {row['final_url']}",
        )
    for revision in lake.read(ArticleRevision, article_id=ids):
        yield Event(
            at=revision.replaced_at,
            article_id=revision.article_id,
            stage="raw_articles",
            outcome="ok",
            what=f"revision {revision.rev_n} was {_REPLACED.get(revision.cause, _REPLACED['edit'])}",
        )
    for article in articles:
        yield Event(
            at=article.fetched_at,
            article_id=article.article_id,
            stage="raw_articles",
            outcome=article.outcome,
            what=_describe(article),
            attempts=article.attempts or None,
            trace_id=article.trace_id,
        )


def _describe(article: RawArticle) -> str:
    if article.outcome == "ok":
        return stages.STAGES[0].describe(article)
    again = f"next attempt {article.next_try_at:%Y-%m-%d %H:%M}Z" if article.next_try_at else "no further attempt"
    return f"{article.reason}; {again}"


def _derived(lake: Reader, ids: Sequence[str]) -> Iterator[Event]:
    for stage in stages.derived_stages():
        for row in lake.read(stage.record, article_id=ids):
            yield Event(
                at=getattr(row, stage.made_at),
                article_id=row.article_id,
                stage=stage.name,
                outcome=row.outcome,
                what=row.reason or stage.describe(row),
                trace_id=row.trace_id,
            )


def _failed(failures: Iterable[Failure]) -> Iterator[Event]:
    for failure in failures:
        again = f"next attempt {failure.next_try_at:%Y-%m-%d %H:%M}Z" if failure.next_try_at else "given up"
        yield Event(
            at=failure.last_failed_at,
            article_id=failure.article_id,
            stage=failure.stage,
            outcome="failed",
            what=f"{failure.reason}; {again}",
            attempts=failure.attempts,
            trace_id=failure.trace_id,
        )
