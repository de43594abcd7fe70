"""How often councils are polled, and which agendas a poll requests; pure.

    signal   the vendor's cheapest answer that shows changes, every 10 to 60 minutes;
             then the days that changed
    pass     the days from a week back to 90 days on, once a night, because
             dates of change are not reliable

Limits by vendor (slots, delays) are in `sources/civic/__init__.py`; a desk file
may set others.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, NamedTuple

from news_assets.records.articles import SourceState
from news_assets.records.desks import Source
from news_assets.records.meetings import Meeting, StoredMeeting
from news_assets.text.dates import zone_info

SIGNAL_FLOOR_S = 600.0
SIGNAL_CEILING_S = 3600.0
# on working days: half of the changes are then seen within 10 minutes
WORKING_CEILING_S = 900.0
_SIGNAL_STEP_S = 300.0  # longer after each answer without a change
# local, when offices of cities publish
_WORKING_DAYS, _WORKING_HOURS = (
    range(5),
    range(8, 18),
)

PAST_DAYS, FUTURE_DAYS = 7, 90
_SOON = timedelta(days=7)  # items of meetings so near are requested with each signal
# documents of meetings so near are compared each night; few have an agenda earlier
COMPARED = timedelta(days=14)
_PASS_AT = time(1)  # local
_PASS_SPREAD_S = 3 * 3600.0

# --- signals --------------------------------------------------------------------------


def signal_interval(
    interval_s: float, timezone: str, now: datetime, *, is_changed: bool
) -> float:
    """Return the seconds until the next signal of a city: the floor after a change,
    else more than the last time.

    The ceiling is WORKING_CEILING_S in working hours of the city's zone, else
    SIGNAL_CEILING_S.
    """
    if is_changed:
        return SIGNAL_FLOOR_S
    local = now.astimezone(zone_info(timezone))
    longer_s = max(interval_s, SIGNAL_FLOOR_S) + _SIGNAL_STEP_S
    return min(longer_s, WORKING_CEILING_S if _is_working(local) else SIGNAL_CEILING_S)


def _is_working(local: datetime) -> bool:
    if local.weekday() not in _WORKING_DAYS:
        return False
    return local.hour in _WORKING_HOURS


# --- the nightly pass -----------------------------------------------------------------


def pass_days(today: date) -> tuple[date, date]:
    """Return the first and the last day of a pass."""
    return today - timedelta(days=PAST_DAYS), today + timedelta(days=FUTURE_DAYS)


def is_pass_due(source: Source, last_pass_at: datetime | None, now: datetime) -> bool:
    """Return whether a city's pass is due: it never had one, or none since its time of
    the last night.

    The passes of a vendor are spread over three hours of the city's night.
    """
    if last_pass_at is None:
        return True
    local = now.astimezone(zone_info(source.timezone))
    digest = hashlib.sha256(source.source_id.encode()).digest()
    share = int.from_bytes(digest[:4]) / 2**32
    due_at = datetime.combine(local.date(), _PASS_AT, local.tzinfo)
    due_at += timedelta(seconds=share * _PASS_SPREAD_S)
    if due_at > local:
        due_at -= timedelta(days=1)
    return last_pass_at < due_at


# --- which agendas a poll requests ----------------------------------------------------

_ITEMS_EVERY: Final = timedelta(hours=12)  # a pass requests items again that are older
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


class AgendaState(NamedTuple):
    """A listed meeting, its stored row if it has one, and its hash as it is listed now."""

    meeting: Meeting
    row: StoredMeeting | None
    listed_hash: str

    @property
    def items_requested_at(self) -> datetime | None:
        """When its items were requested last; None where the next poll requests them: of
        a new meeting, after a change of its listing, and while details are missing.
        """
        return None if self.row is None else self.row.items_asked_at

    @property
    def is_listed_otherwise(self) -> bool:
        """Whether the listing differs from that of the poll before."""
        if self.row is None:
            return False
        return self.row.listed_hash != self.listed_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a poll requests at a time. A forced pass requests all, a nightly one what is
    old.
    """

    now: datetime
    is_pass: bool
    is_forced: bool

    def items(self, one: AgendaState) -> bool:
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

    def is_changed(self, one: AgendaState) -> bool:
        """Whether a meeting is new or listed otherwise than before, or its items are
        old.
        """
        requested_at = one.items_requested_at
        if requested_at is None:
            return True
        if one.is_listed_otherwise:
            return True
        if self.is_forced:
            return True
        if not self.is_pass:
            return False
        return self.now - requested_at >= _ITEMS_EVERY

    def document(self, one: AgendaState) -> bool:
        """Whether the document of an agenda may say more than is known. It may be
        replaced at its address.
        """
        if one.items_requested_at is None:
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

    def order(self, one: AgendaState) -> tuple[datetime, timedelta]:
        """Return where a meeting stands in the order: the nearest day first.

        In a forced pass those are first whose items are the oldest, so that the next
        one goes on.
        """
        requested_at = one.items_requested_at if self.is_forced else None
        return requested_at or _NEVER, self.distance(one.meeting)

    def distance(self, meeting: Meeting) -> timedelta:
        """Return how far away a meeting is in time."""
        return abs(meeting.starts_at - self.now) if meeting.starts_at else timedelta.max


# --- sources that wait while an earlier one answers well ------------------------------

_STALE: Final = "stale"  # how the note on an answer without recent meetings begins
SUSPECT: Final = "suspect"  # how the note on one that lacks most known meetings begins
_ANSWERS: Final = ("ok", "unchanged")


def waiting_sources(
    sources: Iterable[Source], states: Mapping[str, SourceState]
) -> frozenset[str]:
    """Return the ids of the civic sources that wait, because one before them answers
    well or was never polled.

    `sources` are in the order of the desk file; `states` are by source_id.
    """
    waiting, answered = set[str](), set[str]()
    for source in sources:
        if not source.is_civic:
            continue
        if source.agency in answered:
            waiting.add(source.source_id)
        elif _answers_well(source, states.get(source.source_id)):
            answered.add(source.agency)
    return frozenset(waiting)


def _answers_well(source: Source, state: SourceState | None) -> bool:
    if state is None:
        return True
    if state.url != source.url:
        return True
    is_doubtful = (state.last_reason or "").startswith((_STALE, SUSPECT))
    if state.last_outcome not in _ANSWERS:
        return False
    return not is_doubtful
