"""The lists that have a page: the same address gives the page, the API's document, a
table or a feed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime, time
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from news_assets.records.derived import Failure
from news_assets.search import SearchHit
from news_assets.store.queries.listed_articles import ListedArticle
from news_assets.web.answers import SourceItem
from news_assets.web.api.operations import (
    COVERAGE,
    FAILURES,
    MEETINGS,
    SEARCH,
    SOURCES,
    Operation,
)
from news_assets.web.archive import Archive
from news_assets.web.forms.choice import MEDIA_TYPES, form_of
from news_assets.web.forms.documents import calendar_file, json_document, table
from news_assets.web.forms.feeds import Entry, Feed, atom, json_feed
from news_assets.web.meetings.forms import calendar, entries_of
from news_assets.web.parameters import MeetingParameters, Parameters, SearchAddress

Entries = Callable[[Archive, Sequence[Any], str], list[Entry]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage:
    """A list with a page at `path`.

    `entries` are its items as those of a feed; None: it is no feed. `of_feed` are the
    parameters of a feed, unless its address names others. `calendar` is the whole list
    as iCalendar; None: it is no calendar.
    """

    path: str
    title: str
    template: str
    operation: Operation
    entries: Entries | None = None
    of_feed: Mapping[str, str] = field(default_factory=dict)
    calendar: Callable[[Archive, Any], bytes] | None = None

    def forms(self) -> Mapping[str, str]:
        """Return the media types of its other forms by suffix."""
        absent = {
            *(() if self.entries else _FEEDS),
            *(() if self.calendar else (".ics",)),
        }
        return {form: kind for form, kind in MEDIA_TYPES.items() if form not in absent}


_FEEDS: Final = {".atom": atom, ".feed.json": json_feed}


def other_form(page: ListPage, archive: Archive, request: Request) -> Response:
    """Return a list in the form that the request asks for, which is not HTML. Raises
    NewsAssetsError.
    """
    form = form_of(request)
    if form not in page.forms():
        raise HTTPException(
            404, f"{page.path} has no such form; it has {', '.join(page.forms())}"
        )
    usual = page.of_feed if form in _FEEDS else {}
    parameters = page.operation.parameters.of({**usual, **request.query_params})
    if page.calendar and form == ".ics":
        return calendar_file(page.calendar(archive, parameters))
    answer = page.operation.read(archive, parameters)
    if form == ".json":
        return json_document(asdict(answer))
    if page.entries is None or form not in _FEEDS:
        columns = [field.name for field in fields(page.operation.item)]
        return table(
            form, page.operation.path, columns, [asdict(item) for item in answer.items]
        )
    base = str(request.base_url).rstrip("/")
    path = base + page.path
    following = parameters.url(path + form, cursor=answer.next) if answer.next else None
    feed = Feed(
        title=_feed_title(page, parameters),
        id=parameters.url(path + form, page=None, cursor=None),
        here=parameters.url(path + form),
        page=parameters.url(path),
        following=following,
        entries=page.entries(archive, answer.items, base),
    )
    return _FEEDS[form](feed)


def _feed_title(page: ListPage, parameters: Parameters) -> str:
    wanted: list[str | None] = []
    if isinstance(parameters, SearchAddress):
        wanted = [parameters.text, *parameters.active.values()]
    if isinstance(parameters, MeetingParameters):
        wanted = [parameters.text, parameters.topic, parameters.agency, parameters.body]
    return ": ".join(filter(None, (page.title, ", ".join(filter(None, wanted)))))


# --- entries of feeds -----------------------------------------------------------------


def _articles(archive: Archive, hits: Sequence[SearchHit], base: str) -> list[Entry]:
    """Return the hits with what the lake has of them; only what the index has if the
    lake lacks one.
    """
    listed = archive.listed(hits)
    return [
        _article(hit, listed.get(hit.article_id), archive.agency_name(hit.agency), base)
        for hit in hits
    ]


def _article(
    hit: SearchHit, row: ListedArticle | None, agency: str, base: str
) -> Entry:
    published = (row and (row.published_at or row.first_seen_at)) or datetime.combine(
        hit.day, time(), UTC
    )
    return Entry(
        key=hit.article_id,
        title=hit.title or hit.url,
        url=hit.url,
        page=f"{base}/articles/{hit.article_id}",
        published=published,
        updated=max(published, row.updated_at) if row and row.updated_at else published,
        summary=(row.summary if row else None) or "",
        authors=(row.authors if row else ()) or [agency],
        categories=(row.theme_labels if row else None) or (),
        language=hit.language,
    )


def _failures(archive: Archive, failures: Sequence[Failure], base: str) -> list[Entry]:
    return [
        Entry(
            key=f"failures/{one.stage}/{one.article_id}/{one.first_failed_at.isoformat()}",
            title=f"{one.stage}: {one.article_id}",
            url=f"{base}/articles/{one.article_id}",
            page=f"{base}/articles/{one.article_id}",
            published=one.first_failed_at,
            updated=one.last_failed_at,
            summary=one.reason,
            authors=[archive.agency_name(one.agency)],
        )
        for one in failures
    ]


def _sources(archive: Archive, sources: Sequence[SourceItem], base: str) -> list[Entry]:
    """Return the sources that were polled, each as of its last poll."""
    return [
        Entry(
            key=f"sources/{one.source_id}",
            title=f"{one.name}: {one.kind}",
            url=one.url,
            page=f"{base}/operations/sources",
            updated=one.polls[-1]["polled_at"],
            summary=one.last_reason or one.polls[-1]["outcome"],
            authors=[archive.agency_name(one.agency)],
        )
        for one in sources
        if one.polls
    ]


SEARCH_PAGE: Final = ListPage(
    path="/search",
    title="News archive",
    template="search.html",
    operation=SEARCH,
    entries=_articles,
    of_feed={"sort": "date", "limit": "50"},
)
LIST_PAGES: Final = (
    ListPage(
        path="/meetings",
        title="Meetings",
        template="meetings.html",
        operation=MEETINGS,
        entries=entries_of,
        calendar=calendar,
    ),
    ListPage(
        path="/operations/sources",
        title="Sources",
        template="sources.html",
        operation=SOURCES,
        entries=_sources,
    ),
    ListPage(
        path="/operations/failures",
        title="Failures",
        template="failures.html",
        operation=FAILURES,
        entries=_failures,
    ),
    ListPage(
        path="/operations",
        title="Coverage",
        template="operations.html",
        operation=COVERAGE,
    ),
)
