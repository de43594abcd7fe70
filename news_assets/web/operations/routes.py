"""The routes of operators and monitors."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from news_assets.web.api.handlers import PREFIX
from news_assets.web.archive import Archive
from news_assets.web.cache import AnswerCache
from news_assets.web.limits import in_time
from news_assets.web.operations import polls, queries
from news_assets.web.operations.access import Access
from news_assets.web.operations.actions import Actions, Render
from news_assets.web.operations.health import health, metrics
from news_assets.web.operations.labels import LabelActions
from news_assets.web.operations.sessions import Sessions, check_origin

MAX_BODY_BYTES: Final = 100_000  # a thousand agencies

Posted = Callable[[Request, bytes], Response]


def operator_routes(archive: Archive, access: Access, render: Render, cache: AnswerCache) -> list[Route]:
    """Return the routes of actions, polls, health, and metrics, which the cache keeps."""
    sessions = Sessions(access.token)
    actions = Actions(archive, access, sessions, render)
    saved = queries.QueryActions(archive, sessions, render)

    def poll(request: Request, body: bytes) -> Response:
        return polls.request_polls(archive.desks, access, sessions.check(request), body)

    article = "/operations/articles/{article_id:article_id}"
    return [
        Route("/operations/login", in_time(actions.login_page), methods=["GET"]),
        Route("/operations/login", _posted(actions.login), methods=["POST"]),
        Route("/operations/logout", _posted(actions.logout), methods=["POST"]),
        Route(article, in_time(actions.page)),
        Route(f"{article}/retry", _posted(actions.retry), methods=["POST"]),
        Route(f"{article}/withdraw", _posted(actions.withdraw), methods=["POST"]),
        Route(f"{article}/bring-back", _posted(actions.bring_back), methods=["POST"]),
        Route(f"{article}/label", _posted(LabelActions(archive, sessions).store), methods=["POST"]),
        Route(queries.PATH, in_time(saved.page), methods=["GET"]),
        Route(queries.PATH, _posted(saved.save), methods=["POST"]),
        Route(f"{queries.PATH}/delete", _posted(saved.delete), methods=["POST"]),
        Route(f"{PREFIX}/{polls.PATH}", _posted(poll), methods=["POST"]),
        Route("/health", in_time(partial(health, archive))),
        Route("/health/live", lambda request: PlainTextResponse("live\n")),
        Route("/metrics", in_time(cache.around(partial(metrics, archive)))),
    ]


def _posted(handler: Posted) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler that reads a body of limited size from a page of this server, and runs this one in a thread."""

    async def answer(request: Request) -> Response:
        check_origin(request)
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MAX_BODY_BYTES:
                raise HTTPException(413, f"more than {MAX_BODY_BYTES:,} bytes")
        return await to_thread.run_sync(handler, request, body)

    return answer
