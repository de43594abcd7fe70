"""The history of one address, from the rows of every table.

The lake keeps the result and time of each stage and the number of attempts, so there
are events for the first and the last of repeated attempts, not for each one.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Final, TypeVar

from news_assets.pipeline import stages
from news_assets.pipeline.articles.attempts import (
    first_entries,
    has_news,
    refetch_at,
)
from news_assets.ports.services import Reader
from news_assets.records.articles import (
    ArticleRevision,
    FeedEntry,
    Poll,
    RawArticle,
    StoredPage,
)
from news_assets.records.derived import Failure
from news_assets.text.urls import canonical_url, url_hash

_Row = TypeVar("_Row")

_SHOWN_STAGES: Final = ("enriched_articles", "article_embeddings")
_OF_PAGES: Final = ("article_id", "status", "final_url", "body_bytes", "fetched_at")
_REPLACED = {
    "edit": "replaced by a later text",
    "method": (
        "extracted again from the stored page, with another text; the publisher changed nothing"
    ),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRows:
    """What the tables have of some articles.

    `polls` are those that found the entries, by source and time. `pages` are without
    their bodies. `derived` has the rows of each later stage by its name.
    """

    entries: Sequence[FeedEntry]
    polls: Mapping[tuple[str, datetime], Poll]
    pages: Sequence[Mapping[str, Any]]
    articles: Sequence[RawArticle]
    revisions: Sequence[ArticleRevision]
    derived: Mapping[str, Sequence[Any]]
    failures: Sequence[Failure]


def url_history(lake: Reader, url: str) -> list[Event]:
    """Return the events of an address from its first listing to the index, oldest
    first; none for an unknown address.

    Any spelling of the listed address is accepted, and the address that it redirected
    to.
    """
    ids = article_ids_at(lake, url)
    return _article_history(lake, ids) if ids else []


def _article_history(lake: Reader, ids: Sequence[str]) -> list[Event]:
    """Return the events of these articles from their first listing to the index, oldest
    first.
    """
    return events_of(stored_rows(lake, ids))


def stored_rows(lake: Reader, ids: Sequence[str]) -> StoredRows:
    """Return the rows of these articles."""
    entries = lake.read(FeedEntry, article_id=ids)
    shown = shown_rows(lake, ids)
    days = {article.day for article in shown.articles}
    derived = dict(shown.derived)
    for stage in stages.derived_stages():
        if stage.name not in derived:
            derived[stage.name] = _of_articles(lake, stage.record, ids, days)
    return replace(
        shown,
        entries=entries,
        polls=_polls_of(lake, entries),
        derived=derived,
        failures=lake.read(Failure, article_id=ids),
    )


def shown_rows(lake: Reader, ids: Sequence[str]) -> StoredRows:
    """Return the rows of these articles that readers see: without entries, polls,
    receipts and failures, of which each table costs time.
    """
    pages = lake.frame(StoredPage, None, _OF_PAGES, article_id=ids)
    listed = lake.frame(RawArticle, None, ("day",), article_id=ids)
    days = listed["day"].unique().to_list()
    derived = {}
    for name in _SHOWN_STAGES:
        record = stages.stage_named(name).record
        derived[name] = _of_articles(lake, record, ids, days)
    return StoredRows(
        entries=(),
        polls={},
        pages=pages.to_dicts(),
        articles=_of_articles(lake, RawArticle, ids, days),
        revisions=lake.read(ArticleRevision, article_id=ids),
        derived=derived,
        failures=(),
    )


def _of_articles(
    lake: Reader, record: type[_Row], ids: Sequence[str], days: Collection[date]
) -> list[_Row]:
    """Return the row of each article, also one that is still stored on the day before
    its article moved.

    Most are on the articles' days. Only the files of their months are opened, which
    halves the time among 1,000,000 articles.
    """
    rows = lake.read(record, article_id=ids, day=days)
    if len(rows) < len(set(ids)):
        return lake.read(record, article_id=ids)
    return rows


def events_of(rows: StoredRows) -> list[Event]:
    """Return the events of these rows, oldest first."""
    events = [
        *_listed(rows),
        *_fetched(rows),
        *_waiting(rows.entries, rows.articles),
        *_derived(rows),
    ]
    return sorted([*events, *_failed(rows.failures)], key=lambda event: event.at)


def article_ids_at(lake: Reader, url: str) -> list[str]:
    """Return the ids of the articles listed at this address in any spelling, or
    redirected to it, in order.
    """
    hashed = [url_hash(canonical_url(url))]
    listed = lake.frame(FeedEntry, None, ("article_id",), url_hash=hashed)["article_id"]
    fetched = lake.frame(RawArticle, None, ("article_id",), url_hash=hashed)[
        "article_id"
    ]
    return sorted({*listed, *fetched})


def _polls_of(
    lake: Reader, entries: Sequence[FeedEntry]
) -> dict[tuple[str, datetime], Poll]:
    """Return the polls that found these entries, by source and time."""
    sources = {entry.source_id for entry in entries}
    times = {entry.first_seen_at for entry in entries}
    polls = lake.read(Poll, source_id=sources, polled_at=times)
    return {(poll.source_id, poll.polled_at): poll for poll in polls}


def _listed(rows: StoredRows) -> Iterator[Event]:
    for entry in rows.entries:
        what = f"first listed by {entry.source_id}"
        if entry.published_at:
            what += f", dated {entry.published_at:%Y-%m-%d %H:%M}Z"
        else:
            what += ", without a date"
        poll = rows.polls.get((entry.source_id, entry.first_seen_at))
        if poll:
            what += f", polled in {poll.elapsed_ms} ms, {poll.new_count} new"
        first = Event(
            at=entry.first_seen_at,
            article_id=entry.article_id,
            stage="feed_entries",
            outcome="ok",
            what=what,
            trace_id=entry.trace_id,
        )
        yield first
        if entry.last_seen_at > entry.first_seen_at:
            yield replace(
                first, at=entry.last_seen_at, what=f"last listed by {entry.source_id}"
            )


def _waiting(
    entries: Iterable[FeedEntry], articles: Iterable[RawArticle]
) -> Iterator[Event]:
    first = first_entries(entries)
    for article in articles:
        entry = first.get(article.article_id)
        if entry is None or entry.entry_hash == article.entry_hash:
            continue
        if not has_news(entry, article):
            again = f"the page is fetched again for that from {refetch_at(article):%Y-%m-%d %H:%M}Z"
            yield Event(
                at=entry.last_seen_at,
                article_id=article.article_id,
                stage="raw_articles",
                outcome="skipped",
                what=f"the listing's text changed; {again}",
                trace_id=entry.trace_id,
            )


def _fetched(rows: StoredRows) -> Iterator[Event]:
    for row in rows.pages:
        yield Event(
            at=row["fetched_at"],
            article_id=row["article_id"],
            stage="raw_articles",
            outcome=str(row["status"]),
            what=f"page of {row['body_bytes']:,} bytes from {row['final_url']}",
        )
    for revision in rows.revisions:
        yield Event(
            at=revision.replaced_at,
            article_id=revision.article_id,
            stage="raw_articles",
            outcome="ok",
            what=(
                f"revision {revision.rev_n} was {_REPLACED.get(revision.cause, _REPLACED['edit'])}"
            ),
        )
    for article in rows.articles:
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
    if article.outcome != "ok":
        again = "no further attempt"
        if article.next_try_at:
            again = f"next attempt {article.next_try_at:%Y-%m-%d %H:%M}Z"
        return f"{article.reason}; {again}"
    described: str = stages.STAGES[0].describe(article)
    if not article.failed_attempts:
        return described
    failed = (
        f"{article.failed_attempts} attempts failed, the last {article.last_failure}"
    )
    return f"{described}; {failed}"


def _derived(rows: StoredRows) -> Iterator[Event]:
    for stage in stages.derived_stages():
        for row in rows.derived[stage.name]:
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
        again = "given up"
        if failure.next_try_at:
            again = f"next attempt {failure.next_try_at:%Y-%m-%d %H:%M}Z"
        yield Event(
            at=failure.last_failed_at,
            article_id=failure.article_id,
            stage=failure.stage,
            outcome="failed",
            what=f"{failure.reason}; {again}",
            attempts=failure.attempts,
            trace_id=failure.trace_id,
        )
