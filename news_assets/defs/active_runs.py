"""Dagster's runs that are queued or in progress, as the run planner reads them."""

from collections.abc import Iterator, Sequence
from datetime import date
from functools import partial
from typing import Any

import dagster as dg

from news_assets.pipeline import stages
from news_assets.pipeline.freshness.run_planner import ActiveRun
from news_assets.pipeline.schedule import Speed
from news_assets.records.desks import Desk

RANGE_START, RANGE_END = (
    "dagster/asset_partition_range_start",
    "dagster/asset_partition_range_end",
)
# how often the run's work was requested, this time included
ATTEMPT_TAG = "news/attempt"
_POLL_TAG = "news/poll"  # quick or slow: the sources that the run polls
_MODELS_TAG = "news/models"  # of runs that only request language models
# of runs that may wait for a server for minutes; the profiles limit these together
_SLOW_TAG = "news/slow"
MODEL_TAGS = {_MODELS_TAG: "only", _SLOW_TAG: "models"}
# tag of a poll run that materialised nothing
NOTHING_NEW = {"news/polled": "nothing new"}
LOCAL_ONLY = "local_only"  # option of `enriched_articles`
_PARTITION = "dagster/partition"
_WAITING = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
]
_UNFINISHED = [*_WAITING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]


def unfinished_runs(instance: dg.DagsterInstance) -> Sequence[dg.DagsterRun]:
    """Return every run that is queued or in progress, whatever started it."""
    return instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED))


def active_runs(
    desk: Desk, runs: Sequence[dg.DagsterRun], *, with_models: bool
) -> list[ActiveRun]:
    """Return the runs that work on agency-days of this desk.

    With `with_models` those that request language models, else those that do anything
    else: a run that only requests models may take minutes, and holds nothing up.
    """
    is_meant = (
        partial(_requests_models, desk) if with_models else _does_more_than_models
    )
    return [
        active for run in runs if is_meant(run) for active in _active_run(desk, run)
    ]


def local_only_config(desk: Desk) -> dict[str, object]:
    """Return the run configuration that leaves the language models to another run."""
    return {"ops": {f"{desk.key}__enriched_articles": {"config": {LOCAL_ONLY: True}}}}


def _requests_models(desk: Desk, run: dg.DagsterRun) -> bool:
    ops: Any = run.run_config.get("ops", {})
    return (
        not ops.get(f"{desk.key}__enriched_articles", {})
        .get("config", {})
        .get(LOCAL_ONLY)
    )


def _does_more_than_models(run: dg.DagsterRun) -> bool:
    return _MODELS_TAG not in run.tags


def runs_before(instance: dg.DagsterInstance, run_id: str) -> list[dg.DagsterRun]:
    """Return the unfinished runs that were created before this one."""
    runs = unfinished_runs(instance)  # newest first
    ids = [run.run_id for run in runs]
    return list(runs[ids.index(run_id) + 1 :]) if run_id in ids else []


def polled_sources(desk: Desk, runs: Sequence[dg.DagsterRun]) -> set[str]:
    """Return the ids of the desk's sources that one of the runs polls or is going to
    poll.
    """
    asset = dg.AssetKey([desk.key, "feed_entries"])
    return {
        source
        for run in runs
        if asset in _selected(desk, run)
        for source in _polled_by(desk, run)
    }


def poll_tags(desk_key: str, speed: Speed) -> dict[str, str]:
    """Return the tags of a poll of a desk's quick or slow sources."""
    tags = {"news/desk": desk_key, _POLL_TAG: speed}
    return tags | {_SLOW_TAG: "poll"} if speed == "slow" else tags


def awaits_start(desk: Desk, speed: Speed, runs: Sequence[dg.DagsterRun]) -> bool:
    """Return whether a poll of the desk's quick or slow sources was requested and has
    not begun.
    """
    tags = poll_tags(desk.key, speed).items()
    return any(run.status in _WAITING and tags <= run.tags.items() for run in runs)


def poll_config(desk: Desk, **config: object) -> dict[str, object]:
    """Return the run configuration of a poll of this desk, with these options of
    `feed_entries`.
    """
    return {"ops": {f"{desk.key}__feed_entries": {"config": config}}}


def _polled_by(desk: Desk, run: dg.DagsterRun) -> Iterator[str]:
    """Yield the sources in the run's configuration, else all sources of its agencies."""
    ops: Any = run.run_config.get("ops", {})
    listed = ops.get(f"{desk.key}__feed_entries", {}).get("config", {}).get("sources")
    if listed:
        yield from listed
        return
    keys = [agency.key for agency in desk.agencies]
    first = run.tags.get(RANGE_START) or run.tags.get(_PARTITION)
    last = run.tags.get(RANGE_END) or first
    agencies = (
        keys[keys.index(first) : keys.index(last) + 1]
        if first in keys and last in keys
        else keys
    )
    yield from (
        source.source_id for source in desk.sources if source.agency in agencies
    )


def _active_run(desk: Desk, run: dg.DagsterRun) -> Iterator[ActiveRun]:
    names = frozenset(key.path[1] for key in _selected(desk, run)) & frozenset(
        stages.stage_names(desk)
    )
    first = run.tags.get(RANGE_START) or run.tags.get(_PARTITION)
    last = run.tags.get(RANGE_END) or first
    if not names or not first or not last or "|" not in first:
        return
    keys = [agency.key for agency in desk.agencies]
    (first_agency, first_day), (last_agency, last_day) = (
        first.split("|"),
        last.split("|"),
    )
    if first_agency in keys and last_agency in keys:
        agencies = frozenset(
            keys[keys.index(first_agency) : keys.index(last_agency) + 1]
        )
        yield ActiveRun(
            names, agencies, date.fromisoformat(first_day), date.fromisoformat(last_day)
        )


def _selected(desk: Desk, run: dg.DagsterRun) -> set[dg.AssetKey]:
    """Return the desk's assets that a run materialises; without a selection these are
    all assets of its job.
    """
    if run.asset_selection is not None:
        return {key for key in run.asset_selection if key.path[0] == desk.key}
    of_job = {
        f"{desk.key}_poll": ("feed_entries",),
        f"{desk.key}_articles": stages.stage_names(desk),
    }
    return {dg.AssetKey([desk.key, name]) for name in of_job.get(run.job_name, ())}
