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

import dagster as dg

from news_assets.defs.instance.run_deletion import delete_runs, runs_of_latest_materializations, sql_event_log
from news_assets.defs.jobs import DAILY_JOBS, FRESHNESS
from news_assets.records import Desk

NOTHING_NEW = {"news/polled": "nothing new"}  # tag of a poll run that materialised nothing

BATCH_RUNS = 500  # deleted between two lines of the log
MOST_RUNS = 10_000  # in one call: a week of 60 polls an hour; 11 minutes on SQLite, at 66 ms each
_FINISHED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]


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
    storage = sql_event_log(instance)
    if storage is None:
        log.warning("%s is no SQL storage: no run is deleted", type(instance.event_log_storage).__name__)
        return {}
    kept = runs_of_latest_materializations(storage, assets)
    old = {run_id: rule.job for rule in rules for run_id in _old_runs(instance, rule, now) if run_id not in kept}
    chosen = list(old)[:most]
    for batch in _batches(chosen):
        delete_runs(instance, storage, batch)
        log.info("%d old runs deleted, the last is %s", len(batch), batch[-1])
    return dict(Counter(old[run_id] for run_id in chosen))


def _batches(run_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(run_ids), BATCH_RUNS):
        yield run_ids[start : start + BATCH_RUNS]


def _old_runs(instance: dg.DagsterInstance, rule: Rule, now: datetime) -> list[str]:
    wanted = dg.RunsFilter(job_name=rule.job, statuses=_FINISHED, tags=rule.tags, updated_before=now - rule.keep)
    return list(reversed(instance.get_run_ids(wanted)))
