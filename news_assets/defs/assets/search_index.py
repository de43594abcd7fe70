"""The asset `search_index`: the documents that readers search."""

import dagster as dg

from news_assets.defs.clock import utc_now
from news_assets.defs.metadata import Tally, asset_look
from news_assets.defs.partitions import agency_day_batches
from news_assets.errors import IndexingError
from news_assets.pipeline.stages import index_batch
from news_assets.ports import Lake, SearchIndex
from news_assets.records import Desk, IndexedDocument

_PREVIEW = ("day", "agency", "article_id", "has_vector", "indexed_at", "outcome", "reason")


def build_search_index(desk: Desk, upstream: list[dg.AssetsDefinition]) -> dg.AssetsDefinition:
    """Return the asset of this desk; `upstream` are the three stages a document is made from."""

    @dg.asset(
        **asset_look(desk, IndexedDocument, "search"),
        deps=upstream,
        partitions_def=upstream[0].partitions_def,
        backfill_policy=dg.BackfillPolicy.single_run(),
        code_version="1",
    )
    def search_index(
        context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake], search: dg.ResourceParam[SearchIndex]
    ) -> dg.MaterializeResult[None]:
        """Documents of the search index, with a receipt in the lake for each: id, document hash and time.

        Only documents that changed are sent; those whose article is gone are removed. An article whose embedding failed
        is indexed without a vector and found by its words. An index that is away or full fails the run with that
        reason, and no receipt is written for what it did not confirm.
        """
        tally = Tally(context, lake, IndexedDocument, _PREVIEW)
        try:
            for keys in agency_day_batches(context, desk):
                tally.add(keys, index_batch(lake, desk, keys, search, utc_now()))
        except IndexingError as error:  # what was confirmed has its receipts; the sensors ask for the rest again
            raise dg.Failure(str(error)) from error
        return tally.result()

    return search_index
