"""What the answers of one civic poll say together, while they arrive and at its end.
No lake, no requests.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from news_assets.errors import (
    FetchError,
    SourceError,
)
from news_assets.pipeline.civic.meeting_rows import known_rows
from news_assets.pipeline.poll.poll_loop import Polled
from news_assets.pipeline.schedule import SUSPECT
from news_assets.records.councils import Roster
from news_assets.records.desks import ItemFilters, Source
from news_assets.records.meetings import (
    Meeting,
    MeetingListing,
    PolledMeetings,
    StoredMeeting,
)
from news_assets.records.reading import Outcome, Page
from news_assets.sources.civic.identity import (
    fingerprint,
    listed_key,
    merged,
    merged_by_key,
    with_votes,
)
from news_assets.sources.civic.vendors import Vendor
from news_assets.text.dates import day_of

_logger = logging.getLogger(__name__)

_MIN_SUSPECT = 3  # missing meetings; fewer are a body's own changes
Days = tuple[date, date]  # the first and the last


@dataclass(slots=True, eq=False, kw_only=True)
class CouncilFindings:
    """What the answers of one poll say so far. `council_poll` adds what an answer says,
    `council_requests` what need not be requested or is left for the next poll.

    Meetings are named by their keys (`listed_key`) until they are stored.

    Attributes:
        now: The time at which the poll began.
        stored: The stored meetings of the source's agency.
        days: The days whose meetings are requested; a change signal narrows them.
        is_pass: Whether the poll is a pass over all days.
        listings: What the pages of the calendar list.
        partial: What completes a listed meeting, such as the page of its agenda.
        votes: Answers with votes or sponsors.
        signals: Hash of each day that the change signal listed.
        read_agendas: Keys of the meetings whose items are known, or that have none.
        unread_agendas: Keys of those whose items could not be read.
        undetailed: Keys of those with items whose own pages could not be read.
        failed_versions: Versions of the items whose votes could not be read.
        page: The first answer that could be read.
        error: Why a listing could not be read, with its `outcome`.
        is_whole: Whether every listing that was requested is there.
        from_lake: Meetings on days without a change, as they were listed last.
        known: The stored rows of listed meetings, by key.
        requested_versions: Versions of the items whose votes were requested; None
            before that.
        has_deferred_items: Whether items are left for the next poll.
    """

    source: Source
    vendor: Vendor
    now: datetime
    stored: Sequence[StoredMeeting]
    filters: ItemFilters
    days: Days
    is_pass: bool
    is_of_past: bool
    # what the answers say
    listings: list[MeetingListing] = field(default_factory=list)
    partial: list[Meeting] = field(default_factory=list)
    votes: list[MeetingListing] = field(default_factory=list)
    rosters: list[Roster] = field(default_factory=list)
    signals: dict[str, str] | None = None
    read_agendas: set[str] = field(default_factory=set)
    unread_agendas: set[str] = field(default_factory=set)
    undetailed: set[str] = field(default_factory=set)
    failed_versions: set[str] = field(default_factory=set)
    page: Page | None = None
    error: FetchError | SourceError | None = None
    outcome: Outcome = "failed"
    elapsed_ms: int = 0
    is_whole: bool = True
    # what is requested, and what need not be
    from_lake: list[Meeting] = field(default_factory=list)
    known: dict[str, StoredMeeting] = field(default_factory=dict)
    requested_versions: set[str] | None = None
    has_deferred_items: bool = False

    def note(self, problem: str) -> None:
        """Log what could not be read, or was left for the next poll."""
        _logger.debug("%s: %s", self.source.source_id, problem)

    def listed_hash(self, meeting: Meeting) -> str:
        """Return the hash of a meeting as listed; that of one from the lake is as it
        was.
        """
        row = self.known.get(listed_key(meeting))
        if row is not None and any(meeting is one for one in self.from_lake):
            return row.listed_hash
        return fingerprint(meeting)

    def own_rows(self) -> list[StoredMeeting]:
        """Return the stored meetings of this source that are not cancelled."""
        own: list[StoredMeeting] = []
        for row in self.stored:
            if row.source_id == self.source.source_id and row.status != "cancelled":
                own.append(row)
        return own

    def listed(self) -> tuple[Meeting, ...]:
        """Return the meetings of the days requested; some clients ignore the days of a
        request.
        """
        first, last = self.days
        if self.vendor.days is None:
            last = date.max
        found = list(self.from_lake)
        every: list[Meeting] = []
        for listing in self.listings:
            every += listing.meetings
        for meeting in merged(every):
            if meeting.is_partial:
                continue
            if not listed_key(meeting):
                continue
            if meeting.starts_at is None or first <= meeting.starts_at.date() <= last:
                found.append(meeting)
        return tuple(found)

    def match_listed(self) -> tuple[Meeting, ...]:
        """Find the stored rows of the listed meetings, as `known`; return the meetings."""
        listed = self.listed()
        by_key = {listed_key(meeting): meeting for meeting in listed}
        self.known = known_rows(self.source, by_key, self.stored, self.today)
        return listed

    def merged_meetings(self) -> Mapping[str, Meeting]:
        """Return the listed meetings with what completes them, by key."""
        return merged_by_key((*self.listed(), *self.partial))

    def _whole_days(self, meetings: Sequence[Meeting]) -> Days | None:
        """Return the days of which every meeting is listed: those requested, or up to
        the last one listed.
        """
        if not self.is_whole:
            return None
        if not self.listings:
            return None
        if self.vendor.days is not None:
            return self.days
        listed: list[date] = []
        for meeting in meetings:
            if meeting.starts_at:
                listed.append(meeting.starts_at.date())
        last = max(listed, default=date.min)
        if last < self.today:
            return None
        return self.today, last

    @property
    def today(self) -> date:
        """Return the agency's present day."""
        return day_of(self.now, self.source.timezone)

    def _suspicion(self, meetings: Sequence[Meeting], days: Days | None) -> str | None:
        """Return that an answer lists none or few of the known meetings to come; None
        if it does not.
        """
        if not self.listings:
            return None
        if not self.is_whole:
            return None
        coming = self._coming(days or self.days)
        coming_count = len(coming)
        listed = {row.meeting_id for row in self.known.values()}
        missing_count = len(coming - listed)
        if not missing_count:
            return None
        is_most = missing_count >= _MIN_SUSPECT and missing_count > coming_count / 2
        if meetings and not is_most:
            return None
        found_count = coming_count - missing_count
        return f"{SUSPECT}: lists {found_count} of {coming_count} known coming meetings"

    def _coming(self, days: Days) -> set[str]:
        """Return the meeting_ids of the stored meetings to come on these days."""
        first, last = days
        found: set[str] = set()
        for row in self.own_rows():
            if row.starts_at is None:
                continue
            if row.starts_at <= self.now:
                continue
            if row.day is None:
                continue
            if first <= row.day <= last:
                found.add(row.meeting_id)
        return found

    def polled(self, now: datetime) -> Polled:
        """Return the poll."""
        polled = Polled(
            source=self.source,
            polled_at=now,
            elapsed_ms=self.elapsed_ms,
            outcome=self.outcome,
            error=self.error,
            is_of_past=self.is_of_past,
        )
        if self.error is not None and not self.listings:
            return polled
        listed = self.match_listed()
        days = self._whole_days(listed)
        suspicion = self._suspicion(listed, days)
        if suspicion and not (listed and self.is_pass):
            days = None
        return replace(
            polled,
            outcome="ok" if self.listings else "unchanged",
            error=None,
            page=self.page,
            note=suspicion or self._note(),
            civic=self._civic(listed, days),
        )

    def _civic(self, listed: Sequence[Meeting], days: Days | None) -> PolledMeetings:
        requested = (self.requested_versions or set()) - self.failed_versions
        meetings: dict[str, Meeting] = {}
        for key, meeting in self.merged_meetings().items():
            meetings[key] = with_votes(meeting, self.votes, requested)
        is_complete = self.is_whole and not self.has_deferred_items
        return PolledMeetings(
            meetings=meetings,
            whole_days=days,
            read_agendas=frozenset(self.read_agendas - self.unread_agendas),
            undetailed=frozenset(self.undetailed),
            listed_hashes={listed_key(one): self.listed_hash(one) for one in listed},
            signals=self._signals(),
            is_pass=self.is_pass and is_complete,
            filters=self.filters,
            roster=_joined(self.rosters),
        )

    def _note(self) -> str | None:
        for listing in self.listings:
            if listing.state != "stale":
                continue
            if listing.problems:
                return listing.problems[0]
        return str(self.error) if self.error else None

    def _signals(self) -> tuple[str, ...] | None:
        if self.signals is None:
            return None
        return tuple(f"{day}={found}" for day, found in self.signals.items())


def _joined(rosters: Sequence[Roster]) -> Roster:
    joined = Roster()
    for one in rosters:
        joined = Roster(
            bodies=joined.bodies + one.bodies,
            persons=joined.persons + one.persons,
            offices=joined.offices + one.offices,
        )
    return joined
