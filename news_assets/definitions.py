"""The composition root: the assets, checks, jobs, sensors and schedules of the desks in
the settings.
"""

import functools
import warnings
from itertools import chain

import dagster as dg

from news_assets.defs.asset_checks import (
    build_desk_checks,
    build_failure_checks,
    build_freshness_checks,
)
from news_assets.defs.asset_metadata import build_outside_specs
from news_assets.defs.desk_sensors import build_desk_sensors
from news_assets.defs.feed_entries import build_meeting_specs
from news_assets.defs.jobs import (
    Jobs,
    build_desk_jobs,
    build_schedules,
    build_shared_jobs,
)
from news_assets.defs.lake_maintenance import build_lake_maintenance
from news_assets.defs.newsroom_alerts import build_alerts, build_alerts_sensor
from news_assets.defs.newsroom_assets import (
    build_daily_report,
    build_dataset,
    build_enrichment_batches,
    build_open_batches,
    build_stories,
    build_stories_sensor,
)
from news_assets.defs.resources import build_resources, opener_of
from news_assets.defs.sensor_cursor import OpenLake
from news_assets.defs.stage_assets import build_desk_assets, code_versions
from news_assets.desks.desk_files import load_desks, with_neighbours
from news_assets.records.desks import Desk
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS


def build_definitions(
    settings: Settings,
    desks: tuple[Desk, ...] | None = None,
    resources: dict[str, object] | None = None,
) -> dg.Definitions:
    """Return the definitions of these settings; `desks` and `resources` override those
    of the settings.
    """
    if desks is None:
        desks = load_desks(settings.desks, ALL_KINDS, settings.caps)
    else:
        desks = with_neighbours(desks)
    with warnings.catch_warnings():
        # range backfills, and the mapping of agency-days to agencies
        warnings.simplefilter("ignore", dg.BetaWarning)
        versions = code_versions(settings)
        pages_url = settings.pages_url.rstrip("/")
        assets = {
            desk.key: build_desk_assets(desk, versions, pages_url) for desk in desks
        }
        report = build_daily_report(desks, pages_url)
        stories = build_stories(desks)
    specs: list[dg.AssetSpec] = []
    for desk in desks:
        specs += [*build_outside_specs(desk), *build_meeting_specs(desk)]
    checks: list[dg.AssetChecksDefinition] = []
    for desk in desks:
        checks += build_desk_checks(desk, assets[desk.key])
        checks.append(build_freshness_checks(desk))
    newsroom = [
        report,
        build_enrichment_batches(desks),
        build_alerts(desks, checks),
        stories,
        build_dataset(desks),
    ]
    all_assets = [*chain.from_iterable(assets.values()), *newsroom]
    jobs = [job for desk in desks for job in build_desk_jobs(desk, settings.max_run_s)]
    shared_jobs = build_shared_jobs(desks, settings.max_run_s)
    all_resources = build_resources(settings) | (resources or {})
    open_lake = opener_of(all_resources["lake"])
    has_queries = settings.queries is not None or settings.takes_subscriptions
    of_desks = build_desk_sensors(
        desks,
        jobs,
        open_lake,
        fetch_only=settings.work == "fetch",
        has_models=settings.has_models,
        home=settings.home,
    )
    maintenance = build_lake_maintenance(
        desks, all_assets, settings.backup_days, settings.keep_days
    )
    return dg.Definitions(
        assets=[*all_assets, *specs, maintenance],
        asset_checks=[*checks, *map(build_failure_checks, desks)],
        jobs=[*jobs, *shared_jobs],
        sensors=[
            *of_desks,
            build_open_batches(shared_jobs),
            build_alerts_sensor(shared_jobs, has_queries=has_queries),
            *_stories_sensor(settings, desks, shared_jobs, open_lake),
        ],
        schedules=build_schedules(
            [*jobs, *shared_jobs], has_dataset=bool(settings.dataset)
        ),
        resources=all_resources,
        executor=dg.in_process_executor,
    )


def _stories_sensor(
    settings: Settings, desks: tuple[Desk, ...], jobs: Jobs, open_lake: OpenLake
) -> list[dg.SensorDefinition]:
    """Return the sensor of stories; none where this machine only fetches."""
    if settings.work == "fetch":
        return []
    return [build_stories_sensor(desks, jobs, open_lake)]


@dg.definitions
@functools.cache  # Dagster's commands call it seven times
def defs() -> dg.Definitions:
    """Return the definitions of the environment's settings."""
    settings = Settings.read()
    settings.log_to_stderr()
    return build_definitions(settings)
