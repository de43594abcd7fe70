"""Send the requests of polls, of news and of councils, and hand the answers over. No
lake.

A `SourcePoll` decides which requests follow an answer: `listings.py` has that of a
listing of news, `civic/council_poll.py` that of a council.
"""

import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Protocol

from news_assets.errors import FetchError, SourceError
from news_assets.ports.services import Fetcher, PageRequest
from news_assets.records.desks import Source
from news_assets.records.meetings import PolledMeetings
from news_assets.records.reading import Listing, Outcome, Page

SOURCE_S = 60.0  # for all requests of a poll, without waits for host slots


@dataclass(frozen=True, slots=True, kw_only=True)
class Polled:
    """The result of polling one source: a listing of news or the meetings of a council,
    an unchanged document, or an error.

    `polled_at` is the time of the answer, or of the failure; of a listing with several
    pages, that of the last page.
    """

    source: Source
    outcome: Outcome
    polled_at: datetime
    elapsed_ms: int = 0  # of all requests
    page: Page | None = None
    listing: Listing | None = None
    error: FetchError | SourceError | None = None
    civic: PolledMeetings | None = None  # of a council
    note: str | None = None  # what is odd about an answer that could be read
    is_of_past: bool = False  # of past days: does not change when the source is due

    @property
    def lists_meetings(self) -> bool:
        """Whether a council's calendar was read, and not only its change signal."""
        if self.civic is None:
            return False
        return self.outcome == "ok"

    @property
    def reason(self) -> str | None:
        """Return the error's message if there is an error, else the note."""
        if isinstance(self.error, FetchError):
            return self.error.reason
        if self.error:
            return str(self.error)
        return self.note


class SourcePoll(Protocol):
    """The poll of one source while its answers arrive."""

    def take(
        self, request: PageRequest, answer: Page | FetchError
    ) -> list[PageRequest]:
        """Add an answer; return the requests that follow it."""
        ...

    def defer(self, request: PageRequest) -> None:
        """Note a request that is not sent: the next poll sends it."""
        ...

    def polled(self) -> Polled | None:
        """Return the poll; None while answers are to come, or if there was none."""
        ...


def run_polls(
    polls: Mapping[PageRequest, SourcePoll],
    fetcher: Fetcher,
    begin_within_s: float = inf,
) -> Generator[Polled, None, None]:
    """Yield each poll once it has all its answers; an error of one source does not
    affect the others.

    The requests are sent in rounds: the first ones of all polls, then those that
    follow. After `begin_within_s` seconds no request begins: sources without any
    request are missing in the result, and the next poll requests the rest.
    """
    ends_at = time.monotonic() + begin_within_s
    waiting = dict(polls)
    while waiting:
        following: dict[PageRequest, SourcePoll] = {}
        for request, answer in fetcher.fetch_all(tuple(waiting), _remaining_s(ends_at)):
            poll = waiting.pop(request)
            for next_request in poll.take(request, answer):
                following[next_request] = poll
            polled = poll.polled()
            if polled is not None:
                yield polled
        for request, poll in waiting.items():  # no time remained for them
            poll.defer(request)
            polled = poll.polled()
            if polled is not None:
                yield polled
        waiting = following


def _remaining_s(ends_at: float) -> float | None:
    """Return the seconds until a time of the monotonic clock; None without an end."""
    if ends_at == inf:
        return None
    return max(0.0, ends_at - time.monotonic())
