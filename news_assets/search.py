"""Search the index from Python, without Dagster or the command line.

    >>> from news_assets import search
    >>> with search.open_index() as index:
    ...     filters = search.Filters(agency="prefeitura")
    ...     answer = index.search("vacinacao nas escolas", filters, mode="keyword")
    >>> for hit in answer.hits:
    ...     print(hit.day, hit.agency, hit.title)
    2026-01-05 prefeitura Vila Serena leva vacinação contra a gripe às escolas
    >>> answer.found, answer.facets["agency"]
    (1, {'prefeitura': 1})

The settings of the environment name the index (NEWS_HOME, NEWS_SEARCH) and the model
for queries. Accents, inflection and one typo per word make no difference. Heavy
libraries are imported by the first search that needs them.

Every error is a `news_assets.errors.NewsAssetsError`: `SettingsError` for an invalid
setting, `IndexingError` if the index cannot be read, `EmbedError` if the model cannot
be used, `QueryError` for a mistake in the text of a search.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Self

from news_assets.errors import IndexingError
from news_assets.ports.search_index import (
    Embedder,
    Filters,
    SearchAnswer,
    SearchHit,
    SearchIndex,
    SearchMode,
    SearchQuery,
    SearchSort,
)
from news_assets.ports.services import Lazy
from news_assets.text.query_parser import has_meaning, plain_words

if TYPE_CHECKING:
    from news_assets.settings import Settings
    from news_assets.store.lake import Lake
    from news_assets.store.queries.copies import Copy

__all__ = [
    "Filters",
    "Index",
    "SearchAnswer",
    "SearchHit",
    "SearchMode",
    "SearchSort",
    "copies",
    "next_meetings_first",
    "open_index",
]


_MAX_ARTICLES = 10_000
_HITS_AT_ONCE = 250  # Typesense gives no more
# of a query; the time for a vector grows with its length, and 500 characters can take
# 0.4 s
_MEANT_CHARS = 300


class Index:
    """A search index and the embedding model for queries, which the first search that
    needs it loads.
    """

    def __init__(
        self,
        index: SearchIndex,
        open_embedder: Callable[[], Embedder],
        close: Callable[[], None],
    ) -> None:
        self._index = index
        self._close = close
        self._embedder = Lazy(open_embedder)
        self._is_model_checked = False

    def search(
        self,
        text: str,
        filters: Filters | None = None,
        *,
        mode: SearchMode = "hybrid",
        sort: SearchSort = "relevance",
        limit: int = 10,
        offset: int = 0,
        explain: bool = False,
        vector: tuple[float, ...] | None = None,
        today: date | None = None,
    ) -> SearchAnswer:
        """Return the best hits, the number of all, and their counts by the values of
        each facet.

        A hybrid search is a keyword search where most documents with the words are in a
        language that the model does not read.

        Args:
            text: Words, "quoted phrases", -exclusions and operators (docs/search.md);
                empty lists the newest.
            filters: Filters that every hit passes.
            mode: By words, by meaning (the vector of the text), or both.
            sort: The best first, or the newest; in a search by
                meaning of the nearest 100.
            limit: Number of hits.
            offset: Number of hits to skip.
            explain: Give each hit an `explanation`: its ranks, and the fields with
                words of the query.
            vector: That of the text, from `vector_of`; by default it is made here.
            today: The last day of `date:7d`; by default today in UTC.

        Raises:
            QueryError: A mistake in the text.
            IndexingError: The index could not be read, or has vectors of another model.
            EmbedError: The model cannot be used.
        """
        is_by_meaning = mode != "keyword" and has_meaning(text)
        if is_by_meaning:
            self._check_model()
            vector = vector or self.vector_of(text)
        else:
            vector = None
        query = SearchQuery(
            text=text,
            mode=mode,
            vector=vector,
            sort=sort,
            limit=limit,
            offset=offset,
            explain=explain,
            today=today or datetime.now(UTC).date(),
            **asdict(filters or Filters()),
        )
        answer = self._index.search(query)
        if mode == "hybrid" and is_by_meaning and not self._can_read(answer.languages):
            return self._index.search(replace(query, mode="keyword"))
        return answer

    def articles_with(self, text: str, filters: Filters) -> set[str]:
        """Return the ids of the articles with these words, at most 10,000; of equal
        texts one. Raises IndexingError, QueryError.
        """
        found = set[str]()
        for offset in range(0, _MAX_ARTICLES, _HITS_AT_ONCE):
            query = SearchQuery(
                text=text,
                mode="keyword",
                sort="date",
                limit=_HITS_AT_ONCE,
                offset=offset,
                **asdict(filters),
            )
            hits = self._index.search(query).hits
            found.update(hit.article_id for hit in hits)
            if len(hits) < _HITS_AT_ONCE:
                break
        return found

    def nearest(
        self, vector: tuple[float, ...], model: str, limit: int = 10
    ) -> tuple[SearchHit, ...]:
        """Return the hits nearest in meaning to a stored vector of this model; none if
        the index has another model.

        Raises:
            IndexingError: The index could not be read.
        """
        if self._index.vector_model() != model:
            return ()
        return self._index.search(
            SearchQuery(text="", mode="vector", vector=vector, limit=limit)
        ).hits

    def vector_of(self, text: str) -> tuple[float, ...]:
        """Return the vector of the beginning of a query that is not blank, without its
        operators. It does not use the index.

        Raises:
            EmbedError: The model cannot be used.
            QueryError: A mistake in the text.
        """
        meant = plain_words(text).strip()[:_MEANT_CHARS]
        return self._embedder.open().embed_query(meant).vector

    def _can_read(self, languages: Mapping[str, int]) -> bool:
        """Return whether the model reads most documents, counted by language."""
        from news_assets.clients.embedding.exported_models import can_read

        return can_read(self._embedder.open().model, languages)

    def _check_model(self) -> None:
        """Raise IndexingError if the vectors of the index are of another model than that
        for queries.
        """
        if self._is_model_checked:
            return
        embedder = self._embedder.open()
        stored = self._index.vector_model()
        if stored not in (None, embedder.model):
            raise IndexingError(
                f"the model for queries is {embedder.model}, that of the index's vectors {stored}:"
                f" search by words, set NEWS_EMBEDDING_MODEL to {stored}, or embed everything with"
                f" {embedder.model}, then run `news-assets rebuild search`"
            )
        self._is_model_checked = True

    def close(self) -> None:
        """Close files and connections."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_index(settings: "Settings | None" = None) -> Index:
    """Return the index that these settings name, by default those of the environment.

    Raises:
        SettingsError: A setting is invalid.
        IndexingError: The index cannot be opened.
    """
    from news_assets.clients import factory
    from news_assets.settings import Settings

    settings = settings or Settings.read()
    opened = factory.open_index(*settings.search_place)

    def open_embedder() -> Embedder:
        from news_assets.clients.embedding.embedder import OnnxEmbedder

        return OnnxEmbedder.open(
            settings.embedding_model, settings.models_dir, settings.threads
        )

    return Index(opened, open_embedder, opened.close)


def next_meetings_first(
    hits: Collection[SearchHit],
    filters: Filters | None = None,
    settings: "Settings | None" = None,
) -> list[SearchHit]:
    """Return the hits with each matter of several meetings once: as its item in the
    next one, or in the last.

    Raises:
        SettingsError: A setting is invalid.
        LakeError: The lake cannot be read.
    """
    from news_assets.store.queries.copies import appearances_of, next_first

    with _lake(settings) as lake:
        groups = appearances_of(lake, [hit.article_id for hit in hits])
    return next_first(hits, groups, filters or Filters(), datetime.now(UTC).date())


def copies(
    hits: Collection[SearchHit], settings: "Settings | None" = None
) -> "dict[str, tuple[Copy, ...]]":
    """Return the copies of each hit that has any, by its article id: the others with
    the same or nearly the same text.

    Copies are in order of publication, from all desks; those of an agenda item are its
    matter's items in other meetings, the newest first. They are read from the lake,
    which is opened for it.

    Raises:
        SettingsError: A setting is invalid.
        LakeError: The lake cannot be read.
    """
    from news_assets.store.queries.copies import appearance_copies, copies_of

    ids = [hit.article_id for hit in hits]
    with _lake(settings) as lake, lake.latest() as snapshot:
        return copies_of(snapshot, ids) | appearance_copies(snapshot, ids)


def _lake(settings: "Settings | None") -> "AbstractContextManager[Lake]":
    from news_assets.settings import Settings
    from news_assets.store.lake import Lake

    settings = settings or Settings.read()
    return Lake.open(settings.catalog, settings.data, backups=settings.backups_dir)
