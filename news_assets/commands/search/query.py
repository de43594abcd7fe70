"""The command `search`: query the index and print the hits as a table or JSON."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from news_assets.commands.jsonlines import write_line
from news_assets.commands.lake import check_names, open_lake
from news_assets.errors import LakeError, NewsAssetsError
from news_assets.search import (
    Filters,
    SearchAnswer,
    SearchHit,
    SearchMode,
    SearchSort,
    copies,
    next_meetings_first,
    open_index,
)
from news_assets.store.queries.civic.meetings import bodies_named
from news_assets.store.queries.copies import Copy
from news_assets.terminal import Terminal

Copies = Mapping[str, Sequence[Copy]]

_FACET_VALUES = 6
_SHOWN_COPIES = 5  # of a hit
_MARKED = re.compile(r"<mark>([^<]*)</mark>")  # a snippet is escaped HTML


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to search, and what to show."""

    mode: SearchMode = "hybrid"
    sort: SearchSort = "relevance"
    limit: int = 10
    explain: bool = False


def run(text: str, filters: Filters, options: Options, *, as_json: bool) -> None:
    """Search and print the answer."""
    check_names(filters.desk, filters.agency)
    filters = _with_whole_name(filters)
    answer = query_index(text, filters, options)
    hits, others = hits_with_copies(answer.hits, filters)
    answer = replace(answer, hits=hits)
    if as_json:
        lines = [
            asdict(hit) | {"copies": list(map(asdict, others.get(hit.article_id, ())))}
            for hit in hits
        ]
        write_line({"hits": lines, **_summary(answer)})
    else:
        show(answer, text, others)


def _with_whole_name(filters: Filters) -> Filters:
    """Return the filters with the body's whole name in place of a part of it.

    Raises:
        NewsAssetsError: The part is in no body's name, or in several.
    """
    if filters.body is None:
        return filters
    with open_lake() as lake:
        names = bodies_named(lake, filters.body)
    if len(names) == 1:
        return replace(filters, body=names[0])
    found = "; ".join(names) if names else "none"
    raise NewsAssetsError(
        f"--body {filters.body}: it has to select one body, and selects: {found}"
    )


def hits_with_copies(
    hits: Sequence[SearchHit], filters: Filters
) -> tuple[tuple[SearchHit, ...], Copies]:
    """Return the hits, each matter once, and their copies; if the lake cannot be read,
    say so, and no copies.

    The index may be on another machine.
    """
    try:
        arranged = tuple(next_meetings_first(hits, filters)) if hits else ()
        return arranged, copies(arranged) if arranged else {}
    except LakeError as error:
        Terminal(stderr=True).print_line(f"copies are not listed: {error}")
        return tuple(hits), {}


def query_index(text: str, filters: Filters, options: Options) -> SearchAnswer:
    """Search the index that the settings name."""
    with open_index() as index:
        return index.search(text, filters, **asdict(options))


def _summary(answer: SearchAnswer) -> dict[str, object]:
    return {
        "found": answer.found,
        "facets": answer.facets,
        "took_ms": round(answer.took_ms, 2),
    }


def show(answer: SearchAnswer, text: str, others: Copies) -> None:
    """Print hits, each with its copies, and facets as a table."""
    terminal = Terminal()
    title = (
        f"“{text}”: {answer.found} with these words, {len(answer.hits)} shown,"
        f" {answer.took_ms:.1f} ms"
    )
    table = Table(title=title, title_justify="left", box=box.SIMPLE, show_header=False)
    table.add_column("", justify="right")
    table.add_column("article")
    for number, hit in enumerate(answer.hits, start=1):
        about = " · ".join(
            filter(None, (hit.day.isoformat(), hit.agency, hit.theme_code))
        )
        lines = (
            Text(hit.title, style="bold"),
            Text(about, style="dim"),
            _highlighted(hit.snippet),
            Text(hit.url),
        )
        also = others.get(hit.article_id, ())
        listed = [
            Text(f"also {one.day} · {one.agency} · {one.url}", style="dim")
            for one in also[:_SHOWN_COPIES]
        ]
        more = (
            [Text(f"and {len(also) - len(listed)} more copies", style="dim")]
            if len(also) > len(listed)
            else []
        )
        table.add_row(
            str(number),
            Group(*lines, *_explained(hit), *listed, *more),
            end_section=True,
        )
    terminal.print(table)
    for name, counts in answer.facets.items():
        if name == "day" or not counts:
            continue
        top = sorted(counts.items(), key=lambda item: -item[1])[:_FACET_VALUES]
        values = ", ".join(f"{value} {count}" for value, count in top)
        terminal.print(Text.assemble((f"{name}:", "dim"), f" {values}"))


def _explained(hit: SearchHit) -> Iterator[Text]:
    """Yield a line of ranks, and one of the words that were found in each field."""
    why = hit.explanation
    if why is None:
        return
    parts = [f"score {hit.score:.4g}"]
    if why.keyword_rank is not None:
        parts.append(
            f"by words: rank {why.keyword_rank}, score {why.keyword_score:.4g}"
        )
    if why.vector_rank is not None:
        parts.append(
            f"by vector: rank {why.vector_rank}, similarity {why.similarity:.3f}"
        )
    yield Text(" · ".join(parts), style="dim")
    if why.words:
        found = (f"{word} in {', '.join(fields)}" for word, fields in why.words.items())
        yield Text(" · ".join(found), style="dim")


def _highlighted(snippet: str) -> Text:
    """Return a snippet's HTML as text with colours."""
    parts = _MARKED.split(snippet)
    return Text.assemble(
        *(
            (html.unescape(part), "yellow" if n % 2 else "")
            for n, part in enumerate(parts)
        )
    )
