"""The sensor `first_checks`: requests all checks of a desk once, when it is current for
the first time.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import dagster as dg

from news_assets.defs.clock import utc_now
from news_assets.defs.partitions import last_day, newest_begun_day
from news_assets.defs.sensors.backlog import WINDOW, OpenLake, up_to
from news_assets.pipeline.civic.pace import waiting_sources
from news_assets.records.articles import SourceState
from news_assets.records.desks import Desk
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import pending_entries, stale_rows

if TYPE_CHECKING:
    from news_assets.defs.instance.job_type import UnresolvedAssetJobDefinition

    Jobs = Sequence[UnresolvedAssetJobDefinition]

# until the desk is current; later ticks read only the cursor
_FIRST_CHECKS_EVERY_S = 30


def build_first_checks(
    desks: Sequence[Desk], jobs: "Jobs", open_lake: OpenLake
) -> dg.SensorDefinition:
    """Return the sensor; its cursor names the desks that have been checked."""

    @dg.sensor(
        name="first_checks",
        jobs=jobs,
        minimum_interval_seconds=_FIRST_CHECKS_EVERY_S,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Requests all checks of a desk once, when it is current for the first time.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        checked = set((context.cursor or "").split())
        requests: list[dg.RunRequest] = []
        for desk in desks:
            if desk.key in checked:
                continue
            job = f"{desk.key}_checks"
            has_run = bool(
                context.instance.get_run_ids(dg.RunsFilter(job_name=job), limit=1)
            )
            if has_run or _is_current(open_lake(), desk, utc_now()):
                checked.add(desk.key)
                requests += (
                    []
                    if has_run
                    else [dg.RunRequest(run_key=f"{job} first", job_name=job)]
                )
        waiting = [desk.key for desk in desks if desk.key not in checked]
        reason = (
            f"not current yet: {', '.join(waiting)}"
            if waiting
            else "every desk has been checked"
        )
        return dg.SensorResult(
            requests,
            skip_reason=None if requests else reason,
            cursor=" ".join(sorted(checked)),
        )

    return sensor


def _is_current(lake: Lake, desk: Desk, now: datetime) -> bool:
    """Return whether every source has been polled and no stage has work in the last
    weeks.
    """
    states = {
        state.source_id: state for state in lake.read(SourceState, desk=[desk.key])
    }
    polled, waiting = (
        {(state.source_id, state.url) for state in states.values()},
        waiting_sources(desk.sources, states),
    )
    if any(
        (one.source_id, one.url) not in polled
        for one in desk.sources
        if one.source_id not in waiting
    ):
        return False
    window = desk, now, max(desk.first_day, newest_begun_day(desk, now) - WINDOW)
    return all(
        up_to(find(lake, *window), last_day(desk, now)).is_empty()
        for find in (pending_entries, stale_rows)
    )
