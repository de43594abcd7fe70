"""Plans runs for the agency-days in the backlog. Pure.

An agency-day is planned at once when its state is new. If a run ended in the same
state, it is planned again after pauses that double, in smaller and smaller ranges, so
that one bad page does not hold up its neighbours. After the last of its `Retries` it is
given up. Agency-days of active runs are not planned.

A run covers a rectangle of the grid. It may take in current agency-days where that
saves a run: they change nothing and take little time.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from news_assets.pipeline.failures import failure_of_work
from news_assets.records.derived import Failure
from news_assets.records.desks import Desk
from news_assets.retry_table import CIVIC_RUN, RUN, RetryRule

if TYPE_CHECKING:
    import polars as pl


# --- rectangles of agencies by days, which one run can cover --------------------------


class AgencyDay(NamedTuple):
    """One partition."""

    agency: str
    day: date


class Rectangle(NamedTuple):
    """Agencies by their position in the grid, and days; both ends are included."""

    first: int
    last: int
    first_day: date
    last_day: date

    @property
    def size(self) -> int:
        """Number of agency-days."""
        days = (self.last_day - self.first_day).days + 1
        return days * (self.last - self.first + 1)

    @property
    def days(self) -> list[date]:
        """The days, oldest first."""
        count = (self.last_day - self.first_day).days + 1
        return [self.first_day + timedelta(n) for n in range(count)]

    def joined(self, other: "Rectangle") -> "Rectangle":
        """Return the smallest rectangle that covers both."""
        return Rectangle(
            min(self.first, other.first),
            max(self.last, other.last),
            min(self.first_day, other.first_day),
            max(self.last_day, other.last_day),
        )


_Work = dict[date, dict[int, int]]  # rows, by day and position of the agency


@dataclass(frozen=True, slots=True)
class Limits:
    """How large rectangles become.

    Attributes:
        partitions: The most agency-days of one.
        rows: The most rows of work of one with more than one agency-day.
        spare: The most agency-days without work that joining two may take in.
    """

    partitions: int
    rows: int
    spare: int


def rectangles(
    days: Iterable[AgencyDay],
    rows_of: Mapping[AgencyDay, int],
    agencies: Sequence[str],
    limits: Limits,
) -> list[Rectangle]:
    """Return rectangles that cover these agency-days, newest days first.

    `rows_of` has the rows of work of every agency-day that has some, also of those that
    are not to be covered.
    """
    position = {agency: number for number, agency in enumerate(agencies)}
    work: _Work = {}
    for (agency, day), rows in rows_of.items():
        work.setdefault(day, {})[position[agency]] = rows
    by_day: dict[date, set[int]] = {}
    for agency, day in days:
        by_day.setdefault(day, set()).add(position[agency])
    found: list[Rectangle] = []
    for day in sorted(by_day, reverse=True):
        for part in _parts_of(sorted(by_day[day]), day, work, limits):
            _add(found, part, work, limits)
    return found


def _parts_of(
    positions: Sequence[int], day: date, work: _Work, limits: Limits
) -> Iterator[Rectangle]:
    """Yield rectangles of one day that cover these positions."""
    of_day = work.get(day, {})
    first = last = positions[0]
    rows = of_day.get(first, 0)
    for position in positions[1:]:
        more = sum(of_day.get(one, 0) for one in range(last + 1, position + 1))
        is_far = position - last - 1 > limits.spare
        is_wide = position - first >= limits.partitions
        if is_far or is_wide or rows + more > limits.rows:
            yield Rectangle(first, last, day, day)
            first, rows = position, of_day.get(position, 0)
        else:
            rows += more
        last = position
    yield Rectangle(first, last, day, day)


def _add(found: list[Rectangle], part: Rectangle, work: _Work, limits: Limits) -> None:
    """Join the part to the rectangle that grows least by it, or append it."""
    best, least = None, limits.spare + 1
    for number, rectangle in enumerate(found):
        joined = rectangle.joined(part)
        more = joined.size - rectangle.size - part.size
        if joined.size > limits.partitions or more >= least:
            continue
        if _rows_in(joined, work) <= limits.rows:
            best, least = number, more
    if best is None:
        found.append(part)
    else:
        found[best] = found[best].joined(part)


def _rows_in(rectangle: Rectangle, work: _Work) -> int:
    positions = range(rectangle.first, rectangle.last + 1)
    rows = 0
    for day in rectangle.days:
        of_day = work.get(day, {})
        rows += sum(of_day.get(position, 0) for position in positions)
    return rows


MAX_PARTITIONS = 500  # of one run
# of work of one run: about a minute where articles are to be fetched, since what is
# published meanwhile waits until a run has ended
MAX_ROWS = 100
# of a desk, queued or in progress; those of the newest day are planned beyond it
MAX_ACTIVE_RUNS = 20
_RANKED_DAYS = 150  # from today; those beyond are alike
# in priorities: more than all attempts at a run, so that a retry comes after the first
# attempts of its own day, and before those of the day before
_DAY = 20
_RUN_COST = 120  # starting a run takes as long as this many current partitions

# days: agency-days of different ages are not joined, so that recent ones do not
# wait for old ones
_AGES = (1, 7, 31)


@dataclass(frozen=True, slots=True)
class BacklogDay:
    """One agency-day with work.

    Attributes:
        key: The agency-day.
        stage: The first stage that has some.
        state: A hash of the state that the work is in.
        rows: How many rows are to be brought up to date.
    """

    key: AgencyDay
    stage: str
    state: str
    rows: int


@dataclass(frozen=True, slots=True)
class ActiveRun:
    """A run that is queued or in progress: its stages, and the rectangle it covers."""

    stages: frozenset[str]
    agencies: frozenset[str]
    first_day: date
    last_day: date

    def covers(self, one: BacklogDay) -> bool:
        """Return whether the run does this work."""
        if one.stage not in self.stages:
            return False
        if one.key.agency not in self.agencies:
            return False
        return self.first_day <= one.key.day <= self.last_day


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run over a rectangle: its stages, the number of the attempt, and the work it is
    planned for.
    """

    stages: tuple[str, ...]
    first: AgencyDay
    last: AgencyDay
    attempt: int
    work: tuple[BacklogDay, ...]

    @property
    def key(self) -> str:
        """Return a hash of the attempt and the states, which is equal for two plans of
        the same run.
        """
        states = sorted((*one.key, one.stage, one.state) for one in self.work)
        return _digest([self.attempt, *states])

    def priority(self, today: date) -> int:
        """Return Dagster's priority: 0, as that of checks, for today's first attempt;
        less for other days and for later attempts.
        """
        most = priority_of(today, today)
        return priority_of(self.last.day, today, self.attempt) - most


def priority_of(day: date, today: date, attempt: int = 1) -> int:
    """Return the priority of a day's work: 3000 for today, 20 less for each day before
    or after, and one less for each attempt that failed.
    """
    distance = min(abs((day - today).days), _RANKED_DAYS)
    return _DAY * (_RANKED_DAYS - distance) - (attempt - 1)


def retries_of(desk: Desk) -> RetryRule:
    """Return the retries of a desk: of a civic one few and far between."""
    return CIVIC_RUN if desk.is_civic else RUN


@dataclass(frozen=True, slots=True)
class LastRun:
    """The last run that was planned for an agency-day.

    Attributes:
        attempt: Its number among the runs for this state, from 1.
        next_at: When the next one may follow, in seconds since the epoch.
        state: The state of the work.
    """

    attempt: int
    next_at: float
    state: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs to start now, the work that is given up, and the last run of each
    agency-day, for the next plan.
    """

    runs: tuple[PlannedRun, ...]
    given_up: tuple[BacklogDay, ...] = ()
    last_runs: Mapping[AgencyDay, LastRun] = field(default_factory=dict)


def backlog_days(backlog: "pl.DataFrame", stages: Sequence[str]) -> list[BacklogDay]:
    """Return the agency-days of a backlog (columns of `store/queries/backlog.py`);
    `stages` are in their order.
    """
    rows: dict[AgencyDay, list[tuple[str, str, str]]] = {}
    columns = ("agency", "day", "stage", "article_id", "version")
    for agency, day, *work in backlog.select(columns).iter_rows():
        stage, article_id, version = work
        of_day = rows.setdefault(AgencyDay(agency, day), [])
        of_day.append((stage, article_id, version))
    days: list[BacklogDay] = []
    for key, found in rows.items():
        first = min((stage for stage, _, _ in found), key=stages.index)
        days.append(BacklogDay(key, first, _digest(sorted(found)), len(found)))
    return days


def plan_runs(
    backlog: Sequence[BacklogDay],
    active: Sequence[ActiveRun],
    last_runs: Mapping[AgencyDay, LastRun],
    agencies: Sequence[str],
    stages: Sequence[str],
    today: date,
    now_s: float,
    first_day: date = date.min,
    retries: RetryRule = RUN,
) -> Plan:
    """Return the runs to start now.

    Args:
        backlog: Every agency-day from `first_day` on that has work.
        active: The desk's runs that are queued or in progress.
        last_runs: Those that the last plan returned.
        agencies: The agencies of the grid, in its order.
        stages: The stages, in their order; a run takes its first stage and all after
            it.
        today: The newest day; older ones come after it.
        now_s: Seconds since the epoch.
        first_day: Start of the scanned window; last runs of earlier days are kept.
        retries: Those of the desk.
    """
    open_days = [one for one in backlog if not _is_covered(one, active)]
    due: list[BacklogDay] = []
    given_up: list[BacklogDay] = []
    for one in open_days:
        count = _attempts_made(one, last_runs)
        if retries.pause_s(count) is None:
            given_up.append(one)
        elif count == 0 or last_runs[one.key].next_at <= now_s:
            due.append(one)
    runs: list[PlannedRun] = []
    room = MAX_ACTIVE_RUNS - len(active)
    rows_of = {one.key: one.rows for one in backlog}
    nearest = _nearest(due, today)
    for run in _runs(nearest, rows_of, last_runs, agencies, stages, today):
        if len(runs) < room or run.first.day <= today <= run.last.day:
            runs.append(run)
    waiting = {one.key for one in backlog} - {one.key for one in given_up}
    remembered = {
        key: last_run
        for key, last_run in last_runs.items()
        if key in waiting or key.day < first_day
    }
    remembered |= _planned(runs, now_s, retries)
    return Plan(tuple(runs), tuple(given_up), remembered)


def _nearest(due: Sequence[BacklogDay], today: date) -> list[BacklogDay]:
    """Return the agency-days nearest to today, with as many rows as the most active
    runs take: those of years would take seconds to plan.
    """
    found: list[BacklogDay] = []
    rows = 0
    for one in sorted(due, key=lambda one: abs((one.key.day - today).days)):
        if rows >= MAX_ACTIVE_RUNS * MAX_ROWS:
            break
        found.append(one)
        rows += one.rows
    return found


def _is_covered(one: BacklogDay, active: Iterable[ActiveRun]) -> bool:
    return any(run.covers(one) for run in active)


def _planned(
    runs: Iterable[PlannedRun], now_s: float, retries: RetryRule
) -> dict[AgencyDay, LastRun]:
    """Return these runs by the agency-days that they are planned for."""
    planned: dict[AgencyDay, LastRun] = {}
    for run in runs:
        # none after the last attempt: what it leaves is given up at once
        pause_s = retries.pause_s(run.attempt) or 0.0
        for one in run.work:
            planned[one.key] = LastRun(run.attempt, now_s + pause_s, one.state)
    return planned


def _attempts_made(one: BacklogDay, last_runs: Mapping[AgencyDay, LastRun]) -> int:
    """Return how many runs were planned for this work in its present state."""
    last = last_runs.get(one.key)
    if last is None:
        return 0
    if last.state != one.state:
        return 0
    return last.attempt


def _runs(
    due: Sequence[BacklogDay],
    rows_of: Mapping[AgencyDay, int],
    last_runs: Mapping[AgencyDay, LastRun],
    agencies: Sequence[str],
    stages: Sequence[str],
    today: date,
) -> list[PlannedRun]:
    """Return the runs, recent days and first attempts first."""
    groups: dict[tuple[str, int, int], dict[AgencyDay, BacklogDay]] = {}
    for one in due:
        age = sum((today - one.key.day).days > limit for limit in _AGES)
        group = one.stage, age, _attempts_made(one, last_runs) + 1
        groups.setdefault(group, {})[one.key] = one
    runs: list[PlannedRun] = []
    for (stage, _, attempt), days in groups.items():
        following = tuple(stages[stages.index(stage) :])
        runs += _runs_of(days, rows_of, agencies, following, attempt)
    runs.sort(
        key=lambda run: (-run.priority(today), -run.last.day.toordinal(), run.first)
    )
    return runs


def _runs_of(
    days: dict[AgencyDay, BacklogDay],
    rows_of: Mapping[AgencyDay, int],
    agencies: Sequence[str],
    stages: tuple[str, ...],
    attempt: int,
) -> list[PlannedRun]:
    """Return runs of these stages that cover these agency-days."""
    spare = _RUN_COST if attempt == 1 else 0
    limits = Limits(_max_partitions(attempt), MAX_ROWS, spare)
    runs: list[PlannedRun] = []
    for covering in rectangles(days, rows_of, agencies, limits):
        work = _take(covering, days, agencies)
        if not work:
            continue
        first = AgencyDay(agencies[covering.first], covering.first_day)
        last = AgencyDay(agencies[covering.last], covering.last_day)
        runs.append(PlannedRun(stages, first, last, attempt, work))
    return runs


def _max_partitions(attempt: int) -> int:
    return max(1, MAX_PARTITIONS >> 2 * (attempt - 1))


def _take(
    rectangle: Rectangle,
    remaining: dict[AgencyDay, BacklogDay],
    agencies: Sequence[str],
) -> tuple[BacklogDay, ...]:
    """Remove the agency-days of a rectangle from `remaining` and return them:
    overlapping rectangles share none.
    """
    covered = agencies[rectangle.first : rectangle.last + 1]
    inside: list[BacklogDay] = []
    for key in product(covered, rectangle.days):
        one = remaining.pop(AgencyDay(*key), None)
        if one is not None:
            inside.append(one)
    return tuple(inside)


def given_up_failures(
    desk: str,
    given_up: Sequence[BacklogDay],
    backlog: "pl.DataFrame",
    now: datetime,
    retries: RetryRule = RUN,
) -> list[Failure]:
    """Return a failure without another attempt for each piece of work in these
    agency-days.
    """
    keys = {one.key for one in given_up}
    count = retries.max_attempts
    failures: list[Failure] = []
    for row in backlog.iter_rows(named=True):
        if AgencyDay(row["agency"], row["day"]) not in keys:
            continue
        why = f"still {row['why']} after {count} runs; see the runs of this agency-day"
        failure = failure_of_work(row, row["stage"], desk, why, now)
        failures.append(replace(failure, attempts=count, first_failed_at=row["since"]))
    return failures


def last_runs_to_json(last_runs: Mapping[AgencyDay, LastRun]) -> list[list[object]]:
    """Return last runs in a form for JSON."""
    rows: list[list[object]] = []
    for key, last in last_runs.items():
        rows.append([key.agency, str(key.day), last.attempt, last.next_at, last.state])
    return rows


def last_runs_from_json(rows: Iterable[Sequence[object]]) -> dict[AgencyDay, LastRun]:
    """Return the last runs that `last_runs_to_json` was given."""
    last_runs: dict[AgencyDay, LastRun] = {}
    for agency, day, attempt, next_at, state in rows:
        key = AgencyDay(str(agency), date.fromisoformat(str(day)))
        last_runs[key] = LastRun(int(str(attempt)), float(str(next_at)), str(state))
    return last_runs


def _digest(value: object) -> str:
    written = json.dumps(value, default=str)
    return hashlib.sha256(written.encode()).hexdigest()[:16]
