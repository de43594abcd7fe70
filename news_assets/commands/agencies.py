"""The command `agencies`: every agency and source of the desks with its polling status."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter

from news_assets.commands.jsonlines import write_line
from news_assets.commands.opening import check_names, open_lake
from news_assets.commands.options import Desk as DeskOption
from news_assets.commands.options import Json
from news_assets.desks.desk_files import load_desks
from news_assets.pipeline.freshness.source_health import LEGEND, source_facts
from news_assets.records.desks import Desk
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.store.lake import Lake
from news_assets.store.queries.poll_health import silent_agencies
from news_assets.store.queries.source_status import Row, forecasts, source_rows
from news_assets.terminal import Terminal

_FORECAST = ("entries_a_day", "requests_a_day", "delay_minutes")


def agencies(desk: DeskOption = None, as_json: Json = False) -> None:
    """Print every source of the desks with its last polls, its interval, what is
    expected of it, and silences.
    """
    check_names(desk, None)
    every = load_desks(Settings.read().desks, ALL_KINDS)
    desks = [one for one in every if desk in (None, one.key)]
    now = datetime.now(UTC)
    with open_lake() as lake:
        rows = {one.key: _rows(lake, one, now) for one in desks}
    for one in desks:
        if not as_json:
            _show(one, rows[one.key], now)
            continue
        for row in rows[one.key]:
            write_line(row)


def _rows(lake: Lake, desk: Desk, now: datetime) -> list[Row]:
    """Return the rows of a desk's sources with what is expected of them; None for
    inactive agencies.
    """
    expected = forecasts(lake, desk, now)
    found = []
    for row in source_rows(lake, desk, silent_agencies(lake, desk, now), now):
        forecast = expected.get(row["source_id"])
        numbers: Row = dict.fromkeys(_FORECAST)
        if forecast:
            numbers = {name: round(getattr(forecast, name), 2) for name in _FORECAST}
        found.append(row | numbers)
    return found


# --- terminal output ------------------------------------------------------------------


def _show(desk: Desk, rows: list[Row], now: datetime) -> None:
    terminal = Terminal()
    active = sum(agency.is_active for agency in desk.agencies)
    terminal.print_line(
        f"desk {desk.key}: {len(desk.agencies)} agencies, {active} active", style="bold"
    )
    terminal.print_line(LEGEND, style="dim")
    for _, of_agency in groupby(rows, key=itemgetter("agency")):
        sources = list(of_agency)
        terminal.print_line(
            ": ".join(_heading(sources[0])),
            style="" if sources[0]["is_active"] else "dim",
        )
        for row in sources:
            terminal.print_line(f"  {row['kind']} {row['url']}", style="dim")
            terminal.print_line(f"    {', '.join(_facts(row, now))}")


def _heading(row: Row) -> Iterator[str]:
    what = " of ".join(filter(None, (row["type"], row["parent"])))
    yield f"{row['agency']}  {row['name']}" + (f" ({what})" if what else "")
    if not row["is_active"]:
        yield f"not active: {row['reason']}"
    if row["silent_for"]:
        yield f"silent for {row['silent_for']}; usually {row['habit']}"


def _facts(row: Row, now: datetime) -> Iterator[str]:
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
