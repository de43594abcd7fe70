"""The copies of articles: the others with the same or nearly the same text, whichever of them is the original."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime

from news_assets.records.articles import RawArticle
from news_assets.store.lake import Lake
from news_assets.store.transaction import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """Another article with the same or nearly the same text; `agency` is its publisher.

    `published_at` is the time of its first listing if it states none. `reason` says why it is a copy; the original has
    none.
    """

    article_id: str
    desk: str
    agency: str
    day: date
    url: str
    published_at: datetime
    reason: str | None = None


# The ids of the copies of each hit that has any: only then is more read of them.
_PAIRS = """
    WITH copied AS MATERIALIZED (
        SELECT article_id, duplicate_of AS original FROM raw_articles WHERE duplicate_of IS NOT NULL
    ), shown AS (
        SELECT article_id AS hit, original FROM copied WHERE list_contains($ids::VARCHAR[], article_id)
        UNION
        SELECT original AS hit, original FROM copied WHERE list_contains($ids::VARCHAR[], original)
    )
    SELECT hit, article_id FROM copied JOIN shown USING (original) WHERE article_id <> hit
    UNION
    SELECT hit, original FROM shown WHERE original <> hit
"""
_OF_COPIES = ("article_id", "desk", "agency", "day", "url", "outcome", "published_at", "first_seen_at", "duplicate_reason")


def copies_of(lake: Lake | Snapshot, article_ids: Collection[str]) -> dict[str, tuple[Copy, ...]]:
    """Return the copies of each article that has any, by its id, in order of publication."""
    import polars as pl

    pairs = lake.query(_PAIRS, {"ids": list(article_ids)}) if article_ids else pl.DataFrame()
    if pairs.is_empty():
        return {}
    rows = lake.frame(RawArticle, None, _OF_COPIES, article_id=pairs["article_id"].unique())
    copies = rows.filter(pl.col("outcome") == "ok").select(
        *("article_id", "desk", "agency", "day", "url"),
        pl.coalesce("published_at", "first_seen_at").alias("published_at"),
        pl.col("duplicate_reason").alias("reason"),
    )
    found: dict[str, tuple[Copy, ...]] = {}
    for row in pairs.join(copies, on="article_id").sort("hit", "published_at", "article_id").iter_rows(named=True):
        hit = row.pop("hit")
        found[hit] = (*found.get(hit, ()), Copy(**row))
    return found
