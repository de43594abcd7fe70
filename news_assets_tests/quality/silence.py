"""False alarms and delays of the verdict on silent agencies, on simulated desks.

    python -m news_assets_tests.quality.silence [--agencies N] [--seed N]

Agencies of every habit live side by side for two years, the second of which is judged every day; then some of each die.
Exits 1 beyond a floor. A false alarm is one silence that was reported and ended by itself.
"""

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import numpy as np
import numpy.typing as npt

from news_assets.pipeline.freshness.rhythm import HISTORY_DAYS, PublishingHistory
from news_assets.pipeline.freshness.silence import find_silences

Counts = npt.NDArray[np.int64]
Dice = np.random.Generator

BEGIN = date(2024, 3, 4)  # has to be a Monday
WARM_DAYS, JUDGED_DAYS, DEAD_DAYS = 430, 365, 300
CHECKED_AT = timedelta(hours=17)
SEEN_HOURS = tuple(10 if 8 <= hour < 18 else 0 for hour in range(24))
MAX_ALARMS = 0.13  # of each habit, per agency and year: two in sixteen
MAX_MEAN_ALARMS = 0.02
HOLIDAYS = (12, 45, 78, 79, 110, 141, 170, 202, 247, 265, 300, 330)  # days of the year on which few publish
YEARS_END = 302  # 31 December, counted from BEGIN


@dataclass(frozen=True)
class Habit:
    """A way to publish, and the days within which half and nine tenths of those that died have to be found."""

    make: Callable[[Dice, int], Counts]
    max_median: float
    max_ninth: float


def weekly(dice: Dice, days: int, rate: float, weekend: float) -> npt.NDArray[np.float64]:
    """Expected entries a day: `rate` on working days, a share of it at weekends."""
    profile = np.array([rate] * 5 + [rate * weekend] * 2)
    return np.resize(profile, days)


def poisson(rate: float, weekend: float = 1.0) -> Callable[[Dice, int], Counts]:
    return lambda dice, days: dice.poisson(weekly(dice, days, rate, weekend))


def negative_binomial(rate: float, weekend: float, shape: float) -> Callable[[Dice, int], Counts]:
    """Days that differ: each one's rate is drawn anew."""

    def make(dice: Dice, days: int) -> Counts:
        return dice.poisson(weekly(dice, days, rate, weekend) * dice.gamma(shape, 1 / shape, days))

    return make


def batches(per_day: float, size: float, weekend: float) -> Callable[[Dice, int], Counts]:
    """Entries that come together: so many batches a day, of about `size`."""

    def make(dice: Dice, days: int) -> Counts:
        count = dice.poisson(weekly(dice, days, per_day, weekend))
        return np.where(count > 0, dice.poisson(size * np.maximum(count, 1)) + 1, 0)

    return make


def waves(rate: float) -> Callable[[Dice, int], Counts]:
    """Busy and slow weeks, as of a body that is in session or not."""

    def make(dice: Dice, days: int) -> Counts:
        level = np.repeat(dice.gamma(1.5, 1 / 1.5, days // 7 + 1), 7)[:days]
        return dice.poisson(weekly(dice, days, rate, 0.1) * level)

    return make


def every(days_between: int, jitter: int) -> Callable[[Dice, int], Counts]:
    """A timetable, a few days early or late."""

    def make(dice: Dice, days: int) -> Counts:
        counts = np.zeros(days, dtype=np.int64)
        planned = np.arange(dice.integers(days_between), days - jitter, days_between)
        counts[planned + dice.integers(0, jitter + 1, len(planned))] = 1
        return counts

    return make


def with_break(make: Callable[[Dice, int], Counts]) -> Callable[[Dice, int], Counts]:
    """One to two weeks off at each year's end."""

    def made(dice: Dice, days: int) -> Counts:
        counts = make(dice, days)
        for new_year in range(YEARS_END, days, 365):
            off = int(dice.integers(7, 15))
            first = new_year - int(dice.integers(0, 8))
            counts[first : first + off] = 0
        return counts

    return made


HABITS: Mapping[str, Habit] = {
    "20 a day": Habit(poisson(20), 3, 3),
    "20 a working day": Habit(poisson(20, 0.0), 5, 6),
    "20 a working day, uneven": Habit(negative_binomial(20, 0.1, 1.0), 12, 15),
    "20 a working day, break": Habit(with_break(poisson(20, 0.0)), 5, 6),
    "3 a day": Habit(poisson(3), 8, 10),
    "3 a working day": Habit(poisson(3, 0.0), 11, 14),
    "3 a working day, uneven": Habit(negative_binomial(3, 0.1, 1.0), 18, 24),
    "3 a working day, break": Habit(with_break(poisson(3, 0.0)), 12, 15),
    "busy and slow weeks": Habit(waves(4), 35, 50),
    "batches of 10, 2 a week": Habit(batches(0.4, 9, 0.0), 55, 70),
    "3 a week": Habit(poisson(0.6, 0.0), 35, 45),
    "every Thursday": Habit(every(7, 0), 40, 45),
    "2 a month": Habit(poisson(0.066), 190, 230),
    "every two weeks": Habit(every(14, 2), 115, 130),
}


DATES = np.array([BEGIN + timedelta(days=day) for day in range(WARM_DAYS + JUDGED_DAYS + DEAD_DAYS)], dtype=object)


class Desk:
    """Simulated agencies, one row of counts each, with common holidays, and what the lake would know of them."""

    def __init__(self, agencies: int, dice: Dice) -> None:
        self.days = WARM_DAYS + JUDGED_DAYS + DEAD_DAYS
        self.names = [f"{name}/{number}" for name in HABITS for number in range(agencies)]
        self.counts = np.array([HABITS[name.split("/")[0]].make(dice, self.days) for name in self.names])
        for year in range(0, self.days, 365):
            for day in HOLIDAYS:
                is_off = dice.random(len(self.names)) < 0.9
                if year + day < self.days:
                    self.counts[is_off, year + day] = 0

    def published(self, today: int, row: int) -> PublishingHistory:
        """Return what is known at the time of the check; half of today's entries are there."""
        counts = self.counts[row, : today + 1]
        busy = np.flatnonzero(counts)
        busy = busy[busy > (busy[-1] if len(busy) else 0) - HISTORY_DAYS]
        day_counts = dict(zip(DATES[busy].tolist(), counts[busy].tolist(), strict=True))
        return PublishingHistory(agency=self.names[row], timezone="UTC", day_counts=day_counts, seen_hours=SEEN_HOURS)

    def alarms(self, today: int) -> Iterator[str]:
        """Yield the names of the agencies that are reported on this day."""
        now = datetime.combine(BEGIN, datetime.min.time(), UTC) + timedelta(days=today) + CHECKED_AT
        known = [self.published(today, row) for row in range(len(self.names))]
        yield from (str(row[0]) for row in find_silences(known, now).rows)


def false_alarms(desk: Desk, agencies: int) -> dict[str, float]:
    """Return alarms per agency and year, by habit."""
    alarms: defaultdict[str, int] = defaultdict(int)
    before: set[str] = set()
    for today in range(WARM_DAYS, WARM_DAYS + JUDGED_DAYS):
        reported = set(desk.alarms(today))
        for name in reported - before:
            alarms[name.split("/")[0]] += 1
        before = reported
    return {name: alarms[name] * 365 / JUDGED_DAYS / agencies for name in HABITS}


def delays(desk: Desk, agencies: int, dice: Dice) -> dict[str, list[int]]:
    """Return the days from the last entry to the first report, by habit; one agency in four dies."""
    dead = [row for row in range(len(desk.names)) if row % agencies < max(agencies // 4, 1)]
    died = {}
    for row in dead:
        start = WARM_DAYS + JUDGED_DAYS + int(dice.integers(14))
        desk.counts[row, start:] = 0
        died[desk.names[row]] = start - 1
    found: dict[str, int] = {}
    for today in range(WARM_DAYS + JUDGED_DAYS, desk.days):
        for name in desk.alarms(today):
            if name in died and today > died[name]:
                found.setdefault(name, today - died[name])
        if len(found) == len(died):
            break
    by_habit: defaultdict[str, list[int]] = defaultdict(list)
    for name in died:
        by_habit[name.split("/")[0]].append(found.get(name, DEAD_DAYS))
    return by_habit


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--agencies", type=int, default=16, help="of each habit")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    started = time.perf_counter()
    dice = np.random.default_rng(options.seed)
    desk = Desk(options.agencies, dice)
    alarms = false_alarms(desk, options.agencies)
    took = time.perf_counter() - started
    found = delays(desk, options.agencies, dice)
    print(f"{'':28}{'alarms/year':>12}{'found after: median':>22}{'90 %':>6}{'at most':>12}   days")
    wrong = []
    for name, habit in HABITS.items():
        median, ninth = np.quantile(found[name], [0.5, 0.9])
        print(f"{name:28}{alarms[name]:12.3f}{median:22.1f}{ninth:6.1f}{habit.max_median:8}/{habit.max_ninth}")
        if alarms[name] > MAX_ALARMS or median > habit.max_median or ninth > habit.max_ninth:
            wrong.append(name)
    mean = sum(alarms.values()) / len(alarms)
    print(f"{'all':28}{mean:12.3f}   at most {MAX_MEAN_ALARMS}, of each habit {MAX_ALARMS}")
    print(f"{len(desk.names)} agencies: {took / JUDGED_DAYS * 1000:.0f} ms a check")
    for name in wrong:
        print(f"BEYOND FLOOR: {name}")
    return 1 if wrong or mean > MAX_MEAN_ALARMS else 0


if __name__ == "__main__":
    sys.exit(main())
