"""What operators look at, and those who follow the archive: coverage, agencies, sources,
failures and changes; for monitors, /health and /metrics.

/health says whether the server lives and is ready, and why not; /metrics has counts in
Prometheus' text format.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from news_assets.errors import NewsAssetsError
from news_assets.records.derived import Change
from news_assets.records.desks import Agency, Desk
from news_assets.store.queries.backlog import pending_entries, stale_rows
from news_assets.store.queries.changes import Cursor, read_changes
from news_assets.store.queries.listed_articles import day_counts
from news_assets.store.queries.listed_failures import ListedFailure, newest_failures
from news_assets.store.queries.poll_health import source_rows
from news_assets.text.dates import day_of
from news_assets.text.fingerprint import fitness
from news_assets.web.answers import (
    AgencyItem,
    CoverageItem,
    Part,
    SourceItem,
    part_of,
    slice_of,
)
from news_assets.web.archive import Archive
from news_assets.web.parameters import (
    AgencyParameters,
    ChangeParameters,
    CoverageParameters,
    FailureParameters,
    OfDesk,
    cursor_of,
)

if TYPE_CHECKING:
    import polars


_COVERAGE_DAYS: Final = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """Articles of one agency and day, and how many of them failed or wait for a stage."""

    articles: int
    failed: int
    behind: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Coverage:
    """The agencies of a desk with a cell for each of the last days, newest day first;
    None where nothing is stored.
    """

    desk: str
    days: Sequence[date]
    rows: Sequence[tuple[str, str, Sequence[_Cell | None]]]


def _coverage_of(desk: Desk, counts: "polars.DataFrame", today: date) -> _Coverage:
    """Return the table of a desk from rows with agency, day, articles, failed and
    behind.
    """
    found: dict[str, dict[date, _Cell]] = defaultdict(dict)
    newest = today
    for row in counts.iter_rows(named=True):
        cell = _Cell(
            articles=row["articles"] or 0,
            failed=row["failed"] or 0,
            behind=row["behind"] or 0,
        )
        found[row["agency"]][row["day"]] = cell
        if row["day"] == today + timedelta(days=1):  # it has begun further east
            newest = row["day"]
    days = []
    day = newest
    while day > today - timedelta(days=_COVERAGE_DAYS):
        days.append(day)
        day -= timedelta(days=1)
    rows = []
    for agency in desk.agencies:
        if agency.is_active:
            cells = list(map(found[agency.key].get, days))
            rows.append((agency.key, agency.name, cells))
    return _Coverage(desk=desk.key, days=days, rows=rows)


def worst_first(table: _Coverage) -> _Coverage:
    """Return the table with the agencies first of which most articles failed, then those
    of which most wait.
    """

    def badness(row: tuple[str, str, Sequence[_Cell | None]]) -> tuple[int, int]:
        failed = behind = 0
        for cell in filter(None, row[2]):
            failed += cell.failed
            behind += cell.behind
        return -failed, -behind

    return replace(table, rows=sorted(table.rows, key=badness))


def coverage(
    archive: Archive, desk: Desk, now: datetime, stage: str | None = None
) -> _Coverage:
    """Return the articles of a desk by agency and day, and how many wait for a stage,
    or for any.
    """
    import polars as pl

    today = day_of(now, desk.timezone)
    first_day = today - timedelta(days=_COVERAGE_DAYS - 1)
    with archive.lake.latest() as lake:
        stored = day_counts(lake, desk.key, first_day)
        pending = pending_entries(lake, desk, now, first_day)
        backlog = pl.concat([pending, stale_rows(lake, desk, now, first_day)])
    if stage:
        backlog = backlog.filter(pl.col("stage") == stage)
    behind = pl.col("article_id").n_unique().alias("behind")
    waiting = backlog.group_by("agency", "day").agg(behind)
    counts = stored.join(waiting, on=["agency", "day"], how="full", coalesce=True)
    return _coverage_of(desk, counts, today)


def covered(archive: Archive, parameters: CoverageParameters) -> Part[CoverageItem]:
    """Return a part of the counts of the last days by agency and day. Raises
    ParameterError.
    """
    now = datetime.now(UTC)
    items: list[CoverageItem] = []
    for desk in archive.desks:
        if parameters.desk in (None, desk.key):
            table = coverage(archive, desk, now, parameters.stage)
            items += _items_of(table, parameters.agency)
    return slice_of(items, parameters)


def _items_of(table: _Coverage, wanted: str | None) -> Iterator[CoverageItem]:
    """Yield the cells of all agencies, or of the wanted one."""
    for agency, _, cells in table.rows:
        if wanted not in (None, agency):
            continue
        for day, cell in zip(table.days, cells, strict=True):
            if cell is not None:
                yield CoverageItem(
                    desk=table.desk,
                    agency=agency,
                    day=day,
                    articles=cell.articles,
                    failed=cell.failed,
                    behind=cell.behind,
                )


def agencies(archive: Archive, parameters: AgencyParameters) -> Part[AgencyItem]:
    """Return a part of the agencies of the desk files; of those with such a name the best
    first. Raises ParameterError.
    """
    items = []
    for desk in archive.desks:
        if parameters.desk not in (None, desk.key):
            continue
        for agency in desk.agencies:
            if parameters.agency in (None, agency.key):
                items.append(_agency_item(desk, agency))
    if parameters.name:
        items = _named(items, parameters.name)
    return slice_of(items, parameters)


def _named(items: Sequence[AgencyItem], name: str) -> list[AgencyItem]:
    found = []
    for one in items:
        fit = fitness(name, (one.name, one.agency))
        if fit:
            found.append((-fit, one.name, one.desk, one))
    found.sort(key=itemgetter(0, 1, 2))
    return [one for *_, one in found]


def _agency_item(desk: Desk, agency: Agency) -> AgencyItem:
    return AgencyItem(
        desk=desk.key,
        agency=agency.key,
        name=agency.name,
        timezone=agency.timezone,
        language=agency.language,
        is_active=agency.is_active,
        sources=len(agency.sources),
    )


def sources(archive: Archive, parameters: OfDesk) -> Part[SourceItem]:
    """Return a part of the sources, with what `news-assets agencies` prints of them.
    Raises ParameterError.
    """
    return slice_of(_source_items(archive, parameters), parameters)


def _source_items(archive: Archive, parameters: OfDesk) -> list[SourceItem]:
    now = datetime.now(UTC)
    items = []
    with archive.lake.latest() as lake:
        for desk in archive.desks:
            if parameters.desk not in (None, desk.key):
                continue
            silences = archive.silences(lake, desk, now)
            for row in source_rows(lake, desk, silences, now):
                if parameters.agency in (None, row["agency"]):
                    items.append(SourceItem(**row))
    return items


@dataclass(frozen=True, slots=True, kw_only=True)
class _SourceHealth:
    """A part of the sources, the worst first, and how many of all are failing and how
    many publishers are silent.
    """

    part: Part[SourceItem]
    total: int
    failing: int
    silent: int


def source_health(archive: Archive, parameters: OfDesk) -> _SourceHealth:
    """Return a part of the sources as operators look at them. Raises ParameterError."""
    items = _source_items(archive, parameters)
    silent = {(one.desk, one.agency) for one in items if one.silent_for}
    return _SourceHealth(
        part=slice_of(sorted(items, key=_badness), parameters),
        total=len(items),
        failing=sum(one.is_failing for one in items),
        silent=len(silent),
    )


def _badness(item: SourceItem) -> tuple[bool, bool, bool]:
    """Return what sources are sorted by: failing ones first, then silent ones, then
    those never polled.
    """
    is_never_polled = item.is_active and not item.polls
    return not item.is_failing, not item.silent_for, not is_never_polled


def failures(archive: Archive, parameters: FailureParameters) -> Part[ListedFailure]:
    """Return a part of the failures, newest first. Raises ParameterError."""
    after = parameters.position(datetime, str, str)
    limit = parameters.limit
    found = newest_failures(
        archive.lake, **parameters.filters, after=after, limit=limit + 1
    )
    return part_of(found, limit, _cursor_of_failure)


def _cursor_of_failure(row: ListedFailure) -> str:
    return cursor_of(row.last_failed_at.isoformat(), row.stage, row.article_id)


def changes(archive: Archive, parameters: ChangeParameters) -> Part[Change]:
    """Return the changes after a cursor, in commit order; `next` is there also at the
    end. Raises CursorError.
    """
    since = Cursor.of(parameters.since) if parameters.since else None
    found, after = read_changes(archive.lake, since, parameters.limit)
    return Part(items=found, next=str(after))


# Metric, meaning, its labels, and the SELECT of labels and value. Each reads a few
# columns of one table.
_METRICS: Final = (
    (
        "articles",
        "articles by outcome",
        ("desk", "outcome"),
        "desk, outcome, count(*) FROM raw_articles",
    ),
    (
        "documents",
        "documents in the search index",
        ("desk", "outcome"),
        "desk, outcome, count(*) FROM indexed_documents",
    ),
    (
        "sources",
        "sources by the outcome of the last poll",
        ("desk", "outcome"),
        "desk, last_outcome, count(*) FROM sources",
    ),
    (
        "failures",
        "failures that are tried again",
        ("desk", "stage"),
        "desk, stage, count(next_try_at) FROM failures",
    ),
    (
        "failures_given_up",
        "failures that are not tried again",
        ("desk", "stage"),
        "desk, stage, count_if(next_try_at IS NULL) FROM failures",
    ),
    (
        "last_new_entry_timestamp_seconds",
        "time of the last poll that found a new entry",
        ("desk",),
        "desk, epoch(max(last_new_at)) FROM sources WHERE last_new_at IS NOT NULL",
    ),
    (
        "messages",
        "messages by state",
        ("state",),
        (
            "CASE WHEN sent_at IS NOT NULL THEN 'sent' WHEN next_try_at IS NOT NULL THEN 'waiting'"
            " ELSE 'given up' END, count(*) FROM messages"
        ),
    ),
    (
        "conditions",
        "bad states that operators were told",
        (),
        "count(*) FROM conditions",
    ),
)
_ESCAPED: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


def health(archive: Archive, request: Request) -> Response:
    """Return that the server lives, and whether lake and index can be read; 503 with
    the reasons if not.
    """
    try:
        archive.is_ready()
        reasons = []
    except NewsAssetsError as error:
        reasons = [str(error)]
    return JSONResponse(
        {"live": True, "ready": not reasons, "reasons": reasons},
        503 if reasons else 200,
    )


def metrics(archive: Archive, request: Request) -> Response:
    """Return the counts of the lake's rows at one commit. Raises LakeError."""
    with archive.lake.latest() as lake:
        commit = lake.snapshot()
        lines = [
            "# HELP news_commit number of the last commit",
            "# TYPE news_commit gauge",
            f"news_commit {commit}",
        ]
        for name, meaning, labels, select in _METRICS:
            by = " GROUP BY ALL ORDER BY ALL" if labels else ""
            rows = lake.query(f"SELECT {select}{by}").rows()
            lines += [
                f"# HELP news_{name} {meaning}",
                f"# TYPE news_{name} gauge",
                *_samples(name, labels, rows),
            ]
    return Response(
        "\n".join(lines) + "\n", media_type="text/plain; version=0.0.4; charset=utf-8"
    )


def _samples(
    name: str, labels: Iterable[str], rows: Iterable[tuple[object, ...]]
) -> Iterator[str]:
    for *values, number in rows:
        if not values:
            yield f"news_{name} {number}"
            continue
        pairs = []
        for label, value in zip(labels, values, strict=True):
            pairs.append(f'{label}="{str(value).translate(_ESCAPED)}"')
        yield f"news_{name}{{{','.join(pairs)}}} {number}"
