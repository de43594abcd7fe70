"""Deletes old runs with their events, logs and files, on SQLite and Postgres; Dagster
itself keeps them forever.

A run with the newest materialisation of a partition is kept, because the UI shows the
partition from its events; runs that have not finished are kept too. Ticks of sensors
are deleted by Dagster (`retention` in dagster.yaml).

On SQLite a poll without new entries leaves 142 kB, nine tenths of it the empty tables
of its own event file: 205 MB a day at 60 polls an hour. Its results are in the lake's
table `polls`.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from logging import Logger
from pathlib import Path

import dagster as dg
import sqlalchemy as sa
from dagster._core.storage.event_log import SqlEventLogStorage, SqliteEventLogStorage
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable

from news_assets.defs.active_runs import NOTHING_NEW
from news_assets.defs.jobs import DAILY_JOBS, FRESHNESS
from news_assets.records.desks import Desk

_BATCH_RUNS = 500  # deletions per log line
# per call: a week of 60 polls an hour; 11 minutes on SQLite, at 66 ms each
_MAX_RUNS = 10_000
_FINISHED = [
    dg.DagsterRunStatus.SUCCESS,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.CANCELED,
]


@dataclass(frozen=True, slots=True)
class _RetentionRule:
    """Finished runs of a job, or only those with these tags, are deleted when unchanged
    for `keep`.
    """

    job: str
    keep: timedelta
    tags: Mapping[str, str] = field(default_factory=dict)


def retention_rules(desks: Iterable[Desk]) -> list[_RetentionRule]:
    """Return the rules for the jobs of each desk and the jobs over all desks.

    One day of polls without new entries shows that polling works. One week of other
    polls, failed ones and checks covers a weekend and the working days around it; their
    results are in the lake. Runs over articles are kept for two weeks, for questions
    about single articles.
    """
    rules = []
    for desk in desks:
        rules += [
            _RetentionRule(f"{desk.key}_poll", timedelta(days=1), NOTHING_NEW),
            _RetentionRule(f"{desk.key}_poll", timedelta(days=7)),
            _RetentionRule(f"{desk.key}_checks", timedelta(days=7)),
            _RetentionRule(f"{desk.key}_articles", timedelta(days=14)),
        ]
    rules.append(_RetentionRule(FRESHNESS, timedelta(days=7)))
    for job in DAILY_JOBS:
        rules.append(_RetentionRule(job, timedelta(days=90)))
    return rules


def delete_old_runs(
    instance: dg.DagsterInstance,
    rules: Sequence[_RetentionRule],
    assets: Collection[dg.AssetKey],
    now: datetime,
    log: Logger,
    limit: int = _MAX_RUNS,
) -> dict[str, int]:
    """Delete runs by these rules, oldest first, at most `limit`; return the number of
    deleted runs by job.

    Runs with the newest materialisation of a partition of `assets` are kept. The next
    call deletes the rest.
    """
    storage = _sql_event_log(instance)
    if storage is None:
        log.warning(
            "no runs are deleted: %s is not an SQL storage",
            type(instance.event_log_storage).__name__,
        )
        return {}
    kept = _runs_of_latest_materializations(storage, assets)
    old: dict[str, str] = {}
    for rule in rules:
        for run_id in _old_runs(instance, rule, now):
            if run_id not in kept:
                old[run_id] = rule.job
    chosen = list(old)[:limit]
    for start in range(0, len(chosen), _BATCH_RUNS):
        batch = chosen[start : start + _BATCH_RUNS]
        _delete_runs(instance, storage, batch)
        log.info("%d old runs deleted, the last is %s", len(batch), batch[-1])
    return dict(Counter(old[run_id] for run_id in chosen))


def _old_runs(
    instance: dg.DagsterInstance, rule: _RetentionRule, now: datetime
) -> list[str]:
    finished = dg.RunsFilter(
        job_name=rule.job,
        statuses=_FINISHED,
        tags=rule.tags,
        updated_before=now - rule.keep,
    )
    return list(reversed(instance.get_run_ids(finished)))


_CHECK_RESULTS = sa.table(
    "asset_check_executions",
    *map(sa.column, ("id", "asset_key", "check_name", "run_id")),
)
_SHARD_FILES = ("", "-wal", "-shm")


def _sql_event_log(instance: dg.DagsterInstance) -> SqlEventLogStorage | None:
    """Return the instance's event log, or None if it is not stored in an SQL database."""
    storage = instance.event_log_storage
    return storage if isinstance(storage, SqlEventLogStorage) else None


def _runs_of_latest_materializations(
    storage: SqlEventLogStorage, assets: Collection[dg.AssetKey]
) -> set[str]:
    """Return the ids of the runs with the latest materialisation of any partition of
    these assets.
    """
    events = SqlEventLogStorageTable.c
    latest = (
        sa.select(sa.func.max(events.id))
        .where(
            events.asset_key.in_([key.to_string() for key in assets]),
            events.dagster_event_type
            == dg.DagsterEventType.ASSET_MATERIALIZATION.value,
        )
        .group_by(events.asset_key, events.partition)
    )
    with storage.index_connection() as connection:
        return set(
            connection.scalars(
                sa.select(events.run_id).where(events.id.in_(latest)).distinct()
            )
        )


def _delete_runs(
    instance: dg.DagsterInstance, storage: SqlEventLogStorage, run_ids: Sequence[str]
) -> None:
    """Delete runs with their events, logs, files and check results; the latest result
    of each check stays.
    """
    for run_id in run_ids:
        instance.compute_log_manager.delete_logs(prefix=[run_id])
        instance.delete_run(run_id)
        # Dagster empties the run's own file and leaves it: 131 kB
        if isinstance(storage, SqliteEventLogStorage):
            for ending in _SHARD_FILES:
                Path(storage.path_for_shard(run_id) + ending).unlink(missing_ok=True)
    _delete_check_results(storage, run_ids)


def _delete_check_results(storage: SqlEventLogStorage, run_ids: Sequence[str]) -> None:
    """Delete the check results of these runs, which `DagsterInstance.delete_run`
    leaves.
    """
    results = _CHECK_RESULTS.c
    latest = sa.select(sa.func.max(results.id)).group_by(
        results.asset_key, results.check_name
    )
    with storage.index_connection() as connection:
        connection.execute(
            sa.delete(_CHECK_RESULTS).where(
                results.run_id.in_(run_ids), results.id.not_in(latest.scalar_subquery())
            )
        )
