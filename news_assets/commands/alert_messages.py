"""Show the messages of saved queries and operators, send given up ones again, and try a
channel.
"""

import uuid
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from news_assets.clients.factory import open_notifier
from news_assets.commands.jsonlines import write_line
from news_assets.commands.opening import open_lake
from news_assets.commands.options import Json
from news_assets.commands.terminal import Terminal
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.alerts.outbox import messages_to, send_again
from news_assets.pipeline.alerts.query_file import Alerts, load_alerts, with_stored
from news_assets.records.alerts import OPERATORS, Message, QueryHit
from news_assets.settings import Settings

app = typer.Typer(add_completion=False, no_args_is_help=True)


@app.command("list")
def list_messages(
    shows_all: Annotated[
        bool, typer.Option("--all", help="also those that were sent")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="maximum number of messages")] = 30,
    as_json: Json = False,
) -> None:
    """List the messages that wait or were given up, newest first."""
    with open_lake() as lake:
        rules, problems = with_stored(_rules(), lake)
        waiting = lake.frame(QueryHit, None, ("query",), told_at=[None]).height
        found = lake.read(Message) if shows_all else lake.read(Message, sent_at=[None])
    shown = found[::-1][:limit]
    if as_json:
        for message in shown:
            write_line(asdict(message) | {"state": _state_of(message)})
        return
    terminal = Terminal()
    terminal.print_line(
        f"{len(rules.queries)} queries, {len(rules.channels)} channels; {waiting} hits wait for"
        " their digest"
    )
    for problem in problems.values():
        terminal.print_line(problem)
    if shown:
        terminal.print(_table(shown))
    if len(found) > len(shown):
        terminal.print_line(
            f"{len(found) - len(shown)} more; --limit shows more of them"
        )


def _state_of(message: Message) -> str:
    if message.sent_at:
        return "sent"
    return "waiting" if message.next_try_at else "given up"


def _table(messages: Sequence[Message]) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for name in ("message", "channel", "state", "about"):
        table.add_column(name, overflow="fold")
    for one in messages:
        when = one.sent_at or one.next_try_at or one.created_at
        state = f"{_state_of(one)} {when:%Y-%m-%d %H:%M}Z, attempt {one.attempts}"
        about = f"{one.subject}\n{one.reason}" if one.reason else one.subject
        table.add_row(one.message_id, one.channel, state, about)
    return table


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
    now = datetime.now(UTC)
    with open_lake() as lake:
        chosen = lake.transact(lambda rows: send_again(rows, message_ids or None, now))
    unknown = sorted(set(message_ids or ()) - {one.message_id for one in chosen})
    if unknown:
        named = ", ".join(f"`{one}`" for one in unknown)
        others = f"; {len(chosen)} others are due now" if chosen else ""
        raise NewsAssetsError(
            f"{named}: no given up message; see `news-assets alerts list`{others}"
        )
    Terminal().print_line(
        f"{len(chosen)} due now; the next run of `newsroom/alerts` sends them"
    )


@app.command("test")
def try_channel(
    channel: Annotated[
        str, typer.Argument(help="name of the channel in the file of queries")
    ],
) -> None:
    """Send a message over a channel now."""
    rules = _rules()
    if channel not in rules.channels:
        known = ", ".join(sorted(rules.channels)) or "none"
        raise NewsAssetsError(
            f"no channel `{channel}` in the file of NEWS_QUERIES; there are: {known}"
        )
    payload = {"type": "test", "id": uuid.uuid4().hex}
    text = "This channel works. The message was sent by `news-assets alerts test`."
    (message,) = messages_to(
        [channel], OPERATORS, "news: test", text, payload, datetime.now(UTC)
    )
    with open_notifier(Settings.read(), rules) as notifier:
        notifier.send(message)
    Terminal().print_line(f"{channel}: accepted")


def _rules() -> Alerts:
    path = Settings.read().queries
    if path is None:
        raise NewsAssetsError(
            "NEWS_QUERIES names no file of saved queries and channels; set it"
        )
    return load_alerts(path)
