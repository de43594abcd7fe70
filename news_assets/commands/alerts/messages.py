"""Show the messages of saved queries and operators, send given up ones again, and try a
channel.
"""

import uuid
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from rich import box
from rich.table import Table

from news_assets.clients.factory import open_notifier
from news_assets.commands.jsonlines import write_line
from news_assets.commands.lake import open_lake
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.alerts.digests import messages_to
from news_assets.pipeline.alerts.query_file import Alerts, load_alerts
from news_assets.pipeline.alerts.sending import send_again
from news_assets.pipeline.alerts.stored_queries import with_stored
from news_assets.records.alerts import OPERATORS, Message, QueryHit
from news_assets.settings import Settings
from news_assets.terminal import Terminal


def list_messages(limit: int, *, shows_all: bool, as_json: bool) -> None:
    """Print the messages that are not sent, or all, newest first."""
    with open_lake() as lake:
        rules, problems = with_stored(_rules(), lake)
        waiting = lake.frame(QueryHit, None, ("query",), told_at=[None]).height
        found = lake.read(Message) if shows_all else lake.read(Message, sent_at=[None])
    shown = found[::-1][:limit]
    if as_json:
        for message in shown:
            write_line(asdict(message) | {"state": state_of(message)})
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


def state_of(message: Message) -> str:
    """Return sent, waiting or given up."""
    if message.sent_at:
        return "sent"
    return "waiting" if message.next_try_at else "given up"


def _table(messages: Sequence[Message]) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for name in ("message", "channel", "state", "about"):
        table.add_column(name, overflow="fold")
    for one in messages:
        when = one.sent_at or one.next_try_at or one.created_at
        state = f"{state_of(one)} {when:%Y-%m-%d %H:%M}Z, attempt {one.attempts}"
        table.add_row(
            one.message_id,
            one.channel,
            state,
            f"{one.subject}\n{one.reason}" if one.reason else one.subject,
        )
    return table


def retry(message_ids: Sequence[str]) -> None:
    """Make given up messages due now, with all attempts left; without ids, all of them."""
    with open_lake() as lake:
        chosen = lake.transact(
            lambda rows: send_again(rows, message_ids or None, datetime.now(UTC))
        )
    if unknown := sorted(set(message_ids) - {one.message_id for one in chosen}):
        raise NewsAssetsError(
            f"{', '.join(f'`{one}`' for one in unknown)}: no given up message; see `news-assets"
            " alerts list`" + (f"; {len(chosen)} others are due now" if chosen else "")
        )
    Terminal().print_line(
        f"{len(chosen)} due now; the next run of `newsroom/alerts` sends them"
    )


def try_channel(channel: str) -> None:
    """Send a message over a channel now and say whether it was accepted."""
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
