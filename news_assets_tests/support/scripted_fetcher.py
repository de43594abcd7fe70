"""What fetchers of tests have in common: they say what answers each request, and one page is one request's answer."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from news_assets.errors import FetchError
from news_assets.ports import PageRequest
from news_assets.records import Page


class ScriptedFetcher(ABC):
    """A fetcher that is made of its answers."""

    @abstractmethod
    def answer(self, request: PageRequest) -> Page | FetchError:
        """Return what a request is answered with."""

    def fetch(self, request: PageRequest) -> Page:
        """Return one page. Raises FetchError."""
        answer = self.answer(request)
        if isinstance(answer, FetchError):
            raise answer
        return answer

    def fetch_all(self, requests: Iterable[PageRequest]) -> Iterator[tuple[PageRequest, Page | FetchError]]:
        """Yield each request with its answer, in their order."""
        for request in requests:
            yield request, self.answer(request)
