"""The lists that have a page: the same address gives the page, the API's document, a
table or a feed.
"""

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, time
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from news_assets.search import SearchHit
from news_assets.store.queries.changes import last_edits
from news_assets.store.queries.listed_articles import ListedArticle
from news_assets.store.queries.listed_failures import ListedFailure
from news_assets.text.dates import zone_info
from news_assets.web.answers import SourceItem
from news_assets.web.api_operations import (
    COVERAGE,
    EDITS,
    FAILURES,
    MEETINGS,
    NAMES,
    SEARCH,
    SILENCES,
    SOURCES,
    STORIES,
    TRENDS,
    Operation,
)
from news_assets.web.archive import Archive
from news_assets.web.article_views import edit_entries, page_of_edit
from news_assets.web.forms import (
    FEED_FORMS,
    MEDIA_TYPES,
    TABLE_FORMS,
    Entry,
    Feed,
    calendar_file,
    form_of,
    json_document,
)
from news_assets.web.markup import article_html
from news_assets.web.meeting_pages import calendar, entries_of
from news_assets.web.meeting_views import MeetingItem
from news_assets.web.morning_page import silence_entries
from news_assets.web.parameters import (
    MeetingParameters,
    Parameters,
    SearchAddress,
    StoryParameters,
)
from news_assets.web.profile_pages import page_of_name
from news_assets.web.spreadsheets import (
    Spreadsheet,
    articles_sheet,
    publisher,
    sheet_of,
    spreadsheet,
)
from news_assets.web.story_pages import page_of_story, story_entries
from news_assets.web.trends import TREND_COLUMNS, trend_rows

_Entries = Callable[[Archive, Sequence[Any], str], list[Entry]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPage:
    """A list with a page at `path`.

    `entries` are its items as those of a feed; None: it is no feed. `of_feed` are the
    parameters of a feed, unless its address names others. `calendar` is the whole list
    as iCalendar; None: it is no calendar. `sheet` is the whole list as a table.
    """

    path: str
    title: str
    template: str
    operation: Operation
    sheet: Spreadsheet
    entries: _Entries | None = None
    of_feed: Mapping[str, str] = field(default_factory=dict)
    calendar: Callable[[Archive, Any], bytes] | None = None

    def forms(self) -> Mapping[str, str]:
        """Return the media types of its other forms by suffix."""
        absent = {
            *(() if self.entries else FEED_FORMS),
            *(() if self.calendar else (".ics",)),
        }
        return {form: kind for form, kind in MEDIA_TYPES.items() if form not in absent}

    def feeds(self, parameters: Parameters) -> dict[str, str]:
        """Return the addresses of its feeds by suffix, for these parameters."""
        if self.entries is None:
            return {}
        return {
            form: parameters.url(self.path + form, page=None, cursor=None)
            for form in FEED_FORMS
        }


_MAX_CONTENT_CHARS: Final = 10_000  # of each text in a feed


def other_form(page: ListPage, archive: Archive, request: Request) -> Response:
    """Return a list in the requested form, which is not HTML. Raises
    NewsAssetsError.
    """
    form = form_of(request)
    if form not in page.forms():
        raise HTTPException(
            404, f"{page.path} has no such form; it has {', '.join(page.forms())}"
        )
    usual = page.of_feed if form in FEED_FORMS else {}
    parameters = page.operation.parameters.of({**usual, **request.query_params})
    if page.calendar and form == ".ics":
        return calendar_file(page.calendar(archive, parameters))
    base = str(request.base_url).rstrip("/")
    if form in TABLE_FORMS:
        sheet = page.sheet
        if page is SEARCH_PAGE and request.query_params.get("with") == "text":
            sheet = articles_sheet(with_texts=True)
        batches = sheet.batches(archive, parameters, base)
        return spreadsheet(form, page.operation.path, sheet.columns, batches)
    answer = page.operation.read(archive, parameters)
    if form == ".json" or page.entries is None:
        return json_document(asdict(answer))
    entries = page.entries(archive, answer.items, base)
    feed = _feed_of(page, parameters, base + page.path, form, entries, answer.next)
    return FEED_FORMS[form](feed)


def _feed_of(
    page: ListPage,
    parameters: Parameters,
    path: str,
    form: str,
    entries: list[Entry],
    cursor: str | None,
) -> Feed:
    """Return a part of a list as a feed; `cursor` leads to the next part."""
    following = parameters.url(path + form, cursor=cursor) if cursor else None
    return Feed(
        title=_feed_title(page, parameters),
        id=parameters.url(path + form, page=None, cursor=None),
        here=parameters.url(path + form),
        page=parameters.url(path),
        following=following,
        entries=entries,
    )


def _feed_title(page: ListPage, parameters: Parameters) -> str:
    wanted: list[str | None] = []
    if isinstance(parameters, SearchAddress):
        wanted = [parameters.text, *parameters.active.values()]
    if isinstance(parameters, MeetingParameters):
        wanted = [parameters.text, parameters.topic, parameters.agency, parameters.body]
    if isinstance(parameters, StoryParameters):
        wanted = [parameters.text, *parameters.active.values()]
    return ": ".join(filter(None, (page.title, ", ".join(filter(None, wanted)))))


# --- entries of feeds -----------------------------------------------------------------


def _articles(archive: Archive, hits: Sequence[SearchHit], base: str) -> list[Entry]:
    """Return the hits with what the lake has of them; only what the index has if the
    lake lacks one.
    """
    listed = archive.listed(hits)
    texts = archive.texts(hits)
    edits = last_edits(archive.lake, [hit.article_id for hit in hits])
    entries = []
    for hit in hits:
        entry = _article(archive, hit, listed.get(hit.article_id), base)
        text = texts.get(hit.article_id) or ""
        edited = edits.get(hit.article_id, entry.updated)
        updated = edited.astimezone(entry.updated.tzinfo)
        content = _content(text, entry.page)
        entries.append(replace(entry, updated=updated, content=content))
    return entries


def _content(text: str, page: str) -> str:
    """Return an article's text as HTML; of a long one the beginning and a link to the
    whole.
    """
    if len(text) <= _MAX_CONTENT_CHARS:
        return article_html(text)
    beginning = article_html(text[:_MAX_CONTENT_CHARS])
    return f'{beginning}<p><a href="{html.escape(page)}">…</a></p>'


def _article(
    archive: Archive, hit: SearchHit, row: ListedArticle | None, base: str
) -> Entry:
    """Return an article as an entry, with times in the zone of its publisher, so that
    their date is the day of the article.
    """
    zone = zone_info(archive.zone_of(hit.desk, hit.agency))
    published = datetime.combine(hit.day, time(), zone)
    if row is not None:
        published = (row.published_at or row.first_seen_at).astimezone(zone)
    agency = archive.agency_name(hit.agency)
    return Entry(
        key=hit.article_id,
        title=hit.title or hit.url,
        url=hit.url,
        page=f"{base}/articles/{hit.article_id}",
        published=published,
        # not the time that the page states: some pages state that of each request
        updated=published,
        summary=(row.summary if row else None) or "",
        authors=(row.authors if row else ()) or [agency],
        categories=(row.theme_labels if row else None) or (),
        language=hit.language,
        image=row.image_url if row else None,
    )


def _failures(
    archive: Archive, failures: Sequence[ListedFailure], base: str
) -> list[Entry]:
    return [
        Entry(
            key=f"failures/{one.stage}/{one.article_id}/{one.first_failed_at.isoformat()}",
            title=f"{one.stage}: {one.title or one.article_id}",
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


def _article_page(archive: Archive, failure: ListedFailure, base: str) -> str:
    return f"{base}/articles/{failure.article_id}"


def _meeting_page(archive: Archive, meeting: MeetingItem, base: str) -> str:
    return f"{base}/meetings/{meeting.meeting_id}"


def _last_poll(key: str) -> Callable[[Archive, SourceItem, str], Any]:
    def value(archive: Archive, source: SourceItem, base: str) -> Any:
        if source.polls:
            return source.polls[-1][key]
        return None

    return value


SEARCH_PAGE: Final = ListPage(
    path="/search",
    title="News archive",
    template="search.html",
    operation=SEARCH,
    sheet=articles_sheet(with_texts=False),
    entries=_articles,
    of_feed={"sort": "date", "limit": "50"},
)
LIST_PAGES: Final = (
    ListPage(
        path="/names",
        title="People, bodies and places",
        template="names.html",
        operation=NAMES,
        sheet=sheet_of(NAMES, {"page": page_of_name}),
    ),
    ListPage(
        path="/stories",
        title="Stories",
        template="stories.html",
        operation=STORIES,
        sheet=sheet_of(STORIES, {"page": page_of_story}),
        entries=story_entries,
    ),
    ListPage(
        path="/trends",
        title="Over time",
        template="trends.html",
        operation=TRENDS,
        sheet=Spreadsheet(columns=TREND_COLUMNS, batches=trend_rows),
    ),
    ListPage(
        path="/changes",
        title="Changed after publication",
        template="changes.html",
        operation=EDITS,
        sheet=sheet_of(EDITS, {"publisher": publisher, "page": page_of_edit}),
        entries=edit_entries,
        of_feed={"limit": "20"},
    ),
    ListPage(
        path="/silences",
        title="Fell silent",
        template="silences.html",
        operation=SILENCES,
        sheet=sheet_of(SILENCES, {"publisher": publisher}),
        entries=silence_entries,
    ),
    ListPage(
        path="/meetings",
        title="Meetings",
        template="meetings.html",
        operation=MEETINGS,
        sheet=sheet_of(MEETINGS, {"publisher": publisher, "page": _meeting_page}),
        entries=entries_of,
        calendar=calendar,
    ),
    ListPage(
        path="/operations/sources",
        title="Sources",
        template="sources.html",
        operation=SOURCES,
        sheet=sheet_of(
            SOURCES,
            {
                "last_polled_at": _last_poll("polled_at"),
                "last_outcome": _last_poll("outcome"),
            },
            without=("polls",),
        ),
        entries=_sources,
    ),
    ListPage(
        path="/operations/failures",
        title="Failures",
        template="failures.html",
        operation=FAILURES,
        sheet=sheet_of(FAILURES, {"publisher": publisher, "page": _article_page}),
        entries=_failures,
    ),
    ListPage(
        path="/operations",
        title="Coverage",
        template="operations.html",
        operation=COVERAGE,
        sheet=sheet_of(COVERAGE, {"publisher": publisher}),
    ),
)
