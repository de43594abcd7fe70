"""The commands that find sources and rules of sites, which `cli.py` adds to its own."""

from typing import Annotated

import typer

from news_assets.commands.options import Json
from news_assets.pipeline.discovery.candidates import MAX_AGE_DAYS

app = typer.Typer()


@app.command("try-source")
def try_source(
    urls: Annotated[
        list[str] | None,
        typer.Argument(
            help="addresses of pages, feeds or sitemaps; default: one a line from standard input"
        ),
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="accept this language only")
    ] = None,
    max_age_days: Annotated[
        int, typer.Option(min=1, help="how old the newest entry may be")
    ] = MAX_AGE_DAYS,
    desk: Annotated[
        str | None, typer.Option(help="desk to extend; only its language is accepted")
    ] = None,
    tries_all: Annotated[
        bool,
        typer.Option("--all", help="try common addresses even if a source was found"),
    ] = False,
    selectors: Annotated[
        bool,
        typer.Option(
            "--selectors",
            help="propose CSS selectors for this listing page, and show what they yield",
        ),
    ] = False,
    select: Annotated[
        list[str] | None,
        typer.Option(
            help="with --selectors: NAME=SELECTOR in place of the proposed one; repeatable"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Find the sources of a site, and show the block for a desk file."""
    from news_assets.commands.sites import try_selectors as try_selectors_command
    from news_assets.commands.sites import try_source as try_source_command

    if selectors or select:
        try_selectors_command.try_selectors(
            urls or (), select or (), desk, as_json=as_json
        )
        return
    options = try_source_command.Options(language, max_age_days, desk)
    try_source_command.try_source(
        urls or (), options, tries_all=tries_all, as_json=as_json
    )


@app.command("try-page")
def try_page(
    url: Annotated[str, typer.Argument(help="address of an article")],
    content: Annotated[
        str | None, typer.Option(help="CSS selector of what holds the text")
    ] = None,
    remove: Annotated[
        str | None, typer.Option(help="CSS selector of what is dropped first")
    ] = None,
    date: Annotated[
        str | None, typer.Option(help="CSS selector of the time of publication")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what is read on a page, by the rule of its agency or the given selectors,
    and without.
    """
    from news_assets.commands.sites import try_page as try_page_command

    try_page_command.try_page(
        url, {"content": content, "remove": remove, "date": date}, as_json=as_json
    )
