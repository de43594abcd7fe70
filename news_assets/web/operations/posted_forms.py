"""Handlers of forms, and of pages that nothing on their way may keep."""

from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from news_assets.web.archive import MAX_SECONDS
from news_assets.web.operations.sessions import check_origin, private
from news_assets.web.request_limits import in_time

_MAX_BODY_BYTES: Final = 100_000  # a thousand agencies

Posted = Callable[[Request, bytes], Response]


def posted(
    handler: Posted, *, any_origin: bool = False
) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler that reads a body of limited size and runs this one in a thread.
    The request has to come from a page of this server, unless from `any_origin`.
    """

    async def answer(request: Request) -> Response:
        if not any_origin:
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


def private_page(
    handler: Callable[[Request], Response],
) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler of a page that is not kept by anything on its way."""
    return in_time(lambda request: private(handler(request)))
