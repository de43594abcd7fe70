"""The sensor `alerts`: requests a run where there is something to tell, and now and
then a look at all states.
"""

from collections.abc import Sequence
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from news_assets.defs.active_runs import unfinished_runs
from news_assets.defs.assets.alerts import ALERTS_KEY
from news_assets.defs.clock import utc_now
from news_assets.defs.jobs import ALERTS
from news_assets.errors import SettingsError
from news_assets.pipeline.alerts.hits import FOLLOWER
from news_assets.pipeline.alerts.query_file import Alerts, load_alerts
from news_assets.records.alerts import Follower, Message, QueryHit
from news_assets.settings import Settings
from news_assets.store.changes import Cursor, has_change
from news_assets.store.lake import Lake

if TYPE_CHECKING:
    from datetime import datetime

    from news_assets.defs.instance.job_type import UnresolvedAssetJobDefinition

TELL_EVERY_S = 15  # articles that are new in the meantime are told in one message
_NOTHING_TO_TELL_EVERY_S = 3600


def build_alerts_sensor(
    jobs: "Sequence[UnresolvedAssetJobDefinition]", *, has_queries: bool = True
) -> dg.SensorDefinition:
    """Return the sensor; its cursor is the time of the last look at all states, in
    epoch seconds.

    `has_queries`: whether NEWS_QUERIES names a file, without which there is nothing to
    tell.
    """

    @dg.sensor(
        name="alerts",
        job=next(job for job in jobs if job.name == ALERTS),
        minimum_interval_seconds=TELL_EVERY_S
        if has_queries
        else _NOTHING_TO_TELL_EVERY_S,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=(
            "Requests messages about new hits of saved queries, and about states that became bad or"
            " are over."
        ),
    )
    def sensor(
        context: dg.SensorEvaluationContext, lake: dg.ResourceParam[Lake]
    ) -> dg.SensorResult:
        path = Settings.read().queries
        if path is None:
            return dg.SensorResult(skip_reason="NEWS_QUERIES names no file")
        if any(run.job_name == ALERTS for run in unfinished_runs(context.instance)):
            return dg.SensorResult(skip_reason="a run is at it", cursor=context.cursor)
        try:
            rules = _cached_rules(
                path, path.stat().st_mtime_ns if path.is_file() else 0
            )
        except SettingsError as error:
            return dg.SensorResult(skip_reason=str(error), cursor=context.cursor)
        now = utc_now()
        looks = _is_look_due(rules, float(context.cursor or 0), now)
        if not looks and not _has_news(lake, now):
            return dg.SensorResult(skip_reason="nothing to tell", cursor=context.cursor)
        config = {
            "ops": {ALERTS_KEY.to_python_identifier(): {"config": {"look": looks}}}
        }
        cursor = str(now.timestamp()) if looks else context.cursor
        return dg.SensorResult([dg.RunRequest(run_config=config)], cursor=cursor)

    return sensor


@lru_cache(maxsize=1)
def _cached_rules(path: Path, changed_ns: int) -> Alerts:
    return load_alerts(path)


def _is_look_due(rules: Alerts, last_s: float, now: "datetime") -> bool:
    operators = rules.operators
    if operators is None or operators.is_quiet(now):
        return False
    return (
        now.timestamp() - last_s
        >= timedelta(minutes=operators.every_minutes).total_seconds()
    )


def _has_news(lake: Lake, now: "datetime") -> bool:
    """Return whether articles are new in the index, or hits or messages are due."""
    followers = lake.read(Follower, name=[FOLLOWER])
    if not followers or has_change(lake, Cursor.of(followers[0].cursor), "indexed"):
        return True
    hits = lake.frame(QueryHit, None, ("due_at",), told_at=[None])["due_at"]
    messages = lake.frame(Message, None, ("next_try_at",), sent_at=[None])[
        "next_try_at"
    ].drop_nulls()
    return bool((hits <= now).any() or (messages <= now).any())
