"""The handlers of the pages."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any, Final, get_args
from urllib.parse import quote, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from news_assets.desks.site_lists import opml_of_feeds
from news_assets.errors import (
    IndexingError,
    LakeError,
    NewsAssetsError,
    QueryError,
    RunRequestError,
)
from news_assets.pipeline.civic.item_words import topic_label, topics_taxonomy
from news_assets.pipeline.civic.meeting_storage import person_key
from news_assets.pipeline.enrich.model.evidence import Evidence, Span
from news_assets.pipeline.publishing_habits import duration
from news_assets.pipeline.report_contents import build_report
from news_assets.pipeline.source_health import SourceFacts, source_facts
from news_assets.pipeline.stages import stage_names
from news_assets.ports.search_index import FACET_LABELS, FILTER_LABELS
from news_assets.records.articles import RawArticle
from news_assets.records.meetings import MeetingStatus
from news_assets.records.reading import WITHDRAWN
from news_assets.store.queries.changes import CursorError
from news_assets.store.queries.report import count_day
from news_assets.store.queries.story_contents import story_of_article
from news_assets.web.answers import ArticleView, SourceItem
from news_assets.web.archive import Archive, revision_and_successor, revision_number
from news_assets.web.article_views import (
    Version,
    glance_of,
    search_words,
    stored_version,
    version_query,
)
from news_assets.web.cache import Handler
from news_assets.web.day_report import HEIGHT, WIDTH, report_content
from news_assets.web.facets import (
    facets_of,
    presets,
    value_label,
    values_with,
)
from news_assets.web.forms import (
    FORM_NAMES,
    MEDIA_TYPES,
    TABLE_FORMS,
    form_of,
    json_document,
    problem,
)
from news_assets.web.list_pages import ListPage, other_form
from news_assets.web.localization import (
    CHOICES,
    LANGUAGES,
    PageTimes,
    language_name,
    language_of,
    made_text,
    mistake_text,
    offered_zones,
    translation,
    zone_of,
)
from news_assets.web.markup import article_html, is_cut, passages
from news_assets.web.meeting_views import first_day_to_come, has_meetings
from news_assets.web.operations.failure_pages import overview
from news_assets.web.operations.monitoring import coverage, source_health, worst_first
from news_assets.web.operations.query_actions import listed_queries
from news_assets.web.operations.sessions import Access, Sessions
from news_assets.web.parameters import (
    MAX_PAGE,
    MAX_SEARCHES,
    ArticleAddress,
    CoverageParameters,
    FailureParameters,
    MeetingParameters,
    OfDesk,
    ParameterError,
    Parameters,
    SearchAddress,
    StoryParameters,
    TrendAddress,
)
from news_assets.web.profile_pages import KINDS
from news_assets.web.spreadsheets import MAX_ROWS
from news_assets.web.subscription_pages import query_feeds
from news_assets.web.trends import bars_of, shown_value, trend_view

_FIRST_REPORT: Final = date(2000, 1, 1)
_MAX_CONTAINED: Final = 100
_MAX_REVISIONS: Final = 10  # that the page of an article names
_INDEXED_ITEMS: Final = 8  # an agenda of so many items has an index
_APPEARANCES_SHOWN: Final = 5  # of a matter beneath its hit
# A stored page is shown without scripts, and nothing is requested from its site.
_ORIGINAL_HEADERS: Final = {
    "Content-Security-Policy": (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"
    ),
}
_SHOWN_AS: Final = {"text/html", "application/xhtml+xml", "text/plain"}
_Values = Mapping[str, Any]

_log = logging.getLogger(__name__)


class _WithdrawnError(HTTPException):
    """An article that was withdrawn (410): its page says so and when."""

    def __init__(self, article: RawArticle) -> None:
        super().__init__(410, f"withdrawn {article.withdrawn_at:%Y-%m-%d %H:%M} UTC")
        self.article = article


class Pages:
    """Handlers for each route; they run in threads, because the archive's reads block."""

    def __init__(
        self,
        archive: Archive,
        access: Access,
        sessions: Sessions,
        *,
        shows_images: bool = False,
        subscribes: bool = False,
    ) -> None:
        self._archive, self._sessions = archive, sessions
        self._values: Mapping[str, Callable[[ListPage, Any], _Values]] = {
            "/search": self._search,
            "/trends": self._trends,
            "/operations": self._grids,
            "/operations/sources": self._sources,
            "/operations/failures": self._failures,
            "/meetings": self._meetings,
            "/stories": self._stories,
        }
        self._templates = _templates(archive)
        self._templates.globals |= {
            "has_meetings": has_meetings(archive),
            "dagster_url": access.links_url,
            "is_open": bool(access.token),
            "shows_images": shows_images,
            "subscribes": subscribes,
        }

    # --- lists ------------------------------------------------------------------------

    def list_of(self, page: ListPage) -> Handler:
        """Return the handler of a list in all its forms."""

        def answer(request: Request) -> Response:
            if form_of(request):
                return other_form(page, self._archive, request)
            parameters = page.operation.parameters.of(request.query_params)
            values = self._values.get(page.path, self._items)(page, parameters)
            return self.page(
                request,
                page.template,
                list=page,
                parameters=parameters,
                feeds=page.feeds(parameters),
                **values,
            )

        return answer

    def _items(self, page: ListPage, parameters: Parameters) -> _Values:
        return {"answer": page.operation.read(self._archive, parameters)}

    def _search(self, page: ListPage, address: SearchAddress) -> _Values:
        answer = self._archive.search(address)
        return {
            "answer": answer,
            "facets": facets_of(self._archive, address, answer),
            "presets": presets(self._archive, address),
            "bars": bars_of(answer.facets.get("day", {})),
            "publications": self._archive.publications(answer.items),
            "wider": {}
            if answer.items or not address.active
            else self._archive.wider(address),
            "pages": min(MAX_PAGE, -(-answer.found // address.limit)),
            "unreached": max(0, answer.found - MAX_PAGE * address.limit),
        }

    def _trends(self, page: ListPage, address: TrendAddress) -> _Values:
        return {
            "view": trend_view(self._archive, address),
            "shown_value": shown_value,
            "max_searches": MAX_SEARCHES,
            "width": WIDTH,
            "height": HEIGHT,
        }

    def _grids(self, page: ListPage, parameters: CoverageParameters) -> _Values:
        now = datetime.now(UTC)
        desks = [
            desk for desk in self._archive.desks if parameters.desk in (None, desk.key)
        ]
        return {
            "grids": [
                worst_first(coverage(self._archive, desk, now, parameters.stage))
                for desk in desks
            ],
            "stage_names": {desk.key: stage_names(desk) for desk in desks},
        }

    def _sources(self, page: ListPage, parameters: OfDesk) -> _Values:
        health = source_health(self._archive, parameters)
        return {"health": health, "answer": health.part}

    def _failures(self, page: ListPage, parameters: FailureParameters) -> _Values:
        return {
            "answer": page.operation.read(self._archive, parameters),
            "overview": overview(self._archive, parameters),
            "desks": self._archive.desks,
        }

    def _meetings(self, page: ListPage, parameters: MeetingParameters) -> _Values:
        civic = [desk for desk in self._archive.desks if desk.is_civic]
        return {
            "answer": page.operation.read(self._archive, parameters),
            "first_day": first_day_to_come(datetime.now(UTC)),
            "civic_desks": civic,
            "statuses": get_args(MeetingStatus),
            "topic_codes": list(topics_taxonomy().themes),
        }

    def _stories(self, page: ListPage, parameters: StoryParameters) -> _Values:
        return {
            "answer": page.operation.read(self._archive, parameters),
            "today": self._archive.today(),
            "several_desks": len(self._archive.desks) > 1,
        }

    def facet(self, request: Request) -> Response:
        """Return all values of a facet of a search, or those with some letters."""
        name = request.path_params["facet"]
        if name not in FACET_LABELS:
            raise HTTPException(404, f"no facet {name}; {', '.join(FACET_LABELS)}")
        address = SearchAddress.of(request.query_params)
        contained = request.query_params.get("contains", "").strip()[:_MAX_CONTAINED]
        values = values_with(
            self._archive, name, address, contained, language_of(request)
        )
        return self.page(
            request,
            "facet.html",
            name=name,
            address=address,
            contained=contained,
            values=values,
        )

    def about(self, request: Request) -> Response:
        """Return what the archive is, and what its words mean."""
        return self.page(request, "about.html", desks=self._archive.desks)

    def queries(self, request: Request) -> Response:
        """Return the saved queries with the addresses of their pages and feeds; as OPML
        for feed readers.
        """
        base = str(request.base_url).rstrip("/")
        if request.url.path.endswith(".opml"):
            found = query_feeds(self._archive)
            feeds = [(one.name, base + one.feed, base + one.page) for one in found]
            return Response(
                opml_of_feeds("Saved queries", feeds), media_type="text/x-opml"
            )
        queries = listed_queries(self._archive)
        return self.page(request, "queries.html", queries=queries)

    def day(self, request: Request) -> Response:
        """Return the report of a UTC day, without the findings of now."""
        text = request.path_params["day"]
        try:
            day = date.fromisoformat(text)
        except ValueError:
            raise HTTPException(404, f"no day {text}") from None
        now = datetime.now(UTC)
        if not _FIRST_REPORT <= day <= now.date():
            raise HTTPException(404, f"no report of {day}")
        desks = self._archive.desks
        counts = count_day(self._archive.lake, day, [desk.key for desk in desks])
        after = day + timedelta(days=1)
        return self.page(
            request,
            "day.html",
            day=day,
            content=report_content(build_report(counts, desks, {}, now)),
            before=day - timedelta(days=1),
            after=after if after <= now.date() else None,
        )

    # --- articles ---------------------------------------------------------------------

    def article(self, request: Request) -> Response:
        """Return one article with everything that is stored about it, or one of its
        versions.
        """
        article_id = request.path_params["article_id"]
        address = ArticleAddress.of(request.query_params)
        if address.rev is not None or address.hash:
            return self._version(request, article_id, address)
        view = self._view(article_id, with_events=bool(form_of(request)))
        if form_of(request):
            return json_document(asdict(view))
        glance = glance_of(view, address)
        story = story_of_article(self._archive.lake, article_id, view.article.day)
        return self.page(request, "article.html", view=view, glance=glance, story=story)

    def way(self, request: Request) -> Response:
        """Return the events of an article on its way through the graph."""
        view = self._view(request.path_params["article_id"], with_events=True)
        return self.page(request, "way.html", article=view.article, events=view.events)

    def _view(self, article_id: str, *, with_events: bool) -> ArticleView:
        view = self._archive.article(article_id, with_events=with_events)
        if view is None:
            raise HTTPException(404, f"no article {article_id}")
        if view.article.outcome == WITHDRAWN:
            raise _WithdrawnError(view.article)
        return view

    def _version(
        self, request: Request, article_id: str, address: ArticleAddress
    ) -> Response:
        article, version = self._cited(article_id, address)
        if form_of(request):
            return json_document(asdict(version))
        return self.page(request, "version.html", article=article, version=version)

    def _cited(
        self, article_id: str, address: ArticleAddress
    ) -> tuple[RawArticle, Version]:
        found = stored_version(self._archive.lake, article_id, address)
        if found is None:
            raise HTTPException(404, f"no such version of {article_id}")
        return found

    def original(self, request: Request) -> Response:
        """Return the stored page of an article, without scripts and requests."""
        found = self._archive.original_page(request.path_params["article_id"])
        if found is None:
            raise HTTPException(404, "no page of this article is stored")
        kind, body = found
        is_shown = (
            kind.isascii()
            and kind.isprintable()
            and kind.partition(";")[0].strip().lower() in _SHOWN_AS
        )
        shown = kind if is_shown else "text/plain"
        return Response(body, headers={"Content-Type": shown, **_ORIGINAL_HEADERS})

    def text(self, request: Request) -> Response:
        """Return the whole text of an article as it is stored, or of a version."""
        article_id = request.path_params["article_id"]
        address = ArticleAddress.of(request.query_params)
        _, version = self._cited(article_id, address)
        return Response(
            version.text,
            media_type="text/plain; charset=utf-8",
            headers=_ORIGINAL_HEADERS,
        )

    def revision(self, request: Request) -> Response:
        """Return what a text replaced; `number` is the time of the replacement in
        microseconds since 1970.
        """
        article_id = request.path_params["article_id"]
        number = request.path_params["number"]
        found = revision_and_successor(self._archive.lake, article_id, number)
        if found is None:
            raise HTTPException(404, f"no such revision of {article_id}")
        return self.page(
            request,
            "revision.html",
            article_id=article_id,
            revision=found[0],
            later=found[1],
        )

    # --- pages and errors -------------------------------------------------------------

    def page(
        self, request: Request, template: str, status: int = 200, **values: Any
    ) -> Response:
        """Return a page made of a template and these values, in the language of the
        request.
        """
        language = language_of(request)
        times = PageTimes(
            now=datetime.now(UTC),
            language=language,
            chosen=zone_of(request),
            usual=self._archive.usual_zone,
        )
        context: Mapping[str, Any] = {
            "t": translation(language),
            "language": language,
            "times": times,
            "zones": offered_zones(self._archive.desks, times.chosen),
            "made": partial(made_text, language=language),
            "path": _own_path(request),
            "here": _own_parameters(request),
            "base": str(request.base_url).rstrip("/"),
            "feeds": {},
            "is_operator": self._sessions.may_look(request),
            **values,
        }
        page = self._templates.get_template(template).render(context)
        return Response(page, status, {"Content-Language": language}, "text/html")

    def error(self, request: Request, error: Exception) -> Response:
        """Return an error as a page, or as problem+json where another form is
        requested.
        """
        status, reason = _explain(error)
        if status == 500 or isinstance(error, LakeError | IndexingError):
            _log.error("%s %s", request.method, request.url.path, exc_info=error)
        headers = error.headers if isinstance(error, HTTPException) else None
        if form_of(request):
            return problem(status, reason, headers)
        template, values = _error_page(request, error)
        page = self.page(
            request, template, status, code=status, reason=reason, **values
        )
        page.headers.update(headers or {})
        return page


def _templates(archive: Archive) -> Environment:
    """Return the templates with the functions and constants that they use."""
    templates = Environment(
        loader=PackageLoader("news_assets.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {
        "host": _host,
        "person_key": person_key,
        "made": made_text,
    }
    templates.globals |= {
        "languages": LANGUAGES,
        "form_names": FORM_NAMES,
        "table_forms": TABLE_FORMS,
        "media_types": MEDIA_TYPES,
        "max_rows": MAX_ROWS,
        "source_facts": _source_facts,
        "agency_name": archive.agency_name,
        "name_kinds": KINDS,
        "zone_of": archive.zone_of,
        "theme_label": archive.theme_label,
        "article_html": article_html,
        "passages": passages,
        "search_words": search_words,
        "version_query": version_query,
        "marked_spans": _marked_spans,
        "duration": duration,
        "language_name": language_name,
        "filter_labels": FILTER_LABELS,
        "value_label": partial(value_label, archive),
        "max_revisions": _MAX_REVISIONS,
        "revision_number": revision_number,
        "is_cut": is_cut,
        "topic_label": topic_label,
        "indexed_items": _INDEXED_ITEMS,
        "appearances_shown": _APPEARANCES_SHOWN,
    }
    return templates


def _explain(error: Exception) -> tuple[int, str]:
    """Return the status and the reason to show; not that of an error in the program,
    which may quote secrets.
    """
    if isinstance(error, HTTPException):
        return error.status_code, error.detail
    if isinstance(error, ParameterError | QueryError):
        return 400, str(error)
    if isinstance(error, CursorError):
        return 410 if error.is_lost else 400, str(error)
    if isinstance(error, RunRequestError):
        return 502, str(error)
    if isinstance(error, LakeError | IndexingError):  # they name folders and servers
        return 503, "the archive cannot be read now; the server's log has the reason"
    if isinstance(error, NewsAssetsError):
        return 503, str(error)
    return 500, "an error in the program; the server's log has it"


def _error_page(request: Request, error: Exception) -> tuple[str, _Values]:
    """Return the template for an error, and its values beside status and reason."""
    if isinstance(error, _WithdrawnError):
        return "withdrawn.html", {"article": error.article}
    if isinstance(error, QueryError):
        return "mistake.html", _mistake(request, error)
    return "error.html", {}


def _mistake(request: Request, error: QueryError) -> _Values:
    """Return the sentence in the reader's language, and the text of the search before,
    at and after the mistake.
    """
    text = request.query_params.get("q", "").strip()
    before = text[: error.column - 1]
    after = text[error.column - 1 :]
    at = after.split(maxsplit=1)[0] if after.strip() else ""
    return {
        "problem": mistake_text(error, translation(language_of(request))),
        "parts": (before, at, after[len(at) :]),
        "text": text,
    }


def _own_path(request: Request) -> str:
    """Return the path of a request for links to it: with two slashes, it would lead to
    another site.
    """
    return quote("/" + request.url.path.lstrip("/\\"), safe="/%:@")


def _own_parameters(request: Request) -> dict[str, str]:
    """Return the parameters of a request that its answer depends on, without those that
    are kept for other pages.
    """
    names = getattr(request.state, "parameters", None)
    pairs = request.query_params.items()
    return {
        name: value
        for name, value in pairs
        if name not in CHOICES and (names is None or name in names)
    }


def _marked_spans(evidence: Sequence[Evidence]) -> list[tuple[int, Span]]:
    return [(one.number, one.span) for one in evidence if one.span]


def _host(url: str) -> str:
    return urlsplit(url).hostname or url


def _source_facts(item: SourceItem) -> SourceFacts:
    return source_facts(asdict(item), datetime.now(UTC))
