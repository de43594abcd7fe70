"""Which requests the poll of one council sends, by what its answers say so far and what
the lake has of its items.

All days of a pass are requested once a night (`schedule.py`), because what vendors say
about changes is not always true. Between two passes the vendor's change signal is
requested, where there is one, and then the days that changed.

Items are requested where a meeting is new or changed, and at each pass; votes and
sponsors of an item follow when it is new, or was decided or changed since they were
requested.
"""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Final, Literal, NamedTuple

from news_assets.pipeline.civic.council_findings import CouncilFindings
from news_assets.pipeline.civic.item_words import filtered
from news_assets.ports.services import Reader
from news_assets.records.meetings import (
    AgendaItem,
    Meeting,
    MeetingListing,
    Request,
    StoredItem,
    StoredMeeting,
)
from news_assets.sources.civic.identity import (
    UNDATED,
    changed_days,
    fingerprints,
    item_id,
    listed_key,
)
from news_assets.sources.civic.vendor_meetings import listed_again

_logger = logging.getLogger(__name__)

# of one poll, nearest days first; the next poll requests the others
_MAX_ITEM_REQUESTS = 60
_MAX_VOTE_REQUESTS = 100

_ITEMS_EVERY: Final = timedelta(hours=12)  # a pass requests items again that are older
_SOON = timedelta(days=7)  # items of meetings so near are requested with each signal
_NEVER: Final = datetime.min.replace(tzinfo=UTC)

_Step = Literal["signal", "listing", "items", "details", "document", "votes", "roster"]


class Purpose(NamedTuple):
    """What a request of a poll is for.

    `meeting` is the key of the meeting whose items are requested, `item` the vendor's
    id of the one whose own page is, `versions` those of the items whose votes or
    sponsors are.
    """

    step: _Step
    meeting: str = ""
    versions: tuple[str, ...] = ()
    item: str = ""


PlannedRequests = list[tuple[Request, Purpose]]


# --- when the agenda of a meeting is requested ----------------------------------------


class _ListedMeeting(NamedTuple):
    """A listed meeting, its stored row if it has one, and its hash as it is listed now."""

    meeting: Meeting
    row: StoredMeeting | None
    listed_hash: str

    @property
    def items_asked_at(self) -> datetime | None:
        """When its items were requested last; None where the next poll requests them: of
        a new meeting, after a change of its listing, and while details are missing.
        """
        if self.row is None:
            return None
        return self.row.items_asked_at

    @property
    def is_listed_otherwise(self) -> bool:
        """Whether the listing differs from that of the poll before."""
        if self.row is None:
            return False
        return self.row.listed_hash != self.listed_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class AgendaRules:
    """Which agendas a poll requests at its time. A forced pass requests all, a nightly
    one what is old.
    """

    now: datetime
    is_pass: bool
    is_forced: bool

    def requests_items(self, one: _ListedMeeting) -> bool:
        """Whether the items of a meeting are requested."""
        meeting = one.meeting
        if meeting.items:
            return False
        if meeting.starts_at is None:
            return False
        if meeting.status == "cancelled":
            return False
        if self.is_changed(one):
            return True
        return self.is_soon(meeting.starts_at)

    def is_changed(self, one: _ListedMeeting) -> bool:
        """Whether a meeting is new or listed otherwise than before, or its items are
        old.
        """
        if one.items_asked_at is None:
            return True
        if one.is_listed_otherwise:
            return True
        if self.is_forced:
            return True
        if not self.is_pass:
            return False
        return self.now - one.items_asked_at >= _ITEMS_EVERY

    def requests_document(self, one: _ListedMeeting) -> bool:
        """Whether the document of an agenda is requested, because it may say more than
        is known. It may be replaced at its address.
        """
        if one.items_asked_at is None:
            return True
        if one.is_listed_otherwise:
            return True
        if self.is_forced:
            return True
        starts_at = one.meeting.starts_at
        if not self.is_pass:
            return False
        if starts_at is None:
            return False
        return self.is_soon(starts_at)

    def is_soon(self, starts_at: datetime) -> bool:
        """Whether a meeting is in the next days."""
        return timedelta(0) <= starts_at - self.now <= _SOON

    def order(self, one: _ListedMeeting) -> tuple[datetime, timedelta]:
        """Return where a meeting stands in the order: the nearest day first.

        In a forced pass those are first whose items are the oldest, so that the next
        one goes on.
        """
        asked_at = one.items_asked_at if self.is_forced else None
        return asked_at or _NEVER, self.distance(one.meeting)

    def distance(self, meeting: Meeting) -> timedelta:
        """Return how far away a meeting is in time."""
        if meeting.starts_at:
            return abs(meeting.starts_at - self.now)
        return timedelta.max


# --- the requests ---------------------------------------------------------------------


@dataclass(slots=True, eq=False, kw_only=True)
class CouncilRequests:
    """The requests of one poll, step by step.

    Attributes:
        found: What the answers of the poll say so far; what is requested or deferred is
            noted there.
        rules: Which agendas the poll requests.
        lake: Where the stored items are read.
        signal_since: The change signal is requested since this time; None for all days.
        known_signals: Hashes of the last change signal, by day.
        is_roster_due: Whether bodies and members are requested.
        rechecked: Keys of the unchanged meetings whose items are requested again.
        documents_due: Keys of the meetings whose agendas as documents may say more.
    """

    found: CouncilFindings
    rules: AgendaRules
    lake: Reader
    signal_since: datetime | None
    known_signals: Mapping[str, str]
    is_roster_due: bool
    rechecked: set[str] = field(default_factory=set)
    documents_due: set[str] = field(default_factory=set)
    has_requested_items: bool = False
    has_requested_documents: bool = False

    def first(self) -> PlannedRequests:
        """Return the requests that the poll begins with: the signal, or those of its
        days.
        """
        vendor = self.found.vendor
        url = self.found.source.url
        if self.signal_since is not None and vendor.signal is not None:
            return [(vendor.signal(url, self.signal_since), Purpose("signal"))]
        requests = self.of_days()
        if vendor.roster is not None and self.is_roster_due:
            for request in vendor.roster(url):
                requests.append((request, Purpose("roster")))
        return requests

    def of_days(self) -> PlannedRequests:
        """Return the requests for the meetings of the poll's days."""
        found = self.found
        if found.vendor.days is not None:
            requests = found.vendor.days(found.source.url, *found.days)
        else:
            requests = found.vendor.upcoming(found.source.url, found.today)
        return [(request, Purpose("listing")) for request in requests]

    def after_signal(self, listing: MeetingListing) -> PlannedRequests:
        """Return the requests for the days that changed; meetings of other days that are
        near are taken from the lake.
        """
        found, hashes = self.found, fingerprints(listing)
        lists_changes_only = found.vendor.lists_changes_only
        changed = changed_days(
            self.known_signals, hashes, lists_changes_only=lists_changes_only
        )
        found.signals = hashes
        if lists_changes_only:
            found.signals = {**self.known_signals, **hashes}
        if not changed:
            _logger.debug("%s: no day changed", found.source.source_id)
            for row in self._soon_rows():
                found.from_lake.append(listed_again(row, found.source.timezone))
            return []
        if UNDATED not in changed and found.vendor.days is not None:
            self._narrow([date.fromisoformat(day) for day in changed])
            first, last = found.days
            for row in self._soon_rows():
                if not row.day:
                    continue
                if not first <= row.day <= last:
                    found.from_lake.append(listed_again(row, found.source.timezone))
        return self.of_days()

    def _narrow(self, changed: Sequence[date]) -> None:
        """Request the days that changed only, unless the vendor lists the others with
        them.
        """
        days = self.found.vendor.days
        url = self.found.source.url
        narrow = min(changed), max(changed)
        if days is not None and days(url, *narrow) != days(url, *self.found.days):
            self.found.days = narrow

    def _soon_rows(self) -> list[StoredMeeting]:
        """Return the stored meetings of this source whose items are requested with each
        signal.

        They are near, or a poll before had no time for all their votes.
        """
        if self.found.vendor.items is None:
            return []
        soon: list[StoredMeeting] = []
        for row in self.found.own_rows():
            if row.starts_at is None:
                continue
            if row.items_asked_at is None or self.rules.is_soon(row.starts_at):
                soon.append(row)
        return soon

    def of_items(self) -> PlannedRequests:
        """Return the requests for the items of the listed meetings that need them,
        once, when all meetings are listed: their stored rows are found first.
        """
        if self.has_requested_items:
            return []
        self.has_requested_items = True
        found = self.found
        meetings: list[_ListedMeeting] = []
        for meeting in found.match_listed():
            key = listed_key(meeting)
            one = _ListedMeeting(
                meeting, found.known.get(key), found.listed_hash(meeting)
            )
            meetings.append(one)
            if self.rules.requests_document(one):
                self.documents_due.add(key)
            if meeting.items or found.vendor.items is None:
                found.read_agendas.add(key)
        if found.vendor.items is None:
            return []
        return self._of_agendas(meetings)

    def _of_agendas(self, meetings: Iterable[_ListedMeeting]) -> PlannedRequests:
        """Return the requests for the items of meetings, of the nearest days first."""
        found = self.found
        assert found.vendor.items is not None
        wanted = sorted(
            filter(self.rules.requests_items, meetings), key=self.rules.order
        )
        deferred_count = len(wanted) - _MAX_ITEM_REQUESTS
        if deferred_count > 0:
            found.has_deferred_items = True
            found.note(f"items of {deferred_count} meetings are left for the next poll")
        requests: PlannedRequests = []
        for one in wanted[:_MAX_ITEM_REQUESTS]:
            key = listed_key(one.meeting)
            if not self.rules.is_changed(one):
                self.rechecked.add(key)
            of_meeting = found.vendor.items(found.source.url, one.meeting)
            if not of_meeting:  # it has no agenda yet
                found.read_agendas.add(key)
            for request in of_meeting:
                requests.append((request, Purpose("items", key)))
        return requests

    def of_details(self, key: str, items: Sequence[AgendaItem]) -> PlannedRequests:
        """Return the requests for the own pages of items, except of dropped ones.

        Where only the agenda is looked at again, items with the same title are known.
        """
        wanted: PlannedRequests = []
        for item in self._unknown(key, items):
            if not item.vendor_id:
                continue
            if self._is_dropped(item):
                continue
            purpose = Purpose("details", key, item=item.vendor_id)
            for url in item.details_urls:
                wanted.append((Request(url=url), purpose))
        return wanted

    def _unknown(self, key: str, items: Sequence[AgendaItem]) -> list[AgendaItem]:
        """Return items without those that are stored, if their meeting is unchanged."""
        row = self.found.known.get(key)
        if row is None or key not in self.rechecked:
            return list(items)
        titles: dict[str, str] = {}
        for stored in self.lake.read(StoredItem, meeting_id=[row.meeting_id]):
            titles[stored.item_id] = stored.title
        unknown: list[AgendaItem] = []
        for item in items:
            if titles.get(item_id(row.meeting_id, item)) != item.title:
                unknown.append(item)
        return unknown

    def _is_dropped(self, item: AgendaItem) -> bool:
        why = filtered(item.title, self.found.filters)
        if why is None:
            return False
        return why.tier == "dropped"

    def of_documents(self, sent: Collection[Request]) -> PlannedRequests:
        """Return the requests for agendas that are documents, where items, notes or the
        hour are missing, once; without those at an address that was `sent`.
        """
        if self.has_requested_documents:
            return []
        self.has_requested_documents = True
        urls = {request.url for request in sent}
        wanted = self.documents_due - self.found.unread_agendas
        requests: PlannedRequests = []
        for key, meeting in self.found.merged_meetings().items():
            url = _document_of(meeting)
            if key not in wanted:
                continue
            if not url:
                continue
            if url not in urls:
                requests.append((Request(url=url), Purpose("document", key)))
        return requests

    def of_votes(self) -> PlannedRequests:
        """Return the requests for votes and sponsors of the items that need them, once;
        each address once.
        """
        found = self.found
        if found.vendor.votes is None:
            return []
        if found.requested_versions is not None:
            return []
        found.requested_versions = set()
        purposes: dict[Request, Purpose] = {}
        deferred = set[str]()
        for key, item in self._without_votes():
            requests = found.vendor.votes(found.source.url, item)
            if len({*purposes, *requests}) > _MAX_VOTE_REQUESTS:
                deferred.add(key)
                continue
            found.requested_versions.add(item.version)
            for request in requests:
                known = purposes.get(request, Purpose("votes", key))
                versions = (*known.versions, item.version)
                purposes[request] = known._replace(versions=versions)
        if deferred:
            found.undetailed |= deferred
            found.note(f"votes of {len(deferred)} meetings are left for the next poll")
        return list(purposes.items())

    def _without_votes(self) -> list[tuple[str, AgendaItem]]:
        """Return the items, those of the nearest days first, whose votes were not
        requested in their version, each with the key of its meeting.
        """
        meetings = self.found.merged_meetings()
        versions = set[str]()
        for meeting in meetings.values():
            versions.update(item.version for item in meeting.items)
        known = {"", *self._stored_versions(versions)}
        wanted: list[tuple[str, AgendaItem]] = []
        for key in sorted(meetings, key=lambda key: self.rules.distance(meetings[key])):
            for item in meetings[key].items:
                if item.version not in known:
                    wanted.append((key, item))
        return wanted

    def _stored_versions(self, versions: Collection[str]) -> Collection[str]:
        """Return which of these versions of items have their votes and sponsors."""
        source = self.found.source
        stored = self.lake.frame(
            StoredItem,
            None,
            ("votes_version",),
            desk=[source.desk],
            agency=[source.agency],
            votes_version=versions,
        )
        return set(stored["votes_version"])


def _document_of(meeting: Meeting) -> str | None:
    """Return the address of a meeting's agenda as a document, if something is missing
    that it may state.
    """
    if meeting.status == "cancelled":
        return None
    if meeting.starts_at is None:
        return None
    if not meeting.items:
        return meeting.agenda_url or meeting.packet_url
    is_complete = meeting.participation and not meeting.all_day
    return None if is_complete else meeting.agenda_url
