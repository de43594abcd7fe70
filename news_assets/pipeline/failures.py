"""What failed: the outcome of an error, and one row per article and stage with the
number of attempts and the time of the next one. Also stores the rows that a stage made
of articles.

A stage reads its articles, works on them for seconds or minutes, and writes in one
short transaction. A row is stored only while its article is still as it was read; what
changed meanwhile is outdated again and done by the next run. A failure is deleted once
the stage succeeds; `store/queries/backlog.py` holds work back until it is due. When an
article is fetched again is decided in `pipeline/articles/attempts.py`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, Protocol, TypeVar

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
from news_assets.records.reading import AgencyDays, Outcome
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
    earlier = _stored_failures(rows, stage, [failure])
    rows.upsert([_next_attempt(failure, earlier, STAGE)])


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

    The later stages go on without its rows. It is retried at increasing pauses up to a
    day, and not given up: the cause is not in the articles.

    Args:
        rows: The transaction.
        stage: The stage.
        backlog: Rows of `store/queries/backlog.py`.
        desk: The desk's key.
        reason: Why it is unavailable.
        now: The time of the failures.
    """
    failed = [failure_of_work(work, stage.name, desk, reason, now) for work in backlog]
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


# --- rows made of articles ------------------------------------------------------------

_NONE: Final[Mapping[str, str | None]] = MappingProxyType({})


class _Derived(Protocol):
    @property
    def article_id(self) -> str: ...


Derived = TypeVar("Derived", bound=_Derived)


def states_of(articles: Sequence[RawArticle]) -> dict[str, str]:
    """Return the state of each article by its id."""
    return {article.article_id: article.content_hash for article in articles}


def _present_states(rows: Rows, keys: AgencyDays) -> dict[str, str]:
    """Return the states of the articles with a text, by their ids."""
    columns = ("article_id", "content_hash", "text_chars")
    current: dict[str, str] = {}
    for row in rows.frame(RawArticle, keys, columns, outcome=["ok"]).iter_rows():
        article_id, state, text_chars = row
        if text_chars:
            current[article_id] = state or ""
    return current


def store_derived(
    rows: Rows,
    stage: Stage,
    keys: AgencyDays,
    changed: Sequence[Derived],
    read: Mapping[str, str],
    now: datetime,
    provisional: Mapping[str, str | None] = _NONE,
) -> list[Derived]:
    """Return the rows that were stored: those whose article is still as it was read.
    Rows of lost articles are deleted.

    Which of the stored rows failed is recorded. An article without a text does not
    count as an article, as in `store/queries/backlog.py`: if the two differed, such an
    article would stay in the backlog for ever.

    Args:
        rows: The transaction.
        stage: The stage that made the rows.
        keys: The agency-days it works on.
        changed: Rows that are new or changed.
        read: The states in which their articles were read, by article id.
        now: The time of attempts that failed.
        provisional: Why rows with `is_provisional` are to be made again, by article id.
            Rows with None are due at once, and leave an earlier failure as it is.
    """
    current = _present_states(rows, keys)
    stored = rows.frame(stage.record, keys, ("article_id",)).to_series().to_list()
    gone = set(stored) - current.keys()
    if gone:
        rows.delete(stage.record, article_id=gone)
        drop_failures(rows, stage, gone)
    kept: list[Derived] = []
    for row in changed:
        if current.get(row.article_id) == read[row.article_id]:
            kept.append(row)
    if kept:
        rows.upsert(kept)
        if stage.then is not None:
            stage.then(rows, kept)
    _record_derived(rows, stage, kept, read, now, provisional)
    return kept


def _record_derived(
    rows: Rows,
    stage: Stage,
    kept: Sequence[Derived],
    read: Mapping[str, str],
    now: datetime,
    provisional: Mapping[str, str | None],
) -> None:
    """Store which of these stored rows failed, and when provisional ones are retried."""
    final: list[Derived] = []
    retries: list[Failure] = []
    for row in kept:
        reason = provisional.get(row.article_id)
        if row.article_id not in provisional:
            final.append(row)
        elif reason is not None:
            version = read[row.article_id]
            retries.append(failure_of(row, stage.name, version, reason, now))
    record_outcomes(rows, stage, final, now)
    # like those of an unavailable model, retries of provisional rows are not given up
    _store_counted(rows, stage, retries, STAGE_OUTAGE)
