"""robots.txt (RFC 9309): an origin's rules for our product token, cached for at most a
day.
"""

import hashlib
import re
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
from protego import Protego

from news_assets.clients.web.redirect_chain import origin_of
from news_assets.errors import FetchError, ForbiddenAddressError, RobotsError
from news_assets.ports.services import PageRequest
from news_assets.records.desks import Access
from news_assets.retry_table import ROBOTS

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
        key = origin_of(httpx.URL(url)), access.proxy
        cached = self._cache.get(key)
        if cached is not None and isinstance(cached.rules, FetchError):
            self._cache.pop(key, None)

    def _rules_of(self, url: httpx.URL, access: Access) -> Protego | FetchError:
        origin = origin_of(url)
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
