"""The asset `lake/maintenance`: small files merged, inlined rows flushed, old snapshots and lost files gone."""

from dataclasses import asdict

import dagster as dg

from news_assets.defs.clock import utc_now
from news_assets.defs.presentation import OWNERS, markdown_table
from news_assets.store.lake import Lake
from news_assets.store.maintenance import maintain


@dg.asset(key=["lake", "maintenance"], group_name="lake", owners=OWNERS, kinds={"ducklake"}, code_version="1")
def lake_maintenance(lake: dg.ResourceParam[Lake]) -> dg.MaterializeResult[None]:
    """Upkeep of the lake: inlined rows are written to files, small files merged, old snapshots and lost files removed.

    Daily is enough. Runs beside everything else and can be repeated at any time.
    """
    before, after = maintain(lake, now=utc_now())
    counts = [(name, before_n, asdict(after)[name]) for name, before_n in asdict(before).items()]
    metadata: dict[str, dg.RawMetadataValue] = {name: after_n for name, _, after_n in counts}
    table = markdown_table(("lake", "before", "after"), counts)
    return dg.MaterializeResult(metadata={**metadata, "upkeep": dg.MetadataValue.md(table)})
