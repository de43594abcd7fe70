"""Counts over time as the shapes of an SVG: histograms, stacked columns and lines.

A shape is in units of the view box. What a page draws with them is in the templates
`bars.html` and `report_plot.html`.
"""

from calendar import monthrange
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

WIDTH: Final = 960
HEIGHT: Final = 160
# They differ in lightness as well as in hue, for colour-blind readers.
_COLOURS: Final = (
    "#2f9e77",
    "#b8c4ce",
    "#6b7785",
    "#8795a1",
    "#f0a202",
    "#c8412f",
    "#1b6ca8",
    "#8d5a97",
)
_GAP: Final = 0.22  # share of a column that stays empty
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
        spans = days_of(first, last)
    elif months <= _MAX_MONTHS:
        spans = months_of(first, last)
    else:
        spans = _years(first, last)
    bars = list(spans)
    sums = dict.fromkeys((label for label, _, _ in bars), 0)
    length = len(bars[0][0])  # of a label, which is the beginning of its days
    for day, count in found.items():
        sums[day.isoformat()[:length]] += count
    return [Bar(label, begin, end, sums[label]) for label, begin, end in bars]


# --- spans ----------------------------------------------------------------------------

Span = tuple[str, date, date]  # label, first day and last day


def days_of(first: date, last: date) -> Iterator[Span]:
    """Yield each day with its label."""
    for number in range((last - first).days + 1):
        day = first + timedelta(days=number)
        yield day.isoformat(), day, day


def weeks_of(first: date, last: date) -> Iterator[Span]:
    """Yield each week that has one of these days, from Monday, which is its label, to the
    last of these days at most.
    """
    days_before = first.weekday()
    for number in range(0, (last - first).days + days_before + 1, 7):
        begin = first + timedelta(days=number - days_before)
        rest = (last - begin).days
        yield begin.isoformat(), begin, begin + timedelta(days=min(6, rest))


def months_of(first: date, last: date) -> Iterator[Span]:
    """Yield each month that has one of these days."""
    month = first.year * 12 + first.month - 1
    while month <= last.year * 12 + last.month - 1:
        begin = date(month // 12, month % 12 + 1, 1)
        end = begin.replace(day=monthrange(begin.year, begin.month)[1])
        yield begin.isoformat()[:7], begin, end
        month += 1


def _years(first: date, last: date) -> Iterator[Span]:
    for year in range(first.year, last.year + 1):
        yield str(year), date(year, 1, 1), date(year, 12, 31)


# --- shapes ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A part of a column."""

    name: str
    x: float
    y: float
    width: float
    height: float
    colour: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Stacked columns, with the colour of each series that has a value."""

    bars: tuple[_Part, ...]
    colours: Mapping[str, str]
    most: int
    first: str
    last: str


def stacked(labels: Sequence[str], series: Mapping[str, Sequence[int]]) -> Plot:
    """Return a column for each label, with the values of the series from the bottom up."""
    sums = [0] * len(labels)
    for values in series.values():
        for number, value in enumerate(values):
            sums[number] += value
    most = max(sums, default=0)
    colours: dict[str, str] = {}
    bars: list[_Part] = []
    column_width = WIDTH / len(labels)
    tops = [float(HEIGHT)] * len(labels)
    for place, (name, values) in enumerate(series.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        for number, value in enumerate(values):
            if value == 0:
                continue
            colours[name] = colour
            height = value / most * HEIGHT
            tops[number] -= height
            bar = _Part(
                name=name,
                x=round((number + _GAP / 2) * column_width, 1),
                y=round(tops[number], 1),
                width=round((1 - _GAP) * column_width, 1),
                height=round(height, 1),
                colour=colour,
                title=f"{labels[number]}, {name}: {value:,}",
            )
            bars.append(bar)
    return Plot(
        bars=tuple(bars), colours=colours, most=most, first=labels[0], last=labels[-1]
    )


def line(values: Sequence[float], most: float) -> str:
    """Return the path of a line through these values; `most` is the value at the top."""
    width = WIDTH / len(values)
    points = []
    for number, value in enumerate(values):
        x = (number + 0.5) * width
        y = HEIGHT - (value / most if most else 0) * HEIGHT
        points.append(f"{x:.1f} {y:.1f}")
    # a path of one point has a dot at its round end
    return f"M{' L'.join(points)}" if len(points) > 1 else f"M{points[0]}h0"
