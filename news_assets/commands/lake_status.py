"""The command `status`: what is stored at each stage, or the history of one address."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table

from news_assets.commands.opening import check_names, open_lake
from news_assets.commands.terminal import Desk, Json, Terminal, write_line
from news_assets.errors import NewsAssetsError
from news_assets.store.queries.listed_articles import count_columns, stage_counts

if TYPE_CHECKING:
    from news_assets.store.queries.url_history import Event


_Days = Annotated[int, typer.Option(min=1, help="how many days back from today")]
_Url = Annotated[
    str | None, typer.Option(help="show the history of this address instead")
]


def status(
    desk: Desk = None,
    days: _Days = 7,
    url: _Url = None,
    as_json: Json = False,
) -> None:
    """Print the rows of each stage, by agency, of the last days and, where meetings are
    listed, of those to come; or the events of one address, oldest first.

    Raises:
        NewsAssetsError: No such desk, or no source has ever listed the address.
    """
    if url is not None:
        _show_address(url, as_json=as_json)
        return
    from news_assets.pipeline.schedule import FUTURE_DAYS

    check_names(desk, None)
    # Tomorrow has begun for agencies east of Greenwich.
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    first = tomorrow - timedelta(days=days)
    last = tomorrow + timedelta(days=FUTURE_DAYS)
    with open_lake() as lake:
        counts = stage_counts(lake, first, last, desk)
    if not as_json:
        show_counts(counts)
        return
    for row in counts:
        write_line(row)


def show_counts(counts: Sequence[Mapping[str, Any]]) -> None:
    """Print counts, a table for each desk with its sums."""
    terminal = Terminal()
    if not counts:
        terminal.print("the lake has no rows yet; `make demo` fills a sample lake")
    for desk, of_desk in groupby(counts, key=itemgetter("desk")):
        terminal.print(_counts_table(f"desk {desk}", list(of_desk)))


def _counts_table(title: str, counts: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(title=title, box=None, title_justify="left", padding=(0, 1, 0, 0))
    table.add_column("agency")
    names = count_columns()
    for name in names:
        table.add_column(name, justify="right")
    table.add_column("last day", no_wrap=True)
    sums = dict.fromkeys(names, 0)
    for row in counts:
        for name in names:
            sums[name] += row[name]
        last_day = row["last_day"] or "-"
        table.add_row(row["agency"], *(str(row[name]) for name in names), str(last_day))
    table.add_row("all", *map(str, sums.values()), "")
    return table


# --- one address ----------------------------------------------------------------------


def _show_address(url: str, *, as_json: bool) -> None:
    from news_assets.store.queries.url_history import url_history

    with open_lake() as lake:
        events = url_history(lake, url)
    if not events:
        raise NewsAssetsError(
            f"no source has listed {url}; `news-assets agencies` shows which sources are polled"
        )
    if not as_json:
        _show_events(events)
        return
    for event in events:
        write_line(asdict(event))


def _show_events(events: "Sequence[Event]") -> None:
    terminal = Terminal()
    for article_id in dict.fromkeys(event.article_id for event in events):
        terminal.print(article_id, style="bold")
    for trace_id in dict.fromkeys(event.trace_id for event in events):
        if trace_id:
            terminal.print(f"trace_id {trace_id}")
    terminal.print(_events_table(events))


def _events_table(events: "Sequence[Event]") -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for title in ("when (UTC)", "stage", "outcome"):
        table.add_column(title, no_wrap=True)
    table.add_column("what", overflow="fold")
    for event in events:
        attempt = f" (attempt {event.attempts})" if event.attempts else ""
        when = f"{event.at:%Y-%m-%d %H:%M:%S}"
        table.add_row(when, event.stage, event.outcome + attempt, event.what)
    return table
