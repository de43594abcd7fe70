"""The asset `enriched_articles`: what an enricher says of each article."""

import dagster as dg

from news_assets.defs.clock import utc_now
from news_assets.defs.metadata import Tally, asset_look
from news_assets.defs.partitions import agency_day_batches
from news_assets.pipeline.stages import enrich_batch
from news_assets.ports import Enricher, Lake
from news_assets.records import Desk, EnrichedArticle

_PREVIEW = ("day", "agency", "theme_labels", "theme_score", "summary", "keywords", "outcome")


def build_enriched_articles(desk: Desk, raw_articles: dg.AssetsDefinition) -> dg.AssetsDefinition:
    """Return the asset of this desk."""

    @dg.asset(
        **asset_look(desk, EnrichedArticle, "python"),
        deps=[raw_articles],
        partitions_def=raw_articles.partitions_def,
        backfill_policy=dg.BackfillPolicy.single_run(),
        code_version="1",
    )
    def enriched_articles(
        context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake], enricher: dg.ResourceParam[Enricher]
    ) -> dg.MaterializeResult[None]:
        """Theme of up to three levels, summary, keywords, language, length and readability of each article.

        Cached by its input: the same text, enricher and taxonomy are never worked on twice, and a duplicate takes its
        original's result. Articles without text have no row.
        """
        tally = Tally(context, lake, EnrichedArticle, _PREVIEW)
        for keys in agency_day_batches(context, desk):
            tally.add(keys, enrich_batch(lake, keys, enricher, utc_now()))
        return tally.result()

    return enriched_articles
