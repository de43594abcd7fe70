"""Jobs: the stages that run together over one grid. What they run over is the caller's choice of partitions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg

from news_assets.pipeline.freshness.run_planner import STAGES
from news_assets.records import Desk
from news_assets.store.queries.freshness import SENTENCES

if TYPE_CHECKING:
    from news_assets.defs.instance.job_type import UnresolvedAssetJobDefinition

FRESHNESS, REPORT, MAINTENANCE = "freshness", "daily_report", "lake_maintenance"
DAILY_JOBS = (REPORT, MAINTENANCE)


def build_desk_jobs(desk: Desk) -> "list[UnresolvedAssetJobDefinition]":
    """Return the desk's jobs: `_poll` by agency, `_articles` by agency and day, and `_checks` over all its rows.

    Checks look at all rows of a desk, so the first two, which run all day, leave them to the third.
    """
    return [
        dg.define_asset_job(
            f"{desk.key}_poll",
            dg.AssetSelection.assets([desk.key, "feed_entries"]).without_checks(),
            description=f"Ask the sources of desk {desk.key} what is new.",
            tags={"news/desk": desk.key},
        ),
        dg.define_asset_job(
            f"{desk.key}_articles",
            dg.AssetSelection.assets(*([desk.key, stage] for stage in STAGES)).without_checks(),
            description=f"Fetch, extract, enrich, embed and index the articles of desk {desk.key}.",
            tags={"news/desk": desk.key},
        ),
        dg.define_asset_job(
            f"{desk.key}_checks",
            dg.AssetSelection.checks_for_assets(*([desk.key, stage] for stage in ("feed_entries", *STAGES))),
            description=f"Look at all rows of desk {desk.key}: unique ids, texts, vectors, index against lake.",
            tags={"news/desk": desk.key},
        ),
    ]


def build_shared_jobs(desks: Sequence[Desk]) -> "list[UnresolvedAssetJobDefinition]":
    """Return the jobs over all desks: their freshness, the report of a day, and the lake's upkeep."""
    sentences = [
        dg.AssetCheckKey(dg.AssetKey([desk.key, asset]), name)
        for desk in desks
        for name, (asset, _) in SENTENCES.items()
    ]
    return [
        dg.define_asset_job(
            FRESHNESS,
            dg.AssetSelection.checks(*sentences),
            description="What is missing, lost, silent or failing: every desk's freshness, by row.",
        ),
        dg.define_asset_job(
            REPORT, dg.AssetSelection.assets(["newsroom", "daily_report"]), description="The page of a day, all desks."
        ),
        dg.define_asset_job(
            MAINTENANCE,
            dg.AssetSelection.assets(["lake", "maintenance"]),
            description="Upkeep of the lake and of Dagster's history.",
        ),
    ]
