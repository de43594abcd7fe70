"""Dagster's runs that are queued or in progress, as the run planner reads them."""

import threading
from collections.abc import Sequence
from datetime import date
from typing import Any

import dagster as dg

from news_assets.pipeline import stages
from news_assets.pipeline.run_planner import ActiveRun
from news_assets.pipeline.schedule import Speed
from news_assets.records.desks import Desk

RANGE_START, RANGE_END = (
    "dagster/asset_partition_range_start",
    "dagster/asset_partition_range_end",
)
# The UI hides tags with this prefix, which only sensors read.
_HIDDEN = ".dagster/"
# how often the run's work was requested, this time included
ATTEMPT_TAG = f"{_HIDDEN}news_attempt"
BACKLOG_TAG = f"{_HIDDEN}news_backlog"  # number of rows that it was requested for
_POLL_TAG = "news/poll"  # quick or slow: the sources that the run polls
_MODELS_TAG = f"{_HIDDEN}news_models"  # of runs that only request language models
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

_lock = threading.Lock()
_opened: list[tuple[object, dg.DagsterInstance]] = []  # references and their instances


def instance_of(context: dg.SensorEvaluationContext) -> dg.DagsterInstance:
    """Return Dagster's instance, for a sensor.

    `context.instance` would open the storage at each tick, which takes 30 ms, more than
    an evaluation. So a process opens it once here, for all sensors.
    """
    reference = context.instance_ref
    if reference is None:  # a test has given the instance itself
        return context.instance
    with _lock:
        for known, instance in _opened:
            if known == reference:
                return instance
        instance = dg.DagsterInstance.from_ref(reference)
        _opened.append((reference, instance))
        return instance


def unfinished_runs(instance: dg.DagsterInstance) -> Sequence[dg.DagsterRun]:
    """Return every run that is queued or in progress, whatever started it."""
    return instance.get_runs(dg.RunsFilter(statuses=_UNFINISHED))


def is_running(instance: dg.DagsterInstance, job: str) -> bool:
    """Return whether a run of this job is queued or in progress."""
    return any(run.job_name == job for run in unfinished_runs(instance))


def active_runs(
    desk: Desk, runs: Sequence[dg.DagsterRun], *, with_models: bool
) -> list[ActiveRun]:
    """Return the runs that work on agency-days of this desk.

    With `with_models` those that request language models, else those that do anything
    else: a run that only requests models may take minutes, and holds nothing up.
    """
    found: list[ActiveRun] = []
    for run in runs:
        is_meant = does_more_than_models(run)
        if with_models:
            is_meant = _requests_models(desk, run)
        if not is_meant:
            continue
        active = _active_run(desk, run)
        if active is not None:
            found.append(active)
    return found


def local_only_config(desk: Desk) -> dict[str, object]:
    """Return the run configuration that leaves the language models to another run."""
    return {"ops": {f"{desk.key}__enriched_articles": {"config": {LOCAL_ONLY: True}}}}


def _requests_models(desk: Desk, run: dg.DagsterRun) -> bool:
    return not _config_of(desk, run, "enriched_articles").get(LOCAL_ONLY)


def does_more_than_models(run: dg.DagsterRun) -> bool:
    """Return whether a run does anything else than to request language models."""
    return _MODELS_TAG not in run.tags


def runs_before(instance: dg.DagsterInstance, run_id: str) -> list[dg.DagsterRun]:
    """Return the unfinished runs that were created before this one."""
    before: list[dg.DagsterRun] = []
    is_before = False
    for run in unfinished_runs(instance):  # newest first
        if is_before:
            before.append(run)
        elif run.run_id == run_id:
            is_before = True
    return before


def polled_sources(desk: Desk, runs: Sequence[dg.DagsterRun]) -> set[str]:
    """Return the ids of the desk's sources that one of the runs polls or is going to
    poll.
    """
    asset = dg.AssetKey([desk.key, "feed_entries"])
    polled = set[str]()
    for run in runs:
        if asset in _selected(desk, run):
            polled.update(_polled_by(desk, run))
    return polled


def poll_tags(desk_key: str, speed: Speed) -> dict[str, str]:
    """Return the tags of a poll of a desk's quick or slow sources."""
    tags = {"news/desk": desk_key, _POLL_TAG: speed}
    if speed == "slow":
        tags[_SLOW_TAG] = "poll"
    return tags


def awaits_start(desk: Desk, speed: Speed, runs: Sequence[dg.DagsterRun]) -> bool:
    """Return whether a poll of the desk's quick or slow sources was requested and has
    not begun.
    """
    tags = poll_tags(desk.key, speed).items()
    waiting = (run for run in runs if run.status in _WAITING)
    return any(tags <= run.tags.items() for run in waiting)


def poll_config(desk: Desk, **config: object) -> dict[str, object]:
    """Return the run configuration of a poll of this desk, with these options of
    `feed_entries`.
    """
    return {"ops": {f"{desk.key}__feed_entries": {"config": config}}}


def _config_of(desk: Desk, run: dg.DagsterRun, asset: str) -> dict[str, Any]:
    """Return the run's configuration of one of the desk's assets."""
    ops: Any = run.run_config.get("ops", {})
    config: dict[str, Any] = ops.get(f"{desk.key}__{asset}", {}).get("config", {})
    return config


def _range_of(run: dg.DagsterRun) -> tuple[str, str]:
    """Return the first and the last partition of a run; empty texts if it has none."""
    first = run.tags.get(RANGE_START) or run.tags.get(_PARTITION, "")
    return first, run.tags.get(RANGE_END) or first


def _agencies_between(desk: Desk, first: str, last: str) -> list[str]:
    """Return the keys of the desk's agencies from the first to the last; none if it
    lacks one of the two.
    """
    keys = list(desk.agency_names)
    if first not in keys or last not in keys:
        return []
    return keys[keys.index(first) : keys.index(last) + 1]


def _polled_by(desk: Desk, run: dg.DagsterRun) -> list[str]:
    """Return the sources in the run's configuration, else all sources of its agencies,
    or of the desk if it has no range of agencies.
    """
    listed: list[str] = _config_of(desk, run, "feed_entries").get("sources", [])
    if listed:
        return listed
    agencies = _agencies_between(desk, *_range_of(run))
    found = []
    for source in desk.sources:
        if not agencies or source.agency in agencies:
            found.append(source.source_id)
    return found


def _active_run(desk: Desk, run: dg.DagsterRun) -> ActiveRun | None:
    """Return the stages, agencies and days of a run; None if it is on none of the desk's
    agency-days.
    """
    selected = {key.path[1] for key in _selected(desk, run)}
    names = selected.intersection(stages.stage_names(desk))
    if not names:
        return None
    first, last = _range_of(run)
    if "|" not in first:
        return None
    first_agency, first_day = first.split("|")
    last_agency, last_day = last.split("|")
    agencies = _agencies_between(desk, first_agency, last_agency)
    if not agencies:
        return None
    return ActiveRun(
        frozenset(names),
        frozenset(agencies),
        date.fromisoformat(first_day),
        date.fromisoformat(last_day),
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
