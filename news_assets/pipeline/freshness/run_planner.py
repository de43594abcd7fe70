"""What is asked for next: agency-days that are behind in, requests for ranges of them out. Pure.

An agency-day is asked for at once when its state is new. Where a run came and went and left the same state behind, it
is asked for again later and later, in smaller and smaller ranges, so that one bad page does not hold its neighbours
back; after `MAX_ATTEMPTS` it is given up. Nothing is asked for while a run for it is queued or going.

Ranges are rectangles of the grid: agencies from one to another by days from one to another. A rectangle may take in
agency-days that nobody asked for, where that saves a run: working on what is up to date changes nothing and is quick.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from news_assets.records import Failure

if TYPE_CHECKING:
    import polars as pl

STAGES = ("raw_articles", "enriched_articles", "article_embeddings", "search_index")
FIRST_PAUSE_S = 10.0  # doubles at each attempt, so that nothing waits longer after an outage than the outage took
MAX_ATTEMPTS = 12  # the pauses add up to eleven hours
MAX_PARTITIONS = 500  # in one request: some minutes of work where everything is new
MAX_GOING = 40  # runs of a desk that are queued or going; newer days come first, so the rest can wait its turn
PRIORITY_STEP = 20  # lower at each attempt (as engagic does: 150, 130, 110)
RUN_WORTH = 120  # what starting a run costs, in partitions that are looked at and found up to date

_AGES = (1, 7, 31)  # days: what is this old is not joined with what is older, and does not wait for it


class Cell(NamedTuple):
    """One agency-day."""

    agency: str
    day: date


@dataclass(frozen=True, slots=True)
class Wanted:
    """One agency-day that is behind, from which stage on, and the state it is in."""

    cell: Cell
    stage: str
    state: str


@dataclass(frozen=True, slots=True)
class Going:
    """A run that is queued or going: its stages, and the rectangle it works on."""

    stages: frozenset[str]
    agencies: frozenset[str]
    first_day: date
    last_day: date

    def covers(self, wanted: Wanted) -> bool:
        """Whether it will do what is wanted."""
        cell = wanted.cell
        return (
            wanted.stage in self.stages and cell.agency in self.agencies and self.first_day <= cell.day <= self.last_day
        )


@dataclass(frozen=True, slots=True)
class Request:
    """One run to ask for: a rectangle, its first stage, how often it was asked for, and what it is to mend."""

    stage: str
    first: Cell
    last: Cell
    attempt: int
    wanted: tuple[Wanted, ...]

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages that it takes: the first one that is behind, and all after it."""
        return STAGES[STAGES.index(self.stage) :]

    @property
    def key(self) -> str:
        """What makes two requests the same: the states that they were made from, and the attempt."""
        seen = sorted((*wanted.cell, wanted.stage, wanted.state) for wanted in self.wanted)
        return _digest([self.attempt, *seen])

    def priority(self, today: date) -> int:
        """Return Dagster's priority: recent days before old ones, each further attempt behind the others."""
        return min(self.last.day - today, timedelta()).days - PRIORITY_STEP * (self.attempt - 1)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is remembered of an agency-day that was asked for: how often, when it may be again, and in which state."""

    attempts: int
    next_at: float
    state: str


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do now, and what to remember."""

    requests: tuple[Request, ...]
    given_up: tuple[Wanted, ...] = ()
    memory: Mapping[Cell, Asked] = field(default_factory=dict)


def wanted_cells(work: "pl.DataFrame") -> list[Wanted]:
    """Return the agency-days of this work (columns as in `store/queries/backlog.py`), each from its first stage on."""
    pieces: dict[Cell, list[tuple[str, str, str]]] = {}
    for row in work.select("agency", "day", "stage", "article_id", "version").iter_rows():
        pieces.setdefault(Cell(row[0], row[1]), []).append(row[2:])
    return [
        Wanted(cell, min((piece[0] for piece in found), key=STAGES.index), _digest(sorted(found)))
        for cell, found in pieces.items()
    ]


def decide(
    wanted: Sequence[Wanted],
    going: Sequence[Going],
    memory: Mapping[Cell, Asked],
    agencies: Sequence[str],
    today: date,
    now_s: float,
    first_day: date = date.min,
) -> Decision:
    """Return the runs to ask for now.

    Args:
        wanted: Every agency-day from `first_day` on that is behind.
        going: The desk's runs that are queued or going.
        memory: What the last decision said to remember.
        agencies: The agencies of the grid, in its order.
        today: The newest day; older ones come after it.
        now_s: Seconds since the epoch.
        first_day: Where the look began; what is remembered of earlier days stays.
    """
    idle = [one for one in wanted if not any(run.covers(one) for run in going)]
    given_up = [one for one in idle if _attempts(one, memory) >= MAX_ATTEMPTS]
    due = [one for one in idle if _attempts(one, memory) < MAX_ATTEMPTS and _is_due(one, memory, now_s)]
    requests = _requests(due, memory, agencies, today)[: max(0, MAX_GOING - len(going))]
    asked = {
        one.cell: Asked(request.attempt, now_s + FIRST_PAUSE_S * 2.0 ** (request.attempt - 1), one.state)
        for request in requests
        for one in request.wanted
    }
    lost = {one.cell for one in given_up}
    seen = {one.cell for one in wanted} - lost
    kept = {cell: asked for cell, asked in memory.items() if cell in seen or cell.day < first_day}
    return Decision(tuple(requests), tuple(given_up), kept | asked)


def _attempts(one: Wanted, memory: Mapping[Cell, Asked]) -> int:
    asked = memory.get(one.cell)
    return asked.attempts if asked and asked.state == one.state else 0


def _is_due(one: Wanted, memory: Mapping[Cell, Asked], now_s: float) -> bool:
    return _attempts(one, memory) == 0 or memory[one.cell].next_at <= now_s


def _requests(
    due: Sequence[Wanted], memory: Mapping[Cell, Asked], agencies: Sequence[str], today: date
) -> list[Request]:
    """Return the requests, recent days and first attempts first."""
    groups: dict[tuple[str, int, int], dict[Cell, Wanted]] = {}
    for one in due:
        age = sum((today - one.cell.day).days > limit for limit in _AGES)
        groups.setdefault((one.stage, age, _attempts(one, memory) + 1), {})[one.cell] = one
    requests = [
        Request(
            stage,
            Cell(agencies[rectangle.first], rectangle.first_day),
            Cell(agencies[rectangle.last], rectangle.last_day),
            attempt,
            _taken(rectangle, cells, agencies),
        )
        for (stage, _, attempt), cells in groups.items()
        for rectangle in rectangles(cells, agencies, _most_partitions(attempt), RUN_WORTH if attempt == 1 else 0)
    ]
    return sorted(filter(lambda one: one.wanted, requests), key=lambda one: (-one.priority(today), one.first))


def _most_partitions(attempt: int) -> int:
    return max(1, MAX_PARTITIONS >> 2 * (attempt - 1))


def _taken(rectangle: "Rectangle", cells: dict[Cell, Wanted], agencies: Sequence[str]) -> tuple[Wanted, ...]:
    """Take out of `cells` those that lie in the rectangle: where two rectangles overlap, the first has them."""
    days = [rectangle.first_day + timedelta(n) for n in range((rectangle.last_day - rectangle.first_day).days + 1)]
    inside = (Cell(agency, day) for agency in agencies[rectangle.first : rectangle.last + 1] for day in days)
    return tuple(cells.pop(cell) for cell in inside if cell in cells)


def given_up_rows(desk: str, given_up: Sequence[Wanted], work: "pl.DataFrame", now: datetime) -> list[Failure]:
    """Return the failures to write down for the pieces of work in these agency-days, so that nobody asks again."""
    cells = {one.cell for one in given_up}
    return [
        Failure(
            stage=row["stage"],
            article_id=row["article_id"],
            desk=desk,
            agency=row["agency"],
            day=row["day"],
            version=row["version"],
            reason=f"{MAX_ATTEMPTS} runs ended without it ({row['why']}); see the runs of this agency-day",
            attempts=MAX_ATTEMPTS,
            first_failed_at=row["since"],
            last_failed_at=now,
            next_try_at=None,
            trace_id=row["trace_id"],
        )
        for row in work.iter_rows(named=True)
        if Cell(row["agency"], row["day"]) in cells
    ]


# --- rectangles ------------------------------------------------------------------------------------------------------


class Rectangle(NamedTuple):
    """Agencies by their position in the grid, and days; both ends are inside."""

    first: int
    last: int
    first_day: date
    last_day: date

    @property
    def size(self) -> int:
        """How many agency-days it has."""
        return (self.last - self.first + 1) * ((self.last_day - self.first_day).days + 1)

    def joined(self, other: "Rectangle") -> "Rectangle":
        """Return the smallest rectangle that holds both."""
        return Rectangle(
            min(self.first, other.first),
            max(self.last, other.last),
            min(self.first_day, other.first_day),
            max(self.last_day, other.last_day),
        )


def rectangles(cells: Iterable[Cell], agencies: Sequence[str], limit: int, spare: int) -> list[Rectangle]:
    """Return rectangles that hold all these agency-days; each has at most `limit` of them, newest days first.

    Two are joined where that takes in no more than `spare` agency-days that neither of them has.
    """
    position = {agency: number for number, agency in enumerate(agencies)}
    by_day: dict[date, list[int]] = {}
    for cell in cells:
        by_day.setdefault(cell.day, []).append(position[cell.agency])
    found: list[Rectangle] = []
    for day in sorted(by_day, reverse=True):
        for row in _rows(sorted(set(by_day[day])), day, limit, spare):
            _add(found, row, limit, spare)
    return found


def _rows(positions: Sequence[int], day: date, limit: int, spare: int) -> Iterator[Rectangle]:
    """Yield the stretches of one day."""
    first = last = positions[0]
    for position in positions[1:]:
        if position - last - 1 > spare or position - first >= limit:
            yield Rectangle(first, last, day, day)
            first = position
        last = position
    yield Rectangle(first, last, day, day)


def _add(found: list[Rectangle], row: Rectangle, limit: int, spare: int) -> None:
    """Join the row to the rectangle that grows least by it, or put it beside them."""
    best, least = None, spare + 1
    for number, rectangle in enumerate(found):
        joined = rectangle.joined(row)
        more = joined.size - rectangle.size - row.size
        if joined.size <= limit and more < least:
            best, least = number, more
    if best is None:
        found.append(row)
    else:
        found[best] = found[best].joined(row)


# --- memory ----------------------------------------------------------------------------------------------------------


def memory_to_json(memory: Mapping[Cell, Asked]) -> list[list[object]]:
    """Return what is remembered in a form that can be written down."""
    return [[cell.agency, str(cell.day), asked.attempts, asked.next_at, asked.state] for cell, asked in memory.items()]


def memory_from_json(written: Iterable[Sequence[object]]) -> dict[Cell, Asked]:
    """Return what was written down."""
    return {
        Cell(str(agency), date.fromisoformat(str(day))): Asked(int(str(attempts)), float(str(next_at)), str(state))
        for agency, day, attempts, next_at, state in written
    }


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, default=str).encode()).hexdigest()[:16]
