"""The saved queries as the pages list them, and the page on which operators save searches as
queries and delete them.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from news_assets.errors import QueryError
from news_assets.pipeline.alerts.hits import Matchable, Matcher
from news_assets.pipeline.alerts.query_file import (
    SavedQuery,
    explain,
    problem_of,
    query_of,
    stored_row,
)
from news_assets.ports.services import Rows
from news_assets.records.alerts import StoredQuery
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.search import Filters, SearchHit
from news_assets.text.query_parser import parse_operators
from news_assets.web.archive import Archive
from news_assets.web.localization import language_of, mistake_text, translation
from news_assets.web.operations.article_actions import Render
from news_assets.web.operations.sessions import Sessions, filled_fields, note, read_form
from news_assets.web.parameters import SEVERAL, ParameterError, SearchAddress

# of a saved query and of a search
FILTERS: Final = SavedQuery.model_fields.keys() & Filters.__dataclass_fields__.keys()
_WEEK: Final = timedelta(days=7)
_COMPARED: Final = 100  # articles of a preview


@dataclass(frozen=True, slots=True, kw_only=True)
class _ListedQuery:
    """A saved query. `row` is None for one of the file; `problem` says why a stored one
    is not followed as it is.
    """

    query: SavedQuery
    row: StoredQuery | None = None
    problem: str = ""

    @property
    def address(self) -> SearchAddress:
        """The search for what it finds, newest first."""
        filters = self.query.model_dump(include=FILTERS)
        return SearchAddress(
            text=self.query.query, mode="keyword", sort="date", **filters
        )


@dataclass(frozen=True, slots=True)
class _Preview:
    """How many articles a query would have sent in the last week; `is_cut` where only the
    newest were compared.
    """

    count: int
    is_cut: bool

    def __str__(self) -> str:
        return f"{self.count}+" if self.is_cut else str(self.count)


def hits_of_last_week(archive: Archive, query: SavedQuery, now: datetime) -> _Preview:
    """Return how many of the newest articles of the last week a query would have sent.
    The index finds what may match, and the comparison with saved queries decides.

    Raises:
        NewsAssetsError: The index or the lake cannot be read.
    """
    first_day = now.date() - _WEEK
    address = _ListedQuery(query=query).address
    if address.from_day is not None:
        first_day = max(first_day, address.from_day)
    update = {"from_day": first_day, "limit": _COMPARED}
    part = archive.search(address.model_copy(update=update))
    matcher = Matcher([query])
    count = 0
    for found in _articles_of(archive, part.items):
        if any(matcher.matches(found, found.article.first_seen_at)):
            count += 1
    return _Preview(count, is_cut=part.found > len(part.items))


def _rows_of(
    archive: Archive, hits: Sequence[SearchHit]
) -> tuple[list[RawArticle], dict[str, EnrichedArticle]]:
    """Return the articles of these hits that are no copies, and the enrichments by id."""
    where: dict[str, Any] = {
        "article_id": [hit.article_id for hit in hits],
        "day": {hit.day for hit in hits},
        "outcome": ["ok"],
    }
    with archive.lake.latest() as lake:
        articles = lake.read(RawArticle, **where, duplicate_of=[None])
        rows = lake.read(EnrichedArticle, **where)
    return articles, {row.article_id: row for row in rows}


def _articles_of(archive: Archive, hits: Sequence[SearchHit]) -> list[Matchable]:
    """Return the articles of these hits that are no copies, as queries compare them."""
    articles, enriched = _rows_of(archive, hits)
    found = []
    for article in articles:
        name = archive.agency_name(article.agency)
        row = enriched.get(article.article_id)
        found.append(Matchable(article, row, name))
    return found


def listed_queries(archive: Archive) -> list[_ListedQuery]:
    """Return all saved queries. Raises LakeError."""
    found = [_ListedQuery(query=query) for query in archive.rules.queries]
    for row in archive.lake.read(StoredQuery):
        query = query_of(row)
        problem = problem_of(query, archive.rules)
        found.append(_ListedQuery(query=query, row=row, problem=problem))
    return found


def filters_in(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the filters among the fields of a form."""
    return {name: given[name] for name in sorted(FILTERS & given.keys())}


PATH: Final = "/operations/queries"
_log = logging.getLogger(__name__)


class QueryActions:
    """Handlers; those of POST get the request's body, which is a form with the keys of
    a query in the file.
    """

    def __init__(self, archive: Archive, sessions: Sessions, render: Render) -> None:
        self._archive = archive
        self._sessions = sessions
        self._render = render

    def page(self, request: Request) -> Response:
        """Return the stored queries, and a form that saves the search of the address."""
        address = SearchAddress.of(request.query_params)
        filters = address.model_dump(include=FILTERS, exclude_none=True, mode="json")
        return self._page(request, {"query": address.text, **filters})

    def _page(
        self,
        request: Request,
        given: Mapping[str, Any],
        error: str = "",
        status: int = 200,
    ) -> Response:
        return self._render(
            request,
            "save_query.html",
            status,
            operator=self._sessions.operator(request),
            given=given,
            filters=filters_in(given),
            channels=sorted(self._archive.rules.channels),
            error=error,
            preview=self._preview(given),
            stored=[one for one in listed_queries(self._archive) if one.row],
        )

    def _preview(self, given: Mapping[str, Any]) -> _Preview | None:
        """Return what a query with these words and filters would have sent; None where
        there are none yet, or a value is wrong.
        """
        kept = {name: given[name] for name in (*FILTERS, "query") if given.get(name)}
        if not kept:
            return None
        try:
            fields = {**kept, "name": "preview", "to": ("preview",)}
            query = SavedQuery.model_validate(fields)
            return hits_of_last_week(self._archive, query, datetime.now(UTC))
        except (ValidationError, QueryError):
            return None

    def save(self, request: Request, body: bytes) -> Response:
        """Store a query, which is followed from then on; on a mistake, return the form
        with what is wrong.
        """
        who = self._sessions.check(request)
        form = read_form(body)
        given = {**filled_fields(form), "to": form.getlist("to")}
        now = datetime.now(UTC)
        try:
            query = self._checked(given)
            self._archive.lake.transact(
                lambda rows: _store(rows, stored_row(query, who, now))
            )
        except QueryError as error:
            mistake = mistake_text(error, translation(language_of(request)))
            return self._page(request, given, mistake, 400)
        except ParameterError as error:
            return self._page(request, given, str(error), 400)
        _log.warning("%s saves the query %s", who, query.name)
        return RedirectResponse(PATH, 303)

    def _checked(self, given: Mapping[str, Any]) -> SavedQuery:
        if not given["to"]:
            raise ParameterError("to: choose a channel")
        for name in SEVERAL:
            if "," in given.get(name, ""):
                raise ParameterError(f"{name}: a saved query takes one value")
        parse_operators(given.get("query", ""))
        try:
            query = SavedQuery.model_validate(given)
        except ValidationError as error:
            raise ParameterError(explain(error.errors()[0])) from None
        if problem := problem_of(query, self._archive.rules):
            raise ParameterError(problem)
        return query

    def delete(self, request: Request, body: bytes) -> Response:
        """Delete the stored query that the form names."""
        who = self._sessions.check(request)
        name = read_form(body).get("name", "")
        now = datetime.now(UTC)

        def work(rows: Rows) -> int:
            found = rows.delete(StoredQuery, name=[name])
            if found:
                note(rows, who, "delete query", name, now)
            return found

        if not self._archive.lake.transact(work):
            raise HTTPException(404, f"no query `{name[:80]}` was saved on the page")
        _log.warning("%s deletes the query %s", who, name)
        return RedirectResponse(PATH, 303)


def _store(rows: Rows, row: StoredQuery) -> None:
    if rows.read(StoredQuery, name=[row.name]):
        raise ParameterError(
            f"a query `{row.name}` was saved already; choose another name, or delete it"
        )
    rows.upsert([row])
    note(rows, row.saved_by, "save query", row.name, row.saved_at)
