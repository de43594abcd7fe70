"""Redirect chains: visited addresses, cookies set on the way, and the time limit of the
whole chain.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from news_assets.clients.web.address_policy import BAD_PORTS
from news_assets.clients.web.fetch_errors import as_fetch_errors
from news_assets.clients.web.logins import origin_of
from news_assets.clients.web.transport import deadline
from news_assets.errors import FetchError, ForbiddenAddressError
from news_assets.ports.services import PageRequest
from news_assets.text.limits import most

MAX_URL_CHARS = most("address")


@dataclass(slots=True)
class Hop:
    """One request of a chain and its response, read and closed."""

    url: httpx.URL
    response: httpx.Response
    body: bytes = field(repr=False)
    retry_after_s: float | None

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.response.status_code

    @property
    def location(self) -> str | None:
        """The redirect's target as the server wrote it; None if this is no redirect."""
        return (
            self.response.headers["location"]
            if self.response.has_redirect_location
            else None
        )


@dataclass(slots=True)
class RedirectChain:
    """The state of one fetch across its redirects. `total_s` limits its requests,
    without waits for host slots.
    """

    request: PageRequest
    total_s: float
    stopping: threading.Event
    is_robots: bool = False
    elapsed_s: float = 0.0
    cookies: httpx.Cookies | None = None
    # address and Cookie header
    visited: set[tuple[str, str]] = field(default_factory=set)
    is_at_origin: bool = True  # no redirect led to another origin yet

    @property
    def elapsed_ms(self) -> int:
        """The duration of the requests so far, in milliseconds."""
        return round(self.elapsed_s * 1000)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Add the block's time to `elapsed_s` and limit it to the remaining time."""
        started = time.perf_counter()
        try:
            with deadline(self.total_s - self.elapsed_s):
                yield
        finally:
            self.elapsed_s += time.perf_counter() - started

    def next_url(self, hop: Hop) -> httpx.URL:
        """Return the redirect's target, without user and password.

        Raises:
            FetchError: It is not an address, or was visited with the same cookies.
        """
        self.cookies = self.cookies or httpx.Cookies()
        self.visited.add((str(hop.url), hop.response.request.headers.get("cookie", "")))
        self.cookies.extract_cookies(hop.response)
        with as_fetch_errors(self.request.url):
            url = hop.url.join(hop.location or "")
            url = url.copy_with(fragment=None, userinfo=b"")
            if param := self.request.access.token_param:
                url = url.copy_remove_param(param)  # a server repeats it
        self.is_at_origin = self.is_at_origin and origin_of(url) == origin_of(hop.url)
        following = httpx.Request("GET", url)
        self.cookies.set_cookie_header(following)
        if (str(url), following.headers.get("cookie", "")) in self.visited:
            raise FetchError(
                self.request.url, f"redirect loop at {url}", status=hop.status
            )
        return url

    def check_url(self, url: httpx.URL) -> None:
        """Raise FetchError for an address that is too long, is not http(s), or has no
        host or no port of the web.

        The ports are refused for private hosts that may be fetched too: there the other
        servers are.
        """
        if len(str(url)) > MAX_URL_CHARS:
            raise self._refused(
                f"not a valid address: longer than {MAX_URL_CHARS:,} characters"
            )
        if url.scheme not in ("http", "https") or not url.host:
            redirected = f"redirects to {url}, " if self.visited else ""
            raise self._refused(f"{redirected}not an http(s) address")
        if url.port is not None and not 0 < url.port < 65_536:  # httpx takes any number
            raise self._refused(f"not a valid address: port {url.port}")
        if url.port in BAD_PORTS:
            reason = (
                f"refused: port {url.port} of {url.host} belongs to another protocol"
            )
            raise ForbiddenAddressError(
                self.request.url, reason, weight=1.0, is_transient=False
            )

    def _refused(self, reason: str) -> FetchError:
        return FetchError(self.request.url, reason, weight=1.0, is_transient=False)
