"""Sensors: they read the lake and ask for runs; the runs do the work. No sensor asks the network.

    due_sources      sources that are due               -> one poll of a desk
    pending_entries  entries that are no articles yet   -> their agency-days, all stages in one run
    stages_behind    articles ahead of a later stage    -> their agency-days, from that stage on
    lost_documents   index and lake disagree            -> their agency-days, `search_index` alone

What is behind is found by comparing rows (`store/queries/backlog.py`): who changed what, and how long ago, makes no
difference.
When it is asked for, in which ranges, how often, and when it is given up, is decided in
`pipeline/freshness/run_planner.py`.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

import dagster as dg

from news_assets.defs.active_runs import RANGE_END, RANGE_START, going_over, is_polling, unfinished_runs
from news_assets.defs.clock import utc_now
from news_assets.defs.partitions import last_day
from news_assets.defs.sensor_cursor import TICK_S, Cursor, moments
from news_assets.errors import IndexingError
from news_assets.pipeline.freshness.run_planner import Decision, Request, decide, given_up_rows, wanted_cells
from news_assets.pipeline.schedule import due_sources
from news_assets.ports import SearchIndex
from news_assets.records import Desk, Source, SourceState
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import articles_behind, documents_lost, entries_pending

if TYPE_CHECKING:
    import polars as pl

    from news_assets.defs.instance.job_type import UnresolvedAssetJobDefinition

    Jobs = Sequence[UnresolvedAssetJobDefinition]

Find = Callable[[Desk, datetime, date], "pl.DataFrame"]  # what is behind at a desk, now, from a day on

POLL_EVERY_S = 60  # what became due meanwhile is one run; no source is asked more often than every five minutes
COMPARE_EVERY_S = 60
WINDOW = timedelta(days=35)  # what a look goes back; 0.6 s among 500,000 articles, the whole grid 4 s
_POLL_PRIORITY = "5"  # before every agency-day: it is short, and everything begins with it


def build_sensors(desks: Sequence[Desk], jobs: "Jobs", tick_s: float = TICK_S) -> list[dg.SensorDefinition]:
    """Return the sensors over these desks; `jobs` are all that they may ask for, `tick_s` how long a tick may wait."""
    return [
        _due_sources(desks, jobs),
        _pending_entries(desks, jobs, tick_s),
        _stages_behind(desks, jobs, tick_s),
        _lost_documents(desks, jobs),
    ]


def _due_sources(desks: Sequence[Desk], jobs: "Jobs") -> dg.SensorDefinition:
    @dg.sensor(
        name="due_sources",
        jobs=jobs,
        minimum_interval_seconds=POLL_EVERY_S,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Asks for a poll of each desk that has sources which are due, unless one is queued or going.",
    )
    def sensor(context: dg.SensorEvaluationContext, lake: dg.ResourceParam[Lake]) -> dg.SensorResult:
        due = {desk.key: _due(lake, desk) for desk in desks}
        runs = unfinished_runs(context.instance)
        requests = [_poll(desk, due[desk.key]) for desk in desks if due[desk.key] and not is_polling(desk, runs)]
        counts = ", ".join(f"{len(sources)} of {desk}" for desk, sources in due.items() if sources)
        return dg.SensorResult(requests, skip_reason=None if requests else f"sources due: {counts or 'none'}")

    return sensor


def _due(lake: Lake, desk: Desk) -> list[Source]:
    return due_sources(desk.sources, lake.read(SourceState, desk=[desk.key]), utc_now())


def _poll(desk: Desk, due: Sequence[Source]) -> dg.RunRequest:
    """Return a run over the whole desk, which asks those of its sources that are due."""
    return dg.RunRequest(
        job_name=f"{desk.key}_poll",
        run_config={"ops": {f"{desk.key}__feed_entries": {"config": {"only_due": True}}}},
        tags={
            RANGE_START: desk.agencies[0].key,
            RANGE_END: desk.agencies[-1].key,
            "dagster/priority": _POLL_PRIORITY,
            "news/desk": desk.key,
            **{f"vendor/{kind}": "poll" for kind in sorted({source.kind for source in due})},
        },
    )


def _pending_entries(desks: Sequence[Desk], jobs: "Jobs", tick_s: float) -> dg.SensorDefinition:
    @dg.sensor(
        name="pending_entries",
        jobs=jobs,
        minimum_interval_seconds=1,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Asks for the agency-days of entries that are no articles yet, or changed, or are due again.",
    )
    def sensor(context: dg.SensorEvaluationContext, lake: dg.ResourceParam[Lake]) -> dg.SensorResult:
        return _watch(context, lake, desks, lambda *look: entries_pending(lake, *look), tick_s)

    return sensor


def _stages_behind(desks: Sequence[Desk], jobs: "Jobs", tick_s: float) -> dg.SensorDefinition:
    @dg.sensor(
        name="stages_behind",
        jobs=jobs,
        minimum_interval_seconds=1,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Asks for the agency-days whose articles are ahead of a later stage, from that stage on.",
    )
    def sensor(context: dg.SensorEvaluationContext, lake: dg.ResourceParam[Lake]) -> dg.SensorResult:
        def find(desk: Desk, now: datetime, first_day: date) -> "pl.DataFrame":
            return _not_pending(articles_behind(lake, desk, now, first_day), lake, desk, now, first_day)

        return _watch(context, lake, desks, find, tick_s)

    return sensor


def _lost_documents(desks: Sequence[Desk], jobs: "Jobs") -> dg.SensorDefinition:
    @dg.sensor(
        name="lost_documents",
        jobs=jobs,
        minimum_interval_seconds=COMPARE_EVERY_S,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Compares index and lake, and asks for the agency-days of documents that only one of them has.",
    )
    def sensor(
        context: dg.SensorEvaluationContext, lake: dg.ResourceParam[Lake], search: dg.ResourceParam[SearchIndex]
    ) -> dg.SensorResult:
        def find(desk: Desk, now: datetime, first_day: date) -> "pl.DataFrame":
            return _not_pending(documents_lost(lake, search, desk, now, first_day), lake, desk, now, first_day)

        cursor = replace(Cursor.read(context.cursor), snapshot=lake.snapshot())
        try:
            requests, cursor, reason = _look(context.instance, lake, desks, find, cursor, utc_now())
        except IndexingError as error:  # what it does not show is not lost: nothing is asked for until it answers
            return dg.SensorResult(skip_reason=str(error), cursor=context.cursor)
        return dg.SensorResult(requests, skip_reason=None if requests else reason, cursor=cursor.written())

    return sensor


def _not_pending(work: "pl.DataFrame", lake: Lake, desk: Desk, now: datetime, first_day: date) -> "pl.DataFrame":
    """Return the work in agency-days that `pending_entries` does not ask for: its runs take all stages."""
    if work.is_empty():
        return work
    pending = entries_pending(lake, desk, now, max(first_day, min(work["day"])))
    return work.join(pending, on=("agency", "day"), how="anti")


# --- one tick --------------------------------------------------------------------------------------------------------


def _watch(
    context: dg.SensorEvaluationContext, lake: Lake, desks: Sequence[Desk], find: Find, tick_s: float
) -> dg.SensorResult:
    """Look whenever the lake has moved, until there is something to ask for or the tick's time is over."""
    cursor, reason = Cursor.read(context.cursor), "nothing has changed"
    for now in moments(tick_s):
        snapshot = lake.snapshot()
        if cursor.has_to_look(snapshot, now.timestamp()):
            cursor = replace(cursor, snapshot=snapshot)
            requests, cursor, reason = _look(context.instance, lake, desks, find, cursor, now)
            if requests:
                return dg.SensorResult(requests, cursor=cursor.written())
    return dg.SensorResult(skip_reason=reason, cursor=cursor.written())


def _look(
    instance: dg.DagsterInstance,
    lake: Lake,
    desks: Sequence[Desk],
    find: Find,
    cursor: Cursor,
    now: datetime,
) -> tuple[list[dg.RunRequest], Cursor, str]:
    """Return the runs to ask for, what to remember, and why there are none."""
    runs = unfinished_runs(instance)
    requests: list[dg.RunRequest] = []
    memory, waiting = {}, 0
    started, is_sweep = time.perf_counter(), cursor.has_to_sweep(now.timestamp())
    for desk in desks:
        today = last_day(desk, now)
        first_day = desk.first_day if is_sweep else max(desk.first_day, today - WINDOW)
        work = _until(find(desk, now, first_day), today)
        wanted, going = wanted_cells(work), going_over(desk, runs)
        agencies = [agency.key for agency in desk.agencies]
        asked = cursor.memory.get(desk.key, {})
        decision = decide(wanted, going, asked, agencies, today, now.timestamp(), first_day)
        _give_up(lake, desk, decision, work, now)
        requests += [_run(desk, request, today, cursor.snapshot) for request in decision.requests]
        memory[desk.key] = decision.memory
        waiting += len(wanted)
    reason = f"{waiting} agency-days wait for a run or for their next attempt" if waiting else "everything is current"
    took_s = time.perf_counter() - started
    cursor = replace(cursor, looked_at=now.timestamp(), is_waiting=waiting > 0, memory=memory)
    if is_sweep:
        return requests, replace(cursor, swept_at=now.timestamp(), sweep_s=took_s), reason
    return requests, replace(cursor, look_s=took_s), reason


def _until(work: "pl.DataFrame", last: date) -> "pl.DataFrame":
    import polars as pl

    return work.filter(pl.col("day") <= last)


def _give_up(lake: Lake, desk: Desk, decision: Decision, work: "pl.DataFrame", now: datetime) -> None:
    """Write down what no run could mend; `news-assets failures retry` takes it up again."""
    if decision.given_up:
        failures = given_up_rows(desk.key, decision.given_up, work, now)
        lake.transact(lambda rows: rows.upsert(failures))


def _run(desk: Desk, request: Request, today: date, snapshot: int) -> dg.RunRequest:
    """Return the run; two ticks that saw the same commit ask for it once, the same state later is another run."""
    return dg.RunRequest(
        run_key=f"{desk.key} {snapshot} {request.key}",
        job_name=f"{desk.key}_articles",
        asset_selection=[dg.AssetKey([desk.key, stage]) for stage in request.stages],
        asset_check_keys=[],  # they look at all rows of the desk, which is not a matter of every run
        tags={
            RANGE_START: f"{request.first.agency}|{request.first.day}",
            RANGE_END: f"{request.last.agency}|{request.last.day}",
            "dagster/priority": str(request.priority(today)),
            "news/desk": desk.key,
            "news/attempt": str(request.attempt),
            "news/behind": str(len(request.wanted)),
        },
    )
