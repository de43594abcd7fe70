"""The assets by agency and day, built from the declared stages."""

from collections.abc import Mapping, Sequence
from datetime import date

import dagster as dg

from news_assets.defs.active_runs import ATTEMPT_TAG
from news_assets.defs.assets.retried_work import run_apart
from news_assets.defs.clock import utc_now
from news_assets.defs.metadata import MaterializationCounts, asset_attributes
from news_assets.defs.partitions import agency_day_batches, agency_day_partitions
from news_assets.errors import (
    EmbedError,
    EnrichError,
    NewsAssetsError,
    SettingsError,
    TaxonomyError,
)
from news_assets.pipeline.stage_state.declaration import Stage
from news_assets.pipeline.stage_state.failures import record_unavailable
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import work_of


def build_stage_asset(
    desk: Desk, stage: Stage, upstream: Mapping[str, dg.AssetsDefinition]
) -> dg.AssetsDefinition:
    """Return the asset of a stage; `upstream` has the desk's assets that are built
    already, by name.
    """

    @dg.asset(
        **asset_attributes(desk, stage.name, stage.record, stage.kind),
        description=stage.description,
        deps=[
            _dependency(name, upstream[name])
            for name in stage.upstream
            if name in upstream
        ],
        partitions_def=agency_day_partitions(desk),
        backfill_policy=dg.BackfillPolicy.single_run(),
        required_resource_keys={"lake", *stage.ports},
        config_schema={
            option.name: dg.Field(
                bool, is_required=False, default_value=False, description=option.meaning
            )
            for option in stage.options
        },
        code_version="1",
    )
    def stage_asset(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        lake = context.resources.lake
        ports = {name: getattr(context.resources, name) for name in stage.ports}
        options = context.op_execution_context.op_config
        is_retry = int(context.run.tags.get(ATTEMPT_TAG, "1")) > 1
        counts = MaterializationCounts(context, lake, stage)
        batches = list(agency_day_batches(context, desk))
        try:
            for keys in batches:
                written = (
                    run_apart(stage, lake, desk, keys, utc_now, ports, options)
                    if is_retry
                    else None
                )
                if written is None:
                    written = stage.run_batch(lake, desk, keys, utc_now, ports, options)
                counts.add(keys, written)
        except (
            EnrichError,
            EmbedError,
            TaxonomyError,
            SettingsError,
        ) as error:  # of the enricher or model; an article's are rows
            _record_unavailable(stage, lake, desk, batches, str(error))
            raise dg.Failure(str(error)) from error
        except (
            NewsAssetsError
        ) as error:  # batches that were stored stay; the sensors plan the rest again
            raise dg.Failure(str(error)) from error
        return counts.result()

    return stage_asset


def _record_unavailable(
    stage: Stage, lake: Lake, desk: Desk, batches: Sequence[AgencyDays], reason: str
) -> None:
    now = utc_now()
    keys = AgencyDays(
        desk.key,
        frozenset[tuple[str, date]]().union(*(batch.pairs for batch in batches)),
    )
    backlog = work_of(lake, desk, stage, keys, now)
    lake.transact(
        lambda rows: record_unavailable(
            rows, stage, backlog.iter_rows(named=True), desk.key, reason, now
        )
    )


def _dependency(name: str, asset: dg.AssetsDefinition) -> dg.AssetDep:
    if name == "feed_entries":
        return dg.AssetDep(
            asset, partition_mapping=dg.MultiToSingleDimensionPartitionMapping("agency")
        )
    return dg.AssetDep(asset)
