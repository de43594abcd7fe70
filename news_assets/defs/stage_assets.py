"""The assets of a desk: `feed_entries` polls its sources, and one asset by agency and day
follows for each declared stage.

A run may have ended because one article ended its process, whatever the limits of
reading are. So after some attempts each article is recorded before it begins: one that
ends the process again is a failure with the time of its next attempt, and the run after
that leaves it out.
"""

import inspect
import logging
from collections.abc import Mapping, Sequence
from datetime import date
from importlib import metadata
from types import MappingProxyType
from typing import Any

import dagster as dg

from news_assets.defs.active_runs import ATTEMPT_TAG, LOCAL_ONLY
from news_assets.defs.asset_metadata import (
    PAGES,
    MaterializationCounts,
    asset_attributes,
)
from news_assets.defs.feed_entries import build_feed_entries
from news_assets.defs.partitions import (
    agency_day_batches,
    agency_day_partitions,
    utc_now,
)
from news_assets.errors import (
    EmbedError,
    EnrichError,
    NewsAssetsError,
    SettingsError,
    TaxonomyError,
)
from news_assets.pipeline import stages
from news_assets.pipeline.enrich.local_enricher import MODEL as LOCAL_MODEL
from news_assets.pipeline.failures import record_attempt, record_unavailable
from news_assets.pipeline.run_planner import retries_of
from news_assets.pipeline.stage_declaration import DOCUMENT_STATE, Stage
from news_assets.ports.services import Clock
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays
from news_assets.settings import Settings
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import work_of


def code_versions(settings: Settings) -> dict[str, str]:
    """Return the versions that Dagster's UI compares with those of materialisations,
    by stage: rows of another version are backfilled by hand.
    """
    taxonomy = settings.taxonomy.name if settings.taxonomy else "built-in"
    enrichers = ", ".join(settings.enricher)
    return {
        "raw_articles": f"trafilatura {metadata.version('trafilatura')}",
        "enriched_articles": f"{enrichers} ({LOCAL_MODEL}), taxonomy {taxonomy}",
        "article_embeddings": settings.embedding_model,
        "search_index": f"document {DOCUMENT_STATE.code_version}",
    }


def build_desk_assets(
    desk: Desk,
    versions: Mapping[str, str] = MappingProxyType({}),
    pages_url: str = "",
) -> list[dg.AssetsDefinition]:
    """Return the desk's assets, upstream first; `versions` as of `code_versions`,
    `pages_url` where pages are served.
    """
    assets = {"feed_entries": build_feed_entries(desk, pages_url)}
    for stage in stages.stages_of(desk):
        assets[stage.name] = _build_stage_asset(
            desk, stage, assets, versions.get(stage.name, "1"), pages_url
        )
    return list(assets.values())


def _build_stage_asset(
    desk: Desk,
    stage: Stage,
    upstream: Mapping[str, dg.AssetsDefinition],
    version: str,
    pages_url: str,
) -> dg.AssetsDefinition:
    """Return the asset of a stage; `upstream` has the desk's assets that are built
    already, by name.
    """

    @dg.asset(
        **asset_attributes(desk, stage.name, stage.record, stage.kind),
        description=inspect.cleandoc(stage.description),
        deps=_dependencies(desk, stage, upstream),
        partitions_def=agency_day_partitions(desk),
        backfill_policy=dg.BackfillPolicy.single_run(),
        required_resource_keys={"lake", *stage.ports},
        config_schema=_options_schema(stage),
        code_version=version,
    )
    def stage_asset(context: dg.AssetExecutionContext) -> dg.MaterializeResult[None]:
        lake = context.resources.lake
        options = context.op_execution_context.op_config
        counts = MaterializationCounts(
            context,
            lake,
            stage,
            is_local=bool(options.get(LOCAL_ONLY)),
            pages_url=pages_url,
        )
        batches = list(agency_day_batches(context, desk))
        try:
            for keys in batches:
                counts.add(keys, _run_batch(context, desk, stage, keys))
        except _UNAVAILABLE as error:
            _record_unavailable(stage, lake, desk, batches, str(error))
            raise dg.Failure(str(error)) from error
        # batches that were stored stay; the sensors plan the rest again
        except NewsAssetsError as error:
            raise dg.Failure(str(error)) from error
        return counts.result()

    return stage_asset


# of the enricher or model; an article's are rows
_UNAVAILABLE = (EnrichError, EmbedError, TaxonomyError, SettingsError)


def _options_schema(stage: Stage) -> dict[str, dg.Field]:
    """Return the run configuration of a stage: its options, each off by default."""
    schema = {}
    for option in stage.options:
        schema[option.name] = dg.Field(
            bool, is_required=False, default_value=False, description=option.meaning
        )
    return schema


def _run_batch(
    context: dg.AssetExecutionContext, desk: Desk, stage: Stage, keys: AgencyDays
) -> int:
    """Run the stage over a batch, one article at a time where they are few and several
    runs have left this work undone; return how many rows were written.
    """
    lake = context.resources.lake
    ports = {name: getattr(context.resources, name) for name in stage.ports}
    options = context.op_execution_context.op_config
    if int(context.run.tags.get(ATTEMPT_TAG, "1")) > attempts_together(desk):
        written = run_apart(stage, lake, desk, keys, utc_now, ports, options)
        if written is not None:
            return written
    return stage.run_batch(lake, desk, keys, utc_now, ports, options)


def _record_unavailable(
    stage: Stage, lake: Lake, desk: Desk, batches: Sequence[AgencyDays], reason: str
) -> None:
    now = utc_now()
    pairs = set[tuple[str, date]]()
    for batch in batches:
        pairs |= batch.pairs
    backlog = work_of(lake, desk, stage, AgencyDays(desk.key, frozenset(pairs)), now)
    lake.transact(
        lambda rows: record_unavailable(
            rows, stage, backlog.iter_rows(named=True), desk.key, reason, now
        )
    )


def _dependencies(
    desk: Desk, stage: Stage, upstream: Mapping[str, dg.AssetsDefinition]
) -> list[dg.AssetDep]:
    found = []
    for name in stage.upstream:
        if name in upstream:
            found.append(_dependency(name, upstream[name]))
    if "fetcher" in stage.ports:
        found.append(dg.AssetDep([desk.key, PAGES]))
    return found


def _dependency(name: str, asset: dg.AssetsDefinition) -> dg.AssetDep:
    if name == "feed_entries":
        return dg.AssetDep(
            asset, partition_mapping=dg.MultiToSingleDimensionPartitionMapping("agency")
        )
    return dg.AssetDep(asset)


_logger = logging.getLogger(__name__)

# each restart of a broker or database costs many runs an attempt
_ATTEMPTS_TOGETHER = 4
# one records which article ends the process, the next one leaves it out
_ATTEMPTS_APART = 2
# each takes some 0.3 s more; larger ranges get smaller with each attempt
# (`run_planner`)
_MAX_ARTICLES = 100


def attempts_together(desk: Desk) -> int:
    """Return how many runs for the same work do all its articles together, before those
    that do them one at a time.
    """
    attempts = retries_of(desk).max_attempts
    return min(_ATTEMPTS_TOGETHER, attempts - _ATTEMPTS_APART)


def run_apart(
    stage: Stage,
    lake: Lake,
    desk: Desk,
    keys: AgencyDays,
    clock: Clock,
    ports: Mapping[str, Any],
    options: Mapping[str, bool],
) -> int | None:
    """Do the stage's backlog of these agency-days one article at a time; return how
    many rows were written.

    None if there are more than _MAX_ARTICLES: nothing was done.
    """
    backlog = work_of(lake, desk, stage, keys, clock())
    if backlog.height > _MAX_ARTICLES:
        _logger.debug("%s: %d articles are too many", stage.name, backlog.height)
        return None
    # deletes rows of lost articles
    written = stage.run_batch(lake, desk, keys, clock, ports, options, only=())
    for work in backlog.iter_rows(named=True):
        lake.transact(lambda rows: record_attempt(rows, stage, work, desk.key, clock()))  # noqa: B023 - runs at once
        own_keys = AgencyDays(desk.key, frozenset({(work["agency"], work["day"])}))
        written += stage.run_batch(
            lake, desk, own_keys, clock, ports, options, only={work["article_id"]}
        )
    return written
