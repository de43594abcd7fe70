"""The asset `article_embeddings`: one vector per article."""

import dagster as dg
from pydantic import Field

from news_assets.defs.clock import utc_now
from news_assets.defs.metadata import Tally, asset_look
from news_assets.defs.partitions import agency_day_batches
from news_assets.errors import EmbedError, IndexingError
from news_assets.pipeline.stages import check_embeddings, embed_batch
from news_assets.ports import Embedder, Lake, SearchIndex
from news_assets.records import ArticleEmbedding, Desk

_PREVIEW = ("day", "agency", "article_id", "model", "dim", "token_count", "is_cut", "outcome")


class EmbedConfig(dg.Config):
    """What a run may ask of `article_embeddings`."""

    replace_model: bool = Field(
        False,
        description="drop the desk's vectors of other models instead of refusing to run; "
        "`news-assets rebuild search` follows",
    )


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
        context: dg.AssetExecutionContext,
        config: EmbedConfig,
        lake: dg.ResourceParam[Lake],
        embedder: dg.ResourceParam[Embedder],
        search: dg.ResourceParam[SearchIndex],
    ) -> dg.MaterializeResult[None]:
        """Unit vector of each article's title and text, with the model's name, its dimension and the token cut.

        Only texts that changed are embedded. Fails before it writes where the lake holds vectors of another model, or
        the index vectors of another length.
        """
        try:
            check_embeddings(lake, desk, embedder, search, replace_model=config.replace_model)
        except (EmbedError, IndexingError) as error:
            raise dg.Failure(str(error)) from error
        tally = Tally(context, lake, ArticleEmbedding, _PREVIEW)
        for keys in agency_day_batches(context, desk):
            tally.add(keys, embed_batch(lake, keys, embedder, utc_now()))
        return tally.result()

    return article_embeddings
