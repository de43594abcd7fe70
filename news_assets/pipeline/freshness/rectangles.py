"""Rectangles of the grid of agencies by days, which one run can cover."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple


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
        return (self.last - self.first + 1) * (
            (self.last_day - self.first_day).days + 1
        )

    def joined(self, other: "Rectangle") -> "Rectangle":
        """Return the smallest rectangle that covers both."""
        return Rectangle(
            min(self.first, other.first),
            max(self.last, other.last),
            min(self.first_day, other.first_day),
            max(self.last_day, other.last_day),
        )


def rectangles(
    days: Iterable[AgencyDay], agencies: Sequence[str], limit: int, spare: int
) -> list[Rectangle]:
    """Return rectangles that cover these agency-days, newest days first; each has at
    most `limit` partitions.

    Two are joined if that takes in at most `spare` agency-days that neither of them
    has.
    """
    position = {agency: number for number, agency in enumerate(agencies)}
    by_day: dict[date, list[int]] = {}
    for agency, day in days:
        by_day.setdefault(day, []).append(position[agency])
    found: list[Rectangle] = []
    for day in sorted(by_day, reverse=True):
        for row in _rows(sorted(set(by_day[day])), day, limit, spare):
            _add(found, row, limit, spare)
    return found


def _rows(
    positions: Sequence[int], day: date, limit: int, spare: int
) -> Iterator[Rectangle]:
    """Yield rectangles of one day that cover these positions."""
    first = last = positions[0]
    for position in positions[1:]:
        if position - last - 1 > spare or position - first >= limit:
            yield Rectangle(first, last, day, day)
            first = position
        last = position
    yield Rectangle(first, last, day, day)


def _add(found: list[Rectangle], row: Rectangle, limit: int, spare: int) -> None:
    """Join the row to the rectangle that grows least by it, or append it."""
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
