"""The page of one publisher: its feeds, rhythm and silence, its sources, its newest articles, and
what it changed after publication.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from news_assets.pipeline.stage_declaration import Findings
from news_assets.records.desks import Agency, Desk
from news_assets.store.queries.changes import Edit, newest_edits
from news_assets.store.queries.listed_articles import ListedArticle, newest_articles
from news_assets.store.queries.poll_health import source_rows
from news_assets.store.transaction import Snapshot
from news_assets.text.dates import day_of
from news_assets.web.answers import SourceItem
from news_assets.web.archive import Archive
from news_assets.web.list_pages import SEARCH_PAGE
from news_assets.web.operations.article_actions import Render
from news_assets.web.parameters import OnePublisher, SearchAddress
from news_assets.web.trends import Bar, bars_of

_DAYS: Final = 30  # of the rhythm
_NEWEST: Final = 10
_OF: Final = "desk = $desk AND agency = $agency"
_RHYTHM: Final = f"""
    SELECT day::VARCHAR, count(*) FROM raw_articles
    WHERE {_OF} AND day >= $first_day AND outcome != 'withdrawn' GROUP BY day
"""
_EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PublisherView:
    """A publisher with what is stored of it. `agency` is None where no desk file has it
    any more. `bars` are the articles of the last 30 days.
    """

    desk: str
    key: str
    name: str
    agency: Agency | None
    sources: Sequence[SourceItem]
    newest: Sequence[ListedArticle]
    changes: Sequence[Edit]
    bars: Sequence[Bar]
    article_count: int
    address: SearchAddress


class PublisherPages:
    """The handler of a publisher; `render` makes a page of a template and values."""

    def __init__(self, archive: Archive, render: Render) -> None:
        self._archive = archive
        self._render = render

    def publisher(self, request: Request) -> Response:
        """Return the page of a publisher; 404 where nothing is known of it."""
        one = OnePublisher.of(request.path_params)
        view = _publisher_view(self._archive, one, datetime.now(UTC))
        if view is None:
            raise HTTPException(
                404, f"no publisher {one.agency} in the desk {one.desk}"
            )
        feeds = SEARCH_PAGE.feeds(view.address.model_copy(update={"sort": "relevance"}))
        return self._render(request, "publisher.html", view=view, feeds=feeds)


def _publisher_view(
    archive: Archive, one: OnePublisher, now: datetime
) -> _PublisherView | None:
    """Return a publisher; None where no desk file and no article has it."""
    desk, agency = _declared(archive, one)
    newest = newest_articles(
        archive.lake, desk=one.desk, agency=one.agency, limit=_NEWEST
    )
    if agency is None and not newest:
        return None
    today = day_of(now, archive.zone_of(one.desk, one.agency))
    first_day = today - timedelta(days=_DAYS - 1)
    sources: Sequence[SourceItem] = ()
    with archive.lake.latest() as lake:
        counts = _counts_by_day(lake, one, first_day)
        if desk is not None and agency is not None:
            # silences are judged by what the whole desk publishes
            silences = archive.silences(lake, desk, now)
            sources = _sources_of(lake, desk, agency, silences, now)
    changes = newest_edits(
        archive.lake,
        first=_EVER,
        silent_only=False,
        desk=one.desk,
        agency=one.agency,
        limit=_NEWEST,
    )
    return _PublisherView(
        desk=one.desk,
        key=one.agency,
        name=archive.agency_name(one.agency),
        agency=agency,
        sources=sources,
        newest=newest,
        changes=changes,
        bars=_bars(counts, first_day, today),
        article_count=sum(counts.values()),
        address=SearchAddress(sort="date", desk=one.desk, agency=one.agency),
    )


def _declared(archive: Archive, one: OnePublisher) -> tuple[Desk | None, Agency | None]:
    for desk in archive.desks:
        if desk.key != one.desk:
            continue
        for agency in desk.agencies:
            if agency.key == one.agency:
                return desk, agency
    return None, None


def _sources_of(
    lake: Snapshot, desk: Desk, agency: Agency, silences: Findings, now: datetime
) -> list[SourceItem]:
    alone = replace(desk, agencies=(agency,))
    return [SourceItem(**row) for row in source_rows(lake, alone, silences, now)]


def _counts_by_day(
    lake: Snapshot, one: OnePublisher, first_day: date
) -> dict[str, int]:
    given = {"desk": one.desk, "agency": one.agency, "first_day": first_day}
    return dict(lake.query(_RHYTHM, given).iter_rows())


def _bars(counts: dict[str, int], first: date, last: date) -> Sequence[Bar]:
    """Return a bar for each day, also where the first and last days have none."""
    ends = {first.isoformat(): 0, last.isoformat(): 0}
    return bars_of(ends | counts)
