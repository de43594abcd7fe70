"""Render a `Report` as one self-contained HTML file.

Titles, reasons and addresses come from untrusted pages: everything is escaped, only
http(s) addresses become links, and the page's Content-Security-Policy forbids scripts
and external resources.
"""

import base64
import tempfile
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from news_assets.clients.report.plots import plot_pages
from news_assets.errors import NewsAssetsError
from news_assets.folders import private_folder
from news_assets.pipeline.freshness.report_contents import Report, Section

_CELL_CHARS = 200
_LONG_CHARS = 40  # longer text wraps anywhere, shorter text between words


def render_page(report: Report) -> str:
    """Return the page's HTML with its plots embedded."""
    return _page().render(
        report=report,
        plots={name: _data_url(svg) for name, svg in plot_pages(report).items()},
        numeric_columns=_numeric_columns,
    )


def write_page(folder: Path, report: Report) -> Path:
    """Write the page to `folder/<day>.html` atomically, replacing an earlier one;
    return its path.

    Raises:
        NewsAssetsError: The file cannot be written.
    """
    page = render_page(report).encode()
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


def _data_url(svg: str) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _numeric_columns(section: Section) -> list[bool]:
    return [
        all(type(value) in (int, float) for value in column)
        for column in zip(*section.rows, strict=True)
    ]


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
    return text if len(text) <= _CELL_CHARS else text[: _CELL_CHARS - 1] + "…"


def _cell_class(value: Any) -> str:
    if isinstance(value, date):
        return "t"
    return "long" if len(_cell(value)) > _LONG_CHARS else ""


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
def _page() -> Template:
    environment = Environment(
        loader=PackageLoader("news_assets.clients.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters |= {"cell": _cell, "cell_class": _cell_class, "time": _time}
    environment.tests["web_address"] = _is_web_address
    return environment.get_template("report.html")
