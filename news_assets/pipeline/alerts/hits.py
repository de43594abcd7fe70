"""What followers are told: articles that match a saved query, each compared once when
it is new in the index, and changes of meetings and bodies.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property, partial
from itertools import product

from news_assets.pipeline.alerts.query_file import ChangeKind, SavedQuery
from news_assets.pipeline.index import document_of
from news_assets.ports.search_index import COPIED_FACETS, Facet
from news_assets.ports.services import Lake, Reader, Rows
from news_assets.records.alerts import ChangeHit, Follower, QueryHit
from news_assets.records.articles import RawArticle
from news_assets.records.derived import Change, EnrichedArticle
from news_assets.text.prose import strip_markdown
from news_assets.text.query_parser import parse_operators, parse_query, phrase_pattern
from news_assets.text.query_tree import Searchable, matches, searchable_of
from news_assets.text.words import fold, stem

# --- which saved queries an article matches -------------------------------------------

# the longest articles have half of that; agenda packets are matched by their beginning
_MAX_TEXT_CHARS = 200_000


@dataclass(frozen=True)
class Matchable:
    """What queries are compared with: an article, enriched or not, and the name of its
    publisher.
    """

    article: RawArticle
    enriched: EnrichedArticle | None
    publisher: str = ""

    @property
    def language(self) -> str:
        """The language of the text; empty if it is not known."""
        stated = self.enriched.language if self.enriched else None
        return stated or self.article.language or ""

    @cached_property
    def searchable(self) -> Searchable:
        """What a search for it would find it by."""
        document = document_of(self.article, self.enriched, self.publisher)
        text = strip_markdown(document.text[:_MAX_TEXT_CHARS])
        return searchable_of(replace(document, text=text))

    @cached_property
    def folded(self) -> str:
        """The texts in lower case without accents, in which phrases are looked for."""
        found = self.searchable
        return fold(f"{found.title}\n{found.text}\n{found.rest}".lower())


class Matcher:
    """Saved queries, prepared for many articles.

    Their texts have no mistakes, else the constructor raises QueryError.
    """

    def __init__(self, queries: Sequence[SavedQuery]) -> None:
        self._queries = [_Prepared(query) for query in queries]

    def matches(self, found: Matchable, now: datetime) -> Iterator[SavedQuery]:
        """Yield the queries that match an article and report it, in the order of
        the file.
        """
        for prepared in self._queries:
            is_hit = _is_hit(prepared.query, found.article, now)
            if not is_hit:
                continue
            if prepared.is_match(found, now.date()):
                yield prepared.query

    def matching(self, found: Matchable, today: date) -> list[SavedQuery]:
        """Return the queries that match an article of any age."""
        result: list[SavedQuery] = []
        for one in self._queries:
            if one.is_match(found, today):
                result.append(one.query)
        return result


def _is_hit(query: SavedQuery, article: RawArticle, now: datetime) -> bool:
    """Whether a query reports an article of this age; without a time of publication its
    day counts to its end.
    """
    if query.backfill:
        return True
    published = article.published_at or datetime.combine(article.day, time.max, UTC)
    return now - published <= timedelta(hours=query.max_age_hours)


class _Prepared:
    """A query with its words, stemmed in each language when that is first seen."""

    def __init__(self, query: SavedQuery) -> None:
        self.query = query
        self._tree = parse_operators(query.query)
        self._stems: dict[
            str, tuple[frozenset[str], frozenset[str], list[re.Pattern[str]]]
        ] = {}

    def is_match(self, found: Matchable, today: date) -> bool:
        if not self._passes_filters(found):
            return False
        if not self.query.query.strip():
            return True
        if self._tree is not None:
            return matches(self._tree, found.searchable, today)
        needed, excluded, phrases = self._in_language(found.language)
        stems = found.searchable.stems
        if not needed <= stems:
            return False
        if not excluded.isdisjoint(stems):
            return False
        return all(phrase.search(found.folded) for phrase in phrases)

    def _passes_filters(self, found: Matchable) -> bool:
        query = self.query
        article = found.article
        enriched = found.enriched
        if not _is_of(query, article):
            return False
        if query.language is not None:
            wanted = f"{query.language}-".lower()
            if not f"{found.language}-".lower().startswith(wanted):
                return False
        if query.theme not in (None, *(enriched.theme_path if enriched else ())):
            return False
        rows = {"article": article, "enrichment": enriched}
        for facet in COPIED_FACETS:
            wanted_value = getattr(query, facet.name)
            row = rows[facet.column.source]
            if wanted_value is None:
                continue
            if not _has(row, facet, wanted_value):
                return False
        return True

    def _in_language(
        self, language: str
    ) -> tuple[frozenset[str], frozenset[str], list[re.Pattern[str]]]:
        if language not in self._stems:
            parsed = parse_query(self.query.query, (language,))
            needed = frozenset(stem(word, language) for word in parsed.words)
            excluded = frozenset(stem(word, language) for word in parsed.excluded)
            self._stems[language] = needed, excluded, phrase_pattern(parsed.phrases)
        return self._stems[language]


def _is_of(query: SavedQuery, article: RawArticle) -> bool:
    """Whether an article is of the desk, agency and days of a query."""
    if query.desk not in (None, article.desk):
        return False
    if query.agency not in (None, article.agency):
        return False
    if query.from_day is not None and article.day < query.from_day:
        return False
    if query.to_day is None:
        return True
    return article.day <= query.to_day


def _has(row: RawArticle | EnrichedArticle | None, facet: Facet, wanted: str) -> bool:
    """Return whether the row has this value of a facet; no row has none."""
    value = getattr(row, facet.field, None)
    if facet.is_list:
        if value is None:
            return False
        return wanted in value
    return bool(value == wanted)


FOLLOWER = "alerts"

# the changes after a cursor, and the cursor after them
_ReadChanges = Callable[[str], tuple[Sequence[Change], str]]


def follow(
    lake: Lake,
    matcher: Matcher,
    read_changes: _ReadChanges,
    newest: str,
    now: datetime,
    publishers: Mapping[str, str] | None = None,
) -> int:
    """Store the hits of all changes since the last call and return how many are new.
    `publishers` has the names of agencies by their keys.

    The first call begins at the cursor `newest`, so that it tells nothing of what is
    stored already.
    """
    count = 0
    while True:
        begun = lake.read(Follower, name=[FOLLOWER])
        changes, cursor = read_changes(begun[0].cursor) if begun else ((), newest)
        if begun and not changes:
            return count
        ids = {one.article_id for one in changes if one.change == "indexed"}
        work = partial(_store, matcher=matcher, names=publishers or {}, now=now)
        count += lake.transact(partial(work, article_ids=ids, cursor=cursor))


def restart(lake: Lake, newest: str) -> None:
    """Go on from this cursor."""
    lake.transact(lambda rows: rows.upsert([Follower(name=FOLLOWER, cursor=newest)]))


def _store(
    rows: Rows,
    *,
    matcher: Matcher,
    names: Mapping[str, str],
    article_ids: Collection[str],
    cursor: str,
    now: datetime,
) -> int:
    rows.upsert([Follower(name=FOLLOWER, cursor=cursor)])
    hits = _find_hits(rows, matcher, names, article_ids, now)
    rows.upsert(hits)
    return len(hits)


def _find_hits(
    rows: Reader,
    matcher: Matcher,
    names: Mapping[str, str],
    article_ids: Collection[str],
    now: datetime,
) -> list[QueryHit]:
    """Return a hit for each query and article that it has not found before.

    A copy is no hit of a query that has found its original: the same text is reported
    once.
    """
    articles = rows.read(RawArticle, article_id=article_ids, outcome=["ok"])
    enriched = _enriched(rows, article_ids)
    originals = {article.duplicate_of for article in articles if article.duplicate_of}
    stored = rows.read(QueryHit, article_id={*article_ids, *originals})
    known = {(hit.query, hit.article_id) for hit in stored}
    # originals first, so that their copies are none
    articles.sort(key=lambda one: (one.duplicate_of is not None, one.article_id))
    hits: list[QueryHit] = []
    for article in articles:
        publisher = names.get(article.agency, article.agency)
        found = Matchable(article, enriched.get(article.article_id), publisher)
        for query in matcher.matches(found, now):
            if not _is_known(query.name, article, known):
                known.add((query.name, article.article_id))
                hits.append(_new_hit(query, article, now))
    return hits


def _is_known(
    query: str, article: RawArticle, known: Collection[tuple[str, str]]
) -> bool:
    """Whether a query has found an article or its original."""
    if (query, article.article_id) in known:
        return True
    return (query, article.duplicate_of) in known


def _enriched(rows: Reader, article_ids: Collection[str]) -> dict[str, EnrichedArticle]:
    """Return the enrichments of these articles, by article_id."""
    found = rows.read(EnrichedArticle, article_id=article_ids, outcome=["ok"])
    return {row.article_id: row for row in found}


def _new_hit(query: SavedQuery, article: RawArticle, now: datetime) -> QueryHit:
    return QueryHit(
        query=query.name,
        article_id=article.article_id,
        desk=article.desk,
        agency=article.agency,
        day=article.day,
        found_at=now,
        due_at=due_at(query, now),
    )


def due_at(query: SavedQuery, now: datetime) -> datetime:
    """Return when a hit is reported: at once, at the next full hour, at the next
    midnight (UTC), or at that before the next Monday.
    """
    hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    match query.when:
        case "hourly":
            return hour + timedelta(hours=1)
        case "daily":
            return hour.replace(hour=0) + timedelta(days=1)
        case "weekly":
            return hour.replace(hour=0) + timedelta(days=7 - hour.weekday())
        case _:
            return now


@dataclass(frozen=True, slots=True)
class RecentChange:
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
    changes: Sequence[RecentChange],
    names: Mapping[str, str],
    now: datetime,
) -> list[ChangeHit]:
    """Return a hit for each query that is to be told of a change and was not yet.
    `names` are those of agencies by their keys.
    """
    wanting = [query for query in queries if query.changes]
    ids = set[str]()
    for change in changes:
        ids.update(change.article_ids)
    if not wanting or not ids:
        return []
    articles = {row.article_id: row for row in rows.read(RawArticle, article_id=ids)}
    known = {(hit.query, hit.event) for hit in rows.read(ChangeHit, article_id=ids)}
    matching, new = _matching(rows, articles, names, wanting, now)
    hits: list[ChangeHit] = []
    for change, query in product(changes, wanting):
        if (query.name, change.key) in known:
            continue
        if not _wants(query, change):
            continue
        found = _first(change, query.name, matching, new)
        if found is not None:
            hits.append(_hit(query, articles[found], change, now))
    return hits


def _matching(
    rows: Reader,
    articles: Mapping[str, RawArticle],
    names: Mapping[str, str],
    queries: Sequence[SavedQuery],
    now: datetime,
) -> tuple[dict[str, set[str]], set[tuple[str, str]]]:
    """Return the names of the queries that each article matches or matched, by
    article_id, and the hits that are still to be reported, as query and article_id.
    """
    matcher = Matcher(queries)
    enriched = _enriched(rows, articles.keys())
    matching: dict[str, set[str]] = defaultdict(set)
    for key, article in articles.items():
        if article.outcome != "ok":
            continue
        publisher = names.get(article.agency, "")
        found = Matchable(article, enriched.get(key), publisher)
        for query in matcher.matching(found, now.date()):
            matching[key].add(query.name)
    new: set[tuple[str, str]] = set()
    for hit in rows.read(QueryHit, article_id=articles.keys()):
        matching[hit.article_id].add(hit.query)
        if hit.told_at is None:
            new.add((hit.query, hit.article_id))
    return matching, new


def _wants(query: SavedQuery, change: RecentChange) -> bool:
    is_later = query.since is None or change.at > query.since
    if change.kind not in query.changes:
        return False
    return is_later


def _first(
    change: RecentChange,
    name: str,
    matching: Mapping[str, set[str]],
    new: Iterable[tuple[str, str]],
) -> str | None:
    """Return the first article of a change that a query matches; one that it is still to
    be told of as new is no news twice.
    """
    for article_id in change.article_ids:
        if name not in matching.get(article_id, ()):
            continue
        if (name, article_id) not in new:
            return article_id
    return None


def _hit(
    query: SavedQuery, article: RawArticle, change: RecentChange, now: datetime
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
