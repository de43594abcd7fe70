"""The assets of a desk: `feed_entries` polls its sources, and one asset for each stage
follows.
"""

import dagster as dg

from news_assets.defs.assets.feed_entries import build_feed_entries
from news_assets.defs.assets.stages import build_stage_asset
from news_assets.pipeline import stages
from news_assets.records.desks import Desk


def build_desk_assets(desk: Desk) -> list[dg.AssetsDefinition]:
    """Return the desk's assets, upstream first."""
    assets = {"feed_entries": build_feed_entries(desk)}
    for stage in stages.stages_of(desk):
        assets[stage.name] = build_stage_asset(desk, stage, assets)
    return list(assets.values())
