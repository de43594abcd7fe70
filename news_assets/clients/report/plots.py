"""Plots of a daily report as SVG.

Colours differ in lightness as well as in hue, for colour-blind readers and
black-and-white prints. Lengths are in units of the view box, which is as wide as the
page in CSS pixels.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from news_assets.pipeline.freshness.report_contents import (
    NO_THEME,
    OTHER_THEMES,
    Report,
    stage_columns,
)

_INK, _PALE, _GRID = "#1f2933", "#52606d", "#e4e7eb"
_SERIES: Final = (
    "#1b6ca8", "#f0a202", "#4b9b6e", "#8d5a97", "#d95d39", "#6fb7d6", "#9c8a5a", "#3d3d6b",
)  # fmt: skip
_OUTCOME: Final = {
    "ok": "#2f9e77",
    "skipped": "#b8c4ce",
    "withdrawn": "#6b7785",
    "gone": "#8795a1",
    "blocked": "#f0a202",
    "failed": "#c8412f",
}
_STAGE: Final = ("#9fb3c8", "#5b8db8", "#4b7fb0", "#336f9f", "#1b4f7a")

_WIDTH = 960
_CHAR = 7.2  # width of a character at the font size, with a margin
_LABEL_CHARS = 34
_LEGEND_ROW = 18
_COLUMNS_HEIGHT = 200
_BAR_HEIGHT = 26
_TITLE_HEIGHT = 22
_DESKS_ACROSS = 3
_GRID_LINES = 5  # at most, above zero


def plot_pages(report: Report) -> dict[str, str]:
    """Return the page's plots as SVG, by name, without the empty ones."""
    plots = {}
    if not report.is_empty:
        plots["hours"] = _hours(report)
        plots["stages"] = _stages(report)
    if any(map(any, report.history.values())):
        plots["history"] = plot_history(report)
    if report.themes:
        plots["themes"] = _themes(report.themes)
    return plots


def plot_history(report: Report) -> str:
    """Return the articles of the last days by outcome as SVG."""
    labels = []
    for number, day in enumerate(report.history_days):
        names_month = number == 0 or day.day == 1
        labels.append(f"{day:%-d %b}" if names_month else f"{day.day}")
    shown = {
        name: values
        for name, values in report.history.items()
        if any(values) or name == "ok"
    }
    colours = {name: _OUTCOME.get(name, _PALE) for name in shown}
    return _stacked_columns(labels, shown, colours, "articles by day first seen, UTC")


def _hours(report: Report) -> str:
    labels = [f"{hour:02}" for hour in range(24)]
    colours = {desk: _SERIES[n % len(_SERIES)] for n, desk in enumerate(report.hours)}
    return _stacked_columns(
        labels, report.hours, colours, "entries by hour of the day, UTC"
    )


def _stages(report: Report) -> str:
    """Draw one small panel per desk, each with its own scale: desks differ a
    hundredfold.
    """
    across = min(len(report.stages), _DESKS_ACROSS)
    width = _WIDTH / across
    height = _TITLE_HEIGHT + len(stage_columns()) * _BAR_HEIGHT + 10
    parts = []
    for number, (desk, counts) in enumerate(report.stages.items()):
        down, right = divmod(number, across)
        title = _text(0, 14, desk, weight="bold", fill=_INK)
        bars = _bars(stage_columns(), counts, _STAGE, width - 20, top=_TITLE_HEIGHT)
        parts.append(
            f'<g transform="translate({right * width:.0f} {down * height})">{title}{bars}</g>'
        )
    rows = -(-len(report.stages) // across)
    return _svg(rows * height, parts)


def _themes(themes: Sequence[tuple[str, int]]) -> str:
    labels = [_cut(label) for label, _ in themes]
    colours = []
    for label, _ in themes:
        is_rest = label in (NO_THEME, OTHER_THEMES)
        colours.append("#b8c4ce" if is_rest else _SERIES[0])
    bars = _bars(labels, [count for _, count in themes], colours, _WIDTH, top=0)
    return _svg(len(themes) * _BAR_HEIGHT, [bars])


# --- kinds of plot --------------------------------------------------------------------


def _stacked_columns(
    labels: Sequence[str],
    series: Mapping[str, Sequence[int]],
    colours: Mapping[str, str],
    caption: str,
) -> str:
    """Draw stacked columns with a legend above them, and their sums on top where there
    is room.

    Args:
        labels: The name below each column.
        series: A value for each column, by name, from the bottom up.
        colours: The colour of each series.
        caption: What the columns count.
    """
    legend, legend_rows = _legend(list(series), colours)
    top = legend_rows * _LEGEND_ROW + 16
    bottom = top + _COLUMNS_HEIGHT
    totals = [sum(column) for column in zip(*series.values(), strict=True)]
    step = _grid_step(max(totals))
    scale = _COLUMNS_HEIGHT / max(*totals, step)
    left = len(f"{max(totals):,}") * _CHAR + 8
    column_width = (_WIDTH - left) / len(labels)

    parts = [legend]
    for value in range(0, max(*totals, step) + 1, step):
        y = bottom - value * scale
        parts.append(
            f'<line x1="{left:.0f}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="{_GRID}"/>'
        )
        parts.append(_text(left - 6, y + 4, f"{value:,}", anchor="end"))
    for number, label in enumerate(labels):
        x = left + (number + 0.11) * column_width
        middle = left + (number + 0.5) * column_width
        y = float(bottom)
        for name, values in series.items():
            height = values[number] * scale
            y -= height
            if height:
                parts.append(_rect(x, y, column_width * 0.78, height, colours[name]))
        total = f"{totals[number]:,}"
        if totals[number] and len(total) * _CHAR < column_width:
            parts.append(_text(middle, y - 4, total, anchor="middle"))
        parts.append(_text(middle, bottom + 16, label, anchor="middle"))
    parts.append(_text(_WIDTH, bottom + 34, caption, anchor="end"))
    return _svg(bottom + 40, parts)


def _legend(names: Sequence[str], colours: Mapping[str, str]) -> tuple[str, int]:
    """Return the legend and in how many rows it stands."""
    parts, x, row = [], 0.0, 0
    for name in names:
        width = len(_cut(name)) * _CHAR + 34
        if x and x + width > _WIDTH:
            x, row = 0.0, row + 1
        y = row * _LEGEND_ROW
        parts.append(_rect(x, y + 2, 12, 12, colours[name]))
        parts.append(_text(x + 18, y + 12, _cut(name)))
        x += width
    return "".join(parts), row + 1


def _bars(
    labels: Sequence[str],
    values: Sequence[int],
    colours: Sequence[str],
    width: float,
    *,
    top: float,
) -> str:
    """Return horizontal bars, the first on top, with their values at the right end."""
    left = max(map(len, labels)) * _CHAR + 10
    most = max(values, default=0) or 1
    room = width - left - (len(f"{most:,}") * _CHAR + 12)
    parts = []
    for number, (label, value) in enumerate(zip(labels, values, strict=True)):
        y = top + number * _BAR_HEIGHT
        length = room * value / most
        parts.append(_text(left - 6, y + 17, label, anchor="end"))
        parts.append(
            _rect(left, y + 3, length, _BAR_HEIGHT - 7, colours[number % len(colours)])
        )
        parts.append(_text(left + length + 5, y + 17, f"{value:,}", fill=_INK))
    return "".join(parts)


def _grid_step(most: int) -> int:
    """Return the distance of grid lines: 1, 2 or 5 times a power of ten, so that there
    are few.
    """
    power = 1
    while True:
        for step in (power, 2 * power, 5 * power):
            if step * _GRID_LINES >= most:
                return step
        power *= 10


# --- SVG ------------------------------------------------------------------------------


def _svg(height: float, parts: Sequence[str]) -> str:
    style = 'font-family="DejaVu Sans, sans-serif" font-size="11"'
    box = f'viewBox="0 0 {_WIDTH} {height:.0f}" width="{_WIDTH}" height="{height:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} {style}>{"".join(parts)}</svg>'
    )


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    weight: str = "normal",
    fill: str = _PALE,
) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-weight="{weight}" fill="{fill}">{escape(text)}</text>'


def _rect(x: float, y: float, width: float, height: float, fill: str) -> str:
    box = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {box} fill="{fill}"/>'


def _cut(label: str) -> str:
    return label if len(label) <= _LABEL_CHARS else label[: _LABEL_CHARS - 1] + "…"
