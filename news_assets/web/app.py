"""The application: routes, headers and errors. Handlers run in threads and read through `archive`."""

import re
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from news_assets.errors import NewsAssetsError
from news_assets.web.archive import Archive
from news_assets.web.pages import Pages
from news_assets.web.responses import SUFFIXES

_HERE: Final = Path(__file__).parent
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; form-action 'self'; "
        "frame-src 'self'; base-uri 'none'; frame-ancestors 'self'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
MAX_URL_CHARS: Final = 4_000


class _Suffix(Convertor[str]):
    """`.json`, `.csv` or nothing."""

    regex = "|".join(re.escape(suffix) for suffix in SUFFIXES) + "|"

    def convert(self, value: str) -> str:
        return value.removeprefix(".")

    def to_string(self, value: str) -> str:
        return f".{value}" if value else ""


class _ArticleId(_Suffix):
    """The id of an article, which has neither dots nor slashes."""

    regex = "[^/.]+"


register_url_convertor("suffix", _Suffix())
register_url_convertor("article_id", _ArticleId())


def build_app(archive: Archive, hosts: tuple[str, ...]) -> Starlette:
    """Return the application.

    Args:
        archive: What the pages show; used from several threads.
        hosts: Names that the server is reached by. Requests for another name are refused, so that a page of another
            site cannot read this one through a name that it points here (DNS rebinding).
    """
    pages = Pages(archive)
    routes = [
        Route("/", lambda request: RedirectResponse("/search")),
        Route("/search{suffix:suffix}", pages.search),
        Route("/articles/{article_id:article_id}/original", pages.original),
        Route("/articles/{article_id:article_id}{suffix:suffix}", pages.article),
        Route("/operations", pages.operations),
        Route("/operations/sources{suffix:suffix}", pages.sources),
        Route("/operations/failures{suffix:suffix}", pages.failures),
        Route("/health/live", lambda request: PlainTextResponse("live\n")),
        Route("/health/ready", pages.ready),
        Mount("/static", StaticFiles(directory=_HERE / "static")),
    ]
    middleware = [
        Middleware(TrustedHostMiddleware, allowed_hosts=[*hosts], www_redirect=False),
        Middleware(_SafeHeaders),
        Middleware(GZipMiddleware, minimum_size=1_000),
    ]
    errors = {HTTPException: pages.error, NewsAssetsError: pages.error, Exception: pages.error}
    return Starlette(routes=routes, middleware=middleware, exception_handlers=errors)


class _SafeHeaders:
    """Adds the headers of safety to each response, and refuses addresses that are too long."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = {name.lower() for name, _ in message["headers"]}
                added = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message["headers"], *(pair for pair in added if pair[0] not in names)]
            await send(message)

        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif len(scope["path"]) + len(scope["query_string"]) > MAX_URL_CHARS:
            long = PlainTextResponse(f"the address has more than {MAX_URL_CHARS} characters\n", 414)
            await long(scope, receive, send_with_headers)
        else:
            await self._app(scope, receive, send_with_headers)
