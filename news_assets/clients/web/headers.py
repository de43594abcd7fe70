"""What response headers say about asking again: headers and the time they came in, seconds and validators out. Pure.

Whether and when to ask again is decided in `pipeline/schedule.py`.
"""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from news_assets.records import Validators

_MAX_AGE = re.compile(r"(?<![\w-])max-age\s*=\s*\"?(\d{1,10})", re.IGNORECASE)
_SECONDS = re.compile(r"\d{1,10}")


def retry_after_s(headers: httpx.Headers, now: datetime) -> float | None:
    """Return how long the server wants to be left alone, in seconds from `now`; None where it does not say.

    Both forms of Retry-After (RFC 9110, section 10.2.3): seconds, or a date, which is read against the server's own
    clock where it gives its Date.
    """
    value = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(value):
        return float(value)
    return _seconds_until(value, headers, now)


def max_age_s(headers: httpx.Headers, now: datetime) -> float | None:
    """Return how many seconds longer the answer is fresh (Cache-Control before Expires); None where it does not say."""
    if match := _MAX_AGE.search(headers.get("cache-control", "")):
        age = headers.get("age", "").strip()
        return max(0.0, float(match[1]) - (float(age) if _SECONDS.fullmatch(age) else 0.0))
    return _seconds_until(headers.get("expires", ""), headers, now)


def validators_of(headers: httpx.Headers, asked: Validators = Validators()) -> Validators:
    """Return the ETag and Last-Modified to send next time, as they came.

    `asked` are those that a 304 confirmed: they stay where the 304 names no newer ones (RFC 9111, section 4.3.4). A
    server that says both `Expires: 0` and `no-store` makes its validators up for each answer: they count as none.
    """
    if headers.get("expires", "").strip() == "0" and "no-store" in headers.get("cache-control", "").lower():
        return Validators()
    return Validators(headers.get("etag") or asked.etag, headers.get("last-modified") or asked.last_modified)


def _seconds_until(value: str, headers: httpx.Headers, now: datetime) -> float | None:
    at = _parse_date(value)
    if at is None:
        return None
    return max(0.0, (at - (_parse_date(headers.get("date", "")) or now)).total_seconds())


def _parse_date(value: str) -> datetime | None:
    try:
        at = parsedate_to_datetime(value)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
