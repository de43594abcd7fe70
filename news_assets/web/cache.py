"""Answers that are kept while the lake has no newer commit, with an ETag of their content."""

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from news_assets.web.archive import Archive
from news_assets.web.forms.choice import form_of
from news_assets.web.phrases import language_of

MAX_AGE_SECONDS: Final = 60.0  # pages also say what is due now
MAX_BYTES: Final = 50_000_000

Handler = Callable[[Request], Response]

_OF_304: Final = ("etag", "cache-control", "vary", "content-language")


class _Kept(NamedTuple):
    commit: int
    made_at: float
    body: bytes
    headers: dict[str, str]


class AnswerCache:
    """Answers by address, form and language, the last used last; a client that has one already is answered with 304."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._kept: OrderedDict[tuple[str, ...], _Kept] = OrderedDict()
        self._bytes = 0
        self._changing = threading.Lock()

    def around(self, handler: Handler) -> Handler:
        """Return a handler that answers as this one, from the cache if it can. All its answers have the status 200."""

        def answer(request: Request) -> Response:
            commit, key = self._archive.commit(), _key(request)
            kept = self._found(key, commit)
            if kept is None:  # the number of the commit is from before: what is stored meanwhile makes it outdated
                kept = _kept(commit, handler(request))
                self._keep(key, kept)
            if kept.headers["etag"] in request.headers.get("if-none-match", ""):
                return Response(None, 304, {name: value for name, value in kept.headers.items() if name in _OF_304})
            return Response(kept.body, headers=kept.headers)

        return answer

    def _found(self, key: tuple[str, ...], commit: int) -> _Kept | None:
        with self._changing:
            kept = self._kept.get(key)
            if kept is None or kept.commit != commit or time.monotonic() - kept.made_at > MAX_AGE_SECONDS:
                return None
            self._kept.move_to_end(key)
            return kept

    def _keep(self, key: tuple[str, ...], kept: _Kept) -> None:
        with self._changing:
            self._drop(key)
            self._kept[key] = kept
            self._bytes += len(kept.body)
            while self._bytes > MAX_BYTES:
                self._drop(next(iter(self._kept)))

    def _drop(self, key: tuple[str, ...]) -> None:
        if (kept := self._kept.pop(key, None)) is not None:
            self._bytes -= len(kept.body)


def _kept(commit: int, response: Response) -> _Kept:
    body = bytes(response.body)
    headers = {
        **response.headers,
        "etag": f'W/"{hashlib.sha256(body).hexdigest()[:32]}"',
        "cache-control": "private, no-cache",  # kept by clients, and asked about each time
        "vary": "Accept, Accept-Language",
    }
    return _Kept(commit, time.monotonic(), body, headers)


def _key(request: Request) -> tuple[str, ...]:
    base = str(request.base_url)  # feeds have absolute addresses
    return base, request.url.path, request.url.query, form_of(request), language_of(request)
