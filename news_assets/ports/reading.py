"""Ports for fetching addresses, and for reading what comes from outside within limits."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from news_assets.errors import FetchError, NewsAssetsError
from news_assets.ports.lake import Result
from news_assets.records.desks import Access
from news_assets.records.reading import ExtractedArticle, Page, ReadDocument, Validators


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One URL to fetch. `key` identifies the request for its caller.

    `obeys_robots`: False for an address that the operator configured, of which only the
    Crawl-delay is obeyed. `max_s` limits its time with redirects, without waits for
    host slots, below the fetcher's own limit. `retries_connection`: whether `fetch_all`
    tries again, some seconds later, if the connection fails. A `body` is sent by POST,
    with redirects followed by GET. `keeps_refusals`: an answer with a status of 400 to
    499 other than 408, 425 and 429 is a page, because its text says why. `is_head`:
    only the headers are requested.
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
        self, work: Callable[..., Result], calls: Sequence[tuple[Any, ...]]
    ) -> list[Result | NewsAssetsError]:
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
