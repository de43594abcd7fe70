"""Sending messages: each is reserved, sent, and noted as sent or failed, with longer
and longer pauses in between.

A process that dies between the answer of a channel and its note sends that one message
again, with the same id. All others are sent once, also by processes side by side.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from news_assets.errors import NotifyError
from news_assets.ports.lake import Lake, Rows
from news_assets.ports.notify import Notifier
from news_assets.records.alerts import Message
from news_assets.retry_table import MESSAGE

RESERVED = timedelta(minutes=5)  # longer than any attempt


@dataclass(frozen=True, slots=True)
class Sent:
    """How many messages a channel accepted, how many are tried again later, and how
    many were given up.
    """

    sent: int = 0
    delayed: int = 0
    given_up: int = 0


def send_due(lake: Lake, notifier: Notifier, clock: Callable[[], datetime]) -> Sent:
    """Send every message that is due, oldest first.

    After a failure that can pass, the other messages of the channel wait for the next
    call, so that a receiver that hangs is requested once.
    """
    sent = delayed = given_up = 0
    failed: set[str] = set()
    while message := lake.transact(lambda rows: _reserve_next(rows, failed, clock())):
        result = _attempt(notifier, message, clock)
        lake.transact(lambda rows: rows.upsert([result]))  # noqa: B023 - runs at once
        if result.next_try_at is not None:
            failed.add(message.channel)
        if result.sent_at is not None:
            sent += 1
        elif result.next_try_at is not None:
            delayed += 1
        else:
            given_up += 1
    return Sent(sent=sent, delayed=delayed, given_up=given_up)


def _reserve_next(
    rows: Rows, without: Collection[str], now: datetime
) -> Message | None:
    """Return the oldest message that is due, reserved for this call; None if none is."""
    columns = ("message_id", "channel", "created_at", "next_try_at")
    waiting = rows.frame(Message, None, columns, sent_at=[None])
    due: list[tuple[datetime, str]] = []
    for message_id, channel, created_at, next_try_at in waiting.iter_rows():
        if channel in without or next_try_at is None or next_try_at > now:
            continue
        due.append((created_at, message_id))
    if not due:
        return None
    _, oldest = min(due)
    [message] = rows.read(Message, message_id=[oldest])
    rows.upsert([replace(message, next_try_at=now + RESERVED)])
    return message


def _attempt(
    notifier: Notifier, message: Message, clock: Callable[[], datetime]
) -> Message:
    tried = replace(message, attempts=message.attempts + 1)
    try:
        notifier.send(message)
    except NotifyError as error:
        return replace(
            tried,
            reason=str(error),
            next_try_at=_retry_at(tried.attempts, error, clock()),
        )
    return replace(tried, reason=None, next_try_at=None, sent_at=clock())


def _retry_at(attempts: int, error: NotifyError, now: datetime) -> datetime | None:
    """Return when a failed message is sent again; None if that cannot help, or after
    all attempts.
    """
    pause_s = MESSAGE.pause_s(attempts)
    if not error.is_transient or pause_s is None:
        return None
    pause_s = max(pause_s, error.retry_after_s or 0.0)
    return now + timedelta(seconds=min(pause_s, MESSAGE.longest_s))


def send_again(
    rows: Rows, message_ids: Collection[str] | None, now: datetime
) -> list[Message]:
    """Make these given up messages due, or all of them, with all attempts again; return
    them.
    """
    found = rows.read(Message, sent_at=[None], next_try_at=[None])
    chosen = [
        replace(one, attempts=0, next_try_at=now)
        for one in found
        if message_ids is None or one.message_id in message_ids
    ]
    if chosen:
        rows.upsert(chosen)
    return chosen
