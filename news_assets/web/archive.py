"""What the pages show, read from the search index, the lake and the desk files.

One archive serves all requests. Searches run one after the other, because an index is used by one thread at a time;
reads of the lake run beside each other.
"""

import gzip
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final, Self, TypeVar

from news_assets.desks.loader import load_desks
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.alerts.loader import load_alerts
from news_assets.pipeline.alerts.spec import SavedQuery
from news_assets.records.derived import ArticleEmbedding, Change, Failure
from news_assets.records.desks import Desk
from news_assets.records.polling import StoredPage
from news_assets.search import Index, SearchAnswer, SearchHit, open_index
from news_assets.settings import Settings
from news_assets.sources.kinds import ALL_KINDS
from news_assets.store.changes import Cursor, read_changes
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import pending_entries, stale_rows
from news_assets.store.queries.civic.lists import place_of_article
from news_assets.store.queries.copies import Copy, copies_of
from news_assets.store.queries.health import silent_agencies
from news_assets.store.queries.lists import (
    ListedArticle,
    day_counts,
    named_articles,
    newest_articles,
    newest_failures,
)
from news_assets.store.queries.source_status import source_rows
from news_assets.store.queries.url_history import StoredRows, events_of, stored_rows
from news_assets.taxonomy.loader import Taxonomy, taxonomy_of
from news_assets.web.answers import AgencyItem, ArticleView, CoverageItem, Part, SearchPart, SourceItem
from news_assets.web.coverage import COVERAGE_DAYS, Coverage, coverage_of
from news_assets.web.parameters import (
    MAX_LIMIT,
    MAX_PAGE,
    ArticleParameters,
    ChangeParameters,
    FailureParameters,
    ListParameters,
    OfDesk,
    SearchAddress,
    cursor_of,
)

MAX_SECONDS: Final = 10.0  # that a request waits for its turn to search, or for its answer
_SIMILAR: Final = 5
_COMMIT_SECONDS: Final = 0.5  # for which the number of the last commit is believed

T = TypeVar("T")


class BusyError(NewsAssetsError):
    """The server has too much to do; the same request can succeed later."""


class Archive:
    """Reads of the index, the lake and the desk files; `taxonomies` are those of the desks by key."""

    def __init__(
        self,
        index: Index,
        lake: Lake,
        desks: Sequence[Desk],
        taxonomies: Mapping[str, Taxonomy],
        queries: Sequence[SavedQuery] = (),
    ) -> None:
        self._index = index
        self._searching = threading.Lock()
        self.lake = lake
        self.desks = desks
        self._taxonomies = taxonomies
        self.queries = queries
        self._commit = (0, -_COMMIT_SECONDS)
        self._names = {agency.key: agency.name for desk in desks for agency in desk.agencies}

    @classmethod
    @contextmanager
    def open(cls, settings: Settings, lake: Lake) -> Iterator[Self]:
        """Yield the archive that these settings name. Raises NewsAssetsError."""
        desks = load_desks(settings.desks, ALL_KINDS)
        taxonomies = {desk.key: taxonomy_of(desk, settings.taxonomy) for desk in desks}
        with open_index(settings) as index:
            yield cls(index, lake, desks, taxonomies, load_alerts(settings.queries).queries)

    # --- names -------------------------------------------------------------------------------------------------------

    def agency_name(self, key: str) -> str:
        """Return the agency's name in its desk file, else its key."""
        return self._names.get(key, key)

    def theme_label(self, code: str, language: str, desk: str | None = None) -> str:
        """Return the label of a desk's theme, by default of the first with the code; the code if it is not known."""
        taxonomies = [one for key, one in self._taxonomies.items() if desk in (None, key)]
        theme = next((one.themes[code] for one in taxonomies if code in one.themes), None)
        return theme.label(language) if theme else code

    # --- search ------------------------------------------------------------------------------------------------------

    def search(self, address: SearchAddress) -> SearchPart:
        """Return a part of the hits of a search. Raises ParameterError, IndexingError, EmbedError."""
        answer = self._search(address)
        end = address.offset + len(answer.hits)
        following = cursor_of(end) if answer.hits and end < min(answer.found, MAX_LIMIT * MAX_PAGE) else None
        return SearchPart(items=answer.hits, next=following, found=answer.found, facets=answer.facets)

    def _search(self, address: SearchAddress) -> SearchAnswer:
        with self._turn():
            return self._index.search(
                address.text,
                address.filters,
                mode=address.mode,
                sort=address.sort,
                limit=address.limit,
                offset=address.offset,
                explain=address.explain,
            )

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for the index. Raises BusyError if other searches take too long."""
        if not self._searching.acquire(timeout=MAX_SECONDS):
            raise BusyError(f"other searches have taken more than {MAX_SECONDS:.0f} s; try again")
        try:
            yield
        finally:
            self._searching.release()

    def wider(self, address: SearchAddress) -> dict[str, int]:
        """Return for each filter how many hits the search has without it, where it has any."""
        counts = {name: self._search(address.without(name)).found for name in address.active}
        return {name: count for name, count in counts.items() if count}

    def copies(self, hits: Sequence[SearchHit]) -> Mapping[str, Sequence[Copy]]:
        """Return the copies of each hit that has any, by its article id."""
        return copies_of(self.lake, [hit.article_id for hit in hits])

    # --- articles ----------------------------------------------------------------------------------------------------

    def article(self, article_id: str) -> ArticleView | None:
        """Return an article; None for an unknown id."""
        with self.lake.latest() as lake:
            rows = stored_rows(lake, [article_id])
            if not rows.articles:
                return None
            copies = copies_of(lake, [article_id]).get(article_id, ())
        return ArticleView(
            article=rows.articles[0],
            enriched=next(iter(rows.derived["enriched_articles"]), None),
            revisions=sorted(rows.revisions, key=lambda row: row.replaced_at, reverse=True),
            copies=copies,
            events=events_of(rows),
            similar=self._similar(rows, {copy.article_id for copy in copies} | {article_id}),
            has_page=bool(rows.pages),
            place=place_of_article(self.lake, article_id) if rows.articles[0].meeting_id else None,
        )

    def _similar(self, rows: StoredRows, others: Collection[str]) -> list[SearchHit]:
        """Return the hits nearest in meaning to an article's stored vector, without the article and its copies."""
        found: list[ArticleEmbedding] = [row for row in rows.derived["article_embeddings"] if row.outcome == "ok"]
        if not found:
            return []
        [article] = rows.articles
        with self._turn():
            limit = _SIMILAR + len(others)
            hits = self._index.nearest(article.title or article.article_id, found[0].vector, found[0].model, limit)
        return [hit for hit in hits if hit.article_id not in others][:_SIMILAR]

    def articles(self, parameters: ArticleParameters) -> Part[ListedArticle]:
        """Return a part of the articles, newest first. Raises ParameterError."""
        after, limit = parameters.position(str, str), parameters.limit
        given = parameters.model_dump(include={"desk", "agency", "outcome", "from_day", "to_day"})
        found = newest_articles(self.lake, **given, after=after, limit=limit + 1)
        return _part(found, limit, lambda row: cursor_of(row.day.isoformat(), row.article_id))

    def listed(self, hits: Sequence[SearchHit]) -> dict[str, ListedArticle]:
        """Return what the lake has of these hits, by article id."""
        ids, days = [hit.article_id for hit in hits], {hit.day for hit in hits}
        return {row.article_id: row for row in named_articles(self.lake, ids, days)}

    def original_page(self, article_id: str) -> tuple[str, bytes] | None:
        """Return content type and body of the newest stored page of an article; None if none is stored."""
        pages = self.lake.read(StoredPage, article_id=[article_id])
        if not pages:
            return None
        page = max(pages, key=lambda page: page.fetched_at)
        return page.content_type, gzip.decompress(page.body_gzip)

    # --- operations --------------------------------------------------------------------------------------------------

    def coverage(self, desk: Desk, now: datetime) -> Coverage:
        """Return the articles of a desk by agency and day, and what waits for a stage."""
        import polars as pl

        first_day = (now - timedelta(days=COVERAGE_DAYS - 1)).date()
        with self.lake.latest() as lake:
            stored = day_counts(lake, desk.key, first_day)
            backlog = pl.concat([find(lake, desk, now, first_day) for find in (pending_entries, stale_rows)])
        waiting = backlog.group_by("agency", "day").agg(pl.col("article_id").n_unique().alias("behind"))
        return coverage_of(desk, stored.join(waiting, on=["agency", "day"], how="full", coalesce=True), now)

    def covered(self, parameters: OfDesk) -> Part[CoverageItem]:
        """Return a part of the counts of the last days by agency and day. Raises ParameterError."""
        now = datetime.now(UTC)
        items = [
            CoverageItem(
                desk=grid.desk, agency=agency, day=day, articles=cell.articles, failed=cell.failed, behind=cell.behind
            )
            for grid in (self.coverage(desk, now) for desk in self.desks if parameters.desk in (None, desk.key))
            for agency, _, cells in grid.rows
            for day, cell in zip(grid.days, cells, strict=True)
            if cell and parameters.agency in (None, agency)
        ]
        return _slice(items, parameters)

    def agencies(self, parameters: OfDesk) -> Part[AgencyItem]:
        """Return a part of the agencies of the desk files. Raises ParameterError."""
        items = [
            AgencyItem(
                desk=desk.key,
                agency=agency.key,
                name=agency.name,
                timezone=agency.timezone,
                language=agency.language,
                is_active=agency.is_active,
                sources=len(agency.sources),
            )
            for desk in self.desks
            for agency in desk.agencies
            if parameters.desk in (None, desk.key) and parameters.agency in (None, agency.key)
        ]
        return _slice(items, parameters)

    def sources(self, parameters: OfDesk) -> Part[SourceItem]:
        """Return a part of the sources, with what `news-assets agencies` prints of them. Raises ParameterError."""
        now = datetime.now(UTC)
        items = [
            SourceItem(**row)
            for desk in self.desks
            if parameters.desk in (None, desk.key)
            for row in source_rows(self.lake, desk, silent_agencies(self.lake, desk, now), now)
            if parameters.agency in (None, row["agency"])
        ]
        return _slice(items, parameters)

    def failures(self, parameters: FailureParameters) -> Part[Failure]:
        """Return a part of the failures, newest first. Raises ParameterError."""
        after, limit = parameters.position(str, str, str), parameters.limit
        given = parameters.model_dump(include={"desk", "agency", "stage"})
        found = newest_failures(self.lake, **given, after=after, limit=limit + 1)
        return _part(found, limit, lambda row: cursor_of(row.last_failed_at.isoformat(), row.stage, row.article_id))

    def changes(self, parameters: ChangeParameters) -> Part[Change]:
        """Return the changes after a cursor, in commit order; `next` is there also at the end. Raises CursorError."""
        since = Cursor.of(parameters.since) if parameters.since else None
        found, after = read_changes(self.lake, since, parameters.limit)
        return Part(items=found, next=str(after))

    def commit(self) -> int:
        """Return the number of the last commit, or of that of half a second ago. Raises LakeError."""
        number, read_at = self._commit
        if (now := time.monotonic()) - read_at >= _COMMIT_SECONDS:
            number = self.lake.snapshot()
            self._commit = (number, now)
        return number

    def is_ready(self) -> None:
        """Read from the lake and the index. Raises NewsAssetsError if one cannot be read."""
        self.lake.snapshot()
        with self._turn():
            self._index.search("", mode="keyword", limit=1)


def _part(found: Sequence[T], limit: int, cursor: Callable[[T], str]) -> Part[T]:
    """Return the first rows as a part; there is one row more if others follow."""
    return Part(items=found[:limit], next=cursor(found[limit - 1]) if len(found) > limit else None)


def _slice(items: Sequence[T], parameters: ListParameters) -> Part[T]:
    """Return a part of a list that is whole in memory."""
    [begin] = parameters.position(int) or (0,)
    end = begin + parameters.limit
    return Part(items=items[begin:end], next=cursor_of(end) if end < len(items) else None)
