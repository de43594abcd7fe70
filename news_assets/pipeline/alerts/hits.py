"""Following the record of changes: each article that is new in the index is compared
with the saved queries once.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta

from news_assets.pipeline.alerts.matching import Matchable, Matcher
from news_assets.pipeline.alerts.spec import SavedQuery
from news_assets.ports.lake import Lake, Reader, Rows
from news_assets.records.alerts import Follower, QueryHit
from news_assets.records.articles import RawArticle
from news_assets.records.derived import Change, EnrichedArticle

FOLLOWER = "alerts"

ReadChanges = Callable[
    [str], tuple[Sequence[Change], str]
]  # the changes after a cursor, and the cursor after them


def follow(
    lake: Lake, matcher: Matcher, read_changes: ReadChanges, newest: str, now: datetime
) -> int:
    """Store the hits of all changes since the last call and return how many are new.

    The first call begins at the cursor `newest`, so that it tells nothing of what is
    stored already.
    """
    count = 0
    while True:
        begun = lake.read(Follower, name=[FOLLOWER])
        changes, cursor = read_changes(begun[0].cursor) if begun else ((), newest)
        if begun and not changes:
            return count
        ids = {change.article_id for change in changes if change.change == "indexed"}
        count += lake.transact(lambda rows: _store(rows, matcher, ids, cursor, now))  # noqa: B023 - runs at once


def restart(lake: Lake, newest: str) -> None:
    """Go on from this cursor."""
    lake.transact(lambda rows: rows.upsert([Follower(name=FOLLOWER, cursor=newest)]))


def _store(
    rows: Rows,
    matcher: Matcher,
    article_ids: Collection[str],
    cursor: str,
    now: datetime,
) -> int:
    rows.upsert([Follower(name=FOLLOWER, cursor=cursor)])
    hits = list(find_hits(rows, matcher, article_ids, now)) if article_ids else []
    if hits:
        rows.upsert(hits)
    return len(hits)


def find_hits(
    rows: Reader, matcher: Matcher, article_ids: Collection[str], now: datetime
) -> Iterator[QueryHit]:
    """Yield a hit for each query and article that it has not found before.

    A copy is no hit of a query that has found its original: the same text is told once.
    """
    articles = rows.read(RawArticle, article_id=article_ids, outcome=["ok"])
    enriched = {
        row.article_id: row
        for row in rows.read(EnrichedArticle, article_id=article_ids, outcome=["ok"])
    }
    originals = {article.duplicate_of for article in articles if article.duplicate_of}
    told = {
        (hit.query, hit.article_id)
        for hit in rows.read(QueryHit, article_id={*article_ids, *originals})
    }
    for article in sorted(
        articles, key=lambda one: (one.duplicate_of is not None, one.article_id)
    ):
        for query in matcher.matches(
            Matchable(article, enriched.get(article.article_id)), now
        ):
            if not told & {
                (query.name, article.article_id),
                (query.name, article.duplicate_of or article.article_id),
            }:
                told.add((query.name, article.article_id))
                yield QueryHit(
                    query=query.name,
                    article_id=article.article_id,
                    desk=article.desk,
                    agency=article.agency,
                    day=article.day,
                    found_at=now,
                    due_at=due_at(query, now),
                )


def due_at(query: SavedQuery, now: datetime) -> datetime:
    """Return when a hit is told: at once, at the next full hour, or at the next
    midnight (UTC).
    """
    hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    match query.when:
        case "hourly":
            return hour + timedelta(hours=1)
        case "daily":
            return hour.replace(hour=0) + timedelta(days=1)
        case _:
            return now
