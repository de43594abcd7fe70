"""The commands `agencies` and `gaps`: the polling of every agency and source, and the findings
of the freshness checks.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Annotated

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from news_assets.clients.factory import lazy_index, open_index
from news_assets.commands.opening import check_names, desks_with_key, open_lake
from news_assets.commands.terminal import Desk as DeskOption
from news_assets.commands.terminal import Json, Terminal, write_line
from news_assets.desks.desk_files import load_desks
from news_assets.pipeline.source_health import LEGEND, source_facts
from news_assets.pipeline.stage_declaration import Findings
from news_assets.records.desks import GAP_DAYS, Desk
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.store.lake import Lake
from news_assets.store.queries.freshness import desk_gaps, freshness_checks
from news_assets.store.queries.poll_health import (
    Row,
    forecasts,
    silent_agencies,
    source_rows,
)

_FORECAST = ("entries_a_day", "requests_a_day", "delay_minutes")


def agencies(desk: DeskOption = None, as_json: Json = False) -> None:
    """Print every source of the desks with its last polls, its interval, what is
    expected of it, and silences.
    """
    check_names(desk, None)
    desks = desks_with_key(load_desks(Settings.read().desks, ALL_KINDS), desk)
    now = datetime.now(UTC)
    with open_lake() as lake:
        found = [(one, _rows_of_sources(lake, one, now)) for one in desks]
    for one, rows in found:
        if not as_json:
            _show_sources(one, rows, now)
            continue
        for row in rows:
            write_line(row)


def _rows_of_sources(lake: Lake, desk: Desk, now: datetime) -> list[Row]:
    """Return the rows of a desk's sources with what is expected of them; None for
    inactive agencies.
    """
    expected = forecasts(lake, desk, now)
    found = []
    for row in source_rows(lake, desk, silent_agencies(lake, desk, now), now):
        forecast = expected.get(row["source_id"])
        numbers: Row = dict.fromkeys(_FORECAST)
        if forecast:
            for name in numbers:
                numbers[name] = round(getattr(forecast, name), 2)
        found.append(row | numbers)
    return found


# --- terminal output ------------------------------------------------------------------


def _show_sources(desk: Desk, rows: list[Row], now: datetime) -> None:
    terminal = Terminal()
    active = sum(agency.is_active for agency in desk.agencies)
    terminal.print_line(
        f"desk {desk.key}: {len(desk.agencies)} agencies, {active} active", style="bold"
    )
    terminal.print_line(LEGEND, style="dim")
    for _, of_agency in groupby(rows, key=itemgetter("agency")):
        sources = list(of_agency)
        terminal.print_line(
            ": ".join(_heading_of_agency(sources[0])),
            style="" if sources[0]["is_active"] else "dim",
        )
        for row in sources:
            terminal.print_line(f"  {row['kind']} {row['url']}", style="dim")
            terminal.print_line(f"    {', '.join(_facts_of_source(row, now))}")


def _heading_of_agency(row: Row) -> Iterator[str]:
    what = " of ".join(filter(None, (row["type"], row["parent"])))
    yield f"{row['agency']}  {row['name']}" + (f" ({what})" if what else "")
    if not row["is_active"]:
        yield f"not active: {row['reason']}"
    if row["silent_for"]:
        yield f"silent for {row['silent_for']}; usually {row['habit']}"


def _facts_of_source(row: Row, now: datetime) -> Iterator[str]:
    facts = source_facts(row, now)
    yield facts.polls or "no recent polls"
    if facts.every:
        yield f"every {facts.every}"
    if facts.next:
        yield facts.next if facts.next == "due" else f"next {facts.next}"
    if row["entries_a_day"] is not None:
        yield (
            f"expects {row['entries_a_day']:.1f} entries and {row['requests_a_day']:.0f} requests"
            " a day"
        )
        yield f"delay {row['delay_minutes']:.0f} min"
    if facts.new:
        yield f"{facts.new} new"
    if facts.last_new:
        yield f"last new {facts.last_new}"
    if facts.reason:
        yield facts.reason


# --- gaps -----------------------------------------------------------------------------

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
    desks = desks_with_key(load_desks(settings.desks, ALL_KINDS), desk)
    opening = partial(open_index, *settings.search_place)
    with open_lake() as lake, lazy_index(settings.search, opening) as index:
        for one in desks:
            now = datetime.now(UTC)
            found = desk_gaps(lake, index, one, now, days, grace=timedelta())
            if as_json:
                _write_findings(one, found)
            else:
                _show_findings(one, found)


def _write_findings(desk: Desk, found: Mapping[str, Findings]) -> None:
    for name, findings in found.items():
        if findings.unknown:
            write_line({"desk": desk.key, "check": name, "error": findings.unknown})
        for row in findings.rows:
            write_line(
                {"desk": desk.key, "check": name}
                | dict(zip(findings.header, row, strict=True))
            )


def _show_findings(desk: Desk, found: Mapping[str, Findings]) -> None:
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
            terminal.print(_findings_table(findings))


def _findings_table(findings: Findings) -> Table:
    table = Table(*findings.header, box=box.SIMPLE_HEAD)
    for row in findings.rows[:_SHOWN_ROWS]:
        table.add_row(*map(_cell, row))
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
    if isinstance(value, float):
        return f"{value:.1f}"
    return str(value)
