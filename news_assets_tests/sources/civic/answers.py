"""Answers of civic vendors for tests: pages and what they are read with."""

import json
from datetime import datetime
from zoneinfo import ZoneInfo

from news_assets.records.desks import Selectors
from news_assets.records.meetings import Meeting, MeetingListing
from news_assets.records.reading import Page
from news_assets.sources.civic.vendor_meetings import ParseContext
from news_assets.sources.civic.vendors import CIVIC_KINDS, read_answer

ZONE = "America/Chicago"
NOW = datetime(2026, 3, 10, 12, tzinfo=ZoneInfo(ZONE))


def context(selectors: Selectors | None = None) -> ParseContext:
    return ParseContext(timezone=ZONE, now=NOW, selectors=selectors)


def page(
    body: object, url: str = "https://town.example.org/", status: int = 200
) -> Page:
    """Return a page; a value that is neither bytes nor text becomes JSON."""
    data = (
        body
        if isinstance(body, bytes)
        else (body if isinstance(body, str) else json.dumps(body)).encode()
    )
    return Page(url=url, final_url=url, status=status, body=data, fetched_at=NOW)


def listing(
    kind: str, body: object, url: str = "https://town.example.org/", status: int = 200
) -> MeetingListing:
    return read_answer(CIVIC_KINDS[kind], page(body, url, status), context())


def one(kind: str, body: object, url: str = "https://town.example.org/") -> Meeting:
    [meeting] = listing(kind, body, url).meetings
    return meeting


def local(meeting: Meeting) -> str | None:
    return meeting.starts_at.isoformat() if meeting.starts_at else None
