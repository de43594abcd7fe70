"""Addresses of OnBase Agenda Online: those of a client's pages and of their documents."""

import re
from datetime import date
from typing import Final
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from news_assets.records.meetings import Request

_FOLDER = re.compile(
    r"\A(?P<folder>.{0,500}?/)(?:meetings|documents)(?:/|\Z)", re.IGNORECASE
)
_FILE = re.compile(
    r"/documents/(?:downloadfile(?:bytes)?|viewdocument)/", re.IGNORECASE
)
_SCRIPTED: Final = "/DownloadFile/"  # in this spelling only
_CUSTOM_DATES: Final = "11"  # of the search form's choices
# Without it, some clients answer with an empty frame.
_AS_SCRIPT: Final = (("X-Requested-With", "XMLHttpRequest"),)


def folder_of(url: str) -> str:
    """Return the address of a client's site, with a slash at its end."""
    parts = urlsplit(url)
    match = _FOLDER.match(parts.path)
    path = match["folder"] if match else f"{parts.path.rstrip('/')}/"
    return f"{parts.scheme}://{parts.netloc}{path}"


def is_file(href: str) -> bool:
    """Whether an address is that of a document."""
    return _FILE.search(href[:2000]) is not None


def lasting(href: str) -> str:
    """Return the address of a document that leads to the document itself, not to a
    script.
    """
    return href.replace(_SCRIPTED, "/DownloadFileBytes/")


def page_of(folder: str, meeting_id: str, kind: str = "1") -> str:
    """Return the address of a meeting's page; `kind` is 1 for its agenda, 2 for its
    minutes.
    """
    return (
        f"{folder}Meetings/ViewMeeting?{urlencode({'id': meeting_id, 'doctype': kind})}"
    )


def file_of(folder: str, meeting_id: str, kind: str, name: str) -> str:
    """Return the address of a meeting's agenda or minutes as a document with this name."""
    query = urlencode({"documentType": kind, "meetingId": meeting_id})
    return f"{folder}Documents/DownloadFileBytes/{quote(name, safe='')}.pdf?{query}"


def item_page_of(folder: str, meeting_id: str, item_id: str) -> str:
    """Return the address of an item's own page."""
    query = {
        "meetingId": meeting_id,
        "itemId": item_id,
        "isSection": "false",
        "type": "agenda",
    }
    return f"{folder}Meetings/ViewMeetingAgendaItem?{urlencode(query)}"


def search(url: str, first: date, last: date) -> Request:
    """Return the search for the meetings of these days, of the kinds that the source's
    address names.
    """
    kinds = parse_qs(urlsplit(url).query).get("mtids", [])
    query = {
        "dropid": _CUSTOM_DATES,
        **({"mtids": ",".join(kinds)} if kinds else {}),
        "dropsv": f"{first:%m/%d/%Y} 00:00:00",
        "dropev": f"{last:%m/%d/%Y} 23:59:59",
    }
    return Request(
        url=f"{folder_of(url)}Meetings/Search?{urlencode(query, quote_via=quote)}"
    )


def outline(url: str, meeting_id: str) -> Request:
    """Return the request for an agenda as Word made it."""
    query = urlencode({"meetingId": meeting_id, "type": "agenda", "doctype": "1"})
    return Request(
        url=f"{folder_of(url)}Documents/ViewAgenda?{query}", headers=_AS_SCRIPT
    )


def accessible(url: str, meeting_id: str) -> Request:
    """Return the request for an agenda as a page for screen readers."""
    query = urlencode({"meetingId": meeting_id, "type": "agenda"})
    return Request(
        url=f"{folder_of(url)}Meetings/ViewMeetingAgenda?{query}", headers=_AS_SCRIPT
    )
