"""The commands for labels and classifiers of themes, which `cli.py` adds to its own."""

from typing import Annotated

import typer

from news_assets.commands.options import Json

app = typer.Typer()


_A_DESK = typer.Option(help="key of the desk")


@app.command("train-themes")
def train_themes(
    desk: Annotated[str, _A_DESK],
    error_rate: Annotated[
        float,
        typer.Option(
            min=0.001,
            max=0.5,
            help="share of themes without a second opinion that may be wrong",
        ),
    ] = 0.05,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show the scores, and store nothing")
    ] = False,
    as_json: Json = False,
) -> None:
    """Learn a desk's classifier of themes from labels of language models and persons,
    and put it to use.
    """
    from news_assets.commands.themes import train_themes as train_themes_command

    train_themes_command.train_themes(
        desk, error_rate, dry_run=dry_run, as_json=as_json
    )


@app.command("label")
def label_themes(
    desk: Annotated[str, _A_DESK],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="how many articles")] = 20,
    by: Annotated[
        str | None,
        typer.Option(help="name of the person; default: the user of this machine"),
    ] = None,
    as_json: Json = False,
    reads: Annotated[
        bool,
        typer.Option(
            "--read",
            help="store labels from standard input instead, a line {id, code, by} each",
        ),
    ] = False,
) -> None:
    """Show the articles with the least certain themes, and store a person's
    corrections.
    """
    from news_assets.commands.themes import label as label_command

    label_command.label(desk, limit, by, as_json=as_json, reads=reads)
