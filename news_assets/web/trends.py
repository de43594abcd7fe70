"""Counts over time: bars of the days, months or years in them, and how many articles
searches found by day, week or month, as counts or as a share of all.

Counts of trends are those of the facets of the search by words: of the articles of a
week, copies of one text count once, as in a search for that week. What a page draws
with the bars is in the template `bars.html`.
"""

from calendar import monthrange
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Annotated, Any, Final

from news_assets.web.archive import Archive
from news_assets.web.day_report import HEIGHT, WIDTH
from news_assets.web.parameters import SearchAddress, Step, TrendAddress

_MAX_POINTS: Final = 92  # of a line; a longer time has longer steps
_MAX_YEARS: Final = 20  # single articles state impossible days
_PUBLISHERS: Final = 6
_MAX_DAYS: Final = 62
_MAX_MONTHS: Final = 60

_Facets = Mapping[str, Mapping[str, int]]


# --- bars and the spans of time of one ------------------------------------------------


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
        spans = _days_of(first, last)
    elif months <= _MAX_MONTHS:
        spans = _months_of(first, last)
    else:
        spans = _years(first, last)
    bars = list(spans)
    sums = dict.fromkeys((label for label, _, _ in bars), 0)
    length = len(bars[0][0])  # of a label, which is the beginning of its days
    for day, count in found.items():
        sums[day.isoformat()[:length]] += count
    return [Bar(label, begin, end, sums[label]) for label, begin, end in bars]


# --- spans ----------------------------------------------------------------------------

_Span = tuple[str, date, date]  # label, first day and last day


def _days_of(first: date, last: date) -> Iterator[_Span]:
    """Yield each day with its label."""
    for number in range((last - first).days + 1):
        day = first + timedelta(days=number)
        yield day.isoformat(), day, day


def _weeks_of(first: date, last: date) -> Iterator[_Span]:
    """Yield each week that has one of these days, from Monday, which is its label, to the
    last of these days at most.
    """
    days_before = first.weekday()
    for number in range(0, (last - first).days + days_before + 1, 7):
        begin = first + timedelta(days=number - days_before)
        rest = (last - begin).days
        yield begin.isoformat(), begin, begin + timedelta(days=min(6, rest))


def _months_of(first: date, last: date) -> Iterator[_Span]:
    """Yield each month that has one of these days."""
    month = first.year * 12 + first.month - 1
    while month <= last.year * 12 + last.month - 1:
        begin = date(month // 12, month % 12 + 1, 1)
        end = begin.replace(day=monthrange(begin.year, begin.month)[1])
        yield begin.isoformat()[:7], begin, end
        month += 1


def _years(first: date, last: date) -> Iterator[_Span]:
    for year in range(first.year, last.year + 1):
        yield str(year), date(year, 1, 1), date(year, 12, 31)


# --- searches over time ---------------------------------------------------------------

_SPANS: Final = {"day": _days_of, "week": _weeks_of, "month": _months_of}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """The articles of some days."""

    first: Annotated[date, "first day"]
    last: Annotated[date, "last day"]
    articles: Annotated[int, "number of articles that the search finds of these days"]
    all_articles: Annotated[
        int | None,
        "number of articles of these days that pass the filters; null in counts",
    ]
    share: Annotated[
        float | None, "share of these articles, 0 to 1; null in counts and of none"
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendSeries:
    """A search over time."""

    query: Annotated[str, "text of the search; empty for all articles"]
    agency: Annotated[str | None, "key of the publisher, where they are compared"]
    found: Annotated[int, "number of articles that the search finds of all these days"]
    points: Annotated[Sequence[TrendPoint], "articles by time, oldest first"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trends:
    """Searches over time. `step` is longer than requested for a long time."""

    step: Annotated[Step, "step of the points"]
    series: Annotated[
        Sequence[TrendSeries],
        "one for each search, or for each of its publishers with the most articles",
    ]


@dataclass(frozen=True, slots=True)
class _Counted:
    """A search with the facets of its hits and of all articles."""

    address: SearchAddress
    found: int
    facets: _Facets
    of_all: _Facets | None
    agency: str | None = None


def read_trends(archive: Archive, address: TrendAddress) -> Trends:
    """Return the searches of an address over time. Raises ParameterError, QueryError,
    IndexingError.
    """
    counted = [_counted(archive, address, one) for one in address.searches]
    if address.split == "publisher":
        counted = _by_publisher(archive, address, counted[0])
    first, last = _ends(address, counted)
    step = _step(address.by, first, last)
    spans = list(_SPANS[step](first, last)) if first <= last else []
    series = []
    for one in counted:
        points = [_point(one, step, span, first, last) for span in spans]
        series.append(
            TrendSeries(
                query=one.address.text,
                agency=one.agency,
                found=one.found,
                points=points,
            )
        )
    return Trends(step=step, series=series)


def _counted(
    archive: Archive,
    address: TrendAddress,
    one: SearchAddress,
    agency: str | None = None,
) -> _Counted:
    answer = archive.counts(one)
    of_all = None
    if address.measure == "share":
        of_all = archive.counts(one.model_copy(update={"text": ""})).facets
    return _Counted(one, answer.found, answer.facets, of_all, agency)


def _by_publisher(
    archive: Archive, address: TrendAddress, whole: _Counted
) -> list[_Counted]:
    """Return the search for each of the publishers with the most hits."""
    agencies = list(whole.facets["agency"])[:_PUBLISHERS]
    found = []
    for agency in agencies:
        narrowed = whole.address.model_copy(update={"agency": agency})
        found.append(_counted(archive, address, narrowed, agency))
    return found


def _ends(address: TrendAddress, counted: Sequence[_Counted]) -> tuple[date, date]:
    """Return the first and the last day: those of the address, else those with hits.
    The first is later than the last where there are none, and _MAX_YEARS before it at
    most.
    """
    days: list[date] = []
    for one in counted:
        days += map(date.fromisoformat, one.facets["day"])
    first = address.from_day or min(days, default=date.max)
    last = address.to_day or max(days, default=date.min)
    earliest = date(max(1, last.year - _MAX_YEARS), 1, 1)
    return max(first, earliest), last


def _step(wanted: str, first: date, last: date) -> Step:
    """Return the wanted step, or a longer one if there are too many of it; of no wanted
    one the shortest.
    """
    days = (last - first).days + 1
    if wanted in ("", "day") and days <= _MAX_POINTS:
        return "day"
    if wanted != "month" and days <= _MAX_POINTS * 7:
        return "week"
    return "month"


def _point(
    one: _Counted, step: Step, span: _Span, first: date, last: date
) -> TrendPoint:
    label, begin, end = span
    articles = one.facets[step].get(label, 0)
    of_all = None if one.of_all is None else one.of_all[step].get(label, 0)
    return TrendPoint(
        first=max(begin, first),
        last=min(end, last),
        articles=articles,
        all_articles=of_all,
        share=articles / of_all if of_all else None,
    )


# --- the page -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A series as a line of the chart. `address` is its search."""

    series: TrendSeries
    path: str
    address: SearchAddress


@dataclass(frozen=True, slots=True, kw_only=True)
class _TrendView:
    """The chart of some series. `most` is the value at its top: a number of articles, or
    a share in percent.
    """

    step: Step
    lines: Sequence[_Line]
    most: float

    @property
    def rows(self) -> Sequence[tuple[TrendPoint, ...]]:
        """The points of all series by time."""
        return list(zip(*(one.series.points for one in self.lines), strict=True))


def trend_view(archive: Archive, address: TrendAddress) -> _TrendView:
    """Return the chart of an address. Raises as `read_trends`."""
    trends = read_trends(archive, address)
    values = [
        [shown_value(point, address.measure) for point in one.points]
        for one in trends.series
    ]
    most = max((max(of_one, default=0) for of_one in values), default=0)
    lines = []
    for one, of_one in zip(trends.series, values, strict=True):
        path = _line(of_one, most) if of_one else ""
        search = _search_of(address, one)
        lines.append(_Line(series=one, path=path, address=search))
    return _TrendView(step=trends.step, lines=lines, most=most)


def shown_value(point: TrendPoint, measure: str) -> float:
    """Return a number of articles, or a share in percent to two decimals."""
    if measure == "share":
        return round(100 * (point.share or 0), 2)
    return point.articles


def _search_of(address: TrendAddress, series: TrendSeries) -> SearchAddress:
    changed = {"agency": series.agency} if series.agency else {}
    return address.search_for(series.query).model_copy(update=changed)


TREND_COLUMNS: Final = (
    "query",
    "publisher",
    "agency",
    "first_day",
    "last_day",
    "articles",
    "all_articles",
    "share",
)


def trend_rows(
    archive: Archive, address: TrendAddress, base: str
) -> Iterator[Sequence[dict[str, Any]]]:
    """Yield the rows of the table, with a value for each of TREND_COLUMNS."""
    for one in read_trends(archive, address).series:
        publisher = archive.agency_name(one.agency) if one.agency else ""
        rows = []
        for point in one.points:
            values = (
                one.query,
                publisher,
                one.agency,
                point.first,
                point.last,
                point.articles,
                point.all_articles,
                point.share,
            )
            rows.append(dict(zip(TREND_COLUMNS, values, strict=True)))
        yield rows


def _line(values: Sequence[float], most: float) -> str:
    """Return the path of a line through these values; `most` is the value at the top."""
    width = WIDTH / len(values)
    points = []
    for number, value in enumerate(values):
        x = (number + 0.5) * width
        y = HEIGHT - (value / most if most else 0) * HEIGHT
        points.append(f"{x:.1f} {y:.1f}")
    # a path of one point has a dot at its round end
    return f"M{' L'.join(points)}" if len(points) > 1 else f"M{points[0]}h0"
