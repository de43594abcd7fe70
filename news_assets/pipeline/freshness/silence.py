"""Agencies that are silent beyond their own habit: how each published, and until when it was heard, in; findings out.

A silence is worth the entries missed in it: the agency's rate on such a weekday, summed over the days that passed, of
today as much as is usually there by now. A ministry that rests at weekends has missed nothing on Monday morning. What
the other agencies of the desk do counts too: on a public holiday few publish, so little is missed.

An agency is silent once the missed entries are more than chance brings once in thirty years, and clearly more than its
earlier silences were worth. Chance is measured by its own bursts: ten entries that always come together are one event.
Whether the sources answer at all is `source_health.py`'s: what nobody listened to is no silence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from news_assets.pipeline.freshness.rhythm import (
    Floats,
    Habit,
    Published,
    learn_habit,
    share_of_day,
    weekdays_between,
)
from news_assets.pipeline.freshness.row_checks import Findings
from news_assets.text.dates import day_of

EMPTY_AFTER = timedelta(days=3)  # a feed lists old entries at once: three days without any is a wrong address

_ALARMS_A_YEAR = 1 / 30  # by chance, for one agency
_LEAST_DAYS = 0.75  # of a usual day's entries: a morning is too short, however many are missed in it
_RECENT_DAYS = 180
_BEYOND = 1.5  # times the earlier silence
_BEYOND_SEASON = 2.5  # times the same season's last year: a break of one week may be two
_SEASON_DAYS = 10  # recesses move by a week from year to year
_MIN_PULSE = 0.2  # a desk that fell silent as a whole is noticed too, only later
_PULSE_PRIOR = 3.0  # agencies
_PULSE_MEMORY_DAYS = 14  # who has been silent for longer does not make today a holiday

_WORTH_SAYING = 0.95  # of a unit
_DAY_OFF = 0.05  # of the mean rate
_TOO_FEW_FOR_DAYS_OFF = 0.5  # a day
_UNITS = ((1.0, "day"), (7.0, "week"), (30.44, "month"), (365.25, "year"))
_WEEKDAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")


@dataclass(frozen=True, slots=True)
class Silence:
    """A run of days without an entry, the first and the last (ordinals), and the entries missed in it."""

    first: int
    last: int
    missed: float


def silent(agencies: Sequence[Published], now: datetime) -> Findings:
    """Return the agencies of one desk that are silent beyond their habit, the most striking first.

    An agency with fewer than MIN_ENTRIES entries or MIN_DAYS days of history is never one of them, except where its
    sources answer and not one entry ever came.
    """
    found = [(float("inf"), _never_heard(one, now)) for one in agencies if _is_empty(one, now)]
    habits = [(one, habit) for one in agencies if (habit := learn_habit(one)) is not None]
    heard = [_heard(one, habit, now) for one, habit in habits]
    desk = _Desk(heard)
    for (one, habit), each in zip(habits, heard, strict=True):
        if (excess := _excess(each, desk)) is not None:
            found.append((excess.ratio, _row(one, habit, excess.missed, now)))
    found.sort(key=lambda pair: (-pair[0], str(pair[1][0])))
    header = ("agency", "last_entry_at", "silent_for", "missed", "habit")
    return Findings(len(agencies), header, tuple(row for _, row in found))


def _is_empty(one: Published, now: datetime) -> bool:
    return not one.day_counts and one.first_answer_at is not None and now - one.first_answer_at >= EMPTY_AFTER


@dataclass(frozen=True, slots=True)
class _Heard:
    """An agency with its habit, the last day (ordinal) that somebody listened, and the share of it that has passed."""

    agency: str
    habit: Habit
    today: int
    share: float


def _heard(one: Published, habit: Habit, now: datetime) -> _Heard:
    moment = min(now, one.last_answer_at or now)
    today = max(day_of(moment, one.timezone).toordinal(), habit.last)
    return _Heard(one.agency, habit, today, share_of_day(one, moment))


class _Desk:
    """The agencies of a desk side by side: what the others do tells a holiday from a silence."""

    def __init__(self, heard: Sequence[_Heard]) -> None:
        self._first = min((one.habit.first for one in heard), default=0)
        days = max((one.today for one in heard), default=0) - self._first + 1
        self._due, self._there = np.zeros(days), np.zeros(days)
        self._own = {one.agency: _presence(one) for one in heard}
        for one in heard:
            self._add(one, 1.0, self._due, self._there)

    def _add(self, one: _Heard, sign: float, due: Floats, there: Floats) -> None:
        own_due, own_there = self._own[one.agency]
        days = slice(one.habit.first - self._first, one.habit.first - self._first + len(own_due))
        due[days] += sign * own_due
        there[days] += sign * own_there

    def pulse(self, one: _Heard) -> Floats:
        """Return, from the agency's first day to today, the share of the others due on each day that did publish."""
        due, there = self._due.copy(), self._there.copy()
        self._add(one, -1.0, due, there)
        days = slice(one.habit.first - self._first, one.today - self._first + 1)
        return np.clip((there[days] + _PULSE_PRIOR) / (due[days] + _PULSE_PRIOR), _MIN_PULSE, 1.0)


def _presence(one: _Heard) -> tuple[Floats, Floats]:
    """Give the chance that an agency publishes on each day since its first, and whether it did."""
    habit = one.habit
    until = min(one.today, habit.last + _PULSE_MEMORY_DAYS)
    weekdays = weekdays_between(habit.first, until)
    there = np.zeros(len(weekdays))
    there[: len(habit.counts)] = habit.counts > 0
    learnt = slice(len(habit.counts) - habit.learnt_days, len(habit.counts))
    days = np.bincount(weekdays[learnt], minlength=7)
    due = (np.bincount(weekdays[learnt], there[learnt], 7) / days)[weekdays]
    if until == one.today:
        due[-1] = max(due[-1] * one.share, there[-1])
    return due, there


@dataclass(frozen=True, slots=True)
class _Excess:
    """Entries missed, and how many times that is what is within an agency's habit."""

    missed: float
    ratio: float


def _excess(one: _Heard, desk: _Desk) -> _Excess | None:
    """Give what an agency missed beyond its habit; None within it."""
    habit = one.habit
    least = max(habit.limit(_ALARMS_A_YEAR), _LEAST_DAYS * float(habit.rates.max()))
    worth = habit.expected(habit.first, one.today)
    worth[-1] *= one.share
    silent_from = habit.last + 1 - habit.first
    if worth[silent_from:].sum() < least:
        return None
    worth *= desk.pulse(one)
    missed = float(worth[silent_from:].sum())
    within = max(least, _excused(silences(habit, worth), one.today))
    return _Excess(missed, missed / within) if missed >= within else None


def silences(habit: Habit, worth: Floats) -> list[Silence]:
    """Return the runs of days without an entry before the last one, by the entries that each day was worth."""
    busy = np.flatnonzero(habit.counts)
    passed = np.concatenate(([0.0], np.cumsum(worth)))
    starts, ends = busy[:-1] + 1, busy[1:]
    missed = passed[ends] - passed[starts]
    return [
        Silence(habit.first + int(start), habit.first + int(end) - 1, float(one))
        for start, end, one in zip(starts, ends, missed, strict=True)
        if end > start
    ]


def _excused(past: Sequence[Silence], today: int) -> float:
    """Give the missed entries that earlier silences make usual.

    Of the last half year the second longest counts, because one alone is a break or an outage and would hide the next
    for months; and any of the same season last year.
    """
    recent = sorted((one.missed for one in past if one.last > today - _RECENT_DAYS), reverse=True)
    first, last = today - 364 - _SEASON_DAYS, today - 364 + _SEASON_DAYS
    season = (one.missed for one in past if one.first <= last and one.last >= first)
    return max(_BEYOND * max(recent[1:2], default=0.0), _BEYOND_SEASON * max(season, default=0.0))


# --- in words --------------------------------------------------------------------------------------------------------


def _never_heard(one: Published, now: datetime) -> tuple[object, ...]:
    since = one.first_answer_at or now
    return one.agency, None, duration(now - since), None, "not one entry since it was first asked"


def _row(one: Published, habit: Habit, missed: float, now: datetime) -> tuple[object, ...]:
    last_at = one.last_entry_at
    if last_at is None:
        silent_for = f"{day_of(now, one.timezone).toordinal() - habit.last} days"
    else:
        silent_for = duration(now - last_at)
    return one.agency, last_at, silent_for, round(missed, 1), habit_in_words(habit)


def habit_in_words(habit: Habit) -> str:
    """Return rate, days off and longest earlier silence: `3.2 a day, none at weekends; longest silence 4 days`."""
    pauses = np.diff(np.flatnonzero(habit.counts)) - 1
    longest = int(pauses.max()) if len(pauses) else 0
    silence = f"longest silence {longest} day{'' if longest == 1 else 's'}" if longest else "never a day without"
    return f"{_rate_in_words(habit)}; {silence}"


def _rate_in_words(habit: Habit) -> str:
    rate = float(habit.rates.mean())
    off = [number for number in range(7) if habit.rates[number] < _DAY_OFF * rate]
    if rate < _TOO_FEW_FOR_DAYS_OFF or not off:
        span, unit = next((span, unit) for span, unit in _UNITS if rate * span >= _WORTH_SAYING or unit == "year")
        return f"{rate * span:.1f} a {unit}"
    working = float(np.delete(habit.rates, off).mean())
    days = "at weekends" if off == [5, 6] else "on " + ", ".join(_WEEKDAYS[number] for number in off)
    return f"{working:.1f} a day, none {days}"


def duration(span: timedelta) -> str:
    """Return a span in its two largest units: `3 days 4 h`, `5 h 20 min`."""
    minutes = max(int(span.total_seconds() // 60), 0)
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    if days:
        return f"{days} day{'' if days == 1 else 's'}" + (f" {hours} h" if hours else "")
    return f"{hours} h {rest} min" if hours else f"{rest} min"
