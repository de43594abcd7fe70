"""Learns from an agency's entries by day how it usually publishes. Pure.

A habit is a rate for each weekday, learnt from the twelve weeks before the last entry,
and a measure of how much the entries come in bursts. `silence.py` compares silences
with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from math import log
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from news_assets.text.dates import day_of

HISTORY_DAYS = 400  # a year and a month: includes the same season last year
LEARNT_DAYS, LEARNT_BUSY_DAYS = 84, 30  # the longer of the two, within the history
MIN_ENTRIES, MIN_DAYS = 5, 14  # no habit is learnt from less

# weight of random publishing against few observations
_PRIOR_ENTRIES, _PRIOR_WEEKS, _PRIOR_EMPTY = (
    5.0,
    2.0,
    2.0,
)
_LEAST_DISPERSION = 0.4
_PAUSES_TO_COMPARE = 20
_WORKING_DAY = 0.99  # of the mean day's entries; includes every day where all are equal
_BISECTIONS = 14  # of a range of six decades: to a tenth of a percent
# assumed at the end of the day: few observed hours make the share small
_PRIOR_LATE_ENTRIES = 10.0

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishingHistory:
    """The entries of one active agency, and the answers of its sources to polls.

    Attributes:
        agency: Key of the agency.
        timezone: Its time zone.
        day_counts: Number of entries of each local day that has any, HISTORY_DAYS back
            from the last one.
        seen_hours: Number of recent entries by the UTC hour in which they were first
            seen.
        first_seen_at: When its first entry was seen; earlier days are complete only as
            far as listings reach back.
        last_entry_at: Time of its last entry.
        first_answer_at: Time of the first known answer to a poll.
        last_answer_at: Time of the last known answer to a poll.
    """

    agency: str
    timezone: str
    day_counts: Mapping[date, int]
    seen_hours: Sequence[int] = (0,) * 24
    first_seen_at: datetime | None = None
    last_entry_at: datetime | None = None
    first_answer_at: datetime | None = None
    last_answer_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Habit:
    """How an agency publishes.

    Attributes:
        first: Ordinal of the first day.
        counts: Entries of each day, from `first` to the last day with an entry.
        rates: Entries a day by weekday, Monday first.
        learnt_days: Number of last days that `rates` are learnt from.
        dispersion: 1 for entries independent of each other, more for bursts, less for a
            timetable.
    """

    first: int
    counts: Floats
    rates: Floats
    learnt_days: int
    dispersion: float

    @property
    def last(self) -> int:
        """Ordinal of the last day with an entry."""
        return self.first + len(self.counts) - 1

    def limit(self, times_a_year: float) -> float:
        """Return the missed entries that chance alone exceeds this many times a year."""
        bursts_a_year = 365.25 * float(self.rates.mean()) / self.dispersion
        return self.dispersion * log(max(bursts_a_year, 2.0) / times_a_year)

    def expected(self, first: int, last: int) -> Floats:
        """Return the entries expected on each day from `first` to `last`.

        The learnt days always end with an entry, which makes the rates too high by one
        day with entries.
        """
        busy = max(int(np.count_nonzero(self.counts[-self.learnt_days :])), 2)
        rates: Floats = self.rates * ((busy - 1) / busy)
        return rates[weekdays_between(first, last)]


def learn_habit(one: PublishingHistory) -> Habit | None:
    """Return the habit of an agency up to its last entry; None if its history is too
    short.
    """
    counts = {
        day.toordinal(): count for day, count in one.day_counts.items() if count > 0
    }
    if not counts:
        return None
    last, first = max(counts), _first_complete_day(one, counts)
    kept = {day: count for day, count in counts.items() if day >= first}
    if sum(kept.values()) < MIN_ENTRIES or last - first + 1 < MIN_DAYS:
        return None
    daily = np.zeros(last - first + 1)
    daily[np.array(list(kept)) - first] = list(kept.values())
    learnt = daily[-_learnt_days(daily) :]
    break_days = _single_break(learnt)
    weekdays = np.delete(weekdays_between(last - len(learnt) + 1, last), break_days)
    usual = np.delete(learnt, break_days)
    rates = np.bincount(weekdays, usual, 7) / np.bincount(weekdays, minlength=7)
    return Habit(first, daily, rates, len(learnt), _dispersion(usual, rates[weekdays]))


def _learnt_days(counts: Floats) -> int:
    """Return how many of the last days to learn from: twelve weeks, more if the agency
    publishes rarely.
    """
    busy = np.flatnonzero(counts)
    return int(max(LEARNT_DAYS, len(counts) - busy[-min(LEARNT_BUSY_DAYS, len(busy))]))


def _single_break(counts: Floats) -> slice:
    """Return the full weeks of a pause more than twice as long as any other: a break or
    an outage, not a habit.
    """
    busy = np.flatnonzero(counts)
    pauses = np.diff(busy) - 1
    if len(pauses) < _PAUSES_TO_COMPARE:
        return slice(0)
    longest = int(pauses.argmax())
    second, days = np.sort(pauses)[-2:]
    weeks = int(days) // 7 if days > 2 * second else 0
    return slice(busy[longest] + 1, busy[longest] + 1 + weeks * 7)


def _first_complete_day(one: PublishingHistory, counts: Mapping[int, int]) -> int:
    """Return the first day whose entries are all known.

    The entries of a first poll begin in the middle of a day, and old pinned ones may
    precede them: the oldest tenth of them is skipped.
    """
    if one.first_seen_at is None:
        return min(counts)
    seen_from = day_of(one.first_seen_at, one.timezone).toordinal()
    earlier = sorted((day, count) for day, count in counts.items() if day < seen_from)
    to_skip = sum(count for _, count in earlier) // 10
    for day, count in earlier:
        to_skip -= count
        if to_skip < 0:
            return day + 1
    return min(counts)


def _dispersion(counts: Floats, expected: Floats) -> float:
    """Return how many entries make one independent event: bursts within a day, times
    bursts over several days.
    """
    spread = (
        float(((counts - expected) ** 2).sum()) * len(counts) / max(len(counts) - 7, 1)
    )
    by_days = (spread + _PRIOR_ENTRIES) / (float(expected.sum()) + _PRIOR_ENTRIES)
    weeks = counts[len(counts) % 7 :].reshape(-1, 7).sum(axis=1)
    mean = max(float(weeks.mean()), 1e-9)
    by_weeks = (float(((weeks - mean) ** 2).sum()) / mean + _PRIOR_WEEKS) / (
        len(weeks) - 1 + _PRIOR_WEEKS
    )
    within_days = min(by_days, _entries_per_event(counts, expected))
    return max(within_days * max(by_weeks / by_days, 1.0), _LEAST_DISPERSION)


def _entries_per_event(counts: Floats, expected: Floats) -> float:
    """Return the divisor of the expected entries for which empty working days are as
    likely as they were observed.

    The ratio of variance to mean overestimates bursts where days differ in size but are
    rarely empty.
    """
    is_working = expected >= _WORKING_DAY * expected.mean()
    due = expected[is_working]
    empty = np.count_nonzero(counts[is_working] == 0) + _PRIOR_EMPTY
    low, high = 1e-2, 1e4
    for _ in range(_BISECTIONS):
        middle = (low * high) ** 0.5
        if np.exp(-due / middle).sum() < empty:
            low = middle
        else:
            high = middle
    return high


def weekdays_between(first: int, last: int) -> npt.NDArray[np.int64]:
    """Return the weekday of each day between two ordinals, both included; Monday is 0."""
    return (np.arange(first, last + 1) + 6) % 7  # date.toordinal() is 1 on a Monday


def share_of_day(one: PublishingHistory, moment: datetime) -> float:
    """Return the share of a day's entries that is usually seen by this time of the
    agency's local day.
    """
    zone = ZoneInfo(one.timezone)
    midnight = datetime.combine(
        moment.astimezone(zone).date(), time(), zone
    ).astimezone(UTC)
    hours = int((moment - midnight).total_seconds() // 3600)
    by_hour = [one.seen_hours[(midnight.hour + hour) % 24] for hour in range(24)]
    return sum(by_hour[:hours]) / (sum(by_hour) + _PRIOR_LATE_ENTRIES)
