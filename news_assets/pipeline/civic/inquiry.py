"""The poll of one civic source while its answers arrive: which requests follow, and what the answers say. No lake.

Items are asked for where a meeting is new or changed, and at each pass; votes and sponsors of an item follow when it
is new, or was decided or changed since they were requested.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import chain
from typing import Literal, NamedTuple

from news_assets.errors import ClosedSourceError, FetchError, NewsAssetsError, SourceError
from news_assets.pipeline.poll.listings import Polled
from news_assets.pipeline.stage_state.retries import outcome_of
from news_assets.ports.reading import Sandbox
from news_assets.records.desks import ItemFilters, Source
from news_assets.records.meetings import (
    AgendaItem,
    AnswerState,
    Meeting,
    MeetingAnswer,
    MeetingListing,
    Request,
    StoredMeeting,
)
from news_assets.records.reading import Listing, Outcome, Page
from news_assets.records.rosters import Roster
from news_assets.sources.civic.exchanges import merged
from news_assets.sources.civic.reading.ids import meeting_id
from news_assets.sources.civic.reading.signal import UNDATED, changed_days, fingerprint, fingerprints
from news_assets.sources.civic.reading.votes import with_votes
from news_assets.sources.civic.vendor import Reading, Vendor, read
from news_assets.text.dates import day_of

ITEMS_EVERY = timedelta(hours=12)  # a pass asks again for items that are older
MAX_VOTE_REQUESTS = 100  # of one poll, nearest days first
MAX_ITEM_REQUESTS = 60  # of one poll, nearest days first; the next poll asks for the others

Step = Literal["signal", "listing", "items", "votes", "roster"]
KnownVersions = Callable[[str, Collection[str]], Collection[str]]  # those of an agency whose votes are stored
Days = tuple[date, date]
_OUTCOMES: Mapping[AnswerState, Outcome] = {"closed": "failed", "unknown_client": "failed", "blocked": "blocked"}


class Asked(NamedTuple):
    """One request of a poll.

    `meeting` is the vendor's id of the meeting whose items are requested, `versions` those of the items whose votes or
    sponsors are.
    """

    inquiry: "Inquiry"
    step: Step
    meeting: str = ""
    versions: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Inquiry:
    """The poll of one source while its answers arrive."""

    source: Source
    vendor: Vendor
    reading: Reading
    stored: Mapping[str, StoredMeeting]
    filters: ItemFilters
    days: Days
    is_pass: bool
    is_of_past: bool
    known_signals: Mapping[str, str]
    known_versions: KnownVersions
    is_roster_due: bool = False
    listings: list[MeetingListing] = field(default_factory=list)
    partial: list[Meeting] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    signals: dict[str, str] | None = None
    page: Page | None = None
    error: FetchError | SourceError | None = None
    outcome: Outcome = "failed"
    waiting: int = 0
    requests: int = 0
    elapsed_ms: int = 0
    is_whole: bool = True
    has_asked_items: bool = False
    has_items_left: bool = False
    votes: list[MeetingListing] = field(default_factory=list)
    rosters: list[Roster] = field(default_factory=list)
    requested_versions: set[str] | None = None
    failed_versions: set[str] = field(default_factory=set)
    unfinished: set[str] = field(default_factory=set)

    # --- requests ----------------------------------------------------------------------------------------------------

    def first(self, since: datetime | None) -> list[tuple[Request, Asked]]:
        """Return the requests that the poll begins with: the signal since a time, or those of its days."""
        if since is not None and self.vendor.signal is not None:
            return [(self.vendor.signal(self.source.url, since), Asked(self, "signal"))]
        return [*self._of_days(), *self._of_roster()]

    def _of_roster(self) -> list[tuple[Request, Asked]]:
        if self.vendor.roster is None or not self.is_roster_due:
            return []
        return [(request, Asked(self, "roster")) for request in self.vendor.roster(self.source.url)]

    def _of_days(self) -> list[tuple[Request, Asked]]:
        days, url = self.vendor.days, self.source.url
        today = day_of(self.reading.now, self.source.timezone)
        found = days(url, *self.days) if days is not None else self.vendor.upcoming(url, today)
        return [(request, Asked(self, "listing")) for request in found]

    def of_items(self) -> list[tuple[Request, Asked]]:
        """Return the requests for the items of the listed meetings that need them, once."""
        if self.has_asked_items:
            return []
        self.has_asked_items = True
        if self.vendor.items is None:
            self.asked |= {meeting.vendor_id for meeting in self._listed()}
            return []
        wanted = sorted(filter(self._needs_items, self._listed()), key=self._distance)
        self.has_items_left = len(wanted) > MAX_ITEM_REQUESTS
        if self.has_items_left:
            self.problems.append(f"items of {len(wanted) - MAX_ITEM_REQUESTS} meetings are left for the next poll")
        found = {one.vendor_id: self.vendor.items(self.source.url, one) for one in wanted[:MAX_ITEM_REQUESTS]}
        self.asked |= {meeting for meeting, requests in found.items() if not requests}  # it has no agenda yet
        return [(request, Asked(self, "items", meeting)) for meeting in found for request in found[meeting]]

    def of_votes(self) -> list[tuple[Request, Asked]]:
        """Return the requests for votes and sponsors of the items that need them, once; each address once."""
        if self.vendor.votes is None or self.requested_versions is not None:
            return []
        self.requested_versions = set()
        wanted: dict[Request, list[str]] = {}
        for meeting, item in self._without_votes():
            requests = self.vendor.votes(self.source.url, item)
            if len({*wanted, *requests}) > MAX_VOTE_REQUESTS:
                self.unfinished.add(meeting.vendor_id)
                continue
            self.requested_versions.add(item.version)
            for request in requests:
                wanted.setdefault(request, []).append(item.version)
        if self.unfinished:
            self.has_items_left = True
            self.problems.append(f"votes of {len(self.unfinished)} meetings are left for the next poll")
        return [(request, Asked(self, "votes", versions=tuple(found))) for request, found in wanted.items()]

    def _without_votes(self) -> Iterator[tuple[Meeting, AgendaItem]]:
        """Yield the items, those of the nearest days first, whose votes were not requested in their version."""
        meetings = sorted((one for one in self._listed() if one.items), key=self._distance)
        known = self.known_versions(
            self.source.agency, {item.version for meeting in meetings for item in meeting.items}
        )
        for meeting in meetings:
            for item in meeting.items:
                if item.version and item.version not in known:
                    yield meeting, item

    def _needs_items(self, meeting: Meeting) -> bool:
        if meeting.items or meeting.starts_at is None or meeting.status == "cancelled":
            return False
        known = self.stored.get(meeting_id(self.source.agency, self.source.kind, meeting))
        if known is None or known.items_asked_at is None or known.listed_hash != fingerprint(meeting):
            return True
        return self.is_pass and self.reading.now - known.items_asked_at >= ITEMS_EVERY

    def _distance(self, meeting: Meeting) -> timedelta:
        return abs(meeting.starts_at - self.reading.now) if meeting.starts_at else timedelta.max

    # --- answers -----------------------------------------------------------------------------------------------------

    def take(self, asked: Asked, answer: Page | FetchError, sandbox: Sandbox) -> list[tuple[Request, Asked]]:
        """Add an answer; return the requests that continue it."""
        self.waiting -= 1
        self.elapsed_ms += answer.elapsed_ms
        listing = self._read(answer, sandbox)
        if asked.step in ("votes", "roster"):
            return self._take_people(asked, answer, listing)
        if isinstance(listing, NewsAssetsError):
            return self._fail(asked, listing, outcome_of(listing))
        if listing.state in _OUTCOMES:
            kind = SourceError if listing.state == "blocked" else ClosedSourceError
            return self._fail(asked, kind("; ".join(listing.problems)), _OUTCOMES[listing.state])
        self.page = answer if isinstance(answer, Page) and self.page is None else self.page
        self.problems += listing.problems
        if asked.step == "signal":
            return self._after_signal(listing)
        if asked.step == "items":
            self.asked.add(asked.meeting)
            self.partial += [meeting for meeting in listing.meetings if meeting.is_partial]
        else:
            self.listings.append(listing)
        return [(request, asked) for request in listing.next_requests]

    def _take_people(
        self, asked: Asked, answer: Page | FetchError, listing: MeetingListing | NewsAssetsError
    ) -> list[tuple[Request, Asked]]:
        """Add votes, sponsors or a part of the roster; what failed is requested again when its meeting's items are."""
        if answer.status in (404, 410):  # the client has none
            return []
        if isinstance(listing, NewsAssetsError) or listing.state in _OUTCOMES:
            self.failed_versions.update(asked.versions)
            reason = str(listing) if isinstance(listing, NewsAssetsError) else "; ".join(listing.problems)
            self.problems.append(f"{asked.step}: {reason}")
            return []
        self.votes.append(listing)
        self.rosters.append(listing.roster)
        return [(request, asked) for request in listing.next_requests]

    def _read(self, answer: Page | FetchError, sandbox: Sandbox) -> MeetingListing | NewsAssetsError:
        if isinstance(answer, FetchError):
            return answer
        [listing] = sandbox.run(read, [(self.vendor, answer, self.reading)])
        return listing

    def _fail(self, asked: Asked, error: NewsAssetsError, outcome: Outcome) -> list[tuple[Request, Asked]]:
        """Note a failed answer: nothing is inferred from it, and items that were not had are asked for again."""
        self.is_whole = False
        if asked.step == "items":
            self.problems.append(f"items of meeting {asked.meeting}: {error}")
        else:
            self.error = error if isinstance(error, FetchError | SourceError) else SourceError(str(error))
            self.outcome = outcome
        return []

    def _after_signal(self, listing: MeetingListing) -> list[tuple[Request, Asked]]:
        """Return the requests for the days that changed."""
        found, lists_changes_only = fingerprints(listing), self.vendor.lists_changes_only
        changed = changed_days(self.known_signals, found, lists_changes_only=lists_changes_only)
        self.signals = {**self.known_signals, **found} if lists_changes_only else found
        if not changed:
            return []
        if UNDATED not in changed and self.vendor.days is not None:
            days = [date.fromisoformat(day) for day in changed]
            self.days = min(days), max(days)
        return self._of_days()

    # --- the poll ----------------------------------------------------------------------------------------------------

    def _listed(self) -> tuple[Meeting, ...]:
        """Return the meetings of the days asked for, with their items; some clients ignore the days of a request."""
        found = merged([*(meeting for listing in self.listings for meeting in listing.meetings), *self.partial])
        first, last = self.days if self.vendor.days is not None else (self.days[0], date.max)
        return tuple(
            meeting
            for meeting in found
            if not meeting.is_partial and (meeting.starts_at is None or first <= meeting.starts_at.date() <= last)
        )

    def _whole_days(self, meetings: Sequence[Meeting]) -> Days | None:
        """Return the days of which every meeting is listed: those asked for, or up to the last one listed."""
        if not self.is_whole or not self.listings:
            return None
        if self.vendor.days is not None:
            return self.days
        listed = [meeting.starts_at.date() for meeting in meetings if meeting.starts_at]
        today = day_of(self.reading.now, self.source.timezone)
        return (today, max(listed)) if listed and max(listed) >= today else None

    def polled(self, now: datetime) -> Polled:
        """Return the poll."""
        if self.error is not None and not self.listings:
            return Polled(
                source=self.source,
                polled_at=now,
                elapsed_ms=self.elapsed_ms,
                outcome=self.outcome,
                error=self.error,
                is_of_past=self.is_of_past,
            )
        requested = (self.requested_versions or set()) - self.failed_versions
        meetings = with_votes(self._listed(), self.votes, requested)
        signals = None if self.signals is None else tuple(f"{day}={found}" for day, found in self.signals.items())
        stale = [problem for listing in self.listings if listing.state == "stale" for problem in listing.problems]
        return Polled(
            source=self.source,
            polled_at=now,
            elapsed_ms=self.elapsed_ms,
            outcome="ok" if self.listings else "unchanged",
            is_of_past=self.is_of_past,
            page=self.page,
            listing=Listing(entries=(), is_whole=False, problems=tuple(self.problems)) if self.listings else None,
            note=next(iter(stale), str(self.error) if self.error else None),
            answer=MeetingAnswer(
                meetings=meetings,
                whole_days=self._whole_days(meetings),
                asked=frozenset(self.asked),
                signals=signals,
                is_pass=self.is_pass and self.is_whole and not self.has_items_left,
                filters=self.filters,
                roster=_joined(self.rosters),
                unfinished=frozenset(self.unfinished),
            ),
        )


def _joined(rosters: Sequence[Roster]) -> Roster:
    return Roster(
        bodies=tuple(chain.from_iterable(one.bodies for one in rosters)),
        persons=tuple(chain.from_iterable(one.persons for one in rosters)),
        offices=tuple(chain.from_iterable(one.offices for one in rosters)),
    )
