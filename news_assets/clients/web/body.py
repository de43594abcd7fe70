"""Decompress and cap a response's body while it streams.

httpx decompresses a whole chunk at once: 64 kB of zeros on the wire become 64 MB. Here
the output of each step is bounded, so a gzip bomb ends at the cap.
"""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx

from news_assets.errors import FetchError, TooLargeError

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
        self._url, self._status = url, status
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
