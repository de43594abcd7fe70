"""Jobs: the stages that run together over one grid. What they run over is the caller's choice of partitions."""

from typing import TYPE_CHECKING

import dagster as dg

from news_assets.records import Desk

if TYPE_CHECKING:
    from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

STAGES = ("raw_articles", "enriched_articles", "article_embeddings", "search_index")


def build_desk_jobs(desk: Desk) -> "list[UnresolvedAssetJobDefinition]":
    """Return the desk's jobs: `_poll` by agency, `_articles` by agency and day, and `_checks` over all its rows."""
    return [
        dg.define_asset_job(
            f"{desk.key}_poll",
            dg.AssetSelection.assets([desk.key, "feed_entries"]),
            description=f"Ask the sources of desk {desk.key} what is new.",
            tags={"news/desk": desk.key},
        ),
        dg.define_asset_job(
            f"{desk.key}_articles",
            dg.AssetSelection.assets(*([desk.key, stage] for stage in STAGES)),
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
