"""Headers of a response: Content-Type, Retry-After, freshness, validators.

Values that are stored are absent if they are long or contain control characters: HTTP/2
delivers some that HTTP/1.1 cannot send back. The time of the next request is decided in
`pipeline/schedule.py`.
"""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from news_assets.records.reading import Validators
from news_assets.retry_table import LONGEST_PAUSE_S
from news_assets.sources.bot_protection import protection_of_refusal

MAX_VALUE_CHARS = 1_000  # of real servers none is longer than 200
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
    return int(value) if _SIZE.fullmatch(value) else None


def charset_of(content_type: str) -> str | None:
    """Return the charset that a Content-Type states, in lower case.

    `httpx.Response.charset_encoding` raises ValueError for some parameters, such as
    `charset*` with 5,000 digits.
    """
    match = _CHARSET.search(content_type)
    return match[1].lower() if match else None


def retry_after_s(headers: httpx.Headers, now: datetime) -> float | None:
    """Return the pause in seconds from `now` that Retry-After requests; None if it is
    missing or invalid.

    Reads both forms (RFC 9110, section 10.2.3): seconds, or a date, which is compared
    with the response's Date header if there is one.
    """
    value = headers.get("retry-after", "").strip()
    found = _seconds_until(value, headers, now)
    if _SECONDS.fullmatch(value):
        found = float(value)
    return None if found is None else min(found, LONGEST_PAUSE_S)


def max_age_s(headers: httpx.Headers, now: datetime) -> float | None:
    """Return for how many seconds the response stays fresh (Cache-Control before
    Expires); None if not stated.
    """
    if match := _MAX_AGE.search(headers.get("cache-control", "")):
        age = headers.get("age", "").strip()
        past_s = float(age) if _SECONDS.fullmatch(age) else 0.0
        return max(0.0, float(match[1]) - past_s)
    return _seconds_until(headers.get("expires", ""), headers, now)


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
    etag, last_modified = _stored(headers, "etag"), _stored(headers, "last-modified")
    return Validators(etag or confirmed.etag, last_modified or confirmed.last_modified)


def _stored(headers: httpx.Headers, name: str) -> str | None:
    value: str = headers.get(name, "")
    if value.isprintable() and 0 < len(value) <= MAX_VALUE_CHARS:
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
