"""A base class for fetchers of tests."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from news_assets.errors import FetchError
from news_assets.ports.services import PageRequest
from news_assets.records.reading import Page


class ScriptedFetcher(ABC):
    """A fetcher whose subclass returns a page or an error for each request."""

    @abstractmethod
    def answer(self, request: PageRequest) -> Page | FetchError:
        """Return the page for a request, or its error."""

    def fetch(self, request: PageRequest) -> Page:
        """Return one page. Raises FetchError."""
        answer = self.answer(request)
        if isinstance(answer, FetchError):
            raise answer
        return answer

    def fetch_all(
        self, requests: Iterable[PageRequest], begin_within_s: float | None = None
    ) -> Iterator[tuple[PageRequest, Page | FetchError]]:
        """Yield each request with its page or error, in order, however long that takes."""
        for request in requests:
            yield request, self.answer(request)
