"""The poll of one civic source while its answers arrive: which requests follow, and
what the answers say. No lake.

Items are requested where a meeting is new or changed, and at each pass; votes and
sponsors of an item follow when it is new, or was decided or changed since they were
requested.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Final, Literal, NamedTuple

from news_assets.errors import (
    ClosedSourceError,
    FetchError,
    ListingChangedError,
    NewsAssetsError,
    SourceError,
)
from news_assets.pipeline.civic.council_findings import CouncilFindings, by_key
from news_assets.pipeline.civic.item_words import filtered
from news_assets.pipeline.civic.meeting_rows import known_rows
from news_assets.pipeline.civic.pace import AgendaState
from news_assets.pipeline.documents.agenda_files import read_agenda
from news_assets.pipeline.stage_state.retries import outcome_of
from news_assets.ports.services import Sandbox
from news_assets.records.meetings import (
    AgendaItem,
    AnswerState,
    Meeting,
    MeetingListing,
    Request,
    StoredItem,
    StoredMeeting,
)
from news_assets.records.reading import Outcome, Page
from news_assets.sources.civic.reading.identity import (
    UNDATED,
    changed_days,
    fingerprints,
    item_id,
    listed_key,
)
from news_assets.sources.civic.reading.meetings import listed_again
from news_assets.sources.civic.vendors import read
from news_assets.sources.platforms import file_of

_logger = logging.getLogger(__name__)

# of one poll, nearest days first; the next poll requests the others
_MAX_ITEM_REQUESTS = 60
_NO_PAGE: Final = (404, 410)

_MAX_VOTE_REQUESTS = 100  # of one poll, nearest days first
_Step = Literal["signal", "listing", "items", "details", "document", "votes", "roster"]
# those of an agency whose votes are stored
KnownVersions = Callable[[str, Collection[str]], Collection[str]]
# the stored items of a meeting, by meeting_id
KnownItems = Callable[[str], Sequence[StoredItem]]
_OUTCOMES: Mapping[AnswerState, Outcome] = {
    "closed": "failed",
    "unknown_client": "failed",
    "blocked": "blocked",
}


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


_Purposes = list[tuple[Request, Purpose]]  # requests, and what each is for


@dataclass(slots=True, eq=False, kw_only=True)
class CouncilPoll(CouncilFindings):
    """The poll of one source while its answers arrive: which requests follow.

    Attributes:
        known_signals: Hashes of the last change signal, by day.
        rechecked: Keys of the unchanged meetings whose items are requested again.
        changed: Keys of the meetings whose agendas as documents may say more.
        sent: The requests that were sent or deferred.
    """

    known_items: KnownItems
    known_signals: Mapping[str, str]
    known_versions: KnownVersions
    is_roster_due: bool = False
    rechecked: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    sent: set[Request] = field(default_factory=set)
    has_requested_items: bool = False
    has_requested_documents: bool = False

    # --- requests ---------------------------------------------------------------------

    def first(self, since: datetime | None) -> _Purposes:
        """Return the requests that the poll begins with: the signal since a time, or
        those of its days.
        """
        if since is not None and self.vendor.signal is not None:
            signal = self.vendor.signal(self.source.url, since)
            return [(signal, Purpose("signal"))]
        requests = self._of_days()
        if self.vendor.roster is not None and self.is_roster_due:
            for request in self.vendor.roster(self.source.url):
                requests.append((request, Purpose("roster")))
        return requests

    def _of_days(self) -> _Purposes:
        if self.vendor.days is not None:
            found = self.vendor.days(self.source.url, *self.days)
        else:
            found = self.vendor.upcoming(self.source.url, self.today)
        return [(request, Purpose("listing")) for request in found]

    def of_items(self) -> _Purposes:
        """Return the requests for the items of the listed meetings that need them,
        once.
        """
        if self.has_requested_items:
            return []
        self.has_requested_items = True
        listed = self.listed()
        self.known = known_rows(self.source, by_key(listed), self.stored, self.today)
        states: list[AgendaState] = []
        for meeting in listed:
            key = listed_key(meeting)
            state = AgendaState(meeting, self.known.get(key), self.listed_hash(meeting))
            states.append(state)
            if self.needs.document(state):
                self.changed.add(key)
            if meeting.items or self.vendor.items is None:
                self.read_agendas.add(key)
        if self.vendor.items is None:
            return []
        return self._of_agendas(states)

    def _of_agendas(self, states: Iterable[AgendaState]) -> _Purposes:
        """Return the requests for the items of meetings, of the nearest days first."""
        assert self.vendor.items is not None
        wanted = sorted(filter(self.needs.items, states), key=self.needs.order)
        deferred_count = len(wanted) - _MAX_ITEM_REQUESTS
        if deferred_count > 0:
            self.has_deferred_items = True
            self.problems.append(
                f"items of {deferred_count} meetings are left for the next poll"
            )
        requests: _Purposes = []
        for state in wanted[:_MAX_ITEM_REQUESTS]:
            key = listed_key(state.meeting)
            if not self.needs.is_changed(state):
                self.rechecked.add(key)
            of_meeting = self.vendor.items(self.source.url, state.meeting)
            if not of_meeting:  # it has no agenda yet
                self.read_agendas.add(key)
            requests += [(one, Purpose("items", key)) for one in of_meeting]
        return requests

    def of_documents(self) -> _Purposes:
        """Return the requests for agendas that are documents, where items, notes or the
        hour are missing, once.
        """
        if self.has_requested_documents:
            return []
        self.has_requested_documents = True
        sent = {request.url for request in self.sent}
        wanted = self.changed - self.unread_agendas
        requests: _Purposes = []
        for key, meeting in self.merged_meetings(self.listed()).items():
            url = _document_of(meeting)
            if key in wanted and url and url not in sent:
                requests.append((Request(url=url), Purpose("document", key)))
        return requests

    def of_votes(self) -> _Purposes:
        """Return the requests for votes and sponsors of the items that need them, once;
        each address once.
        """
        if self.vendor.votes is None:
            return []
        if self.requested_versions is not None:
            return []
        self.requested_versions = set()
        purposes: dict[Request, Purpose] = {}
        deferred = set[str]()
        for key, item in self._without_votes():
            requests = self.vendor.votes(self.source.url, item)
            if len({*purposes, *requests}) > _MAX_VOTE_REQUESTS:
                deferred.add(key)
                continue
            self.requested_versions.add(item.version)
            for request in requests:
                known = purposes.get(request, Purpose("votes", key))
                versions = (*known.versions, item.version)
                purposes[request] = known._replace(versions=versions)
        if deferred:
            self.undetailed |= deferred
            self.problems.append(
                f"votes of {len(deferred)} meetings are left for the next poll"
            )
        return list(purposes.items())

    def _without_votes(self) -> list[tuple[str, AgendaItem]]:
        """Return the items, those of the nearest days first, whose votes were not
        requested in their version, each with the key of its meeting.
        """
        found = self.merged_meetings(self.listed())
        versions = set[str]()
        for meeting in found.values():
            versions.update(item.version for item in meeting.items)
        known = {"", *self.known_versions(self.source.agency, versions)}
        wanted: list[tuple[str, AgendaItem]] = []
        for key in sorted(found, key=lambda key: self.needs.distance(found[key])):
            of_meeting = found[key].items
            wanted += [(key, item) for item in of_meeting if item.version not in known]
        return wanted

    def _of_details(self, key: str, items: Sequence[AgendaItem]) -> _Purposes:
        """Return the requests for the own pages of items, except of dropped ones.

        Where only the agenda is looked at again, items with the same title are known.
        """
        wanted: _Purposes = []
        for item in self._unknown(key, items):
            if not item.vendor_id:
                continue
            if self._is_dropped(item):
                continue
            purpose = Purpose("details", key, item=item.vendor_id)
            wanted += [(Request(url=url), purpose) for url in item.details_urls]
        return wanted

    def _unknown(self, key: str, items: Sequence[AgendaItem]) -> list[AgendaItem]:
        """Return items without those that are stored, if their meeting is unchanged."""
        row = self.known.get(key)
        if row is None or key not in self.rechecked:
            return list(items)
        known = self.known_items(row.meeting_id)
        titles = {item.item_id: item.title for item in known}
        known_as = [titles.get(item_id(row.meeting_id, item)) for item in items]
        pairs = zip(items, known_as, strict=True)
        return [item for item, title in pairs if title != item.title]

    def _is_dropped(self, item: AgendaItem) -> bool:
        why = filtered(item.title, self.filters)
        if why is None:
            return False
        return why.tier == "dropped"

    # --- answers ----------------------------------------------------------------------

    def take(
        self, purpose: Purpose, answer: Page | FetchError, sandbox: Sandbox
    ) -> _Purposes:
        """Add an answer; return the requests that continue it."""
        self.elapsed_ms += answer.elapsed_ms
        is_file = purpose.step == "items" and _is_file(answer)
        if is_file or purpose.step == "document":
            self._take_document(purpose, answer, sandbox)
            return []
        listing = self._read(answer, sandbox)
        if purpose.step in ("votes", "roster"):
            return self._take_people(purpose, answer, listing)
        if isinstance(listing, NewsAssetsError):
            return self._fail(purpose, listing, outcome_of(listing))
        if listing.state in _OUTCOMES:
            return self._fail(purpose, _refusal(listing), _OUTCOMES[listing.state])
        if self.page is None and isinstance(answer, Page):
            self.page = answer
        return self._take_listing(purpose, listing)

    def _take_listing(self, purpose: Purpose, listing: MeetingListing) -> _Purposes:
        """Add what a page of meetings states."""
        self.problems += listing.problems
        if purpose.step == "signal":
            return self._after_signal(listing)
        following = [(request, purpose) for request in listing.next_requests]
        if purpose.step == "listing":
            self.listings.append(listing)
            return following
        return following + self._after_items(purpose, listing)

    def _take_people(
        self,
        purpose: Purpose,
        answer: Page | FetchError,
        listing: MeetingListing | NewsAssetsError,
    ) -> _Purposes:
        """Add votes, sponsors or a part of the roster; what failed is requested again
        when its meeting's items are.
        """
        if answer.status in _NO_PAGE:  # the client has none
            return []
        if isinstance(listing, NewsAssetsError):
            reason = str(listing)
        elif listing.state in _OUTCOMES:
            reason = "; ".join(listing.problems)
        else:
            self.votes.append(listing)
            self.rosters.append(listing.roster)
            return [(request, purpose) for request in listing.next_requests]
        self.failed_versions.update(purpose.versions)
        self.problems.append(f"{purpose.step}: {reason}")
        return []

    def _take_document(
        self, purpose: Purpose, answer: Page | FetchError, sandbox: Sandbox
    ) -> None:
        """Add what the agenda says as a document; one that cannot be read is read as an
        article only.
        """
        self.read_agendas.add(purpose.meeting)
        if isinstance(answer, FetchError):
            return
        if not _is_file(answer):
            return
        [found] = sandbox.run(read_agenda, [(answer.body, answer.url)])
        if found is None:  # of a kind that has no items
            return
        if isinstance(found, NewsAssetsError):
            self.problems.append(f"agenda of meeting {purpose.meeting}: {found}")
            return
        found = replace(found, vendor_id=purpose.meeting)
        for part in self.partial:
            if part.vendor_id == purpose.meeting and part.items:
                found = replace(found, items=())
        self.partial.append(found)

    def _after_items(self, purpose: Purpose, listing: MeetingListing) -> _Purposes:
        """Add what completes a meeting; return the requests for the own pages of its
        items.
        """
        self.read_agendas.add(purpose.meeting)
        listed: list[AgendaItem] = []
        for meeting in listing.meetings:
            items = meeting.items
            listed += items
            if purpose.step == "details":
                items = tuple(replace(item, vendor_id=purpose.item) for item in items)
            part = replace(
                meeting,
                vendor_id=purpose.meeting,
                agenda_id="",
                items=items,
                is_partial=True,
            )
            self.partial.append(part)
        if purpose.step == "details":
            return []
        return self._of_details(purpose.meeting, listed)

    def defer(self, purpose: Purpose) -> None:
        """Note a request that is not sent: the next poll sends it."""
        if purpose.step in ("signal", "listing"):
            self.is_whole = False
            return
        if purpose.step == "roster":
            return
        self.undetailed.add(purpose.meeting)
        if purpose.step == "votes":
            self.failed_versions.update(purpose.versions)
            return
        self.has_deferred_items = True
        if purpose.step == "items":
            self.unread_agendas.add(purpose.meeting)

    def _read(
        self, answer: Page | FetchError, sandbox: Sandbox
    ) -> MeetingListing | NewsAssetsError:
        if isinstance(answer, FetchError):
            return answer
        [listing] = sandbox.run(read, [(self.vendor, answer, self.context)])
        return listing

    def _fail(
        self, purpose: Purpose, error: NewsAssetsError, outcome: Outcome
    ) -> _Purposes:
        """Note a failed answer: nothing is inferred from it.

        Without the signal all days are requested. The next poll requests missing items
        again.
        """
        if purpose.step == "listing":
            if not isinstance(error, FetchError | SourceError):
                error = SourceError(str(error))
            self.is_whole, self.error, self.outcome = False, error, outcome
            return []
        if purpose.step == "signal":
            self.problems.append(f"no change signal: {error}")
            return self._of_days()
        self.problems.append(f"items of meeting {purpose.meeting}: {error}")
        if purpose.step == "details":
            self.undetailed.add(purpose.meeting)
        elif _says_no_page(error):
            self.read_agendas.add(purpose.meeting)
        else:
            self.unread_agendas.add(purpose.meeting)
        return []

    def _after_signal(self, listing: MeetingListing) -> _Purposes:
        """Return the requests for the days that changed."""
        found = fingerprints(listing)
        lists_changes_only = self.vendor.lists_changes_only
        changed = changed_days(
            self.known_signals, found, lists_changes_only=lists_changes_only
        )
        self.signals = found
        if lists_changes_only:
            self.signals = {**self.known_signals, **found}
        if not changed:
            _logger.debug("%s: no day changed", self.source.source_id)
            self.from_lake = [self._as_listed(row) for row in self._soon_rows()]
            return []
        if UNDATED not in changed and self.vendor.days is not None:
            self._narrow([date.fromisoformat(day) for day in changed])
            for row in self._soon_rows():
                if row.day and not self.days[0] <= row.day <= self.days[1]:
                    self.from_lake.append(self._as_listed(row))
        return self._of_days()

    def _narrow(self, changed: Sequence[date]) -> None:
        """Request the days that changed only, unless the vendor lists the others with
        them.
        """
        days, url = self.vendor.days, self.source.url
        narrow = min(changed), max(changed)
        if days is not None and days(url, *narrow) != days(url, *self.days):
            self.days = narrow

    def _soon_rows(self) -> list[StoredMeeting]:
        """Return the stored meetings of this source whose items are requested with each
        signal.

        They are near, or a poll before had no time for all their votes.
        """
        if self.vendor.items is None:
            return []
        found: list[StoredMeeting] = []
        for row in self.own_rows():
            if row.starts_at is None:
                continue
            if row.items_asked_at is None or self.needs.is_soon(row.starts_at):
                found.append(row)
        return found

    def _as_listed(self, row: StoredMeeting) -> Meeting:
        return listed_again(row, self.source.timezone)


def _refusal(listing: MeetingListing) -> SourceError:
    """Return the error of an answer that gives no meetings to anyone, or not to us."""
    reason = "; ".join(listing.problems)
    if listing.state == "blocked":
        return SourceError(reason)
    return ClosedSourceError(reason)


def _is_file(answer: Page | FetchError) -> bool:
    if not isinstance(answer, Page):
        return False
    return file_of(answer) is not None


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


def _says_no_page(error: NewsAssetsError) -> bool:
    """Whether a failed answer says that there is no agenda, or none as a page that can
    be read.
    """
    if isinstance(error, FetchError):
        return error.status in _NO_PAGE
    return isinstance(error, ListingChangedError | ClosedSourceError)
