"""The command line `news-assets`: single steps of the pipeline without Dagster, and queries over the lake.

Exit codes: 0 for success, 1 for a NewsAssetsError with its message, 2 for wrong usage with one line.
"""

import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from news_assets.commands import agencies as agencies_command
from news_assets.commands import demo as demo_command
from news_assets.commands import failures as failures_command
from news_assets.commands import gaps as gaps_command
from news_assets.commands import lake, sources, texts, url_history
from news_assets.commands import replay as replay_command
from news_assets.commands import serve as serve_command
from news_assets.commands import withdraw as withdraw_command
from news_assets.commands.alerts import app as alerts_command
from news_assets.commands.civic import app as civic
from news_assets.commands.civic import export_meetings, parse_meetings
from news_assets.commands.enrichment import cost as cost_command
from news_assets.commands.enrichment import explain as explain_command
from news_assets.commands.search import query as search
from news_assets.commands.search import rebuild, search_fields, search_key
from news_assets.commands.sites import try_page as try_page_command
from news_assets.commands.sites import try_selectors as try_selectors_command
from news_assets.commands.sites import try_source as try_source_command
from news_assets.commands.themes import label as label_command
from news_assets.commands.themes import train_themes as train_themes_command
from news_assets.commands.upkeep import backups
from news_assets.commands.upkeep import retention as retention_command
from news_assets.errors import NewsAssetsError
from news_assets.meetings import MeetingStatus
from news_assets.pipeline.discovery.candidates import MAX_AGE_DAYS
from news_assets.search import Filters, SearchMode, SearchSort
from news_assets.settings import outdated_settings
from news_assets.store.queries.freshness import GAP_DAYS
from news_assets.terminal import accept_any_text, report

# The base class of usage errors; only its subclass is public in typer.
_UsageError: Any = typer.BadParameter.__base__

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="News from feeds to a search index: run single steps, and query the lake.",
)

failures = typer.Typer(no_args_is_help=True, help="List, show and retry failures of stages.")
app.add_typer(failures, name="failures")
app.add_typer(civic.app)
app.add_typer(alerts_command.app, name="alerts")

Sentiment = Literal["positive", "neutral", "negative"]
Desk = Annotated[str | None, typer.Option(help="only this desk")]
Agency = Annotated[str | None, typer.Option(help="only this agency")]
From = Annotated[datetime | None, typer.Option("--from", formats=["%Y-%m-%d"], help="first day")]
To = Annotated[datetime | None, typer.Option("--to", formats=["%Y-%m-%d"], help="last day")]
Json = Annotated[bool, typer.Option("--json", help="JSON output")]


def _stream_command(name: str, run: Callable[[], None]) -> None:
    app.command(name, help=run.__doc__)(run)


_stream_command("parse-feed", texts.parse_feed)
_stream_command("parse-meetings", parse_meetings.parse_meetings)
_stream_command("extract", texts.extract)
_stream_command("read-document", texts.read_document)
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
    entity: Annotated[str | None, typer.Option(help="name of a person, body or place")] = None,
    sentiment: Annotated[Sentiment | None, typer.Option(help="tone of the text")] = None,
    body: Annotated[str | None, typer.Option(help="council, board or committee")] = None,
    matter: Annotated[str | None, typer.Option(help="key of a matter")] = None,
    meeting_status: Annotated[MeetingStatus | None, typer.Option(help="status of the meeting")] = None,
    from_day: From = None,
    to_day: To = None,
    mode: Annotated[SearchMode, typer.Option(help="by words, by meaning, or by both")] = "hybrid",
    sort: Annotated[SearchSort, typer.Option(help="the best first, or the newest")] = "relevance",
    limit: Annotated[int, typer.Option(min=1, max=250, help="how many hits")] = 10,
    explain: Annotated[bool, typer.Option("--explain", help="show ranks, and where each word was found")] = False,
    as_json: Json = False,
) -> None:
    """Search the index."""
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


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="port; 0 for a free one")] = 8970,
    name: Annotated[
        list[str] | None, typer.Option(help="another name that the server is reached by; repeatable")
    ] = None,
    origin: Annotated[
        list[str] | None, typer.Option(help="https:// address of a site whose pages may read this one; repeatable")
    ] = None,
    requests_per_minute: Annotated[int, typer.Option(min=0, help="most of one client; 0 for no limit")] = 600,
) -> None:
    """Serve the pages to search and read the articles, and to see the state of agencies and sources, and the API."""
    serve_command.run(host, port, name or (), origin or (), requests_per_minute)


rebuilds = typer.Typer(no_args_is_help=True, help="Rebuild from the lake.")
app.add_typer(rebuilds, name="rebuild")


@rebuilds.callback()
def _rebuilds() -> None:
    """Keep `search` a subcommand: without a callback typer merges the only command of a group into the group."""


@rebuilds.command("search")
def rebuild_search(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show what would be done, and do nothing")] = False,
) -> None:
    """Rebuild the search index from the lake beside the one in use; an interrupted rebuild is continued."""
    rebuild.rebuild_search(dry_run=dry_run)


@app.command()
def backup(
    to: Annotated[Path | None, typer.Option(help="folder of the backup; default: NEWS_HOME/backups")] = None,
    with_data: Annotated[bool, typer.Option("--data", help="copy the data files too, or link them")] = False,
) -> None:
    """Copy the lake's catalog, and with --data its files, while writers go on."""
    backups.backup(to, with_data=with_data)


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="the backup")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show what would be done, and do nothing")] = False,
    force: Annotated[bool, typer.Option("--force", help="also over a newer catalog or without some files")] = False,
) -> None:
    """Bring the lake back from a backup; the present catalog is kept beside it, and no data file is deleted."""
    backups.restore(file, dry_run=dry_run, force=force)


@app.command()
def migrate(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show what would change, and do nothing")] = False,
) -> None:
    """Bring the tables of an older lake up to date, as opening it does."""
    backups.migrate(dry_run=dry_run)


@app.command()
def retention(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show what would be deleted, and do nothing")] = False,
    irreplaceable: Annotated[
        bool, typer.Option("--irreplaceable", help="also of articles whose page may be gone")
    ] = False,
) -> None:
    """Delete old pages, polls, revisions, model answers and changes, as daily maintenance does, and print how many."""
    retention_command.retention(dry_run=dry_run, irreplaceable=irreplaceable)


@app.command("search-key")
def make_search_key(
    desk: Annotated[str | None, typer.Option(help="the only desk that can be searched")] = None,
    days: Annotated[int | None, typer.Option(min=1, max=search_key.MAX_DAYS, help="valid for so many days")] = None,
    expires: Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="last valid day, UTC")] = None,
    description: Annotated[str, typer.Option(help="purpose, as listed by the server")] = "news-assets search-key",
    as_json: Json = False,
) -> None:
    """Create a key that can only search a Typesense server until it expires, and print it."""
    search_key.make_key(desk, days, expires.date() if expires else None, description, as_json=as_json)


@app.command("search-fields")
def add_search_fields(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show where fields differ, and do nothing")] = False,
) -> None:
    """Add the fields missing from a search server's index that an older version created."""
    search_fields.add_fields(dry_run=dry_run)


@app.command()
def status(
    desk: Desk = None,
    days: Annotated[int, typer.Option(min=1, help="how many days back from today")] = 7,
    url: Annotated[str | None, typer.Option(help="show the history of this address instead")] = None,
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
    limit: Annotated[int | None, typer.Option(min=1, help="maximum number of failures")] = None,
    as_json: Json = False,
) -> None:
    """List failures, newest first."""
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
        bool, typer.Option("--now", help="run the stages in this process instead of leaving them to the daemon")
    ] = False,
) -> None:
    """Make failures due now, with all their attempts left."""
    filters = failures_command.Filters(desk, stage, agency)
    failures_command.retry(filters, article_ids or (), run_now=run_now)


@app.command()
def gaps(
    desk: Desk = None,
    days: Annotated[int, typer.Option(min=1, help="how many days back from today")] = GAP_DAYS,
    as_json: Json = False,
) -> None:
    """Show every row that is missing, stale, lost, silent or failing."""
    gaps_command.gaps(desk, days, as_json=as_json)


@app.command()
def agencies(desk: Desk = None, as_json: Json = False) -> None:
    """List agencies and sources with their last polls, next poll, share of new entries, and silences."""
    agencies_command.agencies(desk, as_json=as_json)


@app.command("try-source")
def try_source(
    urls: Annotated[
        list[str] | None,
        typer.Argument(help="addresses of pages, feeds or sitemaps; default: one a line from standard input"),
    ] = None,
    language: Annotated[str | None, typer.Option(help="accept this language only")] = None,
    max_age_days: Annotated[int, typer.Option(min=1, help="how old the newest entry may be")] = MAX_AGE_DAYS,
    desk: Annotated[str | None, typer.Option(help="desk to extend; only its language is accepted")] = None,
    tries_all: Annotated[bool, typer.Option("--all", help="try common addresses even if a source was found")] = False,
    selectors: Annotated[
        bool, typer.Option("--selectors", help="propose CSS selectors for this listing page, and show what they yield")
    ] = False,
    select: Annotated[
        list[str] | None, typer.Option(help="with --selectors: NAME=SELECTOR in place of the proposed one; repeatable")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find the sources of a site, and show the block for a desk file."""
    if selectors or select:
        try_selectors_command.try_selectors(urls or (), select or (), desk, as_json=as_json)
        return
    options = try_source_command.Options(language, max_age_days, desk)
    try_source_command.try_source(urls or (), options, tries_all=tries_all, as_json=as_json)


@app.command("try-page")
def try_page(
    url: Annotated[str, typer.Argument(help="address of an article")],
    content: Annotated[str | None, typer.Option(help="CSS selector of what holds the text")] = None,
    remove: Annotated[str | None, typer.Option(help="CSS selector of what is dropped first")] = None,
    date: Annotated[str | None, typer.Option(help="CSS selector of the time of publication")] = None,
    as_json: Json = False,
) -> None:
    """Show what is read on a page, by the rule of its agency or the given selectors, and without."""
    try_page_command.try_page(url, {"content": content, "remove": remove, "date": date}, as_json=as_json)


@app.command("import")
def import_sources(
    file: Annotated[Path, typer.Argument(help="OPML, CSV with a column `url`, or an address a line")],
    desk: Annotated[str | None, typer.Option(help="key of the desk")] = None,
    into: Annotated[Path | None, typer.Option(help="desk file to write or extend; default: write nothing")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show what would change, and write nothing")] = False,
    timezone: Annotated[str, typer.Option(help="time zone of a new desk")] = "UTC",
    language: Annotated[str, typer.Option(help="language of a new desk")] = "en",
    kind: Annotated[str, typer.Option(help="kind of sources whose line has none")] = "feed",
) -> None:
    """Add sources from a feed reader's export or a list to a desk file."""
    defaults = sources.Defaults(timezone, language, kind)
    sources.import_sources(file, desk, into, defaults, dry_run=dry_run)


@app.command()
def export(
    table: Annotated[str | None, typer.Argument(help="name of the table; not with --opml")] = None,
    opml: Annotated[
        bool, typer.Option("--opml", help="export the feeds of the desks instead, for feed readers")
    ] = False,
    desk: Desk = None,
    agency: Agency = None,
    from_day: From = None,
    to_day: To = None,
    body: Annotated[str | None, typer.Option(help="with ical and ocd: part of the body's name or the title")] = None,
    words: Annotated[
        str | None, typer.Option("--search", help="with ical and ocd: meetings with items that have these words")
    ] = None,
    form: Annotated[
        lake.Form, typer.Option("--format", help="jsonl, csv, parquet or xlsx; of meetings also ical and ocd")
    ] = lake.Form.JSONL,
    output: Annotated[Path | None, typer.Option(help="file to write; default: standard output")] = None,
) -> None:
    """Write a table's rows, meetings as a calendar or as events of Open Civic Data, or the feeds as OPML."""
    if opml == (table is not None) or (opml and (agency or from_day or to_day)):
        raise typer.BadParameter("name one table, or --opml with --desk and --output only")
    if opml or table is None:
        sources.export_opml(desk, output)
        return
    days = (from_day.date() if from_day else None, to_day.date() if to_day else None)
    if form in lake.OF_MEETINGS and table == "meetings":
        selection = export_meetings.Selection(desk=desk, agency=agency, body=body, days=days, words=words)
        export_meetings.export_meetings(selection, form, output)
        return
    if body or words or form in lake.OF_MEETINGS:
        raise typer.BadParameter("--body, --search, ical and ocd take each other: export meetings --format ical")
    lake.export(table, desk, agency, days, form, output)


@app.command()
def replay(
    desk: Desk = None,
    agency: Agency = None,
    from_day: From = None,
    to_day: To = None,
    write: Annotated[bool, typer.Option("--write", help="store the new texts, as changes of method")] = False,
    as_json: Json = False,
) -> None:
    """Extract again from the stored pages, without network, and show what would change."""
    days = (from_day.date() if from_day else None, to_day.date() if to_day else None)
    replay_command.replay(desk, agency, days, write=write, as_json=as_json)


_A_DESK = typer.Option(help="key of the desk")


@app.command("train-themes")
def train_themes(
    desk: Annotated[str, _A_DESK],
    error_rate: Annotated[
        float, typer.Option(min=0.001, max=0.5, help="share of themes without a second opinion that may be wrong")
    ] = 0.05,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="show the scores, and store nothing")] = False,
    as_json: Json = False,
) -> None:
    """Learn a desk's classifier of themes from labels of language models and persons, and put it to use."""
    train_themes_command.train_themes(desk, error_rate, dry_run=dry_run, as_json=as_json)


@app.command("label")
def label_themes(
    desk: Annotated[str, _A_DESK],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="how many articles")] = 20,
    by: Annotated[str | None, typer.Option(help="name of the person; default: the user of this machine")] = None,
    as_json: Json = False,
    reads: Annotated[
        bool, typer.Option("--read", help="store labels from standard input instead, a line {id, code, by} each")
    ] = False,
) -> None:
    """Show the articles with the least certain themes, and store a person's corrections."""
    label_command.label(desk, limit, by, as_json=as_json, reads=reads)


@app.command()
def withdraw(
    articles: Annotated[list[str], typer.Argument(metavar="ARTICLE|URL...", help="ids or addresses of articles")],
    reason: Annotated[str, typer.Option(help="why, kept in the article's row")] = "withdrawn by the operator",
    undo: Annotated[bool, typer.Option("--undo", help="bring withdrawn articles back")] = False,
) -> None:
    """Remove the texts of articles from lake and index; they are not fetched again."""
    withdraw_command.undo(articles) if undo else withdraw_command.withdraw_articles(articles, reason)


@app.command()
def cost(desk: Desk = None, from_day: From = None, to_day: To = None, as_json: Json = False) -> None:
    """Show what a language model would cost for these articles, and why, and what it has cost so far."""
    days = (from_day.date() if from_day else None, to_day.date() if to_day else None)
    cost_command.cost(desk, days, as_json=as_json)


@app.command()
def explain(
    article: Annotated[str, typer.Argument(metavar="ARTICLE|URL", help="id or address of an article")],
    as_json: Json = False,
) -> None:
    """Show who made an article's enrichment, what it rests on and cost, and what was refused and why."""
    explain_command.explain(article, as_json=as_json)


@app.command()
def demo(
    serve: Annotated[bool, typer.Option("--serve", help="only serve the sample site, until interrupted")] = False,
) -> None:
    """Serve the sample site, run the graph over it, and show a search."""
    demo_command.serve() if serve else demo_command.run()


def main() -> None:
    """Run the command line."""
    accept_any_text()
    for line in outdated_settings():
        report(f"news-assets: {line}")
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
