"""The command `search`: query the index and print the hits as a table or JSON."""

import html
import re
from dataclasses import asdict
from enum import StrEnum

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from news_assets.commands.jsonlines import write_line
from news_assets.commands.lake import check_names
from news_assets.search import Filters, SearchAnswer, open_index

_FACET_VALUES = 6


class Mode(StrEnum):
    """How a query is matched."""

    KEYWORD = "keyword"
    VECTOR = "vector"
    HYBRID = "hybrid"


def run(text: str, filters: Filters, mode: Mode, limit: int, *, as_json: bool) -> None:
    """Search and print the answer."""
    check_names(filters.desk, filters.agency)
    answer = query_index(text, filters, mode, limit)
    if as_json:
        write_line({"hits": [asdict(hit) for hit in answer.hits], **_summary(answer)})
    else:
        show(answer, text)


def query_index(text: str, filters: Filters, mode: Mode, limit: int) -> SearchAnswer:
    """Search the index that the settings name."""
    with open_index() as index:
        return index.search(text, filters, mode=mode.value, limit=limit)


def _summary(answer: SearchAnswer) -> dict[str, object]:
    return {"found": answer.found, "facets": answer.facets, "took_ms": round(answer.took_ms, 2)}


def show(answer: SearchAnswer, text: str) -> None:
    """Print hits and facets as a table."""
    console = Console()
    title = f"“{escape(text)}”: {answer.found} with these words, {len(answer.hits)} shown, {answer.took_ms:.1f} ms"
    table = Table(title=title, title_justify="left", box=box.SIMPLE, show_header=False)
    table.add_column("", justify="right")
    table.add_column("article")
    for number, hit in enumerate(answer.hits, start=1):
        about = " · ".join(filter(None, (hit.day.isoformat(), hit.agency, hit.theme_code)))
        lines = (f"[bold]{escape(hit.title)}[/bold]", f"[dim]{about}[/dim]", _highlighted(hit.snippet), escape(hit.url))
        table.add_row(str(number), "\n".join(lines), end_section=True)
    console.print(table)
    for name, counts in answer.facets.items():
        top = sorted(counts.items(), key=lambda item: -item[1])[:_FACET_VALUES]
        console.print(f"[dim]{name}:[/dim] " + ", ".join(f"{escape(value)} {count}" for value, count in top))


def _highlighted(snippet: str) -> str:
    """Return a snippet's HTML as terminal markup."""
    parts = re.split(r"<mark>(.*?)</mark>", snippet)
    shown = [escape(html.unescape(part)) for part in parts]
    return "".join(f"[yellow]{part}[/yellow]" if n % 2 else part for n, part in enumerate(shown))
