"""The routes of operators and monitors."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

import anyio
from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from news_assets.web.api_operations import PREFIX
from news_assets.web.archive import MAX_SECONDS, Archive
from news_assets.web.cache import AnswerCache
from news_assets.web.operations import polls, query_actions
from news_assets.web.operations.article_actions import Actions, LabelActions, Render
from news_assets.web.operations.failure_pages import RETRIES_PATH, FailureActions
from news_assets.web.operations.metrics import health, metrics
from news_assets.web.operations.sessions import (
    Access,
    Sessions,
    check_origin,
    private,
)
from news_assets.web.request_limits import LIVE_PATH, in_time

_MAX_BODY_BYTES: Final = 100_000  # a thousand agencies

Posted = Callable[[Request, bytes], Response]


def operator_routes(
    archive: Archive,
    access: Access,
    sessions: Sessions,
    render: Render,
    cache: AnswerCache,
) -> list[Route]:
    """Return the routes of actions, polls, health, and metrics, which the cache keeps."""
    failed = FailureActions(archive, access, sessions, render)
    actions = Actions(archive, access, sessions, render)
    saved = query_actions.QueryActions(archive, sessions, render)

    def poll(request: Request, body: bytes) -> Response:
        return polls.request_polls(archive.desks, access, sessions.check(request), body)

    article = "/operations/articles/{article_id:article_id}"
    return [
        Route("/operations/login", _private(actions.login_page), methods=["GET"]),
        Route("/operations/login", _posted(actions.login), methods=["POST"]),
        Route("/operations/logout", _posted(actions.logout), methods=["POST"]),
        Route(article, _private(sessions.closed(actions.page))),
        Route(f"{article}/retry", _posted(actions.retry), methods=["POST"]),
        Route(f"{article}/withdraw", _posted(actions.withdraw), methods=["POST"]),
        Route(f"{article}/bring-back", _posted(actions.bring_back), methods=["POST"]),
        Route(
            f"{article}/label",
            _posted(LabelActions(archive, sessions).store),
            methods=["POST"],
        ),
        Route("/operations/failures/retry", _posted(failed.retry), methods=["POST"]),
        Route(RETRIES_PATH, _private(sessions.closed(failed.retries))),
        Route(
            query_actions.PATH,
            _private(sessions.closed(saved.page)),
            methods=["GET"],
        ),
        Route(query_actions.PATH, _posted(saved.save), methods=["POST"]),
        Route(f"{query_actions.PATH}/delete", _posted(saved.delete), methods=["POST"]),
        Route(f"{PREFIX}/{polls.PATH}", _posted(poll), methods=["POST"]),
        Route("/health", in_time(partial(health, archive))),
        Route(LIVE_PATH, _live),
        Route("/metrics", in_time(cache.around(partial(metrics, archive)))),
    ]


def _posted(handler: Posted) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler that reads a body of limited size from a page of this server,
    and runs this one in a thread.
    """

    async def answer(request: Request) -> Response:
        check_origin(request)
        try:
            with anyio.fail_after(MAX_SECONDS):
                body = await _body_of(request)
        except TimeoutError:
            raise HTTPException(
                408, f"the body did not come within {MAX_SECONDS:.0f} s"
            ) from None
        except ClientDisconnect:
            raise HTTPException(
                400, "the connection was closed before the end of the body"
            ) from None
        return private(await to_thread.run_sync(handler, request, body))

    return answer


async def _body_of(request: Request) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _MAX_BODY_BYTES:
            raise HTTPException(413, f"more than {_MAX_BODY_BYTES:,} bytes")
    return bytes(body)


def _private(
    handler: Callable[[Request], Response],
) -> Callable[[Request], Awaitable[Response]]:
    return in_time(lambda request: private(handler(request)))


async def _live(request: Request) -> Response:
    """Answer without a thread: all of them may be busy."""
    return PlainTextResponse("live\n")
