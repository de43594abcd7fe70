"""The asset `lake/maintenance`: deletes old rows and old runs, and maintains the lake's
files.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path

import dagster as dg

from news_assets.defs.asset_metadata import OWNERS, markdown_table, tables_of
from news_assets.defs.partitions import utc_now
from news_assets.errors import LakeError
from news_assets.records.desks import Desk, KeepDays
from news_assets.store.backup import back_up, delete_daily_backups
from news_assets.store.lake import Lake
from news_assets.store.maintenance import (
    FILE_GRACE,
    LakeSize,
    Orphans,
    delete_orphans,
    maintain,
)
from news_assets.store.retention import OldRows, delete_old_rows

_MAINTENANCE_KEY = dg.AssetKey(["lake", "maintenance"])
KNOWN_FILES = "data_files_are_known"
BACKED_UP = "catalog_is_backed_up"
_SHOWN_FILES = 100
_EVERY_DAY = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=36))


def build_lake_maintenance(
    desks: Sequence[Desk],
    assets: Sequence[dg.AssetsDefinition],
    backup_days: int,
    keep: KeepDays,
) -> dg.AssetsDefinition:
    """Return the asset; runs with the newest materialisations of `assets`, which are
    all others, are kept.
    """
    keys = [_MAINTENANCE_KEY]
    for asset in assets:
        keys += asset.keys

    @dg.asset(
        key=_MAINTENANCE_KEY,
        group_name="lake",
        owners=OWNERS,
        kinds={"ducklake"},
        deps=tables_of(desks),
        freshness_policy=_EVERY_DAY,
        code_version="4",
        check_specs=_check_specs(),
    )
    def lake_maintenance(
        context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake]
    ) -> dg.MaterializeResult:  # type: ignore[type-arg]  # with a check, Dagster takes `[None]` for a wrong annotation
        """Backup and maintenance of the lake, and maintenance of Dagster's run history.

        Backs the catalog up, deletes pages, polls and revisions that are too old,
        writes inlined rows to files, merges small files, and removes old snapshots,
        orphaned files and old backups. Deletes old finished runs with their events and
        logs, except those with the newest materialisation of a partition. Once a day is
        enough; other runs are not disturbed, and it can be repeated at any time.
        """
        # with SQLAlchemy and Alembic, which loading the definitions does not need
        from news_assets.defs.run_retention import delete_old_runs, retention_rules

        now, rules = utc_now(), retention_rules(desks)
        deleted = delete_old_runs(context.instance, rules, keys, now, context.log)
        backed_up = _backup(lake, backup_days, now)
        # a kept backup needs the files of its commit
        grace = max(FILE_GRACE, timedelta(days=backup_days))
        old_rows = list(delete_old_rows(lake, keep, now))
        upkeep = _upkeep(*maintain(lake, now=now, grace=grace))
        orphans = delete_orphans(lake, now=now, grace=grace)
        runs = markdown_table(("job", "runs deleted"), sorted(deleted.items()))
        metadata = {
            **upkeep,
            "rows_deleted": sum(one.rows for one in old_rows),
            "old_rows": _old_rows(old_rows),
            "orphans_deleted": 0 if orphans.why_kept else len(orphans.files),
            "runs_deleted": sum(deleted.values()),
            "runs": dg.MetadataValue.md(runs),
        }
        checks = [backed_up, _known_files(orphans)]
        return dg.MaterializeResult(metadata=metadata, check_results=checks)

    return lake_maintenance


def _check_specs() -> list[dg.AssetCheckSpec]:
    return [
        dg.AssetCheckSpec(
            BACKED_UP,
            asset=_MAINTENANCE_KEY,
            description="Today's backup of the catalog was made.",
        ),
        dg.AssetCheckSpec(
            KNOWN_FILES,
            asset=_MAINTENANCE_KEY,
            description="The data folder has no orphans that maintenance must not delete.",
        ),
    ]


def _backup(lake: Lake, days: int, now: datetime) -> dg.AssetCheckResult:
    """Back the catalog up and delete the backups that are too old; with 0 days, do
    nothing.

    A failure is left to the check, because maintenance can free the space that a backup
    needs.
    """
    if days == 0 or not lake.address.backups:
        return dg.AssetCheckResult(
            passed=True, check_name=BACKED_UP, description="backups are switched off"
        )
    folder = Path(lake.address.backups)
    try:
        made = back_up(lake.address, folder, now, is_daily=True)
        deleted = delete_daily_backups(lake.address, folder, now - timedelta(days=days))
    except LakeError as error:
        return dg.AssetCheckResult(
            passed=False, check_name=BACKED_UP, description=str(error)
        )
    return dg.AssetCheckResult(
        passed=True,
        check_name=BACKED_UP,
        metadata={
            "backup": made.file,
            "commit": made.commit,
            "backups_deleted": deleted,
        },
    )


def _known_files(orphans: Orphans) -> dg.AssetCheckResult:
    kept = orphans.files if orphans.why_kept else ()
    metadata: dict[str, dg.RawMetadataValue] = {"unknown_files": len(kept)}
    if kept:
        metadata["files"] = "\n".join(kept[:_SHOWN_FILES])
    return dg.AssetCheckResult(
        passed=orphans.why_kept is None,
        check_name=KNOWN_FILES,
        severity=dg.AssetCheckSeverity.WARN,
        description=orphans.why_kept,
        metadata=metadata,
    )


def _old_rows(months: Sequence[OldRows]) -> dg.MarkdownMetadataValue:
    counts = []
    for one in months:
        month = f"{one.month:%Y-%m}"
        counts.append((one.table, month, one.rows, one.file_bytes, one.kept))
    return dg.MetadataValue.md(
        markdown_table(("table", "month", "rows deleted", "bytes", "kept"), counts)
    )


def _upkeep(before: LakeSize, after: LakeSize) -> "dict[str, dg.RawMetadataValue]":
    found: dict[str, dg.RawMetadataValue] = {}
    counts = []
    for name, number in asdict(before).items():
        found[name] = getattr(after, name)
        counts.append((name, number, getattr(after, name)))
    table = markdown_table(("lake", "before", "after"), counts)
    return found | {"upkeep": dg.MetadataValue.md(table)}
