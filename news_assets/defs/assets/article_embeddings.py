"""The asset `article_embeddings`: one vector per article."""

import dagster as dg

from news_assets.defs.clock import utc_now
from news_assets.defs.partitions import agency_day_batches
from news_assets.defs.presentation import Tally, asset_look
from news_assets.pipeline.stages import embed_batch
from news_assets.ports import Embedder, Lake
from news_assets.records import ArticleEmbedding, Desk

_PREVIEW = ("day", "agency", "article_id", "model", "dim", "token_count", "is_cut", "outcome")


def build_article_embeddings(desk: Desk, enriched_articles: dg.AssetsDefinition) -> dg.AssetsDefinition:
    """Return the asset of this desk."""

    @dg.asset(
        **asset_look(desk, ArticleEmbedding, "onnx"),
        deps=[enriched_articles],
        partitions_def=enriched_articles.partitions_def,
        backfill_policy=dg.BackfillPolicy.single_run(),
        code_version="1",
    )
    def article_embeddings(
        context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake], embedder: dg.ResourceParam[Embedder]
    ) -> dg.MaterializeResult[None]:
        """Unit vector of each article's title and text, with the model's name, its dimension and the token cut.

        Only texts that changed are embedded. Fails before it writes where the lake holds vectors of another model.
        """
        tally = Tally(context, lake, ArticleEmbedding, _PREVIEW)
        for keys in agency_day_batches(context, desk):
            tally.add(keys, embed_batch(lake, keys, embedder, utc_now()))
        return tally.result()

    return article_embeddings
