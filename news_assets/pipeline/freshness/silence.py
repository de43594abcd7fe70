"""Finds agencies that are silent for longer than their habit explains. Pure.

A silence is measured by the entries missed in it: the agency's rates of the weekdays
that have passed, and for today the share that is usually seen by now. A ministry that
does not publish at weekends has missed nothing on Monday morning. The rates are lowered
on days on which few agencies of the desk publish, such as public holidays.

An agency is silent if it missed more entries than chance explains once in thirty years,
and clearly more than in its earlier silences. Chance depends on the agency's bursts:
ten entries that always come together are one event. Time after the last answer of its
sources does not count; `source_health.py` finds sources that do not answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from news_assets.pipeline.freshness.rhythm import (
    Floats,
    Habit,
    PublishingHistory,
    learn_habit,
    share_of_day,
    weekdays_between,
)
from news_assets.pipeline.freshness.row_checks import Findings
from news_assets.text.dates import day_of

# feeds list old entries at the first poll: an empty one has a wrong address
EMPTY_AFTER = timedelta(days=3)

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

_MIN_RATE_SHOWN = 0.95  # entries per unit; below it a longer unit is used
_DAY_OFF = 0.05  # of the mean rate, at most
_TOO_FEW_FOR_DAYS_OFF = 0.5  # entries a day
_UNITS = ((1.0, "day"), (7.0, "week"), (30.44, "month"), (365.25, "year"))
_WEEKDAYS = (
    "Mondays",
    "Tuesdays",
    "Wednesdays",
    "Thursdays",
    "Fridays",
    "Saturdays",
    "Sundays",
)


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
    EMPTY_AFTER.
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
            row = _row(one, observed.habit, excess.missed, now)
            found.append((excess.ratio, row))
    found.sort(key=lambda pair: (-pair[0], str(pair[1][0])))
    header = ("agency", "last_entry_at", "silent_for", "missed", "habit")
    return Findings(len(agencies), header, tuple(row for _, row in found))


def _is_empty(one: PublishingHistory, now: datetime) -> bool:
    return (
        not one.day_counts
        and one.first_answer_at is not None
        and now - one.first_answer_at >= EMPTY_AFTER
    )


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
        self._expected, self._published = np.zeros(days), np.zeros(days)
        self._own = {one.agency: _expected_and_published(one) for one in observed}
        for one in observed:
            self._add(one, 1.0, self._expected, self._published)

    def _add(
        self, one: _Observed, sign: float, expected: Floats, published: Floats
    ) -> None:
        own_expected, own_published = self._own[one.agency]
        days = slice(
            one.habit.first - self._first,
            one.habit.first - self._first + len(own_expected),
        )
        expected[days] += sign * own_expected
        published[days] += sign * own_published

    def activity(self, one: _Observed) -> Floats:
        """Return, for each day of the agency, the share of the other agencies expected
        to publish that did.
        """
        expected, published = self._expected.copy(), self._published.copy()
        self._add(one, -1.0, expected, published)
        days = slice(one.habit.first - self._first, one.today - self._first + 1)
        return np.clip(
            (published[days] + _ACTIVITY_PRIOR) / (expected[days] + _ACTIVITY_PRIOR),
            _MIN_ACTIVITY,
            1.0,
        )


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
    within = max(least, _usual_silence(silences(habit, expected), one.today))
    return _Excess(missed, missed / within) if missed >= within else None


def silences(habit: Habit, expected: Floats) -> list[_Silence]:
    """Return the past silences; `expected` are the entries expected on each day."""
    busy = np.flatnonzero(habit.counts)
    passed = np.concatenate(([0.0], np.cumsum(expected)))
    starts, ends = busy[:-1] + 1, busy[1:]
    missed = passed[ends] - passed[starts]
    return [
        _Silence(habit.first + int(start), habit.first + int(end) - 1, float(one))
        for start, end, one in zip(starts, ends, missed, strict=True)
        if end > start
    ]


def _usual_silence(past: Sequence[_Silence], today: int) -> float:
    """Return the missed entries that earlier silences explain.

    These are the second longest silence of the last half year, because a single one is
    a break or an outage and would hide the next for months, and the longest in the same
    season last year.
    """
    first, last = today - 364 - _SEASON_DAYS, today - 364 + _SEASON_DAYS
    recent = [one.missed for one in past if one.last > today - _RECENT_DAYS]
    season = [one.missed for one in past if one.first <= last and one.last >= first]
    second = sorted(recent)[-2] if len(recent) > 1 else 0.0
    longest = max(season, default=0.0)
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


def _row(
    one: PublishingHistory, habit: Habit, missed: float, now: datetime
) -> tuple[object, ...]:
    last_at = one.last_entry_at
    if last_at is None:
        silent_for = f"{day_of(now, one.timezone).toordinal() - habit.last} days"
    else:
        silent_for = duration(now - last_at)
    return one.agency, last_at, silent_for, round(missed, 1), describe_habit(habit)


def describe_habit(habit: Habit) -> str:
    """Return rate, days off and longest earlier silence: `3.2 a day, none at weekends;
    longest silence 4 days`.
    """
    pauses = np.diff(np.flatnonzero(habit.counts)) - 1
    longest = int(pauses.max(initial=0))
    if not longest:
        return f"{_describe_rate(habit)}; never a day without"
    return f"{_describe_rate(habit)}; longest silence {_count(longest, 'day')}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _describe_rate(habit: Habit) -> str:
    rate = float(habit.rates.mean())
    off = [number for number in range(7) if habit.rates[number] < _DAY_OFF * rate]
    if rate < _TOO_FEW_FOR_DAYS_OFF or not off:
        shown = [unit for unit in _UNITS if rate * unit[0] >= _MIN_RATE_SHOWN]
        span, name = shown[0] if shown else _UNITS[-1]
        return f"{rate * span:.1f} a {name}"
    working = float(np.delete(habit.rates, off).mean())
    days = "on " + ", ".join(_WEEKDAYS[number] for number in off)
    if off == [5, 6]:
        days = "at weekends"
    return f"{working:.1f} a day, none {days}"


def duration(span: timedelta) -> str:
    """Return a span in its two largest units: `3 days 4 h`, `5 h 20 min`."""
    minutes = max(int(span.total_seconds() // 60), 0)
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    if days and hours:
        return f"{_count(days, 'day')} {hours} h"
    if days:
        return _count(days, "day")
    return f"{hours} h {rest} min" if hours else f"{rest} min"
