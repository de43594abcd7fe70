"""Counts by day as the bars of a histogram: days, months or years, so that there are at
most some sixty.
"""

from calendar import monthrange
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

_MAX_DAYS: Final = 62
_MAX_MONTHS: Final = 60


@dataclass(frozen=True, slots=True)
class Bar:
    """The hits of some days, the last one included; `label` is a day, month or year in
    ISO format.
    """

    label: str
    first: date
    last: date
    count: int


def bars_of(counts: Mapping[str, int]) -> Sequence[Bar]:
    """Return the bars of counts by day (ISO format), oldest first, also the empty ones
    between; none of no counts.
    """
    found = {date.fromisoformat(day): count for day, count in counts.items()}
    if not found:
        return ()
    first, last = min(found), max(found)
    months = (last.year - first.year) * 12 + last.month - first.month + 1
    if (last - first).days < _MAX_DAYS:
        spans = _days(first, last)
    elif months <= _MAX_MONTHS:
        spans = _months(first, last)
    else:
        spans = (
            (str(year), date(year, 1, 1), date(year, 12, 31))
            for year in range(first.year, last.year + 1)
        )
    bars = [(label, begin, end) for label, begin, end in spans]
    sums = dict.fromkeys((label for label, _, _ in bars), 0)
    length = len(bars[0][0])  # of a label, which is the beginning of its days
    for day, count in found.items():
        sums[day.isoformat()[:length]] += count
    return [Bar(label, begin, end, sums[label]) for label, begin, end in bars]


def _days(first: date, last: date) -> Iterator[tuple[str, date, date]]:
    for number in range((last - first).days + 1):
        day = first + timedelta(days=number)
        yield day.isoformat(), day, day


def _months(first: date, last: date) -> Iterator[tuple[str, date, date]]:
    begin = first.replace(day=1)
    while begin <= last:
        end = begin.replace(day=monthrange(begin.year, begin.month)[1])
        yield f"{begin:%Y-%m}", begin, end
        begin = end + timedelta(days=1)
