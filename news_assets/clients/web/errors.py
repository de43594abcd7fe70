"""Foreign failures as FetchError: every exception class of httpx, and every status that is no page.

Each gets a short reason, a weight towards longer pauses (hard 1, soft .5, DNS .25) and whether trying again can help.
"""

import ssl
from collections.abc import Iterator

import httpx

from news_assets.clients.web.transport import DeadlineError, ForbiddenHostError, UnknownHostError
from news_assets.errors import FetchError, ForbiddenAddressError

HTTPX_ERRORS = (httpx.HTTPError, httpx.InvalidURL, httpx.CookieConflict, httpx.StreamError)

_HARD, _SOFT, _DNS = 1.0, 0.5, 0.25

# class: reason, weight, is_transient. Most special class wins.
REASONS: dict[type[Exception], tuple[str, float, bool]] = {
    httpx.CloseError: ("connection lost", _SOFT, True),
    httpx.ConnectError: ("no connection", _SOFT, True),
    httpx.ConnectTimeout: ("no connection in time", _SOFT, True),
    httpx.CookieConflict: ("conflicting cookies", _HARD, False),
    httpx.DecodingError: ("body is not encoded as stated", _HARD, False),
    httpx.HTTPError: ("no answer", _SOFT, True),
    httpx.HTTPStatusError: ("refused", _SOFT, True),
    httpx.InvalidURL: ("not a valid address", _HARD, False),
    httpx.LocalProtocolError: ("a request that HTTP does not allow", _HARD, False),
    httpx.NetworkError: ("connection lost", _SOFT, True),
    httpx.PoolTimeout: ("no free connection in time", _SOFT, True),
    httpx.ProtocolError: ("broken answer", _SOFT, True),
    httpx.ProxyError: ("proxy refused", _SOFT, True),
    httpx.ReadError: ("connection lost while reading", _SOFT, True),
    httpx.ReadTimeout: ("no answer in time", _SOFT, True),
    httpx.RemoteProtocolError: ("broken answer", _SOFT, True),
    httpx.RequestError: ("no answer", _SOFT, True),
    httpx.RequestNotRead: ("the request was not read", _HARD, False),
    httpx.ResponseNotRead: ("the answer was not read", _SOFT, True),
    httpx.StreamClosed: ("the fetcher was closed", _SOFT, True),
    httpx.StreamConsumed: ("the answer was read twice", _SOFT, True),
    httpx.StreamError: ("the answer could not be read", _SOFT, True),
    httpx.TimeoutException: ("not in time", _SOFT, True),
    httpx.TooManyRedirects: ("too many redirects", _SOFT, True),
    httpx.TransportError: ("connection lost", _SOFT, True),
    httpx.UnsupportedProtocol: ("not an http(s) address", _HARD, False),
    httpx.WriteError: ("connection lost while writing", _SOFT, True),
    httpx.WriteTimeout: ("the request was not taken in time", _SOFT, True),
}
_STATUS_REASONS = {
    401: "log-in required",
    403: "forbidden",
    404: "not found",
    410: "gone",
    429: "too many requests",
    451: "withheld for legal reasons",
}
_SOFT_STATUSES = (403, 404, 408, 425, 429)  # 403 too: shields refuse for hours and open again


def fetch_error_of(url: str, error: Exception) -> FetchError:
    """Return what an exception of httpx means for this URL."""
    causes = tuple(_causes(error))
    for cause in causes:
        if isinstance(cause, ForbiddenHostError):
            return ForbiddenAddressError(url, f"refused: {cause}", weight=_HARD, is_transient=False)
        if isinstance(cause, UnknownHostError):
            return FetchError(url, f"host not found: {cause}", weight=_DNS)
        if isinstance(cause, DeadlineError):
            return FetchError(url, "not finished in time")
    reason, weight, is_transient = REASONS[next(cls for cls in type(error).__mro__ if cls in REASONS)]
    detail = _detail(error, causes)
    return FetchError(url, f"{reason}: {detail}" if detail else reason, weight=weight, is_transient=is_transient)


def status_error_of(url: str, status: int, shield: str | None, retry_after_s: float | None) -> FetchError:
    """Return what a status outside 200-299 and 304 means."""
    if shield is not None:
        return FetchError(url, f"blocked: {shield}", status=status, retry_after_s=retry_after_s)
    is_soft = status in _SOFT_STATUSES or status >= 500 or 300 <= status < 400
    reason = _STATUS_REASONS.get(status, "the server failed" if status >= 500 else "refused")
    return FetchError(
        url,
        reason if status == 410 else f"{reason} ({status})",
        status=status,
        retry_after_s=retry_after_s,
        weight=_SOFT if is_soft else _HARD,
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _detail(error: Exception, causes: tuple[BaseException, ...]) -> str:
    """Say it in the words of the deepest layer that knows: TLS, the operating system, the HTTP library."""
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"TLS: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return f"TLS: {(cause.reason or str(cause)).replace('_', ' ').lower()}"
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror.lower()
    if isinstance(error, httpx.TimeoutException):
        return ""
    return " ".join(str(error).split())[:200]
