"""Who may act: holders of NEWS_OPERATOR_TOKEN, who send it as a bearer token or log in with it
on a page; what actions need beyond the archive, the record of what operators do, and the handlers
of forms and of pages that nothing on their way may keep.
"""

import hashlib
import hmac
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, cast
from urllib.parse import urlencode, urlsplit

import anyio
from anyio import to_thread
from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

from news_assets.ports.services import Reader, Rows
from news_assets.records.alerts import OperatorAction
from news_assets.records.articles import RawArticle
from news_assets.records.derived import Failure
from news_assets.web.archive import MAX_SECONDS
from news_assets.web.forms import form_of
from news_assets.web.request_limits import in_time

COOKIE: Final = "news_operator"
SESSION_S: Final = 12 * 3600
MAX_NAME_CHARS: Final = 60
LOG_OUT: Final = "log out"
_BY_TOKEN: Final = "API"  # who acts where no name was given
_LOOKS_STOP_AFTER: Final = timedelta(minutes=2)

_Handler = Callable[[Request], Response]


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
        is_https = request.url.scheme == "https"
        value = str(self._signer.dumps(name))
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
        # several handlers of one request need it
        if not hasattr(request.state, "operator"):
            request.state.operator = self._sender_of(request)
        return cast("str | None", request.state.operator)

    def _sender_of(self, request: Request) -> str | None:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            if self.is_token(given.strip()):
                return _BY_TOKEN
            return None
        return self._name_in(request.cookies.get(COOKIE, ""))

    def _name_in(self, cookie: str) -> str | None:
        if not self.is_open:
            return None
        try:
            name = str(self._signer.loads(cookie, max_age=SESSION_S))
        except BadSignature:  # also of a cookie that is too old
            return None
        if self._is_ended(session_id(cookie)):
            return None
        return name

    def may_look(self, request: Request) -> bool:
        """Return whether the pages of operators are for who sends a request: for
        operators, and for all where nobody may act.
        """
        return not self.is_open or self.operator(request) is not None

    def closed(self, handler: _Handler) -> _Handler:
        """Return a handler that answers as this one whom `may_look` lets in; others get
        the page to log in, or 401 where another form than HTML is requested.
        """

        def answer(request: Request) -> Response:
            if self.may_look(request):
                return handler(request)
            if form_of(request):
                raise HTTPException(401, _LOG_IN, _CHALLENGE)
            here = request.url.path
            if request.url.query:
                here = f"{here}?{request.url.query}"
            return RedirectResponse(f"/operations/login?{urlencode({'to': here})}", 303)

        return answer

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
        _check_origin(request)
        name = self.operator(request)
        if name is None:
            raise HTTPException(401, _LOG_IN, _CHALLENGE)
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


_LOG_IN: Final = "log in, or send the operators' token as a bearer token"
_CHALLENGE: Final = {"WWW-Authenticate": 'Bearer realm="news_assets"'}


def _check_origin(request: Request) -> None:
    """Check that a browser sends this request from a page of this server, or that no
    browser sends it.

    Browsers say so in Sec-Fetch-Site, older ones in Origin only; to forms of pages that
    send no referrer they add `Origin: null`.

    Raises:
        HTTPException: It comes from a page of another site.
    """
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site")
    is_own = origin is None or urlsplit(origin).netloc == request.headers.get("host")
    if site != "same-origin" and not (is_own and site in (None, "none")):
        raise HTTPException(403, "this request comes from a page of another site")


def _nothing(article_ids: Sequence[str]) -> None:
    """Leave the documents to the next run of `search_index`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The operators' token, empty for read-only pages, and the addresses of Dagster's
    web server, empty if unknown.

    `dagster_url` is its address for this process, `dagster_public_url` that in browsers
    if it is another one. `delete_documents` removes articles from the search index.
    `last_look` returns when a sensor last looked for due work, None if that is unknown.
    """

    token: str = ""
    dagster_url: str = ""
    dagster_public_url: str = ""
    delete_documents: Callable[[Sequence[str]], None] = _nothing
    last_look: Callable[[], datetime | None] = lambda: None

    @property
    def links_url(self) -> str:
        """The address of Dagster's web server that links begin with, without a slash at
        its end.
        """
        return (self.dagster_public_url or self.dagster_url).rstrip("/")


READ_ONLY: Final = Access()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looks:
    """Whether sensors look for due work, which a retry waits for, and when one last did;
    None if none is known.
    """

    is_looking: bool
    last_at: datetime | None


def looks_of(access: Access, now: datetime) -> _Looks:
    """Return what is known of the sensors of Dagster's daemon."""
    last_at = access.last_look()
    is_looking = last_at is not None and now - last_at < _LOOKS_STOP_AFTER
    return _Looks(is_looking=is_looking, last_at=last_at)


def read_form(body: bytes) -> QueryParams:
    """Return the fields of a form; of several with one name, `[]` gives the last and
    `getlist` all.
    """
    try:
        return QueryParams(body.decode())
    except UnicodeDecodeError as error:
        raise HTTPException(400, "the form cannot be read") from error


def filled_fields(form: QueryParams) -> dict[str, str]:
    """Return the fields of a form that are not empty."""
    found = {}
    for name, value in form.items():
        if text := value.strip():
            found[name] = text
    return found


def is_confirmed(request: Request, form: QueryParams) -> bool:
    """Return whether an action is to be done at once: it comes from the page with
    the confirmation, or from a program with the token.
    """
    return form.get("confirmed") == "yes" or "authorization" in request.headers


def note(
    rows: Rows,
    who: str,
    action: str,
    detail: str,
    now: datetime,
    about: RawArticle | Failure | None = None,
) -> None:
    """Store what an operator does in the same transaction; `about` names the article,
    if it is about one.
    """
    note_all(rows, who, action, [(detail, about)], now)


def note_all(
    rows: Rows,
    who: str,
    action: str,
    done: Iterable[tuple[str, RawArticle | Failure | None]],
    now: datetime,
) -> None:
    """Store what an operator does to several articles at once, each with its detail."""
    notes = []
    for detail, about in done:
        notes.append(
            OperatorAction(
                acted_at=now,
                operator=who,
                action=action,
                article_id=about.article_id if about else "",
                desk=about.desk if about else "",
                agency=about.agency if about else "",
                detail=detail,
            )
        )
    rows.append(notes)


_MAX_BODY_BYTES: Final = 100_000  # a thousand agencies

_Posted = Callable[[Request, bytes], Response]


def posted(
    handler: _Posted, *, any_origin: bool = False
) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler that reads a body of limited size and runs this one in a thread.
    The request has to come from a page of this server, unless from `any_origin`.
    """

    async def answer(request: Request) -> Response:
        if not any_origin:
            _check_origin(request)
        try:
            with anyio.fail_after(MAX_SECONDS):
                body = await _body_of(request)
        except TimeoutError:
            raise HTTPException(
                408, f"the body did not come within {MAX_SECONDS:.0f} s"
            ) from None
        except ClientDisconnect:
            raise HTTPException(
                400, "the connection was closed before the end of the body"
            ) from None
        return private(await to_thread.run_sync(handler, request, body))

    return answer


async def _body_of(request: Request) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _MAX_BODY_BYTES:
            raise HTTPException(413, f"more than {_MAX_BODY_BYTES:,} bytes")
    return bytes(body)


def private_page(
    handler: Callable[[Request], Response],
) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler of a page that is not kept by anything on its way."""
    return in_time(lambda request: private(handler(request)))
