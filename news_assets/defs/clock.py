"""The clock of runs and sensors; all other code gets `now` as an argument."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the current time, aware, in UTC."""
    return datetime.now(UTC)
