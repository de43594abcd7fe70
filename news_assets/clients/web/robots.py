"""robots.txt (RFC 9309): an origin's rules for our product token, kept for the fetcher's life, a day at most.

How the file is fetched comes in as an argument; what a URL's page says is no matter of this module.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import httpx
from protego import Protego

from news_assets.errors import FetchError, ForbiddenAddressError, RobotsError

MAX_ROBOTS_BYTES = 512_000  # RFC 9309, section 2.5: at least 500 KiB are read; what follows is dropped
_KEEP_S = 86_400.0  # section 2.4
_KEEP_FAILURE_S = 300.0  # hundreds of articles wait behind one robots.txt: one try stands for all of them
_TOKEN = re.compile(r"[A-Za-z_-]+")


@dataclass(frozen=True, slots=True)
class _Known:
    """Rules, or the reason why they could not be had; the time is monotonic."""

    until: float
    rules: Protego | None
    failure: FetchError | None = None


class Robots:
    """Says whether a URL may be fetched. `fetch_text` gets one robots.txt or raises FetchError."""

    def __init__(self, user_agent: str, fetch_text: Callable[[str], str]) -> None:
        self._token = product_token(user_agent)
        self._fetch_text = fetch_text
        self._known: dict[str, _Known] = {}

    def check(self, url: httpx.URL, asked: str) -> float | None:
        """Return the origin's Crawl-delay in seconds, None where it names none. `asked` is the URL for errors.

        Raises:
            RobotsError: The rules forbid this URL to us.
            FetchError: The rules cannot be had now, which forbids everything until they can.
        """
        known = self._rules_of(url)
        if known.failure is not None:
            raise _as_transient(asked, known.failure)
        if known.rules is None:
            return None
        if not known.rules.can_fetch(str(url), self._token):
            raise RobotsError(asked, "forbidden by robots.txt", weight=1.0, is_transient=False)
        delay = known.rules.crawl_delay(self._token)
        return None if delay is None else max(0.0, float(delay))

    def _rules_of(self, url: httpx.URL) -> _Known:
        origin = f"{url.scheme}://{url.netloc.decode('ascii')}"
        known = self._known.get(origin)
        if known is None or known.until < time.monotonic():
            known = self._known[origin] = self._ask(f"{origin}/robots.txt")
        return known

    def _ask(self, url: str) -> _Known:
        try:
            text = self._fetch_text(url)
        except FetchError as error:
            if _means_no_rules(error):
                return _Known(time.monotonic() + _KEEP_S, None)
            return _Known(time.monotonic() + _KEEP_FAILURE_S, None, error)
        return _Known(time.monotonic() + _KEEP_S, Protego.parse(text))


def product_token(user_agent: str) -> str:
    """Return the name that robots.txt files call us by: the first word of the User-Agent (RFC 9309, section 2.2.1)."""
    match = _TOKEN.match(user_agent)
    return match[0] if match else user_agent


def _means_no_rules(error: FetchError) -> bool:
    """Whether everything is allowed: 4xx, and redirects that lead nowhere (section 2.3.1). 429 is no answer yet."""
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
