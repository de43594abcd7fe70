"""Opens the search backend that the settings name: now, lazily, or to rebuild it.

A backend and its libraries are imported when it is opened.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from news_assets.errors import IndexingError
from news_assets.pipeline.reindex import WritableIndex
from news_assets.ports.search_index import (
    SearchAnswer,
    SearchDocument,
    SearchIndex,
    SearchQuery,
)
from news_assets.ports.services import Lazy
from news_assets.records.reading import AgencyDays

if TYPE_CHECKING:
    import polars as pl

    from news_assets.clients.search.typesense.typesense_index import (
        TypesenseSearchIndex,
    )

EMBEDDED = "embedded"


class OpenIndex(SearchIndex, Protocol):
    """A search index with its files or connections."""

    def close(self) -> None:
        """Close files and connections."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class IndexRebuild(WritableIndex, Protocol):
    """An index that is filled beside the one in use. `is_resumed`: it has documents of
    an interrupted rebuild.
    """

    is_resumed: bool

    def swap(self, expected: Mapping[str, Mapping[str, str]]) -> None:
        """Replace the index in use. Raises IndexingError if the documents are not those
        expected, by desk and hash.
        """
        ...


def open_index(search: str, path: Path, api_key: str) -> OpenIndex:
    """Return the index, which is created if missing.

    Args:
        search: `embedded`, or the address of a Typesense server.
        path: File of the embedded index.
        api_key: Key of the server.

    Raises:
        IndexingError: The index cannot be opened.
    """
    if search == EMBEDDED:
        from news_assets.clients.search.embedded.sqlite_index import SqliteSearchIndex

        return SqliteSearchIndex.open(path)
    from news_assets.clients.search.typesense.typesense_index import (
        TypesenseSearchIndex,
    )

    return TypesenseSearchIndex.open(search, api_key)


@contextmanager
def open_rebuild(
    search: str,
    path: Path,
    api_key: str,
    dim: int | None,
    model: str | None,
    now: datetime,
) -> Iterator[IndexRebuild]:
    """Yield a new index to fill, or that of an interrupted rebuild; the index in use
    may be unusable.

    Args:
        search: `embedded`, or the address of a Typesense server.
        path: File of the embedded index.
        api_key: Key of the server.
        dim: Dimensions of the vectors; None without vectors.
        model: Name of the embedding model; None without vectors.
        now: Suffix of a new collection's name.
    """
    if search == EMBEDDED:
        from news_assets.clients.search.embedded.sqlite_rebuild import SqliteRebuild

        with closing(SqliteRebuild.begin(path, dim, model)) as rebuild:
            yield rebuild
    else:
        with closing(connect_typesense(search, path, api_key)) as index:
            yield index.begin_rebuild(dim, model, now)


def connect_typesense(search: str, path: Path, api_key: str) -> "TypesenseSearchIndex":
    """Return the index on the server without a request, for operations that the
    embedded index does not have.

    Raises:
        IndexingError: The setting is `embedded`.
    """
    if search == EMBEDDED:
        raise IndexingError(
            "the embedded index has no search keys; set NEWS_SEARCH=typesense://..."
        )
    from news_assets.clients.search.typesense.typesense_index import (
        TypesenseSearchIndex,
    )

    return TypesenseSearchIndex.connect(search, api_key)


def lazy_index(search: str, path: Path, api_key: str) -> "LazyIndex":
    """Return the index, which is opened on first use."""
    return LazyIndex(
        search.partition(":")[0], lambda: open_index(search, path, api_key)
    )


class LazyIndex:
    """Implements `ports.SearchIndex`, and opens the index on first use. Safe to use
    from several threads.

    An unavailable server fails the operation that needs it, not the start of the
    program.
    """

    def __init__(self, backend: str, open_index: Callable[[], OpenIndex]) -> None:
        self.backend = backend
        self._index = Lazy(open_index)

    @property
    def opened(self) -> OpenIndex:
        """The opened index. Raises IndexingError."""
        return self._index.open()

    def close(self) -> None:
        """Close the index if it was opened."""
        if (index := self._index.take()) is not None:
            index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def vector_dim(self) -> int | None:
        """Return the dimensions of the stored vectors; None if there are none."""
        return self.opened.vector_dim()

    def vector_model(self) -> str | None:
        """Return the name of the embedding model; None if none is stored."""
        return self.opened.vector_model()

    def name_model(self, model: str) -> None:
        """Store the name of the embedding model, unless one is stored."""
        self.opened.name_model(model)

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store documents; return {article_id: reason} for refused ones."""
        return self.opened.upsert(documents)

    def delete(self, article_ids: Sequence[str]) -> None:
        """Remove documents."""
        self.opened.delete(article_ids)

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Return hits, their number and facets."""
        return self.opened.search(query)

    def count(self) -> int:
        """Return the number of documents."""
        return self.opened.count()

    def stored(
        self, desk: str, keys: AgencyDays | None = None, first_day: date | None = None
    ) -> "pl.DataFrame":
        """Return article_id, agency, day and document_hash of a desk's documents, or of
        some partitions or days.
        """
        return self.opened.stored(desk, keys, first_day)
