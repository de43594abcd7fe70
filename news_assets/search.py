"""Searching the index from Python, without Dagster and without the command line.

    >>> from news_assets import search
    >>> with search.open_index() as index:
    ...     answer = index.search("vacinacao nas escolas", search.Filters(agency="prefeitura"), mode="keyword", limit=3)
    >>> for hit in answer.hits:
    ...     print(hit.day, hit.agency, hit.title)
    2026-01-05 prefeitura Vila Serena leva vacinação contra a gripe às escolas
    >>> answer.found, answer.facets["agency"]
    (1, {'prefeitura': 1})

The index is the one that the settings name (NEWS_HOME, NEWS_SEARCH), and so is the model for queries. Words, filters
and a mode enter; a `SearchAnswer` with `SearchHit`s leaves. Accents, inflection and a typing mistake in a word make no
difference. Nothing heavy is imported before the search that needs it. Writing into the index does not belong here.

Raises, all of them `news_assets.errors.NewsAssetsError`: `SettingsError` where a setting cannot be used,
`IndexingError` where the index cannot be read, `EmbedError` where the model cannot be used.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date
from typing import TYPE_CHECKING, Self

from news_assets.errors import IndexingError
from news_assets.ports import Embedder, SearchAnswer, SearchHit, SearchIndex, SearchMode, SearchQuery

if TYPE_CHECKING:
    from news_assets.settings import Settings

__all__ = ["Filters", "Index", "SearchAnswer", "SearchHit", "SearchMode", "open_index"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What hits have to fulfil; None leaves it open.

    `desk` and `agency` are keys; `theme` is a code of any level; `language` is a BCP 47 code, of which `pt` takes
    `pt-BR`; the days of publication are inclusive.
    """

    desk: str | None = None
    agency: str | None = None
    theme: str | None = None
    language: str | None = None
    from_day: date | None = None
    to_day: date | None = None


class Index:
    """A search index with the model for its queries, which is loaded by the first search that needs it."""

    def __init__(self, index: SearchIndex, open_embedder: Callable[[], Embedder], close: Callable[[], None]) -> None:
        self._index = index
        self._open_embedder = open_embedder
        self._close = close
        self._embedder: Embedder | None = None

    def search(
        self,
        text: str,
        filters: Filters | None = None,
        *,
        mode: SearchMode = "hybrid",
        limit: int = 10,
        offset: int = 0,
    ) -> SearchAnswer:
        """Return the best hits, how many there are in all, and counts by agency, theme, language and month.

        Args:
            text: Words, "quoted phrases" and -exclusions; empty lists the newest.
            filters: What hits have to fulfil.
            mode: By words, by meaning (the vector of the text), or both.
            limit: How many hits.
            offset: How many hits to pass over.

        Raises:
            IndexingError: The index could not be read, or was made with another model.
            EmbedError: The model cannot be used.
        """
        vector = None if mode == "keyword" or not text.strip() else self._vector(text)
        given = asdict(filters or Filters())
        return self._index.search(SearchQuery(text=text, mode=mode, vector=vector, limit=limit, offset=offset, **given))

    def _vector(self, text: str) -> tuple[float, ...]:
        if self._embedder is None:
            self._embedder = self._fitting_embedder()
        return self._embedder.embed_query(text).vector

    def _fitting_embedder(self) -> Embedder:
        """Return the model for queries; near it are only vectors that it made itself."""
        embedder, stored = self._open_embedder(), self._index.vector_model()
        if stored not in (None, embedder.model):
            raise IndexingError(
                f"the model for queries is {embedder.model}, that of the index's vectors {stored}: search by words, "
                "set NEWS_EMBEDDING_MODEL back, or embed everything with the other model, then run "
                "`news-assets rebuild search`"
            )
        return embedder

    def close(self) -> None:
        """Let go of files and connections."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_index(settings: "Settings | None" = None) -> Index:
    """Return the index that these settings name, or those of the environment.

    Raises:
        SettingsError: A setting cannot be used.
        IndexingError: The index cannot be opened.
    """
    from news_assets.clients.search import backends as search_backends
    from news_assets.settings import Settings

    used = settings or Settings.read()
    opened = search_backends.open_index(*used.search_place)

    def open_embedder() -> Embedder:
        from news_assets.clients.embedding.embedder import OnnxEmbedder

        return OnnxEmbedder.open(used.embedding_model, used.models_dir, used.threads)

    return Index(opened, open_embedder, opened.close)
