"""How long Dagster's own history is kept: runs with their events, logs and files. Dagster itself keeps them for ever.

In: an instance, rules by job, and `now`. Out: how many runs of each job went. A run that owns the newest
materialisation of a partition is never deleted, because its events are what the UI knows of that partition; one that
has not finished is not looked at. Rows of the lake, and ticks of sensors (`retention` in dagster.yaml), do not belong
here.

On SQLite a poll that finds nothing leaves 142 kB, nine tenths of it the empty tables of its own event file: 205 MB a
day at 60 polls an hour. What it found out stands in the lake's table `polls` in any case.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from logging import Logger
from pathlib import Path

import dagster as dg
import sqlalchemy as sa
from dagster._core.storage.event_log import SqlEventLogStorage, SqliteEventLogStorage
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable, SqlEventLogStorageTable

from news_assets.defs.jobs import DAILY_JOBS, FRESHNESS
from news_assets.records import Desk

NOTHING_NEW = {"news/polled": "nothing new"}  # tag of a poll run that materialised nothing

BATCH_RUNS = 500  # deleted between two lines of the log
MOST_RUNS = 10_000  # in one call: a week of 60 polls an hour; 11 minutes on SQLite, at 66 ms each
_FINISHED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]
_SHARD_FILES = ("", "-wal", "-shm")


@dataclass(frozen=True, slots=True)
class Rule:
    """Finished runs of one job, all or those with these tags, go when they have not changed for `keep`."""

    job: str
    keep: timedelta
    tags: Mapping[str, str] = field(default_factory=dict)


def retention_rules(desks: Iterable[Desk]) -> list[Rule]:
    """Return what is kept of the desks' jobs, and of those that all desks share.

    A day of polls without news is enough to see that the polling goes on. A week of the others, of failed ones and of
    checks covers a weekend and the working days around it; what they found is in the lake. Article runs are what an
    editor asks back about: two weeks.
    """
    rules = []
    for desk in desks:
        rules += [
            Rule(f"{desk.key}_poll", timedelta(days=1), NOTHING_NEW),
            Rule(f"{desk.key}_poll", timedelta(days=7)),
            Rule(f"{desk.key}_checks", timedelta(days=7)),
            Rule(f"{desk.key}_articles", timedelta(days=14)),
        ]
    rules.append(Rule(FRESHNESS, timedelta(days=7)))
    return rules + [Rule(job, timedelta(days=90)) for job in DAILY_JOBS]


def delete_old_runs(
    instance: dg.DagsterInstance,
    rules: Sequence[Rule],
    assets: Collection[dg.AssetKey],
    now: datetime,
    log: Logger,
    most: int = MOST_RUNS,
) -> dict[str, int]:
    """Delete what the rules let go, oldest first and at most so many; return how many runs of each job went.

    `assets` are those whose newest materialisations keep their runs. Running it again goes on where it ended.
    """
    storage = instance.event_log_storage
    if not isinstance(storage, SqlEventLogStorage):
        log.warning("%s is no SQL storage: no run is deleted", type(storage).__name__)
        return {}
    kept = _owners_of_newest(storage, assets)
    old = {run_id: rule.job for rule in rules for run_id in _old_runs(instance, rule, now) if run_id not in kept}
    chosen = list(old)[:most]
    for batch in _batches(chosen):
        for run_id in batch:
            _delete_run(instance, storage, run_id)
        _delete_check_results(storage, batch)
        log.info("%d old runs deleted, the last is %s", len(batch), batch[-1])
    return dict(Counter(old[run_id] for run_id in chosen))


def _batches(run_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(run_ids), BATCH_RUNS):
        yield run_ids[start : start + BATCH_RUNS]


def _owners_of_newest(storage: SqlEventLogStorage, assets: Collection[dg.AssetKey]) -> set[str]:
    """Return the runs that own the newest materialisation of any partition of these assets."""
    events = SqlEventLogStorageTable.c
    newest = (
        sa.select(sa.func.max(events.id))
        .where(
            events.asset_key.in_([key.to_string() for key in assets]),
            events.dagster_event_type == dg.DagsterEventType.ASSET_MATERIALIZATION.value,
        )
        .group_by(events.asset_key, events.partition)
    )
    with storage.index_connection() as connection:
        return set(connection.scalars(sa.select(events.run_id).where(events.id.in_(newest)).distinct()))


def _old_runs(instance: dg.DagsterInstance, rule: Rule, now: datetime) -> list[str]:
    wanted = dg.RunsFilter(job_name=rule.job, statuses=_FINISHED, tags=rule.tags, updated_before=now - rule.keep)
    return list(reversed(instance.get_run_ids(wanted)))


def _delete_run(instance: dg.DagsterInstance, storage: SqlEventLogStorage, run_id: str) -> None:
    instance.compute_log_manager.delete_logs(prefix=[run_id])
    instance.delete_run(run_id)
    if isinstance(storage, SqliteEventLogStorage):  # it empties the run's own file and leaves it: 131 kB
        for ending in _SHARD_FILES:
            Path(storage.path_for_shard(run_id) + ending).unlink(missing_ok=True)


def _delete_check_results(storage: SqlEventLogStorage, run_ids: Sequence[str]) -> None:
    """Delete the results of checks that these runs did, which Dagster leaves; the newest of each check stays."""
    results = AssetCheckExecutionsTable.c
    newest = sa.select(sa.func.max(results.id)).group_by(results.asset_key, results.check_name)
    with storage.index_connection() as connection:
        connection.execute(
            sa.delete(AssetCheckExecutionsTable).where(
                results.run_id.in_(run_ids), results.id.not_in(newest.scalar_subquery())
            )
        )
