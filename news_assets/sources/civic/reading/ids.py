"""Ids of meetings and items, and the hashes that show which of them changed. No other
module makes ids.

An id consists of who publishes (the agency's key, or the host), the vendor and the
vendor's id, so that title and time do not change it. A meeting without a vendor's id
gets one from what is first listed of it, and keeps that (`pipeline/civic/meeting_rows.py`).
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlsplit

from news_assets.records.meetings import AgendaItem, Link, Meeting, MeetingListing
from news_assets.sources.civic.reading.page_values import parameter
from news_assets.text.urls import host_of

_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,60}")
_HASH_CHARS = 16
_FILE_NAME = re.compile(r"/([A-Za-z0-9_-]{1,40})\.[A-Za-z]{2,5}\Z")


def owner_of(url: str) -> str:
    """Return the client of an address, where no agency is known: its host, or its name
    on a host that many share.
    """
    path = urlsplit(url).path
    if (database := path.lower().partition("/board.nsf"))[1]:
        return f"{host_of(url)}{database[0]}".lower()
    _, _, client = path.partition("/v1/")
    shared = (
        client.split("/")[0]
        if host_of(url).startswith("webapi.")
        else parameter(url, "cid", "cc")
    )
    return (shared or host_of(url)).lower()


def meeting_id(owner: str, kind: str, meeting: Meeting) -> str:
    """Return our id of a meeting: `paloaltoCA/primegov/554`."""
    return id_of_key(owner, kind, listed_key(meeting))


def id_of_key(owner: str, kind: str, key: str) -> str:
    """Return our id of the meeting with this key."""
    return f"{owner}/{kind.removesuffix('_html')}/{_part(key)}"


def listed_key(meeting: Meeting) -> str:
    """Return what distinguishes a meeting from others in one answer: the vendor's id,
    else name and hash of what it lists.

    It is empty for a meeting with neither id, title nor day.
    """
    if meeting.vendor_id:
        return meeting.vendor_id
    name = " ".join((meeting.title or meeting.body).lower().split())
    if not name and meeting.starts_at is None:
        return ""
    href = meeting.links[0].href if meeting.links else ""
    found = digest(name, str(meeting.starts_at), href)
    match = _FILE_NAME.search(href[:2000])
    if match:
        return f"{match[1]}-{found}"
    return found


def item_id(of_meeting: str, item: AgendaItem) -> str:
    """Return our id of an agenda item; of one without a vendor's id, by its title."""
    if item.vendor_id:
        return f"{of_meeting}/{_part(item.vendor_id)}"
    return f"{of_meeting}/at-{digest(' '.join(item.title.lower().split()))}"


def _part(vendor_id: str) -> str:
    if _PLAIN.fullmatch(vendor_id):
        return vendor_id
    return digest(vendor_id)


def digest(*parts: str) -> str:
    """Return a short hash, for what a vendor gives no id."""
    return hashlib.sha256(
        "\n".join(parts).encode("utf-8", "surrogatepass")
    ).hexdigest()[:_HASH_CHARS]


# --- hashes that show changes ---------------------------------------------------------

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
        day = UNDATED
        if meeting.starts_at:
            day = meeting.starts_at.date().isoformat()
        by_day[day].append(repr(_lasting(meeting)))
    return {day: _hash("\n".join(sorted(rows))) for day, rows in by_day.items()}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _lasting(meeting: Meeting) -> Meeting:
    """Return a meeting without what changes by itself."""
    links = tuple(link for link in meeting.links if not _is_recording(link))
    status = "tentative" if meeting.status in _BY_ITSELF else meeting.status
    return replace(meeting, status=status, video_url=None, links=links)


def _is_recording(link: Link) -> bool:
    return any(word in link.title.lower() for word in _RECORDING)


def fingerprint(meeting: Meeting) -> str:
    """Return the SHA-256 of one meeting as it is listed, without its items."""
    return _hash(repr(replace(_lasting(meeting), items=())))


def changed_days(
    known: Mapping[str, str], found: Mapping[str, str], *, lists_changes_only: bool
) -> frozenset[str]:
    """Return the days whose meetings changed; of an answer that lists changes only, the
    missing days did not.
    """
    days = found.keys() if lists_changes_only else known.keys() | found.keys()
    return frozenset(day for day in days if known.get(day) != found.get(day))
