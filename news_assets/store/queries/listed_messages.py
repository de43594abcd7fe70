"""Messages of saved queries, subscriptions and operators, newest first, and how many there are
of each state.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from news_assets.ports.services import Reader

MessageState = Literal["waiting", "delivered", "given up"]
_STATE: Final = """
    CASE WHEN sent_at IS NOT NULL THEN 'delivered'
    WHEN next_try_at IS NULL THEN 'given up' ELSE 'waiting' END
"""
_COUNTS: Final = f"SELECT {_STATE} AS state, count(*) FROM messages GROUP BY state"
_NEWEST: Final = f"""
    SELECT message_id, topic, channel, subject, created_at, attempts, next_try_at, sent_at,
        reason, {_STATE} AS state
    FROM messages WHERE $state IS NULL OR {_STATE} = $state
    ORDER BY created_at DESC, message_id LIMIT $limit
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedMessage:
    """A message without its text. The channel of a subscription is its id."""

    message_id: str
    topic: str
    channel: str
    subject: str
    created_at: datetime
    attempts: int
    next_try_at: datetime | None
    sent_at: datetime | None
    reason: str | None
    state: MessageState


def newest_messages(
    lake: Reader, state: MessageState | None, limit: int
) -> list[ListedMessage]:
    """Return the newest messages of a state, or of all."""
    found = lake.query(_NEWEST, {"state": state, "limit": limit})
    return [ListedMessage(**row) for row in found.iter_rows(named=True)]


def message_counts(lake: Reader) -> dict[MessageState, int]:
    """Return how many messages there are of each state that any has."""
    return dict(lake.query(_COUNTS).iter_rows())
