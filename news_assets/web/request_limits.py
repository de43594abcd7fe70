"""Limits of what clients can request: time for an answer, length of an address,
requests at a time and a minute.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Final
from weakref import WeakValueDictionary

import anyio
from anyio import CapacityLimiter, to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from news_assets.web.archive import MAX_SECONDS
from news_assets.web.connections import client_of
from news_assets.web.forms import problem

MAX_URL_CHARS: Final = 4_000
# after a pause, the requests of so many seconds may come at once
_BURST_SECONDS: Final = 10.0
_MAX_CLIENTS: Final = 10_000
# that are answered at a time; further ones are refused with 503
MAX_REQUESTS: Final = 100
_MAX_THREADS: Final = 12  # anyio allows 40; each keeps memory of its own
_MAX_THREADS_OF_CLIENT: Final = 8  # so that one client's long answers leave some free
LIVE_PATH: Final = "/health/live"  # answered whatever else is to be done


def in_time(
    handler: Callable[[Request], Response],
) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler that runs this one in a thread, and answers with 503 if it takes
    longer than MAX_SECONDS, the wait for a thread included.
    """

    async def answer(request: Request) -> Response:
        to_thread.current_default_thread_limiter().total_tokens = _MAX_THREADS
        try:
            with anyio.fail_after(MAX_SECONDS):
                async with _threads_of(request):
                    return await to_thread.run_sync(
                        handler, request, abandon_on_cancel=True
                    )
        except TimeoutError:
            detail = f"the answer takes more than {MAX_SECONDS:.0f} s; ask for less, or again later"
            raise HTTPException(503, detail, {"Retry-After": "10"}) from None

    return answer


# By client, while it has requests.
_threads: WeakValueDictionary[str, CapacityLimiter] = WeakValueDictionary()


def _threads_of(request: Request) -> CapacityLimiter:
    """Return the threads that the client of a request may hold."""
    client = client_of(request.client.host) if request.client else ""
    limiter = _threads.get(client)
    if limiter is None:
        limiter = _threads[client] = CapacityLimiter(_MAX_THREADS_OF_CLIENT)
    return limiter


class RequestLimits:
    """Refuses addresses that are too long, too many requests at a time, and those of a
    client beyond `per_minute`.

    A client may ask as if it had been idle for ten seconds, then at the even rate
    (generic cell rate algorithm).
    """

    def __init__(self, app: ASGIApp, per_minute: int) -> None:
        self._app = app
        self._interval = 60 / per_minute if per_minute else 0.0
        # by client, the time when it would have asked at the even rate
        self._next: dict[str, float] = {}
        self._active = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http" or scope["path"] == LIVE_PATH:
            await self._app(scope, receive, send)
            return
        if refusal := self._refusal(scope):
            await refusal(scope, receive, send)
            return
        self._active += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._active -= 1

    def _refusal(self, scope: Scope) -> Response | None:
        if len(scope["path"]) + len(scope["query_string"]) > MAX_URL_CHARS:
            return problem(414, f"the address has more than {MAX_URL_CHARS} characters")
        if self._active >= MAX_REQUESTS:
            return problem(
                503,
                f"{MAX_REQUESTS} requests are being answered; try again",
                {"Retry-After": "5"},
            )
        if not self._interval or scope["path"].startswith("/static/"):
            return None
        client = client_of(scope["client"][0]) if scope["client"] else ""
        if wait := self._wait(client, time.monotonic()):
            detail = (
                f"more than {60 / self._interval:.0f} requests a minute from {client}; wait"
                f" {wait} s"
            )
            return problem(429, detail, {"Retry-After": str(wait)})
        return None

    def _wait(self, client: str, now: float) -> int:
        """Count a request; return 0, or the seconds to wait if it is refused."""
        due = max(self._next.get(client, now), now)
        if due - now > _BURST_SECONDS:
            return int(due - now - _BURST_SECONDS) + 1
        if len(self._next) >= _MAX_CLIENTS:
            self._next = {one: at for one, at in self._next.items() if at > now}
        self._next[client] = due + self._interval
        return 0
