"""What the pages show, read from the search index, the lake and the desk files.

One archive serves all requests. Searches run one after the other, because an index is
used by one thread at a time; reads of the lake run beside each other.
"""

import gzip
import itertools
import logging
import math
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Final, Self

from news_assets.desks.desk_files import load_desks
from news_assets.desks.name_file import read_name_files
from news_assets.errors import IndexingError, NewsAssetsError
from news_assets.pipeline.alerts.query_file import Alerts, load_alerts
from news_assets.pipeline.civic.exports import zones_of
from news_assets.pipeline.civic.news_links import places_of
from news_assets.pipeline.stage_declaration import Findings
from news_assets.pipeline.stories.unusual import ThemeHabits
from news_assets.ports.search_index import SearchMode
from news_assets.ports.services import Reader
from news_assets.records.articles import ArticleRevision, RawArticle, StoredPage
from news_assets.records.derived import ArticleEmbedding
from news_assets.records.desks import Desk
from news_assets.search import Filters, Index, SearchAnswer, SearchHit, open_index
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.store.lake import Lake
from news_assets.store.queries.copies import (
    Copy,
    Groups,
    ItemAppearance,
    appearances_of,
    copies_of_article,
    items_like,
    next_first,
    publications_of,
    written_number,
)
from news_assets.store.queries.listed_articles import (
    ListedArticle,
    named_articles,
    newest_articles,
)
from news_assets.store.queries.news_links import NewsLink, links_of_articles
from news_assets.store.queries.poll_health import silent_agencies
from news_assets.store.queries.stored_meetings import place_of_article
from news_assets.store.queries.story_contents import story_by_article
from news_assets.store.queries.story_lists import theme_habits
from news_assets.store.queries.url_history import (
    StoredRows,
    events_of,
    shown_rows,
    stored_rows,
)
from news_assets.store.transaction import Snapshot
from news_assets.taxonomy import Taxonomy, taxonomy_of
from news_assets.text.dates import day_of
from news_assets.text.query_parser import has_meaning
from news_assets.web.answers import ArticleView, HitStory, Part, SearchPart, part_of
from news_assets.web.parameters import (
    MAX_LIMIT,
    MAX_PAGE,
    ArticleParameters,
    SearchAddress,
    cursor_of,
)

# that a request waits for its turn to search, or for its answer
MAX_SECONDS: Final = 10.0
_SIMILAR: Final = 5
_NEAREST: Final = 100  # that an index ranks by meaning
_HITS_AT_ONCE: Final = 5_000  # of a whole list; other searches go on between them
_log = logging.getLogger(__name__)
_ANY_TEXT: Final = "news"
_LOAD_AGAIN_SECONDS: Final = 60.0  # after the model could not be loaded
_COMMIT_SECONDS: Final = 0.5  # for which the number of the last commit is believed
# for which silences are: 160 agencies take a third of a second, and hours to fall silent
_SILENCES_FOR: Final = timedelta(minutes=1)
_HABITS_FOR: Final = timedelta(minutes=10)  # eight weeks of articles take 0.1 s
_MOST_HABITS: Final = 40  # days


_TEXTS: Final = """
    SELECT article_id, text FROM raw_articles
    WHERE list_contains($ids, article_id) AND day BETWEEN $first_day AND $last_day
"""


class BusyError(NewsAssetsError):
    """The server has too much to do; the same request can succeed later."""


class Archive:
    """Reads of the index, the lake and the desk files; `taxonomies` are those of the
    desks by key.
    """

    def __init__(
        self,
        index: Index,
        lake: Lake,
        desks: Sequence[Desk],
        taxonomies: Mapping[str, Taxonomy],
        rules: Alerts | None = None,
    ) -> None:
        self._index = index
        self._searching = threading.Lock()
        self.lake = lake
        self.desks = desks
        self._taxonomies = taxonomies
        self.rules = rules or Alerts()
        self.known_names = read_name_files([one.names for one in desks if one.names])
        self._commit = (0, -_COMMIT_SECONDS)
        self._silences: dict[str, tuple[datetime, Findings]] = {}
        self._habits: dict[date, tuple[datetime, ThemeHabits]] = {}
        self._is_model_ready = True
        self._load_again_at = math.inf
        self._is_civic = any(desk.is_civic for desk in desks)
        self._zones = zones_of(desks)
        self.places = places_of(desks)
        self._names: dict[str, str] = {}
        for desk in desks:
            self._names |= desk.agency_names

    @classmethod
    @contextmanager
    def open(cls, settings: Settings, lake: Lake) -> Iterator[Self]:
        """Yield the archive that these settings name. Raises NewsAssetsError."""
        desks = load_desks(settings.desks, ALL_KINDS)
        taxonomies = {desk.key: taxonomy_of(desk, settings.taxonomy) for desk in desks}
        with open_index(settings) as index:
            yield cls(index, lake, desks, taxonomies, load_alerts(settings.queries))

    # --- names ------------------------------------------------------------------------

    def agency_name(self, key: str) -> str:
        """Return the agency's name in its desk file, else its key."""
        return self._names.get(key, key)

    def zone_of(self, desk: str, agency: str) -> str:
        """Return the time zone of an agency; empty where no desk file has it."""
        return self._zones.get((desk, agency), "")

    @property
    def usual_zone(self) -> str:
        """The time zone of what has no agency: that of the first desk."""
        if self.desks:
            return self.desks[0].timezone
        return "UTC"

    def taxonomy(self, desk: str) -> Taxonomy | None:
        """Return the taxonomy of a desk; None for a desk without a desk file."""
        return self._taxonomies.get(desk)

    def theme_path(self, code: str, desk: str | None = None) -> tuple[str, ...]:
        """Return the codes from level 1 down to a desk's theme, by default of the first
        desk with the code; the code alone if it is not known.
        """
        for key, taxonomy in self._taxonomies.items():
            if desk in (None, key) and code in taxonomy.themes:
                return taxonomy.path(code)
        return (code,)

    def theme_label(self, code: str, language: str, desk: str | None = None) -> str:
        """Return the label of a desk's theme, by default of the first with the code;
        the code if it is not known.
        """
        for key, taxonomy in self._taxonomies.items():
            if desk in (None, key) and code in taxonomy.themes:
                return taxonomy.themes[code].label(language)
        return code

    def today(self) -> date:
        """Return the day in the usual time zone."""
        return day_of(datetime.now(UTC), self.usual_zone)

    # --- search -----------------------------------------------------------------------

    def load_model(self) -> None:
        """Load what searches need in a thread; until the model is there, they are by
        words.
        """
        self._is_model_ready = False
        self._load_again_at = math.inf
        threading.Thread(target=self._load_model, daemon=True).start()

    def _load_model(self) -> None:
        try:
            with self._turn():
                self._index.search("", mode="keyword", limit=1)
            self._index.vector_of(_ANY_TEXT)
            with self._turn():
                self._index.search(_ANY_TEXT, mode="vector", limit=1)
        except NewsAssetsError as error:
            _log.error("searches are by words only: %s", error)
            self._load_again_at = time.monotonic() + _LOAD_AGAIN_SECONDS
            return
        _log.debug("the model for searches by meaning is loaded")
        self._is_model_ready = True

    def is_by_words_only(self) -> bool:
        """Return whether no search is by meaning: the model is being loaded, or could
        not be, which is tried again from time to time.
        """
        if self._is_model_ready:
            return False
        if time.monotonic() >= self._load_again_at:
            self.load_model()
        return True

    def search(self, address: SearchAddress) -> SearchPart:
        """Return a part of the hits of a search. Raises ParameterError, QueryError,
        IndexingError, EmbedError.
        """
        answer = self._search(self._by_number(address))
        end = address.offset + len(answer.hits)
        following = (
            cursor_of(end)
            if answer.hits and end < min(answer.found, MAX_LIMIT * MAX_PAGE)
            else None
        )
        ids = [hit.article_id for hit in answer.hits] if self._is_civic else []
        groups = appearances_of(self.lake, ids)
        hits = next_first(
            answer.hits, groups, address.filters, datetime.now(UTC).date()
        )
        stories: dict[str, HitStory] = {}
        if address.stories:
            hits, stories = self._by_story(hits)
        return SearchPart(
            items=hits,
            next=following,
            found=answer.found,
            facets=answer.facets,
            mode=self._mode_of(address),
            appearances=_beneath(hits, groups),
            stories=stories,
        )

    def _by_story(
        self, hits: Sequence[SearchHit]
    ) -> tuple[list[SearchHit], dict[str, HitStory]]:
        """Return the first hit of each story and those without one, and the stories with
        their other hits by the article_id of the first.
        """
        ids = [hit.article_id for hit in hits]
        days = [hit.day for hit in hits]
        of_article = story_by_article(self.lake, ids, days)
        groups: dict[str, list[SearchHit]] = {}
        for hit in hits:
            story = of_article.get(hit.article_id)
            key = story.story_id if story else hit.article_id
            groups.setdefault(key, []).append(hit)
        stories: dict[str, HitStory] = {}
        for first, *others in groups.values():
            story = of_article.get(first.article_id)
            if story is not None:
                stories[first.article_id] = HitStory(
                    story_id=story.story_id,
                    title=story.title,
                    publisher_count=story.publisher_count,
                    article_count=story.article_count,
                    others=others,
                )
        return [group[0] for group in groups.values()], stories

    def _by_number(self, address: SearchAddress) -> SearchAddress:
        """Return the search for a public number as that for the phrase which agendas
        have; any other one as it is.
        """
        if not self._is_civic:
            return address
        filters = replace(address.filters, agency=None, theme=None)
        if len(address.chosen("agency")) == 1:
            filters = replace(filters, agency=address.agency)
        number = written_number(self.lake, address.text, filters)
        if not number:
            return address
        return address.model_copy(update={"text": f'"{number}"'})

    def all_hits(self, address: SearchAddress) -> Iterator[Sequence[SearchHit]]:
        """Yield all hits of a search in batches, each once: the nearest in meaning, as
        the first pages show them, then all with the words, newest first.

        Raises:
            IndexingError, EmbedError: As for `search`.
        """
        address = self._by_number(address).model_copy(update={"page": 1, "cursor": ""})
        seen = set[str]()
        mode = self._mode_of(address)
        if mode != "keyword" and has_meaning(address.text):
            for of_mode in dict.fromkeys((mode, "vector")):
                first = {"limit": _NEAREST, "mode": of_mode}
                hits = self._search(address.model_copy(update=first)).hits
                yield [hit for hit in hits if hit.article_id not in seen]
                seen.update(hit.article_id for hit in hits)
            if mode == "vector":
                return
        by_words = {"mode": "keyword", "sort": "date", "limit": _HITS_AT_ONCE}
        for offset in itertools.count(0, _HITS_AT_ONCE):
            following = by_words | {"cursor": cursor_of(offset)}
            hits = self._search(address.model_copy(update=following)).hits
            yield [hit for hit in hits if hit.article_id not in seen]
            seen.update(hit.article_id for hit in hits)
            if len(hits) < _HITS_AT_ONCE:
                return

    def _search(self, address: SearchAddress) -> SearchAnswer:
        mode = self._mode_of(address)
        is_by_meaning = mode != "keyword" and has_meaning(address.text)
        # while others search
        vector = self._index.vector_of(address.text) if is_by_meaning else None
        with self._turn():
            return self._index.search(
                address.text,
                address.filters,
                mode=mode,
                sort=address.sort,
                limit=address.limit,
                offset=address.offset,
                explain=address.explain,
                vector=vector,
                today=self.today(),
            )

    def _mode_of(self, address: SearchAddress) -> SearchMode:
        if address.mode != "keyword" and self.is_by_words_only():
            _log.debug("by words, without the model: %s", address.text)
            return "keyword"
        return address.mode

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for the index. Raises BusyError if other searches take too long."""
        if not self._searching.acquire(timeout=MAX_SECONDS):
            raise BusyError(
                f"other searches have taken more than {MAX_SECONDS:.0f} s; try again"
            )
        try:
            yield
        finally:
            self._searching.release()

    def items_with(self, text: str, filters: Filters) -> set[str]:
        """Return the articles of the agenda items with these words, or with a public
        number. Raises IndexingError.
        """
        number = written_number(self.lake, text, filters)
        with self._turn():
            found = self._index.articles_with(
                f'"{number}"' if number else text, filters
            )
        return found | items_like(self.lake, found)

    def articles_with(self, text: str, filters: Filters) -> set[str]:
        """Return the ids of the articles that a search by words finds. Raises
        IndexingError, QueryError.
        """
        with self._turn():
            return self._index.articles_with(text, filters)

    def counts(self, address: SearchAddress) -> SearchAnswer:
        """Return the number of hits of a search and their counts by value. Raises as
        `search`.
        """
        return self._search(self._by_number(address).model_copy(update={"limit": 1}))

    def facet_counts(self, address: SearchAddress, name: str) -> Mapping[str, int]:
        """Return the counts by value of a facet, of the search without its own filter:
        so that a chosen value does not hide the others.
        """
        widened = address.without(name).model_copy(update={"limit": 1})
        return self._search(widened).facets.get(name, {})

    def wider(self, address: SearchAddress) -> dict[str, int]:
        """Return for each filter how many hits the search has without it, where it has
        any.
        """
        counts = {
            name: self._search(address.without(name)).found for name in address.active
        }
        return {name: count for name, count in counts.items() if count}

    def publications(self, hits: Sequence[SearchHit]) -> Mapping[str, Sequence[Copy]]:
        """Return for each hit that has copies its copies and itself, by its article id."""
        return publications_of(self.lake, [hit.article_id for hit in hits])

    # --- articles ---------------------------------------------------------------------

    def article(
        self, article_id: str, *, with_events: bool = True
    ) -> ArticleView | None:
        """Return an article, with its events or without; None for an unknown id."""
        with self.lake.latest() as lake:
            read = stored_rows if with_events else shown_rows
            rows = read(lake, [article_id])
            if not rows.articles:
                return None
            [article] = rows.articles
            copies = copies_of_article(lake, article_id, article.duplicate_of)
            place = place_of_article(lake, article_id) if article.meeting_id else None
            reports_on = self.reports_on(lake, [article_id], [article.day])
        return ArticleView(
            article=article,
            enriched=next(iter(rows.derived["enriched_articles"]), None),
            revisions=sorted(
                rows.revisions, key=lambda row: row.replaced_at, reverse=True
            ),
            copies=copies,
            events=events_of(rows) if with_events else (),
            similar=self._similar(
                rows, {copy.article_id for copy in copies} | {article_id}
            ),
            has_page=bool(rows.pages),
            place=place,
            reports_on=reports_on,
        )

    def reports_on(
        self, lake: Snapshot, article_ids: Collection[str], days: Collection[date]
    ) -> list[NewsLink]:
        """Return the matters, meetings and laws that articles of some days report on."""
        return links_of_articles(lake, article_ids, days, self.places)

    def _similar(self, rows: StoredRows, others: Collection[str]) -> list[SearchHit]:
        """Return the hits nearest in meaning to an article's stored vector, without the
        article and its copies.
        """
        found: list[ArticleEmbedding] = [
            row for row in rows.derived["article_embeddings"] if row.outcome == "ok"
        ]
        if found:
            return self._nearest(found, others, _SIMILAR)
        return []

    def _nearest(
        self, stored: Sequence[ArticleEmbedding], without: Collection[str], limit: int
    ) -> list[SearchHit]:
        [first, *_] = stored
        most = limit + len(without)
        try:
            with self._turn():
                hits = self._index.nearest(first.vector, first.model, most)
        except (IndexingError, BusyError) as error:  # the article itself can be read
            _log.error("no similar articles of %s: %s", first.article_id, error)
            return []
        return [hit for hit in hits if hit.article_id not in without][:limit]

    def near(self, article_id: str, limit: int) -> list[SearchHit]:
        """Return the hits nearest in meaning to a stored article, without itself; none
        while the index cannot be read.
        """
        with self.lake.latest() as lake:
            stored = lake.read(ArticleEmbedding, article_id=[article_id])
        found = [row for row in stored if row.outcome == "ok"]
        if found:
            return self._nearest(found, {article_id}, limit)
        return []

    def articles(self, parameters: ArticleParameters) -> Part[ListedArticle]:
        """Return a part of the articles, newest first. Raises ParameterError."""
        after = parameters.position(date, str)
        limit = parameters.limit
        given = parameters.model_dump(
            include={"desk", "agency", "outcome", "from_day", "to_day"}
        )
        found = newest_articles(self.lake, **given, after=after, limit=limit + 1)
        return part_of(
            found, limit, lambda row: cursor_of(row.day.isoformat(), row.article_id)
        )

    def listed(self, hits: Sequence[SearchHit]) -> dict[str, ListedArticle]:
        """Return what the lake has of these hits, by article id."""
        ids = [hit.article_id for hit in hits]
        days = {hit.day for hit in hits}
        return {row.article_id: row for row in named_articles(self.lake, ids, days)}

    def texts(self, hits: Sequence[SearchHit]) -> dict[str, str | None]:
        """Return the texts of these hits by article id."""
        if not hits:
            return {}
        days = [hit.day for hit in hits]
        ids = [hit.article_id for hit in hits]
        given = {"ids": ids, "first_day": min(days), "last_day": max(days)}
        return dict(self.lake.query(_TEXTS, given).iter_rows())

    def original_page(self, article_id: str) -> tuple[str, bytes] | None:
        """Return content type and body of the newest stored page of an article; None if
        none is stored.
        """
        pages = self.lake.read(StoredPage, article_id=[article_id])
        if not pages:
            return None
        page = max(pages, key=lambda page: page.fetched_at)
        return page.content_type, gzip.decompress(page.body_gzip)

    # --- state ------------------------------------------------------------------------

    def commit(self) -> int:
        """Return the number of the last commit, or of that of half a second ago. Raises
        LakeError.
        """
        number, read_at = self._commit
        if (now := time.monotonic()) - read_at >= _COMMIT_SECONDS:
            number = self.lake.snapshot()
            self._commit = (number, now)
        return number

    def silences(self, lake: Snapshot, desk: Desk, now: datetime) -> Findings:
        """Return the silent agencies of a desk, or those of up to a minute ago. Raises
        LakeError.
        """
        kept = self._silences.get(desk.key)
        if kept is not None and now - kept[0] < _SILENCES_FOR:
            return kept[1]
        found = silent_agencies(lake, desk, now)
        self._silences[desk.key] = (now, found)
        return found

    def theme_habits(self, day: date, now: datetime) -> ThemeHabits:
        """Return the articles by theme of the weeks before a day, or those of up to ten
        minutes ago. Raises LakeError.
        """
        kept = self._habits.get(day)
        if kept is not None and now - kept[0] < _HABITS_FOR:
            return kept[1]
        found = theme_habits(self.lake, day)
        if len(self._habits) >= _MOST_HABITS:
            self._habits.clear()
        self._habits[day] = (now, found)
        return found

    def is_ready(self) -> None:
        """Read from the lake and the index. Raises NewsAssetsError if one cannot be
        read.
        """
        self.lake.check_data()
        with self._turn():
            self._index.search("", mode="keyword", limit=1)


def _beneath(
    hits: Sequence[SearchHit], groups: Groups
) -> dict[str, list[ItemAppearance]]:
    """Return the other appearances of the matter of each hit that has any, by the hit's
    article id.
    """
    others: dict[str, list[ItemAppearance]] = {}
    shown = {hit.article_id for hit in hits}
    for group in groups.values():
        for one in group:
            if one.article_id in shown:
                others[one.article_id] = [
                    other for other in group if other.article_id != one.article_id
                ]
    return others


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def revision_number(replaced_at: datetime) -> int:
    """Return what names a revision in addresses: when it was replaced, in microseconds
    since 1970.
    """
    return (replaced_at - _EPOCH) // timedelta(microseconds=1)


def revision_and_successor(
    lake: Reader, article_id: str, number: int
) -> tuple[ArticleRevision, ArticleRevision | RawArticle] | None:
    """Return a revision and the text that replaced it; None if it is not stored."""
    articles = lake.read(RawArticle, article_id=[article_id])
    found = sorted(
        lake.read(ArticleRevision, article_id=[article_id]),
        key=lambda one: one.replaced_at,
    )
    texts: list[ArticleRevision | RawArticle] = [*found, *articles]
    numbers = [revision_number(one.replaced_at) for one in found]
    if number not in numbers or not articles:
        return None
    place = numbers.index(number)
    return found[place], texts[place + 1]
