"""Sensors: they read the lake and request runs. No sensor uses the network.

due_sources      sources that are due                       -> polls of each desk, of quick and
                 of slow sources
pending_entries  entries without a current article          -> their agency-days, all stages in
                 one run
stale_stages     rows of later stages missing or outdated   -> their agency-days, from that stage on
due_model_calls  rows that a language model is to replace   -> their agency-days,
                 `enriched_articles` only
lost_documents   documents that index and lake do not share -> their agency-days, `search_index`
                 alone
first_checks     a desk that is current for the first time  -> all its checks, once
open_batches     batches of language models                 -> a look at them
alerts           articles and states to tell                -> messages
stories          embedded articles without a story          -> their days, over all desks
"""

import logging
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import dagster as dg

from news_assets.defs.active_runs import instance_of
from news_assets.defs.backlog_sensors import (
    WINDOW,
    build_due_model_calls,
    build_due_sources,
    build_lost_documents,
    build_pending_entries,
    build_stale_stages,
    up_to,
)
from news_assets.defs.jobs import Jobs
from news_assets.defs.partitions import last_day, newest_begun_day, utc_now
from news_assets.defs.sensor_cursor import TICK_S, OpenLake
from news_assets.pipeline.schedule import waiting_sources
from news_assets.pipeline.stages import fetching_stages, stage_names
from news_assets.records.articles import SourceState
from news_assets.records.desks import Desk
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import pending_entries, stale_rows

_logger = logging.getLogger(__name__)


def build_desk_sensors(
    desks: Sequence[Desk],
    jobs: Jobs,
    open_lake: OpenLake,
    tick_s: float = TICK_S,
    *,
    fetch_only: bool = False,
    has_models: bool = True,
    home: Path | None = None,
) -> list[dg.SensorDefinition]:
    """Return the sensors of these desks.

    Args:
        desks: The desks.
        jobs: All that they may request.
        open_lake: Returns the lake of this process.
        tick_s: How long a tick waits for a change.
        fetch_only: Whether they request no stage after the articles.
        has_models: Whether the settings name a language model.
        home: Folder in which they leave the time of their looks.
    """
    names_of = fetching_stages if fetch_only else stage_names
    sensors = [
        build_due_sources(desks, jobs, open_lake),
        build_pending_entries(desks, jobs, tick_s, open_lake, names_of, home),
        build_stale_stages(desks, jobs, tick_s, open_lake, names_of),
    ]
    if not fetch_only:
        sensors += [
            build_due_model_calls(
                desks, jobs, tick_s, open_lake, has_models=has_models
            ),
            build_lost_documents(desks, jobs),
        ]
    return [*sensors, _build_first_checks(desks, jobs, open_lake)]


# until the desk is current; later ticks read only the cursor
_FIRST_CHECKS_EVERY_S = 30


def _build_first_checks(
    desks: Sequence[Desk], jobs: Jobs, open_lake: OpenLake
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
        waiting: list[str] = []
        for desk in desks:
            if desk.key in checked:
                continue
            job = f"{desk.key}_checks"
            runs = dg.RunsFilter(job_name=job)
            if instance_of(context).get_run_ids(runs, limit=1):
                checked.add(desk.key)
            elif _is_current(open_lake(), desk, utc_now()):
                checked.add(desk.key)
                requests.append(dg.RunRequest(run_key=f"{job} first", job_name=job))
            else:
                waiting.append(desk.key)
        cursor = " ".join(sorted(checked))
        if requests:
            return dg.SensorResult(requests, cursor=cursor)
        reason = "every desk has been checked"
        if waiting:
            reason = f"not current yet: {', '.join(waiting)}"
        return dg.SensorResult(skip_reason=reason, cursor=cursor)

    return sensor


def _is_current(lake: Lake, desk: Desk, now: datetime) -> bool:
    """Return whether every source has been polled and no stage has work in the last
    weeks.
    """
    missing = _never_polled(lake, desk)
    if missing:
        _logger.debug("%s is not current: %s", desk.key, missing[0])
        return False
    first_day = max(desk.first_day, newest_begun_day(desk, now) - WINDOW)
    for find in (pending_entries, stale_rows):
        backlog = up_to(find(lake, desk, now, first_day), last_day(desk, now))
        if not backlog.is_empty():
            return False
    return True


def _never_polled(lake: Lake, desk: Desk) -> list[str]:
    """Return the ids of the sources that were never polled at their address, without
    those that wait for another source.
    """
    states: dict[str, SourceState] = {}
    for state in lake.read(SourceState, desk=[desk.key]):
        states[state.source_id] = state
    waiting = waiting_sources(desk.sources, states)
    found = []
    for source in desk.sources:
        if source.source_id in waiting:
            continue
        known = states.get(source.source_id)
        if known is None or known.url != source.url:
            found.append(source.source_id)
    return found
