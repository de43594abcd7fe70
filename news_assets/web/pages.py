"""The handlers of the pages."""

import logging
from calendar import monthrange
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, date, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from news_assets.errors import NewsAssetsError
from news_assets.web.archive import Archive, ArticleView
from news_assets.web.markup import article_html, word_diff
from news_assets.web.parameters import MAX_PAGE, PAGE_SIZES, ParameterError, SearchAddress
from news_assets.web.phrases import LANGUAGES, preferred, translation
from news_assets.web.responses import csv_response, form_of, json_response

FACET_VALUES: Final = 8
# A stored page is shown without scripts, and nothing is requested from its site.
_ORIGINAL_HEADERS: Final = {
    "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'",
}
_SHOWN_AS: Final = {"text/html", "application/xhtml+xml", "text/plain"}
_log = logging.getLogger(__name__)


class Pages:
    """Handlers for each route; they run in threads, because the archive's reads block."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._templates = Environment(
            loader=PackageLoader("news_assets.web"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.filters |= {"host": _host, "minute": _minute}
        self._templates.globals |= {
            "languages": LANGUAGES,
            "page_sizes": PAGE_SIZES,
            "agency_name": archive.agency_name,
            "theme_label": archive.theme_label,
            "article_html": article_html,
            "word_diff": word_diff,
            "month_end": _month_end,
            "facet_values": FACET_VALUES,
        }

    # --- for readers -------------------------------------------------------------------------------------------------

    def search(self, request: Request) -> Response:
        """Return the hits of a search with counts, or the newest articles."""
        address = SearchAddress.of(request.query_params)
        answer = self._archive.search(address)
        hits = [asdict(hit) for hit in answer.hits]
        match form_of(request):
            case "json":
                found = {"found": answer.found, "facets": answer.facets, "took_ms": round(answer.took_ms, 2)}
                return json_response({"hits": hits, **found})
            case "csv":
                return csv_response("search", hits)
        wider = {} if answer.hits or not address.active else self._archive.wider(address)
        pages = min(MAX_PAGE, -(-answer.found // address.size))
        return self._page(request, "search.html", address=address, answer=answer, wider=wider, pages=pages)

    def article(self, request: Request) -> Response:
        """Return one article with everything that is stored about it."""
        view = self._view(request)
        if form_of(request) == "html":
            return self._page(request, "article.html", view=view)
        row = {name: value for name, value in asdict(view.article).items() if not isinstance(value, bytes)}
        if form_of(request) == "csv":
            return csv_response(view.article.article_id, [row])
        return json_response(
            {
                "article": row,
                "enriched": asdict(view.enriched) if view.enriched else None,
                "copies": list(view.copies),
                "events": [asdict(event) for event in view.events],
                "similar": [asdict(hit) for hit in view.similar],
            }
        )

    def _view(self, request: Request) -> ArticleView:
        article_id = request.path_params["article_id"]
        view = self._archive.article(article_id)
        if view is None:
            raise HTTPException(404, f"no article {article_id}")
        return view

    def original(self, request: Request) -> Response:
        """Return the stored page of an article, without scripts and requests."""
        found = self._archive.original_page(request.path_params["article_id"])
        if found is None:
            raise HTTPException(404, "no page of this article is stored")
        kind, body = found
        shown = kind if kind.partition(";")[0].strip().lower() in _SHOWN_AS else "text/plain"
        return Response(body, headers={"Content-Type": shown, **_ORIGINAL_HEADERS})

    # --- for operators -----------------------------------------------------------------------------------------------

    def operations(self, request: Request) -> Response:
        """Return the coverage of each desk by agency and day."""
        now = datetime.now(UTC)
        grids = [self._archive.coverage(desk, now) for desk in self._archive.desks]
        return self._page(request, "operations.html", grids=grids)

    def sources(self, request: Request) -> Response:
        """Return every source with its health."""
        now = datetime.now(UTC)
        rows = [row for desk in self._archive.desks for row in self._archive.sources(desk, now)]
        plain = [{name: value for name, value in row.items() if name != "facts"} for row in rows]
        return self._list(request, "sources.html", "sources", rows, plain)

    def failures(self, request: Request) -> Response:
        """Return the newest failures of all stages."""
        rows = [asdict(row) for row in self._archive.failures()]
        return self._list(request, "failures.html", "failures", rows, rows)

    def _list(
        self, request: Request, template: str, name: str, rows: list[dict[str, Any]], plain: list[dict[str, Any]]
    ) -> Response:
        match form_of(request):
            case "json":
                return json_response({name: plain})
            case "csv":
                return csv_response(name, plain)
        return self._page(request, template, rows=rows)

    def ready(self, request: Request) -> Response:
        """Return 200 if lake and index can be read, else 503 with the reason."""
        try:
            self._archive.is_ready()
        except NewsAssetsError as error:
            return PlainTextResponse(f"not ready: {error}\n", 503)
        return PlainTextResponse("ready\n")

    # --- pages and errors --------------------------------------------------------------------------------------------

    def _page(self, request: Request, template: str, status: int = 200, **values: Any) -> Response:
        language = preferred(request.headers.get("accept-language", ""), request.query_params.get("lang", ""))
        context: Mapping[str, Any] = {
            "t": translation(language),
            "language": language,
            "path": request.url.path,
            "here": _here(request),
            "asked": request.query_params.get("lang", ""),
            **values,
        }
        page = self._templates.get_template(template).render(context)
        return Response(page, status, {"Content-Language": language, "Vary": "Accept-Language"}, "text/html")

    def error(self, request: Request, error: Exception) -> Response:
        """Return an error as a page, or as problem+json where JSON was asked for."""
        status, reason = _explain(error)
        if status == 500:
            _log.error("%s %s", request.method, request.url.path, exc_info=error)
        if form_of(request) == "html":
            return self._page(request, "error.html", status, code=status, reason=reason)
        return json_response({"title": reason, "status": status}, status)


def _explain(error: Exception) -> tuple[int, str]:
    """Return the status and the reason to show; not that of an error in the program, which may quote secrets."""
    if isinstance(error, HTTPException):
        return error.status_code, error.detail
    if isinstance(error, ParameterError):
        return 400, str(error)
    if isinstance(error, NewsAssetsError):
        return 503, str(error)
    return 500, "an error in the program; the server's log has it"


def _here(request: Request) -> dict[str, str]:
    """Return the parameters of this address without `lang`, for the links to other languages."""
    return {name: value for name, value in request.query_params.items() if name != "lang"}


def _month_end(month: str) -> date:
    """Return the last day of a month such as 2026-01."""
    year, number = map(int, month.split("-"))
    return date(year, number, monthrange(year, number)[1])


def _host(url: str) -> str:
    return urlsplit(url).hostname or url


def _minute(at: datetime | None) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if at else ""
