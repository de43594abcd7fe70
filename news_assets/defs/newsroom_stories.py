"""The asset `newsroom/stories`: the articles about one event, by day over all desks. Its
sensor requests the days of articles that are embedded and have no story yet.
"""

from collections.abc import Sequence
from datetime import date, datetime

import dagster as dg
from pydantic import Field

from news_assets.defs.active_runs import RANGE_END, RANGE_START, unfinished_runs
from news_assets.defs.asset_metadata import OWNERS
from news_assets.defs.backlog_sensors import WINDOW, OpenLake
from news_assets.defs.jobs import STORIES, Jobs
from news_assets.defs.lineage import tables_of
from news_assets.defs.partitions import (
    last_day,
    newest_begun_day,
    newsroom_days,
    utc_now,
)
from news_assets.errors import NewsAssetsError
from news_assets.ports.services import Sandbox
from news_assets.records.desks import Desk
from news_assets.store.lake import Lake
from news_assets.store.queries.listed_stories import days_without_stories

# of the sensor: a run loads all articles of the week, which is not done for each new one
_EVERY_S = 30
_STORIES_KEY = dg.AssetKey(["newsroom", "stories"])


class StoriesConfig(dg.Config):
    """Run configuration of `newsroom/stories`."""

    rebuild: bool = Field(
        False,
        description="place every article of these days again, not only new and changed ones",
    )


def build_stories(desks: Sequence[Desk]) -> dg.AssetsDefinition:
    """Return the asset over these desks."""

    @dg.asset(
        key=_STORIES_KEY,
        group_name="newsroom",
        owners=OWNERS,
        kinds={"python"},
        deps=tables_of(desks),
        partitions_def=newsroom_days(desks),
        backfill_policy=dg.BackfillPolicy.single_run(),
        code_version="1",
    )
    def stories(
        context: dg.AssetExecutionContext,
        config: StoriesConfig,
        lake: dg.ResourceParam[Lake],
        sandbox: dg.ResourceParam[Sandbox],
    ) -> dg.MaterializeResult[None]:
        """Articles about one event, across publishers, desks and languages.

        An article joins the story of the days around it that it belongs to by its
        vector, words, names and numbers, or begins one, in the order in which articles
        were first seen. Mergers and splits are rows with their reason. A story is
        closed after a week of silence, and reopened by an article of its days. Can be
        repeated at any time: only new and changed articles are placed.
        """
        from news_assets.pipeline.stories.update import update_stories

        days = [date.fromisoformat(key) for key in context.partition_keys]
        try:
            counts = update_stories(
                lake, days, utc_now, sandbox, rebuild=config.rebuild
            )
        except NewsAssetsError as error:
            raise dg.Failure(str(error)) from error
        return dg.MaterializeResult(
            metadata={
                "articles": counts["placed"],
                "stories_begun": counts["begun"],
                "merged": counts["merged"],
                "split": counts["split"],
                "closed": counts["closed"],
            }
        )

    return stories


def build_stories_sensor(
    desks: Sequence[Desk], jobs: Jobs, open_lake: OpenLake
) -> dg.SensorDefinition:
    """Return the sensor, which evaluates a changed lake, and requests one run at a time."""
    keys = [desk.key for desk in desks]
    first_day = min(desk.first_day for desk in desks)

    @dg.sensor(
        name="stories",
        job=next(job for job in jobs if job.name == STORIES),
        minimum_interval_seconds=_EVERY_S,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Requests the days of articles that have no story, or changed since.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        now = utc_now()
        lake = open_lake()
        snapshot = str(lake.snapshot())
        if context.cursor == snapshot:
            return dg.SensorResult(skip_reason="the lake has not changed")
        if _is_running(context.instance):
            return dg.SensorResult(skip_reason="a run is in progress")
        newest = max(newest_begun_day(desk, now) for desk in desks)
        since = max(first_day, newest - WINDOW)
        last = max(last_day(desk, now) for desk in desks)
        days = days_without_stories(lake, keys, since, now)
        days = [day for day in days if first_day <= day <= last]
        if days:
            return dg.SensorResult([_request(days, snapshot, now)])
        return dg.SensorResult(skip_reason="every article has a story", cursor=snapshot)

    return sensor


def _is_running(instance: dg.DagsterInstance) -> bool:
    return any(run.job_name == STORIES for run in unfinished_runs(instance))


def _request(days: Sequence[date], snapshot: str, now: datetime) -> dg.RunRequest:
    """Return the request of a run over these days and those between them. One that
    failed is repeated after a minute.
    """
    return dg.RunRequest(
        run_key=f"stories {snapshot} {now:%H:%M}",
        tags={RANGE_START: days[0].isoformat(), RANGE_END: days[-1].isoformat()},
    )
