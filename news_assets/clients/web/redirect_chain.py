"""One request with its redirects: visited addresses, cookies set on the way, the logins
and tokens that it carries to an origin, and the time limit of the whole chain.
"""

import re
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from news_assets.clients.web.responses import as_fetch_errors
from news_assets.clients.web.transport import BAD_PORTS, deadline
from news_assets.errors import FetchError, ForbiddenAddressError
from news_assets.ports.services import PageRequest
from news_assets.text.limits import most

# --- logins and tokens ----------------------------------------------------------------


SecretOf = Callable[[str], str | None]  # the value of an environment variable

_HEADER_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?")


class Logins:
    """Logins given as `https://user:password@host`, with percent-encoding."""

    def __init__(self, addresses: Iterable[str] = ()) -> None:
        self._headers = {}
        for address in addresses:
            url = httpx.URL(address)
            self._headers[origin_of(url)] = _authorization(url)

    def header_for(self, url: httpx.URL) -> str | None:
        """Return the Authorization header for a URL, None if its origin has no login."""
        return self._headers.get(origin_of(url))


class Tokens:
    """The tokens that sources name (`Access.token_env`); `secret_of` reads them when
    they are sent.
    """

    def __init__(self, secret_of: SecretOf) -> None:
        self._secret_of = secret_of

    def header_for(
        self, url: httpx.URL, request: PageRequest
    ) -> tuple[str, str] | None:
        """Return name and value of the header that carries the token to this URL; None
        if none is due there.

        Raises:
            FetchError: The variable is not set, or cannot be sent. The source does not
                count as failing.
        """
        access = request.access
        if access.token_param:
            return None
        token = self._token(url, request)
        if token is None:
            return None
        if access.token_header.lower() == "authorization":
            token = f"Bearer {token}"
        return access.token_header, token

    def target_of(self, url: httpx.URL, request: PageRequest) -> bytes | None:
        """Return path and query of a URL with the token as a parameter; None if none is
        due there.

        It replaces the URL's on the wire only, so that no log, error or page contains
        the token.

        Raises:
            FetchError: As `header_for`.
        """
        param = request.access.token_param
        if not param:
            return None
        token = self._token(url, request)
        if token is None:
            return None
        return url.copy_set_param(param, token).raw_path

    def _token(self, url: httpx.URL, request: PageRequest) -> str | None:
        access = request.access
        if access.token_env is None:
            return None
        if origin_of(httpx.URL(access.token_url)) != origin_of(url):
            return None
        token = (self._secret_of(access.token_env) or "").strip()
        if _HEADER_VALUE.fullmatch(token):
            return token
        # Checked here, because the HTTP library's error would contain the token.
        problem = "holds characters that no header can carry" if token else "is not set"
        reason = f"the environment variable {access.token_env} (token_env) {problem}"
        raise FetchError(request.url, reason, weight=0.0, is_transient=True)


def origin_of(url: httpx.URL) -> str:
    """Return scheme, host and port; httpx leaves out default ports."""
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def without_login(url: str) -> str:
    """Return a URL without user and password, else as written."""
    parsed = httpx.URL(url)
    if not parsed.userinfo:
        return url
    return str(parsed.copy_with(userinfo=b""))


def _authorization(url: httpx.URL) -> str:
    login = f"{url.username}:{url.password}".encode()
    return f"Basic {b64encode(login).decode('ascii')}"


# --- redirects ------------------------------------------------------------------------


_MAX_URL_CHARS = most("address")


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
        if not self.response.has_redirect_location:
            return None
        return self.response.headers["location"]


def _visit(url: httpx.URL, request: httpx.Request) -> tuple[str, str]:
    return str(url), request.headers.get("cookie", "")


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
        if self.cookies is None:
            self.cookies = httpx.Cookies()
        self.visited.add(_visit(hop.url, hop.response.request))
        self.cookies.extract_cookies(hop.response)
        url = self._target(hop)
        if origin_of(url) != origin_of(hop.url):
            self.is_at_origin = False
        following = httpx.Request("GET", url)
        self.cookies.set_cookie_header(following)
        if _visit(url, following) in self.visited:
            raise FetchError(
                self.request.url, f"redirect loop at {url}", status=hop.status
            )
        return url

    def _target(self, hop: Hop) -> httpx.URL:
        """Return the redirect's address, without user, password, fragment and token."""
        with as_fetch_errors(self.request.url):
            url = hop.url.join(hop.location or "")
            url = url.copy_with(fragment=None, userinfo=b"")
            param = self.request.access.token_param
            if param:
                url = url.copy_remove_param(param)  # a server repeats it
            return url

    def check_url(self, url: httpx.URL) -> None:
        """Raise FetchError for an address that is too long, is not http(s), or has no
        host or no port of the web.

        The ports are refused for private hosts that may be fetched too: there the other
        servers are.
        """
        if len(str(url)) > _MAX_URL_CHARS:
            raise self._refused(
                f"not a valid address: longer than {_MAX_URL_CHARS:,} characters"
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
