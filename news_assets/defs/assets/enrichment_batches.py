"""The asset `newsroom/enrichment_batches`: collects the batches of language models that
are over.
"""

from collections.abc import Sequence

import dagster as dg

from news_assets.defs.clock import utc_now
from news_assets.defs.metadata import OWNERS, markdown_table
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.enrich.model.model_batches import settle_batches
from news_assets.pipeline.enrich.model.model_enricher import ModelEnricher
from news_assets.records.desks import Desk
from news_assets.store.lake import Lake

_BATCHES_KEY = dg.AssetKey(["newsroom", "enrichment_batches"])


def build_enrichment_batches(desks: Sequence[Desk]) -> dg.AssetsDefinition:
    """Return the asset over these desks."""

    @dg.asset(
        key=_BATCHES_KEY,
        group_name="newsroom",
        owners=OWNERS,
        kinds={"python"},
        code_version="1",
    )
    def enrichment_batches(
        context: dg.AssetExecutionContext,
        lake: dg.ResourceParam[Lake],
        enricher: dg.ResourceParam[ModelEnricher],
    ) -> dg.MaterializeResult[None]:
        """Batches that were sent to language models by the desks with `enrich: {via:
        batch}`.

        Batches that are over are collected: answers and ledger rows are stored as they
        are read, and the articles are enriched with them by the next run of
        `enriched_articles`, which also sends what is missing again. Batches of which it
        is not known whether they were made are looked for. Can be repeated at any time.
        """
        try:
            found = settle_batches(lake, enricher, desks, utc_now)
        except NewsAssetsError as error:
            raise dg.Failure(str(error)) from error
        table = markdown_table(("batch", "progress"), sorted(found.items()))
        return dg.MaterializeResult(
            metadata={"batches": len(found), "progress": dg.MetadataValue.md(table)}
        )

    return enrichment_batches
