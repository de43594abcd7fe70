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


_COPIED = """
    SELECT article_id, duplicate_of AS original FROM raw_articles
    WHERE duplicate_of IS NOT NULL
        AND (list_contains($ids::VARCHAR[], article_id) OR list_contains($ids::VARCHAR[], duplicate_of))
"""
_COPIES = """
    SELECT coalesce(duplicate_of, article_id) AS original, article_id, desk, agency, day, url,
        coalesce(published_at, first_seen_at) AS published_at, duplicate_reason AS reason
    FROM raw_articles
    WHERE outcome = 'ok' AND list_contains($originals::VARCHAR[], coalesce(duplicate_of, article_id))
    ORDER BY published_at, article_id
"""


def copies_of(lake: Lake | Snapshot, article_ids: Collection[str]) -> dict[str, tuple[Copy, ...]]:
    """Return the copies of each article that has any, by its id, in order of publication.

    Among 30,000 articles of 24 months, twenty without copies take 60 ms of processor time.
    """
    ids = list(article_ids)
    copied = lake.query(_COPIED, {"ids": ids}) if ids else None
    if copied is None or copied.is_empty():
        return {}
    rows = lake.query(_COPIES, {"originals": copied["original"].unique().to_list()}).rows(named=True)
    original_of = dict(copied.iter_rows())
    found = {}
    for hit in ids:
        originals = (hit, original_of.get(hit))
        copies = [row for row in rows if row["original"] in originals and row["article_id"] != hit]
        found[hit] = tuple(Copy(**{name: value for name, value in row.items() if name != "original"}) for row in copies)
    return {hit: copies for hit, copies in found.items() if copies}
