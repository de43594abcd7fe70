"""Schedules: jobs at fixed times. Times are UTC; daily jobs run at hours when few
sources publish.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import dagster as dg

from news_assets.defs.jobs import FRESHNESS, MAINTENANCE, REPORT

if TYPE_CHECKING:
    from news_assets.defs.instance.job_type import UnresolvedAssetJobDefinition

    Jobs = Sequence[UnresolvedAssetJobDefinition]


def build_schedules(jobs: "Jobs") -> list[dg.ScheduleDefinition]:
    """Return the schedules of these jobs: freshness, report, maintenance, and the
    checks of each desk.
    """
    by_name = {job.name: job for job in jobs}
    return [
        _at_times(by_name[FRESHNESS], "7,37 * * * *", "half_hourly"),
        _report_of_yesterday(by_name[REPORT]),
        _at_times(by_name[MAINTENANCE], "17 4 * * *", "daily"),
        *(
            _at_times(job, "47 4 * * *", "daily")
            for name, job in by_name.items()
            if name.endswith("_checks")
        ),
    ]


def _at_times(
    job: "UnresolvedAssetJobDefinition", cron: str, how_often: str
) -> dg.ScheduleDefinition:
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
