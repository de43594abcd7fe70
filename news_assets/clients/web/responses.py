"""What comes back from a request: headers, the body, decompressed up to a cap, and
failures as FetchError.

Values of headers that are stored are absent if they are long or contain control
characters: HTTP/2 delivers some that HTTP/1.1 cannot send back. The time of the next
request is decided in `pipeline/schedule.py`.

httpx decompresses a whole chunk at once: 64 kB of zeros on the wire become 64 MB. Here
the output of each step is bounded, so a gzip bomb ends at the cap.

Exceptions of httpx, failed waits and HTTP status codes become FetchError with a short
reason, a weight towards longer pauses (hard 1, soft .5, DNS .25) and whether a retry
can help.
"""

import re
import ssl
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx
from h2.exceptions import ProtocolError

from news_assets.clients.web.politeness import RetryAfterError, StoppedError
from news_assets.clients.web.transport import (
    DeadlineError,
    ForbiddenHostError,
    UnknownHostError,
)
from news_assets.errors import FetchError, ForbiddenAddressError, TooLargeError
from news_assets.records.reading import Validators
from news_assets.retry_table import LONGEST_PAUSE_S
from news_assets.sources.platforms import protection_of_refusal

# --- headers --------------------------------------------------------------------------


_MAX_VALUE_CHARS = 1_000  # of real servers none is longer than 200
_MAX_AGE = re.compile(r"(?<![\w-])max-age\s*=\s*\"?(\d{1,10})", re.IGNORECASE)
_SECONDS = re.compile(r"\d{1,10}")
_SIZE = re.compile(r"[0-9]{1,15}")
_CHARSET = re.compile(
    r";\s*charset\s*=\s*[\"']?([\w.:+-]{1,40})", re.IGNORECASE | re.ASCII
)


def content_type_of(headers: httpx.Headers) -> str:
    """Return the Content-Type; empty if there is none."""
    return _stored(headers, "content-type") or ""


def content_length_of(headers: httpx.Headers) -> int | None:
    """Return the Content-Length in bytes; None if it is missing or invalid."""
    value = headers.get("content-length", "").strip()
    if not _SIZE.fullmatch(value):
        return None
    return int(value)


def charset_of(content_type: str) -> str | None:
    """Return the charset that a Content-Type states, in lower case.

    `httpx.Response.charset_encoding` raises ValueError for some parameters, such as
    `charset*` with 5,000 digits.
    """
    match = _CHARSET.search(content_type)
    if match is None:
        return None
    return match[1].lower()


def retry_after_s(headers: httpx.Headers, now: datetime) -> float | None:
    """Return the pause in seconds from `now` that Retry-After requests; None if it is
    missing or invalid.

    Reads both forms (RFC 9110, section 10.2.3): seconds, or a date, which is compared
    with the response's Date header if there is one.
    """
    value = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(value):
        return min(float(value), LONGEST_PAUSE_S)
    found = _seconds_until(value, headers, now)
    if found is None:
        return None
    return min(found, LONGEST_PAUSE_S)


def max_age_s(headers: httpx.Headers, now: datetime) -> float | None:
    """Return for how many seconds the response stays fresh (Cache-Control before
    Expires); None if not stated.
    """
    match = _MAX_AGE.search(headers.get("cache-control", ""))
    if match is None:
        return _seconds_until(headers.get("expires", ""), headers, now)
    fresh_s = float(match[1])
    age = headers.get("age", "").strip()
    if _SECONDS.fullmatch(age):
        fresh_s -= float(age)
    return max(0.0, fresh_s)


def validators_of(
    headers: httpx.Headers, confirmed: Validators = Validators()
) -> Validators:
    """Return the ETag and Last-Modified to send next time, verbatim.

    `confirmed` are those that a 304 confirmed; newer ones of the 304 replace them (RFC
    9111, section 4.3.4). Servers that send both `Expires: 0` and `no-store` generate
    validators for each response: these are ignored.
    """
    is_expired = headers.get("expires", "").strip() == "0"
    if is_expired and "no-store" in headers.get("cache-control", "").lower():
        return Validators()
    etag = _stored(headers, "etag")
    last_modified = _stored(headers, "last-modified")
    return Validators(etag or confirmed.etag, last_modified or confirmed.last_modified)


def _stored(headers: httpx.Headers, name: str) -> str | None:
    value: str = headers.get(name, "")
    if value.isprintable() and 0 < len(value) <= _MAX_VALUE_CHARS:
        return value
    return None


def _seconds_until(value: str, headers: httpx.Headers, now: datetime) -> float | None:
    at = _parse_date(value)
    if at is None:
        return None
    sent_at = _parse_date(headers.get("date", "")) or now
    return max(0.0, (at - sent_at).total_seconds())


def _parse_date(value: str) -> datetime | None:
    try:
        at = parsedate_to_datetime(value)
        if at.tzinfo is None:
            return at.replace(tzinfo=UTC)
        return at.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


_BOT_WALL_STATUSES = (403, 429, 503)


def bot_wall_of(status: int, headers: dict[str, str], body: bytes) -> str | None:
    """Return the name of the bot wall that sent this response, None if none is
    recognised.
    """
    if status not in _BOT_WALL_STATUSES:
        return None
    if headers.get("cf-mitigated") == "challenge":
        return "Cloudflare"
    return protection_of_refusal(body.lower())


# --- body -----------------------------------------------------------------------------


_STEP_BYTES = 256 * 1024
_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class BodyCaps:
    """Limits for a body, as sent and decompressed; a PDF, which is compressed within,
    has only the second.
    """

    wire_bytes: int = 5_000_000
    body_bytes: int = 20_000_000


def read_body(
    response: httpx.Response, caps: BodyCaps, into: bytearray, url: str
) -> None:
    """Append the decompressed body to `into`, which keeps the part read so far on an
    error. Errors name `url`.

    Raises:
        TooLargeError: The body exceeds a cap; nothing beyond it was read.
        FetchError: The body ends early or does not match its Content-Encoding.
        httpx.HTTPError: The connection failed.
    """
    decode = _decoder_of(response, url)
    content_type = response.headers.get("content-type", "").lower()
    wire_bytes, max_wire_bytes = 0, caps.wire_bytes
    if content_type.startswith("application/pdf"):
        max_wire_bytes = caps.body_bytes
    for part in response.iter_raw():
        wire_bytes += len(part)
        if wire_bytes > max_wire_bytes:
            raise _too_large(response, url, f"{max_wire_bytes:,} bytes")
        for piece in decode(part):
            into += piece
            if len(into) > caps.body_bytes:
                limit = f"{caps.body_bytes:,} bytes decompressed"
                raise _too_large(response, url, limit)
    for piece in decode(b""):
        into += piece


def _too_large(response: httpx.Response, url: str, limit: str) -> TooLargeError:
    reason = f"more than {limit}"
    return TooLargeError(url, reason, status=response.status_code, weight=1.0)


def _decoder_of(
    response: httpx.Response, url: str
) -> Callable[[bytes], Iterator[bytes]]:
    """Return the decoder for the Content-Encoding; real servers also send "utf-8" and
    "none", which are ignored.
    """
    coding = response.headers.get("content-encoding", "").strip().lower()
    if coding in ("gzip", "x-gzip"):
        return _Inflater(url, response.status_code, zlib.MAX_WBITS | 16)
    if coding == "deflate":
        return _Inflater(url, response.status_code, zlib.MAX_WBITS)
    if any(name in coding for name in ("br", "zstd", "compress", ",")):
        reason = f"Content-Encoding {coding} was not requested"
        raise FetchError(url, reason, status=response.status_code, weight=1.0)
    return lambda part: iter((part,))


class _Inflater:
    """Decompresses gzip (also several members) or deflate (also without its zlib frame)
    in bounded steps.
    """

    def __init__(self, url: str, status: int, wbits: int) -> None:
        self._url = url
        self._status = status
        self._wbits = wbits
        self._zlib = zlib.decompressobj(wbits)
        self._is_started = False

    def __call__(self, part: bytes) -> Iterator[bytes]:
        """Yield this part of the body decompressed; an empty part marks the end."""
        if not part:
            if self._is_started and not self._zlib.eof:
                raise FetchError(
                    self._url, "body ends early", status=self._status, is_transient=True
                )
            return
        while part:
            piece = self._step(part)
            part = self._zlib.unconsumed_tail
            yield piece
            while len(piece) == _STEP_BYTES and not part and not self._zlib.eof:
                piece = self._step(b"")
                part = self._zlib.unconsumed_tail
                yield piece
            if self._zlib.eof:
                part = self._next_member()

    def _step(self, part: bytes) -> bytes:
        try:
            return self._zlib.decompress(part, _STEP_BYTES)
        except zlib.error as error:
            if self._wbits == zlib.MAX_WBITS and not self._is_started:
                self._wbits = -zlib.MAX_WBITS
                self._zlib = zlib.decompressobj(self._wbits)
                return self._step(part)
            reason = f"body does not match its Content-Encoding: {error}"
            raise FetchError(
                self._url, reason, status=self._status, weight=1.0
            ) from error
        finally:
            self._is_started = True

    def _next_member(self) -> bytes:
        """Return the next gzip member; anything else after the end is padding and
        dropped.
        """
        rest = self._zlib.unused_data
        if not rest.startswith(_GZIP_MAGIC):
            return b""
        self._zlib = zlib.decompressobj(self._wbits)
        return rest


# --- failures -------------------------------------------------------------------------


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
    except RetryAfterError as error:  # not sent, and counted as an attempt
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
    nearest = next(cls for cls in type(error).__mro__ if cls in REASONS)
    reason, weight, is_transient = REASONS[nearest]
    detail = _detail(error, causes)
    if detail:
        reason = f"{reason}: {detail}"
    is_tls = any(isinstance(cause, ssl.SSLError) for cause in causes)
    return FetchError(
        url,
        reason,
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
    return FetchError(
        url,
        _reason_of_status(status),
        status=status,
        retry_after_s=retry_after_s,
        weight=_weight_of_status(status),
    )


def _reason_of_status(status: int) -> str:
    if status == 410:
        return "gone"
    usual = "server error" if status >= 500 else "refused"
    return f"{_STATUS_REASONS.get(status, usual)} ({status})"


def _weight_of_status(status: int) -> float:
    if status in _SOFT_STATUSES:
        return _SOFT
    if 400 <= status < 500 or status < 300:
        return _HARD
    return _SOFT


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
            reason = cause.reason or str(cause)
            return f"TLS: {reason.replace('_', ' ').lower()}"
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror.lower()
    if isinstance(error, httpx.TimeoutException):
        return ""
    message = " ".join(str(error).split())
    return message[:200]
