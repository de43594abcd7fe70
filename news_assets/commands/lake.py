"""The commands that read the lake: `status` and `export`."""

import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import nullcontext
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from news_assets.commands.jsonlines import write_line
from news_assets.commands.options import Form
from news_assets.desks.desk_files import load_desks
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.civic.pace import FUTURE_DAYS
from news_assets.records.desks import Desk
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.store.address import Address
from news_assets.store.lake import Lake
from news_assets.store.queries.overview import count_columns, stage_counts
from news_assets.store.tables import TABLES, columns, polars_schema
from news_assets.store.tables import Table as LakeTable
from news_assets.terminal import Terminal, documents, report
from news_assets.text.tabular.cells import json_of
from news_assets.text.tabular.files import write_csv, write_xlsx

if TYPE_CHECKING:
    import polars

_COPIED_BYTES = 1_000_000  # at a time
_EARLIEST = date(1990, 1, 1)  # earlier dates of feeds are ignored
_BINARY = (Form.PARQUET, Form.XLSX)


def lake_address() -> Address:
    """Return the address of the lake that the settings name."""
    settings = Settings.read()
    return Address(settings.catalog, settings.data, str(settings.backups_dir))


def open_lake() -> Lake:
    """Return the lake that the settings name."""
    address = lake_address()
    return Lake.open(address.catalog, address.data, backups=address.backups)


def desk_named(key: str) -> Desk | None:
    """Return the desk of this key in the desk files; None for one that is in the lake
    only.
    """
    return next(
        (
            desk
            for desk in load_desks(Settings.read().desks, ALL_KINDS)
            if desk.key == key
        ),
        None,
    )


def check_names(desk: str | None, agency: str | None) -> None:
    """Check that the desk and the agency are in the desk files or in the lake.

    Raises:
        NewsAssetsError: One of them is not; the message lists those that exist.
    """
    if desk is None and agency is None:
        return
    known = {
        (one.key, each.key)
        for one in load_desks(Settings.read().desks, ALL_KINDS)
        for each in one.agencies
    }
    if not _are_known(known, desk, agency):
        with open_lake() as lake:
            known |= set(
                lake.query("SELECT DISTINCT desk, agency FROM entries").iter_rows()
            )
    if not _are_known(known, desk, None):
        raise NewsAssetsError(
            f"no desk `{desk}`; there are: {', '.join(sorted({key for key, _ in known}))}"
        )
    if not _are_known(known, desk, agency):
        agencies = ", ".join(
            sorted({each for key, each in known if desk in (None, key)})
        )
        raise NewsAssetsError(f"no agency `{agency}`; there are: {agencies}")


def _are_known(
    known: Collection[tuple[str, str]], desk: str | None, agency: str | None
) -> bool:
    return any(desk in (None, key) and agency in (None, each) for key, each in known)


def status(desk: str | None, days: int, *, as_json: bool) -> None:
    """Print the rows of each stage, by agency, of the last days and, where meetings are
    listed, of those to come.
    """
    check_names(desk, None)
    tomorrow = datetime.now(UTC).date() + timedelta(
        days=1
    )  # it has begun for agencies east of Greenwich
    with open_lake() as lake:
        counts = stage_counts(
            lake,
            tomorrow - timedelta(days=days),
            tomorrow + timedelta(days=FUTURE_DAYS),
            desk,
        )
    if as_json:
        for row in counts.iter_rows(named=True):
            write_line(row)
    else:
        show_counts(counts)


def show_counts(counts: "polars.DataFrame") -> None:
    """Print counts, a table for each desk with its sums."""
    terminal = Terminal()
    for (desk,), rows in counts.group_by("desk", maintain_order=True):
        table = Table(
            title=f"desk {desk}", box=None, title_justify="left", padding=(0, 1, 0, 0)
        )
        table.add_column("agency")
        for column in count_columns():
            table.add_column(column, justify="right")
        table.add_column("last day", no_wrap=True)
        for row in rows.iter_rows(named=True):
            table.add_row(
                row["agency"],
                *(str(row[column]) for column in count_columns()),
                str(row["last_day"] or "-"),
            )
        table.add_row(
            "all", *(str(rows[column].sum()) for column in count_columns()), ""
        )
        terminal.print(table)
    if counts.is_empty():
        terminal.print("the lake has no rows yet; `make demo` fills a sample lake")


# --- export ---------------------------------------------------------------------------


def export(
    name: str,
    desk: str | None,
    agency: str | None,
    days: tuple[date | None, date | None],
    form: Form,
    output: Path | None,
) -> None:
    """Write the rows of a table, a few thousand at a time."""
    table = next((table for table in TABLES if table.name == name), None)
    if table is None:
        raise NewsAssetsError(
            f"no table `{name}`; there are: {', '.join(table.name for table in TABLES)}"
        )
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
    days: tuple[date | None, date | None],
) -> dict[str, Any]:
    filters: dict[str, Any] = {}
    if desk:
        filters["desk"] = [desk]
    if agency:
        filters["agency"] = [agency]
    if any(days):
        first, last = (
            days[0] or _EARLIEST,
            days[1] or datetime.now(UTC).date() + timedelta(days=1),
        )
        filters["day"] = [
            first + timedelta(days=n) for n in range((last - first).days + 1)
        ]
    if unknown := filters.keys() - {column.name for column in columns(table)}:
        raise NewsAssetsError(
            f"table `{table.name}` has no {' and no '.join(sorted(unknown))} to filter by"
        )
    return filters


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
