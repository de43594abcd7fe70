"""Jobs: assets and checks that run together. The caller chooses the partitions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg

from news_assets.pipeline import stages
from news_assets.records.desks import Desk
from news_assets.store.queries.freshness import freshness_checks

if TYPE_CHECKING:
    from news_assets.defs.instance.job_type import UnresolvedAssetJobDefinition

FRESHNESS, REPORT, MAINTENANCE, BATCHES = (
    "freshness",
    "daily_report",
    "lake_maintenance",
    "enrichment_batches",
)
ALERTS = "alerts"
_MAX_RUNTIME_TAG = "dagster/max_runtime"  # in seconds, of Dagster's run monitoring
DAILY_JOBS = (REPORT, MAINTENANCE)


def build_desk_jobs(
    desk: Desk, max_run_s: int = 0
) -> "list[UnresolvedAssetJobDefinition]":
    """Return the desk's jobs: `_poll` by agency, `_articles` by agency and day, and
    `_checks` over all its rows.

    Checks read all rows of a desk, so only the third has them: the first two run all
    day. Dagster ends a run after `max_run_s` seconds; 0 for no limit.
    """
    tags = {"news/desk": desk.key, **_time_limit(max_run_s)}
    return [
        dg.define_asset_job(
            f"{desk.key}_poll",
            dg.AssetSelection.assets([desk.key, "feed_entries"]).without_checks(),
            description=f"Poll the sources of desk {desk.key}.",
            tags=tags,
        ),
        dg.define_asset_job(
            f"{desk.key}_articles",
            dg.AssetSelection.assets(
                *([desk.key, name] for name in stages.stage_names(desk))
            ).without_checks(),
            description=f"Fetch, extract, enrich, embed and index the articles of desk {desk.key}.",
            tags=tags,
        ),
        dg.define_asset_job(
            f"{desk.key}_checks",
            dg.AssetSelection.checks_for_assets(
                *(
                    [desk.key, name]
                    for name in ("feed_entries", *stages.stage_names(desk))
                )
            ),
            description=(
                f"Check all rows of desk {desk.key}: unique ids, texts, vectors, index against"
                " lake."
            ),
            tags=tags,
        ),
    ]


def build_shared_jobs(
    desks: Sequence[Desk], max_run_s: int = 0
) -> "list[UnresolvedAssetJobDefinition]":
    """Return the jobs over all desks: freshness checks, daily report, maintenance,
    batches and alerts.
    """
    tags = _time_limit(max_run_s)
    freshness = [
        dg.AssetCheckKey(dg.AssetKey([desk.key, asset]), name)
        for desk in desks
        for name, (asset, _) in freshness_checks(desk).items()
    ]
    return [
        dg.define_asset_job(
            FRESHNESS,
            dg.AssetSelection.checks(*freshness),
            description=(
                "Freshness checks of every desk: what is missing, lost, silent or failing, by row."
            ),
            tags=tags,
        ),
        dg.define_asset_job(
            REPORT,
            dg.AssetSelection.assets(["newsroom", "daily_report"]),
            description="The report of a day, over all desks.",
            tags=tags,
        ),
        dg.define_asset_job(
            MAINTENANCE,
            dg.AssetSelection.assets(["lake", "maintenance"]),
            description="Maintenance of the lake and of Dagster's history.",
            tags=tags,
        ),
        dg.define_asset_job(
            BATCHES,
            dg.AssetSelection.assets(["newsroom", "enrichment_batches"]),
            description="Collects the batches of language models that are over.",
            tags=tags,
        ),
        dg.define_asset_job(
            ALERTS,
            dg.AssetSelection.assets(["newsroom", "alerts"]),
            description=(
                "Tells new hits of saved queries, and operators what became bad or is over."
            ),
            tags=tags,
        ),
    ]


def _time_limit(max_run_s: int) -> dict[str, str]:
    """Return the tag by which Dagster's run monitoring ends a run."""
    return {_MAX_RUNTIME_TAG: str(max_run_s)} if max_run_s else {}
