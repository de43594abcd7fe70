"""Main images of articles, fetched through the checked fetcher, so that browsers
request nothing from other sites.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from news_assets.errors import FetchError
from news_assets.ports.services import Fetcher, PageRequest
from news_assets.records.articles import RawArticle
from news_assets.web.archive import Archive

MAX_BYTES: Final = 5_000_000
_KEPT: Final = 20  # images in memory, for an hour at most
# SVG can have scripts
_KINDS: Final = {
    "image/avif",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/webp",
}
_FETCH_S: Final = 8.0
_HEADERS: Final = {
    "Cache-Control": "private, max-age=86400",
    "Content-Security-Policy": "sandbox; default-src 'none'",
}


def image_handler(archive: Archive, fetcher: Fetcher) -> Callable[[Request], Response]:
    """Return the handler that answers with the image of an article; 404 without one,
    502 if it cannot be shown.
    """

    @lru_cache(maxsize=_KEPT)
    def fetched(url: str, hour: str) -> tuple[str, bytes | None]:
        """Return kind and bytes of an image, or the reason why there are none; it is
        requested again next hour.
        """
        return _fetch(fetcher, url)

    def image(request: Request) -> Response:
        article_id = request.path_params["article_id"]
        url = None
        for row in archive.lake.read(RawArticle, article_id=[article_id]):
            url = row.image_url
        if not url:
            raise HTTPException(404, f"no image of an article {article_id} is known")
        kind, body = fetched(url, f"{datetime.now(UTC):%Y-%m-%d %H}")
        if body is None:
            raise HTTPException(502, kind)
        return Response(body, headers=_HEADERS, media_type=kind)

    return image


def _fetch(fetcher: Fetcher, url: str) -> tuple[str, bytes | None]:
    try:
        page = fetcher.fetch(
            PageRequest(
                url, max_s=_FETCH_S, headers=(("Accept", ", ".join(sorted(_KINDS))),)
            )
        )
    except FetchError as error:
        return f"the image could not be fetched: {error}", None
    kind = page.content_type.partition(";")[0].strip().lower()
    if kind not in _KINDS:
        return (
            (
                f"the image has the type {kind[:40] or 'unknown'}; shown are"
                f" {', '.join(sorted(_KINDS))}"
            ),
            None,
        )
    if len(page.body) > MAX_BYTES:
        return f"the image has more than {MAX_BYTES:,} bytes", None
    return kind, page.body
