"""Which days changed between two answers, so that only these are fetched again."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from news_assets.records.meetings import Link, Meeting, MeetingListing

UNDATED = ""  # the key of meetings without a day

# They change without a change of the meeting: time passes, and recordings are published
# and moved.
_BY_ITSELF = ("passed", "confirmed", "tentative")
_RECORDING = ("video", "audio", "media", "webcast")


def fingerprints(listing: MeetingListing) -> dict[str, str]:
    """Return a hash of what is listed for each local day (ISO 8601), whatever its
    order.
    """
    by_day: dict[str, list[str]] = defaultdict(list)
    for meeting in listing.meetings:
        day = meeting.starts_at.date().isoformat() if meeting.starts_at else UNDATED
        by_day[day].append(repr(lasting(meeting)))
    return {day: _hash("\n".join(sorted(rows))) for day, rows in by_day.items()}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def lasting(meeting: Meeting) -> Meeting:
    """Return a meeting without what changes by itself."""
    links = tuple(link for link in meeting.links if not _is_recording(link))
    status = "tentative" if meeting.status in _BY_ITSELF else meeting.status
    return replace(meeting, status=status, video_url=None, links=links)


def _is_recording(link: Link) -> bool:
    return any(word in link.title.lower() for word in _RECORDING)


def fingerprint(meeting: Meeting) -> str:
    """Return the SHA-256 of one meeting as it is listed, without its items."""
    return _hash(repr(replace(lasting(meeting), items=())))


def changed_days(
    known: Mapping[str, str], found: Mapping[str, str], *, lists_changes_only: bool
) -> frozenset[str]:
    """Return the days whose meetings changed; of an answer that lists changes only, the
    missing days did not.
    """
    days = found.keys() if lists_changes_only else known.keys() | found.keys()
    return frozenset(day for day in days if known.get(day) != found.get(day))
