"""The report of one day as HTML: for the page `/days/<day>`, and as a file.

Both have the same content, which is in English and makes no requests. What is counted is
decided in `pipeline/report_contents.py`; plots are drawn by the template
`report_plot.html`.
"""

import base64
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from news_assets.errors import NewsAssetsError
from news_assets.folders import private_folder
from news_assets.pipeline.report_contents import Report, Section

_STYLE: Final = Path(__file__).parent / "static" / "style.css"
_CELL_CHARS: Final = 200
_LONG_CHARS: Final = 40  # longer text wraps anywhere, shorter text between words
# of a plot, in units of its view box
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


def report_content(report: Report) -> Markup:
    """Return the content of the report's page."""
    content = _templates().get_template("report_content.html")
    return Markup(content.render(_values(report)))


def write_report(folder: Path, report: Report) -> Path:
    """Write the report to `folder/<day>.html` atomically, replacing an earlier one;
    return its path.

    Raises:
        NewsAssetsError: The file cannot be written.
    """
    page = report_file(report).encode()
    path = folder / f"{report.day}.html"
    try:
        private_folder(folder)
        with tempfile.NamedTemporaryFile(
            dir=folder, prefix=f".{report.day}.", delete=False
        ) as file:
            file.write(page)
        Path(file.name).chmod(0o644)
        Path(file.name).replace(path)
    except OSError as error:
        raise NewsAssetsError(
            f"{path}: the report cannot be written: {error.strerror}"
        ) from error
    return path


def report_file(report: Report) -> str:
    """Return the report as one HTML file with its style."""
    template = _templates().get_template("report_file.html")
    style = Markup(_STYLE.read_text(encoding="utf-8"))
    return template.render(_values(report), style=style)


def history_image(report: Report) -> str:
    """Return the plot of the last days as the data URL of an image."""
    template = _templates().get_template("report_plot.html")
    svg = template.render(plot=_history(report), width=WIDTH, height=HEIGHT)
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _values(report: Report) -> Mapping[str, Any]:
    hours = [f"{hour:02}:00" for hour in range(24)]
    return {
        "report": report,
        "hours": _stacked(hours, report.hours),
        "history": _history(report),
        "width": WIDTH,
        "height": HEIGHT,
    }


# --- plots: shapes of an SVG ----------------------------------------------------------


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
class _Plot:
    """Stacked columns, with the colour of each series that has a value."""

    bars: tuple[_Part, ...]
    colours: Mapping[str, str]
    most: int
    first: str
    last: str


def _stacked(labels: Sequence[str], series: Mapping[str, Sequence[int]]) -> _Plot:
    """Return a column for each label, with the values of the series from the bottom up."""
    most = max(map(sum, zip(*series.values(), strict=True)), default=0)
    colours: dict[str, str] = {}
    parts: list[_Part] = []
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
            part = _Part(
                name=name,
                x=round((number + _GAP / 2) * column_width, 1),
                y=round(tops[number], 1),
                width=round((1 - _GAP) * column_width, 1),
                height=round(height, 1),
                colour=colour,
                title=f"{labels[number]}, {name}: {value:,}",
            )
            parts.append(part)
    return _Plot(
        bars=tuple(parts), colours=colours, most=most, first=labels[0], last=labels[-1]
    )


def _history(report: Report) -> _Plot:
    days = [day.isoformat() for day in report.history_days]
    return _stacked(days, report.history)


# --- values in tables -----------------------------------------------------------------


def _numeric_columns(section: Section) -> list[bool]:
    columns = zip(*section.rows, strict=True)
    return [all(type(value) in (int, float) for value in column) for column in columns]


def _cell(value: Any) -> str:
    """Format a value of a table: thousands separated, times to the minute, long text
    cut.
    """
    if value is None:
        return ""
    if isinstance(value, date):
        return _time(value)
    if type(value) is int:
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}"
    text = str(value)
    if isinstance(value, list | tuple):
        text = ", ".join(map(str, value))
    if len(text) <= _CELL_CHARS:
        return text
    return text[: _CELL_CHARS - 1] + "…"


def _cell_class(value: Any) -> str:
    if len(_cell(value)) > _LONG_CHARS:
        return "long"
    return ""


def _time(value: date) -> str:
    if not isinstance(value, datetime):
        return value.isoformat()
    return f"{value.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _is_web_address(url: str) -> bool:
    try:
        return urlsplit(url).scheme in ("http", "https")
    except ValueError:
        return False


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("news_assets.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cell": _cell, "cell_class": _cell_class, "time": _time}
    environment.globals["numeric_columns"] = _numeric_columns
    environment.tests["web_address"] = _is_web_address
    return environment
