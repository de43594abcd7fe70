"""The command `replay`: extract again from the stored pages, and show or store what
changes.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from news_assets.clients.sandbox import ProcessSandbox
from news_assets.commands.opening import check_names, desks_of_files, open_lake
from news_assets.commands.terminal import (
    Agency,
    Days,
    From,
    Json,
    Terminal,
    To,
    days_between,
    write_line,
)
from news_assets.commands.terminal import Desk as DeskOption
from news_assets.errors import NewsAssetsError
from news_assets.pipeline.articles.drift import Summary, diff_of
from news_assets.pipeline.articles.replayed_article import (
    Change,
    Replayed,
    archive_groups,
    replay_articles,
    store_replayed,
)
from news_assets.pipeline.stages import STAGES
from news_assets.pipeline.storing import store_apart
from news_assets.ports.services import Sandbox
from news_assets.records.articles import RawArticle
from news_assets.records.desks import Desk
from news_assets.store.lake import Lake

_SHOWN_DIFFS = 3

_MEANINGS: dict[Change, str] = {
    "unchanged": "unchanged",
    "text": "another text",
    "metadata": "the same text, other metadata",
    "gained": "a text where there was none",
    "lost": "no text any more: the stored one stays",
    "kept": "far less text: the stored one stays",
    "unreadable": "not read within the limits",
    "no_page": "no stored page",
    "no_entry": "the listed entry has changed since, or is gone",
    "newer": "stored again meanwhile: that row stays",
}


_Write = Annotated[
    bool, typer.Option("--write", help="store the new texts, as changes of method")
]


def replay(
    desk: DeskOption = None,
    agency: Agency = None,
    from_day: From = None,
    to_day: To = None,
    write: _Write = False,
    as_json: Json = False,
) -> None:
    """Replay the articles of these desks, agencies and days, one desk after the other."""
    check_names(desk, agency)
    days = days_between(from_day, to_day)
    desks = desks_of_files(desk)
    with open_lake() as lake, ProcessSandbox() as sandbox:
        for one in desks:
            summary = _replay_desk(lake, one, agency, days, sandbox, write=write)
            diffs = [(worst, _diff(worst, sandbox)) for worst in summary.worst]
            if as_json:
                write_line(_facts(one.key, summary, diffs, write=write))
            else:
                _show(one.key, summary, diffs, write=write)


def _replay_desk(
    lake: Lake,
    desk: Desk,
    agency: str | None,
    days: Days,
    sandbox: Sandbox,
    *,
    write: bool,
) -> Summary:
    groups = archive_groups(lake, desk.key, agency, *days)
    summary = Summary()
    console = Terminal(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        total = sum(group.articles for group in groups)
        task = progress.add_task(desk.key, total=total)
        for group in groups:
            articles = lake.read(RawArticle, group.keys)
            for batch in replay_articles(lake, desk, articles, sandbox):
                summary.add(_stored(lake, desk, batch) if write else batch)
                progress.advance(task, len(batch))
    return summary


def _stored(lake: Lake, desk: Desk, batch: Sequence[Replayed]) -> list[Replayed]:
    """Store a batch; return it with what became of it."""
    if not any(one.row for one in batch):
        return list(batch)

    def store(some: Sequence[Replayed]) -> list[Replayed]:
        now = datetime.now(UTC)
        return lake.transact(
            lambda rows: store_replayed(rows, STAGES[0], desk, some, now)
        )

    return store_apart(
        batch,
        store,
        lambda one, reason: Replayed(one.article, "unreadable", reason=reason),
    )


def _diff(one: Replayed, sandbox: Sandbox) -> list[str]:
    if one.row is None:
        return []
    [lines] = sandbox.run(diff_of, [(one.article.text or "", one.row.text or "")])
    if isinstance(lines, NewsAssetsError):
        return [str(lines)]
    return lines


# --- output ---------------------------------------------------------------------------


def _facts(
    desk: str,
    summary: Summary,
    diffs: Sequence[tuple[Replayed, list[str]]],
    *,
    write: bool,
) -> dict[str, Any]:
    return {
        "desk": desk,
        "is_written": write,
        "articles": summary.counts.total(),
        "changes": {change: summary.counts[change] for change in _MEANINGS},
        "columns": dict(summary.columns.most_common()),
        "worst": [_worst_facts(one, diff) for one, diff in diffs],
    }


def _worst_facts(one: Replayed, diff: Sequence[str]) -> dict[str, Any]:
    return {
        "article_id": one.article.article_id,
        "change": one.change,
        "words_kept": round(one.kept_ratio, 3),
        "stored_chars": one.article.text_chars,
        "found_chars": one.found_chars,
        "reason": one.reason,
        "diff": diff,
    }


def _show(
    desk: str,
    summary: Summary,
    diffs: Sequence[tuple[Replayed, list[str]]],
    *,
    write: bool,
) -> None:
    terminal = Terminal()
    for line in _lines(desk, summary, write=write):
        terminal.print_line(line)
    if summary.worst:
        terminal.print()
        terminal.print(_table(summary.worst))
    changed = [(one, diff) for one, diff in diffs if diff]
    for one, diff in changed[:_SHOWN_DIFFS]:
        terminal.print()
        terminal.print_line(one.article.article_id, style="bold")
        for line in diff:
            terminal.print_line(f"  {line}")


def _lines(desk: str, summary: Summary, *, write: bool) -> Iterator[str]:
    written = f"{summary.new_rows} new rows written" if write else "nothing written"
    yield f"desk {desk}: {summary.counts.total()} articles, {written}"
    for change, meaning in _MEANINGS.items():
        if count := summary.counts[change]:
            yield f"{count:9,}  {meaning}"
    if summary.columns:
        counts = [f"{name} {count}" for name, count in summary.columns.most_common()]
        yield f"columns: {', '.join(counts)}"
    if summary.new_rows and not write:
        yield f"--write stores the {summary.new_rows} new rows"


def _table(worst: Sequence[Replayed]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("words kept", "characters"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("worst differences", overflow="fold")
    for one in worst:
        reason = f" ({one.reason})" if one.reason else ""
        about = f"{one.article.article_id}: {_MEANINGS[one.change]}{reason}"
        chars = f"{one.article.text_chars:,} → {one.found_chars:,}"
        table.add_row(f"{one.kept_ratio:.0%}", chars, about)
    return table
