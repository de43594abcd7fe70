"""Histories of publication for comparing polling policies: made ones of several kinds,
and those of real feeds.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from math import exp, log
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
HOUR_S, DAY_S = 3600.0, 86_400.0
MONDAY_S = 4 * DAY_S  # Monday, 5 January 1970, 00:00 UTC
KINDS = {  # entries a day: least and most, drawn evenly over their logarithms
    "office": (0.5, 15.0),
    "bursts": (0.5, 15.0),
    "timetable": (0.5, 10.0),
    "newsroom": (8.0, 100.0),
    "no habit": (0.5, 60.0),
}
MIN_REAL_ENTRIES, MIN_REAL_DAYS, MAX_REAL_DAYS = 8, 1.0, 120.0
MAX_DATES = 0.1  # of the times; a feed with more states dates only

_MORNING, _EVENING, _STEEP = (6.5, 10.0), (16.0, 21.0), (1.0, 4.0)


@dataclass(frozen=True, slots=True)
class History:
    """The times of publication of one source, in seconds since 1970, ascending.

    Those before `replayed_from_s` are known from the first poll, which lists them.
    """

    kind: str
    times_s: Floats
    replayed_from_s: float
    until_s: float
    timezone: str = "UTC"


def made_histories(seed: int, of_each: int, weeks: int) -> list[History]:
    """Return histories of every kind; the first poll is after the first week, and lists
    up to 20 entries.
    """
    rng = np.random.default_rng(seed)
    start, until = MONDAY_S + 7 * DAY_S, MONDAY_S + weeks * 7 * DAY_S
    histories = []
    for kind, (least, most) in KINDS.items():
        for _ in range(of_each):
            per_day = exp(rng.uniform(log(least), log(most)))
            times = MONDAY_S + (_timetable if kind == "timetable" else _random)(
                rng, kind, per_day, weeks
            )
            known = int(np.searchsorted(times, start))
            histories.append(History(kind, times[max(known - 20, 0) :], start, until))
    return histories


def _timetable(
    rng: np.random.Generator, kind: str, per_day: float, weeks: int
) -> Floats:
    """Return entries of a weekly timetable: each is published in four of five weeks,
    give or take ten minutes.
    """
    hours = [
        day * 24 + rng.uniform(6, 20)
        for day in range(7)
        for _ in range(rng.poisson(per_day * (day < 5) + 0.2))
    ]
    slots = (np.arange(weeks)[:, None] * 168 + np.array(hours)).ravel() * HOUR_S
    return np.sort(
        (slots + rng.normal(0, 600, len(slots)))[rng.random(len(slots)) < 0.8]
    )


def _random(rng: np.random.Generator, kind: str, per_day: float, weeks: int) -> Floats:
    """Return entries drawn from a habit that may change once, on days that differ, in
    bursts of one to four.
    """
    habit = _habit(rng, kind)
    later, changes_on = (
        (_habit(rng, kind) if rng.random() < 0.15 else habit),
        rng.integers(7, 7 * weeks),
    )
    burst = (
        rng.uniform(1, 4)
        if kind == "bursts"
        else 1.0
        if kind == "no habit"
        else rng.uniform(1, 1.5)
    )
    spread, gap_s = rng.uniform(0, 0.6), rng.uniform(60, 1800)
    times: list[float] = []
    for day in range(7 * weeks):
        level = (
            1.0
            if kind == "no habit"
            else float(rng.lognormal(-(spread**2) / 2, spread))
        )
        if kind != "no habit" and rng.random() < 0.03:
            level *= 0.08  # a holiday
        rates = (habit if day < changes_on else later)[day % 7] * (
            per_day / 24 * level / burst
        )
        for hour, count in enumerate(rng.poisson(rates)):
            for at in (day * 24 + hour + rng.random(count)) * HOUR_S:
                gaps = rng.exponential(gap_s, rng.geometric(1 / burst) - 1)
                times += [at, *(at + np.cumsum(gaps))]
    return np.sort(np.array(times))


def _habit(rng: np.random.Generator, kind: str) -> Floats:
    """Return a habit as factors by weekday and hour, 1 on average."""
    if kind == "no habit":
        return np.ones((7, 24))
    hour = np.arange(24) + 0.5
    if kind == "newsroom":
        day = rng.uniform(0.05, 0.4) + np.exp(
            -(((hour - rng.uniform(9, 16)) / rng.uniform(3, 6)) ** 2) / 2
        )
        weekdays = np.concatenate([rng.uniform(0.8, 1.2, 5), rng.uniform(0.3, 1, 2)])
    else:
        day = 1 / (1 + np.exp(-(hour - rng.uniform(*_MORNING)) * rng.uniform(*_STEEP)))
        day /= 1 + np.exp((hour - rng.uniform(*_EVENING)) * rng.uniform(*_STEEP))
        for _ in range(rng.integers(0, 3)):
            day *= 1 + rng.uniform(0, 2) * np.exp(
                -(((hour - rng.uniform(8, 19)) / rng.uniform(0.5, 2)) ** 2) / 2
            )
        day += rng.uniform(0, 0.03)
        weekdays = np.concatenate([rng.uniform(0.6, 1.4, 5), rng.uniform(0, 0.3, 2)])
    habit: Floats = np.outer(weekdays, day)
    return habit / habit.mean()


def real_histories(corpus: Path) -> Iterator[History]:
    """Yield the histories of real feeds whose entries have times of day, over their
    last MAX_REAL_DAYS.

    The oldest third of the entries is what the first poll lists.
    """
    found: set[bytes] = set()  # some feeds are in the corpus several times
    for folder, timezone in (
        ("feeds_brazil", "America/Sao_Paulo"),
        ("feeds_real", "UTC"),
    ):
        for line in (
            (corpus / folder / "dev" / "reference.jsonl").read_text().splitlines()
        ):
            feed = json.loads(line)
            entries = feed.get("items") or feed.get("entries") or []
            stated = {
                entry["published"]
                for entry in entries
                if (entry.get("published") or "").startswith(("19", "20"))
            }
            times = np.array(
                sorted(datetime.fromisoformat(one).timestamp() for one in stated)
            )
            times = times[times > times.max(initial=0) - MAX_REAL_DAYS * DAY_S]
            if (
                len(times) < MIN_REAL_ENTRIES
                or np.ptp(times) < MIN_REAL_DAYS * DAY_S
                or times.tobytes() in found
            ):
                continue
            if (times % DAY_S == 0).mean() > MAX_DATES:
                continue
            found.add(times.tobytes())
            yield History(
                folder,
                times,
                float(times[len(times) // 3]),
                float(times[-1]) + DAY_S,
                timezone,
            )
