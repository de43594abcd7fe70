"""Finds sources that fail, list nothing or are not polled, and agencies that are silent
for longer than their habit explains. Pure.

Sources of inactive agencies, and sources removed from the desk file, are omitted.
`pipeline/schedule.py` decides when a source is polled again.

A silence is measured by the entries missed in it: the agency's rates of the weekdays
that have passed, and for today the share that is usually seen by now. A ministry that
does not publish at weekends has missed nothing on Monday morning. The rates are lowered
on days on which few agencies of the desk publish, such as public holidays.

An agency is silent if it missed more entries than chance explains once in thirty years,
and clearly more than in its earlier silences. Chance depends on the agency's bursts:
ten entries that always come together are one event. Time after the last answer of its
sources does not count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from news_assets.pipeline.publishing_habits import (
    Floats,
    Habit,
    PublishingHistory,
    describe_habit,
    duration,
    learn_habit,
    share_of_day,
    weekdays_between,
)
from news_assets.pipeline.schedule import SUSPECT, waiting_sources
from news_assets.pipeline.stage_declaration import Findings
from news_assets.records.articles import SourceState
from news_assets.records.desks import Desk, Source
from news_assets.text.dates import day_of

ANSWERS = ("ok", "unchanged")
_EMPTY_LISTING_AFTER = timedelta(
    days=2
)  # a listing keeps its old entries on a quiet day

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
    - `lists nothing`: the listings have been empty for _EMPTY_LISTING_AFTER.
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
        if not _is_lasting(state, polls, now):
            return None
        return _failure(source, state, polls)
    since = None if polls is None else _empty_since(state, polls)
    if since is not None and now - since >= _EMPTY_LISTING_AFTER:
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
    what = "fails"
    if state.last_outcome in ("gone", "blocked"):
        what = state.last_outcome
    since, count = state.last_polled_at, 1
    if polls is not None:
        since = polls.failing_since or since
        count = max(polls.failed_count, 1)
    return _Finding(source, what, since, state.last_reason, count, state)


def _is_lasting(state: SourceState, polls: PollHistory | None, now: datetime) -> bool:
    if state.last_outcome == "gone":
        return True
    if state.failure_points >= _LASTING_POINTS:
        return True
    if polls is None:
        return False
    if polls.failed_count >= _LASTING_POLLS:
        return True
    answered_at = polls.last_answer_at or polls.first_polled_at
    return now - answered_at > max(_LASTING, _LASTING_INTERVALS * _interval(state))


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
    `store.queries.poll_health.source_rows`.
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


# --- silent agencies ------------------------------------------------------------------


# feeds list old entries at the first poll: an empty one has a wrong address
_EMPTY_AGENCY_AFTER = timedelta(days=3)

_ALARMS_A_YEAR = 1 / 30  # by chance, for one agency
# of a usual day's entries: a morning is too short even for a busy agency
_LEAST_DAYS = 0.75
_RECENT_DAYS = 180
_RECENT_FACTOR = 1.5  # times the earlier silence
# times that of the same season last year: one week of recess may become two
_SEASON_FACTOR = 2.5
_SEASON_DAYS = 10  # recesses move by a week from year to year
_MIN_ACTIVITY = 0.2  # a desk that is silent as a whole is found too, only later
_ACTIVITY_PRIOR = 3.0  # agencies
_ACTIVITY_DAYS = 14  # agencies silent for longer do not make today a holiday


@dataclass(frozen=True, slots=True)
class _Silence:
    """Consecutive days without an entry, from `first` to `last` (ordinals), and the
    entries missed in them.
    """

    first: int
    last: int
    missed: float


def find_silences(agencies: Sequence[PublishingHistory], now: datetime) -> Findings:
    """Return the agencies of one desk that are silent for longer than their habit
    explains, the most unusual first.

    Agencies with fewer than MIN_ENTRIES entries or MIN_DAYS days of history are left
    out, except those without any entry although their sources have answered for
    _EMPTY_AGENCY_AFTER.
    """
    found: list[tuple[float, tuple[object, ...]]] = []
    known: list[tuple[PublishingHistory, _Observed]] = []
    for one in agencies:
        habit = learn_habit(one)
        if habit is not None:
            known.append((one, _observe(one, habit, now)))
        elif _is_empty(one, now):
            found.append((float("inf"), _row_without_entries(one, now)))
    desk = _Desk([observed for _, observed in known])
    for one, observed in known:
        excess = _excess(observed, desk)
        if excess is not None:
            row = _silence_row(one, observed.habit, excess.missed, now)
            found.append((excess.ratio, row))
    found.sort(key=lambda pair: (-pair[0], str(pair[1][0])))
    header = ("agency", "last_entry_at", "silent_for", "missed", "habit")
    return Findings(len(agencies), header, tuple(row for _, row in found))


def _is_empty(one: PublishingHistory, now: datetime) -> bool:
    if one.day_counts:
        return False
    if one.first_answer_at is None:
        return False
    return now - one.first_answer_at >= _EMPTY_AGENCY_AFTER


@dataclass(frozen=True, slots=True)
class _Observed:
    """An agency with its habit, the local day (ordinal) of the last answer, and the
    elapsed share of that day.
    """

    agency: str
    habit: Habit
    today: int
    share: float


def _observe(one: PublishingHistory, habit: Habit, now: datetime) -> _Observed:
    moment = min(now, one.last_answer_at or now)
    today = max(day_of(moment, one.timezone).toordinal(), habit.last)
    return _Observed(one.agency, habit, today, share_of_day(one, moment))


class _Desk:
    """The activity of all agencies of a desk by day, which tells holidays from
    silences.
    """

    def __init__(self, observed: Sequence[_Observed]) -> None:
        self._first = min((one.habit.first for one in observed), default=0)
        days = max((one.today for one in observed), default=0) - self._first + 1
        self._expected = np.zeros(days)
        self._published = np.zeros(days)
        self._own = {one.agency: _expected_and_published(one) for one in observed}
        for one in observed:
            self._add(one, 1.0, self._expected, self._published)

    def _add(
        self, one: _Observed, sign: float, expected: Floats, published: Floats
    ) -> None:
        own_expected, own_published = self._own[one.agency]
        start = one.habit.first - self._first
        days = slice(start, start + len(own_expected))
        expected[days] += sign * own_expected
        published[days] += sign * own_published

    def activity(self, one: _Observed) -> Floats:
        """Return, for each day of the agency, the share of the other agencies expected
        to publish that did.
        """
        expected = self._expected.copy()
        published = self._published.copy()
        self._add(one, -1.0, expected, published)
        days = slice(one.habit.first - self._first, one.today - self._first + 1)
        share = (published + _ACTIVITY_PRIOR) / (expected + _ACTIVITY_PRIOR)
        return np.clip(share[days], _MIN_ACTIVITY, 1.0)


def _expected_and_published(one: _Observed) -> tuple[Floats, Floats]:
    """Return the chance that an agency publishes on each day since its first, and
    whether it did.
    """
    habit = one.habit
    until = min(one.today, habit.last + _ACTIVITY_DAYS)
    weekdays = weekdays_between(habit.first, until)
    published = np.zeros(len(weekdays))
    published[: len(habit.counts)] = habit.counts > 0
    learnt = slice(len(habit.counts) - habit.learnt_days, len(habit.counts))
    days = np.bincount(weekdays[learnt], minlength=7)
    expected = (np.bincount(weekdays[learnt], published[learnt], 7) / days)[weekdays]
    if until == one.today:
        expected[-1] = max(expected[-1] * one.share, published[-1])
    return expected, published


@dataclass(frozen=True, slots=True)
class _Excess:
    """Entries missed, and their ratio to the number that an agency's habit explains."""

    missed: float
    ratio: float


def _excess(one: _Observed, desk: _Desk) -> _Excess | None:
    """Return what an agency missed beyond its habit; None if its habit explains the
    silence.
    """
    habit = one.habit
    least = max(habit.limit(_ALARMS_A_YEAR), _LEAST_DAYS * float(habit.rates.max()))
    expected = habit.expected(habit.first, one.today)
    expected[-1] *= one.share
    silent_from = habit.last + 1 - habit.first
    if expected[silent_from:].sum() < least:
        return None
    expected *= desk.activity(one)
    missed = float(expected[silent_from:].sum())
    within = max(least, _usual_silence(_silences(habit, expected), one.today))
    if missed >= within:
        return _Excess(missed, missed / within)
    return None


def _silences(habit: Habit, expected: Floats) -> list[_Silence]:
    """Return the past silences; `expected` are the entries expected on each day."""
    busy = np.flatnonzero(habit.counts)
    passed = np.concatenate(([0.0], np.cumsum(expected)))
    starts = busy[:-1] + 1
    ends = busy[1:]
    missed = passed[ends] - passed[starts]
    found: list[_Silence] = []
    for start, end, one in zip(starts, ends, missed, strict=True):
        if end > start:
            first = habit.first + int(start)
            last = habit.first + int(end) - 1
            found.append(_Silence(first, last, float(one)))
    return found


def _usual_silence(past: Sequence[_Silence], today: int) -> float:
    """Return the missed entries that earlier silences explain.

    These are the second longest silence of the last half year, because a single one is
    a break or an outage and would hide the next for months, and the longest in the same
    season last year.
    """
    first = today - 364 - _SEASON_DAYS
    last = today - 364 + _SEASON_DAYS
    recent: list[float] = []
    longest = 0.0
    for one in past:
        if one.last > today - _RECENT_DAYS:
            recent.append(one.missed)
        if one.first <= last and one.last >= first:
            longest = max(longest, one.missed)
    second = sorted(recent)[-2] if len(recent) > 1 else 0.0
    return max(_RECENT_FACTOR * second, _SEASON_FACTOR * longest)


# --- as text --------------------------------------------------------------------------


def _row_without_entries(one: PublishingHistory, now: datetime) -> tuple[object, ...]:
    since = one.first_answer_at or now
    return (
        one.agency,
        None,
        duration(now - since),
        None,
        "no entry since the first poll",
    )


def _silence_row(
    one: PublishingHistory, habit: Habit, missed: float, now: datetime
) -> tuple[object, ...]:
    last_at = one.last_entry_at
    if last_at is None:
        silent_for = f"{day_of(now, one.timezone).toordinal() - habit.last} days"
    else:
        silent_for = duration(now - last_at)
    return one.agency, last_at, silent_for, round(missed, 1), describe_habit(habit)
