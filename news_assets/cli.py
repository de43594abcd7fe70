"""`news-assets`: the same pipeline without Dagster, for people at a prompt and for measuring.

Bad usage exits 2 with one line; an error of ours exits 1 with its own lines; the rest exits 0.
"""

import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from news_assets.commands import agencies as agencies_command
from news_assets.commands import demo as demo_command
from news_assets.commands import failures as failures_command
from news_assets.commands import gaps as gaps_command
from news_assets.commands import lake, rebuild, search, search_fields, search_key, sources, texts, url_history
from news_assets.commands import try_source as try_source_command
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.discovery.candidates import MAX_AGE_DAYS
from news_assets.search import Filters
from news_assets.store.queries.freshness import GAP_DAYS

# The class of every complaint about a command line; typer names only this child of it in public.
_UsageError: Any = typer.BadParameter.__base__

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="From a feed to a search answer: one step at a time, or what the lake holds.",
)

failures = typer.Typer(no_args_is_help=True, help="What no stage could do, why, and trying it again.")
app.add_typer(failures, name="failures")

Desk = Annotated[str | None, typer.Option(help="only this desk")]
Agency = Annotated[str | None, typer.Option(help="only this agency")]
From = Annotated[datetime | None, typer.Option("--from", formats=["%Y-%m-%d"], help="first day")]
To = Annotated[datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="last day")]
Json = Annotated[bool, typer.Option("--json", help="JSON for machines")]


def _stream_command(name: str, run: Callable[[], None]) -> None:
    app.command(name, help=run.__doc__)(run)


_stream_command("parse-feed", texts.parse_feed)
_stream_command("extract", texts.extract)
_stream_command("canonical-url", texts.canonical_url)
_stream_command("dedupe", texts.dedupe)
_stream_command("classify", texts.classify)
_stream_command("embed", texts.embed)


@app.command("search")
def search_articles(
    query: Annotated[str, typer.Argument(help="words, or a sentence; empty lists the newest")],
    desk: Desk = None,
    agency: Agency = None,
    theme: Annotated[str | None, typer.Option(help="theme code, any level")] = None,
    language: Annotated[str | None, typer.Option(help="language code")] = None,
    from_day: From = None,
    to_day: To = None,
    mode: Annotated[search.Mode, typer.Option(help="keyword, vector or hybrid")] = search.Mode.HYBRID,
    limit: Annotated[int, typer.Option(min=1, max=250, help="how many hits")] = 10,
    as_json: Json = False,
) -> None:
    """Search the index."""
    first, last = from_day.date() if from_day else None, to_day.date() if to_day else None
    filters = Filters(desk=desk, agency=agency, theme=theme, language=language, from_day=first, to_day=last)
    search.run(query, filters, mode, limit, as_json=as_json)


rebuilds = typer.Typer(no_args_is_help=True, help="What can be made anew from the lake.")
app.add_typer(rebuilds, name="rebuild")


@rebuilds.callback()
def _rebuilds() -> None:
    """Keep `search` a word of its own: typer takes the only command of a group for the group."""


@rebuilds.command("search")
def rebuild_search(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="say what would be done, and do nothing")] = False,
) -> None:
    """Build the whole search index anew from the lake, beside the one in use; interrupted, it goes on where it was."""
    rebuild.rebuild_search(dry_run=dry_run)


@app.command("search-key")
def make_search_key(
    desk: Annotated[str | None, typer.Option(help="the only desk whose documents it shows")] = None,
    days: Annotated[int | None, typer.Option(min=1, max=search_key.MAX_DAYS, help="days from now it is valid")] = None,
    expires: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="last day it is valid, UTC")] = None,
    description: Annotated[str, typer.Option(help="what it is for, as the server lists it")] = "news-assets search-key",
    as_json: Json = False,
) -> None:
    """Print a key that may search a Typesense server and nothing else, until it expires."""
    search_key.make_key(desk, days, expires.date() if expires else None, description, as_json=as_json)


@app.command("search-fields")
def add_search_fields(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show where fields differ, and do nothing")] = False,
) -> None:
    """Add the fields that a search server's index lacks since it was made by an older version."""
    search_fields.add_fields(dry_run=dry_run)


@app.command()
def status(
    desk: Desk = None,
    days: Annotated[int, typer.Option(min=1, help="how many days back from today")] = 7,
    url: Annotated[str | None, typer.Option(help="tell what happened to this address instead")] = None,
    as_json: Json = False,
) -> None:
    """Show what is stored at each stage, by agency; with --url the history of one address."""
    if url is not None:
        url_history.show_url(url, as_json=as_json)
    else:
        lake.status(desk, days, as_json=as_json)


Stage = Annotated[str | None, typer.Option(help="only this stage, by the name of its asset")]


@failures.command("list")
def list_failures(
    desk: Desk = None,
    stage: Stage = None,
    agency: Agency = None,
    limit: Annotated[int | None, typer.Option(min=1, help="how many of them")] = None,
    as_json: Json = False,
) -> None:
    """List what failed, newest first."""
    failures_command.list_failures(failures_command.Filters(desk, stage, agency), limit, as_json=as_json)


@failures.command("show")
def show_failure(article_id: Annotated[str, typer.Argument(help="id of the article")]) -> None:
    """Show everything about one article: its failures, its row and its entries."""
    failures_command.show(article_id)


@failures.command("retry")
def retry_failures(
    article_ids: Annotated[
        list[str] | None, typer.Argument(help="ids of articles; without any, all that match")
    ] = None,
    desk: Desk = None,
    stage: Stage = None,
    agency: Agency = None,
    run_now: Annotated[
        bool, typer.Option("--now", help="run the stage here instead of leaving it to the daemon")
    ] = False,
) -> None:
    """Make failures due now, their tries counted from the start."""
    filters = failures_command.Filters(desk, stage, agency)
    failures_command.retry(filters, article_ids or (), run_now=run_now)


@app.command()
def gaps(
    desk: Desk = None,
    days: Annotated[int, typer.Option(min=1, help="how many days back from today")] = GAP_DAYS,
    as_json: Json = False,
) -> None:
    """Show what is missing, lost, silent or failing, row by row."""
    gaps_command.gaps(desk, days, as_json=as_json)


@app.command()
def agencies(desk: Desk = None, as_json: Json = False) -> None:
    """List every agency and source: how its last polls went, when it is due, what is new, what is silent."""
    agencies_command.agencies(desk, as_json=as_json)


@app.command("try-source")
def try_source(
    urls: Annotated[
        list[str] | None, typer.Argument(help="addresses of pages, feeds or sitemaps; without any, one a line")
    ] = None,
    language: Annotated[str | None, typer.Option(help="accept this language only")] = None,
    max_age_days: Annotated[int, typer.Option(min=1, help="how old the newest entry may be")] = MAX_AGE_DAYS,
    desk: Annotated[str | None, typer.Option(help="desk that is to grow; its language is the one accepted")] = None,
    tries_all: Annotated[bool, typer.Option("--all", help="try usual addresses also where something is found")] = False,
    as_json: Json = False,
) -> None:
    """Find what can be polled of a site, and show the block for a desk file."""
    options = try_source_command.Options(language, max_age_days, desk)
    try_source_command.try_source(urls or (), options, tries_all=tries_all, as_json=as_json)


@app.command("import")
def import_sources(
    file: Annotated[Path, typer.Argument(help="OPML, CSV with a column `url`, or an address a line")],
    desk: Annotated[str | None, typer.Option(help="key of the desk")] = None,
    into: Annotated[Path | None, typer.Option(help="desk file to write or extend; without it nothing is")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show what would change, and write nothing")] = False,
    timezone: Annotated[str, typer.Option(help="time zone of a new desk")] = "UTC",
    language: Annotated[str, typer.Option(help="language of a new desk")] = "en",
    kind: Annotated[str, typer.Option(help="kind of the sources whose line names none")] = "feed",
) -> None:
    """Add sources of a feed reader or a list to a desk file."""
    defaults = sources.Defaults(timezone, language, kind)
    sources.import_sources(file, desk, into, defaults, dry_run=dry_run)


@app.command()
def export(
    table: Annotated[str | None, typer.Argument(help="name of the table; none with --opml")] = None,
    opml: Annotated[bool, typer.Option("--opml", help="the desks' feeds, for feed readers")] = False,
    desk: Desk = None,
    agency: Agency = None,
    from_day: From = None,
    to_day: To = None,
    form: Annotated[lake.Form, typer.Option("--format", help="jsonl, csv or parquet")] = lake.Form.JSONL,
    output: Annotated[Path | None, typer.Option(help="file to write; standard output without it")] = None,
) -> None:
    """Write a table's rows, or the feeds of the desks as OPML."""
    if opml == (table is not None) or (opml and (agency or from_day or to_day)):
        raise typer.BadParameter("name one table, or --opml with --desk and --output only")
    if opml or table is None:
        sources.export_opml(desk, output)
        return
    days = (from_day.date() if from_day else None, to_day.date() if to_day else None)
    lake.export(table, desk, agency, days, form, output)


@app.command()
def demo(
    serve: Annotated[bool, typer.Option("--serve", help="only serve the sample site, until interrupted")] = False,
) -> None:
    """Serve the sample site, run the graph over it, and show a search."""
    demo_command.serve() if serve else demo_command.run()


def main() -> None:
    """Run the command line."""
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except _UsageError as error:
        _complain(2, f"{error.format_message().rstrip('.')}; see news-assets --help")
    except NewsAssetsError as error:
        _complain(1, str(error))
    except BrokenPipeError:
        sys.stderr.close()  # the reader has what it wanted, as with `| head`
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)


def _complain(code: int, message: str) -> None:
    lines = message.splitlines() if code == 1 else [" ".join(message.split())]
    print("\n".join(f"news-assets: {line}" for line in lines), file=sys.stderr)
    sys.exit(code)
