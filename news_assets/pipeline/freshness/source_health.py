"""Finds sources that fail, list nothing or are not polled. Pure.

Sources of inactive agencies, and sources removed from the desk file, are left out.
`schedule.py` decides when a source is polled again; `silence.py` finds silent agencies.
"""

from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from typing import Any

from news_assets.pipeline.civic.pace import SUSPECT, waiting_sources
from news_assets.pipeline.freshness.row_checks import Findings
from news_assets.pipeline.freshness.silence import duration
from news_assets.records.desks import Desk, Source
from news_assets.records.polling import SourceState

ANSWERS = ("ok", "unchanged")
EMPTY_AFTER = timedelta(days=2)  # a listing keeps its old entries on a quiet day

_HEADER = (
    "source_id",
    "agency",
    "what",
    "since",
    "reason",
    "failed_polls",
    "failure_points",
    "next_poll_at",
)
_ORDER = (
    "gone",
    "blocked",
    "fails",
    "lists nothing",
    "lists too few",
    "never polled",
    "overdue",
)
_LASTING_POINTS, _LASTING_POLLS, _LASTING_INTERVALS, _LASTING = (
    1.0,
    2,
    2,
    timedelta(hours=1),
)
_OVERDUE_INTERVALS, _OVERDUE = 2, timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class PollHistory:
    """The recent polls of one source, summed up; None where there was no such poll.

    An answer is a poll with a listing or an unchanged document. `entry_count` is that
    of the last listing; `empty_since` is the time of the first listing after the last
    one with entries. `failed_count` and `failing_since` cover the polls after the last
    answer.
    """

    source_id: str
    first_polled_at: datetime
    first_answer_at: datetime | None = None
    last_answer_at: datetime | None = None
    entry_count: int | None = None
    empty_since: datetime | None = None
    failed_count: int = 0
    failing_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Finding:
    source: Source
    what: str
    since: datetime | None
    reason: str | None
    failed_count: int
    state: SourceState | None

    @property
    def row(self) -> tuple[object, ...]:
        points, next_at = (
            (self.state.failure_points, self.state.next_poll_at)
            if self.state
            else (0.0, None)
        )
        source = self.source
        return (
            source.source_id,
            source.agency,
            self.what,
            self.since,
            self.reason,
            self.failed_count,
            points,
            next_at,
        )


def find_failing_sources(
    desk: Desk,
    states: Mapping[str, SourceState],
    polls: Mapping[str, PollHistory],
    now: datetime,
) -> Findings:
    """Return the findings about the sources of a desk, the worst kind first; states and
    polls are by source_id.

    Civic sources that stand in for others are left out while these answer.

    - `gone`, `blocked` (access denied) and `fails`: the last poll failed. A single soft
      failure is no finding: the
      source is gone, has a whole failure point, failed twice in a row, or did not
      answer for an hour and two intervals.
    - `lists nothing`: the listings have been empty for EMPTY_AFTER.
    - `lists too few`: the last answer lacks most of the known meetings to come.
    - `never polled`.
    - `overdue`: it was due two intervals ago, at least ten minutes. A failing source
      can also be overdue.
    """
    waiting = waiting_sources(desk.sources, states)
    polled = [source for source in desk.sources if source.source_id not in waiting]
    found = [
        finding
        for source in polled
        for finding in _findings(
            source, states.get(source.source_id), polls.get(source.source_id), now
        )
    ]
    found.sort(
        key=lambda finding: (_ORDER.index(finding.what), finding.source.source_id)
    )
    return Findings(len(polled), _HEADER, tuple(finding.row for finding in found))


def _findings(
    source: Source, state: SourceState | None, polls: PollHistory | None, now: datetime
) -> Iterator[_Finding]:
    if state is None:
        yield _Finding(source, "never polled", None, "no poll is recorded", 0, None)
        return
    if state.last_outcome not in ANSWERS:
        if _is_lasting(state, polls, now):
            yield _failure(source, state, polls)
    elif (
        polls is not None
        and (since := _empty_since(state, polls)) is not None
        and now - since >= EMPTY_AFTER
    ):
        yield _Finding(
            source, "lists nothing", since, "the listing has no entries", 0, state
        )
    elif (state.last_reason or "").startswith(SUSPECT):
        yield _Finding(
            source,
            "lists too few",
            state.last_polled_at,
            state.last_reason or "",
            0,
            state,
        )
    if now - state.next_poll_at > max(_OVERDUE, _OVERDUE_INTERVALS * _interval(state)):
        yield _Finding(
            source, "overdue", state.next_poll_at, "due but not polled", 0, state
        )


def _failure(source: Source, state: SourceState, polls: PollHistory | None) -> _Finding:
    what = state.last_outcome if state.last_outcome in ("gone", "blocked") else "fails"
    since = polls.failing_since if polls else None
    count = polls.failed_count if polls else 1
    return _Finding(
        source,
        what,
        since or state.last_polled_at,
        state.last_reason,
        max(count, 1),
        state,
    )


def _is_lasting(state: SourceState, polls: PollHistory | None, now: datetime) -> bool:
    if state.last_outcome == "gone" or state.failure_points >= _LASTING_POINTS:
        return True
    if polls is None:
        return False
    answered_at = polls.last_answer_at or polls.first_polled_at
    is_late = now - answered_at > max(_LASTING, _LASTING_INTERVALS * _interval(state))
    return polls.failed_count >= _LASTING_POLLS or is_late


def _empty_since(state: SourceState, polls: PollHistory) -> datetime | None:
    """Return since when the listing has no entries; None if it has some, or had some
    before these polls.
    """
    if (
        polls.entry_count is None
    ):  # only unchanged documents: as when it last listed something
        return polls.first_answer_at if state.last_new_at is None else None
    return polls.empty_since if polls.entry_count == 0 else None


def _interval(state: SourceState) -> timedelta:
    return timedelta(seconds=state.interval_s)


# --- the status of a source, for the UI and the command line --------------------------

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
