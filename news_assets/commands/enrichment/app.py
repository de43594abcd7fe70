"""The commands about language models, which `cli.py` adds to its own."""

from typing import Annotated

import typer

from news_assets.commands.options import Desk, From, Json, To

app = typer.Typer()


@app.command()
def cost(
    desk: Desk = None, from_day: From = None, to_day: To = None, as_json: Json = False
) -> None:
    """Show what a language model would cost for these articles, and why, and what it
    has cost so far.
    """
    from news_assets.commands.enrichment import cost as cost_command

    days = (from_day.date() if from_day else None, to_day.date() if to_day else None)
    cost_command.cost(desk, days, as_json=as_json)


@app.command()
def explain(
    article: Annotated[
        str, typer.Argument(metavar="ARTICLE|URL", help="id or address of an article")
    ],
    as_json: Json = False,
) -> None:
    """Show who made an article's enrichment, what it rests on and cost, and what was
    refused and why.
    """
    from news_assets.commands.enrichment import explain as explain_command

    explain_command.explain(article, as_json=as_json)
