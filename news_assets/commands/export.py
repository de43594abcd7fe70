"""The command `export`: rows of a table, meetings as a calendar or as events, or the
feeds of the desks as OPML.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from news_assets.commands.meeting_commands import Selection, export_meetings
from news_assets.commands.opening import check_names, desks_with_key, open_lake
from news_assets.commands.terminal import (
    Agency,
    Days,
    Desk,
    From,
    To,
    days_between,
    documents,
    report,
    write_document,
)
from news_assets.desks.desk_files import load_desks
from news_assets.desks.site_lists import build_opml, is_feed
from news_assets.errors import NewsAssetsError
from news_assets.records.desks import Desk as DeskRecord
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.store.tables import TABLES, columns, polars_schema
from news_assets.store.tables import Table as LakeTable
from news_assets.text.defuse import json_of, write_csv, write_xlsx

if TYPE_CHECKING:
    import polars


class Form(StrEnum):
    """A file format."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    XLSX = "xlsx"
    ICAL = "ical"
    OCD = "ocd"


_OF_MEETINGS = (Form.ICAL, Form.OCD)  # of the table `meetings` only
_BINARY = (Form.PARQUET, Form.XLSX)
_ONE_OF = "name one table, or --opml with --desk and --output only"
_COPIED_BYTES = 1_000_000  # at a time
_EARLIEST = date(1990, 1, 1)  # earlier dates of feeds are ignored


_Table = Annotated[
    str | None, typer.Argument(help="name of the table; not with --opml")
]
_Opml = Annotated[
    bool,
    typer.Option(
        "--opml", help="export the feeds of the desks instead, for feed readers"
    ),
]
_Body = Annotated[
    str | None,
    typer.Option(
        help="with ical and ocd: council, board or committee; or a part of its name"
    ),
]
_Words = Annotated[
    str | None,
    typer.Option(
        "--search",
        help="with ical and ocd: meetings with items that have these words",
    ),
]
_Form = Annotated[
    Form,
    typer.Option(
        "--format",
        help="jsonl, csv, parquet or xlsx; of meetings also ical and ocd",
    ),
]
_Output = Annotated[
    Path | None, typer.Option(help="file to write; default: standard output")
]


def export(
    table: _Table = None,
    opml: _Opml = False,
    desk: Desk = None,
    agency: Agency = None,
    from_day: From = None,
    to_day: To = None,
    body: _Body = None,
    words: _Words = None,
    form: _Form = Form.JSONL,
    output: _Output = None,
) -> None:
    """Write what the options select to a file or to standard output.

    Raises:
        NewsAssetsError: No such table, desk or agency, or nothing is selected.
    """
    days = days_between(from_day, to_day)
    if opml:
        if any((table, agency, *days)):
            raise typer.BadParameter(_ONE_OF)
        _export_opml(desk, output)
        return
    if table is None:
        raise typer.BadParameter(_ONE_OF)
    if form in _OF_MEETINGS and table == "meetings":
        selection = Selection(
            desk=desk, agency=agency, body=body, days=days, words=words
        )
        export_meetings(selection, output, is_calendar=form is Form.ICAL)
        return
    if body or words or form in _OF_MEETINGS:
        raise typer.BadParameter(
            "--body, --search, ical and ocd take each other: export meetings --format ical"
        )
    _export_table(table, desk, agency, days, form, output)


def _export_table(
    name: str,
    desk: str | None,
    agency: str | None,
    days: Days,
    form: Form,
    output: Path | None,
) -> None:
    """Write the rows of a table, a few thousand at a time."""
    tables = {table.name: table for table in TABLES if not table.is_private}
    table = tables.get(name)
    if table is None:
        raise NewsAssetsError(f"no table `{name}`; there are: {', '.join(tables)}")
    check_names(desk, agency)
    if form in _BINARY and output is None and sys.stdout.isatty():
        raise NewsAssetsError(
            f"{form} cannot be written to a terminal; name a file with --output"
        )
    with open_lake() as lake:
        frames = lake.stream(table.record, **_filters(table, desk, agency, days))
        if form in _BINARY:
            _write_binary(table, frames, form, output)
        else:
            _write_text(table, frames, form, output)


def _filters(
    table: LakeTable,
    desk: str | None,
    agency: str | None,
    days: Days,
) -> dict[str, Any]:
    filters: dict[str, Any] = {}
    if desk:
        filters["desk"] = [desk]
    if agency:
        filters["agency"] = [agency]
    if any(days):
        filters["day"] = _days_from_to(*days)
    if unknown := filters.keys() - set(_names(table)):
        raise NewsAssetsError(
            f"table `{table.name}` has no {' and no '.join(sorted(unknown))} to filter by"
        )
    return filters


def _days_from_to(first: date | None, last: date | None) -> list[date]:
    """Return the days with the first and the last; without these, from the earliest and
    to tomorrow.
    """
    day = _EARLIEST if first is None else first
    if last is None:
        last = datetime.now(UTC).date() + timedelta(days=1)
    found = []
    while day <= last:
        found.append(day)
        day += timedelta(days=1)
    return found


def _write_text(
    table: LakeTable,
    frames: "Iterator[polars.DataFrame]",
    form: Form,
    output: Path | None,
) -> None:
    rows = _rows(frames)
    with (
        output.open("w", encoding="utf-8", newline="")
        if output
        else nullcontext(documents)
    ) as file:
        if form is Form.CSV:
            write_csv(file, _names(table), rows)
            return
        for row in rows:
            file.write(json_of(row) + "\n")


def _rows(frames: "Iterator[polars.DataFrame]") -> Iterator[dict[str, Any]]:
    for frame in frames:
        yield from frame.iter_rows(named=True)


def _names(table: LakeTable) -> list[str]:
    return [column.name for column in columns(table)]


def _write_binary(
    table: LakeTable,
    frames: "Iterator[polars.DataFrame]",
    form: Form,
    output: Path | None,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole = output or Path(folder) / "whole"
        if form is Form.PARQUET:
            _write_parquet(table, frames, Path(folder), whole)
        else:
            with whole.open("wb") as written:
                cut = write_xlsx(written, _names(table), _rows(frames))
            if cut:
                report(
                    f"{cut} texts are longer than a cell of a spreadsheet and were cut; --format"
                    " csv has them whole"
                )
        if output is None:
            with whole.open("rb") as file:
                for part in iter(partial(file.read, _COPIED_BYTES), b""):
                    documents.write_bytes(part)


def _write_parquet(
    table: LakeTable, frames: "Iterator[polars.DataFrame]", parts: Path, whole: Path
) -> None:
    """Write each batch to a file of the folder and then join the files, so that memory
    holds one batch at most.
    """
    import polars as pl

    pl.DataFrame(schema=polars_schema(table)).write_parquet(parts / "000000.parquet")
    for number, frame in enumerate(frames, start=1):
        frame.write_parquet(parts / f"{number:06}.parquet")
    pl.scan_parquet(parts / "*.parquet").sink_parquet(whole)


# --- feeds ----------------------------------------------------------------------------


def _export_opml(desk_key: str | None, output: Path | None) -> None:
    """Write the feeds of the desks as OPML; sources that are not feeds are counted on
    standard error.
    """
    desks = load_desks(Settings.read().desks, ALL_KINDS)
    chosen = desks_with_key(desks, desk_key)
    if not chosen:
        raise NewsAssetsError(
            f"no desk `{desk_key}`; known: {', '.join(desk.key for desk in desks)}"
        )
    _count_left_out(chosen)
    document = build_opml(chosen, datetime.now(UTC))
    write_document(document, output)


def _count_left_out(desks: Iterable[DeskRecord]) -> None:
    for desk in desks:
        kinds = Counter(source.kind for source in desk.sources if not is_feed(source))
        if kinds:
            named = ", ".join(sorted(kinds))
            report(
                f"desk {desk.key}: {kinds.total()} source(s) left out: not feeds ({named})"
            )
        off = sum(not agency.is_active for agency in desk.agencies)
        if off:
            report(f"desk {desk.key}: {off} agencies left out: not active")
