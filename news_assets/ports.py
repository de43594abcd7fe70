"""What the pipeline needs of the outside, as Protocols, and the values that cross those borders.

An implementation lives in `clients/` or `store/` and inherits nothing; tests use `news_assets_tests/support/fakes.py`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeVar

from news_assets.errors import FetchError
from news_assets.records import AgencyDays, Embedded, Enrichment, ExtractedArticle, Page, Validators

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

    def delete(self, record: type[Any], keys: AgencyDays | None = None, **isin: Collection[Any]) -> int:
        """Delete the rows that `read` would return with the same arguments; return how many there were."""
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


class PageReader(Protocol):
    """Reads the article on a page of one content type, such as HTML."""

    def __call__(self, page: Page, timezone: str, language: str | None) -> ExtractedArticle:
        """Return text and metadata, or an `outcome` other than `ok` with the reason. Never raises.

        `timezone` (IANA) applies to times without a zone; `language` (BCP 47) is the agency's usual one.
        """
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


@dataclass(frozen=True, slots=True)
class SearchColumn:
    """What a field of `SearchDocument` means, and what an index that keeps columns does with it.

    `is_facet`: its values are counted and filtered by. `is_sorted`: hits are ordered by it. `is_stored_only`: it is
    shown or compared, but nothing is found by it.
    """

    meaning: str
    is_facet: bool = False
    is_sorted: bool = False
    is_stored_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchDocument:
    """What the search index stores of one article; a field that is no `SearchColumn` is not stored.

    `trace_id` goes with the document to its receipt.
    """

    article_id: Annotated[str, SearchColumn("the article's id, and the document's")]
    desk: Annotated[str, SearchColumn("key of the desk", is_facet=True)]
    agency: Annotated[str, SearchColumn("key of the agency", is_facet=True)]
    agency_name: Annotated[str, SearchColumn("name of the agency", is_stored_only=True)]
    day: Annotated[date, SearchColumn("day of publication in the agency's own time zone", is_sorted=True)]
    url: Annotated[str, SearchColumn("address of the article", is_stored_only=True)]
    title: Annotated[str, SearchColumn("headline")]
    text: Annotated[str, SearchColumn("text without Markdown")]
    summary: Annotated[str | None, SearchColumn("one or two sentences", is_stored_only=True)] = None
    section: Annotated[str | None, SearchColumn("the site's section", is_stored_only=True)] = None
    tags: Annotated[tuple[str, ...], SearchColumn("the site's tags", is_stored_only=True)] = ()
    keywords: Annotated[tuple[str, ...], SearchColumn("key terms, most telling first", is_stored_only=True)] = ()
    language: Annotated[str | None, SearchColumn("BCP 47 code", is_facet=True)] = None
    theme_code: Annotated[str | None, SearchColumn("code of the most specific theme", is_stored_only=True)] = None
    theme_path: Annotated[tuple[str, ...], SearchColumn("codes of the theme from level 1 down", is_facet=True)] = ()
    theme_labels: Annotated[tuple[str, ...], SearchColumn("labels from level 1 down", is_stored_only=True)] = ()
    image_url: Annotated[str | None, SearchColumn("main image", is_stored_only=True)] = None
    published_ts: Annotated[int, SearchColumn("time of publication, seconds since 1970 UTC", is_sorted=True)] = 0
    text_hash: Annotated[str | None, SearchColumn("SHA-256 of the normalised text", is_stored_only=True)] = None
    duplicate_of: Annotated[str | None, SearchColumn("article_id of the earlier article with the same text")] = None
    vector: Annotated[tuple[float, ...] | None, SearchColumn("embedding of title and text")] = None
    document_hash: Annotated[str, SearchColumn("state of what it was made from", is_stored_only=True)] = ""
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

    def vector_model(self) -> str | None:
        """Return the name of the model that makes the vectors; None where it was not said yet."""
        ...

    def name_model(self, model: str) -> None:
        """Remember what makes the vectors; a name that is there already stays. Raises IndexingError."""
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
