"""The status of a meeting, from the vendor's words and the time."""

import re
from datetime import datetime

from news_assets.records.meetings import MeetingStatus

_CANCELLED = re.compile(r"\b(?:cancel(?:l?ed|l?ation)?|postponed|rescheduled|recess|no meeting)\b", re.IGNORECASE)
_NOT_CANCELLED = re.compile(
    r"\b(?:not|previously|formerly|uncancel+ed)\s{1,3}(?:been\s)?(?:cancel|postpon|rescheduled)", re.IGNORECASE
)
# In prose only what is said of the meeting itself counts: a comment may tell of another one.
_CANCELLED_IN_PROSE = re.compile(
    r"\b(?:meeting|hearing|session|workshop)s?\b[^.\n]{0,40}\b(?:cancel(?:l?ed)|postponed)\b"
    r"|\A\W{0,5}(?:notice of )?(?:cancel(?:l?ed|l?ation)|postponed)\b",
    re.IGNORECASE,
)
MAX_CHARS = 2000  # of a text; what is said of the meeting itself stands at the beginning


def status_of(
    names: list[str], prose: str, starts_at: datetime | None, ends_at: datetime | None, now: datetime, is_final: bool
) -> MeetingStatus:
    """Return a meeting's status. `names`: titles, the vendor's own status, and titles of documents.

    A meeting is confirmed if the vendor calls it or its agenda final; that an agenda is there does not say so. It has
    passed once it has begun and no end is stated; one whose hour is unknown, with `ends_at` at the end of its day.
    """
    if any(_says_cancelled(name[:MAX_CHARS]) for name in names) or _CANCELLED_IN_PROSE.search(prose[:MAX_CHARS]):
        return "cancelled"
    over = ends_at or starts_at
    if over is not None and over <= now:
        return "passed"
    return "confirmed" if is_final else "tentative"


def _says_cancelled(name: str) -> bool:
    return bool(_CANCELLED.search(name)) and not _NOT_CANCELLED.search(name)
