"""The time at which a run decides; everything below it gets `now` as an argument."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the current time, aware, in UTC."""
    return datetime.now(UTC)
