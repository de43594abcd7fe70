"""The commands for searching and for the index, which `cli.py` adds to its own."""

from datetime import datetime
from typing import Annotated, Literal

import typer

from news_assets.commands.options import Agency, Desk, From, Json, To
from news_assets.records.meetings import MeetingStatus
from news_assets.search import Filters, SearchMode, SearchSort

app = typer.Typer()


_MAX_KEY_DAYS = 3650
Sentiment = Literal["positive", "neutral", "negative"]


@app.command("search")
def search_articles(
    query: Annotated[
        str, typer.Argument(help="words, or a sentence; empty lists the newest")
    ],
    desk: Desk = None,
    agency: Agency = None,
    theme: Annotated[str | None, typer.Option(help="theme code, any level")] = None,
    language: Annotated[str | None, typer.Option(help="language code")] = None,
    entity: Annotated[
        str | None, typer.Option(help="name of a person, body or place")
    ] = None,
    sentiment: Annotated[
        Sentiment | None, typer.Option(help="tone of the text")
    ] = None,
    body: Annotated[
        str | None,
        typer.Option(help="council, board or committee; or a part of its name"),
    ] = None,
    matter: Annotated[str | None, typer.Option(help="key of a matter")] = None,
    meeting_status: Annotated[
        MeetingStatus | None, typer.Option(help="status of the meeting")
    ] = None,
    from_day: From = None,
    to_day: To = None,
    mode: Annotated[
        SearchMode, typer.Option(help="by words, by meaning, or by both")
    ] = "hybrid",
    sort: Annotated[
        SearchSort, typer.Option(help="the best first, or the newest")
    ] = "relevance",
    limit: Annotated[int, typer.Option(min=1, max=250, help="how many hits")] = 10,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="show ranks, and where each word was found"),
    ] = False,
    as_json: Json = False,
) -> None:
    """Search the index."""
    from news_assets.commands.search import query as search

    filters = Filters(
        desk=desk,
        agency=agency,
        theme=theme,
        language=language,
        from_day=from_day.date() if from_day else None,
        to_day=to_day.date() if to_day else None,
        entity=entity,
        sentiment=sentiment,
        body=body,
        matter=matter,
        meeting_status=meeting_status,
    )
    options = search.Options(mode=mode, sort=sort, limit=limit, explain=explain)
    search.run(query, filters, options, as_json=as_json)


rebuilds = typer.Typer(no_args_is_help=True, help="Rebuild from the lake.")
app.add_typer(rebuilds, name="rebuild")


@rebuilds.callback()
def _rebuilds() -> None:
    """Keep `search` a subcommand: without a callback typer merges the only command of a
    group into the group.
    """


@rebuilds.command("search")
def rebuild_search(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show what would be done, and do nothing")
    ] = False,
) -> None:
    """Rebuild the search index from the lake beside the one in use; an interrupted
    rebuild is continued.
    """
    from news_assets.commands.search import rebuild

    rebuild.rebuild_search(dry_run=dry_run)


@app.command("search-key")
def make_search_key(
    desk: Annotated[
        str | None, typer.Option(help="the only desk that can be searched")
    ] = None,
    days: Annotated[
        int | None,
        typer.Option(min=1, max=_MAX_KEY_DAYS, help="valid for so many days"),
    ] = None,
    expires: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="last valid day, UTC")
    ] = None,
    description: Annotated[
        str, typer.Option(help="purpose, as listed by the server")
    ] = "news-assets search-key",
    as_json: Json = False,
) -> None:
    """Create a key that can only search a Typesense server until it expires, and print
    it.
    """
    from news_assets.commands.search import search_key

    search_key.make_key(
        desk, days, expires.date() if expires else None, description, as_json=as_json
    )


@app.command("search-fields")
def add_search_fields(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="show where fields differ, and do nothing")
    ] = False,
) -> None:
    """Add the fields missing from a search server's index that an older version
    created.
    """
    from news_assets.commands.search import search_fields

    search_fields.add_fields(dry_run=dry_run)
