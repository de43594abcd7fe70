"""The asset `newsroom/enrichment_batches`: collects the batches of language models that
are over. Its sensor requests a look at those that are not over yet.
"""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from news_assets.defs.active_runs import unfinished_runs
from news_assets.defs.asset_metadata import OWNERS, markdown_table
from news_assets.defs.jobs import BATCHES, Jobs
from news_assets.defs.lineage import tables_of
from news_assets.defs.partitions import utc_now
from news_assets.errors import NewsAssetsError
from news_assets.ports.services import Lazy
from news_assets.records.desks import Desk
from news_assets.records.model_calls import OPEN, EnrichmentBatch
from news_assets.store.lake import Lake

_BATCHES_KEY = dg.AssetKey(["newsroom", "enrichment_batches"])


def build_enrichment_batches(desks: Sequence[Desk]) -> dg.AssetsDefinition:
    """Return the asset over these desks."""

    @dg.asset(
        key=_BATCHES_KEY,
        group_name="newsroom",
        owners=OWNERS,
        kinds={"python"},
        deps=tables_of(desks),
        code_version="1",
    )
    def enrichment_batches(
        context: dg.AssetExecutionContext,
        lake: dg.ResourceParam[Lake],
        enricher: dg.ResourceParam[Lazy[Any]],  # Enrichers
    ) -> dg.MaterializeResult[None]:
        """Batches that were sent to language models by the desks with `enrich: {via:
        batch}`.

        Batches that are over are collected: answers and ledger rows are stored as they
        are read, and the articles are enriched with them by the next run of
        `enriched_articles`, which also sends what is missing again. Batches of which it
        is not known whether they were made are looked for. Can be repeated at any time.
        """
        from news_assets.pipeline.enrich.model.model_batches import settle_batches

        try:
            found = settle_batches(lake, enricher.open(), desks, utc_now)
        except NewsAssetsError as error:
            raise dg.Failure(str(error)) from error
        table = markdown_table(("batch", "progress"), sorted(found.items()))
        return dg.MaterializeResult(
            metadata={"batches": len(found), "progress": dg.MetadataValue.md(table)}
        )

    return enrichment_batches


_LOOK_EVERY_S = 600  # most batches end within the hour, all within a day


def build_open_batches(
    jobs: Jobs,
) -> dg.SensorDefinition:
    """Return the sensor; it requests a run while there are open batches and none is
    looking at them.
    """

    @dg.sensor(
        name="open_batches",
        job=next(job for job in jobs if job.name == BATCHES),
        minimum_interval_seconds=_LOOK_EVERY_S,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Requests a look at the batches of language models that are not over.",
    )
    def sensor(
        context: dg.SensorEvaluationContext, lake: dg.ResourceParam[Lake]
    ) -> dg.SensorResult:
        count = lake.frame(EnrichmentBatch, None, ("batch_key",), progress=OPEN).height
        is_looking = any(
            run.job_name == BATCHES for run in unfinished_runs(context.instance)
        )
        if count == 0 or is_looking:
            return dg.SensorResult(skip_reason=f"open batches: {count}")
        return dg.SensorResult([dg.RunRequest()])

    return sensor
