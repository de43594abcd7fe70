"""Logins of sites (HTTP Basic) and tokens of sources: what carries them, by origin."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable

import httpx

from news_assets.errors import FetchError
from news_assets.ports.services import PageRequest

SecretOf = Callable[[str], str | None]  # the value of an environment variable

_HEADER_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?")


class Logins:
    """Logins given as `https://user:password@host`, with percent-encoding."""

    def __init__(self, addresses: Iterable[str] = ()) -> None:
        self._headers = {}
        for url in map(httpx.URL, addresses):
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
        is_standard = access.token_header.lower() == "authorization"
        return access.token_header, f"Bearer {token}" if is_standard else token

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
        return None if token is None else url.copy_set_param(param, token).raw_path

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
    return str(parsed.copy_with(userinfo=b"")) if parsed.userinfo else url


def _authorization(url: httpx.URL) -> str:
    login = f"{url.username}:{url.password}".encode()
    return f"Basic {b64encode(login).decode('ascii')}"
