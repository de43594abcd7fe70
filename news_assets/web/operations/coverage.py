"""A table of the articles of each agency and day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Final

from news_assets.records.desks import Desk

if TYPE_CHECKING:
    import polars

COVERAGE_DAYS: Final = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """Articles of one agency and day, and how many of them failed or wait for a stage."""

    articles: int
    failed: int
    behind: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The agencies of a desk with a cell for each of the last days, newest day first;
    None where nothing is stored.
    """

    desk: str
    days: Sequence[date]
    rows: Sequence[tuple[str, str, Sequence[_Cell | None]]]


def coverage_of(desk: Desk, cells: "polars.DataFrame", now: datetime) -> Coverage:
    """Return the table of a desk from rows with agency, day, articles, failed and
    behind.
    """
    found = {
        (row["agency"], row["day"]): _Cell(
            articles=row["articles"] or 0,
            failed=row["failed"] or 0,
            behind=row["behind"] or 0,
        )
        for row in cells.iter_rows(named=True)
    }
    days = [
        now.date() + timedelta(days=1) - timedelta(days=n)
        for n in range(COVERAGE_DAYS + 1)
    ]
    days = [
        day for day in days if day <= now.date() or any(at == day for _, at in found)
    ]
    rows = [
        (agency.key, agency.name, [found.get((agency.key, day)) for day in days])
        for agency in desk.agencies
        if agency.is_active
    ]
    return Coverage(desk=desk.key, days=days, rows=rows)
