"""The copies of articles: the others with the same or nearly the same text, whichever of them is the original."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime

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


# Most articles have no copy: then only the narrow columns of the first scan are read.
_COPIES = """
    WITH copied AS MATERIALIZED (
        SELECT article_id, duplicate_of AS original FROM raw_articles
        WHERE duplicate_of IS NOT NULL
            AND (list_contains($ids::VARCHAR[], article_id) OR list_contains($ids::VARCHAR[], duplicate_of))
    ), shown AS (
        SELECT article_id AS hit, original FROM copied WHERE list_contains($ids::VARCHAR[], article_id)
        UNION
        SELECT original AS hit, original FROM copied WHERE list_contains($ids::VARCHAR[], original)
    )
    SELECT hit, article_id, desk, agency, day, url, coalesce(published_at, first_seen_at) AS published_at,
        duplicate_reason AS reason
    FROM raw_articles JOIN shown ON coalesce(duplicate_of, article_id) = original
    WHERE article_id <> hit AND outcome = 'ok'
    ORDER BY hit, published_at, article_id
"""


def copies_of(lake: Lake | Snapshot, article_ids: Collection[str]) -> dict[str, tuple[Copy, ...]]:
    """Return the copies of each article that has any, by its id, in order of publication.

    Among 30,000 articles of 24 months, twenty without copies take 60 ms of processor time.
    """
    found: dict[str, tuple[Copy, ...]] = {}
    if not article_ids:
        return found
    for row in lake.query(_COPIES, {"ids": list(article_ids)}).iter_rows(named=True):
        hit = row.pop("hit")
        found[hit] = (*found.get(hit, ()), Copy(**row))
    return found
