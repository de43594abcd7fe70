"""The command `status --url`."""

from dataclasses import asdict

from rich import box
from rich.table import Table

from news_assets.commands.jsonlines import write_line
from news_assets.commands.lake import open_lake
from news_assets.errors import NewsAssetsError
from news_assets.store.queries.url_history import Event, url_history
from news_assets.terminal import Terminal


def show_url(url: str, *, as_json: bool) -> None:
    """Print the events of one address, oldest first.

    Raises:
        NewsAssetsError: No source has ever listed it.
    """
    with open_lake() as lake:
        events = url_history(lake, url)
    if not events:
        raise NewsAssetsError(
            f"no source has listed {url}; `news-assets agencies` shows which sources are polled"
        )
    if as_json:
        for event in events:
            write_line(asdict(event))
    else:
        _show(events)


def _show(events: list[Event]) -> None:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for title in ("when (UTC)", "stage", "outcome"):
        table.add_column(title, no_wrap=True)
    table.add_column("what", overflow="fold")
    for event in events:
        attempt = f" (attempt {event.attempts})" if event.attempts else ""
        table.add_row(
            f"{event.at:%Y-%m-%d %H:%M:%S}",
            event.stage,
            event.outcome + attempt,
            event.what,
        )
    terminal = Terminal()
    for article_id in dict.fromkeys(event.article_id for event in events):
        terminal.print(article_id, style="bold")
    for trace_id in dict.fromkeys(event.trace_id for event in events if event.trace_id):
        terminal.print(f"trace_id {trace_id}")
    terminal.print(table)
