"""What a request may do at an origin: the redirects that it follows, with the cookies set
on the way and one time limit; the logins and tokens that it carries there; and what the
origin's robots.txt (RFC 9309) forbids our product token, cached for at most a day.
"""

import hashlib
import re
import tempfile
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from protego import Protego

from news_assets.clients.web.responses import as_fetch_errors
from news_assets.clients.web.transport import BAD_PORTS, deadline
from news_assets.errors import FetchError, ForbiddenAddressError, RobotsError
from news_assets.ports.services import PageRequest
from news_assets.records.desks import Access
from news_assets.retry_table import ROBOTS
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
            self._headers[_origin_of(url)] = _authorization(url)

    def header_for(self, url: httpx.URL) -> str | None:
        """Return the Authorization header for a URL, None if its origin has no login."""
        return self._headers.get(_origin_of(url))


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
        if _origin_of(httpx.URL(access.token_url)) != _origin_of(url):
            return None
        token = (self._secret_of(access.token_env) or "").strip()
        if _HEADER_VALUE.fullmatch(token):
            return token
        # Checked here, because the HTTP library's error would contain the token.
        problem = "holds characters that no header can carry" if token else "is not set"
        reason = f"the environment variable {access.token_env} (token_env) {problem}"
        raise FetchError(request.url, reason, weight=0.0, is_transient=True)


def _origin_of(url: httpx.URL) -> str:
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
        if _origin_of(url) != _origin_of(hop.url):
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


# --- robots.txt -----------------------------------------------------------------------

# RFC 9309, section 2.5: at least 500 KiB are read; the rest is ignored
MAX_ROBOTS_BYTES = 512_000
_CACHE_S = 86_400.0  # section 2.4
_MAX_ORIGINS = 256  # in memory: 25,000 rules take 10 MB
_MAX_STORED_BYTES = 65_536  # on disk
_TOKEN = re.compile(r"(?:Mozilla/\S+ \(compatible; *)?([A-Za-z_-]+)")
_LINE_END = re.compile(r"\r\n?")
# line ends for str.splitlines, but not in RFC 9309
_NO_LINE_END = re.compile(r"[\v\f\x1c-\x1e\x85\u2028\u2029]")
_USER_AGENT = re.compile(
    r"^[ \t]*user[- ]?agent(?:[ \t]*:|[ \t])[ \t]*(\*(?=[\s#]|$)|[a-z_-]*).*$",
    re.IGNORECASE | re.MULTILINE,
)
_OTHERS = "others/"  # no product token contains a slash


@dataclass(frozen=True, slots=True)
class _Cached:
    """An origin's rules, or why they could not be fetched. `expires_at` is monotonic."""

    expires_at: float
    rules: Protego | FetchError


class Robots:
    """Decides whether a URL may be fetched. `fetch_text` returns one robots.txt or
    raises FetchError.

    It is requested with the `access` of the source that needs it first. The processes
    of a machine share the files in `folder`, so that a robots.txt is requested once a
    day.
    """

    def __init__(
        self, user_agent: str, fetch_text: Callable[[str, Access], str], folder: Path
    ) -> None:
        self._token = product_token(user_agent)
        self._fetch_text = fetch_text
        self._folder = folder
        # by origin and proxy, the one added first is the first
        self._cache: dict[tuple[str, str | None], _Cached] = {}

    def check(self, url: httpx.URL, request: PageRequest) -> float | None:
        """Return the origin's Crawl-delay in seconds, None if it states none.

        Raises:
            RobotsError: The request obeys robots.txt, and the rules forbid this URL.
            FetchError: The request obeys robots.txt, and the rules cannot be fetched
                now, which forbids every URL.
        """
        rules = self._rules_of(url, request.access)
        if isinstance(rules, FetchError):
            if request.obeys_robots:
                raise _as_transient(request.url, rules)
            return None
        if request.obeys_robots and not rules.can_fetch(str(url), self._token):
            raise RobotsError(
                request.url, "forbidden by robots.txt", weight=1.0, is_transient=False
            )
        return rules.crawl_delay(self._token)

    def forget_failure(self, url: str, access: Access) -> None:
        """Fetch the robots.txt of this URL's origin again, if it could not be fetched."""
        key = _origin_of(httpx.URL(url)), access.proxy
        cached = self._cache.get(key)
        if cached is not None and isinstance(cached.rules, FetchError):
            self._cache.pop(key, None)

    def _rules_of(self, url: httpx.URL, access: Access) -> Protego | FetchError:
        origin = _origin_of(url)
        key = origin, access.proxy
        cached = self._cache.get(key)
        if cached is None or cached.expires_at < time.monotonic():
            self._cache.pop(key, None)
            cached = self._cache[key] = self._read(f"{origin}/robots.txt", access)
            if len(self._cache) > _MAX_ORIGINS:
                self._cache.pop(next(iter(self._cache)), None)
        return cached.rules

    def _stored(self, file: Path) -> _Cached | None:
        """Return the rules in a file that is not too old."""
        with suppress(OSError, UnicodeError):
            age_s = time.time() - file.stat().st_mtime
            if 0 <= age_s < _CACHE_S:
                text = file.read_bytes().decode("utf-8")
                return self._cached(text, _CACHE_S - age_s)
        return None

    def _read(self, url: str, access: Access) -> _Cached:
        """Return the rules that a process of this machine has stored, else fetch them."""
        digest = hashlib.sha256(url.encode())
        file = self._folder / f"{digest.hexdigest()[:24]}.robots"
        stored = self._stored(file)
        if stored is not None:
            return stored
        try:
            text = self._fetch_text(url, access)
        except FetchError as error:
            if not _means_no_rules(error):
                return _Cached(time.monotonic() + ROBOTS.pauses_s[0], error)
            text = ""
        _store(file, text.encode("utf-8"))
        return self._cached(text, _CACHE_S)

    def _cached(self, text: str, valid_s: float) -> _Cached:
        expires_at = time.monotonic() + valid_s
        rules = Protego.parse(for_protego(text, self._token))
        return _Cached(expires_at, rules)


def product_token(user_agent: str) -> str:
    """Return the product token of a User-Agent (RFC 9309, section 2.2.1).

    It is the first word, or the one after `compatible;` where a browser's name comes
    first.
    """
    match = _TOKEN.match(user_agent)
    if match is None:
        return user_agent
    return match[1]


def for_protego(text: str, token: str) -> str:
    """Return a robots.txt for Protego with the lines and user agents that RFC 9309 sees
    in it.

    Protego takes `User-agent: name/2.0` and `name*` for other agents than `name`, and
    `na` for the same. Each user agent becomes `token`, `*` or `others/`: with three
    groups at most, Protego's time is linear in the text. With a group for each of 2,000
    user agents, 2,000 rules took 4.5 s.
    """

    def user_agent(match: re.Match[str]) -> str:
        name = match[1]
        if name != "*" and name.lower() != token.lower():
            name = _OTHERS
        return f"User-agent: {name}"

    text = text.removeprefix("\ufeff")
    text = _LINE_END.sub("\n", text)
    text = _NO_LINE_END.sub(" ", text)
    return _USER_AGENT.sub(user_agent, text)


def _store(file: Path, content: bytes) -> None:
    """Replace a file atomically; a failure costs one more request later."""
    if len(content) > _MAX_STORED_BYTES:
        return
    with (
        suppress(OSError),
        tempfile.TemporaryDirectory(prefix=".robots", dir=file.parent) as folder,
    ):
        draft = Path(folder) / file.name
        draft.write_bytes(content)
        draft.replace(file)


def _means_no_rules(error: FetchError) -> bool:
    """Return whether everything is allowed: 4xx except 429, and redirects that end
    nowhere (section 2.3.1).
    """
    if error.status is None:
        return False
    if error.status == 429:
        return False
    return 300 <= error.status < 500


def _as_transient(url: str, failure: FetchError) -> FetchError:
    if isinstance(failure, ForbiddenAddressError):
        return ForbiddenAddressError(
            url, failure.reason, weight=failure.weight, is_transient=False
        )
    return FetchError(
        url,
        f"robots.txt: {failure.reason}",
        status=failure.status,
        retry_after_s=failure.retry_after_s,
        weight=failure.weight,
        is_transient=True,
        is_connection=failure.is_connection,
    )
