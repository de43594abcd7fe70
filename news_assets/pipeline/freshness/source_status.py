"""Formats the status of a source for the UI and the command line."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from typing import Any

from news_assets.pipeline.freshness.silence import duration

LEGEND = (
    "polls, newest last: + new entries, o listed nothing new, = unchanged, F failed, B blocked, G"
    " gone"
)
HEADER = ("source", "polls", "every", "next", "new", "last new", "silent", "reason")

_SYMBOLS = {"ok": "o", "unchanged": "=", "gone": "G", "blocked": "B", "failed": "F"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """The displayed status of one source, in the order of HEADER; None where a value is
    unknown.
    """

    source_id: str
    polls: str | None
    every: str | None
    next: str | None
    new: str | None
    last_new: str | None
    silent: str | None
    reason: str | None

    @property
    def row(self) -> tuple[str | None, ...]:
        """The facts as a row of a table."""
        return astuple(self)


def source_facts(row: Mapping[str, Any], now: datetime) -> SourceFacts:
    """Return the displayed status of a row of
    `store.queries.source_status.source_rows`.
    """
    due_at, ratio, last_new_at = (
        row["next_poll_at"],
        row["new_ratio"],
        row["last_new_at"],
    )
    return SourceFacts(
        source_id=row["source_id"],
        polls="".join(map(_symbol, row["polls"])) or None,
        every=duration(timedelta(seconds=row["interval_s"]))
        if row["interval_s"]
        else None,
        next=None
        if due_at is None
        else f"in {duration(due_at - now)}"
        if due_at > now
        else "due",
        new=None if ratio is None else f"{ratio:.0%}",
        last_new=None if last_new_at is None else f"{last_new_at:%Y-%m-%d %H:%M} UTC",
        silent=f"{row['silent_for']}; usually {row['habit']}"
        if row["silent_for"]
        else None,
        reason=row["last_reason"],
    )


def _symbol(poll: Mapping[str, Any]) -> str:
    return (
        "+"
        if poll["outcome"] == "ok" and poll["new_count"]
        else _SYMBOLS.get(poll["outcome"], "?")
    )
