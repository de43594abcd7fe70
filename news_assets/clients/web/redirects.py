"""One URL's way through its redirects: where it was, what it may still take, and every failure on it as a FetchError.

Sending and reading are done by `http.py`.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from news_assets.clients.web.errors import HTTPX_ERRORS, fetch_error_of
from news_assets.clients.web.politeness import HostAsksForPauseError, StoppedError
from news_assets.clients.web.transport import deadline
from news_assets.errors import FetchError, TooLargeError
from news_assets.ports import PageRequest


@dataclass(slots=True)
class Answer:
    """One hop's answer, read and closed."""

    url: httpx.URL
    response: httpx.Response
    body: bytes = field(repr=False)
    wait_s: float | None

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.response.status_code

    @property
    def redirect(self) -> str | None:
        """Where it leads on, as the server wrote it."""
        return self.response.headers["location"] if self.response.has_redirect_location else None


@dataclass(slots=True)
class Journey:
    """One URL's way through its redirects: time used, places seen, cookies set on the way."""

    request: PageRequest
    total_s: float
    stopping: threading.Event
    is_robots: bool = False
    elapsed_s: float = 0.0
    cookies: httpx.Cookies | None = None
    seen: set[tuple[str, str]] = field(default_factory=set)

    @property
    def tolerated(self) -> tuple[type[FetchError], ...]:
        """What may end a page's body early without harm: the cap of a robots.txt."""
        return (TooLargeError,) if self.is_robots else ()

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Count the block's time; it ends when the URL's time is over."""
        started = time.perf_counter()
        try:
            with deadline(self.total_s - self.elapsed_s):
                yield
        finally:
            self.elapsed_s += time.perf_counter() - started

    def next_url(self, answer: Answer) -> httpx.URL:
        """Return where a redirect leads. Raises FetchError where it leads back: the same address and cookies again."""
        self.cookies = self.cookies or httpx.Cookies()
        self.seen.add((str(answer.url), answer.response.request.headers.get("cookie", "")))
        self.cookies.extract_cookies(answer.response)
        with translated(self.request.url):
            url = answer.url.join(answer.redirect or "").copy_with(fragment=None)
        again = httpx.Request("GET", url)
        self.cookies.set_cookie_header(again)
        if (str(url), again.headers.get("cookie", "")) in self.seen:
            raise FetchError(self.request.url, f"redirects in a loop at {url}", status=answer.status)
        return url


@contextmanager
def translated(url: str) -> Iterator[None]:
    """Turn every foreign failure into a FetchError for `url`."""
    try:
        yield
    except HTTPX_ERRORS as error:
        raise fetch_error_of(url, error) from error
    except HostAsksForPauseError as error:
        reason = f"the host asked for a pause, {error}"
        raise FetchError(url, reason, retry_after_s=error.wait_s) from error
    except StoppedError as error:
        raise FetchError(url, "stopped", weight=0.0) from error
    except OSError as error:  # of the lock files: httpx's own are wrapped
        raise FetchError(url, f"no turn at the host: {error.strerror or error}", weight=0.0) from error


def check_scheme(url: httpx.URL, journey: Journey) -> None:
    """Raise FetchError for an address that is not http(s) or has no host."""
    if url.scheme not in ("http", "https") or not url.host:
        reason = f"redirects to {url}, not an http(s) address" if journey.seen else "not an http(s) address"
        raise FetchError(journey.request.url, reason, weight=1.0, is_transient=False)
    if url.port is not None and not 0 < url.port < 65_536:  # httpx takes any number
        reason = f"not a valid address: port {url.port}"
        raise FetchError(journey.request.url, reason, weight=1.0, is_transient=False)
