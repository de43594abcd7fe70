"""Sensors that request the runs of a desk's work.

`store/queries/backlog.py` finds the work by comparing rows;
`pipeline/run_planner.py` plans the runs.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from news_assets.defs.active_runs import (
    ATTEMPT_TAG,
    BACKLOG_TAG,
    MODEL_TAGS,
    RANGE_END,
    RANGE_START,
    active_runs,
    awaits_start,
    instance_of,
    local_only_config,
    poll_config,
    poll_tags,
    polled_sources,
    unfinished_runs,
)
from news_assets.defs.jobs import Jobs
from news_assets.defs.partitions import last_day, newest_begun_day, utc_now
from news_assets.defs.sensor_cursor import Cursor, Evaluation, OpenLake, watch
from news_assets.errors import IndexingError
from news_assets.folders import mark_look
from news_assets.pipeline import stages
from news_assets.pipeline.run_planner import (
    AgencyDay,
    LastRun,
    Plan,
    PlannedRun,
    backlog_days,
    given_up_failures,
    plan_runs,
    retries_of,
)
from news_assets.pipeline.schedule import (
    DUE_EVERY_S,
    Speed,
    due_sources,
    sources_of_runs,
)
from news_assets.ports.search_index import SearchIndex
from news_assets.records.articles import SourceState
from news_assets.records.desks import Desk, Source
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import PROVISIONAL, pending_entries, stale_rows
from news_assets.store.queries.freshness import lost_documents

if TYPE_CHECKING:
    import polars as pl


_logger = logging.getLogger(__name__)

# the stages of a desk that runs are requested for
_NamesOf = Callable[[Desk], Sequence[str]]
# the backlog of a desk, now, from a day on
_Query = Callable[[Lake, Desk, datetime, date], "pl.DataFrame"]

_COMPARE_EVERY_S = 60
_FORMER_MODELS_EVERY_S = 300
# of an evaluation; 0.6 s among 500,000 articles, the whole grid 4 s
WINDOW = timedelta(days=35)
_MODEL_STAGE = "enriched_articles"
# above every agency-day: a poll is short, and all work starts with it
_POLL_PRIORITY = "5"


def build_due_sources(
    desks: Sequence[Desk], jobs: Jobs, open_lake: OpenLake
) -> dg.SensorDefinition:
    """Return the sensor that requests polls of sources that are due."""

    @dg.sensor(
        name="due_sources",
        jobs=jobs,
        minimum_interval_seconds=DUE_EVERY_S,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=(
            "Requests a poll of the due sources of each desk that no unfinished run polls, slow"
            " ones apart."
        ),
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        # Runs are read first: the states that a run stores before it ends are then
        # known.
        runs = unfinished_runs(instance_of(context))
        requests: list[dg.RunRequest] = []
        counts: list[str] = []
        states_of = _states_by_desk(open_lake(), desks)
        for desk in desks:
            states = states_of[desk.key]
            due = due_sources(desk.sources, states, utc_now())
            if due:
                counts.append(f"{len(due)} of {desk.key}")
                requests += _polls(desk, due, states, runs)
        if requests:
            return dg.SensorResult(requests)
        named = ", ".join(counts) or "none"
        return dg.SensorResult(skip_reason=f"sources due: {named}")

    return sensor


def _states_by_desk(
    lake: Lake, desks: Sequence[Desk]
) -> Mapping[str, Sequence[SourceState]]:
    """Return the states of these desks' sources, read by one query."""
    found: dict[str, list[SourceState]] = {desk.key: [] for desk in desks}
    for state in lake.read(SourceState, desk=found):
        found[state.desk].append(state)
    return found


def _polls(
    desk: Desk,
    due: Sequence[Source],
    states: Sequence[SourceState],
    runs: Sequence[dg.DagsterRun],
) -> Iterator[dg.RunRequest]:
    """Yield the polls of the due sources that no run polls, quick and slow ones apart."""
    of_runs = sources_of_runs(due, states, polled_sources(desk, runs))
    for speed, sources in of_runs.items():
        if not sources:
            continue
        if awaits_start(desk, speed, runs):
            _logger.debug("%s: a %s poll waits already", desk.key, speed)
            continue
        yield _poll(desk, speed, sources)


def _poll(desk: Desk, speed: Speed, sources: Sequence[Source]) -> dg.RunRequest:
    """Return a run over the agencies from the first to the last of these sources, which
    polls only these sources.
    """
    polled = {source.agency for source in sources}
    agencies = [key for key in desk.agency_names if key in polled]
    ids: list[str] = []
    vendors: dict[str, str] = {}
    for source in sources:
        ids.append(source.source_id)
        vendors[f"vendor/{source.kind}"] = "poll"
    return dg.RunRequest(
        job_name=f"{desk.key}_poll",
        run_config=poll_config(desk, only_due=True, sources=ids),
        tags={
            RANGE_START: agencies[0],
            RANGE_END: agencies[-1],
            "dagster/priority": _POLL_PRIORITY,
            **poll_tags(desk.key, speed),
            **vendors,
        },
    )


def build_pending_entries(
    desks: Sequence[Desk],
    jobs: Jobs,
    tick_s: float,
    open_lake: OpenLake,
    names_of: _NamesOf = stages.stage_names,
    home: Path | None = None,
) -> dg.SensorDefinition:
    """Return the sensor that requests the agency-days of entries without a current
    article, for these stages; in `home` it leaves the time of its looks.
    """

    @dg.sensor(
        name="pending_entries",
        jobs=jobs,
        minimum_interval_seconds=1,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=(
            "Requests the agency-days of entries without an article, changed entries, and due"
            " attempts."
        ),
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        if home is not None:
            mark_look(home)
        backlog = _Backlog(desks, pending_entries, names_of)
        return _watch(context, backlog, tick_s, open_lake)

    return sensor


def build_stale_stages(
    desks: Sequence[Desk],
    jobs: Jobs,
    tick_s: float,
    open_lake: OpenLake,
    names_of: _NamesOf = stages.stage_names,
) -> dg.SensorDefinition:
    """Return the sensor that requests the agency-days of rows of these stages that are
    missing or outdated.
    """

    @dg.sensor(
        name="stale_stages",
        jobs=jobs,
        minimum_interval_seconds=1,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=(
            "Requests the agency-days in which a stage's rows are missing or outdated, from that"
            " stage on."
        ),
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        backlog = _Backlog(desks, _stale_but_not_pending, names_of)
        return _watch(context, backlog, tick_s, open_lake)

    return sensor


def build_due_model_calls(
    desks: Sequence[Desk],
    jobs: Jobs,
    tick_s: float,
    open_lake: OpenLake,
    *,
    has_models: bool,
) -> dg.SensorDefinition:
    """Return the sensor that requests the agency-days of rows that a language model is
    to replace.

    Where the settings name no model (`has_models`), it only looks now and then for rows
    of former settings.
    """

    @dg.sensor(
        name="due_model_calls",
        jobs=jobs,
        minimum_interval_seconds=1 if has_models else _FORMER_MODELS_EVERY_S,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=(
            "Requests `enriched_articles` of the agency-days in which language models are to"
            " replace rows."
        ),
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        backlog = _Backlog(desks, _left_to_models, with_models=True)
        return _watch(context, backlog, tick_s if has_models else 0, open_lake)

    return sensor


def _stale_but_not_pending(
    lake: Lake, desk: Desk, now: datetime, first_day: date
) -> "pl.DataFrame":
    stale = _of_models(stale_rows(lake, desk, now, first_day), is_of_models=False)
    return _without_pending(stale, lake, desk, now, first_day)


def _left_to_models(
    lake: Lake, desk: Desk, now: datetime, first_day: date
) -> "pl.DataFrame":
    return _of_models(stale_rows(lake, desk, now, first_day), is_of_models=True)


def _of_models(backlog: "pl.DataFrame", *, is_of_models: bool) -> "pl.DataFrame":
    """Return the work that is left to language models, or the other."""
    import polars as pl

    return backlog.filter((pl.col("why") == PROVISIONAL) == is_of_models)


def build_lost_documents(desks: Sequence[Desk], jobs: Jobs) -> dg.SensorDefinition:
    """Return the sensor that requests the agency-days of documents that index and lake
    do not share.
    """

    @dg.sensor(
        name="lost_documents",
        jobs=jobs,
        minimum_interval_seconds=_COMPARE_EVERY_S,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=(
            "Compares index and lake, and requests the agency-days of documents that only one of"
            " them has."
        ),
    )
    def sensor(
        context: dg.SensorEvaluationContext,
        lake: dg.ResourceParam[Lake],
        search: dg.ResourceParam[SearchIndex],
    ) -> dg.SensorResult:
        def query(
            lake: Lake, desk: Desk, now: datetime, first_day: date
        ) -> "pl.DataFrame":
            lost = lost_documents(lake, search, desk, now, first_day)
            return _without_pending(lost, lake, desk, now, first_day)

        cursor = replace(Cursor.from_json(context.cursor), snapshot=lake.snapshot())
        try:
            requests, cursor, reason = _evaluate(
                instance_of(context), lake, _Backlog(desks, query), cursor, utc_now()
            )
        except IndexingError as error:  # no document is known to be lost
            return dg.SensorResult(skip_reason=str(error), cursor=context.cursor)
        return dg.SensorResult(
            requests, skip_reason=None if requests else reason, cursor=cursor.to_json()
        )

    return sensor


def _without_pending(
    backlog: "pl.DataFrame", lake: Lake, desk: Desk, now: datetime, first_day: date
) -> "pl.DataFrame":
    """Return the backlog without the agency-days that `pending_entries` requests: its
    runs take all stages.
    """
    if backlog.is_empty():
        return backlog
    pending = pending_entries(lake, desk, now, max(first_day, min(backlog["day"])))
    return backlog.join(pending, on=("agency", "day"), how="anti")


@dataclass(frozen=True, slots=True)
class _Backlog:
    """What a sensor requests runs for: the rows of each desk that `query` returns, of
    the stages `names_of` the desk, or with models only of that which requests them.
    """

    desks: Sequence[Desk]
    query: _Query
    names_of: _NamesOf = stages.stage_names
    with_models: bool = False

    def rows(
        self, lake: Lake, desk: Desk, now: datetime, first_day: date
    ) -> "pl.DataFrame":
        """Return the rows of a desk from a day on, up to the last of its grid."""
        import polars as pl

        found = up_to(self.query(lake, desk, now, first_day), last_day(desk, now))
        return found.filter(pl.col("stage").is_in(self.stages(desk)))

    def stages(self, desk: Desk) -> Sequence[str]:
        """Return the stages that runs are requested for."""
        if self.with_models:
            return (_MODEL_STAGE,)
        return self.names_of(desk)


def _watch(
    context: dg.SensorEvaluationContext,
    backlog: _Backlog,
    tick_s: float,
    open_lake: OpenLake,
) -> dg.SensorResult:
    def evaluate(lake: Lake, cursor: Cursor, now: datetime) -> Evaluation:
        return _evaluate(instance_of(context), lake, backlog, cursor, now)

    return watch(context, evaluate, tick_s, open_lake)


def _evaluate(
    instance: dg.DagsterInstance,
    lake: Lake,
    backlog: _Backlog,
    cursor: Cursor,
    now: datetime,
) -> Evaluation:
    runs = unfinished_runs(instance)
    requests: list[dg.RunRequest] = []
    last_runs: dict[str, Mapping[AgencyDay, LastRun]] = {}
    waiting = 0
    started = time.perf_counter()
    is_sweep = cursor.is_sweep_due(now.timestamp())
    for desk in backlog.desks:
        first_day = desk.first_day
        if not is_sweep:
            first_day = max(first_day, newest_begun_day(desk, now) - WINDOW)
        plan, count = _plan_desk(lake, desk, backlog, runs, cursor, now, first_day)
        for run in plan.runs:
            requests.append(
                _run(desk, run, now, cursor.snapshot, with_models=backlog.with_models)
            )
        last_runs[desk.key] = plan.last_runs
        waiting += count
    took_s = time.perf_counter() - started
    cursor = replace(
        cursor,
        evaluated=cursor.snapshot,
        evaluated_at=now.timestamp(),
        has_backlog=waiting > 0,
        last_runs=last_runs,
    )
    if is_sweep:
        cursor = replace(cursor, swept_at=now.timestamp(), sweep_s=took_s)
    else:
        cursor = replace(cursor, evaluation_s=took_s)
    reason = "everything is current"
    if waiting:
        reason = f"{waiting} agency-days wait for a run or for their next attempt"
    _logger.debug("%d runs requested: %s", len(requests), reason)
    return requests, cursor, reason


def _plan_desk(
    lake: Lake,
    desk: Desk,
    backlog: _Backlog,
    runs: Sequence[dg.DagsterRun],
    cursor: Cursor,
    now: datetime,
    first_day: date,
) -> tuple[Plan, int]:
    """Return the runs to request for a desk, and how many agency-days wait; store the
    failures of those that are given up.
    """
    rows = backlog.rows(lake, desk, now, first_day)
    names = backlog.stages(desk)
    days = backlog_days(rows, names)
    retries = retries_of(desk)
    plan = plan_runs(
        days,
        active_runs(desk, runs, with_models=backlog.with_models),
        cursor.last_runs.get(desk.key, {}),
        list(desk.agency_names),
        names,
        newest_begun_day(desk, now),
        now.timestamp(),
        first_day,
        retries,
    )
    if plan.given_up:
        failures = given_up_failures(desk.key, plan.given_up, rows, now, retries)
        lake.transact(lambda work: work.upsert(failures))
    return plan, len(days)


def up_to(backlog: "pl.DataFrame", last: date) -> "pl.DataFrame":
    """Return the rows of a backlog up to a day, that day included."""
    import polars as pl

    return backlog.filter(pl.col("day") <= last)


def _run(
    desk: Desk, run: PlannedRun, now: datetime, snapshot: int, *, with_models: bool
) -> dg.RunRequest:
    """Return the request of a run; two ticks at the same commit request it once.

    A run that does not request language models for itself leaves them to
    `due_model_calls`.
    """
    config = None
    models: Mapping[str, str] = {}
    if with_models:
        models = MODEL_TAGS
    elif _MODEL_STAGE in run.stages:
        config = local_only_config(desk)
    return dg.RunRequest(
        run_key=f"{desk.key} {snapshot} {run.key}",
        job_name=f"{desk.key}_articles",
        asset_selection=[dg.AssetKey([desk.key, name]) for name in run.stages],
        asset_check_keys=[],  # checks read all rows of the desk
        run_config=config,
        tags={
            RANGE_START: f"{run.first.agency}|{run.first.day}",
            RANGE_END: f"{run.last.agency}|{run.last.day}",
            "dagster/priority": str(run.priority(newest_begun_day(desk, now))),
            "news/desk": desk.key,
            ATTEMPT_TAG: str(run.attempt),
            BACKLOG_TAG: str(len(run.work)),
            **models,
        },
    )
