"""The assets over all desks that make the daily report, collect the batches of language
models that are over, group articles to stories, and publish the data set; with their
sensors.

The sensor of the batches requests a look at those that are not over yet, that of the
stories a run where articles have no story or an outdated one.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import Field

from news_assets.defs.active_runs import (
    RANGE_END,
    RANGE_START,
    does_more_than_models,
    instance_of,
    is_running,
    runs_before,
    unfinished_runs,
)
from news_assets.defs.asset_metadata import OWNERS, link, markdown_table, tables_of
from news_assets.defs.backlog_sensors import WINDOW
from news_assets.defs.jobs import BATCHES, DATASET, STORIES, Jobs, job_named
from news_assets.defs.partitions import (
    last_day,
    newest_begun_day,
    newsroom_days,
    utc_now,
)
from news_assets.defs.resources import kept_stories
from news_assets.defs.sensor_cursor import (
    TICK_S,
    Cursor,
    Evaluation,
    OpenLake,
    watch,
)
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.stage_declaration import Findings
from news_assets.ports.search_index import SearchIndex
from news_assets.ports.services import Lazy, Sandbox
from news_assets.records.derived import DatasetOptions
from news_assets.records.desks import Desk
from news_assets.records.model_calls import OPEN, EnrichmentBatch
from news_assets.store.lake import Lake
from news_assets.store.queries.freshness import desk_gaps
from news_assets.store.queries.story_lists import days_without_stories

if TYPE_CHECKING:
    from news_assets.pipeline.report_contents import Report


REPORT_KEY = dg.AssetKey(["newsroom", "daily_report"])


_EVERY_DAY = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=36))


def build_daily_report(
    desks: Sequence[Desk], pages_url: str = ""
) -> dg.AssetsDefinition:
    """Return the asset over all these desks; `pages_url` is where pages are served, for
    links.
    """
    first_day = min(desk.first_day for desk in desks)

    @dg.asset(
        key=REPORT_KEY,
        group_name="newsroom",
        owners=OWNERS,
        kinds={"html"},
        deps=tables_of(desks),
        freshness_policy=_EVERY_DAY,
        partitions_def=dg.DailyPartitionsDefinition(
            first_day.isoformat(), timezone="UTC", end_offset=1
        ),
        backfill_policy=dg.BackfillPolicy.single_run(),
        code_version="1",
    )
    def daily_report(
        context: dg.AssetExecutionContext,
        lake: dg.ResourceParam[Lake],
        search: dg.ResourceParam[SearchIndex],
        reports: dg.ResourceParam[Path],
    ) -> dg.MaterializeResult[None]:
        """One HTML page for each UTC day, over all desks:
        `NEWS_HOME/reports/<day>.html`.

        Counts entries and articles by the day on which they were first seen, in their
        present state: by desk, stage, outcome, theme and hour, with the polls of the
        day. Missing, stale, silent and failing rows are as of now. Today's page covers
        the day so far; a page that is made again is replaced.
        """
        from news_assets.web.day_report import write_report

        for report in _reports(context.partition_keys, lake, search, desks):
            key = report.day.isoformat()
            path = write_report(reports, report)
            page = link("page", f"{pages_url}/days/{key}" if pages_url else "")
            shown = {**_metadata(report, path), **page}
            context.add_asset_metadata(shown, partition_key=key)
            context.log.info(f"{key}: {path}")
        return dg.MaterializeResult(metadata={"run/pages": len(context.partition_keys)})

    return daily_report


def _reports(
    days: Sequence[str], lake: Lake, search: SearchIndex, desks: Sequence[Desk]
) -> "Iterator[Report]":
    """Yield the report of each day, with the findings of now."""
    from news_assets.pipeline.report_contents import build_report
    from news_assets.store.queries.report import count_day

    now = utc_now()
    found: dict[str, dict[str, Findings]] = {}
    for desk in desks:
        gaps = desk_gaps(lake, search, desk, now)
        found[desk.key] = {name.replace("_", " "): gaps[name] for name in gaps}
    for day in days:
        counts = count_day(lake, date.fromisoformat(day), list(found))
        yield build_report(counts, desks, found, now)


def _metadata(report: "Report", path: Path) -> "dict[str, dg.RawMetadataValue]":
    from news_assets.web.day_report import history_image

    gaps = [(gap.title, gap.note) for gap in report.gaps]
    findings = "nothing"
    if gaps:
        findings = markdown_table(("what", "how many"), gaps)
    found: dict[str, dg.RawMetadataValue] = {"file": dg.MetadataValue.path(path)}
    found |= {name: value for name, value, _ in report.figures}
    plot = f"![articles by outcome]({history_image(report)})"
    found["plot"] = dg.MetadataValue.md(plot)
    found["findings"] = dg.MetadataValue.md(findings)
    for table in report.tables:
        text = markdown_table(table.header, table.rows)
        found[table.title.lower()] = dg.MetadataValue.md(text)
    return found


_BATCHES_KEY = dg.AssetKey(["newsroom", "enrichment_batches"])


def build_enrichment_batches(desks: Sequence[Desk]) -> dg.AssetsDefinition:
    """Return the asset over these desks."""

    @dg.asset(
        key=_BATCHES_KEY,
        group_name="newsroom",
        owners=OWNERS,
        kinds={"python"},
        deps=tables_of(desks),
        code_version="1",
    )
    def enrichment_batches(
        context: dg.AssetExecutionContext,
        lake: dg.ResourceParam[Lake],
        enricher: dg.ResourceParam[Lazy[Any]],  # Enrichers
    ) -> dg.MaterializeResult[None]:
        """Batches that were sent to language models by the desks with `enrich: {via:
        batch}`.

        Batches that are over are collected: answers and ledger rows are stored as they
        are read, and the articles are enriched with them by the next run of
        `enriched_articles`, which also sends what is missing again. Batches of which it
        is not known whether they were made are looked for. Can be repeated at any time.
        """
        from news_assets.pipeline.enrich.model.model_batches import settle_batches

        try:
            found = settle_batches(lake, enricher.open(), desks, utc_now)
        except NewsAssetsError as error:
            raise dg.Failure(str(error)) from error
        table = markdown_table(("batch", "progress"), sorted(found.items()))
        return dg.MaterializeResult(
            metadata={"batches": len(found), "progress": dg.MetadataValue.md(table)}
        )

    return enrichment_batches


_LOOK_EVERY_S = 600  # most batches end within the hour, all within a day


def build_open_batches(jobs: Jobs) -> dg.SensorDefinition:
    """Return the sensor; it requests a run while there are open batches and none is
    looking at them.
    """

    @dg.sensor(
        name="open_batches",
        job=job_named(jobs, BATCHES),
        minimum_interval_seconds=_LOOK_EVERY_S,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Requests a look at the batches of language models that are not over.",
    )
    def sensor(
        context: dg.SensorEvaluationContext, lake: dg.ResourceParam[Lake]
    ) -> dg.SensorResult:
        count = lake.frame(EnrichmentBatch, None, ("batch_key",), progress=OPEN).height
        if count == 0 or is_running(context.instance, BATCHES):
            return dg.SensorResult(skip_reason=f"open batches: {count}")
        return dg.SensorResult([dg.RunRequest()])

    return sensor


# Between two runs, in durations of the former one: together they take a fifth of a core.
# A process that runs for the first time loads all articles of the week.
_PAUSES, _LONGEST_PAUSE_S = 4, 30.0
# Articles are found first: beside a run of stories theirs takes a second more. So these
# wait for the end of the runs of articles, but not for longer than this.
_LONGEST_WAIT_S = 15.0
_STORIES_KEY = dg.AssetKey(["newsroom", "stories"])


class _StoriesConfig(dg.Config):
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
        config: _StoriesConfig,
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
                lake,
                days,
                utc_now,
                sandbox,
                rebuild=config.rebuild,
                kept=kept_stories(),
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
    desks: Sequence[Desk],
    jobs: Jobs,
    open_lake: OpenLake,
    tick_s: float = TICK_S,
    pauses: float = _PAUSES,
) -> dg.SensorDefinition:
    """Return the sensor, which evaluates a changed lake during `tick_s` while no run works
    on articles, and requests one run at a time, `pauses` durations of a run after it.
    """

    @dg.sensor(
        name="stories",
        job=job_named(jobs, STORIES),
        minimum_interval_seconds=1,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Requests the days of articles that have no story, or changed since.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        def evaluate(lake: Lake, cursor: Cursor, now: datetime) -> Evaluation:
            instance = instance_of(context)
            since_s = now.timestamp() - cursor.evaluated_at
            if since_s < _LONGEST_WAIT_S and _has_article_runs(instance, desks):
                return [], cursor, "articles come first"
            is_free = _may_begin(instance, now.timestamp(), pauses)
            return _evaluate_stories(lake, desks, cursor, now, is_free=is_free)

        return watch(context, evaluate, tick_s, open_lake)

    return sensor


def _evaluate_stories(
    lake: Lake, desks: Sequence[Desk], cursor: Cursor, now: datetime, *, is_free: bool
) -> Evaluation:
    """Return a run of the days that need one, if it may begin."""
    started = time.perf_counter()
    days = _days(lake, desks, now) if is_free else []
    cursor = replace(
        cursor,
        evaluated=cursor.snapshot,
        evaluated_at=now.timestamp(),
        has_backlog=bool(days) or not is_free,
        evaluation_s=time.perf_counter() - started,
    )
    if not is_free:
        return [], cursor, "the former run has not ended, or only just"
    if not days:
        return [], cursor, "every article has a story"
    return [_request(days, cursor.snapshot, now)], cursor, ""


def _has_article_runs(instance: dg.DagsterInstance, desks: Sequence[Desk]) -> bool:
    """Return whether a run of these desks' articles, requested by a sensor, is queued or
    in progress. One that only requests language models holds nothing up.
    """
    jobs = {f"{desk.key}_articles" for desk in desks}
    runs = unfinished_runs(instance)
    return any(run.job_name in jobs and does_more_than_models(run) for run in runs)


def _may_begin(instance: dg.DagsterInstance, now_s: float, pauses: float) -> bool:
    """Return whether the newest run has ended, and some time ago if it took long."""
    newest = instance.get_run_records(dg.RunsFilter(job_name=STORIES), limit=1)
    if not newest:
        return True
    (record,) = newest
    if not record.dagster_run.is_finished:
        return False
    if record.start_time is None or record.end_time is None:
        return True
    pause_s = pauses * (record.end_time - record.start_time)
    return now_s >= record.end_time + min(pause_s, _LONGEST_PAUSE_S)


def _days(lake: Lake, desks: Sequence[Desk], now: datetime) -> list[date]:
    """Return the days of these desks that need a run."""
    keys = [desk.key for desk in desks]
    first_day = min(desk.first_day for desk in desks)
    newest = max(newest_begun_day(desk, now) for desk in desks)
    last = max(last_day(desk, now) for desk in desks)
    days = days_without_stories(lake, keys, max(first_day, newest - WINDOW), now)
    return [day for day in days if first_day <= day <= last]


def _request(days: Sequence[date], snapshot: int, now: datetime) -> dg.RunRequest:
    """Return the request of a run over these days and those between them. One that
    failed is repeated after a minute.
    """
    return dg.RunRequest(
        run_key=f"stories {snapshot} {now:%H:%M}",
        tags={RANGE_START: days[0].isoformat(), RANGE_END: days[-1].isoformat()},
    )


# --- the published data set -----------------------------------------------------------


def build_dataset(desks: Sequence[Desk]) -> dg.AssetsDefinition:
    """Return the asset over these desks."""

    @dg.asset(
        key=dg.AssetKey(["newsroom", "dataset"]),
        group_name="newsroom",
        owners=OWNERS,
        kinds={"parquet"},
        deps=tables_of(desks),
        code_version="1",
    )
    def dataset(
        context: dg.AssetExecutionContext,
        lake: dg.ResourceParam[Lake],
        dataset_options: dg.ResourceParam[DatasetOptions],
    ) -> dg.MaterializeResult[None]:
        """Articles by day as Parquet files in the folder or bucket of `NEWS_DATASET`,
        with a data package that lists them and the changes since the last issue.

        Writes the days with changes again, and then replaces the data package in one
        step. Withdrawn articles are in no file of the next issue. Can be repeated at
        any time.
        """
        from news_assets.store.dataset import publish

        if not dataset_options.place:
            raise dg.Failure("NEWS_DATASET names no folder or bucket; set it")
        before = runs_before(context.instance, context.run.run_id)
        if any(run.job_name == DATASET for run in before):
            raise dg.Failure("another run publishes the data set; wait for its end")
        try:
            issue = publish(lake, dataset_options, utc_now())
        except NewsAssetsError as error:
            raise dg.Failure(str(error)) from error
        return dg.MaterializeResult(metadata=asdict(issue))

    return dataset
