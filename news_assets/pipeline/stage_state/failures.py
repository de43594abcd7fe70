"""What could not be done, one row per article and stage: how often it was tried, when again, and when it is given up.

What a stage could not do enters; `Failure` rows are stored, and dropped once it succeeds. Which work is behind, and who
asks for it again, is decided elsewhere (`store/queries/backlog.py`, `requests.py`).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from news_assets.pipeline.schedule import stage_retry_at
from news_assets.ports import Rows
from news_assets.records import ArticleEmbedding, EnrichedArticle, Failure, IndexedDocument, RawArticle

DerivedRow = EnrichedArticle | ArticleEmbedding | IndexedDocument
StageRow = RawArticle | DerivedRow

_STAGE_OF: Mapping[type, str] = {
    EnrichedArticle: "enriched_articles",
    ArticleEmbedding: "article_embeddings",
    IndexedDocument: "search_index",
}

_WORTH_NOTING = ("failed", "blocked")  # what is gone or no article at all is known, not failed


def article_failures(articles: Sequence[RawArticle]) -> list[Failure]:
    """Return the failures among these articles; their rows say themselves when they are tried again."""
    return [
        replace(
            failure_of(article, "raw_articles", article.entry_hash, article.fetched_at),
            attempts=article.attempts,
            next_try_at=article.next_try_at,
        )
        for article in articles
        if article.outcome in _WORTH_NOTING
    ]


def note_outcomes(rows: Rows, tried: Sequence[DerivedRow], now: datetime) -> None:
    """Note which of these rows of one stage failed and which did not, in the transaction that `rows` is."""
    if tried:
        stage = _STAGE_OF[type(tried[0])]
        failed = [failure_of(row, stage, _version(row), now) for row in tried if row.outcome != "ok"]
        note_failures(rows, stage, failed, {row.article_id for row in tried if row.outcome == "ok"})


def _version(row: DerivedRow) -> str:
    return row.document_hash if isinstance(row, IndexedDocument) else row.content_hash


def failure_of(row: StageRow, stage: str, version: str, now: datetime) -> Failure:
    """Return what a row says of its failure; how often it was tried is counted where it is stored."""
    return Failure(
        stage=stage,
        article_id=row.article_id,
        desk=row.desk,
        agency=row.agency,
        day=row.day,
        version=version,
        reason=row.reason or "no reason given",
        attempts=0,
        first_failed_at=now,
        last_failed_at=now,
        next_try_at=None,
        trace_id=row.trace_id,
    )


def note_failures(rows: Rows, stage: str, failed: Sequence[Failure], done: Collection[str]) -> None:
    """Store what failed now and drop what succeeded, in the transaction that `rows` is."""
    ids = {failure.article_id for failure in failed}
    if gone := set(done) - ids:
        rows.delete(Failure, stage=[stage], article_id=gone)
    if failed:
        stored = {row.article_id: row for row in rows.read(Failure, stage=[stage], article_id=ids)}
        rows.upsert(list(_counted(failed, stored)))


def make_due(rows: Rows, now: datetime, **isin: Collection[Any]) -> list[Failure]:
    """Make these failures due now, their tries counted from the start, in the transaction that `rows` is; return them.

    Of articles that could not be fetched the own row says when they are tried again, so it is changed with them.
    """
    failures = [replace(row, attempts=0, next_try_at=now) for row in rows.read(Failure, None, **isin)]
    ids = {failure.article_id for failure in failures if failure.stage == "raw_articles"}
    articles = rows.read(RawArticle, article_id=ids) if ids else []
    if failures:
        rows.upsert(failures)
    if articles:
        rows.upsert([replace(article, attempts=0, next_try_at=now) for article in articles])
    return failures


def drop_failures(rows: Rows, record: type[Any], article_ids: Collection[str]) -> None:
    """Drop a stage's failures with articles that are gone, in the transaction that `rows` is."""
    rows.delete(Failure, stage=[_STAGE_OF[record]], article_id=article_ids)


def _counted(failed: Sequence[Failure], stored: Mapping[str, Failure]) -> Iterator[Failure]:
    for failure in failed:
        earlier = stored.get(failure.article_id)
        if earlier is not None:
            failure = replace(failure, first_failed_at=earlier.first_failed_at)
        yield failure if failure.attempts else _tried_again(failure, earlier)


def _tried_again(failure: Failure, earlier: Failure | None) -> Failure:
    """Count one more try, unless it came before its time because neighbours were due."""
    now = failure.last_failed_at
    if earlier is None or earlier.version != failure.version:
        return replace(failure, attempts=1, next_try_at=stage_retry_at(1, now))
    if earlier.next_try_at is None or now < earlier.next_try_at:
        return replace(failure, attempts=earlier.attempts, next_try_at=earlier.next_try_at)
    attempts = earlier.attempts + 1
    return replace(failure, attempts=attempts, next_try_at=stage_retry_at(attempts, now))
