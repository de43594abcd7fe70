"""What the pipeline needs of the outside, as Protocols, and the values that cross those borders.

An implementation lives in `clients/` or `store/` and inherits nothing; tests use `news_assets_tests/fakes.py`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from news_assets.errors import FetchError
from news_assets.records import AgencyDays, Embedded, Enrichment, Page, Validators

if TYPE_CHECKING:
    import polars as pl

Row = TypeVar("Row")
Result = TypeVar("Result")

SearchMode = Literal["keyword", "vector", "hybrid"]


class Reader(Protocol):
    """What can be read of the lake."""

    def read(self, record: type[Row], keys: AgencyDays | None = None, **isin: Collection[Any]) -> list[Row]:
        """Return the rows of these partitions whose columns hold one of the given values, in the order of their key."""
        ...

    def frame(
        self,
        record: type[Any],
        keys: AgencyDays | None = None,
        columns: Sequence[str] | None = None,
        **isin: Collection[Any],
    ) -> "pl.DataFrame":
        """Return the same rows, or some of their columns, as a frame."""
        ...


class Rows(Reader, Protocol):
    """The lake within one transaction: what is read here is what the writes are based on."""

    def upsert(self, rows: Sequence[Any]) -> None:
        """Store rows of one type; those with the same key are replaced."""
        ...

    def append(self, rows: Sequence[Any]) -> None:
        """Store rows of one type beside what is there."""
        ...

    def delete(self, record: type[Any], **isin: Collection[Any]) -> None:
        """Remove the rows whose columns hold one of the given values."""
        ...


class Lake(Reader, Protocol):
    """The store of every table."""

    def transact(self, work: Callable[[Rows], Result]) -> Result:
        """Return what `work` returns, run in one transaction; where another one came between, it is run again."""
        ...


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One URL to fetch. `key` is handed back with the answer."""

    url: str
    key: str = ""
    validators: Validators = Validators()
    obeys_robots: bool = True


class Fetcher(Protocol):
    """Gets pages politely: one request at a time per host, with the configured pause."""

    def fetch(self, request: PageRequest) -> Page:
        """Return one page. Raises FetchError."""
        ...

    def fetch_all(self, requests: Iterable[PageRequest]) -> Iterator[tuple[PageRequest, Page | FetchError]]:
        """Yield each request with its page or its error, in the order they arrive; hosts are asked side by side."""
        ...


class Enricher(Protocol):
    """Says theme, summary and keywords of a text. The four names go into the cache key."""

    name: str
    model: str
    prompt_version: str
    taxonomy_version: str

    def enrich(self, title: str, text: str, language: str | None) -> Enrichment:
        """Return what can be said of one article. Raises EnrichError."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    model: str
    dim: int

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Return one vector per passage, in order. Raises EmbedError."""
        ...

    def embed_query(self, query: str) -> Embedded:
        """Return the vector of a query, which some models prefix differently. Raises EmbedError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchDocument:
    """What the search index stores of one article. `day` is the agency's own, not UTC; `trace_id` is not stored."""

    article_id: str
    desk: str
    agency: str
    agency_name: str
    day: date
    url: str
    title: str
    text: str
    summary: str | None = None
    section: str | None = None
    tags: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    language: str | None = None
    theme_code: str | None = None
    theme_path: tuple[str, ...] = ()
    theme_labels: tuple[str, ...] = ()
    image_url: str | None = None
    published_ts: int = 0
    text_hash: str | None = None
    duplicate_of: str | None = None
    vector: tuple[float, ...] | None = None
    document_hash: str = ""
    trace_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """One search. `theme` matches any level of the path; days are inclusive; an empty `text` lists the newest."""

    text: str
    mode: SearchMode = "hybrid"
    vector: tuple[float, ...] | None = None
    desk: str | None = None
    agency: str | None = None
    theme: str | None = None
    language: str | None = None
    from_day: date | None = None
    to_day: date | None = None
    limit: int = 10
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """One found article. `snippet` is escaped HTML with `<mark>` around what matched."""

    article_id: str
    title: str
    url: str
    desk: str
    agency: str
    day: date
    score: float
    snippet: str
    theme_code: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """Hits, best first; how many there are in all; counts by facet value (agency, theme, language, month)."""

    hits: tuple[SearchHit, ...]
    found: int
    facets: dict[str, dict[str, int]]
    took_ms: float


class SearchIndex(Protocol):
    """A search index, idempotent by article id and document hash; several processes may write at once."""

    backend: str

    def vector_dim(self) -> int | None:
        """Return the length of the stored vectors; None where there are none yet."""
        ...

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store documents; return {article_id: reason} for those that were refused. Raises IndexingError."""
        ...

    def delete(self, article_ids: Sequence[str]) -> None:
        """Remove documents; an unknown id is no error."""
        ...

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Return the answer. Raises IndexingError where the query's vector has another length than the index's."""
        ...

    def count(self) -> int:
        """Return how many documents there are."""
        ...

    def stored(self, desk: str, keys: AgencyDays | None = None, first_day: date | None = None) -> "pl.DataFrame":
        """Return article_id, agency, day and document_hash of what a desk has in the index: all, or of some days."""
        ...
