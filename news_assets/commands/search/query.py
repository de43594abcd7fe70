"""The command `search`: query the index and print the hits as a table or JSON."""

import html
import re
from dataclasses import asdict
from enum import StrEnum

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from news_assets.commands.jsonlines import write_line
from news_assets.commands.lake import check_names
from news_assets.search import Filters, SearchAnswer, open_index
from news_assets.terminal import Terminal

_FACET_VALUES = 6
_MARKED = re.compile(r"<mark>([^<]*)</mark>")  # a snippet is escaped HTML


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
    terminal = Terminal()
    title = f"“{text}”: {answer.found} with these words, {len(answer.hits)} shown, {answer.took_ms:.1f} ms"
    table = Table(title=title, title_justify="left", box=box.SIMPLE, show_header=False)
    table.add_column("", justify="right")
    table.add_column("article")
    for number, hit in enumerate(answer.hits, start=1):
        about = " · ".join(filter(None, (hit.day.isoformat(), hit.agency, hit.theme_code)))
        lines = Group(Text(hit.title, style="bold"), Text(about, style="dim"), _highlighted(hit.snippet), hit.url)
        table.add_row(str(number), lines, end_section=True)
    terminal.print(table)
    for name, counts in answer.facets.items():
        top = sorted(counts.items(), key=lambda item: -item[1])[:_FACET_VALUES]
        values = ", ".join(f"{value} {count}" for value, count in top)
        terminal.print(Text.assemble((f"{name}:", "dim"), f" {values}"))


def _highlighted(snippet: str) -> Text:
    """Return a snippet's HTML as text with colours."""
    parts = _MARKED.split(snippet)
    return Text.assemble(*((html.unescape(part), "yellow" if n % 2 else "") for n, part in enumerate(parts)))
