"""Everything that happened to one address, in the order of time: rows of every table in, moments out.

The lake keeps what came of each stage and when, and of repeated tries their number; so a story has the first and the
last moment of each, not every one between.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from news_assets.ports import Reader
from news_assets.records import (
    ArticleEmbedding,
    ArticleRevision,
    EnrichedArticle,
    Failure,
    FeedEntry,
    IndexedDocument,
    Poll,
    RawArticle,
    StoredPage,
)
from news_assets.text.urls import canonical_url, url_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One thing that happened; `stage` is the name of an asset."""

    at: datetime
    article_id: str
    stage: str
    outcome: str
    what: str
    attempts: int | None = None
    trace_id: str = ""


def story_of(lake: Reader, url: str) -> list[Moment]:
    """Return what happened to an address from its first listing to the index, oldest first; none where it is unknown.

    The address may be any spelling of the one that was listed, or the one that it led to.
    """
    hashed = [url_hash(canonical_url(url))]
    listed = lake.frame(FeedEntry, None, ("article_id",), url_hash=hashed)["article_id"]
    fetched = lake.frame(RawArticle, None, ("article_id",), url_hash=hashed)["article_id"]
    ids = sorted({*listed, *fetched})
    if not ids:
        return []
    entries = lake.read(FeedEntry, article_id=ids)
    moments = [
        *_listed(entries, _polls_of(lake, entries)),
        *_fetched(lake, ids),
        *_derived(lake, ids),
        *_failed(lake.read(Failure, article_id=ids)),
    ]
    return sorted(moments, key=lambda moment: moment.at)


def _polls_of(lake: Reader, entries: Sequence[FeedEntry]) -> dict[tuple[str, datetime], Poll]:
    """Return the polls that found these entries, by source and time."""
    sources, times = {entry.source_id for entry in entries}, {entry.first_seen_at for entry in entries}
    polls = lake.read(Poll, source_id=sources, polled_at=times)
    return {(poll.source_id, poll.polled_at): poll for poll in polls}


def _listed(entries: Iterable[FeedEntry], polls: dict[tuple[str, datetime], Poll]) -> Iterator[Moment]:
    for entry in entries:
        poll = polls.get((entry.source_id, entry.first_seen_at))
        asked = f", asked in {poll.elapsed_ms} ms, {poll.new_count} new" if poll else ""
        dated = f", dated {entry.published_at:%Y-%m-%d %H:%M}Z" if entry.published_at else ", without a date"
        first = Moment(
            at=entry.first_seen_at,
            article_id=entry.article_id,
            stage="feed_entries",
            outcome="ok",
            what=f"first listed by {entry.source_id}{dated}{asked}",
            trace_id=entry.trace_id,
        )
        yield first
        if entry.last_seen_at > entry.first_seen_at:
            yield replace(first, at=entry.last_seen_at, what=f"last listed by {entry.source_id}")


def _fetched(lake: Reader, ids: Sequence[str]) -> Iterator[Moment]:
    columns = ("article_id", "status", "final_url", "body_bytes", "fetched_at")
    for row in lake.frame(StoredPage, None, columns, article_id=ids).iter_rows(named=True):
        yield Moment(
            at=row["fetched_at"],
            article_id=row["article_id"],
            stage="raw_articles",
            outcome=str(row["status"]),
            what=f"page of {row['body_bytes']:,} bytes from {row['final_url']}",
        )
    for revision in lake.read(ArticleRevision, article_id=ids):
        yield Moment(
            at=revision.replaced_at,
            article_id=revision.article_id,
            stage="raw_articles",
            outcome="ok",
            what=f"revision {revision.rev_n} was replaced by a later text",
        )
    for article in lake.read(RawArticle, article_id=ids):
        yield Moment(
            at=article.fetched_at,
            article_id=article.article_id,
            stage="raw_articles",
            outcome=article.outcome,
            what=_said_of(article),
            attempts=article.attempts or None,
            trace_id=article.trace_id,
        )


def _said_of(article: RawArticle) -> str:
    if article.outcome != "ok":
        again = f"next try {article.next_try_at:%Y-%m-%d %H:%M}Z" if article.next_try_at else "not tried again"
        return f"{article.reason}; {again}"
    copied = f", a copy of {article.duplicate_of}" if article.duplicate_of else ""
    return f"{article.word_count} words, revision {article.rev_n}{copied}"


def _derived(lake: Reader, ids: Sequence[str]) -> Iterator[Moment]:
    for enriched in lake.read(EnrichedArticle, article_id=ids):
        made = f"theme {enriched.theme_code or 'none'}, by {enriched.enricher} {enriched.model}"
        yield _made("enriched_articles", enriched, enriched.enriched_at, made)
    for vector in lake.read(ArticleEmbedding, article_id=ids):
        made = f"{vector.dim} dimensions, by {vector.model}"
        yield _made("article_embeddings", vector, vector.embedded_at, made)
    for receipt in lake.read(IndexedDocument, article_id=ids):
        made = f"indexed {'with' if receipt.has_vector else 'without'} its vector"
        yield _made("search_index", receipt, receipt.indexed_at, made)


def _made(stage: str, row: EnrichedArticle | ArticleEmbedding | IndexedDocument, at: datetime, made: str) -> Moment:
    """Return the moment of a row: what was made, else why it was not."""
    return Moment(
        at=at,
        article_id=row.article_id,
        stage=stage,
        outcome=row.outcome,
        what=row.reason or made,
        trace_id=row.trace_id,
    )


def _failed(failures: Iterable[Failure]) -> Iterator[Moment]:
    for failure in failures:
        again = f"next try {failure.next_try_at:%Y-%m-%d %H:%M}Z" if failure.next_try_at else "given up"
        yield Moment(
            at=failure.last_failed_at,
            article_id=failure.article_id,
            stage=failure.stage,
            outcome="failed",
            what=f"{failure.reason}; {again}",
            attempts=failure.attempts,
            trace_id=failure.trace_id,
        )
