"""The commands `failures list`, `show` and `retry`."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from news_assets.clients.factory import open_ports
from news_assets.commands.jsonlines import write_line
from news_assets.commands.lake import check_names, open_lake
from news_assets.desks.desk_files import load_desks
from news_assets.errors import NewsAssetsError
from news_assets.pipeline import stages
from news_assets.pipeline.stage_state.failures import make_due
from news_assets.ports.lake import Reader
from news_assets.records.articles import RawArticle
from news_assets.records.derived import Failure
from news_assets.records.polling import FeedEntry
from news_assets.records.reading import AgencyDays
from news_assets.settings import Settings
from news_assets.sources.source_kinds import ALL_KINDS
from news_assets.store.lake import Lake
from news_assets.store.queries.spending import spent
from news_assets.terminal import Terminal

SHOWN = 30  # rows of a table without --limit: two screens
_NAMED = 3  # ids in an error message

_ENTRY = (
    "source_id",
    "url",
    "title",
    "day",
    "published_at",
    "first_seen_at",
    "last_seen_at",
    "trace_id",
)
_ARTICLE = (
    "outcome",
    "reason",
    "attempts",
    "next_try_at",
    "fetched_at",
    "url",
    "canonical_url",
    "text_chars",
)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which failures to list or retry."""

    desk: str | None = None
    stage: str | None = None
    agency: str | None = None

    def check(self) -> None:
        """Raise NewsAssetsError for a name that does not exist."""
        names = [stage.name for stage in stages.all_stages()]
        if self.stage is not None and self.stage not in names:
            raise NewsAssetsError(
                f"no stage `{self.stage}`; there are: {', '.join(names)}"
            )
        check_names(self.desk, self.agency)

    def isin(self) -> dict[str, Collection[str]]:
        """Return the filters by column of `failures`."""
        return {
            name: [value] for name, value in asdict(self).items() if value is not None
        }


# --- list -----------------------------------------------------------------------------


def list_failures(filters: Filters, limit: int | None, *, as_json: bool) -> None:
    """Print the failures, newest first."""
    filters.check()
    with open_lake() as lake:
        found = _newest_first(lake.read(Failure, None, **filters.isin()))
    if as_json:
        for failure in found[:limit]:
            write_line(asdict(failure))
    else:
        _show_table(found, limit or SHOWN, datetime.now(UTC))


def _newest_first(failures: Sequence[Failure]) -> list[Failure]:
    return sorted(
        failures,
        key=lambda failure: (-failure.last_failed_at.timestamp(), failure.article_id),
    )


def _show_table(failures: Sequence[Failure], limit: int, now: datetime) -> None:
    terminal = Terminal()
    if not failures:
        terminal.print_line("no failures")
        return
    table = Table(box=box.SIMPLE, pad_edge=False)
    table.add_column("stage, attempts", no_wrap=True)
    table.add_column("article, reason", overflow="fold")
    for failure in failures[:limit]:
        attempt = f"attempt {failure.attempts}, {_minute(failure.last_failed_at)}"
        about = Text(f"{failure.agency} · {failure.day}", style="dim")
        table.add_row(
            Group(failure.stage, attempt, _next_try(failure.next_try_at, now)),
            Group(about, Text(failure.article_id, style="bold"), failure.reason),
            end_section=True,
        )
    terminal.print(table)
    if len(failures) > limit:
        terminal.print(
            f"{len(failures) - limit} more; --limit shows more of them, --stage and --agency fewer"
        )


def _minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}Z"


def _next_try(at: datetime | None, now: datetime) -> str:
    if at is None:
        return "given up"
    return "due now" if at <= now else f"next {_minute(at)}"


# --- show -----------------------------------------------------------------------------


def show(article_id: str) -> None:
    """Print the failures, the row and the entries of one article."""
    with open_lake() as lake:
        failures = lake.read(Failure, article_id=[article_id])
        articles = lake.read(RawArticle, article_id=[article_id])
        entries = lake.read(FeedEntry, article_id=[article_id])
        if not (failures or articles or entries):
            raise NewsAssetsError(f"no article `{article_id}`; {_failing(lake)}")
    terminal, now = Terminal(), datetime.now(UTC)
    terminal.print(article_id, style="bold")
    for failure in failures:
        _show_values(terminal, f"failure of {failure.stage}", _values_of(failure, now))
    if not failures:
        terminal.print()
        terminal.print("no failures")
    for article in articles:
        _show_values(
            terminal, "article", [(name, getattr(article, name)) for name in _ARTICLE]
        )
    for entry in entries:
        _show_values(
            terminal,
            f"entry {entry.entry_id}",
            [(name, getattr(entry, name)) for name in _ENTRY],
        )


def _values_of(failure: Failure, now: datetime) -> list[tuple[str, object]]:
    return [
        ("reason", failure.reason),
        ("attempts", failure.attempts),
        ("first failed", failure.first_failed_at),
        ("last failed", failure.last_failed_at),
        ("next attempt", _next_try(failure.next_try_at, now)),
        ("desk", failure.desk),
        ("agency, day", f"{failure.agency}, {failure.day}"),
        ("trace_id", failure.trace_id),
    ]


def _show_values(
    terminal: Terminal, title: str, values: Sequence[tuple[str, object]]
) -> None:
    table = Table(
        title=title,
        title_justify="left",
        title_style="",
        box=None,
        show_header=False,
        pad_edge=False,
    )
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in values:
        if value is not None:
            table.add_row(
                name, _minute(value) if isinstance(value, datetime) else str(value)
            )
    terminal.print()
    terminal.print(table)


def _failing(lake: Reader) -> str:
    """Return which articles have a failure."""
    ids = sorted(set(lake.frame(Failure, None, ("article_id",))["article_id"]))
    if not ids:
        return "there are no failures"
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return f"there are failures of: {', '.join(ids[:_NAMED])}{more}"


# --- retry ----------------------------------------------------------------------------


def retry(filters: Filters, article_ids: Sequence[str], *, run_now: bool) -> None:
    """Make failures due with all their attempts left; or run their stages in this
    process.
    """
    filters.check()
    with open_lake() as lake:
        selected = filters.isin() | (
            {"article_id": set(article_ids)} if article_ids else {}
        )
        known = set(
            lake.frame(Failure, None, ("article_id",), **selected)["article_id"]
        )
        if unknown := sorted(set(article_ids) - known):
            raise NewsAssetsError(
                f"no failure of {', '.join(f'`{one}`' for one in unknown)}; {_failing(lake)}"
            )
        now = datetime.now(UTC)
        made_due = lake.transact(lambda rows: make_due(rows, now, **selected))
        if not made_due:
            Terminal().print_line("no failures")
        elif run_now:
            _run_stages(lake, made_due)
        else:
            Terminal().print_line(
                f"{len(made_due)} due now; the daemon or `dagster asset materialize` runs them"
            )


def _run_stages(lake: Lake, failures: Sequence[Failure]) -> None:
    """Run the stages of these failures over their agency-days, as their assets do."""
    settings = Settings.read()
    desks = {desk.key: desk for desk in load_desks(settings.desks, ALL_KINDS)}
    for stage in stages.all_stages():
        for key in sorted(
            {failure.desk for failure in failures if failure.stage == stage.name}
        ):
            tried = [
                failure
                for failure in failures
                if (failure.desk, failure.stage) == (key, stage.name)
            ]
            if key not in desks:
                raise NewsAssetsError(
                    f"desk `{key}` has no desk file, so its stages cannot be run; see NEWS_DESKS"
                )
            keys = AgencyDays(
                key, frozenset((failure.agency, failure.day) for failure in tried)
            )
            with open_ports(settings, stage.ports, partial(spent, lake)) as ports:
                stage.run_batch(
                    lake, desks[key], keys, lambda: datetime.now(UTC), ports
                )
            _report(lake, stage.name, tried)


def _report(lake: Lake, stage: str, tried: Sequence[Failure]) -> None:
    ids = {failure.article_id for failure in tried}
    still = lake.read(Failure, stage=[stage], article_id=ids)
    Terminal().print_line(f"{stage}: {len(ids) - len(still)} of {len(ids)} succeeded")
    for failure in still:
        Terminal().print_line(f"  {failure.article_id}: {failure.reason}")
