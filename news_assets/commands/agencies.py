"""The command `agencies`: every agency and source of the desks, and how each is going."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from typing import Any

from rich.console import Console
from rich.text import Text

from news_assets.commands.jsonlines import write_line
from news_assets.commands.lake import check_names, open_lake
from news_assets.desks.loader import load_desks
from news_assets.pipeline.silence import duration
from news_assets.records import Agency, Desk
from news_assets.settings import Settings
from news_assets.sources.kinds import KINDS
from news_assets.store.agencies import source_records
from news_assets.store.health import silent_agencies
from news_assets.store.lake import Lake

_MARKS = {"ok": "o", "unchanged": "=", "gone": "G", "blocked": "B", "failed": "F", "skipped": "-"}
_LEGEND = "polls, newest last: + new entries, o listed nothing new, = unchanged, F failed, B blocked, G gone, - skipped"

Row = dict[str, Any]


def agencies(desk_key: str | None, *, as_json: bool) -> None:
    """Print every source of the desks with its last polls, its rhythm, and what is silent."""
    check_names(desk_key, None)
    desks = [desk for desk in load_desks(Settings.read().desks, KINDS) if desk_key in (None, desk.key)]
    now = datetime.now(UTC)
    with open_lake() as lake:
        rows = {desk.key: list(source_rows(lake, desk, now)) for desk in desks}
    for desk in desks:
        if as_json:
            for row in rows[desk.key]:
                write_line(row)
        else:
            _show(desk, rows[desk.key], now)


def source_rows(lake: Lake, desk: Desk, now: datetime) -> Iterator[Row]:
    """Yield one row for each source of a desk, as `--json` writes it; what was never polled has None."""
    found = {row["source_id"]: row for row in source_records(lake, now, desk.key).iter_rows(named=True)}
    silences = silent_agencies(lake, desk, now)
    silent = {str(row[0]): dict(zip(silences.header, row, strict=True)) for row in silences.rows}
    for agency in desk.agencies:
        yield from _rows_of(agency, desk, found, silent.get(agency.key, {}))


def _rows_of(agency: Agency, desk: Desk, found: Mapping[str, Row], silence: Row) -> Iterator[Row]:
    of_agency = {
        "desk": desk.key,
        "agency": agency.key,
        "name": agency.name,
        "type": agency.type,
        "parent": agency.parent,
        "is_active": agency.is_active,
        "reason": agency.reason,
    }
    for source in agency.sources:
        record = found.get(source.source_id, {})
        yield of_agency | {
            "source_id": source.source_id,
            "kind": source.kind,
            "url": source.url,
            "polls": record.get("polls", []),
            "interval_s": source.every_minutes * 60.0 if source.every_minutes else record.get("interval_s"),
            "next_poll_at": record.get("next_poll_at") if agency.is_active else None,
            "new_ratio": record.get("new_ratio"),
            "last_new_at": record.get("last_new_at"),
            "last_reason": record.get("last_reason"),
            "silent_for": silence.get("silent_for"),
            "habit": silence.get("habit"),
        }


# --- for people ------------------------------------------------------------------------------------------------------


def _show(desk: Desk, rows: list[Row], now: datetime) -> None:
    console = Console(highlight=False, soft_wrap=True)
    active = sum(agency.is_active for agency in desk.agencies)
    console.print(f"desk {desk.key}: {len(desk.agencies)} agencies, {active} active", style="bold")
    console.print(_LEGEND, style="dim")
    for _, of_agency in groupby(rows, key=itemgetter("agency")):
        sources = list(of_agency)
        console.print(Text(": ".join(_heading(sources[0])), style="" if sources[0]["is_active"] else "dim"))
        for row in sources:
            console.print(Text(f"  {row['kind']} {row['url']}", style="dim"))
            console.print(Text(f"    {', '.join(_facts(row, now))}"))


def _heading(row: Row) -> Iterator[str]:
    what = " of ".join(filter(None, (row["type"], row["parent"])))
    yield f"{row['agency']}  {row['name']}" + (f" ({what})" if what else "")
    if not row["is_active"]:
        yield f"not active: {row['reason']}"
    if row["silent_for"]:
        yield f"silent for {row['silent_for']}; usually {row['habit']}"


def _facts(row: Row, now: datetime) -> Iterator[str]:
    yield "".join(_mark(poll) for poll in row["polls"]) or "not polled in the last days"
    if row["interval_s"]:
        yield f"every {duration(timedelta(seconds=row['interval_s']))}"
    if row["next_poll_at"]:
        yield f"next in {duration(row['next_poll_at'] - now)}" if row["next_poll_at"] > now else "due"
    if row["new_ratio"] is not None:
        yield f"{row['new_ratio']:.0%} new"
    if row["last_new_at"]:
        yield f"last new {row['last_new_at']:%Y-%m-%d %H:%M} UTC"
    if row["last_reason"]:
        yield row["last_reason"]


def _mark(poll: Row) -> str:
    return "+" if poll["outcome"] == "ok" and poll["new_count"] else _MARKS.get(poll["outcome"], "?")
