"""The command line `news-assets`: single steps of the pipeline without Dagster, and
queries over the lake.

Exit codes: 0 for success, 1 for a NewsAssetsError with its message, 2 for wrong usage
with one line.
"""

import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from news_assets.commands.terminal import accept_any_text, report
from news_assets.errors import NewsAssetsError, QueryError, SettingsError
from news_assets.settings import Settings, outdated_settings

# Each command with the function, or the group, that declares its options in a module of
# `news_assets.commands`, and its help. The modules are imported when their command
# runs.
_COMMANDS = {
    "serve": (
        "serve:serve",
        "Serve the pages to search and read the articles, and to see the state of agencies and"
        " sources, and the API.",
    ),
    "mcp": (
        "serve:mcp",
        "Serve the articles and meetings to programs with language models, by MCP on standard"
        " input and output.",
    ),
    "parse-feed": (
        "texts:parse_feed",
        "Read feeds. In: {id, path, url}. Out: {id, title, language, entries, problems}.",
    ),
    "extract": (
        "texts:extract",
        "Extract articles from saved pages. In: {id, path, url}. Out: {id, url, title, text,"
        " outcome, reason, ...}.",
    ),
    "read-document": (
        "texts:read_document",
        "Read documents. In: {id, path, content_type}. Out: {id, kind, pages, text, is_scanned,"
        " outcome, reason}.",
    ),
    "canonical-url": (
        "texts:canonical_url",
        "Canonicalise URLs. In: one URL a line. Out: one URL a line.",
    ),
    "dedupe": (
        "texts:dedupe",
        "Find duplicates in a stream. In: {id, url, title, text, language}. Out: {id,"
        " duplicate_of, reason, score}.",
    ),
    "classify": (
        "texts:classify",
        "Assign themes. In: {id, title, text, language}. Out: {id, theme_code, theme_path, score,"
        " theme_reason, ...}.",
    ),
    "embed": (
        "texts:embed",
        "Embed texts. In: {id, text}. Out: {id, model, dim, vector, token_count, is_cut}.",
    ),
    "parse-meetings": (
        "texts:parse_meetings",
        "Read answers of civic vendors. In: {id, kind, url, path, timezone, now}. Out: {id,"
        " meetings, problems}.",
    ),
    "status": (
        "lake_status:status",
        "Show what is stored at each stage, by agency; with --url the history of one address.",
    ),
    "gaps": (
        "agency_health:gaps",
        "Show every row that is missing, stale, lost, silent or failing.",
    ),
    "agencies": (
        "agency_health:agencies",
        "List agencies and sources with their last polls, next poll, share of new entries, and"
        " silences.",
    ),
    "import": (
        "import_sources:import_sources",
        "Add sources from a feed reader's export or a list to a desk file.",
    ),
    "export": (
        "export:export",
        "Write a table's rows, meetings as a calendar or as events of Open Civic Data, or the"
        " feeds as OPML.",
    ),
    "replay": (
        "replay:replay",
        "Extract again from the stored pages, without network, and show what would change.",
    ),
    "withdraw": (
        "upkeep:withdraw",
        "Remove the texts of articles from lake and index; they are not fetched again.",
    ),
    "demo": (
        "demo:demo",
        "Serve the sample site, run the graph over it, and show a search.",
    ),
    "failures": (
        "failure_commands:app",
        "List, show and retry failures of stages.",
    ),
    "search": ("search_articles:search_articles", "Search the index."),
    "search-key": (
        "search_upkeep:make_search_key",
        "Create a key that can only search a Typesense server until it expires, and print it.",
    ),
    "search-fields": (
        "search_upkeep:add_search_fields",
        "Add the fields missing from a search server's index that an older version created.",
    ),
    "rebuild": ("search_upkeep:app", "Rebuild from the lake."),
    "try-source": (
        "try_source:try_source",
        "Find the sources of a site, and show the block for a desk file.",
    ),
    "try-page": (
        "try_page:try_page",
        "Show what is read on a page, by the rule of its agency or the given selectors, and"
        " without.",
    ),
    "cost": (
        "model_costs:cost",
        "Show what a language model would cost for these articles, and why, and what it has cost"
        " so far.",
    ),
    "explain": (
        "model_costs:explain",
        "Show who made an article's enrichment, what it rests on and cost, and what was refused"
        " and why.",
    ),
    "train-themes": (
        "theme_labels:train_themes",
        "Learn a desk's classifier of themes from labels of language models and persons, and put"
        " it to use.",
    ),
    "label": (
        "theme_labels:label_themes",
        "Show the articles with the least certain themes, and store a person's corrections.",
    ),
    "queue": (
        "agency_runs:queue",
        "Show which agencies and days wait for a run, highest priority first.",
    ),
    "poll": (
        "agency_runs:poll",
        "Poll the sources of one agency now, in this process.",
    ),
    "process": (
        "agency_runs:process",
        "Run every stage over the days of one agency that wait, in this process; `queue --agency`"
        " shows them before.",
    ),
    "briefing": (
        "briefing:briefing",
        "Write what the stories of some days say, or those about a query: sentences, each with its"
        " source.",
    ),
    "meeting": (
        "meeting_commands:meeting",
        "Show a meeting: its agenda, documents, topics, and how to take part.",
    ),
    "text": (
        "meeting_commands:text",
        "Write the whole text of a document, an article, or a meeting's agenda with its documents.",
    ),
    "backup": (
        "upkeep:backup",
        "Copy the lake's catalog, and with --data its files, while writers go on.",
    ),
    "restore": (
        "upkeep:restore",
        "Bring the lake back from a backup; the present catalog is kept beside it, and no data"
        " file is deleted.",
    ),
    "migrate": (
        "upkeep:migrate",
        "Bring the tables of an older lake up to date, as opening it does.",
    ),
    "retention": (
        "upkeep:retention",
        "Delete old pages, polls, revisions, model answers and changes, as daily maintenance"
        " does, and print how many.",
    ),
    "alerts": (
        "failure_commands:alerts_app",
        "Show, send again and try messages of saved queries and to operators.",
    ),
}

# The headings of `news-assets --help`, with their commands.
_PANELS: Mapping[str, tuple[str, ...]] = {
    "First steps": ("demo", "try-source", "try-page", "import"),
    "Search and read": (
        "search",
        "serve",
        "mcp",
        "briefing",
        "meeting",
        "text",
        "export",
    ),
    "What is stored, and what is missing": (
        "status",
        "gaps",
        "agencies",
        "queue",
        "failures",
        "alerts",
    ),
    "Run now, in this process": ("poll", "process", "replay", "rebuild"),
    "Themes and language models": ("cost", "explain", "label", "train-themes"),
    "Upkeep": (
        "withdraw",
        "backup",
        "restore",
        "migrate",
        "retention",
        "search-key",
        "search-fields",
    ),
    "Single steps, JSON lines in and out": (
        "parse-feed",
        "parse-meetings",
        "extract",
        "read-document",
        "canonical-url",
        "dedupe",
        "classify",
        "embed",
    ),
}

# The base class of usage errors; only its subclass is public in typer.
_UsageError: Any = typer.BadParameter.__base__


def _command_named(name: str) -> Any:
    """Return the command or group of this name in `_COMMANDS`, with its options."""
    place, text = _COMMANDS[name]
    module, _, attribute = place.partition(":")
    declared = getattr(import_module(f"news_assets.commands.{module}"), attribute)
    if isinstance(declared, typer.Typer):
        declared.info.help = text
        return typer.main.get_command(declared)
    alone = typer.Typer(add_completion=False)
    alone.command(name, help=text)(declared)
    return typer.main.get_command(alone)


class _LazyGroup(TyperGroup):
    """A group that lists its commands without importing them."""

    def __init__(self, *, commands: Any = None, **attributes: Any) -> None:
        listed: dict[str, Any] = dict(commands or {})
        for panel, names in _PANELS.items():
            for name in names:
                _, text = _COMMANDS[name]
                listed[name] = TyperCommand(name, help=text, rich_help_panel=panel)
        super().__init__(commands=listed, **attributes)

    def resolve_command(
        self, ctx: Any, args: list[str]
    ) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name in _COMMANDS:
            command = _command_named(name)
        return name, command, rest


app = typer.Typer(
    cls=_LazyGroup,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="News from feeds to a search index: run single steps, and query the lake.",
)


@app.callback()
def _group() -> None:
    """The commands are those of `_COMMANDS`."""


def main() -> None:
    """Run the command line."""
    accept_any_text()
    for line in outdated_settings():
        report(f"news-assets: {line}")
    with suppress(SettingsError):  # the command reports it, if it reads the settings
        Settings.read().log_to_stderr()
    try:
        sys.exit(app(standalone_mode=False) or 0)
    except _UsageError as error:
        _exit(2, f"{error.format_message().rstrip('.')}; see news-assets --help")
    except QueryError as error:
        _exit(2, str(error))
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
