"""The command `retention`."""

from datetime import UTC, datetime

from rich.table import Table

from news_assets.commands.lake import open_lake
from news_assets.settings import Settings
from news_assets.store.retention import OldRows, delete_old_rows
from news_assets.terminal import Terminal


def retention(*, dry_run: bool, irreplaceable: bool) -> None:
    """Delete the rows that are too old, or only count them; print rows and bytes by
    table and month.
    """
    keep, now = Settings.read().keep_days, datetime.now(UTC)
    with open_lake() as lake:
        months = list(
            delete_old_rows(
                lake, keep, now, irreplaceable=irreplaceable, dry_run=dry_run
            )
        )
    terminal = Terminal()
    if months:
        terminal.print(_table(months))
    rows, size = (
        sum(month.rows for month in months),
        sum(month.file_bytes for month in months),
    )
    verb = "would be" if dry_run else "were"
    terminal.print_line(
        f"{rows:,} rows {verb} deleted, about {size / 1e6:,.1f} MB of files"
    )
    if rows and not dry_run:
        terminal.print_line(
            "maintenance deletes the files when no snapshot and no backup needs them"
        )


def _table(months: list[OldRows]) -> Table:
    table = Table("table", "month", box=None)
    for name in ("rows", "MB", "kept whatever their age"):
        table.add_column(name, justify="right")
    for one in months:
        size = f"{one.file_bytes / 1e6:,.1f}"
        table.add_row(
            one.table, f"{one.month:%Y-%m}", f"{one.rows:,}", size, f"{one.kept:,}"
        )
    return table
