"""Logins of sites (HTTP Basic): the Authorization header by origin."""

from base64 import b64encode
from collections.abc import Iterable

import httpx


class Logins:
    """Logins given as `https://user:password@host`, with percent-encoding."""

    def __init__(self, addresses: Iterable[str] = ()) -> None:
        self._headers = {origin_of(url): _authorization(url) for url in map(httpx.URL, addresses)}

    def header_for(self, url: httpx.URL) -> str | None:
        """Return the Authorization header for a URL, None if its origin has no login."""
        return self._headers.get(origin_of(url))


def origin_of(url: httpx.URL) -> str:
    """Return scheme, host and port; httpx leaves out default ports."""
    return f"{url.scheme}://{url.netloc.decode('ascii')}"


def _authorization(url: httpx.URL) -> str:
    return "Basic " + b64encode(f"{url.username}:{url.password}".encode()).decode("ascii")
