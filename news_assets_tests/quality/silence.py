"""False alarms and delays of the detection of silent agencies, on simulated desks.

    python -m news_assets_tests.quality.silence [--agencies N] [--seed N]

Agencies of every publishing habit publish for two years; the second year is evaluated
every day. Then a quarter of each stop. Exits 1 beyond a limit. A false alarm is one
reported silence that ended by itself.
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

from news_assets.pipeline.publishing_habits import PublishingHistory
from news_assets.pipeline.report_contents import HISTORY_DAYS
from news_assets.pipeline.source_health import find_silences

Counts = npt.NDArray[np.int64]
Rng = np.random.Generator

BEGIN = date(2024, 3, 4)  # must be a Monday
WARM_DAYS, EVALUATED_DAYS, SILENT_DAYS = 430, 365, 300
CHECKED_AT = timedelta(hours=17)
SEEN_HOURS = tuple(10 if 8 <= hour < 18 else 0 for hour in range(24))
MAX_ALARMS = 0.13  # per habit, agency and year: two in sixteen
MAX_MEAN_ALARMS = 0.02
# days of the year on which few publish
HOLIDAYS = (
    12,
    45,
    78,
    79,
    110,
    141,
    170,
    202,
    247,
    265,
    300,
    330,
)
YEARS_END = 302  # 31 December, counted from BEGIN


@dataclass(frozen=True)
class Habit:
    """A publishing habit, and the limits of the median and 90 % quantile of the days
    until a silence is reported.
    """

    make: Callable[[Rng, int], Counts]
    max_median: float
    max_q90: float


def weekly(rng: Rng, days: int, rate: float, weekend: float) -> npt.NDArray[np.float64]:
    """Return the expected entries per day: `rate` on working days, a share of it at
    weekends.
    """
    profile = np.array([rate] * 5 + [rate * weekend] * 2)
    return np.resize(profile, days)


def poisson(rate: float, weekend: float = 1.0) -> Callable[[Rng, int], Counts]:
    return lambda rng, days: rng.poisson(weekly(rng, days, rate, weekend))


def negative_binomial(
    rate: float, weekend: float, shape: float
) -> Callable[[Rng, int], Counts]:
    """Return a habit whose daily rate is itself random."""

    def make(rng: Rng, days: int) -> Counts:
        return rng.poisson(
            weekly(rng, days, rate, weekend) * rng.gamma(shape, 1 / shape, days)
        )

    return make


def batches(
    per_day: float, size: float, weekend: float
) -> Callable[[Rng, int], Counts]:
    """Return a habit of entries in batches of about `size`."""

    def make(rng: Rng, days: int) -> Counts:
        count = rng.poisson(weekly(rng, days, per_day, weekend))
        return np.where(count > 0, rng.poisson(size * np.maximum(count, 1)) + 1, 0)

    return make


def waves(rate: float) -> Callable[[Rng, int], Counts]:
    """Return a habit of busy and slow weeks, like those of a parliament in and out of
    session.
    """

    def make(rng: Rng, days: int) -> Counts:
        level = np.repeat(rng.gamma(1.5, 1 / 1.5, days // 7 + 1), 7)[:days]
        return rng.poisson(weekly(rng, days, rate, 0.1) * level)

    return make


def every(days_between: int, jitter: int) -> Callable[[Rng, int], Counts]:
    """Return a habit of one entry every so many days, up to `jitter` days late."""

    def make(rng: Rng, days: int) -> Counts:
        counts = np.zeros(days, dtype=np.int64)
        planned = np.arange(rng.integers(days_between), days - jitter, days_between)
        counts[planned + rng.integers(0, jitter + 1, len(planned))] = 1
        return counts

    return make


def with_year_end_break(
    make: Callable[[Rng, int], Counts],
) -> Callable[[Rng, int], Counts]:
    """Return the habit with a pause of one to two weeks at each year's end."""

    def made(rng: Rng, days: int) -> Counts:
        counts = make(rng, days)
        for new_year in range(YEARS_END, days, 365):
            off = int(rng.integers(7, 15))
            first = new_year - int(rng.integers(0, 8))
            counts[first : first + off] = 0
        return counts

    return made


HABITS: Mapping[str, Habit] = {
    "20 a day": Habit(poisson(20), 3, 3),
    "20 a working day": Habit(poisson(20, 0.0), 5, 6),
    "20 a working day, uneven": Habit(negative_binomial(20, 0.1, 1.0), 12, 15),
    "20 a working day, break": Habit(with_year_end_break(poisson(20, 0.0)), 5, 6),
    "3 a day": Habit(poisson(3), 8, 10),
    "3 a working day": Habit(poisson(3, 0.0), 11, 14),
    "3 a working day, uneven": Habit(negative_binomial(3, 0.1, 1.0), 18, 24),
    "3 a working day, break": Habit(with_year_end_break(poisson(3, 0.0)), 12, 15),
    "busy and slow weeks": Habit(waves(4), 35, 50),
    "batches of 10, 2 a week": Habit(batches(0.4, 9, 0.0), 55, 70),
    "3 a week": Habit(poisson(0.6, 0.0), 35, 45),
    "every Thursday": Habit(every(7, 0), 40, 45),
    "2 a month": Habit(poisson(0.066), 190, 230),
    "every two weeks": Habit(every(14, 2), 115, 130),
}


DATES = np.array(
    [
        BEGIN + timedelta(days=day)
        for day in range(WARM_DAYS + EVALUATED_DAYS + SILENT_DAYS)
    ],
    dtype=object,
)


class Desk:
    """Simulated agencies, one row of counts each, with common holidays, and what the
    lake would know of them.
    """

    def __init__(self, agencies: int, rng: Rng) -> None:
        self.days = WARM_DAYS + EVALUATED_DAYS + SILENT_DAYS
        self.names = [
            f"{name}/{number}" for name in HABITS for number in range(agencies)
        ]
        self.counts = np.array(
            [HABITS[name.split("/")[0]].make(rng, self.days) for name in self.names]
        )
        for year in range(0, self.days, 365):
            for day in HOLIDAYS:
                is_off = rng.random(len(self.names)) < 0.9
                if year + day < self.days:
                    self.counts[is_off, year + day] = 0

    def published(self, today: int, row: int) -> PublishingHistory:
        """Return what is known at the time of the check; half of today's entries are
        there.
        """
        counts = self.counts[row, : today + 1]
        busy = np.flatnonzero(counts)
        busy = busy[busy > (busy[-1] if len(busy) else 0) - HISTORY_DAYS]
        day_counts = dict(zip(DATES[busy].tolist(), counts[busy].tolist(), strict=True))
        return PublishingHistory(
            agency=self.names[row],
            timezone="UTC",
            day_counts=day_counts,
            seen_hours=SEEN_HOURS,
        )

    def alarms(self, today: int) -> Iterator[str]:
        """Yield the names of the agencies that are reported on this day."""
        now = (
            datetime.combine(BEGIN, datetime.min.time(), UTC)
            + timedelta(days=today)
            + CHECKED_AT
        )
        known = [self.published(today, row) for row in range(len(self.names))]
        yield from (str(row[0]) for row in find_silences(known, now).rows)


def false_alarms(desk: Desk, agencies: int) -> dict[str, float]:
    """Return false alarms per agency and year, by habit."""
    alarms: defaultdict[str, int] = defaultdict(int)
    before: set[str] = set()
    for today in range(WARM_DAYS, WARM_DAYS + EVALUATED_DAYS):
        reported = set(desk.alarms(today))
        for name in reported - before:
            alarms[name.split("/")[0]] += 1
        before = reported
    return {name: alarms[name] * 365 / EVALUATED_DAYS / agencies for name in HABITS}


def delays(desk: Desk, agencies: int, rng: Rng) -> dict[str, list[int]]:
    """Return the days from the last entry to the first report, by habit; one agency in
    four stops publishing.
    """
    silent_rows = [
        row for row in range(len(desk.names)) if row % agencies < max(agencies // 4, 1)
    ]
    stopped = {}
    for row in silent_rows:
        start = WARM_DAYS + EVALUATED_DAYS + int(rng.integers(14))
        desk.counts[row, start:] = 0
        stopped[desk.names[row]] = start - 1
    found: dict[str, int] = {}
    for today in range(WARM_DAYS + EVALUATED_DAYS, desk.days):
        for name in desk.alarms(today):
            if name in stopped and today > stopped[name]:
                found.setdefault(name, today - stopped[name])
        if len(found) == len(stopped):
            break
    by_habit: defaultdict[str, list[int]] = defaultdict(list)
    for name in stopped:
        by_habit[name.split("/")[0]].append(found.get(name, SILENT_DAYS))
    return by_habit


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--agencies", type=int, default=16, help="agencies of each habit"
    )
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    started = time.perf_counter()
    rng = np.random.default_rng(options.seed)
    desk = Desk(options.agencies, rng)
    alarms = false_alarms(desk, options.agencies)
    took = time.perf_counter() - started
    found = delays(desk, options.agencies, rng)
    print(
        f"{'':28}{'alarms/year':>12}{'found after: median':>22}{'90 %':>6}{'at most':>12}   days"
    )
    beyond = []
    for name, habit in HABITS.items():
        median, q90 = np.quantile(found[name], [0.5, 0.9])
        print(
            f"{name:28}{alarms[name]:12.3f}{median:22.1f}{q90:6.1f}{habit.max_median:8}/{habit.max_q90}"
        )
        if (
            alarms[name] > MAX_ALARMS
            or median > habit.max_median
            or q90 > habit.max_q90
        ):
            beyond.append(name)
    mean = sum(alarms.values()) / len(alarms)
    print(
        f"{'all':28}{mean:12.3f}   at most {MAX_MEAN_ALARMS}, of each habit {MAX_ALARMS}"
    )
    print(
        f"{len(desk.names)} agencies: {took / EVALUATED_DAYS * 1000:.0f} ms per check"
    )
    for name in beyond:
        print(f"BEYOND LIMIT: {name}")
    return 1 if beyond or mean > MAX_MEAN_ALARMS else 0


if __name__ == "__main__":
    sys.exit(main())
