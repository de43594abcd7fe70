"""Translate httpx exceptions, failed waits and HTTP status codes into FetchError.

Each has a short reason, a weight towards longer pauses (hard 1, soft .5, DNS .25) and
whether a retry can help.
"""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from h2.exceptions import ProtocolError

from news_assets.clients.web.politeness import RetryAfterError, StoppedError
from news_assets.clients.web.transport import (
    DeadlineError,
    ForbiddenHostError,
    UnknownHostError,
)
from news_assets.errors import FetchError, ForbiddenAddressError

HTTPX_ERRORS = (
    httpx.HTTPError,
    httpx.InvalidURL,
    httpx.CookieConflict,
    httpx.StreamError,
)

# A server that is restarted closes connections without a response: RemoteProtocolError.
_CONNECTION_ERRORS = (
    httpx.NetworkError,
    httpx.ConnectTimeout,
    httpx.RemoteProtocolError,
)

_HARD, _SOFT, _DNS = 1.0, 0.5, 0.25

# class: reason, weight, is_transient. The nearest class of an exception's MRO applies.
REASONS: dict[type[Exception], tuple[str, float, bool]] = {
    httpx.CloseError: ("connection lost", _SOFT, True),
    httpx.ConnectError: ("connection failed", _SOFT, True),
    httpx.ConnectTimeout: ("connection timed out", _SOFT, True),
    httpx.CookieConflict: ("conflicting cookies", _HARD, False),
    httpx.DecodingError: ("body does not match its Content-Encoding", _HARD, False),
    httpx.HTTPError: ("no response", _SOFT, True),
    httpx.HTTPStatusError: ("refused", _SOFT, True),
    httpx.InvalidURL: ("not a valid address", _HARD, False),
    httpx.LocalProtocolError: ("invalid HTTP request", _HARD, False),
    httpx.NetworkError: ("connection lost", _SOFT, True),
    httpx.PoolTimeout: ("no free connection in time", _SOFT, True),
    httpx.ProtocolError: ("invalid response", _SOFT, True),
    httpx.ProxyError: ("proxy refused", _SOFT, True),
    httpx.ReadError: ("connection lost while reading", _SOFT, True),
    httpx.ReadTimeout: ("no response in time", _SOFT, True),
    httpx.RemoteProtocolError: ("invalid response", _SOFT, True),
    httpx.RequestError: ("no response", _SOFT, True),
    httpx.RequestNotRead: ("the request was not read", _HARD, False),
    httpx.ResponseNotRead: ("the response was not read", _SOFT, True),
    httpx.StreamClosed: ("the fetcher was closed", _SOFT, True),
    httpx.StreamConsumed: ("the response was read twice", _SOFT, True),
    httpx.StreamError: ("the response could not be read", _SOFT, True),
    httpx.TimeoutException: ("timed out", _SOFT, True),
    httpx.TooManyRedirects: ("too many redirects", _SOFT, True),
    httpx.TransportError: ("connection lost", _SOFT, True),
    httpx.UnsupportedProtocol: ("not an http(s) address", _HARD, False),
    httpx.WriteError: ("connection lost while writing", _SOFT, True),
    httpx.WriteTimeout: ("sending timed out", _SOFT, True),
}
_STATUS_REASONS = {
    401: "login required",
    403: "forbidden",
    404: "not found",
    410: "gone",
    429: "too many requests",
    451: "unavailable for legal reasons",
}
# 403 too: bot walls refuse for some hours and then stop
_SOFT_STATUSES = (
    403,
    404,
    408,
    425,
    429,
)


@contextmanager
def as_fetch_errors(url: str) -> Iterator[None]:
    """Raise the exceptions of httpx and of host slots as FetchError for `url`."""
    try:
        yield
    except HTTPX_ERRORS as error:
        raise fetch_error_of(url, error) from error
    except RetryAfterError as error:
        reason = f"the host requested a pause (Retry-After), {error}"
        raise FetchError(url, reason, retry_after_s=error.wait_s) from error
    except StoppedError as error:
        raise FetchError(url, "stopped", weight=0.0) from error
    except OSError as error:  # of the lock files: httpx wraps its own
        raise FetchError(
            url, f"no host slot: {error.strerror or error}", weight=0.0
        ) from error


def fetch_error_of(url: str, error: Exception) -> FetchError:
    """Return the FetchError for an exception of httpx."""
    causes = tuple(_causes(error))
    for cause in causes:
        found = _error_of_cause(url, cause)
        if found is not None:
            return found
    reason, weight, is_transient = REASONS[
        next(cls for cls in type(error).__mro__ if cls in REASONS)
    ]
    detail = _detail(error, causes)
    is_tls = any(isinstance(cause, ssl.SSLError) for cause in causes)
    return FetchError(
        url,
        f"{reason}: {detail}" if detail else reason,
        weight=weight,
        is_transient=is_transient,
        is_connection=isinstance(error, _CONNECTION_ERRORS) and not is_tls,
    )


def _error_of_cause(url: str, cause: BaseException) -> FetchError | None:
    """Return the FetchError for a cause that says more than the exception of httpx."""
    if isinstance(cause, ForbiddenHostError):
        return ForbiddenAddressError(
            url, f"refused: {cause}", weight=_HARD, is_transient=False
        )
    if isinstance(cause, UnknownHostError):
        return FetchError(
            url, f"host not found: {cause}", weight=_DNS, is_connection=True
        )
    if isinstance(cause, DeadlineError):
        return FetchError(url, "total time limit exceeded")
    # which httpcore takes for the client's mistake
    if isinstance(cause, ProtocolError):
        detail = f"{type(cause).__name__}: {cause}"
        return FetchError(url, f"invalid response: HTTP/2, {detail}")
    return None


def status_error_of(
    url: str, status: int, bot_wall: str | None, retry_after_s: float | None
) -> FetchError:
    """Return the FetchError for a status outside 200-299 and 304."""
    if bot_wall is not None:
        return FetchError(
            url, f"blocked: {bot_wall}", status=status, retry_after_s=retry_after_s
        )
    is_soft = status in _SOFT_STATUSES or status >= 500 or 300 <= status < 400
    reason = _STATUS_REASONS.get(status, "server error" if status >= 500 else "refused")
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
    """Return the message of the most specific layer: TLS, the operating system, else
    httpx.
    """
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
