"""What readers choose with a parameter of any address, their language and their time zone, is kept
in a cookie, so that links and forms need not repeat it.
"""

from collections.abc import Iterator
from typing import Final

from starlette.datastructures import QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from news_assets.web.page_times import ZONE_COOKIE, known_zones
from news_assets.web.phrases import LANGUAGE_COOKIE, LANGUAGES

CHOICES: Final = ("lang", "zone")
_RULES: Final = "Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax"
_FORGET: Final = "Path=/; Max-Age=0; HttpOnly; SameSite=Lax"


class KeptChoices:
    """Keeps what an address chooses with `lang` and `zone` in cookies; an empty zone
    deletes its cookie.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; of one that chooses something, add the cookies."""
        cookies = []
        if scope["type"] == "http":
            cookies = list(_cookies_of(QueryParams(scope["query_string"])))

        async def send_with_cookies(message: Message) -> None:
            if message["type"] == "http.response.start":
                added = [(b"set-cookie", cookie.encode()) for cookie in cookies]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        await self._app(scope, receive, send_with_cookies if cookies else send)


def _cookies_of(query: QueryParams) -> Iterator[str]:
    """Yield the cookies that keep what a query chooses."""
    language, zone = query.get("lang"), query.get("zone")
    if language in LANGUAGES:
        yield f"{LANGUAGE_COOKIE}={language}; {_RULES}"
    if zone == "":
        yield f"{ZONE_COOKIE}=; {_FORGET}"
    elif zone in known_zones():
        yield f"{ZONE_COOKIE}={zone}; {_RULES}"
