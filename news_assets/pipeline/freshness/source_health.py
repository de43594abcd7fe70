"""Finds sources that fail, list nothing or are not polled. Pure.

Sources of inactive agencies, and sources removed from the desk file, are omitted.
`schedule.py` decides when a source is polled again; `silence.py` finds silent agencies.
"""

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from typing import Any

from news_assets.pipeline.civic.pace import SUSPECT, waiting_sources
from news_assets.pipeline.freshness.row_checks import Findings
from news_assets.pipeline.freshness.silence import duration
from news_assets.records.articles import SourceState
from news_assets.records.desks import Desk, Source

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
    failed_count: int = 0
    state: SourceState | None = None

    @property
    def row(self) -> tuple[object, ...]:
        source, state = self.source, self.state
        return (
            source.source_id,
            source.agency,
            self.what,
            self.since,
            self.reason,
            self.failed_count,
            state.failure_points if state else 0.0,
            state.next_poll_at if state else None,
        )


def find_failing_sources(
    desk: Desk,
    states: Mapping[str, SourceState],
    polls: Mapping[str, PollHistory],
    now: datetime,
) -> Findings:
    """Return the findings about the sources of a desk, the worst kind first; states and
    polls are by source_id.

    Civic sources that stand in for others are omitted while these answer.

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
    found: list[_Finding] = []
    for source in polled:
        state = states.get(source.source_id)
        if state is None:
            never = _Finding(source, "never polled", None, "no poll is recorded")
            found.append(never)
            continue
        finding = _finding(source, state, polls.get(source.source_id), now)
        if finding is not None:
            found.append(finding)
        if _is_overdue(state, now):
            since, reason = state.next_poll_at, "due but not polled"
            found.append(_Finding(source, "overdue", since, reason, state=state))
    found.sort(key=lambda one: (_ORDER.index(one.what), one.source.source_id))
    return Findings(len(polled), _HEADER, tuple(one.row for one in found))


def _finding(
    source: Source, state: SourceState, polls: PollHistory | None, now: datetime
) -> _Finding | None:
    """Return what is wrong with the last answers of a source; None if nothing is."""
    if state.last_outcome not in ANSWERS:
        return (
            _failure(source, state, polls) if _is_lasting(state, polls, now) else None
        )
    since = None if polls is None else _empty_since(state, polls)
    if since is not None and now - since >= EMPTY_AFTER:
        reason = "the listing has no entries"
        return _Finding(source, "lists nothing", since, reason, state=state)
    reason = state.last_reason or ""
    if reason.startswith(SUSPECT):
        since = state.last_polled_at
        return _Finding(source, "lists too few", since, reason, state=state)
    return None


def _is_overdue(state: SourceState, now: datetime) -> bool:
    late = now - state.next_poll_at
    return late > max(_OVERDUE, _OVERDUE_INTERVALS * _interval(state))


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
    if polls.entry_count is not None:
        return polls.empty_since if polls.entry_count == 0 else None
    if state.last_new_at is not None:
        return None
    # only unchanged documents: as when it last listed something
    return polls.first_answer_at


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
    every = silent = new = last_new = due = None
    if row["interval_s"]:
        every = duration(timedelta(seconds=row["interval_s"]))
    due_at = row["next_poll_at"]
    if due_at is not None:
        due = f"in {duration(due_at - now)}" if due_at > now else "due"
    if row["new_ratio"] is not None:
        new = f"{row['new_ratio']:.0%}"
    if row["last_new_at"] is not None:
        last_new = f"{row['last_new_at']:%Y-%m-%d %H:%M} UTC"
    if row["silent_for"]:
        silent = f"{row['silent_for']}; usually {row['habit']}"
    return SourceFacts(
        source_id=row["source_id"],
        polls="".join(map(_symbol, row["polls"])) or None,
        every=every,
        next=due,
        new=new,
        last_new=last_new,
        silent=silent,
        reason=row["last_reason"],
    )


def _symbol(poll: Mapping[str, Any]) -> str:
    if poll["outcome"] == "ok" and poll["new_count"]:
        return "+"
    return _SYMBOLS.get(poll["outcome"], "?")
