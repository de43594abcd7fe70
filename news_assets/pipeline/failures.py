"""What failed: the outcome of an error, and one row per article and stage with the
number of attempts and the time of the next one.

A failure is deleted once the stage succeeds; `store/queries/backlog.py` holds work back
until it is due. When an article is fetched again is decided in
`pipeline/articles/attempts.py`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from news_assets.errors import (
    FetchError,
    ForbiddenAddressError,
    NewsAssetsError,
    RobotsError,
)
from news_assets.pipeline.stage_declaration import Stage
from news_assets.ports.services import Rows
from news_assets.records.articles import RawArticle
from news_assets.records.derived import Failure
from news_assets.records.reading import Outcome
from news_assets.retry_table import STAGE, STAGE_OUTAGE, RetryRule

# what is gone, or is no article, is a known outcome and not a failure
FAILED = (
    "failed",
    "blocked",
)


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


# --- rows of failures -----------------------------------------------------------------


def record_article_outcomes(
    rows: Rows, stage: Stage, articles: Sequence[RawArticle]
) -> None:
    """Store which of these articles failed, with the attempts that their rows state,
    and delete the failures of the others.
    """
    failed: list[Failure] = []
    done: set[str] = set()
    for article in articles:
        if article.outcome not in FAILED:
            done.add(article.article_id)
            continue
        version, reason = article.entry_hash, article.reason
        failure = failure_of(article, stage.name, version, reason, article.fetched_at)
        stated = replace(
            failure, attempts=article.attempts, next_try_at=article.next_try_at
        )
        failed.append(stated)
    _drop_others(rows, stage, failed, done)
    if failed:
        earlier = _stored_failures(rows, stage, failed)
        rows.upsert([_with_first_time(failure, earlier) for failure in failed])


def record_outcomes(
    rows: Rows, stage: Stage, tried: Sequence[Any], now: datetime
) -> None:
    """Store which of these rows of a stage failed, and delete the failures of the
    others.
    """
    if not tried:
        return
    assert stage.state is not None
    failed: list[Failure] = []
    done: set[str] = set()
    for row in tried:
        if row.outcome == "ok":
            done.add(row.article_id)
        else:
            version = getattr(row, stage.state.column)
            failed.append(failure_of(row, stage.name, version, row.reason, now))
    record_failures(rows, stage, failed, done)


def record_attempt(
    rows: Rows, stage: Stage, work: Mapping[str, Any], desk: str, now: datetime
) -> None:
    """Store a failure for an article of the backlog before a stage works on it; the
    outcome replaces or deletes it.

    If the process ends, it stays, and holds the article back like any failure. `work`
    is a row of `store/queries/backlog.py`.
    """
    reason = "the process ended while it worked on this"
    failure = failure_of_work(work, stage.name, desk, reason, now)
    _store_counted(rows, stage, [failure], STAGE)


def record_unavailable(
    rows: Rows,
    stage: Stage,
    backlog: Iterable[Mapping[str, Any]],
    desk: str,
    reason: str,
    now: datetime,
) -> None:
    """Store a failure for each article of a stage's backlog, because its enricher or
    model is unavailable.

    The later stages go on without its rows.

    Args:
        rows: The transaction.
        stage: The stage.
        backlog: Rows of `store/queries/backlog.py`.
        desk: The desk's key.
        reason: Why it is unavailable.
        now: The time of the failures.
    """
    failed = [failure_of_work(work, stage.name, desk, reason, now) for work in backlog]
    record_outage(rows, stage, failed)


def record_outage(rows: Rows, stage: Stage, failed: Sequence[Failure]) -> None:
    """Store failures whose cause is not in the articles: they are retried at increasing
    pauses up to a day, and not given up.
    """
    _store_counted(rows, stage, failed, STAGE_OUTAGE)


def failure_of_work(
    work: Mapping[str, Any], stage: str, desk: str, reason: str, now: datetime
) -> Failure:
    """Return the failure of a row of the backlog, without another attempt; see
    `failure_of`.
    """
    return Failure(
        stage=stage,
        article_id=work["article_id"],
        desk=desk,
        agency=work["agency"],
        day=work["day"],
        version=work["version"],
        reason=reason,
        attempts=0,
        first_failed_at=now,
        last_failed_at=now,
        next_try_at=None,
        trace_id=work["trace_id"],
    )


def failure_of(
    row: Any, stage: str, version: str, reason: str | None, now: datetime
) -> Failure:
    """Return the failure of a row of an article, whose input has this version; its
    attempts are counted where it is stored.
    """
    return Failure(
        stage=stage,
        article_id=row.article_id,
        desk=row.desk,
        agency=row.agency,
        day=row.day,
        version=version,
        reason=reason or "no reason given",
        attempts=0,
        first_failed_at=now,
        last_failed_at=now,
        next_try_at=None,
        trace_id=row.trace_id,
    )


def make_due(rows: Rows, now: datetime, **isin: Collection[Any]) -> list[Failure]:
    """Make these failures due now, with all their attempts again; return them.

    An article that could not be fetched has the time of its next attempt in its own
    row, which is changed with it.
    """
    failures: list[Failure] = []
    fetched: set[str] = set()
    for row in rows.read(Failure, None, **isin):
        failures.append(replace(row, attempts=0, next_try_at=now))
        if row.stage == "raw_articles":
            fetched.add(row.article_id)
    if failures:
        rows.upsert(failures)
    articles = rows.read(RawArticle, article_id=fetched) if fetched else []
    if articles:
        due = [
            replace(row, attempts=0, refusals=0, next_try_at=now) for row in articles
        ]
        rows.upsert(due)
    return failures


def drop_failures(rows: Rows, stage: Stage, article_ids: Collection[str]) -> None:
    """Delete a stage's failures with articles that are gone."""
    rows.delete(Failure, stage=[stage.name], article_id=article_ids)


def record_failures(
    rows: Rows, stage: Stage, failed: Sequence[Failure], done: Collection[str]
) -> None:
    """Store these failures with their next attempts, and delete those of the other
    articles among `done`.
    """
    _drop_others(rows, stage, failed, done)
    _store_counted(rows, stage, failed, STAGE)


def _drop_others(
    rows: Rows, stage: Stage, failed: Sequence[Failure], done: Collection[str]
) -> None:
    """Delete the failures of the articles among `done` that have not failed now."""
    succeeded = set(done) - {failure.article_id for failure in failed}
    if succeeded:
        drop_failures(rows, stage, succeeded)


def _store_counted(
    rows: Rows, stage: Stage, failed: Sequence[Failure], rule: RetryRule
) -> None:
    """Store failures with one more attempt each than the stored ones have."""
    if not failed:
        return
    earlier = _stored_failures(rows, stage, failed)
    counted: list[Failure] = []
    for failure in failed:
        failure = _with_first_time(failure, earlier)
        counted.append(_next_attempt(failure, earlier, rule))
    rows.upsert(counted)


def _stored_failures(
    rows: Rows, stage: Stage, failed: Sequence[Failure]
) -> dict[str, Failure]:
    """Return the stored failures of a stage with the same articles, by article id."""
    ids = {failure.article_id for failure in failed}
    found = rows.read(Failure, stage=[stage.name], article_id=ids)
    return {row.article_id: row for row in found}


def _with_first_time(failure: Failure, earlier: Mapping[str, Failure]) -> Failure:
    """Return a failure with the time of the first one of its article."""
    known = earlier.get(failure.article_id)
    if known is None:
        return failure
    return replace(failure, first_failed_at=known.first_failed_at)


def _next_attempt(
    failure: Failure, earlier: Mapping[str, Failure], rule: RetryRule
) -> Failure:
    """Count one more attempt, unless it came before its time because its neighbours
    were due.
    """
    now = failure.last_failed_at
    known = earlier.get(failure.article_id)
    if known is None or known.version != failure.version:
        return replace(failure, attempts=1, next_try_at=rule.next_at(1, now))
    if known.next_try_at is None or now < known.next_try_at:
        return replace(failure, attempts=known.attempts, next_try_at=known.next_try_at)
    attempts = known.attempts + 1
    return replace(failure, attempts=attempts, next_try_at=rule.next_at(attempts, now))
