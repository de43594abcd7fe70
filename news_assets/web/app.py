"""The application: routes, headers and errors. Handlers run in threads and read through
`archive`.
"""

import re
from collections.abc import Collection, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from news_assets.clients.subscriber_mail import SubscriptionLinks
from news_assets.errors import NewsAssetsError
from news_assets.ports.services import Fetcher
from news_assets.web.api_operations import (
    OPERATIONS,
    PREFIX,
    api_map,
    describe,
    handler_of,
)
from news_assets.web.archive import Archive
from news_assets.web.article_views import image_handler
from news_assets.web.cache import AnswerCache, Handler
from news_assets.web.forms import MEDIA_TYPES, json_document
from news_assets.web.list_pages import LIST_PAGES, SEARCH_PAGE
from news_assets.web.localization import KeptChoices
from news_assets.web.meeting_pages import MeetingPages
from news_assets.web.morning_page import MorningPage, keeps_visit, visit_key
from news_assets.web.operations import polls, query_actions
from news_assets.web.operations.article_actions import Actions, LabelActions, Render
from news_assets.web.operations.failure_pages import (
    MESSAGES_PATH,
    RETRIES_PATH,
    FailureActions,
    MessageActions,
)
from news_assets.web.operations.monitoring import health, metrics
from news_assets.web.operations.sessions import (
    READ_ONLY,
    Access,
    Sessions,
    ended_sessions,
    posted,
    private_page,
)
from news_assets.web.page_handlers import Pages
from news_assets.web.parameters import (
    ArticleAddress,
    BriefingParameters,
    MorningParameters,
    OneMeeting,
    OnePerson,
    SearchAddress,
)
from news_assets.web.profile_pages import NamePages, PublisherPages
from news_assets.web.request_limits import LIVE_PATH, RequestLimits, in_time
from news_assets.web.story_pages import StoryPages, markdown_handler
from news_assets.web.subscription_pages import FeedPages, SubscriptionPages

_HERE: Final = Path(__file__).parent
_ARTICLE: Final = "/articles/{article_id:article_id}"
_SUFFIX: Final = "{suffix:suffix}"  # of a form
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; form-action"
        " 'self'; frame-src 'self'; base-uri 'none'; frame-ancestors 'self'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class _Suffix(Convertor[str]):
    """The suffix of a form, or nothing."""

    regex = (
        "|".join(
            re.escape(suffix) for suffix in sorted(MEDIA_TYPES, key=len, reverse=True)
        )
        + "|"
    )

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


class _ArticleId(_Suffix):
    """The id of an article, which has neither dots nor slashes."""

    regex = "[^/.]+"


class _MeetingId(_Suffix):
    """The id of a meeting or the key of a matter, which may have dots and slashes; a
    suffix after it is that of a form.
    """

    regex = ".+?"


register_url_convertor("suffix", _Suffix())
register_url_convertor("article_id", _ArticleId())
register_url_convertor("meeting_id", _MeetingId())


def build_app(
    archive: Archive,
    hosts: Sequence[str],
    origins: Sequence[str] = (),
    requests_per_minute: int = 0,
    access: Access = READ_ONLY,
    fetcher: Fetcher | None = None,
    links: SubscriptionLinks | None = None,
) -> Starlette:
    """Return the application.

    Args:
        archive: What the pages show; used from several threads.
        hosts: Names that the server is reached by. Requests for another name are
            refused, so that a page of another site cannot read this one through a name
            that it points here (DNS rebinding).
        origins: Other sites whose pages may read this one (CORS), such as
            https://pages.example.org.
        requests_per_minute: What one client may ask for; 0 for no limit.
        access: What operators may do.
        fetcher: What fetches the images of articles; without it, pages have none.
        links: What signs the links of subscriptions; without it, there are none.
    """
    sessions = Sessions(access.token, ended_sessions(archive.lake))
    pages = Pages(
        archive,
        access,
        sessions,
        shows_images=fetcher is not None,
        subscribes=links is not None,
    )
    cache = AnswerCache(archive, sessions.may_look)
    cached = _CachedRoutes(cache, sessions)
    routes: list[BaseRoute] = [
        _morning_route(archive, cache, pages.page),
        *_page_routes(archive, sessions, pages, cached),
        *_pages_of_article(pages, cached),
        *_civic_routes(archive, pages.page, cached),
        *_api_routes(archive, cached),
        *_operator_routes(archive, access, sessions, pages.page, cache),
        Mount("/static", StaticFiles(directory=_HERE / "static")),
        *_list_routes(pages, cached),
    ]
    if fetcher is not None:
        handler = image_handler(archive, fetcher)
        routes.append(Route(f"{_ARTICLE}/image", in_time(handler)))
    if links is not None:
        routes += SubscriptionPages(archive, links, pages.page).routes()
    errors = {
        HTTPException: pages.error,
        NewsAssetsError: pages.error,
        Exception: pages.error,
    }
    middleware = _middleware(hosts, origins, requests_per_minute)
    return Starlette(routes=routes, middleware=middleware, exception_handlers=errors)


class _CachedRoutes:
    """Makes routes whose answers are kept."""

    def __init__(self, cache: AnswerCache, sessions: Sessions) -> None:
        self._cache = cache
        self._sessions = sessions

    def __call__(
        self,
        path: str,
        handler: Handler,
        parameters: Collection[str] | None = (),
        *,
        for_operators: bool = False,
    ) -> Route:
        kept = self._cache.around(handler, parameters)
        if for_operators:
            kept = self._sessions.closed(kept)
        return Route(path, in_time(kept))


def _morning_route(archive: Archive, cache: AnswerCache, render: Render) -> Route:
    morning = MorningPage(archive, render)
    kept = cache.around(morning.page, MorningParameters.names(), visit_key)
    return Route("/", in_time(keeps_visit(kept)))


def _page_routes(
    archive: Archive, sessions: Sessions, pages: Pages, cached: _CachedRoutes
) -> list[Route]:
    """Return the routes of single pages: stories, names, publishers, days and others."""
    feeds = FeedPages(archive, pages.page)
    stories = StoryPages(archive, pages.page)
    named = NamePages(archive, sessions, pages.page)
    publishers = PublisherPages(archive, pages.page)
    return [
        cached("/about", pages.about),
        cached("/queries", pages.queries),
        cached("/queries.opml", pages.queries),
        cached("/feeds", feeds.page),
        cached("/feeds.opml", feeds.opml),
        cached(f"/stories/{{story_id:article_id}}{_SUFFIX}", stories.story),
        cached("/briefing.md", markdown_handler(archive), BriefingParameters.names()),
        cached(f"/names/{{kind}}/{{name:article_id}}{_SUFFIX}", named.name),
        Route("/operations/names", posted(named.change), methods=["POST"]),
        cached("/days/{day}", pages.day),
        cached("/publishers/{desk}/{agency:path}", publishers.publisher),
        cached("/facets/{facet}", pages.facet, (*SearchAddress.names(), "contains")),
    ]


def _pages_of_article(pages: Pages, cached: _CachedRoutes) -> list[Route]:
    """Return the routes of an article; its stored page and text are not kept in memory."""
    return [
        Route(f"{_ARTICLE}/original", in_time(pages.original)),
        Route(f"{_ARTICLE}/text", in_time(pages.text)),
        cached(f"{_ARTICLE}/revisions/{{number:int}}", pages.revision),
        cached(f"{_ARTICLE}/way", pages.way),
        cached(f"{_ARTICLE}{_SUFFIX}", pages.article, ArticleAddress.names()),
    ]


def _civic_routes(
    archive: Archive, render: Render, cached: _CachedRoutes
) -> list[Route]:
    """Return the routes of meetings, matters, laws and persons."""
    civic = MeetingPages(archive, render)
    person = f"/persons/{{desk}}/{{agency}}/{{person:meeting_id}}{_SUFFIX}"
    meeting = f"/meetings/{{meeting_id:meeting_id}}{_SUFFIX}"
    matter = f"/matters/{{desk}}/{{agency}}/{{matter:meeting_id}}{_SUFFIX}"
    return [
        cached(meeting, civic.meeting, OneMeeting.names()),
        cached(matter, civic.matter),
        cached(f"/laws/{{law:meeting_id}}{_SUFFIX}", civic.law),
        cached(person, civic.person, OnePerson.names()),
    ]


def _list_routes(pages: Pages, cached: _CachedRoutes) -> list[Route]:
    """Return the routes of the lists with a page, in all their forms."""
    routes = []
    for page in (SEARCH_PAGE, *LIST_PAGES):
        names = page.operation.parameters.names()
        is_closed = page.operation.for_operators
        path, handler = f"{page.path}{_SUFFIX}", pages.list_of(page)
        routes.append(cached(path, handler, names, for_operators=is_closed))
    return routes


def _api_routes(archive: Archive, cached: _CachedRoutes) -> list[Route]:
    """Return the routes of the API's operations, of their list and of their description."""
    description = describe(OPERATIONS, version("news_assets"))
    routes = [
        Route(PREFIX, lambda request: json_document(api_map(OPERATIONS))),
        Route(f"{PREFIX}/openapi.json", lambda request: json_document(description)),
    ]
    for operation in OPERATIONS:
        path = f"{PREFIX}/{operation.route}"
        handler = handler_of(operation, archive)
        is_closed = operation.for_operators
        routes.append(cached(path, handler, None, for_operators=is_closed))
    return routes


def _middleware(
    hosts: Sequence[str], origins: Sequence[str], requests_per_minute: int
) -> list[Middleware]:
    return [
        Middleware(TrustedHostMiddleware, allowed_hosts=[*hosts], www_redirect=False),
        Middleware(_SafeHeaders),
        Middleware(KeptChoices),
        Middleware(
            CORSMiddleware,
            allow_origins=[*origins],
            allow_methods=["GET"],
            expose_headers=["ETag"],
        ),
        Middleware(RequestLimits, per_minute=requests_per_minute),
        Middleware(GZipMiddleware, minimum_size=1_000, compresslevel=5),
    ]


class _SafeHeaders:
    """Adds the headers of safety to each response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {name.lower() for name, _ in message["headers"]}
                added = [
                    (name.lower().encode(), value.encode())
                    for name, value in _HEADERS.items()
                ]
                message["headers"] = [
                    *message["headers"],
                    *(pair for pair in added if pair[0] not in names),
                ]
            await send(message)

        if scope["type"] != "http":
            await self._app(scope, receive, send)
        else:
            await self._app(scope, receive, send_with_headers)


def _operator_routes(
    archive: Archive,
    access: Access,
    sessions: Sessions,
    render: Render,
    cache: AnswerCache,
) -> list[Route]:
    """Return the routes of actions, polls, health, and metrics, which the cache keeps."""
    failed = FailureActions(archive, access, sessions, render)
    messages = MessageActions(archive, sessions, render)

    def poll(request: Request, body: bytes) -> Response:
        return polls.request_polls(archive.desks, access, sessions.check(request), body)

    return [
        *_article_routes(archive, access, sessions, render),
        Route("/operations/failures/retry", posted(failed.retry), methods=["POST"]),
        Route(RETRIES_PATH, private_page(sessions.closed(failed.retries))),
        *_query_routes(archive, sessions, render),
        Route(MESSAGES_PATH, private_page(messages.page), methods=["GET"]),
        Route(MESSAGES_PATH, posted(messages.send_again), methods=["POST"]),
        Route(f"{PREFIX}/{polls.PATH}", posted(poll), methods=["POST"]),
        Route("/health", in_time(partial(health, archive))),
        Route(LIVE_PATH, _live),
        Route("/metrics", in_time(cache.around(partial(metrics, archive)))),
    ]


def _article_routes(
    archive: Archive, access: Access, sessions: Sessions, render: Render
) -> list[Route]:
    """Return the routes of the log-in and of the actions on one article."""
    actions = Actions(archive, access, sessions, render)
    labels = LabelActions(archive, sessions)
    article = f"/operations{_ARTICLE}"
    return [
        Route("/operations/login", private_page(actions.login_page), methods=["GET"]),
        Route("/operations/login", posted(actions.login), methods=["POST"]),
        Route("/operations/logout", posted(actions.logout), methods=["POST"]),
        Route(article, private_page(sessions.closed(actions.page))),
        Route(f"{article}/retry", posted(actions.retry), methods=["POST"]),
        Route(f"{article}/withdraw", posted(actions.withdraw), methods=["POST"]),
        Route(f"{article}/bring-back", posted(actions.bring_back), methods=["POST"]),
        Route(f"{article}/label", posted(labels.store), methods=["POST"]),
    ]


def _query_routes(archive: Archive, sessions: Sessions, render: Render) -> list[Route]:
    """Return the routes of the page of saved queries and of the actions on it."""
    saved = query_actions.QueryActions(archive, sessions, render)
    path = query_actions.PATH
    page = private_page(sessions.closed(saved.page))
    return [
        Route(path, page, methods=["GET"]),
        Route(path, posted(saved.save), methods=["POST"]),
        Route(f"{path}/delete", posted(saved.delete), methods=["POST"]),
    ]


async def _live(request: Request) -> Response:
    """Answer without a thread: all of them may be busy."""
    return PlainTextResponse("live\n")
