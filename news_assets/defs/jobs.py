"""Jobs: assets and checks that run together; the caller chooses the partitions. Schedules
start some of them at fixed times.

Times are UTC; daily jobs run at hours when few sources publish.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypeAlias

import dagster as dg

from news_assets.defs.asset_checks import FAILURE_CHECK
from news_assets.pipeline import stages
from news_assets.records.desks import Desk
from news_assets.store.queries.freshness import freshness_checks

# what `dg.define_asset_job` returns: Dagster does not export its type
_AssetJob: TypeAlias = Any
Jobs: TypeAlias = Sequence[_AssetJob]

FRESHNESS = "freshness"
_REPORT = "daily_report"
MAINTENANCE = "lake_maintenance"
BATCHES = "enrichment_batches"
ALERTS = "alerts"
STORIES = "stories"
DATASET = "dataset"
_MAX_RUNTIME_TAG = "dagster/max_runtime"  # in seconds, of Dagster's run monitoring
DAILY_JOBS = (_REPORT, MAINTENANCE)
# of one asset over all desks each
_SHARED_ASSETS = (
    (_REPORT, ("newsroom", "daily_report"), "The report of a day, over all desks."),
    (
        MAINTENANCE,
        ("lake", "maintenance"),
        "Maintenance of the lake and of Dagster's history.",
    ),
    (
        BATCHES,
        ("newsroom", "enrichment_batches"),
        "Collects the batches of language models that are over.",
    ),
    (
        ALERTS,
        ("newsroom", "alerts"),
        "Tells new hits of saved queries, and operators what became bad or is over.",
    ),
    (
        STORIES,
        ("newsroom", "stories"),
        "The stories of the articles of these days, over all desks.",
    ),
    (
        DATASET,
        ("newsroom", "dataset"),
        "The next issue of the published data set.",
    ),
)


def job_named(jobs: Jobs, name: str) -> _AssetJob:
    """Return the job with this name."""
    return next(job for job in jobs if job.name == name)


def build_desk_jobs(desk: Desk, max_run_s: int = 0) -> list[_AssetJob]:
    """Return the desk's jobs: `_poll` by agency, `_articles` by agency and day, and
    `_checks` over all its rows.

    Checks read all rows of a desk, so only the third has them: the first two run all
    day. Dagster ends a run after `max_run_s` seconds; 0 for no limit.
    """
    tags = {"news/desk": desk.key, **_time_limit(max_run_s)}
    stage_keys = [[desk.key, name] for name in stages.stage_names(desk)]
    return [
        dg.define_asset_job(
            f"{desk.key}_poll",
            dg.AssetSelection.assets([desk.key, "feed_entries"]).without_checks(),
            description=f"Poll the sources of desk {desk.key}.",
            tags=tags,
        ),
        dg.define_asset_job(
            f"{desk.key}_articles",
            dg.AssetSelection.assets(*stage_keys).without_checks(),
            description=f"Fetch, extract, enrich, embed and index the articles of desk {desk.key}.",
            tags=tags,
        ),
        dg.define_asset_job(
            f"{desk.key}_checks",
            dg.AssetSelection.checks_for_assets(
                [desk.key, "feed_entries"], *stage_keys
            ),
            description=(
                f"Check all rows of desk {desk.key}: unique ids, texts, vectors, index against"
                " lake."
            ),
            tags=tags,
        ),
    ]


def build_shared_jobs(desks: Sequence[Desk], max_run_s: int = 0) -> list[_AssetJob]:
    """Return the jobs over all desks: freshness checks, daily report, maintenance,
    batches, alerts, stories and the published data set.
    """
    tags = _time_limit(max_run_s)
    jobs = [
        dg.define_asset_job(
            FRESHNESS,
            dg.AssetSelection.checks(*_freshness_keys(desks)),
            description=(
                "Freshness checks of every desk: what is missing, lost, silent or failing, by row."
            ),
            tags=tags,
        )
    ]
    for name, asset, description in _SHARED_ASSETS:
        selection = dg.AssetSelection.assets(asset)
        job = dg.define_asset_job(name, selection, description=description, tags=tags)
        jobs.append(job)
    return jobs


def _freshness_keys(desks: Sequence[Desk]) -> list[dg.AssetCheckKey]:
    keys: list[dg.AssetCheckKey] = []
    for desk in desks:
        for name, (asset, _) in freshness_checks(desk).items():
            keys.append(dg.AssetCheckKey(dg.AssetKey([desk.key, asset]), name))
        for name in stages.stage_names(desk):
            key = dg.AssetKey([desk.key, name])
            keys.append(dg.AssetCheckKey(key, FAILURE_CHECK))
    return keys


def _time_limit(max_run_s: int) -> dict[str, str]:
    """Return the tag by which Dagster's run monitoring ends a run."""
    if max_run_s == 0:
        return {}
    return {_MAX_RUNTIME_TAG: str(max_run_s)}


def build_schedules(
    jobs: Jobs, *, has_dataset: bool = False
) -> list[dg.ScheduleDefinition]:
    """Return the schedules of these jobs: freshness, report, maintenance, the checks of
    each desk, and the data set where it has a place.
    """
    by_name = {job.name: job for job in jobs}
    schedules = [
        _at_times(by_name[FRESHNESS], "7,37 * * * *", "half_hourly"),
        _report_of_yesterday(by_name[_REPORT]),
        _at_times(by_name[MAINTENANCE], "17 4 * * *", "daily"),
    ]
    if has_dataset:
        schedules.append(_at_times(by_name[DATASET], "47 5 * * *", "daily"))
    for name, job in by_name.items():
        if name.endswith("_checks"):
            schedules.append(_at_times(job, "47 4 * * *", "daily"))
    return schedules


def _at_times(job: _AssetJob, cron: str, how_often: str) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name=f"{job.name}_{how_often}",
        target=job,
        cron_schedule=cron,
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=job.description,
    )


def _report_of_yesterday(job: _AssetJob) -> dg.ScheduleDefinition:
    @dg.schedule(
        name=f"{job.name}_daily",
        target=job,
        cron_schedule="23 0 * * *",
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="The page of the day that has ended.",
    )
    def schedule(context: dg.ScheduleEvaluationContext) -> dg.RunRequest:
        yesterday = str(context.scheduled_execution_time.date() - timedelta(days=1))
        return dg.RunRequest(run_key=yesterday, partition_key=yesterday)

    return schedule
