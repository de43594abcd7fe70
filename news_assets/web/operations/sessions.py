"""Who may act: holders of NEWS_OPERATOR_TOKEN, who send it as a bearer token or log in
with it on a page.
"""

import hashlib
import hmac
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from news_assets.ports.services import Reader
from news_assets.records.alerts import OperatorAction

COOKIE: Final = "news_operator"
SESSION_S: Final = 12 * 3600
MAX_NAME_CHARS: Final = 60
LOG_OUT: Final = "log out"
_BY_TOKEN: Final = "API"  # who acts where no name was given


class Sessions:
    """Log-ins kept in signed cookies: another token ends them all, and log-outs are
    stored.

    `is_ended` says of the id of a session whether its operator logged out.
    """

    def __init__(
        self, token: str, is_ended: Callable[[str], bool] = lambda session: False
    ) -> None:
        self._token = token
        self._is_ended = is_ended
        self._signer = URLSafeTimedSerializer(
            token, COOKIE, signer_kwargs={"digest_method": hashlib.sha256}
        )

    @property
    def is_open(self) -> bool:
        """Whether anybody may act."""
        return bool(self._token)

    def is_token(self, given: str) -> bool:
        """Return whether this is the token; the time it takes says nothing about it."""
        return self.is_open and hmac.compare_digest(
            given.encode(), self._token.encode()
        )

    def begin(self, request: Request, response: Response, name: str) -> None:
        """Add the cookie of a log-in under this name."""
        is_https, value = request.url.scheme == "https", str(self._signer.dumps(name))
        response.set_cookie(
            COOKIE,
            value,
            max_age=SESSION_S,
            httponly=True,
            samesite="strict",
            secure=is_https,
        )

    def end(self, response: Response) -> None:
        """Add the deletion of the cookie."""
        response.delete_cookie(COOKIE, httponly=True, samesite="strict")

    def operator(self, request: Request) -> str | None:
        """Return who sends a request; None for a reader."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return _BY_TOKEN if self.is_token(given.strip()) else None
        return self._name_in(request.cookies.get(COOKIE, ""))

    def _name_in(self, cookie: str) -> str | None:
        if not self.is_open:
            return None
        try:
            name = str(self._signer.loads(cookie, max_age=SESSION_S))
        except BadSignature:  # also of a cookie that is too old
            return None
        return None if self._is_ended(session_id(cookie)) else name

    def check(self, request: Request) -> str:
        """Return who sends a request that acts.

        Raises:
            HTTPException: It does not come from a page of this server (403) or from an
                operator (401), or the pages are read-only (403).
        """
        if not self.is_open:
            raise HTTPException(
                403, "these pages are read-only: NEWS_OPERATOR_TOKEN is not set"
            )
        check_origin(request)
        name = self.operator(request)
        if name is None:
            raise HTTPException(
                401,
                "log in, or send the operators' token as a bearer token",
                _CHALLENGE,
            )
        return name


def session_id(cookie: str) -> str:
    """Return what a log-out stores of a session's cookie."""
    return hashlib.sha256(cookie.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def ended_sessions(lake: Reader) -> Callable[[str], bool]:
    """Return a function that looks an id up among the stored log-outs."""
    return lambda session: bool(
        lake.read(OperatorAction, article_id=[""], action=[LOG_OUT], detail=[session])
    )


def private(response: Response) -> Response:
    """Return the answer for an operator, which nothing on its way may keep."""
    response.headers["Cache-Control"] = "private, no-store"
    return response


_CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="news_assets"'}


def check_origin(request: Request) -> None:
    """Check that a browser sends this request from a page of this server, or that no
    browser sends it.

    Browsers say so in Sec-Fetch-Site, older ones in Origin only; to forms of pages that
    send no referrer they add `Origin: null`.

    Raises:
        HTTPException: It comes from a page of another site.
    """
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    is_own = origin is None or urlsplit(origin).netloc == request.headers.get("host")
    if site != "same-origin" and not (is_own and site in (None, "none")):
        raise HTTPException(403, "this request comes from a page of another site")
