"""robots.txt (RFC 9309): an origin's rules for our product token, cached for at most a day."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import httpx
from protego import Protego

from news_assets.errors import FetchError, ForbiddenAddressError, RobotsError

MAX_ROBOTS_BYTES = 512_000  # RFC 9309, section 2.5: at least 500 KiB are read; the rest is ignored
_CACHE_S = 86_400.0  # section 2.4
_CACHE_FAILURE_S = 300.0  # hundreds of articles may need one robots.txt: one attempt serves them all
_TOKEN = re.compile(r"[A-Za-z_-]+")


@dataclass(frozen=True, slots=True)
class _Cached:
    """An origin's rules, None if it has none, or why they could not be fetched. `expires_at` is monotonic."""

    expires_at: float
    rules: Protego | None
    failure: FetchError | None = None


class Robots:
    """Decides whether a URL may be fetched. `fetch_text` returns one robots.txt or raises FetchError."""

    def __init__(self, user_agent: str, fetch_text: Callable[[str], str]) -> None:
        self._token = product_token(user_agent)
        self._fetch_text = fetch_text
        self._cache: dict[str, _Cached] = {}

    def check(self, url: httpx.URL, requested_url: str) -> float | None:
        """Return the origin's Crawl-delay in seconds, None if it states none. Errors name `requested_url`.

        Raises:
            RobotsError: The rules forbid this URL.
            FetchError: The rules cannot be fetched now, which forbids every URL of the origin.
        """
        cached = self._rules_of(url)
        if cached.failure is not None:
            raise _as_transient(requested_url, cached.failure)
        if cached.rules is None:
            return None
        if not cached.rules.can_fetch(str(url), self._token):
            raise RobotsError(requested_url, "forbidden by robots.txt", weight=1.0, is_transient=False)
        delay = cached.rules.crawl_delay(self._token)
        return None if delay is None else max(0.0, float(delay))

    def _rules_of(self, url: httpx.URL) -> _Cached:
        origin = f"{url.scheme}://{url.netloc.decode('ascii')}"
        cached = self._cache.get(origin)
        if cached is None or cached.expires_at < time.monotonic():
            cached = self._cache[origin] = self._fetch(f"{origin}/robots.txt")
        return cached

    def _fetch(self, url: str) -> _Cached:
        try:
            text = self._fetch_text(url)
        except FetchError as error:
            if _means_no_rules(error):
                return _Cached(time.monotonic() + _CACHE_S, None)
            return _Cached(time.monotonic() + _CACHE_FAILURE_S, None, error)
        return _Cached(time.monotonic() + _CACHE_S, Protego.parse(text))


def product_token(user_agent: str) -> str:
    """Return the product token of a User-Agent: its first word (RFC 9309, section 2.2.1)."""
    match = _TOKEN.match(user_agent)
    return match[0] if match else user_agent


def _means_no_rules(error: FetchError) -> bool:
    """Return whether everything is allowed: 4xx except 429, and redirects that end nowhere (section 2.3.1)."""
    return error.status is not None and 300 <= error.status < 500 and error.status != 429


def _as_transient(url: str, failure: FetchError) -> FetchError:
    if isinstance(failure, ForbiddenAddressError):
        return ForbiddenAddressError(url, failure.reason, weight=failure.weight, is_transient=False)
    return FetchError(
        url,
        f"robots.txt: {failure.reason}",
        status=failure.status,
        retry_after_s=failure.retry_after_s,
        weight=failure.weight,
        is_transient=True,
    )
