"""The assets of a desk, one module per stage: read, one call, write, counts."""

import dagster as dg

from news_assets.defs.assets.article_embeddings import build_article_embeddings
from news_assets.defs.assets.enriched_articles import build_enriched_articles
from news_assets.defs.assets.feed_entries import build_feed_entries
from news_assets.defs.assets.raw_articles import build_raw_articles
from news_assets.defs.assets.search_index import build_search_index
from news_assets.records import Desk


def build_desk_assets(desk: Desk) -> list[dg.AssetsDefinition]:
    """Return the desk's five assets, upstream first."""
    entries = build_feed_entries(desk)
    raw = build_raw_articles(desk, entries)
    enriched = build_enriched_articles(desk, raw)
    embeddings = build_article_embeddings(desk, enriched)
    return [entries, raw, enriched, embeddings, build_search_index(desk, [raw, enriched, embeddings])]
