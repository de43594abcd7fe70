"""What operators look at, and those who follow the archive: coverage, agencies,
sources, failures, changes.
"""

from datetime import UTC, datetime, timedelta

from news_assets.records.derived import Change, Failure
from news_assets.records.desks import Desk
from news_assets.store.changes import Cursor, read_changes
from news_assets.store.queries.backlog import pending_entries, stale_rows
from news_assets.store.queries.listed_articles import day_counts, newest_failures
from news_assets.store.queries.poll_health import silent_agencies
from news_assets.store.queries.source_status import source_rows
from news_assets.web.answers import AgencyItem, CoverageItem, Part, SourceItem
from news_assets.web.archive import Archive
from news_assets.web.operations.coverage import COVERAGE_DAYS, Coverage, coverage_of
from news_assets.web.parameters import (
    ChangeParameters,
    CoverageParameters,
    FailureParameters,
    OfDesk,
    cursor_of,
)
from news_assets.web.parts import part_of, slice_of


def coverage(
    archive: Archive, desk: Desk, now: datetime, stage: str | None = None
) -> Coverage:
    """Return the articles of a desk by agency and day, and how many wait for a stage,
    or for any.
    """
    import polars as pl

    first_day = (now - timedelta(days=COVERAGE_DAYS - 1)).date()
    with archive.lake.latest() as lake:
        stored = day_counts(lake, desk.key, first_day)
        backlog = pl.concat(
            [find(lake, desk, now, first_day) for find in (pending_entries, stale_rows)]
        )
    if stage:
        backlog = backlog.filter(pl.col("stage") == stage)
    waiting = backlog.group_by("agency", "day").agg(
        pl.col("article_id").n_unique().alias("behind")
    )
    return coverage_of(
        desk, stored.join(waiting, on=["agency", "day"], how="full", coalesce=True), now
    )


def covered(archive: Archive, parameters: CoverageParameters) -> Part[CoverageItem]:
    """Return a part of the counts of the last days by agency and day. Raises
    ParameterError.
    """
    now = datetime.now(UTC)
    items = [
        CoverageItem(
            desk=grid.desk,
            agency=agency,
            day=day,
            articles=cell.articles,
            failed=cell.failed,
            behind=cell.behind,
        )
        for grid in (
            coverage(archive, desk, now, parameters.stage)
            for desk in archive.desks
            if parameters.desk in (None, desk.key)
        )
        for agency, _, cells in grid.rows
        for day, cell in zip(grid.days, cells, strict=True)
        if cell and parameters.agency in (None, agency)
    ]
    return slice_of(items, parameters)


def agencies(archive: Archive, parameters: OfDesk) -> Part[AgencyItem]:
    """Return a part of the agencies of the desk files. Raises ParameterError."""
    items = [
        AgencyItem(
            desk=desk.key,
            agency=agency.key,
            name=agency.name,
            timezone=agency.timezone,
            language=agency.language,
            is_active=agency.is_active,
            sources=len(agency.sources),
        )
        for desk in archive.desks
        for agency in desk.agencies
        if parameters.desk in (None, desk.key)
        and parameters.agency in (None, agency.key)
    ]
    return slice_of(items, parameters)


def sources(archive: Archive, parameters: OfDesk) -> Part[SourceItem]:
    """Return a part of the sources, with what `news-assets agencies` prints of them.
    Raises ParameterError.
    """
    now = datetime.now(UTC)
    with archive.lake.latest() as lake:
        items = [
            SourceItem(**row)
            for desk in archive.desks
            if parameters.desk in (None, desk.key)
            for row in source_rows(lake, desk, silent_agencies(lake, desk, now), now)
            if parameters.agency in (None, row["agency"])
        ]
    return slice_of(items, parameters)


def failures(archive: Archive, parameters: FailureParameters) -> Part[Failure]:
    """Return a part of the failures, newest first. Raises ParameterError."""
    after, limit = parameters.position(datetime, str, str), parameters.limit
    given = parameters.model_dump(include={"desk", "agency", "stage"})
    found = newest_failures(archive.lake, **given, after=after, limit=limit + 1)
    return part_of(
        found,
        limit,
        lambda row: cursor_of(
            row.last_failed_at.isoformat(), row.stage, row.article_id
        ),
    )


def changes(archive: Archive, parameters: ChangeParameters) -> Part[Change]:
    """Return the changes after a cursor, in commit order; `next` is there also at the
    end. Raises CursorError.
    """
    since = Cursor.of(parameters.since) if parameters.since else None
    found, after = read_changes(archive.lake, since, parameters.limit)
    return Part(items=found, next=str(after))
