"""The command `briefing`: what the stories of some days say, as Markdown, JSON or mail."""

from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from news_assets.commands.failure_commands import rules_with
from news_assets.commands.opening import agency_names, check_names, open_lake
from news_assets.commands.terminal import (
    Agency,
    Desk,
    Json,
    Terminal,
    day_of,
    write_document,
    write_line,
)
from news_assets.pipeline.alerts.outbox import messages_to
from news_assets.pipeline.stories.briefing import (
    BRIEFING,
    Briefing,
    briefing_markdown,
    message_of,
)
from news_assets.search import Filters, open_index
from news_assets.store.lake import Lake
from news_assets.store.queries.story_lists import (
    StoryFilters,
    briefing_of,
    ranked_stories,
)

_Query = Annotated[str, typer.Argument(help="words of the articles; empty for all")]
_Theme = Annotated[str | None, typer.Option(help="theme code, any level")]
_Language = Annotated[str | None, typer.Option(help="primary language")]
_Publishers = Annotated[
    int, typer.Option(min=1, help="at least so many independent publishers")
]
_LastDay = Annotated[
    datetime | None,
    typer.Option(formats=["%Y-%m-%d"], help="last day; default: today in UTC"),
]
_Days = Annotated[int, typer.Option(min=1, max=366, help="how many days")]
_Limit = Annotated[int, typer.Option(min=1, max=50, help="how many stories")]
_Channel = Annotated[
    str | None, typer.Option(help="channel that gets it, instead of output")
]
_Output = Annotated[
    Path | None, typer.Option(help="file to write; default: standard output")
]


def briefing(
    query: _Query = "",
    desk: Desk = None,
    agency: Agency = None,
    theme: _Theme = None,
    language: _Language = None,
    publishers: _Publishers = 1,
    day: _LastDay = None,
    days: _Days = 2,
    limit: _Limit = 10,
    to: _Channel = None,
    output: _Output = None,
    as_json: Json = False,
) -> None:
    """Write the briefing, or hand it to a channel.

    Raises:
        NewsAssetsError: No such desk, agency or channel, no index, or a mistake in the
            query.
    """
    check_names(desk, agency)
    if to:
        rules_with(to)
    last_day = day_of(day) or datetime.now(UTC).date()
    filters = StoryFilters(
        first_day=last_day - timedelta(days=days - 1),
        last_day=last_day,
        publishers=publishers,
        desk=desk,
        agency=agency,
        theme=theme,
        language=language,
        article_ids=_articles_with(query, desk, agency, last_day, days),
    )
    with open_lake() as lake:
        stories = ranked_stories(lake, filters, limit=limit)
        span = (filters.first_day, last_day)
        made = briefing_of(lake, stories, span, query, agency_names())
        if to:
            _hand_over(lake, made, to)
            return
    if as_json:
        write_line(asdict(made))
        return
    write_document(briefing_markdown(made).encode(), output)


def _articles_with(
    query: str, desk: str | None, agency: str | None, last_day: date, days: int
) -> set[str] | None:
    """Return the articles with the words of a query; None without a query."""
    if not query:
        return None
    first_day = last_day - timedelta(days=days - 1)
    with open_index() as index:
        filters = Filters(desk=desk, agency=agency, from_day=first_day, to_day=last_day)
        return index.articles_with(query, filters)


def _hand_over(lake: Lake, made: Briefing, channel: str) -> None:
    """Store the message, which the next run of the alerts sends."""
    terminal = Terminal()
    if not made.stories:
        terminal.print_line("no story in these days; nothing is sent")
        return
    subject, text, payload = message_of(made)
    now = datetime.now(UTC)
    messages = messages_to([channel], BRIEFING, subject, text, payload, now)
    lake.transact(lambda rows: rows.upsert(messages))
    terminal.print_line(
        f"{len(made.stories)} stories for {channel}; the next run of `newsroom/alerts` sends them"
    )
