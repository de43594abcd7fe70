"""`status --url`: everything that happened to one address."""

from dataclasses import asdict

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from news_assets.commands.jsonlines import write_line
from news_assets.commands.lake import open_lake
from news_assets.errors import NewsAssetsError
from news_assets.store.queries.url_history import Moment, story_of


def tell(url: str, *, as_json: bool) -> None:
    """Print the story of one address, oldest moment first.

    Raises:
        NewsAssetsError: No source has ever listed it.
    """
    with open_lake() as lake:
        moments = story_of(lake, url)
    if not moments:
        raise NewsAssetsError(
            f"no source has listed {url}; `news-assets agencies` shows which sources are asked, and when"
        )
    if as_json:
        for moment in moments:
            write_line(asdict(moment))
    else:
        _show(moments)


def _show(moments: list[Moment]) -> None:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for title in ("when (UTC)", "stage", "outcome"):
        table.add_column(title, no_wrap=True)
    table.add_column("what", overflow="fold")
    for moment in moments:
        tries = f" (try {moment.attempts})" if moment.attempts else ""
        table.add_row(f"{moment.at:%Y-%m-%d %H:%M:%S}", moment.stage, moment.outcome + tries, escape(moment.what))
    console = Console()
    for article_id in dict.fromkeys(moment.article_id for moment in moments):
        console.print(f"[bold]{escape(article_id)}[/bold]")
    for trace_id in dict.fromkeys(moment.trace_id for moment in moments if moment.trace_id):
        console.print(f"trace_id {trace_id}")
    console.print(table)
