"""The commands `failures` and `alerts`."""

import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from typing import Annotated

import typer
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from news_assets.clients.factory import open_notifier, open_ports
from news_assets.commands.opening import check_names, desk_named, open_lake
from news_assets.commands.terminal import (
    Agency,
    Desk,
    Json,
    Terminal,
    in_backquotes,
    write_line,
)
from news_assets.errors import NewsAssetsError
from news_assets.pipeline import stages
from news_assets.pipeline.alerts.outbox import messages_to, send_again
from news_assets.pipeline.alerts.query_file import Alerts, load_alerts, with_stored
from news_assets.pipeline.failures import make_due
from news_assets.ports.services import Reader
from news_assets.records.alerts import OPERATORS, Message, QueryHit
from news_assets.records.articles import FeedEntry, RawArticle
from news_assets.records.derived import Failure
from news_assets.records.reading import AgencyDays
from news_assets.settings import Settings
from news_assets.store.lake import Lake
from news_assets.store.queries.spending import spent

# --- failures -------------------------------------------------------------------------

_SHOWN = 30  # rows of a table without --limit: two screens
_NAMED = 3  # ids in an error message

_OF_ENTRY = (
    "source_id",
    "url",
    "title",
    "day",
    "published_at",
    "first_seen_at",
    "last_seen_at",
    "trace_id",
)
_OF_ARTICLE = (
    "outcome",
    "reason",
    "attempts",
    "next_try_at",
    "fetched_at",
    "url",
    "canonical_url",
    "text_chars",
)


app = typer.Typer(add_completion=False, no_args_is_help=True)
_Stage = Annotated[
    str | None, typer.Option(help="only this stage, by the name of its asset")
]


def _filters(
    desk: str | None, stage: str | None, agency: str | None
) -> dict[str, Collection[str]]:
    """Return the stated options by column of `failures`.

    Raises:
        NewsAssetsError: One of the names does not exist.
    """
    names = [one.name for one in stages.all_stages()]
    if stage not in (None, *names):
        raise NewsAssetsError(f"no stage `{stage}`; there are: {', '.join(names)}")
    check_names(desk, agency)
    stated = {"desk": desk, "stage": stage, "agency": agency}
    filters: dict[str, Collection[str]] = {}
    for name, value in stated.items():
        if value is not None:
            filters[name] = [value]
    return filters


# --- list -----------------------------------------------------------------------------


_Limit = Annotated[int | None, typer.Option(min=1, help="maximum number of failures")]


@app.command("list")
def _list_failures(
    desk: Desk = None,
    stage: _Stage = None,
    agency: Agency = None,
    limit: _Limit = None,
    as_json: Json = False,
) -> None:
    """List failures, newest first."""
    filters = _filters(desk, stage, agency)
    with open_lake() as lake:
        found = _newest_first(lake.read(Failure, None, **filters))
    if not as_json:
        _show_table(found, limit or _SHOWN, datetime.now(UTC))
        return
    for failure in found[:limit]:
        write_line(asdict(failure))


def _newest_first(failures: Sequence[Failure]) -> list[Failure]:
    return sorted(
        failures,
        key=lambda failure: (-failure.last_failed_at.timestamp(), failure.article_id),
    )


def _show_table(failures: Sequence[Failure], limit: int, now: datetime) -> None:
    terminal = Terminal()
    if not failures:
        terminal.print_line("no failures")
        return
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("stage, attempts", no_wrap=True)
    table.add_column("article, reason", overflow="fold")
    for failure in failures[:limit]:
        attempt = f"attempt {failure.attempts}, {_minute(failure.last_failed_at)}"
        about = Text(f"{failure.agency} · {failure.day}", style="dim")
        table.add_row(
            Group(failure.stage, attempt, _next_try(failure.next_try_at, now)),
            Group(about, Text(failure.article_id, style="bold"), failure.reason),
            end_section=True,
        )
    terminal.print(table)
    if len(failures) > limit:
        terminal.print(
            f"{len(failures) - limit} more; --limit shows more of them, --stage and --agency fewer"
        )


def _minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}Z"


def _next_try(at: datetime | None, now: datetime) -> str:
    if at is None:
        return "given up"
    return "due now" if at <= now else f"next {_minute(at)}"


# --- show -----------------------------------------------------------------------------


@app.command("show")
def _show_failure(
    article_id: Annotated[str, typer.Argument(help="id of the article")],
) -> None:
    """Show everything about one article: its failures, its row and its entries."""
    with open_lake() as lake:
        failures = lake.read(Failure, article_id=[article_id])
        articles = lake.read(RawArticle, article_id=[article_id])
        entries = lake.read(FeedEntry, article_id=[article_id])
        if not (failures or articles or entries):
            raise NewsAssetsError(f"no article `{article_id}`; {_failing(lake)}")
    terminal = Terminal()
    now = datetime.now(UTC)
    terminal.print(article_id, style="bold")
    for failure in failures:
        _show_values(terminal, f"failure of {failure.stage}", _values_of(failure, now))
    if not failures:
        terminal.print()
        terminal.print("no failures")
    for article in articles:
        facts = zip(_OF_ARTICLE, attrgetter(*_OF_ARTICLE)(article), strict=True)
        _show_values(terminal, "article", facts)
    for entry in entries:
        facts = zip(_OF_ENTRY, attrgetter(*_OF_ENTRY)(entry), strict=True)
        _show_values(terminal, f"entry {entry.entry_id}", facts)


def _values_of(failure: Failure, now: datetime) -> list[tuple[str, object]]:
    return [
        ("reason", failure.reason),
        ("attempts", failure.attempts),
        ("first failed", failure.first_failed_at),
        ("last failed", failure.last_failed_at),
        ("next attempt", _next_try(failure.next_try_at, now)),
        ("desk", failure.desk),
        ("agency, day", f"{failure.agency}, {failure.day}"),
        ("trace_id", failure.trace_id),
    ]


def _show_values(
    terminal: Terminal, title: str, values: Iterable[tuple[str, object]]
) -> None:
    table = Table(
        title=title,
        title_justify="left",
        title_style="",
        box=None,
        show_header=False,
        pad_edge=False,
    )
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in values:
        if value is not None:
            table.add_row(
                name, _minute(value) if isinstance(value, datetime) else str(value)
            )
    terminal.print()
    terminal.print(table)


def _failing(lake: Reader) -> str:
    """Return which articles have a failure."""
    ids = sorted(set(lake.frame(Failure, None, ("article_id",))["article_id"]))
    if not ids:
        return "there are no failures"
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return f"there are failures of: {', '.join(ids[:_NAMED])}{more}"


# --- retry ----------------------------------------------------------------------------


_ArticleIds = Annotated[
    list[str] | None,
    typer.Argument(help="ids of articles; without any, all that match"),
]
_RunNow = Annotated[
    bool,
    typer.Option(
        "--now",
        help="run the stages in this process instead of leaving them to the daemon",
    ),
]


@app.command("retry")
def retry_failures(
    article_ids: _ArticleIds = None,
    desk: Desk = None,
    stage: _Stage = None,
    agency: Agency = None,
    run_now: _RunNow = False,
) -> None:
    """Make failures due now, with all their attempts left."""
    selected = _filters(desk, stage, agency)
    if article_ids:
        selected["article_id"] = set(article_ids)
    with open_lake() as lake:
        _check_ids(lake, selected)
        now = datetime.now(UTC)
        made_due = lake.transact(lambda rows: make_due(rows, now, **selected))
        if not made_due:
            Terminal().print_line("no failures")
        elif run_now:
            _run_stages(lake, made_due)
        else:
            Terminal().print_line(
                f"{len(made_due)} due now; the daemon or `dagster asset materialize` runs them"
            )


def _check_ids(lake: Lake, selected: Mapping[str, Collection[str]]) -> None:
    """Raise NewsAssetsError for a selected article without a failure."""
    found = lake.frame(Failure, None, ("article_id",), **selected)
    unknown = sorted(set(selected.get("article_id", ())) - set(found["article_id"]))
    if unknown:
        raise NewsAssetsError(
            f"no failure of {in_backquotes(unknown)}; {_failing(lake)}"
        )


def _run_stages(lake: Lake, failures: Sequence[Failure]) -> None:
    """Run the stages of these failures over their agency-days, as their assets do."""
    of_stage: dict[tuple[str, str], list[Failure]] = {}
    for failure in failures:
        of_stage.setdefault((failure.stage, failure.desk), []).append(failure)
    for stage in stages.all_stages():
        for (name, desk), tried in sorted(of_stage.items()):
            if name == stage.name:
                _run_stage(lake, name, desk, tried)


def _run_stage(lake: Lake, name: str, desk_key: str, tried: Sequence[Failure]) -> None:
    settings = Settings.read()
    stage = stages.stage_named(name)
    desk = desk_named(desk_key)
    if desk is None:
        raise NewsAssetsError(
            f"desk `{desk_key}` has no desk file, so its stages cannot be run; see NEWS_DESKS"
        )
    days = frozenset((failure.agency, failure.day) for failure in tried)
    with open_ports(settings, stage.ports, partial(spent, lake)) as ports:
        stage.run_batch(
            lake, desk, AgencyDays(desk_key, days), lambda: datetime.now(UTC), ports
        )
    _report(lake, name, tried)


def _report(lake: Lake, stage: str, tried: Sequence[Failure]) -> None:
    ids = {failure.article_id for failure in tried}
    still = lake.read(Failure, stage=[stage], article_id=ids)
    Terminal().print_line(f"{stage}: {len(ids) - len(still)} of {len(ids)} succeeded")
    for failure in still:
        Terminal().print_line(f"  {failure.article_id}: {failure.reason}")


# --- alerts ---------------------------------------------------------------------------

alerts_app = typer.Typer(add_completion=False, no_args_is_help=True)


_ShowsAll = Annotated[bool, typer.Option("--all", help="also those that were sent")]
_MessageLimit = Annotated[int, typer.Option(min=1, help="maximum number of messages")]


@alerts_app.command("list")
def _list_messages(
    shows_all: _ShowsAll = False,
    limit: _MessageLimit = 30,
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


_MessageIds = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="MESSAGE...", help="ids of messages; without any, all given up ones"
    ),
]


@alerts_app.command()
def retry(
    message_ids: _MessageIds = None,
) -> None:
    """Send given up messages again."""
    now = datetime.now(UTC)
    with open_lake() as lake:
        chosen = lake.transact(lambda rows: send_again(rows, message_ids or None, now))
    sent = {one.message_id for one in chosen}
    unknown = sorted(set(message_ids or ()) - sent)
    if unknown:
        others = f"; {len(chosen)} others are due now" if chosen else ""
        raise NewsAssetsError(
            f"{in_backquotes(unknown)}: no given up message; see `news-assets alerts list`"
            f"{others}"
        )
    Terminal().print_line(
        f"{len(chosen)} due now; the next run of `newsroom/alerts` sends them"
    )


@alerts_app.command("test")
def _try_channel(
    channel: Annotated[
        str, typer.Argument(help="name of the channel in the file of queries")
    ],
) -> None:
    """Send a message over a channel now."""
    rules = rules_with(channel)
    payload = {"type": "test", "id": uuid.uuid4().hex}
    text = "This channel works. The message was sent by `news-assets alerts test`."
    (message,) = messages_to(
        [channel], OPERATORS, "news: test", text, payload, datetime.now(UTC)
    )
    with open_notifier(Settings.read(), rules) as notifier:
        notifier.send(message)
    Terminal().print_line(f"{channel}: accepted")


def rules_with(channel: str) -> Alerts:
    """Return the file of NEWS_QUERIES, which has a channel of this name.

    Raises:
        NewsAssetsError: There is no such file, or it has no such channel.
    """
    rules = _rules()
    if channel not in rules.channels:
        known = ", ".join(sorted(rules.channels)) or "none"
        raise NewsAssetsError(
            f"no channel `{channel}` in the file of NEWS_QUERIES; there are: {known}"
        )
    return rules


def _rules() -> Alerts:
    path = Settings.read().queries
    if path is None:
        raise NewsAssetsError(
            "NEWS_QUERIES names no file of saved queries and channels; set it"
        )
    return load_alerts(path)
