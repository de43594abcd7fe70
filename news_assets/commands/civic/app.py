"""The commands for meetings, which `cli.py` adds to its own."""

from pathlib import Path
from typing import Annotated

import typer

from news_assets.commands.options import Agency, Desk, Json

app = typer.Typer()


@app.command()
def queue(
    desk: Desk = None,
    agency: Agency = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="how many to show; default: 50, with --json all"),
    ] = None,
    now: Annotated[
        bool,
        typer.Option("--now", help="the requests that are in progress on this machine"),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show which agencies and days wait for a run, highest priority first."""
    from news_assets.commands.civic import queue as queue_command

    if now:
        queue_command.requests_in_progress(as_json=as_json)
    else:
        queue_command.queue(desk, limit, agency, as_json=as_json)


OneAgency = Annotated[str, typer.Argument(help="key of the agency, such as paloaltoCA")]


@app.command()
def poll(
    agency: OneAgency,
    desk: Desk = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="all days of a nightly pass, whatever the change signal says"
        ),
    ] = False,
) -> None:
    """Poll the sources of one agency now, in this process."""
    from news_assets.commands.civic import one_agency

    one_agency.poll(agency, desk, full=full)


@app.command()
def process(agency: OneAgency, desk: Desk = None) -> None:
    """Run every stage over the days of one agency that wait, in this process; `queue
    --agency` shows them before.
    """
    from news_assets.commands.civic import one_agency

    one_agency.process(agency, desk)


@app.command()
def meeting(
    meeting_id: Annotated[
        str, typer.Argument(help="meeting_id, as in the table `meetings`")
    ],
    with_text: Annotated[
        bool, typer.Option("--text", help="also the first lines of each document")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show a meeting: its agenda, documents, topics, and how to take part."""
    from news_assets.commands.civic import meeting as meeting_command

    meeting_command.meeting(meeting_id, with_text=with_text, as_json=as_json)


@app.command()
def text(
    text_id: Annotated[
        str,
        typer.Argument(help="document_id or its beginning, article_id, or meeting_id"),
    ],
    output: Annotated[
        Path | None, typer.Option(help="file to write; default: standard output")
    ] = None,
) -> None:
    """Write the whole text of a document, an article, or a meeting's agenda with its
    documents.
    """
    from news_assets.commands.civic import text as text_command

    text_command.text(text_id, output)
