"""Which agendas a poll requests: of new, changed and near meetings, and in a pass those
whose items are old; pure.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from news_assets.pipeline.civic.pace import SOON
from news_assets.records.meetings import Meeting, StoredMeeting

ITEMS_EVERY: Final = timedelta(hours=12)  # a pass requests items again that are older
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


class AgendaState(NamedTuple):
    """A listed meeting, its stored row if it has one, and its hash as it is listed now."""

    meeting: Meeting
    row: StoredMeeting | None
    listed_hash: str


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
        if meeting.items or meeting.starts_at is None or meeting.status == "cancelled":
            return False
        return self.is_changed(one) or self.is_soon(meeting.starts_at)

    def is_changed(self, one: AgendaState) -> bool:
        """Whether a meeting is new or listed otherwise than before, or its items are
        old.
        """
        asked_at = one.row.items_asked_at if one.row else None
        if asked_at is None or _is_listed_otherwise(one):
            return True
        return self.is_forced or (self.is_pass and self.now - asked_at >= ITEMS_EVERY)

    def document(self, one: AgendaState) -> bool:
        """Whether the document of an agenda may say more than is known. It may be
        replaced at its address.
        """
        if (
            one.row is None
            or one.row.items_asked_at is None
            or _is_listed_otherwise(one)
        ):
            return True
        starts_at = one.meeting.starts_at
        is_near = starts_at is not None and self.is_soon(starts_at)
        return self.is_forced or (self.is_pass and is_near)

    def is_soon(self, starts_at: datetime) -> bool:
        """Whether a meeting is in the next days."""
        return timedelta(0) <= starts_at - self.now <= SOON

    def turn(self, one: AgendaState) -> tuple[datetime, timedelta]:
        """Return where a meeting stands in the order: the nearest day first.

        In a forced pass those are first whose items are the oldest, so that the next
        one goes on.
        """
        asked_at = one.row.items_asked_at if one.row and self.is_forced else None
        return asked_at or _NEVER, self.distance(one.meeting)

    def distance(self, meeting: Meeting) -> timedelta:
        """Return how far away a meeting is in time."""
        return abs(meeting.starts_at - self.now) if meeting.starts_at else timedelta.max


def _is_listed_otherwise(one: AgendaState) -> bool:
    return one.row is not None and one.row.listed_hash != one.listed_hash
