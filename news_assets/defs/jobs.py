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
AssetJob: TypeAlias = Any
Jobs: TypeAlias = Sequence[AssetJob]

FRESHNESS, REPORT, MAINTENANCE, BATCHES = (
    "freshness",
    "daily_report",
    "lake_maintenance",
    "enrichment_batches",
)
ALERTS = "alerts"
STORIES = "stories"
DATASET = "dataset"
_MAX_RUNTIME_TAG = "dagster/max_runtime"  # in seconds, of Dagster's run monitoring
DAILY_JOBS = (REPORT, MAINTENANCE)


def build_desk_jobs(desk: Desk, max_run_s: int = 0) -> list[AssetJob]:
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


def build_shared_jobs(desks: Sequence[Desk], max_run_s: int = 0) -> list[AssetJob]:
    """Return the jobs over all desks: freshness checks, daily report, maintenance,
    batches, alerts, stories and the published data set.
    """
    tags = _time_limit(max_run_s)
    freshness: list[dg.AssetCheckKey] = []
    for desk in desks:
        for name, (asset, _) in freshness_checks(desk).items():
            key = dg.AssetKey([desk.key, asset])
            freshness.append(dg.AssetCheckKey(key, name))
        for name in stages.stage_names(desk):
            key = dg.AssetKey([desk.key, name])
            freshness.append(dg.AssetCheckKey(key, FAILURE_CHECK))
    return [
        dg.define_asset_job(
            FRESHNESS,
            dg.AssetSelection.checks(*freshness),
            description=(
                "Freshness checks of every desk: what is missing, lost, silent or failing, by row."
            ),
            tags=tags,
        ),
        dg.define_asset_job(
            REPORT,
            dg.AssetSelection.assets(["newsroom", "daily_report"]),
            description="The report of a day, over all desks.",
            tags=tags,
        ),
        dg.define_asset_job(
            MAINTENANCE,
            dg.AssetSelection.assets(["lake", "maintenance"]),
            description="Maintenance of the lake and of Dagster's history.",
            tags=tags,
        ),
        dg.define_asset_job(
            BATCHES,
            dg.AssetSelection.assets(["newsroom", "enrichment_batches"]),
            description="Collects the batches of language models that are over.",
            tags=tags,
        ),
        dg.define_asset_job(
            ALERTS,
            dg.AssetSelection.assets(["newsroom", "alerts"]),
            description=(
                "Tells new hits of saved queries, and operators what became bad or is over."
            ),
            tags=tags,
        ),
        dg.define_asset_job(
            STORIES,
            dg.AssetSelection.assets(["newsroom", "stories"]),
            description="The stories of the articles of these days, over all desks.",
            tags=tags,
        ),
        dg.define_asset_job(
            DATASET,
            dg.AssetSelection.assets(["newsroom", "dataset"]),
            description="The next issue of the published data set.",
            tags=tags,
        ),
    ]


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
        _report_of_yesterday(by_name[REPORT]),
        _at_times(by_name[MAINTENANCE], "17 4 * * *", "daily"),
    ]
    if has_dataset:
        schedules.append(_at_times(by_name[DATASET], "47 5 * * *", "daily"))
    for name, job in by_name.items():
        if name.endswith("_checks"):
            schedules.append(_at_times(job, "47 4 * * *", "daily"))
    return schedules


def _at_times(job: AssetJob, cron: str, how_often: str) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name=f"{job.name}_{how_often}",
        target=job,
        cron_schedule=cron,
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=job.description,
    )


def _report_of_yesterday(job: AssetJob) -> dg.ScheduleDefinition:
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
