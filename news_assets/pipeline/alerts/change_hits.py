"""What readers can be told of beside new articles: a meeting is cancelled or moved, an agenda or
document came, a vote was taken; an article was edited silently or withdrawn. Each is told to
a saved query once, of the articles that it matches or was told of.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product

from news_assets.pipeline.alerts.hits import Matchable, Matcher, due_at
from news_assets.pipeline.alerts.query_file import ChangeKind, SavedQuery
from news_assets.ports.services import Reader
from news_assets.records.alerts import ChangeHit, QueryHit
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle


@dataclass(frozen=True, slots=True)
class ToldChange:
    """A change of these articles, all the same one: a meeting has several items. `about`
    is the id of the meeting, item or article.
    """

    kind: ChangeKind
    at: datetime
    about: str
    article_ids: tuple[str, ...]

    @property
    def key(self) -> str:
        """What a hit stores of it."""
        return f"{self.kind} {self.at.isoformat()} {self.about}"


def change_hits(
    rows: Reader,
    queries: Sequence[SavedQuery],
    changes: Sequence[ToldChange],
    names: Mapping[str, str],
    now: datetime,
) -> list[ChangeHit]:
    """Return a hit for each query that is to be told of a change and was not yet.
    `names` are those of agencies by their keys.
    """
    wanting = [query for query in queries if query.changes]
    ids = {one for change in changes for one in change.article_ids}
    if not wanting or not ids:
        return []
    articles = {row.article_id: row for row in rows.read(RawArticle, article_id=ids)}
    known = {(hit.query, hit.event) for hit in rows.read(ChangeHit, article_id=ids)}
    matching = _matching(_matchables(rows, articles, names), wanting, now)
    new = set[tuple[str, str]]()
    for hit in rows.read(QueryHit, article_id=articles.keys()):
        matching[hit.article_id].add(hit.query)
        if hit.told_at is None:
            new.add((hit.query, hit.article_id))
    hits: list[ChangeHit] = []
    for change, query in product(changes, wanting):
        if (query.name, change.key) in known or not _wants(query, change):
            continue
        found = _first(change, query.name, matching, new)
        if found is not None:
            hits.append(_hit(query, articles[found], change, now))
    return hits


def _matching(
    articles: Iterable[Matchable], queries: Sequence[SavedQuery], now: datetime
) -> dict[str, set[str]]:
    """Return the names of the queries that each article matches, by article_id."""
    matcher = Matcher(queries)
    matching: dict[str, set[str]] = defaultdict(set)
    for found in articles:
        names = {query.name for query in matcher.matching(found, now.date())}
        matching[found.article.article_id] |= names
    return matching


def _matchables(
    rows: Reader, articles: Mapping[str, RawArticle], names: Mapping[str, str]
) -> list[Matchable]:
    """Return those of the articles that have a text."""
    found = rows.read(EnrichedArticle, article_id=articles.keys(), outcome=["ok"])
    enriched = {row.article_id: row for row in found}
    return [
        Matchable(article, enriched.get(key), names.get(article.agency, ""))
        for key, article in articles.items()
        if article.outcome == "ok"
    ]


def _wants(query: SavedQuery, change: ToldChange) -> bool:
    is_later = query.since is None or change.at > query.since
    return change.kind in query.changes and is_later


def _first(
    change: ToldChange,
    name: str,
    matching: Mapping[str, set[str]],
    new: Iterable[tuple[str, str]],
) -> str | None:
    """Return the first article of a change that a query matches; one that it is still to
    be told of as new is no news twice.
    """
    for article_id in change.article_ids:
        if name in matching.get(article_id, ()) and (name, article_id) not in new:
            return article_id
    return None


def _hit(
    query: SavedQuery, article: RawArticle, change: ToldChange, now: datetime
) -> ChangeHit:
    return ChangeHit(
        query=query.name,
        article_id=article.article_id,
        event=change.key,
        desk=article.desk,
        agency=article.agency,
        day=article.day,
        found_at=now,
        due_at=due_at(query, now),
    )
