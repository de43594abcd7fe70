"""The commands `poll` and `process`: one agency in this process, without Dagster."""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial

from rich import box
from rich.table import Table

from news_assets.clients.factory import open_ports
from news_assets.commands.civic.queue import waiting_days
from news_assets.commands.lake import open_lake
from news_assets.desks.desk_files import load_desks
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.poll.poll import poll_agencies
from news_assets.pipeline.stages import fetching_stages, stage_named, stage_names
from news_assets.records.desks import Desk
from news_assets.records.polling import Poll
from news_assets.records.reading import AgencyDays
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS, adapter_of
from news_assets.store.queries.spending import spent
from news_assets.terminal import Terminal

_SHOWN_KEYS = 5  # in an error message


def poll(agency: str, desk_key: str | None, *, full: bool) -> None:
    """Poll the sources of one agency now and print the polls; with `full` all days of a
    pass, without change signals.

    Raises:
        NewsAssetsError: No desk file has the agency, or every source failed.
    """
    settings = Settings.read()
    desk = _desk_of(settings, agency, desk_key)
    with (
        open_lake() as lake,
        open_ports(settings, ("fetcher", "sandbox"), partial(spent, lake)) as ports,
    ):
        polls = list(
            poll_agencies(
                lake,
                desk,
                [agency],
                ports["fetcher"],
                ports["sandbox"],
                adapter_of,
                _now,
                uuid.uuid4().hex,
                cooldown=timedelta(0),
                full_pass=full,
            )
        )
    _show(polls)
    if polls and all(
        one.outcome not in ("ok", "unchanged", "skipped") for one in polls
    ):
        raise NewsAssetsError(
            f"none of {len(polls)} sources of {agency} could be read: {polls[0].reason}"
        )


def process(agency: str, desk_key: str | None) -> None:
    """Run every stage over the days of one agency that have work, and print how much
    each stage wrote.

    With NEWS_WORK=fetch only the stages that fetch.

    Raises:
        NewsAssetsError: No desk file has the agency.
    """
    settings = Settings.read()
    desk = _desk_of(settings, agency, desk_key)
    terminal = Terminal()
    with open_lake() as lake:
        days = {
            row.day for row in waiting_days(lake, desk, _now()) if row.agency == agency
        }
        if not days:
            terminal.print_line(f"nothing of {agency} waits")
            return
        keys = AgencyDays(desk.key, frozenset((agency, day) for day in days))
        for name in (
            fetching_stages(desk) if settings.work == "fetch" else stage_names(desk)
        ):
            stage = stage_named(name)
            with open_ports(settings, stage.ports, partial(spent, lake)) as ports:
                written = stage.run_batch(lake, desk, keys, _now, ports)
            terminal.print_line(f"{name}: {written}")


def _now() -> datetime:
    return datetime.now(UTC)


def _desk_of(settings: Settings, agency: str, desk_key: str | None) -> Desk:
    """Return the desk with this agency."""
    desks = [
        one
        for one in load_desks(settings.desks, ALL_KINDS, settings.caps)
        if desk_key in (None, one.key)
    ]
    found = [desk for desk in desks if agency in {one.key for one in desk.agencies}]
    if len(found) > 1:
        raise NewsAssetsError(
            f"{agency} is in {' and '.join(desk.key for desk in found)}; name one with --desk"
        )
    if found:
        return found[0]
    keys = sorted(
        one.key
        for desk in desks
        for one in desk.agencies
        if one.key.startswith(agency[:2])
    )[:_SHOWN_KEYS]
    like = (
        f"; there are: {', '.join(keys)}"
        if keys
        else "; `news-assets agencies` lists them"
    )
    raise NewsAssetsError(f"no desk file has the agency `{agency}`{like}")


def _show(polls: Sequence[Poll]) -> None:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for title in ("source", "outcome", "reason"):
        table.add_column(title)
    for title in ("listed", "new", "changed"):
        table.add_column(title, justify="right")
    for one in polls:
        counts = (str(one.entry_count), str(one.new_count), str(one.updated_count))
        table.add_row(one.source_id, one.outcome, one.reason or "", *counts)
    Terminal().print(table)
