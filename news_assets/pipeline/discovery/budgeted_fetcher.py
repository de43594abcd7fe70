"""A fetcher for one look at one site: sparing with requests, since most addresses are tried in several ways.

Requests in, pages or errors out, from memory where an address was asked before. What is asked, and why, belongs to
`finding.py`; politeness to the fetcher it wraps.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from news_assets.errors import FetchError
from news_assets.ports import Fetcher, PageRequest
from news_assets.records import Page

MAX_REQUESTS: Final = 25  # with a pause of 1 s, half a minute


class AskedOnce:
    """A fetcher that asks each address once, and no more than `MAX_REQUESTS` of them.

    What robots.txt forbids is not asked, except the address that somebody named.
    """

    def __init__(self, fetcher: Fetcher, named: str, may_go_on: Callable[[], bool]) -> None:
        self.count = 0
        self._fetcher, self._named, self._may_go_on = fetcher, named, may_go_on
        self._answers: dict[str, Page | FetchError] = {}

    def answer(self, url: str) -> Page | FetchError:
        """Return the page at an address, or why there is none."""
        if url not in self._answers:
            self._answers[url] = self._asked(url)
        found = self._answers[url]
        if isinstance(found, Page):
            self._answers.setdefault(found.final_url, replace(found, url=found.final_url))
        return found

    def _asked(self, url: str) -> Page | FetchError:
        if self.count >= MAX_REQUESTS:
            return FetchError(url, f"not asked: {MAX_REQUESTS} requests were made before")
        if not self._may_go_on():
            return FetchError(url, "not asked: the time was up")
        self.count += 1
        try:
            return self._fetcher.fetch(PageRequest(url, obeys_robots=url != self._named))
        except FetchError as error:
            return error

    def fetch(self, request: PageRequest) -> Page:
        """Return one page. Raises FetchError."""
        found = self.answer(request.url)
        if isinstance(found, FetchError):
            raise found
        return found

    def fetch_all(self, requests: Iterable[PageRequest]) -> Iterator[tuple[PageRequest, Page | FetchError]]:
        """Yield each request with its page or its error."""
        for request in requests:
            yield request, self.answer(request.url)
