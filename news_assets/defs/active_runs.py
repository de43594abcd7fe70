"""Dagster's runs that are queued or in progress, as the run planner reads them."""

from collections.abc import Iterator, Sequence
from datetime import date

import dagster as dg

from news_assets.pipeline import stages
from news_assets.pipeline.freshness.run_planner import ActiveRun
from news_assets.records import Desk

RANGE_START, RANGE_END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"
ATTEMPT_TAG = "news/attempt"  # how often the run's work was requested, this time included
_PARTITION = "dagster/partition"
_UNFINISHED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def unfinished_runs(instance: dg.DagsterInstance) -> Sequence[dg.DagsterRun]:
    """Return every run that is queued or in progress, whatever started it."""
    return instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED))


def active_runs(desk: Desk, runs: Sequence[dg.DagsterRun]) -> list[ActiveRun]:
    """Return those of the runs that work on agency-days of this desk."""
    return [active for run in runs for active in _active_run(desk, run)]


def is_polling(desk: Desk, runs: Sequence[dg.DagsterRun]) -> bool:
    """Return whether one of the runs polls the desk's sources."""
    return any(dg.AssetKey([desk.key, "feed_entries"]) in _selected(desk, run) for run in runs)


def _active_run(desk: Desk, run: dg.DagsterRun) -> Iterator[ActiveRun]:
    names = frozenset(key.path[1] for key in _selected(desk, run)) & frozenset(stages.stage_names())
    first = run.tags.get(RANGE_START) or run.tags.get(_PARTITION)
    last = run.tags.get(RANGE_END) or first
    if not names or not first or not last or "|" not in first:
        return
    keys = [agency.key for agency in desk.agencies]
    (first_agency, first_day), (last_agency, last_day) = first.split("|"), last.split("|")
    if first_agency in keys and last_agency in keys:
        agencies = frozenset(keys[keys.index(first_agency) : keys.index(last_agency) + 1])
        yield ActiveRun(names, agencies, date.fromisoformat(first_day), date.fromisoformat(last_day))


def _selected(desk: Desk, run: dg.DagsterRun) -> set[dg.AssetKey]:
    """Return the desk's assets that a run materialises; without a selection these are all assets of its job."""
    if run.asset_selection is not None:
        return {key for key in run.asset_selection if key.path[0] == desk.key}
    of_job = {f"{desk.key}_poll": ("feed_entries",), f"{desk.key}_articles": stages.stage_names()}
    return {dg.AssetKey([desk.key, name]) for name in of_job.get(run.job_name, ())}
