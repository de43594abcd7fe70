"""Saved answers of one client: a single answer, JSON lines of exchanges, or a folder of
answers.

An exchange is `{method, url, status, headers, text}` or with `base64` in place of
`text`. Answers that are not of the vendor's pages, such as its PDF documents, are left
out. Meetings of several answers are put together: an answer that only has a meeting's
items completes the listed one.
"""

import base64
import binascii
import json
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from news_assets.errors import NewsAssetsError
from news_assets.records.meetings import AnswerState, MeetingListing
from news_assets.records.reading import Page
from news_assets.sources.civic.reading.merging import merged, with_votes
from news_assets.sources.civic.vendor import Reading, read
from news_assets.sources.civic.vendor_readers import vendor_of
from news_assets.sources.platforms import file_of

MAX_EXCHANGES = 2000
_STATES: Final[tuple[AnswerState, ...]] = (
    "ok",
    "stale",
    "blocked",
    "closed",
    "unknown_client",
    "empty",
)


def read_answers(
    kind: str, answers: list[tuple[str, bytes]], url: str, reading: Reading
) -> MeetingListing:
    """Return the meetings of saved answers, each (name, bytes); what cannot be read is
    a problem.

    Raises:
        SourceError: An unknown kind.
    """
    vendor = vendor_of(kind)
    listings: list[MeetingListing] = []
    problems: list[str] = []
    for name, body in answers:
        for page in pages_of(name, body, url, reading.now):
            try:
                listings.append(read(vendor, page, reading))
            except NewsAssetsError as error:
                problems.append(str(error))
    listed = merged(meeting for listing in listings for meeting in listing.meetings)
    meetings = tuple(with_votes(meeting, listings) for meeting in listed)
    states = {listing.state for listing in listings}
    state: AnswerState = next((one for one in _STATES if one in states), "empty")
    found = [problem for listing in listings for problem in listing.problems]
    return MeetingListing(
        meetings=meetings,
        state=state,
        problems=tuple(dict.fromkeys((*found, *problems))),
    )


def pages_of(name: str, body: bytes, url: str, now: datetime) -> Iterator[Page]:
    """Yield the answers that a file holds: those of its exchanges, or the file itself."""
    lines = body.splitlines()[:MAX_EXCHANGES] if body.lstrip()[:1] == b"{" else []
    exchanges = [found for line in lines if (found := _exchange(line, now)) is not None]
    if not exchanges:
        yield _page(url or name, 200, body, now)
    for method, page in exchanges:
        is_answer = method in ("GET", "POST") and not 300 <= page.status < 400
        if (
            is_answer
            and (page.body.strip() or page.status != 200)
            and file_of(page) is None
        ):
            yield page


def _exchange(line: bytes, now: datetime) -> tuple[str, Page] | None:
    """Return method and answer of a line that is an exchange."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if (
        not isinstance(found, dict)
        or not isinstance(found.get("status"), int)
        or not isinstance(found.get("url"), str)
    ):
        return None
    return str(found.get("method", "GET")).upper(), _page(
        found["url"], found["status"], _body(found), now
    )


def _body(exchange: dict[str, object]) -> bytes:
    text, encoded = exchange.get("text"), exchange.get("base64")
    if isinstance(encoded, str):
        try:
            return base64.b64decode(encoded)
        except binascii.Error:
            return b""
    if not isinstance(text, str):
        return b""
    return text.encode("utf-8", "replace")


def _page(url: str, status: int, body: bytes, now: datetime) -> Page:
    return Page(url=url, final_url=url, status=status, body=body, fetched_at=now)
