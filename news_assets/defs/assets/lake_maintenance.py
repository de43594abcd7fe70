"""The asset `lake/maintenance`: maintains the lake's files and deletes old runs."""

from collections.abc import Sequence
from dataclasses import asdict

import dagster as dg

from news_assets.defs.clock import utc_now
from news_assets.defs.metadata import OWNERS, markdown_table
from news_assets.defs.retention import delete_old_runs, retention_rules
from news_assets.records import Desk
from news_assets.store.lake import Lake
from news_assets.store.maintenance import LakeSize, maintain

MAINTENANCE_KEY = dg.AssetKey(["lake", "maintenance"])


def build_lake_maintenance(desks: Sequence[Desk], assets: Sequence[dg.AssetsDefinition]) -> dg.AssetsDefinition:
    """Return the asset; runs with the newest materialisations of `assets`, which are all others, are kept."""
    rules = retention_rules(desks)
    keys = [MAINTENANCE_KEY, *(key for asset in assets for key in asset.keys)]

    @dg.asset(key=MAINTENANCE_KEY, group_name="lake", owners=OWNERS, kinds={"ducklake"}, code_version="2")
    def lake_maintenance(context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake]) -> dg.MaterializeResult[None]:
        """Maintenance of the lake and of Dagster's run history.

        Writes inlined rows to files, merges small files, and removes old snapshots and orphaned files. Deletes old
        finished runs with their events and logs, except those with the newest materialisation of a partition. Once a
        day is enough; other runs are not disturbed, and it can be repeated at any time.
        """
        deleted = delete_old_runs(context.instance, rules, keys, utc_now(), context.log)
        upkeep = _upkeep(*maintain(lake, now=utc_now()))
        return dg.MaterializeResult(
            metadata={
                **upkeep,
                "runs_deleted": sum(deleted.values()),
                "runs": dg.MetadataValue.md(markdown_table(("job", "runs deleted"), sorted(deleted.items()))),
            }
        )

    return lake_maintenance


def _upkeep(before: LakeSize, after: LakeSize) -> "dict[str, dg.RawMetadataValue]":
    counts = [(name, before_n, asdict(after)[name]) for name, before_n in asdict(before).items()]
    table = markdown_table(("lake", "before", "after"), counts)
    return {**{name: after_n for name, _, after_n in counts}, "upkeep": dg.MetadataValue.md(table)}
