"""The command `queue`: the agency-days that wait for a run, in their order."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from news_assets.clients.web.politeness import requests_now
from news_assets.commands.jsonlines import write_line
from news_assets.commands.lake import check_names, open_lake
from news_assets.desks.desk_files import load_desks
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.freshness.run_planner import priority_of
from news_assets.pipeline.stages import stage_names
from news_assets.records.derived import Failure
from news_assets.records.desks import Desk
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import pending_entries, stale_rows
from news_assets.terminal import Terminal

if TYPE_CHECKING:
    import polars as pl

SHOWN = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The work of an agency-day: its first stage that has some, the number of rows, and
    the attempts that failed.
    """

    priority: int
    desk: str
    agency: str
    day: date
    stage: str
    rows: int
    why: str
    since: datetime | None
    attempts: int


def queue(
    desk_key: str | None, limit: int | None, agency: str | None = None, *, as_json: bool
) -> None:
    """Print what waits, highest priority first, and how much is parked; with `agency`
    only of that one.
    """
    check_names(desk_key, agency)
    desks = [
        one
        for one in load_desks(Settings.read().desks, ALL_KINDS)
        if desk_key in (None, one.key)
    ]
    if not desks:
        raise NewsAssetsError(
            f"desk `{desk_key}` is in the lake only; name its desk file in NEWS_DESKS"
        )
    now = datetime.now(UTC)
    with open_lake() as lake:
        found = [row for desk in desks for row in waiting_days(lake, desk, now)]
        of_agency = {"agency": [agency]} if agency else {}
        failures = lake.read(
            Failure, None, desk=[desk.key for desk in desks], **of_agency
        )
    found = [row for row in found if agency in (None, row.agency)]
    found.sort(
        key=lambda row: (-row.priority, -row.day.toordinal(), row.desk, row.agency)
    )
    parked = sum(failure.next_try_at is None for failure in failures)
    if as_json:
        for row in found[:limit]:
            write_line(asdict(row))
    else:
        _show(found, limit or SHOWN, parked)


def requests_in_progress(*, as_json: bool) -> None:
    """Print the requests that runs of this machine have sent and not finished, the
    oldest first.
    """
    found, now = requests_now(Settings.read().hosts_dir), time.time()
    for one in found:
        if as_json:
            write_line(
                {"url": one.url, "began_at": datetime.fromtimestamp(one.began_at, UTC)}
            )
        else:
            Terminal().print_line(f"{now - one.began_at:6.0f} s  {one.url}")
    if not found and not as_json:
        Terminal().print_line("no request is in progress on this machine")


def waiting_days(lake: Lake, desk: Desk, now: datetime) -> list[Waiting]:
    """Return the agency-days of a desk with work that is due."""
    import polars as pl

    backlog = pl.concat(
        [pending_entries(lake, desk, now), stale_rows(lake, desk, now)],
        how="vertical_relaxed",
    )
    attempts: dict[tuple[str, date], int] = {}
    for failure in lake.read(Failure, desk=[desk.key]):
        key = (failure.agency, failure.day)
        attempts[key] = max(failure.attempts, attempts.get(key, 0))
    return [
        _waiting(rows, desk, attempts.get((str(agency), day), 0), now.date())
        for (agency, day), rows in backlog.group_by("agency", "day")
    ]


def _waiting(rows: "pl.DataFrame", desk: Desk, attempts: int, today: date) -> Waiting:
    names = stage_names(desk)
    stage = min(rows["stage"], key=names.index)
    first = rows.filter(rows["stage"] == stage)
    day = first["day"][0]
    return Waiting(
        priority=priority_of(day, today, attempts + 1),
        desk=desk.key,
        agency=first["agency"][0],
        day=day,
        stage=stage,
        rows=first.height,
        why=", ".join(sorted(set(first["why"]))),
        since=min(first["since"].drop_nulls(), default=None),
        attempts=attempts,
    )


def _show(found: Sequence[Waiting], limit: int, parked: int) -> None:
    terminal = Terminal()
    if found:
        table = Table(box=box.SIMPLE, pad_edge=False)
        for title in ("priority", "rows", "failed"):
            table.add_column(title, justify="right")
        for title in ("day", "desk", "agency", "stage", "why"):
            table.add_column(title, no_wrap=title == "day")
        for row in found[:limit]:
            numbers = (str(row.priority), str(row.rows), str(row.attempts or ""))
            table.add_row(
                *numbers, str(row.day), row.desk, row.agency, row.stage, row.why
            )
        terminal.print(table)
        if len(found) > limit:
            terminal.print(
                f"{len(found) - limit} more; --limit shows more of them, --desk fewer"
            )
    else:
        terminal.print_line("nothing waits")
    if parked:
        terminal.print_line(
            f"{parked} parked: `news-assets failures list` shows why, `failures retry` releases"
            " them"
        )
