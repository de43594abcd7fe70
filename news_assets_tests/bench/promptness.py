"""Delay from publication to listing, and requests, of polling policies: replays
histories of publication.

    python -m news_assets_tests.bench.promptness [--sources 5] [--weeks 12] [--seed 1]

Compares a fixed interval of 15 minutes, a third of these requests (45 minutes), the
multiplicative rule that was used before, polling at equal chances of news, and the rule
of `pipeline/schedule.py`: at its default price of a request, and at the prices for
which it needs as many requests as the fixed intervals. A policy sees only what its
polls have listed.

The made histories are of five kinds, drawn broadly by a seeded generator; those without
a habit are random, and no policy can do better there than polls at even distances. The
first four weeks are shown apart. The real ones are feeds of ../shared/corpus, from a
first poll on. Exits 1 if a target for the made histories is missed.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from news_assets.pipeline.publishing_habits import PublishingRates, learn_rates
from news_assets.pipeline.schedule import (
    MAX_INTERVAL_S,
    MIN_INTERVAL_S,
    REQUEST_PRICE_MINUTES,
    learnt_interval,
)
from news_assets.records.desks import Source
from news_assets_tests.support.publication_histories import (
    DAY_S,
    KINDS,
    Floats,
    History,
    made_histories,
    real_histories,
)

CORPUS = Path(__file__).parents[2] / "../shared/corpus"
WARM_UP_DAYS = 28
# requests a day: median and p90 of the delay, in minutes
TARGETS = {
    96: (3.75, 10.0),
    32: (7.5, 20.0),
}
LISTED = 20  # entries of a document
# rates change little within hours, and learning takes longer than deciding
LEARN_EVERY_S = 6 * 3600.0

_CALIBRATIONS = 4


@dataclass(slots=True)
class Seen:
    """What the polls of a source have found out: the entries listed so far, and which
    of them are new.
    """

    published_s: Floats
    first_seen_s: Floats
    now_s: float
    new_count: int


Policy = Callable[[Seen], float]  # returns the interval in seconds
NewPolicy = Callable[[History], Policy]


def clamped(seconds: float) -> float:
    return min(max(seconds, MIN_INTERVAL_S), MAX_INTERVAL_S)


def fixed(minutes: float) -> NewPolicy:
    return lambda history: lambda seen: minutes * 60


@dataclass(slots=True)
class Multiplicative:
    """The former rule: a quarter longer after a document of known entries, half after
    one of new ones.
    """

    interval_s: float = 1800.0
    last_new_s: float | None = None

    def __call__(self, seen: Seen) -> float:
        new = seen.new_count
        known_ratio = max(LISTED - new, 0) / LISTED
        quiet_s = seen.now_s - self.last_new_s if self.last_new_s is not None else None
        if new:
            self.last_new_s = seen.now_s
        longer_s = self.interval_s * 1.25
        if new and quiet_s is not None:
            longer_s = min(longer_s, quiet_s / new)
        factor_s = (
            self.interval_s * 0.5
            if known_ratio < 0.33
            else self.interval_s
            if known_ratio <= 0.67
            else longer_s
        )
        self.interval_s = clamped(factor_s)
        return self.interval_s


@dataclass(slots=True)
class Learnt:
    """A rule over the rates that are learnt from the entries seen so far."""

    source: Source
    rule: Callable[[Source, PublishingRates, datetime], float]
    rates: PublishingRates | None = None
    learnt_s: float = field(default=-np.inf)

    def __call__(self, seen: Seen) -> float:
        now = datetime.fromtimestamp(seen.now_s, UTC)
        if self.rates is None or seen.now_s - self.learnt_s >= LEARN_EVERY_S:
            since = np.searchsorted(seen.first_seen_s, seen.now_s - 9 * 7 * DAY_S)
            entries = seen.published_s[since:], seen.first_seen_s[since:]
            self.rates, self.learnt_s = (
                learn_rates(*entries, self.source.timezone, now),
                seen.now_s,
            )
        return self.rule(self.source, self.rates, now)


def learnt(price_minutes: float) -> NewPolicy:
    return lambda history: Learnt(
        source_of(history),
        lambda source, rates, now: learnt_interval(source, rates, now, price_minutes),
    )


def equal_chances(entries: float) -> NewPolicy:
    """Return the policy that polls when this many entries are expected to wait."""

    def interval(source: Source, rates: PublishingRates, now: datetime) -> float:
        passed = expected = 0.0
        for hours, rate in rates.from_time(now):
            if expected + rate * hours >= entries or passed >= 24:
                return clamped(3600 * (passed + (entries - expected) / rate))
            passed, expected = passed + hours, expected + rate * hours
        raise AssertionError

    return lambda history: Learnt(source_of(history), interval)


def source_of(history: History) -> Source:
    return Source(
        source_id="s",
        desk="d",
        agency="a",
        kind="feed",
        url="u",
        timezone=history.timezone,
        language="pt",
    )


# --- replay ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Replay:
    """The times of the polls of one source, and of each entry after the first:
    published and first listed.
    """

    history: History
    polls_s: Floats
    published_s: Floats
    listed_s: Floats

    def delays(self, from_s: float, until_s: float) -> Floats:
        """Return the delays, in minutes, of the entries published in this time."""
        chosen = (self.published_s >= from_s) & (self.published_s < until_s)
        return (self.listed_s - self.published_s)[chosen] / 60

    def requests_a_day(self, from_s: float, until_s: float) -> float:
        return float(
            ((self.polls_s >= from_s) & (self.polls_s < until_s)).sum()
            / (until_s - from_s)
            * DAY_S
        )


def replay(history: History, new_policy: NewPolicy) -> Replay:
    policy, times = new_policy(history), history.times_s
    now_s = history.replayed_from_s
    known = int(np.searchsorted(times, now_s, "right"))
    first_seen = np.full(len(times), now_s)
    first, polls, new_count = known, [], known
    while True:
        now_s += policy(Seen(times[:known], first_seen[:known], now_s, new_count))
        if now_s >= history.until_s and known == len(times):
            return Replay(history, np.array(polls), times[first:], first_seen[first:])
        polls.append(now_s)
        before, known = known, int(np.searchsorted(times, now_s, "right"))
        first_seen[before:known] = now_s
        new_count = known - before


@dataclass(frozen=True, slots=True)
class Result:
    """Delays in minutes, and requests a day, of several sources together."""

    median: float
    p90: float
    mean: float
    requests: float

    def __str__(self) -> str:
        return (
            f"{self.median:7.1f} {self.p90:7.1f} {self.mean:7.1f} {self.requests:9.1f}"
        )


def result_of(replays: Iterable[Replay], is_warm: bool | None = None) -> Result:
    """Return the result over all entries, those of the first weeks (False) or those
    after (True).
    """
    delays, requests = [], []
    for one in replays:
        start, until = one.history.replayed_from_s, one.history.until_s
        warm = start + WARM_UP_DAYS * DAY_S
        window = (
            (start, until)
            if is_warm is None
            else (warm, until)
            if is_warm
            else (start, warm)
        )
        delays.append(one.delays(*window))
        requests.append(one.requests_a_day(*window))
    pooled = np.concatenate(delays)
    return Result(
        *np.quantile(pooled, (0.5, 0.9)), pooled.mean(), float(np.mean(requests))
    )


def calibrated(
    histories: Sequence[History],
    family: Callable[[float], NewPolicy],
    value: float,
    requests: float,
    power: float,
    phase: bool | None = True,
) -> float:
    """Return the value for which a policy needs at most so many requests a day in this
    phase.

    Requests go with `value` to the power of `-1 / power`, roughly.
    """
    best = float("inf")
    for step in range(_CALIBRATIONS):
        needed = result_of(
            [replay(one, family(value)) for one in histories], phase
        ).requests
        if needed <= requests:
            best = min(best, value)
        value *= (needed / (requests * (1 - 0.003 * step))) ** power
    return best if best < float("inf") else value


# --- output ---------------------------------------------------------------------------


def show(
    title: str,
    histories: Sequence[History],
    policies: dict[str, NewPolicy],
    phases: Sequence[bool | None],
) -> None:
    names = {None: "all", False: "first 4 weeks", True: "after"}
    print(
        f"\n{title}\n{'policy':44} {'phase':14} median     p90    mean  requests",
        flush=True,
    )
    for name, policy in policies.items():
        replays = [replay(one, policy) for one in histories]
        for phase in phases:
            print(f"{name:44} {names[phase]:14}{result_of(replays, phase)}", flush=True)


def at_own_price(
    histories: Sequence[History], prices: dict[int, float], phase: bool | None
) -> dict[str, NewPolicy]:
    """Return the rule at the prices for which these sources alone need as many requests
    as the fixed intervals.
    """
    own = (
        calibrated(histories, learnt, price, requests, 2.0, phase)
        for requests, price in prices.items()
    )
    return {
        f"learnt, {price:.2f} minutes a request (own price)": learnt(price)
        for price in own
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sources", type=int, default=5, help="made sources of each kind"
    )
    parser.add_argument("--weeks", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    histories = made_histories(options.seed, options.sources, options.weeks)
    prices = {
        requests: calibrated(histories, learnt, 20 / requests, requests, 2.0)
        for requests in TARGETS
    }
    chances = {
        requests: calibrated(histories, equal_chances, 4 / requests, requests, 1.2)
        for requests in TARGETS
    }
    policies = {
        "fixed, 15 minutes": fixed(15),
        "fixed, 45 minutes": fixed(45),
        "multiplicative (before)": lambda history: Multiplicative(),
        f"learnt, {REQUEST_PRICE_MINUTES:.2f} minutes a request (default)": learnt(
            REQUEST_PRICE_MINUTES
        ),
    }
    for requests, price in prices.items():
        policies[f"learnt, {price:.2f} minutes a request"] = learnt(price)
        policies[f"equal chances, {chances[requests]:.2f} entries"] = equal_chances(
            chances[requests]
        )
    entries = sum(len(one.times_s) for one in histories)
    show(
        f"{len(histories)} made sources, {entries} entries",
        histories,
        policies,
        (False, True),
    )
    for kind in KINDS:
        of_kind = [one for one in histories if one.kind == kind]
        show(
            f"of these: {kind}",
            of_kind,
            policies | at_own_price(of_kind, prices, True),
            (True,),
        )
    if CORPUS.is_dir():
        real = list(real_histories(CORPUS))
        for folder in sorted({one.kind for one in real}):
            of_folder = [one for one in real if one.kind == folder]
            at_own = at_own_price(of_folder, prices, None)
            show(
                f"{len(of_folder)} real feeds of {folder}",
                of_folder,
                policies | at_own,
                (None,),
            )
    is_reached = True
    for requests, (median, p90) in TARGETS.items():
        found = result_of(
            [replay(one, learnt(prices[requests])) for one in histories], is_warm=True
        )
        is_reached &= (
            found.median <= median and found.p90 <= p90 and found.requests <= requests
        )
        print(
            f"\n{requests} requests a day: median {found.median:.1f} (target {median}), p90 {found.p90:.1f} ({p90})"
        )
    sys.exit(not is_reached)


if __name__ == "__main__":
    main()
