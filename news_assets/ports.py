"""Protocols of the external systems that the pipeline uses, and the values passed to and from them.

Implementations are in `clients/` and `store/` and do not inherit from these; those for tests are in
`news_assets_tests/support/fakes.py`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeVar, runtime_checkable

from news_assets.documents import ReadDocument
from news_assets.errors import EnrichError, FetchError, NewsAssetsError
from news_assets.model_calls import Kind
from news_assets.records import Access, AgencyDays, Embedded, Enrichment, ExtractedArticle, Page, Validators

if TYPE_CHECKING:
    import polars as pl

Row = TypeVar("Row")
Result = TypeVar("Result")

SearchMode = Literal["keyword", "vector", "hybrid"]
SearchSort = Literal["relevance", "date"]
FACETS = (
    "desk", "agency", "theme", "language", "sentiment", "entity", "body", "matter", "meeting_status", "month", "day"
)  # fmt: skip


class Reader(Protocol):
    """Reads of the lake."""

    def read(self, record: type[Row], keys: AgencyDays | None = None, **isin: Collection[Any]) -> list[Row]:
        """Return the rows of these partitions that have one of the given values in each named column, by key."""
        ...

    def frame(
        self,
        record: type[Any],
        keys: AgencyDays | None = None,
        columns: Sequence[str] | None = None,
        **isin: Collection[Any],
    ) -> "pl.DataFrame":
        """Return the same rows, or only the named columns, as a frame; by those columns of the key that it has."""
        ...


class Rows(Reader, Protocol):
    """The lake within one transaction: its reads see the state that its writes change."""

    def upsert(self, rows: Sequence[Any]) -> None:
        """Store rows of one type, replacing those with the same key."""
        ...

    def append(self, rows: Sequence[Any]) -> None:
        """Add rows of one type."""
        ...

    def delete(self, record: type[Any], keys: AgencyDays | None = None, **isin: Collection[Any]) -> int:
        """Delete the rows that `read` returns for the same arguments; return their number."""
        ...

    def snapshot(self) -> int:
        """Return the number of the commit that the transaction began after."""
        ...


class Lake(Reader, Protocol):
    """The store of all tables."""

    def transact(self, work: Callable[[Rows], Result]) -> Result:
        """Run `work` in one transaction and return its result; run it again if another commit came in between."""
        ...


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One URL to fetch. `key` identifies the request for its caller.

    `obeys_robots`: False for an address that the operator configured, of which only the Crawl-delay is obeyed.
    `max_s` limits its time with redirects, without waits for host slots, below the fetcher's own limit.
    `retries_connection`: whether `fetch_all` tries again, some seconds later, if the connection fails.
    A `body` is sent by POST, with redirects followed by GET. `keeps_refusals`: an answer with a status of 400 to 499
    other than 408, 425 and 429 is a page, because its text says why.
    """

    url: str
    key: str = ""
    validators: Validators = Validators()
    obeys_robots: bool = True
    max_s: float | None = None
    retries_connection: bool = False
    access: Access = Access()
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()
    keeps_refusals: bool = False


class Fetcher(Protocol):
    """Fetches pages, one at a time per host, with the configured delay between them, as their `access` states."""

    def fetch(self, request: PageRequest) -> Page:
        """Return one page. Raises FetchError."""
        ...

    def fetch_all(
        self, requests: Iterable[PageRequest], begin_within_s: float | None = None
    ) -> Iterator[tuple[PageRequest, Page | FetchError]]:
        """Yield each request with its page or error as it completes; hosts are fetched from in parallel.

        Requests that have not begun after `begin_within_s` seconds are left out.
        """
        ...


class Sandbox(Protocol):
    """Runs functions over outside bytes and text within limits of time and memory."""

    def run(self, work: Callable[..., Result], calls: Sequence[tuple[Any, ...]]) -> list[Result | NewsAssetsError]:
        """Return the result of `work(*call)` for each call, in order, or the error of that call.

        A NewsAssetsError that `work` raises is returned as it is. Any other exception, and a call that exceeds the
        limits or crashes, is a ReadingError. `work` is a function of a module or a `functools.partial` of one: it may
        run in another process.
        """
        ...

    def read_document(
        self, body: bytes, content_type: str = "", name: str = "", language: str | None = None
    ) -> ReadDocument:
        """Return the text of a document, or the reason why there is none; never raises.

        Args:
            body: The file's bytes, which decide its kind.
            content_type: Media type that the server states; it decides only between HTML and other texts.
            name: Name or address of an attachment; those not worth reading are recognised by it.
            language: BCP 47, for the recognition of scans.
        """
        ...


class PageReader(Protocol):
    """Extracts the article from pages of one content type, such as HTML."""

    def __call__(self, page: Page, timezone: str, language: str | None) -> ExtractedArticle:
        """Return text and metadata, or an outcome other than `ok` with a reason. Never raises.

        `timezone` (IANA) applies to times without a zone; `language` (BCP 47) is the agency's default.
        """
        ...


class Enricher(Protocol):
    """Determines theme, summary and keywords of a text. The four attributes are part of the cache key."""

    name: str
    model: str
    prompt_version: str
    taxonomy_version: str

    def enrich(self, title: str, text: str, language: str | None) -> Enrichment:
        """Return the enrichment of one article. Raises EnrichError."""
        ...


@runtime_checkable
class PerDesk(Protocol):
    """An enricher that may differ by desk."""

    def for_desk(self, desk: str) -> Enricher:
        """Return the enricher of a desk. Raises EnrichError, EmbedError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """What is sent to a language model for one article, directly or in a batch.

    `instructions` are the same for many articles; `text` holds the article as data. `schema` is the JSON schema of the
    answer, an object.
    """

    input_hash: str
    article_id: str
    desk: str
    agency: str
    day: date
    kind: Kind
    instructions: str
    text: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """The answer of a language model as it came: `raw` is JSON, unless the model erred. None: it did not say."""

    raw: str
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    elapsed_ms: int
    cache_write_tokens: int | None = None


Answered = tuple[ModelRequest, ModelAnswer | EnrichError]


class LanguageModel(Protocol):
    """A language model, called for many articles at a time. `name` is PROVIDER:MODEL."""

    name: str

    def answer_all(self, requests: Iterable[ModelRequest]) -> Iterator[list[Answered]]:
        """Yield the requests with their answers or errors, in the order of completion, those of some ms together.

        Answers count as calls in flight until the iterator is advanced past them: by then they are stored, and what a
        killed process has to ask again is bounded by the number of calls in flight. A list is never empty. If the model
        turns out to be unavailable, the iterator raises EnrichError, and what was not yielded was not answered.
        """
        ...


# What has become of a batch: what was run of an expired one has results, of a failed one nothing was run.
BatchState = Literal["running", "ended", "expired", "failed"]


class BatchedModel(Protocol):
    """A language model that answers batches of requests within a day. `name` is PROVIDER:MODEL.

    A batch has from `min_requests` to `max_requests` requests with different input hashes.
    """

    name: str
    min_requests: int
    max_requests: int

    def submit(self, requests: Sequence[ModelRequest], key: str) -> str:
        """Make a batch under this key (16 hexadecimal digits) and return the provider's id of it.

        Raises BatchError: it was not made; or, if transient, it is not known whether it was: look with `find`.
        """
        ...

    def find(self, key: str, since: datetime, count: int) -> str | None:
        """Return the id of the batch of `count` requests made under this key after `since`, None if there is none.

        Raises BatchError if that cannot be known now.
        """
        ...

    def state(self, batch_id: str) -> BatchState:
        """Return what has become of a batch. Raises BatchError if the provider does not say."""
        ...

    def collect(
        self, batch_id: str, key: str, requests: Mapping[str, ModelRequest]
    ) -> Iterator[tuple[ModelRequest, ModelAnswer | EnrichError]]:
        """Yield the requests that were run with their answers, in any order; `requests` were sent, by input hash.

        Raises BatchError if the results could not be read.
        """
        ...


class Embedder(Protocol):
    """Embeds texts as unit vectors."""

    model: str
    dim: int

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Return one vector per text, in order. Raises EmbedError."""
        ...

    def embed_query(self, query: str) -> Embedded:
        """Return the vector of a query; some models need another prefix for queries. Raises EmbedError."""
        ...


@dataclass(frozen=True, slots=True)
class SearchColumn:
    """The meaning of a field of `SearchDocument`, and its use in an index with columns.

    `facet`: the name under which hits are counted by its values; empty if they are not. `is_sorted`: hits are sorted by
    it. `is_stored_only`: it is shown or compared, but not searched.
    """

    meaning: str
    facet: str = ""
    is_sorted: bool = False
    is_stored_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchDocument:
    """An article as stored in the search index. Fields without a `SearchColumn` are not stored.

    `trace_id` is for the document's receipt.
    """

    article_id: Annotated[str, SearchColumn("id of the article and of the document")]
    desk: Annotated[str, SearchColumn("key of the desk", facet="desk")]
    agency: Annotated[str, SearchColumn("key of the agency", facet="agency")]
    agency_name: Annotated[str, SearchColumn("name of the agency", is_stored_only=True)]
    day: Annotated[date, SearchColumn("day of publication in the agency's time zone", facet="day", is_sorted=True)]
    url: Annotated[str, SearchColumn("address of the article", is_stored_only=True)]
    title: Annotated[str, SearchColumn("headline")]
    text: Annotated[str, SearchColumn("text without Markdown")]
    summary: Annotated[str | None, SearchColumn("summary of one or two sentences", is_stored_only=True)] = None
    section: Annotated[str | None, SearchColumn("section of the site", is_stored_only=True)] = None
    tags: Annotated[tuple[str, ...], SearchColumn("tags of the page", is_stored_only=True)] = ()
    keywords: Annotated[tuple[str, ...], SearchColumn("key terms, most significant first", is_stored_only=True)] = ()
    language: Annotated[str | None, SearchColumn("BCP 47 code", facet="language")] = None
    theme_code: Annotated[str | None, SearchColumn("code of the most specific theme", is_stored_only=True)] = None
    theme_path: Annotated[tuple[str, ...], SearchColumn("codes of the theme from level 1 down", facet="theme")] = ()
    theme_labels: Annotated[tuple[str, ...], SearchColumn("theme labels from level 1 down", is_stored_only=True)] = ()
    image_url: Annotated[str | None, SearchColumn("main image", is_stored_only=True)] = None
    published_ts: Annotated[int, SearchColumn("time of publication in Unix seconds", is_sorted=True)] = 0
    text_hash: Annotated[str | None, SearchColumn("SHA-256 of the normalised text", is_stored_only=True)] = None
    duplicate_of: Annotated[str | None, SearchColumn("id of the earlier article with the same address or text")] = None
    sentiment: Annotated[str | None, SearchColumn("tone: positive, neutral or negative", facet="sentiment")] = None
    entities: Annotated[tuple[str, ...], SearchColumn("names of persons, bodies and places", facet="entity")] = ()
    body: Annotated[str | None, SearchColumn("council, board or committee of the meeting", facet="body")] = None
    matter: Annotated[str | None, SearchColumn("key of the matter of the agenda item", facet="matter")] = None
    meeting_id: Annotated[str | None, SearchColumn("id of the meeting", is_stored_only=True)] = None
    meeting_status: Annotated[
        str | None, SearchColumn("confirmed, tentative, cancelled or passed", facet="meeting_status")
    ] = None
    vector: Annotated[tuple[float, ...] | None, SearchColumn("embedding of title and text")] = None
    document_hash: Annotated[str, SearchColumn("hash of the document's inputs", is_stored_only=True)] = ""
    trace_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """One search. `theme` matches any level of the path; days are inclusive; an empty `text` lists the newest.

    Sorted by date, documents with the words are listed, newest first; in a search by vector, the 100 nearest are.
    """

    text: str
    mode: SearchMode = "hybrid"
    vector: tuple[float, ...] | None = None
    desk: str | None = None
    agency: str | None = None
    theme: str | None = None
    language: str | None = None
    from_day: date | None = None
    to_day: date | None = None
    entity: str | None = None
    sentiment: str | None = None
    body: str | None = None
    matter: str | None = None
    meeting_status: str | None = None
    sort: SearchSort = "relevance"
    limit: int = 10
    offset: int = 0
    explain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why an article is a hit.

    `words` are the words of the query that it has, each with the fields that have it: title, text, summary, or labels
    (section, tags and keywords). Ranks begin at 1 and count copies; a rank and its score are None if the article is not
    among the best of that ranking, at least 100. `similarity` is the cosine of the vectors.
    """

    words: dict[str, tuple[str, ...]]
    keyword_rank: int | None = None
    keyword_score: float | None = None
    vector_rank: int | None = None
    similarity: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """One article of the result. `snippet` is escaped HTML with `<mark>` around the matches.

    `score` is that of the ranking: of the words, the cosine, or both fused. `explanation` is given if asked for.
    """

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
    explanation: Explanation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """Hits in order, their total number `found`, and facets: counts of all matches by value of each of `FACETS`.

    The most frequent value is first; days and months are in ISO format, newest first. Of entities and matters, only the
    100 most frequent are counted.
    """

    hits: tuple[SearchHit, ...]
    found: int
    facets: dict[str, dict[str, int]]
    took_ms: float


class SearchIndex(Protocol):
    """A search index, idempotent by article id and document hash; several processes may write at once."""

    backend: str

    def vector_dim(self) -> int | None:
        """Return the dimensions of the stored vectors; None if there are no vectors yet."""
        ...

    def vector_model(self) -> str | None:
        """Return the name of the model of the vectors; None if it is not set yet."""
        ...

    def name_model(self, model: str) -> None:
        """Set the name of the model of the vectors, unless one is set. Raises IndexingError."""
        ...

    def upsert(self, documents: Sequence[SearchDocument]) -> dict[str, str]:
        """Store documents; return {article_id: reason} of those that were rejected. Raises IndexingError."""
        ...

    def delete(self, article_ids: Sequence[str]) -> None:
        """Delete documents; unknown ids are ignored."""
        ...

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Return the result. Raises IndexingError if the query vector has other dimensions than the index."""
        ...

    def count(self) -> int:
        """Return the number of documents."""
        ...

    def stored(self, desk: str, keys: AgencyDays | None = None, first_day: date | None = None) -> "pl.DataFrame":
        """Return article_id, agency, day and document_hash of a desk's documents: all, or of some days."""
        ...
