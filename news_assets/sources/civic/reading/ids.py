"""The one place where ids of meetings and items are made.

An id consists of who publishes (the agency's key, or the host), the vendor and the
vendor's id, so that title and time do not change it. A meeting without a vendor's id
gets one from what is first listed of it, and keeps that (`pipeline/civic/identity.py`).
"""

import hashlib
import re
from urllib.parse import urlsplit

from news_assets.records.meetings import AgendaItem, Meeting
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
