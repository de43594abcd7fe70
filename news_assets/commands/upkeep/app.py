"""The commands for the upkeep of the lake, which `cli.py` adds to its own."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def backup(
    to: Annotated[
        Path | None,
        typer.Option(help="folder of the backup; default: NEWS_HOME/backups"),
    ] = None,
    with_data: Annotated[
        bool, typer.Option("--data", help="copy the data files too, or link them")
    ] = False,
) -> None:
    """Copy the lake's catalog, and with --data its files, while writers go on."""
    from news_assets.commands.upkeep import backups

    backups.backup(to, with_data=with_data)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="the backup")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show what would be done, and do nothing")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="also over a newer catalog or without some files"),
    ] = False,
) -> None:
    """Bring the lake back from a backup; the present catalog is kept beside it, and no
    data file is deleted.
    """
    from news_assets.commands.upkeep import backups

    backups.restore(file, dry_run=dry_run, force=force)


@app.command()
def migrate(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show what would change, and do nothing")
    ] = False,
) -> None:
    """Bring the tables of an older lake up to date, as opening it does."""
    from news_assets.commands.upkeep import backups

    backups.migrate(dry_run=dry_run)


@app.command()
def retention(
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="show what would be deleted, and do nothing"),
    ] = False,
    irreplaceable: Annotated[
        bool,
        typer.Option("--irreplaceable", help="also of articles whose page may be gone"),
    ] = False,
) -> None:
    """Delete old pages, polls, revisions, model answers and changes, as daily
    maintenance does, and print how many.
    """
    from news_assets.commands.upkeep import retention as retention_command

    retention_command.retention(dry_run=dry_run, irreplaceable=irreplaceable)
