"""The routes of operators and monitors."""

from functools import partial

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from news_assets.web.api_operations import PREFIX
from news_assets.web.archive import Archive
from news_assets.web.cache import AnswerCache
from news_assets.web.operations import polls, query_actions
from news_assets.web.operations.article_actions import Actions, LabelActions, Render
from news_assets.web.operations.failure_pages import (
    MESSAGES_PATH,
    RETRIES_PATH,
    FailureActions,
    MessageActions,
)
from news_assets.web.operations.monitoring import health, metrics
from news_assets.web.operations.sessions import Access, Sessions, posted, private_page
from news_assets.web.request_limits import LIVE_PATH, in_time


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
    messages = MessageActions(archive, sessions, render)

    def poll(request: Request, body: bytes) -> Response:
        return polls.request_polls(archive.desks, access, sessions.check(request), body)

    article = "/operations/articles/{article_id:article_id}"
    return [
        Route("/operations/login", private_page(actions.login_page), methods=["GET"]),
        Route("/operations/login", posted(actions.login), methods=["POST"]),
        Route("/operations/logout", posted(actions.logout), methods=["POST"]),
        Route(article, private_page(sessions.closed(actions.page))),
        Route(f"{article}/retry", posted(actions.retry), methods=["POST"]),
        Route(f"{article}/withdraw", posted(actions.withdraw), methods=["POST"]),
        Route(f"{article}/bring-back", posted(actions.bring_back), methods=["POST"]),
        Route(
            f"{article}/label",
            posted(LabelActions(archive, sessions).store),
            methods=["POST"],
        ),
        Route("/operations/failures/retry", posted(failed.retry), methods=["POST"]),
        Route(RETRIES_PATH, private_page(sessions.closed(failed.retries))),
        Route(
            query_actions.PATH,
            private_page(sessions.closed(saved.page)),
            methods=["GET"],
        ),
        Route(query_actions.PATH, posted(saved.save), methods=["POST"]),
        Route(f"{query_actions.PATH}/delete", posted(saved.delete), methods=["POST"]),
        Route(MESSAGES_PATH, private_page(messages.page), methods=["GET"]),
        Route(MESSAGES_PATH, posted(messages.send_again), methods=["POST"]),
        Route(f"{PREFIX}/{polls.PATH}", posted(poll), methods=["POST"]),
        Route("/health", in_time(partial(health, archive))),
        Route(LIVE_PATH, _live),
        Route("/metrics", in_time(cache.around(partial(metrics, archive)))),
    ]


async def _live(request: Request) -> Response:
    """Answer without a thread: all of them may be busy."""
    return PlainTextResponse("live\n")
