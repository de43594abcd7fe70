"""The search backend that a setting names: opened, opened when it is first asked, or built anew.

`sqlite` or a Typesense address enters; an index or a rebuild leaves. What only one backend needs is imported where that
one is opened.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from news_assets.errors import IndexingError
from news_assets.ports import SearchAnswer, SearchDocument, SearchIndex, SearchQuery
from news_assets.records import AgencyDays

if TYPE_CHECKING:
    import polars as pl

    from news_assets.clients.search.typesense.index import TypesenseSearchIndex

SQLITE = "sqlite"


class OpenIndex(SearchIndex, Protocol):
    """An index that can be closed."""

    def close(self) -> None:
        """Let go of files and connections."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class OpenRebuild(Protocol):
    """An index that is being built beside the one in use."""

    is_resumed: bool

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store documents; return {article_id: reason} for those that were refused. Raises IndexingError."""
        ...

    def delete(self, article_ids: Sequence[str]) -> None:
        """Remove documents; an unknown id is no error."""
        ...

    def stored(self, desk: str) -> "pl.DataFrame":
        """Return article_id, agency, day and document_hash of what a desk has in it."""
        ...

    def swap(self, expected: Mapping[str, Mapping[str, str]]) -> None:
        """Put it in the place of the one in use, if it has what is expected. Raises IndexingError."""
        ...


def open_index(search: str, path: Path, api_key: str) -> OpenIndex:
    """Return the index, which is made where there is none.

    Args:
        search: `sqlite`, or the address of a Typesense server.
        path: File of the embedded index.
        api_key: Key of the server.

    Raises:
        IndexingError: It cannot be opened; says where it is and what to do.
    """
    if search == SQLITE:
        from news_assets.clients.search.embedded.index import SqliteSearchIndex

        return SqliteSearchIndex.open(path)
    from news_assets.clients.search.typesense.index import TypesenseSearchIndex

    return TypesenseSearchIndex.open(search, api_key)


@contextmanager
def rebuilding(
    search: str, path: Path, api_key: str, dim: int | None, model: str | None, now: datetime
) -> Iterator[OpenRebuild]:
    """Hold a new index to fill, or an interrupted one to go on with; the one in use need not be usable.

    Args:
        search: `sqlite`, or the address of a Typesense server.
        path: File of the embedded index.
        api_key: Key of the server.
        dim: Length of the vectors; None without any.
        model: What made them.
        now: Names a new one.
    """
    if search == SQLITE:
        from news_assets.clients.search.embedded.rebuild import SqliteRebuild

        with closing(SqliteRebuild.begin(path, dim, model)) as rebuild:
            yield rebuild
    else:
        with closing(unopened_typesense(search, path, api_key)) as index:
            yield index.begin_rebuild(dim, model, now)


def unopened_typesense(search: str, path: Path, api_key: str) -> "TypesenseSearchIndex":
    """Return the server's index unasked: for what has no part in the embedded one.

    Raises:
        IndexingError: The setting names no server.
    """
    if search == SQLITE:
        raise IndexingError("the embedded index is a file and needs no keys; they are for NEWS_SEARCH=typesense://...")
    from news_assets.clients.search.typesense.index import TypesenseSearchIndex

    return TypesenseSearchIndex.connect(search, api_key)


def late_index(search: str, path: Path, api_key: str) -> "LateIndex":
    """Return the index that is opened when it is first asked."""
    return LateIndex(search.partition(":")[0], lambda: open_index(search, path, api_key))


class LateIndex:
    """An index that is opened when it is first asked: a server that is away fails the question, not its asker's start.

    Implements `ports.SearchIndex`; several threads may ask at once.
    """

    def __init__(self, backend: str, open_now: Callable[[], OpenIndex]) -> None:
        self.backend = backend
        self._open_now = open_now
        self._opened: OpenIndex | None = None
        self._lock = threading.Lock()

    @property
    def opened(self) -> OpenIndex:
        """The index itself. Raises IndexingError."""
        with self._lock:
            if self._opened is None:
                self._opened = self._open_now()
            return self._opened

    def close(self) -> None:
        """Close it, if it was opened."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def vector_dim(self) -> int | None:
        """Return the length of the stored vectors; None where there are none yet."""
        return self.opened.vector_dim()

    def vector_model(self) -> str | None:
        """Return the name of the model that makes the vectors; None where it was not said yet."""
        return self.opened.vector_model()

    def name_model(self, model: str) -> None:
        """Remember what makes the vectors; a name that is there already stays."""
        self.opened.name_model(model)

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store documents; return {article_id: reason} for those that were refused."""
        return self.opened.upsert(documents)

    def delete(self, article_ids: Sequence[str]) -> None:
        """Remove documents."""
        self.opened.delete(article_ids)

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Return the answer."""
        return self.opened.search(query)

    def count(self) -> int:
        """Return how many documents there are."""
        return self.opened.count()

    def stored(self, desk: str, keys: AgencyDays | None = None, first_day: date | None = None) -> "pl.DataFrame":
        """Return what a desk has in the index."""
        return self.opened.stored(desk, keys, first_day)
