"""What stands in the lineage beside the assets of the stages: what a desk reads from outside,
and what the assets over all desks read.
"""

from collections import Counter
from collections.abc import Sequence

import dagster as dg

from news_assets.defs.asset_metadata import owners_of
from news_assets.records.desks import Desk

SOURCES, PAGES = "sources", "pages"


def build_outside_specs(desk: Desk) -> list[dg.AssetSpec]:
    """Return the external assets of a desk: its sources, and the pages of the articles."""
    by_kind = Counter(source.kind for source in desk.sources)
    counts = {kind: by_kind[kind] for kind in sorted(by_kind)}
    about_sources = (
        "Feeds, listings and calendars of the desk file, as their publishers serve them.\n\nThey"
        " are polled by `feed_entries`; what they answer is in the check `sources_answer`."
    )
    about_pages = (
        "Web pages and documents of the articles, as their publishers serve them.\n\nThey are"
        " fetched by `raw_articles` with pauses between requests to a host; stored pages are read"
        " again without a request."
    )
    return [
        _outside(desk, SOURCES, "rss", about_sources, {"by_kind": counts}),
        _outside(desk, PAGES, "html", about_pages, {}),
    ]


def _outside(
    desk: Desk, name: str, kind: str, about: str, metadata: dict[str, dict[str, int]]
) -> dg.AssetSpec:
    return dg.AssetSpec(
        [desk.key, name],
        group_name=desk.key,
        owners=owners_of(desk),
        tags={"news/desk": desk.key},
        kinds={kind},
        description=about,
        metadata=metadata,
    )


def tables_of(desks: Sequence[Desk]) -> list[dg.AssetDep]:
    """Return the dependencies of an asset that reads the tables of all desks.

    They begin with the entries. A dependency on a later stage would put the asset into
    the selection `raw_articles+`, whose assets then would not share a partition grid and
    could not be materialised over a range.
    """
    entries = [dg.AssetKey([desk.key, "feed_entries"]) for desk in desks]
    return [
        dg.AssetDep(key, partition_mapping=dg.AllPartitionMapping()) for key in entries
    ]
