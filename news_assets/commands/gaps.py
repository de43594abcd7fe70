"""The command `gaps`: the findings of the freshness checks."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from news_assets.clients.factory import lazy_index, open_index
from news_assets.commands.jsonlines import write_line
from news_assets.commands.opening import check_names, open_lake
from news_assets.commands.options import Desk as DeskOption
from news_assets.commands.options import Json
from news_assets.desks.desk_files import load_desks
from news_assets.pipeline.freshness.row_checks import Findings
from news_assets.records.desks import GAP_DAYS, Desk
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.store.queries.freshness import desk_gaps, freshness_checks
from news_assets.terminal import Terminal

_SHOWN_ROWS = 20
_SYMBOLS = {True: ("no  ", "red"), False: ("yes ", "green")}


def gaps(
    desk: DeskOption = None,
    days: Annotated[
        int, typer.Option(min=1, help="how many days back from today")
    ] = GAP_DAYS,
    as_json: Json = False,
) -> None:
    """Print every finding of the last days, including work of the last minutes."""
    check_names(desk, None)
    settings = Settings.read()
    desks = load_desks(settings.desks, ALL_KINDS)
    opening = partial(open_index, *settings.search_place)
    with open_lake() as lake, lazy_index(settings.search, opening) as index:
        for one in desks:
            if desk not in (None, one.key):
                continue
            now = datetime.now(UTC)
            found = desk_gaps(lake, index, one, now, days, grace=timedelta())
            if as_json:
                _write(one, found)
            else:
                _show(one, found)


def _write(desk: Desk, found: Mapping[str, Findings]) -> None:
    for name, findings in found.items():
        if findings.unknown:
            write_line({"desk": desk.key, "check": name, "error": findings.unknown})
        for row in findings.rows:
            write_line(
                {"desk": desk.key, "check": name}
                | dict(zip(findings.header, row, strict=True))
            )


def _show(desk: Desk, found: Mapping[str, Findings]) -> None:
    terminal = Terminal()
    for name, findings in found.items():
        symbol = _SYMBOLS[bool(findings.rows)]
        if findings.unknown:
            symbol = ("?   ", "yellow")
        sentence = f"{desk.key}: {freshness_checks(desk)[name][1]} "
        checked = (f"{findings.checked} checked", "dim")
        terminal.print_line(Text.assemble(symbol, sentence, checked))
        if findings.unknown:
            terminal.print_line(f"    {findings.unknown}")
        if findings.rows:
            terminal.print(_table(findings))


def _table(findings: Findings) -> Table:
    table = Table(*findings.header, box=box.SIMPLE_HEAD)
    for row in findings.rows[:_SHOWN_ROWS]:
        table.add_row(*(_cell(value) for value in row))
    if len(findings.rows) > _SHOWN_ROWS:
        table.caption = (
            f"and {len(findings.rows) - _SHOWN_ROWS} more; --json lists them all"
        )
    return table


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return f"{value:.1f}" if isinstance(value, float) else str(value)
