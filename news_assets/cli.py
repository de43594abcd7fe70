"""The command line `news-assets`: single steps of the pipeline without Dagster, and
queries over the lake.

Exit codes: 0 for success, 1 for a NewsAssetsError with its message, 2 for wrong usage
with one line.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from news_assets.commands import texts
from news_assets.commands.alerts import app as alerts_command
from news_assets.commands.civic import app as civic
from news_assets.commands.enrichment import app as enrichment_app
from news_assets.commands.options import OF_MEETINGS, Agency, Desk, Form, From, Json, To
from news_assets.commands.search import app as search_app
from news_assets.commands.sites import app as sites_app
from news_assets.commands.themes import app as themes_app
from news_assets.commands.upkeep import app as upkeep_app
from news_assets.demo.site import PORT
from news_assets.errors import NewsAssetsError, SettingsError
from news_assets.logs import log_to_stderr
from news_assets.records.desks import GAP_DAYS
from news_assets.settings import Settings, outdated_settings
from news_assets.terminal import accept_any_text, report

# The base class of usage errors; only its subclass is public in typer.
_UsageError: Any = typer.BadParameter.__base__

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="News from feeds to a search index: run single steps, and query the lake.",
)

failures = typer.Typer(
    no_args_is_help=True, help="List, show and retry failures of stages."
)
app.add_typer(failures, name="failures")
for group in (search_app, sites_app, enrichment_app, themes_app, civic, upkeep_app):
    app.add_typer(group.app)
app.add_typer(alerts_command.app, name="alerts")


def _stream_command(name: str, run: Callable[[], None]) -> None:
    app.command(name, help=run.__doc__)(run)


_stream_command("parse-feed", texts.parse_feed)
_stream_command("extract", texts.extract)
_stream_command("read-document", texts.read_document)
_stream_command("canonical-url", texts.canonical_url)
_stream_command("dedupe", texts.dedupe)
_stream_command("classify", texts.classify)
_stream_command("embed", texts.embed)


@app.command("parse-meetings")
def parse_meetings() -> None:
    """Read answers of civic vendors. In: {id, kind, url, path, timezone, now}. Out:
    {id, meetings, problems}.
    """
    from news_assets.commands.civic import parse_meetings as command

    command.parse_meetings()


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="port; 0 for a free one")
    ] = 8970,
    name: Annotated[
        list[str] | None,
        typer.Option(help="another name that the server is reached by; repeatable"),
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option(
            help="https:// address of a site whose pages may read this one; repeatable"
        ),
    ] = None,
    requests_per_minute: Annotated[
        int, typer.Option(min=0, help="most of one client; 0 for no limit")
    ] = 600,
    connections_of_client: Annotated[
        int,
        typer.Option(
            min=0,
            help="most at a time from one address; 0 behind a proxy that limits its clients",
        ),
    ] = 20,
) -> None:
    """Serve the pages to search and read the articles, and to see the state of agencies
    and sources, and the API.
    """
    from news_assets.commands import serve as serve_command

    serve_command.run(
        host, port, name or (), origin or (), requests_per_minute, connections_of_client
    )


@app.command()
def mcp() -> None:
    """Serve the articles and meetings to programs with language models, by MCP on
    standard input and output.
    """
    from news_assets.commands import serve as serve_command

    serve_command.run_tools()


@app.command()
def status(
    desk: Desk = None,
    days: Annotated[int, typer.Option(min=1, help="how many days back from today")] = 7,
    url: Annotated[
        str | None, typer.Option(help="show the history of this address instead")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what is stored at each stage, by agency; with --url the history of one
    address.
    """
    from news_assets.commands import lake, url_history

    if url is not None:
        url_history.show_url(url, as_json=as_json)
    else:
        lake.status(desk, days, as_json=as_json)


Stage = Annotated[
    str | None, typer.Option(help="only this stage, by the name of its asset")
]


@failures.command("list")
def list_failures(
    desk: Desk = None,
    stage: Stage = None,
    agency: Agency = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="maximum number of failures")
    ] = None,
    as_json: Json = False,
) -> None:
    """List failures, newest first."""
    from news_assets.commands import failures as failures_command

    failures_command.list_failures(
        failures_command.Filters(desk, stage, agency), limit, as_json=as_json
    )


@failures.command("show")
def show_failure(
    article_id: Annotated[str, typer.Argument(help="id of the article")],
) -> None:
    """Show everything about one article: its failures, its row and its entries."""
    from news_assets.commands import failures as failures_command

    failures_command.show(article_id)


@failures.command("retry")
def retry_failures(
    article_ids: Annotated[
        list[str] | None,
        typer.Argument(help="ids of articles; without any, all that match"),
    ] = None,
    desk: Desk = None,
    stage: Stage = None,
    agency: Agency = None,
    run_now: Annotated[
        bool,
        typer.Option(
            "--now",
            help="run the stages in this process instead of leaving them to the daemon",
        ),
    ] = False,
) -> None:
    """Make failures due now, with all their attempts left."""
    from news_assets.commands import failures as failures_command

    filters = failures_command.Filters(desk, stage, agency)
    failures_command.retry(filters, article_ids or (), run_now=run_now)


@app.command()
def gaps(
    desk: Desk = None,
    days: Annotated[
        int, typer.Option(min=1, help="how many days back from today")
    ] = GAP_DAYS,
    as_json: Json = False,
) -> None:
    """Show every row that is missing, stale, lost, silent or failing."""
    from news_assets.commands import gaps as gaps_command

    gaps_command.gaps(desk, days, as_json=as_json)


@app.command()
def agencies(desk: Desk = None, as_json: Json = False) -> None:
    """List agencies and sources with their last polls, next poll, share of new entries,
    and silences.
    """
    from news_assets.commands import agencies as agencies_command

    agencies_command.agencies(desk, as_json=as_json)


@app.command("import")
def import_sources(
    file: Annotated[
        Path, typer.Argument(help="OPML, CSV with a column `url`, or an address a line")
    ],
    desk: Annotated[str | None, typer.Option(help="key of the desk")] = None,
    into: Annotated[
        Path | None,
        typer.Option(help="desk file to write or extend; default: write nothing"),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="show what would change, and write nothing"),
    ] = False,
    timezone: Annotated[str, typer.Option(help="time zone of a new desk")] = "UTC",
    language: Annotated[str, typer.Option(help="language of a new desk")] = "en",
    kind: Annotated[
        str, typer.Option(help="kind of sources whose line has none")
    ] = "feed",
) -> None:
    """Add sources from a feed reader's export or a list to a desk file."""
    from news_assets.commands import sources

    defaults = sources.Defaults(timezone, language, kind)
    sources.import_sources(file, desk, into, defaults, dry_run=dry_run)


@app.command()
def export(
    table: Annotated[
        str | None, typer.Argument(help="name of the table; not with --opml")
    ] = None,
    opml: Annotated[
        bool,
        typer.Option(
            "--opml", help="export the feeds of the desks instead, for feed readers"
        ),
    ] = False,
    desk: Desk = None,
    agency: Agency = None,
    from_day: From = None,
    to_day: To = None,
    body: Annotated[
        str | None,
        typer.Option(
            help="with ical and ocd: council, board or committee; or a part of its name"
        ),
    ] = None,
    words: Annotated[
        str | None,
        typer.Option(
            "--search",
            help="with ical and ocd: meetings with items that have these words",
        ),
    ] = None,
    form: Annotated[
        Form,
        typer.Option(
            "--format",
            help="jsonl, csv, parquet or xlsx; of meetings also ical and ocd",
        ),
    ] = Form.JSONL,
    output: Annotated[
        Path | None, typer.Option(help="file to write; default: standard output")
    ] = None,
) -> None:
    """Write a table's rows, meetings as a calendar or as events of Open Civic Data, or
    the feeds as OPML.
    """
    from news_assets.commands import lake, sources
    from news_assets.commands.civic import export_meetings

    if opml == (table is not None) or (opml and (agency or from_day or to_day)):
        raise typer.BadParameter(
            "name one table, or --opml with --desk and --output only"
        )
    if opml or table is None:
        sources.export_opml(desk, output)
        return
    days = (from_day.date() if from_day else None, to_day.date() if to_day else None)
    if form in OF_MEETINGS and table == "meetings":
        selection = export_meetings.Selection(
            desk=desk, agency=agency, body=body, days=days, words=words
        )
        export_meetings.export_meetings(selection, form, output)
        return
    if body or words or form in OF_MEETINGS:
        raise typer.BadParameter(
            "--body, --search, ical and ocd take each other: export meetings --format ical"
        )
    lake.export(table, desk, agency, days, form, output)


@app.command()
def replay(
    desk: Desk = None,
    agency: Agency = None,
    from_day: From = None,
    to_day: To = None,
    write: Annotated[
        bool, typer.Option("--write", help="store the new texts, as changes of method")
    ] = False,
    as_json: Json = False,
) -> None:
    """Extract again from the stored pages, without network, and show what would change."""
    from news_assets.commands import replay as replay_command

    days = (from_day.date() if from_day else None, to_day.date() if to_day else None)
    replay_command.replay(desk, agency, days, write=write, as_json=as_json)


@app.command()
def withdraw(
    articles: Annotated[
        list[str],
        typer.Argument(metavar="ARTICLE|URL...", help="ids or addresses of articles"),
    ],
    reason: Annotated[
        str, typer.Option(help="why, kept in the article's row")
    ] = "withdrawn by the operator",
    undo: Annotated[
        bool, typer.Option("--undo", help="bring withdrawn articles back")
    ] = False,
) -> None:
    """Remove the texts of articles from lake and index; they are not fetched again."""
    from news_assets.commands import withdraw as withdraw_command

    (
        withdraw_command.undo(articles)
        if undo
        else withdraw_command.withdraw_articles(articles, reason)
    )


@app.command()
def demo(
    serve: Annotated[
        bool,
        typer.Option("--serve", help="only serve the sample site, until interrupted"),
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help=f"port of the site; by default {PORT}, or a free one"
        ),
    ] = None,
) -> None:
    """Serve the sample site, run the graph over it, and show a search."""
    from news_assets.commands import demo as demo_command

    demo_command.serve(port) if serve else demo_command.run(port)


def main() -> None:
    """Run the command line."""
    accept_any_text()
    for line in outdated_settings():
        report(f"news-assets: {line}")
    with suppress(SettingsError):  # the command reports it, if it reads the settings
        log_to_stderr(Settings.read().log_level)
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except _UsageError as error:
        _exit(2, f"{error.format_message().rstrip('.')}; see news-assets --help")
    except NewsAssetsError as error:
        _exit(1, str(error))
    except BrokenPipeError:
        sys.stderr.close()  # the reader closed the pipe, as `| head` does
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)


def _exit(code: int, message: str) -> None:
    lines = message.splitlines() if code == 1 else [" ".join(message.split())]
    for line in lines:
        report(f"news-assets: {line}")
    sys.exit(code)
