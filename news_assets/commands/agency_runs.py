"""The commands `queue`, `poll` and `process`: the agency-days that wait for a run, and
one agency in this process, without Dagster.
"""

import time
import uuid
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from news_assets.clients.factory import open_ports
from news_assets.clients.web.host_slots import RequestNow, open_slots
from news_assets.commands.opening import (
    check_names,
    desks_of_files,
    desks_with_key,
    open_lake,
)
from news_assets.commands.terminal import Agency, Json, Terminal, write_line
from news_assets.commands.terminal import Desk as DeskOption
from news_assets.desks.desk_files import load_desks
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.poll.poll import PollOptions, poll_agencies
from news_assets.pipeline.run_planner import priority_of
from news_assets.pipeline.stages import fetching_stages, stage_named, stage_names
from news_assets.records.articles import Poll
from news_assets.records.derived import Failure
from news_assets.records.desks import Desk
from news_assets.records.reading import AgencyDays
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS, adapter_of
from news_assets.store.lake import Lake
from news_assets.store.queries.backlog import pending_entries, stale_rows
from news_assets.store.queries.spending import spent

if TYPE_CHECKING:
    import polars as pl

_OneAgency = Annotated[
    str, typer.Argument(help="key of the agency, such as paloaltoCA")
]

_SHOWN_DAYS = 50  # without --limit
_SHOWN_KEYS = 5  # in an error message
_READ = ("ok", "unchanged", "skipped")  # outcomes of polls that did not fail


# --- queue ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Waiting:
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


_Limit = Annotated[
    int | None,
    typer.Option(min=1, help="how many to show; default: 50, with --json all"),
]
_Now = Annotated[
    bool,
    typer.Option("--now", help="the requests that are in progress"),
]


def queue(
    desk: DeskOption = None,
    agency: Agency = None,
    limit: _Limit = None,
    now: _Now = False,
    as_json: Json = False,
) -> None:
    """Print what waits, highest priority first, and how much is parked; with `now` the
    requests that runs of this machine have sent and not finished.
    """
    if now:
        _show_requests(as_json=as_json)
        return
    check_names(desk, agency)
    desks = desks_of_files(desk)
    with open_lake() as lake:
        found = _queue_of(lake, desks, agency)
        parked = _parked_count(lake, desks, agency)
    if not as_json:
        _show_queue(found, limit or _SHOWN_DAYS, parked)
        return
    for row in found[:limit]:
        write_line(asdict(row))


def _queue_of(lake: Lake, desks: Sequence[Desk], agency: str | None) -> list[_Waiting]:
    found = []
    for desk in desks:
        for row in _waiting_days(lake, desk, _now()):
            if agency in (None, row.agency):
                found.append(row)
    return sorted(
        found,
        key=lambda row: (-row.priority, -row.day.toordinal(), row.desk, row.agency),
    )


def _parked_count(lake: Lake, desks: Sequence[Desk], agency: str | None) -> int:
    filters = {"desk": [desk.key for desk in desks]}
    if agency:
        filters["agency"] = [agency]
    failures = lake.read(Failure, None, **filters)
    return sum(failure.next_try_at is None for failure in failures)


def _show_requests(*, as_json: bool) -> None:
    found, now = _requests_now(), time.time()
    if as_json:
        for one in found:
            began_at = datetime.fromtimestamp(one.began_at, UTC)
            write_line({"url": one.url, "began_at": began_at})
        return
    for one in found:
        Terminal().print_line(f"{now - one.began_at:6.0f} s  {one.url}")
    if not found:
        Terminal().print_line("no request is in progress")


def _requests_now() -> list[RequestNow]:
    settings = Settings.read()
    try:
        with closing(open_slots(settings.hosts_dir, settings.catalog)) as slots:
            return slots.requests_now()
    except OSError as error:
        raise NewsAssetsError(f"requests cannot be read: {error}") from error


def _waiting_days(lake: Lake, desk: Desk, now: datetime) -> list[_Waiting]:
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
    found = []
    for (agency, day), rows in backlog.group_by("agency", "day"):
        tried = attempts.get((str(agency), day), 0)
        found.append(_waiting(rows, desk, tried, now.date()))
    return found


def _waiting(rows: "pl.DataFrame", desk: Desk, attempts: int, today: date) -> _Waiting:
    names = stage_names(desk)
    stage = min(rows["stage"], key=names.index)
    first = rows.filter(rows["stage"] == stage)
    day = first["day"][0]
    return _Waiting(
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


def _show_queue(found: Sequence[_Waiting], limit: int, parked: int) -> None:
    terminal = Terminal()
    if found:
        terminal.print(_queue_table(found[:limit]))
    else:
        terminal.print_line("nothing waits")
    if len(found) > limit:
        terminal.print(
            f"{len(found) - limit} more; --limit shows more of them, --desk fewer"
        )
    if parked:
        terminal.print_line(
            f"{parked} parked: `news-assets failures list` shows why, `failures retry` releases"
            " them"
        )


def _queue_table(found: Sequence[_Waiting]) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for title in ("priority", "rows", "failed"):
        table.add_column(title, justify="right")
    for title in ("day", "desk", "agency", "stage", "why"):
        table.add_column(title, no_wrap=title == "day")
    for row in found:
        numbers = (str(row.priority), str(row.rows), str(row.attempts or ""))
        table.add_row(*numbers, str(row.day), row.desk, row.agency, row.stage, row.why)
    return table


# --- one agency -----------------------------------------------------------------------


_Full = Annotated[
    bool,
    typer.Option(
        "--full", help="all days of a nightly pass, whatever the change signal says"
    ),
]


def poll(
    agency: _OneAgency,
    desk: DeskOption = None,
    full: _Full = False,
) -> None:
    """Poll the sources of one agency now and print the polls; with `full` all days of a
    pass, without change signals.

    Raises:
        NewsAssetsError: No desk file has the agency, or every source failed.
    """
    settings = Settings.read()
    chosen = _desk_of(settings, agency, desk)
    with (
        open_lake() as lake,
        open_ports(settings, ("fetcher", "sandbox"), partial(spent, lake)) as ports,
    ):
        polls = list(
            poll_agencies(
                lake,
                chosen,
                [agency],
                ports["fetcher"],
                ports["sandbox"],
                adapter_of,
                _now,
                uuid.uuid4().hex,
                options=PollOptions(cooldown=timedelta(0), full_pass=full),
            )
        )
    _show_polls(polls)
    if _all_failed(polls):
        raise NewsAssetsError(
            f"none of {len(polls)} sources of {agency} could be read: {polls[0].reason}"
        )


def _all_failed(polls: Sequence[Poll]) -> bool:
    """Return whether there are polls, and none could read its source."""
    outcomes = {one.outcome for one in polls}
    return bool(outcomes) and outcomes.isdisjoint(_READ)


def process(agency: _OneAgency, desk: DeskOption = None) -> None:
    """Run every stage over the days of one agency that have work, and print how much
    each stage wrote.

    With NEWS_WORK=fetch only the stages that fetch.

    Raises:
        NewsAssetsError: No desk file has the agency.
    """
    settings = Settings.read()
    chosen = _desk_of(settings, agency, desk)
    terminal = Terminal()
    with open_lake() as lake:
        waiting = _queue_of(lake, [chosen], agency)
        if not waiting:
            terminal.print_line(f"nothing of {agency} waits")
            return
        days = frozenset((agency, row.day) for row in waiting)
        names = stage_names(chosen)
        if settings.work == "fetch":
            names = fetching_stages(chosen)
        for name in names:
            stage = stage_named(name)
            with open_ports(settings, stage.ports, partial(spent, lake)) as ports:
                written = stage.run_batch(
                    lake, chosen, AgencyDays(chosen.key, days), _now, ports
                )
            terminal.print_line(f"{name}: {written}")


def _now() -> datetime:
    return datetime.now(UTC)


def _desk_of(settings: Settings, agency: str, desk_key: str | None) -> Desk:
    """Return the desk with this agency."""
    every = load_desks(settings.desks, ALL_KINDS, settings.caps)
    found: dict[str, Desk] = {}
    like = set[str]()
    for desk in desks_with_key(every, desk_key):
        for one in desk.agencies:
            if one.key == agency:
                found[desk.key] = desk
            if one.key.startswith(agency[:2]):
                like.add(one.key)
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise NewsAssetsError(
            f"{agency} is in {' and '.join(found)}; name one with --desk"
        )
    advice = "`news-assets agencies` lists them"
    if like:
        advice = f"there are: {', '.join(sorted(like)[:_SHOWN_KEYS])}"
    raise NewsAssetsError(f"no desk file has the agency `{agency}`; {advice}")


def _show_polls(polls: Sequence[Poll]) -> None:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for title in ("source", "outcome", "reason"):
        table.add_column(title)
    for title in ("listed", "new", "changed"):
        table.add_column(title, justify="right")
    for one in polls:
        counts = (str(one.entry_count), str(one.new_count), str(one.updated_count))
        table.add_row(one.source_id, one.outcome, one.reason or "", *counts)
    Terminal().print(table)
