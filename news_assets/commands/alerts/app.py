"""The command line of `alerts`."""

from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    help="Show, send again and try messages of saved queries and to operators.",
)


@app.command("list")
def list_alerts(
    shows_all: Annotated[
        bool, typer.Option("--all", help="also those that were sent")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="maximum number of messages")] = 30,
    as_json: Annotated[bool, typer.Option("--json", help="JSON output")] = False,
) -> None:
    """List the messages that wait or were given up, newest first."""
    from news_assets.commands.alerts import messages

    messages.list_messages(limit, shows_all=shows_all, as_json=as_json)


@app.command()
def retry(
    message_ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MESSAGE...", help="ids of messages; without any, all given up ones"
        ),
    ] = None,
) -> None:
    """Send given up messages again."""
    from news_assets.commands.alerts import messages

    messages.retry(message_ids or ())


@app.command()
def test(
    channel: Annotated[
        str, typer.Argument(help="name of the channel in the file of queries")
    ],
) -> None:
    """Send a message over a channel now."""
    from news_assets.commands.alerts import messages

    messages.try_channel(channel)
