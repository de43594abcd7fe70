"""The asset `raw_articles`: entries fetched, extracted and compared."""

import dagster as dg
from pydantic import Field

from news_assets.defs.clock import utc_now
from news_assets.defs.metadata import Tally, asset_look
from news_assets.defs.partitions import agency_day_batches, agency_day_partitions
from news_assets.pipeline.stages import fetch_batch
from news_assets.ports import Fetcher, Lake
from news_assets.records import Desk, RawArticle

_PREVIEW = ("day", "agency", "title", "outcome", "reason", "duplicate_of", "text_chars")


class FetchConfig(dg.Config):
    """What a run may ask of `raw_articles`."""

    refetch: bool = Field(False, description="fetch every entry again, not only those that are missing or changed")


def build_raw_articles(desk: Desk, feed_entries: dg.AssetsDefinition) -> dg.AssetsDefinition:
    """Return the asset of this desk."""
    by_agency = dg.MultiToSingleDimensionPartitionMapping("agency")

    @dg.asset(
        **asset_look(desk, RawArticle, "html"),
        deps=[dg.AssetDep(feed_entries, partition_mapping=by_agency)],
        partitions_def=agency_day_partitions(desk),
        backfill_policy=dg.BackfillPolicy.single_run(),
        code_version="1",
    )
    def raw_articles(
        context: dg.AssetExecutionContext,
        config: FetchConfig,
        lake: dg.ResourceParam[Lake],
        fetcher: dg.ResourceParam[Fetcher],
    ) -> dg.MaterializeResult[None]:
        """Articles of these agencies and days: text in Markdown, metadata, duplicates marked across agencies.

        An entry that cannot be fetched or read is a row too, with `outcome` and `reason`, and is tried again when due.
        Re-running fetches only what is missing, changed or due; `refetch` in the run config fetches everything.
        """
        tally = Tally(context, lake, RawArticle, _PREVIEW)
        for keys in agency_day_batches(context, desk):
            tally.add(keys, fetch_batch(lake, desk, keys, fetcher, utc_now, refetch=config.refetch))
        return tally.result()

    return raw_articles
