"""Learns from stored entries how a source or an agency usually publishes. Pure.

`PublishingRates` of a source are the entries expected in each hour of the week:
`pipeline/schedule.py` decides with them when it is polled. They begin as a general
profile (working days, working hours) at the level of the source. This is then corrected
three times, by hour of the day, by weekday and by hour of the week: each time by the
ratio of observed to expected entries, with some entries added to both, so that few
entries change little.

A `Habit` of an agency is a rate for each weekday, learnt from the twelve weeks before
the last entry, and a measure of how much the entries come in bursts:
`source_health.py` compares silences with it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from math import log
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from news_assets.ports.services import Reader
from news_assets.records.articles import FeedEntry
from news_assets.records.desks import Source
from news_assets.text.dates import day_of, zone_info

if TYPE_CHECKING:
    import polars


# --- rates by hour of the week, for polling -------------------------------------------


_LEARNT_WEEKS = 8
_WEEK_HOURS = 168

_PRIOR_DAYS = 1.0  # a new source counts as observed for a day, with one entry
_PRIOR_ENTRIES = 2.0  # added to the entries of an hour of the day and of a weekday
# added to the entries of an hour of the week: of few sources any hour has many
_PRIOR_HOUR_ENTRIES = 4.0
# a tenth of the entries: old ones pinned to a listing do not show how far back it is
# complete
_OLDEST = 10

_MONDAY = 3 * 24  # 1970 began on a Thursday

Floats = npt.NDArray[np.float64]

_WORKING_DAY = np.array([0.1] * 6 + [0.25, 0.5] + [1.0] * 12 + [0.5, 0.3, 0.25, 0.2])
_PROFILE = np.concatenate([np.tile(_WORKING_DAY, 5), np.tile(0.35 * _WORKING_DAY, 2)])
_PROFILE /= _PROFILE.mean()


@dataclass(frozen=True, slots=True)
class PublishingRates:
    """Entries an hour that are expected of a source, by hour of the week: the first is
    Monday, 00:00, in its zone.
    """

    timezone: str
    per_hour: Floats

    @property
    def per_day(self) -> float:
        """Entries a day, as a mean over the week."""
        return float(self.per_hour.mean()) * 24

    def from_time(self, moment: datetime) -> Iterator[tuple[float, float]]:
        """Yield without end, from a time on, how long a rate holds, in hours, and the
        rate.
        """
        local = moment.astimezone(zone_info(self.timezone))
        hour = local.weekday() * 24 + local.hour
        yield 1 - (local.minute * 60 + local.second) / 3600, float(self.per_hour[hour])
        while True:
            hour = (hour + 1) % _WEEK_HOURS
            yield 1.0, float(self.per_hour[hour])


def rates_of(
    reader: Reader, sources: Iterable[Source], now: datetime
) -> dict[str, PublishingRates]:
    """Return the rates of each source by source_id, learnt from its entries of the last
    _LEARNT_WEEKS.
    """
    zones = {source.source_id: source.timezone for source in sources}
    ages = range(-1, 7 * _LEARNT_WEEKS + 1)
    frame = reader.frame(
        FeedEntry,
        None,
        ("source_id", "published_at", "first_seen_at"),
        source_id=zones,
        day={(now - timedelta(days=ago)).date() for ago in ages},
    )
    published = _seconds(frame["published_at"])
    first_seen = _seconds(frame["first_seen_at"])
    of_source = dict.fromkeys(zones, slice(0))
    start = 0
    # rows are read by key, so that those of a source follow one another
    for count, key in frame["source_id"].rle().struct.unnest().iter_rows():
        of_source[key] = slice(start, start + count)
        start += count
    rates: dict[str, PublishingRates] = {}
    for key, zone in zones.items():
        own = of_source[key]
        rates[key] = learn_rates(published[own], first_seen[own], zone, now)
    return rates


def _seconds(times: "polars.Series") -> Floats:
    seconds: Floats = times.dt.epoch("s").cast(float).fill_null(float("nan")).to_numpy()
    return seconds


def learn_rates(
    published_s: Floats, first_seen_s: Floats, timezone: str, now: datetime
) -> PublishingRates:
    """Return the rates learnt from entries with these times, in seconds since 1970
    (UTC); NaN if none is stated.
    """
    # The offset of today for all weeks: after a clock change, habits are an hour off
    # for some days.
    offset = now.astimezone(zone_info(timezone)).utcoffset() or timedelta()
    offset_s = offset.total_seconds()
    local = _visible_at(published_s, first_seen_s, offset_s) + offset_s
    now_hour = int((now.timestamp() + offset_s) // 3600) + _MONDAY
    hours = np.sort((local // 3600).astype(np.int64)) + _MONDAY
    hours = hours[(hours > now_hour - _LEARNT_WEEKS * _WEEK_HOURS) & (hours < now_hour)]
    start = len(hours) // _OLDEST
    first = int(hours[start]) if len(hours) else now_hour
    observed = _by_week_hour(hours[start + 1 :])
    times = _by_week_hour(np.arange(first, now_hour))
    return PublishingRates(timezone, _rates(observed, times))


def _by_week_hour(hours: "npt.NDArray[np.int64]") -> Floats:
    """Return how many of these hours are each hour of the week."""
    return np.bincount(hours % _WEEK_HOURS, minlength=_WEEK_HOURS).astype(float)


def _visible_at(published_s: Floats, first_seen_s: Floats, offset_s: float) -> Floats:
    """Return when the entries became visible: when they were published, and later by
    the usual lag of the listing.

    A time of midnight is a date. Entries without a time, or with a future one, became
    visible when first seen; those of a first poll say nothing and are not counted. The
    lag is what nine of ten entries exceed: also the hours by which a source misstates
    its zone.
    """
    age_s = first_seen_s - published_s
    is_timed = (age_s >= 0) & ((published_s + offset_s) % 86_400 != 0)
    is_fresh = is_timed & (age_s < 86_400)
    ages_s = np.sort(age_s[is_fresh])
    lag_s = float(ages_s[len(ages_s) // 10]) if len(ages_s) else 0.0
    is_first = first_seen_s == first_seen_s.min(initial=np.inf)
    visible_s = np.where(
        is_timed, np.minimum(published_s + lag_s, first_seen_s), first_seen_s
    )
    kept: Floats = visible_s[is_timed | ~is_first]
    return kept


def _rates(observed: Floats, times: Floats) -> Floats:
    """Return the rates by hour of the week, from the entries in each and how often each
    was observed.
    """
    prior = _PRIOR_DAYS * 24
    rates: Floats = (
        _PROFILE * (observed.sum() + _PRIOR_DAYS) / ((times * _PROFILE).sum() + prior)
    )
    seen = observed.reshape(7, 24)
    due = (times * rates).reshape(7, 24)
    by_hour = _correction(
        _smooth(seen.sum(axis=0)), _smooth(due.sum(axis=0)), _PRIOR_ENTRIES
    )
    due *= by_hour
    by_day = _correction(seen.sum(axis=1), due.sum(axis=1), _PRIOR_ENTRIES)
    rates = rates * np.outer(by_day, by_hour).ravel()
    rates *= _correction(_smooth(observed), _smooth(times * rates), _PRIOR_HOUR_ENTRIES)
    return rates


def _correction(observed: Floats, expected: Floats, prior_entries: float) -> Floats:
    factors: Floats = (observed + prior_entries) / (expected + prior_entries)
    return factors


def _smooth(hours: Floats) -> Floats:
    """Return the mean of each hour with half of its neighbours: habits do not begin on
    the hour.
    """
    smoothed: Floats = (np.roll(hours, 1) + 2 * hours + np.roll(hours, -1)) / 4
    return smoothed


# --- habits by weekday, for finding silences ------------------------------------------


_HISTORY_DAYS = 400  # a year and a month: includes the same season last year
LEARNT_DAYS, _LEARNT_BUSY_DAYS = 84, 30  # the longer of the two, within the history
_MIN_ENTRIES, _MIN_DAYS = 5, 14  # no habit is learnt from less

# weight of random publishing against few observations
_PRIOR_HABIT_ENTRIES, _PRIOR_WEEKS, _PRIOR_EMPTY = (
    5.0,
    2.0,
    2.0,
)
_LEAST_DISPERSION = 0.4
_PAUSES_TO_COMPARE = 20
_WORKING_SHARE = (
    0.99  # of the mean day's entries; includes every day where all are equal
)
_BISECTIONS = 14  # of a range of six decades: to a tenth of a percent
# assumed at the end of the day: few observed hours make the share small
_PRIOR_LATE_ENTRIES = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishingHistory:
    """The entries of one active agency, and the answers of its sources to polls.

    Attributes:
        agency: Key of the agency.
        timezone: Its time zone.
        day_counts: Number of entries of each local day that has any, _HISTORY_DAYS back
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
    counts: dict[int, int] = {}
    for day, count in one.day_counts.items():
        if count > 0:
            counts[day.toordinal()] = count
    if not counts:
        return None
    last = max(counts)
    first = _first_complete_day(one, counts)
    daily = _daily_counts(counts, first, last)
    if daily.sum() < _MIN_ENTRIES:
        return None
    if last - first + 1 < _MIN_DAYS:
        return None
    learnt = daily[-_learnt_days(daily) :]
    break_days = _single_break(learnt)
    weekdays = np.delete(weekdays_between(last - len(learnt) + 1, last), break_days)
    usual = np.delete(learnt, break_days)
    rates = np.bincount(weekdays, usual, 7) / np.bincount(weekdays, minlength=7)
    return Habit(first, daily, rates, len(learnt), _dispersion(usual, rates[weekdays]))


def _daily_counts(counts: Mapping[int, int], first: int, last: int) -> Floats:
    """Return the entries of each day from `first` to `last`."""
    daily = np.zeros(max(0, last - first + 1))
    for day, count in counts.items():
        if day >= first:
            daily[day - first] = count
    return daily


def _learnt_days(counts: Floats) -> int:
    """Return how many of the last days to learn from: twelve weeks, more if the agency
    publishes rarely.
    """
    busy = np.flatnonzero(counts)
    return int(max(LEARNT_DAYS, len(counts) - busy[-min(_LEARNT_BUSY_DAYS, len(busy))]))


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
    by_days = (spread + _PRIOR_HABIT_ENTRIES) / (
        float(expected.sum()) + _PRIOR_HABIT_ENTRIES
    )
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
    is_working = expected >= _WORKING_SHARE * expected.mean()
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


# --- as text --------------------------------------------------------------------------

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
    days = minutes // 1440
    hours = minutes // 60 % 24
    rest = minutes % 60
    if days and hours:
        return f"{_count(days, 'day')} {hours} h"
    if days:
        return _count(days, "day")
    return f"{hours} h {rest} min" if hours else f"{rest} min"
