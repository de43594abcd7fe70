"""What the ledger says of an input: whether it is claimed, answered, or not sent again."""

import os
import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from news_assets.ports.services import Reader
from news_assets.records.model_calls import BATCH, ModelCall

# answers to one input that failed a check, each of which was paid
_MAX_REFUSED: Final = 2
# responses in which the provider refused the request for one input
_MAX_REJECTED: Final = 2
# requests for one input that were perhaps billed and have no answer
_MAX_UNANSWERED: Final = 6

_COLUMNS = (
    "input_hash",
    "called_at",
    "outcome",
    "reason",
    "claimed_until",
    "claimed_by",
    "reserved_usd",
    "via",
)


@dataclass(slots=True)
class History:
    """The earlier requests for one input.

    `batched_at`: when it was last in a batch, if nothing was sent after.
    """

    is_answered: bool = False
    claimed_until: datetime | None = None
    refused: int = 0
    rejected: int = 0
    unanswered: int = 0
    failed: int = 0
    is_declined: bool = False
    reason: str = ""
    batched_at: datetime | None = None

    @property
    def is_closed(self) -> bool:
        """Whether the input is not sent again."""
        return (
            self.is_declined
            or self.refused >= _MAX_REFUSED
            or self.rejected >= _MAX_REJECTED
            or self.unanswered >= _MAX_UNANSWERED
        )

    @property
    def problems(self) -> int:
        """How many requests gave no result; inputs with fewer are sent first."""
        return self.refused + self.rejected + self.failed

    def add(self, call: Mapping[str, Any]) -> None:
        """Take over a later request: the columns of its call."""
        outcome = call["outcome"]
        self.batched_at = call["called_at"] if call["via"] == BATCH else None
        if outcome == "sent":
            is_given_up = call["claimed_by"] is not None and _has_ended(
                call["claimed_by"]
            )
            self.claimed_until = None if is_given_up else call["claimed_until"]
            self.failed += 1
            return
        self.claimed_until = None
        self.reason = call["reason"] or ""
        self.is_answered |= outcome == "ok"
        self.is_declined |= outcome == "declined"
        self.refused += outcome == "refused"
        self.rejected += outcome == "rejected"
        self.failed += outcome == "failed"
        self.unanswered += outcome == "failed" and call["reserved_usd"] is not None

    def is_claimed(self, now: datetime) -> bool:
        """Whether another run waits for an answer."""
        return self.claimed_until is not None and self.claimed_until > now


def histories(reader: Reader, hashes: Collection[str]) -> dict[str, History]:
    """Return the history of each of these inputs that was sent before."""
    found: dict[str, History] = {}
    if not hashes:
        return found
    calls = reader.frame(ModelCall, None, _COLUMNS, input_hash=hashes).sort("called_at")
    for call in calls.iter_rows(named=True):
        found.setdefault(call["input_hash"], History()).add(call)
    return found


def this_process() -> str:
    """Return the name of this process, which claims inputs: machine and number."""
    return f"{socket.gethostname()}/{os.getpid()}"


def _has_ended(owner: str) -> bool:
    """Whether a process is known to have ended: one of this machine that does not run
    any more.
    """
    host, _, number = owner.rpartition("/")
    if host != socket.gethostname() or not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)  # sends nothing
    except ProcessLookupError:
        return True
    except OSError:  # it belongs to somebody else
        return False
    return False
