"""A fetcher for the discovery of one site: requests each address once, within a request
budget.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from news_assets.errors import FetchError
from news_assets.ports.services import Fetcher, PageRequest
from news_assets.records.reading import Page

MAX_REQUESTS: Final = 25  # half a minute at one request a second


class BudgetedFetcher:
    """A fetcher that remembers every page and error, and makes at most `MAX_REQUESTS`
    requests.

    robots.txt is obeyed except for the address that the user gave.
    """

    def __init__(
        self, fetcher: Fetcher, given_url: str, has_time: Callable[[], bool]
    ) -> None:
        self.request_count = 0
        self._fetcher, self._given_url, self._has_time = fetcher, given_url, has_time
        self._results: dict[str, Page | FetchError] = {}

    def page_or_error(self, url: str) -> Page | FetchError:
        """Return the page at an address, or the error of its request."""
        if url not in self._results:
            self._results[url] = self._requested(url)
        result = self._results[url]
        if isinstance(result, Page):
            self._results.setdefault(
                result.final_url, replace(result, url=result.final_url)
            )
        return result

    def _requested(self, url: str) -> Page | FetchError:
        return self.answer_to(PageRequest(url, obeys_robots=url != self._given_url))

    def answer_to(self, request: PageRequest) -> Page | FetchError:
        """Send a request, even if its address was requested before; return its page or
        error.
        """
        url = request.url
        if self.request_count >= MAX_REQUESTS:
            return FetchError(
                url, f"not requested: the budget of {MAX_REQUESTS} requests is used up"
            )
        if not self._has_time():
            return FetchError(url, "not requested: out of time")
        self.request_count += 1
        try:
            return self._fetcher.fetch(request)
        except FetchError as error:
            return error

    def fetch(self, request: PageRequest) -> Page:
        """Return one page.

        Raises:
            FetchError: The page could not be fetched.
        """
        result = self.page_or_error(request.url)
        if isinstance(result, FetchError):
            raise result
        return result

    def fetch_all(
        self, requests: Iterable[PageRequest], begin_within_s: float | None = None
    ) -> Iterator[tuple[PageRequest, Page | FetchError]]:
        """Yield each request with its page or its error; the time is limited by
        `has_time` alone.
        """
        for request in requests:
            yield request, self.page_or_error(request.url)
