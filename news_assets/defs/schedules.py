"""Schedules: what runs by the clock and not by what is pending."""

import dagster as dg

maintenance_schedule = dg.ScheduleDefinition(
    name="lake_maintenance_daily",
    target=dg.AssetSelection.assets(["lake", "maintenance"]),
    cron_schedule="17 4 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Upkeep of the lake once a day, at an hour when few sources publish.",
)
