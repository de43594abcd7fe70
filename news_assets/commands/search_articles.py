"""The command `search`: query the index and print the hits as a table or JSON."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from news_assets.commands.opening import check_names, open_lake
from news_assets.commands.terminal import (
    Agency,
    Desk,
    From,
    Json,
    Terminal,
    To,
    day_of,
    write_line,
)
from news_assets.errors import LakeError, NewsAssetsError
from news_assets.records.meetings import MeetingStatus
from news_assets.search import (
    Filters,
    SearchAnswer,
    SearchHit,
    SearchMode,
    SearchSort,
    open_index,
)

if TYPE_CHECKING:
    from news_assets.store.queries.copies import Copy

_Copies = Mapping[str, Sequence["Copy"]]
_Sentiment = Literal["positive", "neutral", "negative"]

_FACET_VALUES = 6
_SHOWN_COPIES = 5  # of a hit
_MARKED = re.compile(r"<mark>([^<]*)</mark>")  # a snippet is escaped HTML


_Query = Annotated[
    str, typer.Argument(help="words, or a sentence; empty lists the newest")
]
_Theme = Annotated[str | None, typer.Option(help="theme code, any level")]
_Language = Annotated[str | None, typer.Option(help="language code")]
_Entity = Annotated[str | None, typer.Option(help="name of a person, body or place")]
_Tone = Annotated[_Sentiment | None, typer.Option(help="tone of the text")]
_Body = Annotated[
    str | None,
    typer.Option(help="council, board or committee; or a part of its name"),
]
_Matter = Annotated[str | None, typer.Option(help="key of a matter")]
_MeetingStatus = Annotated[
    MeetingStatus | None, typer.Option(help="status of the meeting")
]
_Mode = Annotated[SearchMode, typer.Option(help="by words, by meaning, or by both")]
_Sort = Annotated[SearchSort, typer.Option(help="the best first, or the newest")]
_Limit = Annotated[int, typer.Option(min=1, max=250, help="how many hits")]
_Explain = Annotated[
    bool,
    typer.Option("--explain", help="show ranks, and where each word was found"),
]


def search_articles(
    query: _Query,
    desk: Desk = None,
    agency: Agency = None,
    theme: _Theme = None,
    language: _Language = None,
    entity: _Entity = None,
    sentiment: _Tone = None,
    body: _Body = None,
    matter: _Matter = None,
    meeting_status: _MeetingStatus = None,
    from_day: From = None,
    to_day: To = None,
    mode: _Mode = "hybrid",
    sort: _Sort = "relevance",
    limit: _Limit = 10,
    explain: _Explain = False,
    as_json: Json = False,
) -> None:
    """Search the index that the settings name and print the answer.

    Raises:
        NewsAssetsError: No such desk or agency, not one body, or no index.
    """
    check_names(desk, agency)
    filters = Filters(
        desk=desk,
        agency=agency,
        theme=theme,
        language=language,
        from_day=day_of(from_day),
        to_day=day_of(to_day),
        entity=entity,
        sentiment=sentiment,
        body=None if body is None else _whole_name(body),
        matter=matter,
        meeting_status=meeting_status,
    )
    with open_index() as index:
        answer = index.search(
            query, filters, mode=mode, sort=sort, limit=limit, explain=explain
        )
    hits, others = hits_with_copies(answer.hits, filters)
    answer = replace(answer, hits=hits)
    if as_json:
        write_line(_facts(answer, others))
    else:
        show(answer, query, others)


def _facts(answer: SearchAnswer, others: _Copies) -> dict[str, Any]:
    """Return an answer as it is printed with --json."""
    lines = []
    for hit in answer.hits:
        copies = list(map(asdict, others.get(hit.article_id, ())))
        lines.append(asdict(hit) | {"copies": copies})
    return {
        "hits": lines,
        "found": answer.found,
        "facets": answer.facets,
        "took_ms": round(answer.took_ms, 2),
    }


def _whole_name(body: str) -> str:
    """Return the whole name of the body with this part of a name.

    Raises:
        NewsAssetsError: The part is in no body's name, or in several.
    """
    from news_assets.store.queries.stored_meetings import bodies_named

    with open_lake() as lake:
        names = bodies_named(lake, body)
    if len(names) == 1:
        return names[0]
    found = "; ".join(names) if names else "none"
    raise NewsAssetsError(
        f"--body {body}: it has to select one body, and selects: {found}"
    )


def hits_with_copies(
    hits: Sequence[SearchHit], filters: Filters
) -> tuple[tuple[SearchHit, ...], _Copies]:
    """Return the hits, each matter once, and their copies; if the lake cannot be read,
    say so, and no copies.

    The index may be on another machine.
    """
    if not hits:
        return (), {}
    from news_assets.store.queries.copies import (
        appearance_copies,
        appearances_of,
        copies_of,
        next_first,
    )

    try:
        with open_lake() as lake, lake.latest() as snapshot:
            groups = appearances_of(snapshot, [hit.article_id for hit in hits])
            arranged = next_first(hits, groups, filters, datetime.now(UTC).date())
            ids = [hit.article_id for hit in arranged]
            found = copies_of(snapshot, ids)
            if groups:
                found |= appearance_copies(snapshot, ids)
        return tuple(arranged), found
    except LakeError as error:
        Terminal(stderr=True).print_line(f"copies are not listed: {error}")
        return tuple(hits), {}


def show(answer: SearchAnswer, text: str, others: _Copies) -> None:
    """Print hits, each with its copies, and facets as a table."""
    terminal = Terminal()
    title = (
        f"“{text}”: {answer.found} found, {len(answer.hits)} shown,"
        f" {answer.took_ms:.1f} ms"
    )
    table = Table(title=title, title_justify="left", box=box.SIMPLE, show_header=False)
    table.add_column("", justify="right")
    table.add_column("article")
    for number, hit in enumerate(answer.hits, start=1):
        lines = _lines_of(hit, others.get(hit.article_id, ()))
        table.add_row(str(number), Group(*lines), end_section=True)
    terminal.print(table)
    for name, counts in answer.facets.items():
        if counts and name != "day":
            values = ", ".join(_most_frequent(counts))
            terminal.print(Text.assemble((f"{name}:", "dim"), f" {values}"))


def _most_frequent(counts: Mapping[str, int]) -> Iterator[str]:
    by_count = sorted(counts.items(), key=lambda item: -item[1])
    for value, count in by_count[:_FACET_VALUES]:
        yield f"{value} {count}"


def _lines_of(hit: SearchHit, others: "Sequence[Copy]") -> Iterator[Text]:
    about = (hit.day.isoformat(), hit.agency, hit.theme_code)
    yield Text(hit.title, style="bold")
    yield Text(" · ".join(filter(None, about)), style="dim")
    yield _highlighted(hit.snippet)
    yield Text(hit.url)
    yield from _explained(hit)
    for one in others[:_SHOWN_COPIES]:
        yield Text(f"also {one.day} · {one.agency} · {one.url}", style="dim")
    if len(others) > _SHOWN_COPIES:
        yield Text(f"and {len(others) - _SHOWN_COPIES} more copies", style="dim")


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
    text = Text()
    for number, part in enumerate(_MARKED.split(snippet)):
        # The parts with an odd number are what the pattern's group holds.
        text.append(html.unescape(part), style="yellow" if number % 2 else "")
    return text
