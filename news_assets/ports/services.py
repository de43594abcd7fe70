"""Ports of the lake, of the web, of the sandbox, of enrichers and language models, and the
values passed to and from them.
"""

import json
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from news_assets.errors import FetchError, ModelCallError, NewsAssetsError
from news_assets.records.desks import Access, ReasoningEffort
from news_assets.records.model_calls import Kind
from news_assets.records.reading import (
    AgencyDays,
    Enrichment,
    ExtractedArticle,
    Page,
    ReadDocument,
    Validators,
)

if TYPE_CHECKING:
    from concurrent.futures import Future

    import polars as pl


# returns the present time, aware, in UTC
Clock = Callable[[], datetime]

_Row = TypeVar("_Row")
_Result = TypeVar("_Result")


class Reader(Protocol):
    """Reads of the lake."""

    def read(
        self,
        record: type[_Row],
        keys: AgencyDays | None = None,
        **isin: Collection[Any],
    ) -> list[_Row]:
        """Return the rows of these partitions that have one of the given values in each
        named column, by key.
        """
        ...

    def frame(
        self,
        record: type[Any],
        keys: AgencyDays | None = None,
        columns: Sequence[str] | None = None,
        **isin: Collection[Any],
    ) -> "pl.DataFrame":
        """Return the same rows, or only the named columns, as a frame; by those columns
        of the key that it has.
        """
        ...

    def query(
        self, sql: str, params: Collection[Any] | Mapping[str, Any] = ()
    ) -> "pl.DataFrame":
        """Return the result of one SELECT over the tables."""
        ...


class Rows(Reader, Protocol):
    """The lake within one transaction: its reads see the state that its writes change."""

    @property
    def records(self) -> tuple[type[Any], ...]:
        """The record types of all tables."""
        ...

    def upsert(self, rows: Sequence[Any]) -> None:
        """Store rows of one type, replacing those with the same key."""
        ...

    def append(self, rows: Sequence[Any]) -> None:
        """Add rows of one type."""
        ...

    def delete(
        self, record: type[Any], keys: AgencyDays | None = None, **isin: Collection[Any]
    ) -> int:
        """Delete the rows that `read` returns for the same arguments; return their
        number.
        """
        ...

    def snapshot(self) -> int:
        """Return the number of the commit that the transaction began after."""
        ...


class Lake(Reader, Protocol):
    """The store of all tables."""

    def transact(self, work: Callable[[Rows], _Result]) -> _Result:
        """Run `work` in one transaction and return its result; run it again if another
        commit came in between.
        """
        ...

    def latest(self) -> AbstractContextManager[Reader]:
        """Enter the reads of the latest commit. They share a transaction; a read
        outside of one begins its own.
        """
        ...

    def at(self, commit: int) -> AbstractContextManager[Reader]:
        """Enter the reads of an earlier commit. Raises LakeError where it is not kept
        any more.
        """
        ...


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One URL to fetch. `key` tells requests for one URL apart.

    `obeys_robots`: False for an address that the operator configured; only the
    Crawl-delay of its robots.txt is obeyed. `max_s` limits its time with redirects,
    without waits for host slots, below the fetcher's own limit.
    `retries_connection`: whether `fetch_all` tries again, some seconds later, if
    the connection fails. A `body` is sent by POST, with redirects followed by GET.
    `keeps_refusals`: an answer with a status of 400 to 499 other than 408, 425 and
    429 is a page, because its text says why. `is_head`: only the headers are
    requested.
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
    is_head: bool = False


class Fetcher(Protocol):
    """Fetches pages, one at a time per host, with the configured delay between them, as
    their `access` states.
    """

    def fetch(self, request: PageRequest) -> Page:
        """Return one page. Raises FetchError."""
        ...

    def fetch_all(
        self, requests: Iterable[PageRequest], begin_within_s: float | None = None
    ) -> Iterator[tuple[PageRequest, Page | FetchError]]:
        """Yield each request with its page or error as it completes; hosts are fetched
        from in parallel.

        Requests that have not begun after `begin_within_s` seconds are left out.
        """
        ...


class Sandbox(Protocol):
    """Runs functions over outside bytes and text within limits of time and memory."""

    def run(
        self, work: Callable[..., _Result], calls: Sequence[tuple[Any, ...]]
    ) -> list[_Result | NewsAssetsError]:
        """Return the result of `work(*call)` for each call, in order, or the error of
        that call.

        A NewsAssetsError that `work` raises is returned as it is. Any other exception,
        and a call that exceeds the limits or crashes, is a ReadingError. `work` is a
        function of a module or a `functools.partial` of one: it may run in another
        process.
        """
        ...

    def read_document(
        self,
        body: bytes,
        content_type: str = "",
        name: str = "",
        language: str | None = None,
    ) -> ReadDocument:
        """Return the text of a document, or the reason why there is none; never raises.

        Args:
            body: The file's bytes, which decide its kind.
            content_type: Media type that the server states; it decides only between
                HTML and other texts.
            name: Name or address of an attachment; those not worth reading are
                recognised by it.
            language: BCP 47, for the recognition of scans.
        """
        ...


class PageReader(Protocol):
    """Extracts the article from pages of one content type, such as HTML."""

    def __call__(
        self, page: Page, timezone: str, language: str | None
    ) -> ExtractedArticle:
        """Return text and metadata, or an outcome other than `ok` with a reason. Never
        raises.

        `timezone` (IANA) applies to times without a zone; `language` (BCP 47) is the
        agency's default.
        """
        ...


class Enricher(Protocol):
    """Determines theme, summary and keywords of a text. The four attributes are part of
    the cache key.
    """

    name: str
    model: str
    prompt_version: str
    taxonomy_version: str

    def enrich(self, title: str, text: str, language: str | None) -> Enrichment:
        """Return the enrichment of one article. Raises EnrichError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """What is sent to a language model for one article, directly or in a batch.

    `instructions` are the same for many articles; `text` holds the article as data.
    `schema` is the JSON schema of the answer, an object, whose summary has at most
    `max_sentences` sentences. The answer has at most `max_tokens` tokens, reasoning
    included; where `reasoning` (effort) and `temperature` are None, the model's defaults
    apply.
    """

    input_hash: str
    article_id: str
    desk: str
    agency: str
    day: date
    kind: Kind
    prompt_version: str
    instructions: str
    text: str
    schema: dict[str, Any]
    max_sentences: int
    max_tokens: int
    reasoning: ReasoningEffort | None = None
    temperature: float | None = None

    @property
    def chars(self) -> int:
        """Return how many characters are sent: instructions, article and schema."""
        return len(self.instructions) + len(self.text) + len(json.dumps(self.schema))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswer:
    """The answer of a language model as it came: `raw` is JSON, unless the model erred.

    Token counts are None where the provider did not state them. `stop` is `cut` where
    the answer ended at the limit of tokens, and `declined` where the model or a filter
    refused the content.
    """

    raw: str
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    elapsed_ms: int
    cache_write_tokens: int | None = None
    stop: Literal["", "cut", "declined"] = ""


class LanguageModel(Protocol):
    """A language model, called for many articles at a time. `name` is PROVIDER:MODEL.

    A call ends within `timeout_s` seconds.
    """

    name: str
    timeout_s: float

    def slots(self) -> int:
        """Return how many requests may be sent now, by the limits of the provider.

        Raises SettingsError: the model cannot be used.
        """
        ...

    def send(self, request: ModelRequest) -> "Future[ModelAnswer]":
        """Send one request, once; the future has the answer, or raises ModelCallError."""
        ...

    def pause(self, seconds: float) -> None:
        """Wait."""
        ...


# What has become of a batch: what was run of an expired one has results, of a failed
# one nothing was run.
BatchState = Literal["running", "ended", "expired", "failed"]


class BatchedModel(Protocol):
    """A language model that answers batches of requests within a day. `name` is
    PROVIDER:MODEL.

    A batch has from `min_requests` to `max_requests` requests with different input
    hashes.
    """

    name: str
    min_requests: int
    max_requests: int

    def submit(self, requests: Sequence[ModelRequest], key: str) -> str:
        """Make a batch under this key (16 hexadecimal digits) and return the provider's
        id of it.

        Raises BatchError: it was not made; or, if transient, it is not known whether it
        was: look with `find`.
        """
        ...

    def find(self, key: str, since: datetime, count: int) -> str | None:
        """Return the id of the batch of `count` requests made under this key after
        `since`, None if there is none.

        Raises BatchError if that cannot be known now.
        """
        ...

    def state(self, batch_id: str) -> BatchState:
        """Return what has become of a batch. Raises BatchError if the provider does not
        say.
        """
        ...

    def collect(
        self, batch_id: str, key: str, input_hashes: Collection[str]
    ) -> Iterator[tuple[str, ModelAnswer | ModelCallError]]:
        """Yield the input hashes of requests that were run, of these, with their
        answers, in any order.

        Raises BatchError if the results could not be read.
        """
        ...


_Port = TypeVar("_Port")


class Lazy(Generic[_Port]):
    """A port that is opened on first use: if it is unavailable, only the work that
    needs it fails.

    Safe to use from several threads. After an error the next use tries again.
    """

    def __init__(self, open_port: Callable[[], _Port]) -> None:
        self._open_port = open_port
        self._opened: _Port | None = None
        self._lock = threading.Lock()

    def open(self) -> _Port:
        """Return the port, which the first call opens. Raises what opening it raises."""
        with self._lock:
            if self._opened is None:
                self._opened = self._open_port()
            return self._opened

    def take(self) -> _Port | None:
        """Return the port if it was opened, and forget it."""
        with self._lock:
            opened, self._opened = self._opened, None
            return opened
