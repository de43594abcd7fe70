"""The copies of articles: the others with the same or nearly the same text, whichever
of them is the original.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime

from news_assets.store.lake import Lake
from news_assets.store.transaction import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """Another article with the same or nearly the same text; `agency` is its publisher.

    `published_at` is the time of its first listing if it states none. `reason` says why
    it is a copy; the original has none.
    """

    article_id: str
    desk: str
    agency: str
    day: date
    url: str
    published_at: datetime
    reason: str | None = None


# The ids of each hit's group, of those that have any copy: only then is more read of
# them.
_GROUPS = """
    WITH copied AS MATERIALIZED (
        SELECT article_id, duplicate_of AS original FROM raw_articles WHERE duplicate_of IS NOT NULL
    ), shown AS (
        SELECT article_id AS hit, original FROM copied WHERE list_contains($ids, article_id)
        UNION
        SELECT original AS hit, original FROM copied WHERE list_contains($ids, original)
    )
    SELECT hit, article_id FROM copied JOIN shown USING (original)
    UNION SELECT hit, original FROM shown
"""
_PUBLICATIONS = """
    SELECT article_id, desk, agency, day, url,
        coalesce(published_at, first_seen_at) AS published_at,
        duplicate_reason AS reason
    FROM raw_articles WHERE list_contains($ids, article_id) AND outcome = 'ok'
"""


def publications_of(
    lake: Lake | Snapshot, article_ids: Collection[str]
) -> dict[str, tuple[Copy, ...]]:
    """Return for each article that has copies its copies and itself, by its id, in
    order of publication.
    """
    groups = lake.query(_GROUPS, {"ids": list(article_ids)}) if article_ids else None
    if groups is None or groups.is_empty():
        return {}
    rows = lake.query(_PUBLICATIONS, {"ids": groups["article_id"].unique().to_list()})
    found: dict[str, tuple[Copy, ...]] = {}
    for row in (
        groups.join(rows, on="article_id")
        .sort("hit", "published_at", "article_id")
        .iter_rows(named=True)
    ):
        hit = row.pop("hit")
        found[hit] = (*found.get(hit, ()), Copy(**row))
    return found


def copies_of(
    lake: Lake | Snapshot, article_ids: Collection[str]
) -> dict[str, tuple[Copy, ...]]:
    """Return the copies of each article that has any, by its id, in order of
    publication.
    """
    publications = publications_of(lake, article_ids).items()
    copies = {
        key: tuple(one for one in group if one.article_id != key)
        for key, group in publications
    }
    return {key: group for key, group in copies.items() if group}
