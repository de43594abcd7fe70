"""Schedules: what runs by the clock and not by what is pending. Times are UTC, at hours when few sources publish."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import dagster as dg

from news_assets.defs.jobs import FRESHNESS, MAINTENANCE, REPORT

if TYPE_CHECKING:
    from news_assets.defs.instance.job_type import UnresolvedAssetJobDefinition

    Jobs = Sequence[UnresolvedAssetJobDefinition]


def build_schedules(jobs: "Jobs") -> list[dg.ScheduleDefinition]:
    """Return the schedules over these jobs: freshness, report, upkeep, and each desk's checks of all its rows."""
    by_name = {job.name: job for job in jobs}
    return [
        _by_clock(by_name[FRESHNESS], "7,37 * * * *", "half_hourly"),
        _report_of_yesterday(by_name[REPORT]),
        _by_clock(by_name[MAINTENANCE], "17 4 * * *", "daily"),
        *(_by_clock(job, "47 4 * * *", "daily") for name, job in by_name.items() if name.endswith("_checks")),
    ]


def _by_clock(job: "UnresolvedAssetJobDefinition", cron: str, how_often: str) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name=f"{job.name}_{how_often}",
        target=job,
        cron_schedule=cron,
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=job.description,
    )


def _report_of_yesterday(job: "UnresolvedAssetJobDefinition") -> dg.ScheduleDefinition:
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
