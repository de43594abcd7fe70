"""What the pages show, read from the search index, the lake and the desk files.

One archive serves all requests. Searches run one after the other, because an index is used by one thread at a time;
reads of the lake run beside each other.
"""

import gzip
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Self

from news_assets.desks.loader import load_desks
from news_assets.pipeline.freshness.source_status import source_facts
from news_assets.records import (
    ArticleEmbedding,
    ArticleRevision,
    Desk,
    EnrichedArticle,
    Failure,
    RawArticle,
    StoredPage,
)
from news_assets.search import Index, SearchAnswer, SearchHit, open_index
from news_assets.settings import Settings
from news_assets.sources.kinds import ALL_KINDS
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import pending_entries, stale_rows
from news_assets.store.queries.health import silent_agencies
from news_assets.store.queries.source_status import source_rows
from news_assets.store.queries.url_history import Event, article_history
from news_assets.taxonomy.loader import Taxonomy, load_taxonomy
from news_assets.web.parameters import SearchAddress

if TYPE_CHECKING:
    import polars

COVERAGE_DAYS: Final = 14
_SIMILAR: Final = 5
_MAX_FAILURES: Final = 500

_COVERAGE = """
    SELECT agency, day, count(*) AS articles, count(*) FILTER (outcome NOT IN ('ok', 'withdrawn')) AS failed
    FROM raw_articles WHERE desk = $desk AND day >= $first_day GROUP BY ALL
"""
_COPIES = """
    SELECT article_id, desk, agency, day, url, title, published_at, duplicate_of, duplicate_reason, duplicate_score
    FROM raw_articles WHERE (article_id = $original OR duplicate_of = $original) AND outcome = 'ok'
    ORDER BY coalesce(published_at, first_seen_at), article_id LIMIT 100
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleView:
    """An article with everything that is stored about it.

    `copies` are the rows of all articles with the same or nearly the same text, this one included, by time; without
    copies there are none. `revisions` are replaced texts, newest first. `similar` are hits by meaning.
    """

    article: RawArticle
    enriched: EnrichedArticle | None
    revisions: Sequence[ArticleRevision]
    copies: Sequence[Mapping[str, Any]]
    events: Sequence[Event]
    similar: Sequence[SearchHit]
    has_page: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Articles of one agency and day, and how many of them failed or wait for a stage."""

    articles: int
    failed: int
    behind: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The agencies of a desk with a cell for each of the last days, newest day first; None where nothing is stored."""

    desk: str
    days: Sequence[date]
    rows: Sequence[tuple[str, str, Sequence[Cell | None]]]


class Archive:
    """Reads of the index, the lake and the desk files."""

    def __init__(self, index: Index, lake: Lake, desks: Sequence[Desk], taxonomy: Taxonomy) -> None:
        self._index = index
        self._searching = threading.Lock()
        self._lake = lake
        self.desks = desks
        self._taxonomy = taxonomy
        self._names = {agency.key: agency.name for desk in desks for agency in desk.agencies}

    @classmethod
    @contextmanager
    def open(cls, settings: Settings, lake: Lake) -> Iterator[Self]:
        """Yield the archive that these settings name. Raises NewsAssetsError."""
        desks, taxonomy = load_desks(settings.desks, ALL_KINDS), load_taxonomy(settings.taxonomy)
        with open_index(settings) as index:
            yield cls(index, lake, desks, taxonomy)

    # --- names -------------------------------------------------------------------------------------------------------

    def agency_name(self, key: str) -> str:
        """Return the agency's name in its desk file, else its key."""
        return self._names.get(key, key)

    def theme_label(self, code: str, language: str) -> str:
        """Return the theme's label, else its code: the taxonomy may have changed since."""
        theme = self._taxonomy.themes.get(code)
        return theme.label(language) if theme else code

    # --- search ------------------------------------------------------------------------------------------------------

    def search(self, address: SearchAddress) -> SearchAnswer:
        """Return the answer to a search. Raises IndexingError, EmbedError."""
        with self._searching:
            return self._index.search(
                address.text, address.filters, mode=address.mode, limit=address.size, offset=address.offset
            )

    def wider(self, address: SearchAddress) -> dict[str, int]:
        """Return for each filter how many hits the search has without it, where it has any."""
        counts = {name: self.search(address.without(name)).found for name in address.active}
        return {name: count for name, count in counts.items() if count}

    # --- articles ----------------------------------------------------------------------------------------------------

    def article(self, article_id: str) -> ArticleView | None:
        """Return an article; None for an unknown id."""
        ids = [article_id]
        article = next(iter(self._lake.read(RawArticle, article_id=ids)), None)
        if article is None:
            return None
        copies = self._lake.query(_COPIES, {"original": article.duplicate_of or article_id}).rows(named=True)
        return ArticleView(
            article=article,
            enriched=next(iter(self._lake.read(EnrichedArticle, article_id=ids)), None),
            revisions=sorted(
                self._lake.read(ArticleRevision, article_id=ids), key=lambda row: row.replaced_at, reverse=True
            ),
            copies=copies if len(copies) > 1 else (),
            events=article_history(self._lake, ids),
            similar=self._similar(article, {row["article_id"] for row in copies} | {article_id}),
            has_page=not self._lake.frame(StoredPage, None, ("article_id",), article_id=ids).is_empty(),
        )

    def _similar(self, article: RawArticle, others: Collection[str]) -> list[SearchHit]:
        """Return the hits nearest in meaning to an article's stored vector, without the article and its copies."""
        found = self._lake.read(ArticleEmbedding, article_id=[article.article_id], outcome=["ok"])
        if not found:
            return []
        with self._searching:
            limit = _SIMILAR + len(others)
            hits = self._index.nearest(article.title or article.article_id, found[0].vector, found[0].model, limit)
        return [hit for hit in hits if hit.article_id not in others][:_SIMILAR]

    def original_page(self, article_id: str) -> tuple[str, bytes] | None:
        """Return content type and body of the newest stored page of an article; None if none is stored."""
        pages = self._lake.read(StoredPage, article_id=[article_id])
        if not pages:
            return None
        page = max(pages, key=lambda page: page.fetched_at)
        return page.content_type, gzip.decompress(page.body_gzip)

    # --- operations --------------------------------------------------------------------------------------------------

    def coverage(self, desk: Desk, now: datetime) -> Coverage:
        """Return the articles of a desk by agency and day, and what waits for a stage."""
        import polars as pl

        first_day = (now - timedelta(days=COVERAGE_DAYS - 1)).date()
        stored = self._lake.query(_COVERAGE, {"desk": desk.key, "first_day": first_day})
        backlog = pl.concat(
            [
                pending_entries(self._lake, desk, now, first_day).select("agency", "day", "article_id"),
                stale_rows(self._lake, desk, now, first_day).select("agency", "day", "article_id"),
            ]
        )
        waiting = backlog.group_by("agency", "day").agg(pl.col("article_id").n_unique().alias("behind"))
        return _coverage(desk, stored.join(waiting, on=["agency", "day"], how="full", coalesce=True), now)

    def sources(self, desk: Desk, now: datetime) -> list[dict[str, Any]]:
        """Return a row for each source of a desk with its health, as `news-assets agencies` prints it."""
        rows = source_rows(self._lake, desk, silent_agencies(self._lake, desk, now), now)
        return [row | {"facts": source_facts(row, now)} for row in rows]

    def failures(self) -> list[Failure]:
        """Return the newest failures of all stages, at most 500."""
        found = self._lake.read(Failure)
        return sorted(found, key=lambda row: row.last_failed_at, reverse=True)[:_MAX_FAILURES]

    def is_ready(self) -> None:
        """Read from the lake and the index. Raises NewsAssetsError if one cannot be read."""
        self._lake.snapshot()
        with self._searching:
            self._index.search("", mode="keyword", limit=1)


def _coverage(desk: Desk, cells: "polars.DataFrame", now: datetime) -> Coverage:
    found = {
        (row["agency"], row["day"]): Cell(
            articles=row["articles"] or 0, failed=row["failed"] or 0, behind=row["behind"] or 0
        )
        for row in cells.iter_rows(named=True)
    }
    days = [now.date() + timedelta(days=1) - timedelta(days=n) for n in range(COVERAGE_DAYS + 1)]
    days = [day for day in days if day <= now.date() or any(at == day for _, at in found)]
    rows = [
        (agency.key, agency.name, [found.get((agency.key, day)) for day in days])
        for agency in desk.agencies
        if agency.is_active
    ]
    return Coverage(desk=desk.key, days=days, rows=rows)
