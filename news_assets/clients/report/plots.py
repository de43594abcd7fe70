"""Plots of a daily report as SVG or PNG, by matplotlib without a display or pyplot's global state.

Colours differ in lightness as well as in hue, for colour-blind readers and black-and-white prints.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

from news_assets.pipeline.freshness.report import NO_THEME, OTHER_THEMES, Report, stage_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INK, _PALE, _GRID = "#1f2933", "#52606d", "#e4e7eb"
_SERIES = ("#1b6ca8", "#f0a202", "#4b9b6e", "#8d5a97", "#d95d39", "#6fb7d6", "#9c8a5a", "#3d3d6b")
_OUTCOME = {
    "ok": "#2f9e77",
    "skipped": "#b8c4ce",
    "withdrawn": "#6b7785",
    "gone": "#8795a1",
    "blocked": "#f0a202",
    "failed": "#c8412f",
}
_STAGE = ("#9fb3c8", "#5b8db8", "#4b7fb0", "#336f9f", "#1b4f7a")
_STYLE: Any = {  # values of several types
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.edgecolor": _GRID,
    "axes.labelcolor": _PALE,
    "axes.titlecolor": _INK,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": _PALE,
    "ytick.color": _PALE,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "text.parse_math": False,  # labels may hold a dollar sign
    "svg.hashsalt": "news_assets",  # equal reports give equal bytes
}
_LABEL_CHARS = 34
_DIGIT_INCHES = 0.065  # width of a digit above a column, with a margin


def plot_pages(report: Report) -> dict[str, str]:
    """Return the page's plots as SVG, by name, without the empty ones."""
    plots = {}
    with _style():
        if not report.is_empty:
            plots["hours"] = _svg(_drawn(9.6, 2.9, lambda axes: _draw_hours(axes, report)))
            plots["stages"] = _svg(_stages(report))
        if any(map(any, report.history.values())):
            plots["history"] = _svg(_drawn(9.6, 3.1, lambda axes: _draw_history(axes, report)))
        if report.themes:
            height = 0.3 + 0.27 * len(report.themes)
            plots["themes"] = _svg(_drawn(9.6, height, lambda axes: _draw_themes(axes, report.themes)))
        return plots


def plot_thumbnail(report: Report) -> bytes:
    """Return hours and history side by side as a PNG of about 20 kB."""
    with _style():
        figure = _figure(10.4, 3.0)
        left, right = figure.subplots(1, 2)
        _draw_hours(left, report)
        _draw_history(right, report)
        left.set_title("New entries by hour, UTC", loc="left", pad=24)
        right.set_title("Articles by outcome, last 14 days", loc="left", pad=24)
        return _saved(figure, "png", dpi=80)


@contextmanager
def _style() -> Iterator[None]:
    from matplotlib import rc_context

    with rc_context(_STYLE):
        yield


def _figure(width: float, height: float) -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained", facecolor="white")


def _drawn(width: float, height: float, draw: "Callable[[Axes], None]") -> "Figure":
    figure = _figure(width, height)
    draw(figure.subplots())
    return figure


def _svg(figure: "Figure") -> str:
    return _saved(figure, "svg").decode()


def _saved(figure: "Figure", form: str, dpi: int = 100) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format=form, dpi=dpi, metadata={"Date": None} if form == "svg" else {"Software": None})
    return buffer.getvalue()


def _draw_hours(axes: "Axes", report: Report) -> None:
    colours = {desk: _SERIES[n % len(_SERIES)] for n, desk in enumerate(report.hours)}
    _stack(axes, [f"{hour:02}" for hour in range(24)], report.hours, colours)
    axes.set_xlabel("hour of the day, UTC")
    axes.set_ylabel("entries")


def _draw_history(axes: "Axes", report: Report) -> None:
    days = report.history_days
    labels = [f"{day:%d}\n{day:%b}" if n == 0 or day.day == 1 else f"{day:%d}" for n, day in enumerate(days)]
    shown = {name: values for name, values in report.history.items() if any(values) or name == "ok"}
    _stack(axes, labels, shown, {name: _OUTCOME.get(name, _PALE) for name in shown})
    axes.set_xlabel("day first seen, UTC")
    axes.set_ylabel("articles")


def _stack(
    axes: "Axes", labels: Sequence[str], series: Mapping[str, Sequence[int]], colours: Mapping[str, str]
) -> None:
    """Draw stacked columns with a legend above them, and their sums on top if there is room."""
    bottom = [0] * len(labels)
    for name, values in series.items():
        axes.bar(range(len(labels)), values, 0.78, bottom=bottom, color=colours[name], label=name)
        bottom = [low + value for low, value in zip(bottom, values, strict=True)]
    axes.set_xticks(range(len(labels)), labels)
    axes.set_xlim(-0.6, len(labels) - 0.4)
    _count_axis(axes, max(bottom))
    axes.grid(axis="y", color=_GRID)
    if len(f"{max(bottom):,}") * _DIGIT_INCHES < _inches(axes) / len(labels):
        _name_columns(axes, bottom)
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1.0), ncols=6, borderaxespad=0.2, handlelength=1, columnspacing=1.2
    )


def _inches(axes: "Axes") -> float:
    figure = axes.get_figure(root=True)
    return axes.get_position().width * figure.get_figwidth() if figure else 0.0


def _name_columns(axes: "Axes", totals: Sequence[int]) -> None:
    for position, total in enumerate(totals):
        if total:
            at = (position, total)
            axes.annotate(f"{total:,}", at, (0, 2), "data", "offset points", ha="center", fontsize=7)


def _stages(report: Report) -> "Figure":
    """Draw one small panel per desk, each with its own scale: desks differ a hundredfold."""
    across = min(len(report.stages), 3)
    down = -(-len(report.stages) // across)
    figure = _figure(9.6, 1.75 * down + 0.1)
    panels = figure.subplots(down, across, squeeze=False).flatten()
    for panel, (desk, counts) in zip(panels, report.stages.items(), strict=False):
        _bars(panel, stage_columns(), counts, _STAGE)
        panel.set_title(desk, loc="left", fontweight="bold", fontsize=10)
    for panel in panels[len(report.stages) :]:
        panel.set_visible(False)
    return figure


def _draw_themes(axes: "Axes", themes: Sequence[tuple[str, int]]) -> None:
    labels = [label if len(label) <= _LABEL_CHARS else label[: _LABEL_CHARS - 1] + "…" for label, _ in themes]
    colours = ["#b8c4ce" if label in (NO_THEME, OTHER_THEMES) else _SERIES[0] for label, _ in themes]
    _bars(axes, labels, [n for _, n in themes], colours)


def _bars(axes: "Axes", labels: Sequence[str], values: Sequence[int], colours: Sequence[str]) -> None:
    """Draw horizontal bars, the first on top, with their values at the right end."""
    most = max(values, default=0) or 1
    axes.barh(range(len(labels)), values, 0.72, color=colours)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlim(0, most * 1.18)
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)
    for position, value in enumerate(values):
        axes.annotate(f"{value:,}", (value, position), (4, 0), "data", "offset points", va="center", fontsize=8.5)


def _count_axis(axes: "Axes", most: int) -> None:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_ylim(0, most * 1.12 or 1)
