"""Answers that are kept while the lake has no newer commit, with an ETag of their
content; each is made once.
"""

import hashlib
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import Final, NamedTuple
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from news_assets.web.archive import MAX_SECONDS, Archive, BusyError
from news_assets.web.forms import TABLE_FORMS, form_of
from news_assets.web.localization import CHOICES, language_of, zone_of

_MAX_AGE_SECONDS: Final = 60.0  # pages also say what is due now, and minutes ago
_MAX_BYTES: Final = 8_000_000
_ENTRY_BYTES: Final = 2_000  # of an answer's headers and the dictionaries that hold it

Handler = Callable[[Request], Response]
_Key = tuple[str, ...]

_OF_304: Final = ("etag", "cache-control", "vary", "content-language")


class _Kept(NamedTuple):
    commit: int
    made_at: float
    body: bytes
    headers: dict[str, str]


class AnswerCache:
    """Answers by address, form, language and time zone, the last used last; a client
    that has one already is answered with 304.

    Of an address only the parameters that its handler takes are a part of the key.
    """

    def __init__(
        self,
        archive: Archive,
        is_operator: Callable[[Request], bool] = lambda request: False,
    ) -> None:
        self._archive = archive
        self._is_operator = is_operator  # whose pages have more links
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._made: dict[_Key, Future[_Kept]] = {}  # those that are being made
        self._commit = 0
        self._bytes = 0
        self._changing = threading.Lock()

    def around(
        self,
        handler: Handler,
        parameters: Collection[str] | None = (),
        varies: Callable[[Request], str] = lambda request: "",
    ) -> Handler:
        """Return a handler that answers as this one, from the cache if it can. All its
        answers have the status 200.

        Args:
            handler: What makes an answer.
            parameters: Names of the address's parameters that the answer depends on,
                beside those of `CHOICES`; None for all.
            varies: What else of a request the answer depends on.
        """
        names = None if parameters is None else {*parameters, *CHOICES}

        def answer(request: Request) -> Response:
            request.state.parameters = names
            if form_of(request) in TABLE_FORMS:  # too long to keep
                return handler(request)
            words_only = "by words" if self._archive.is_by_words_only() else ""
            reader = "operator" if self._is_operator(request) else ""
            key = (*_key(request, names), words_only, reader, varies(request))
            kept = self._kept_or_made(key, lambda: handler(request))
            if kept.headers["etag"] in request.headers.get("if-none-match", ""):
                return _not_modified(kept)
            return Response(kept.body, headers=kept.headers)

        return answer

    def _kept_or_made(self, key: _Key, make: Callable[[], Response]) -> _Kept:
        """Return the answer, made in this thread or in that of another request for the
        same one.

        Raises:
            BusyError: Another request's answer takes too long.
        """
        # from before: what is stored meanwhile makes the answer outdated
        commit = self._archive.commit()
        with self._changing:
            if (kept := self._found(key, commit)) is not None:
                return kept
            made = self._made.get(key)
            is_first = made is None
            if made is None:
                made = self._made[key] = Future()
        if not is_first:
            return _result_of(made)
        try:
            made.set_result(_kept(commit, make()))
        except BaseException as error:
            made.set_exception(error)
            raise
        finally:
            with self._changing:
                del self._made[key]
        self._keep(key, made.result())
        return made.result()

    def _found(self, key: _Key, commit: int) -> _Kept | None:
        if commit != self._commit:
            self._kept.clear()
            self._commit, self._bytes = commit, 0
        kept = self._kept.get(key)
        if kept is None or time.monotonic() - kept.made_at > _MAX_AGE_SECONDS:
            return None
        self._kept.move_to_end(key)
        return kept

    def _keep(self, key: _Key, kept: _Kept) -> None:
        with self._changing:
            if kept.commit != self._commit:
                return
            self._drop(key)
            self._kept[key] = kept
            self._bytes += _size(key, kept)
            while self._bytes > _MAX_BYTES:
                self._drop(next(iter(self._kept)))

    def _drop(self, key: _Key) -> None:
        if (kept := self._kept.pop(key, None)) is not None:
            self._bytes -= _size(key, kept)


def _not_modified(kept: _Kept) -> Response:
    names = [name for name in kept.headers if name in _OF_304]
    return Response(None, 304, {name: kept.headers[name] for name in names})


def _result_of(made: Future[_Kept]) -> _Kept:
    try:
        return made.result(MAX_SECONDS)
    except TimeoutError:
        raise BusyError(
            "the same answer is being made for another request; try again"
        ) from None


def _size(key: _Key, kept: _Kept) -> int:
    return len(kept.body) + _ENTRY_BYTES + sum(map(sys.getsizeof, key))


def _kept(commit: int, response: Response) -> _Kept:
    body = bytes(response.body)
    headers = {
        **response.headers,
        "etag": f'W/"{hashlib.sha256(body).hexdigest()[:32]}"',
        # kept by clients, and validated with each request
        "cache-control": "private, no-cache",
        "vary": "Accept, Accept-Language, Authorization, Cookie",
    }
    return _Kept(commit, time.monotonic(), body, headers)


def _key(request: Request, names: Collection[str] | None) -> _Key:
    base = str(request.base_url)  # feeds have absolute addresses
    pairs = list(request.query_params.items())
    if names is not None:
        pairs = [pair for pair in pairs if pair[0] in names]
    query = urlencode(sorted(pairs))
    chosen = language_of(request), zone_of(request)
    return base, request.url.path, query, form_of(request), *chosen
