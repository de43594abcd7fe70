"""The page of what failed for an article, and the actions of operators on it: retry, withdraw,
bring back, and the label of a theme.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from news_assets.errors import LakeError, NewsAssetsError
from news_assets.pipeline.articles.withdrawal import undo_withdrawal, withdraw
from news_assets.pipeline.enrich.enriched_rows import labels_in_force, store_label
from news_assets.pipeline.failures import make_due
from news_assets.pipeline.stages import STAGES, all_stages
from news_assets.ports.services import Rows
from news_assets.records.alerts import OperatorAction
from news_assets.records.articles import FeedEntry, RawArticle, StoredPage
from news_assets.records.derived import (
    EnrichedArticle,
    Failure,
    IndexedDocument,
    ThemeLabel,
)
from news_assets.records.reading import WITHDRAWN
from news_assets.store.queries.listed_failures import retried_failures
from news_assets.taxonomy import Taxonomy
from news_assets.web.archive import Archive
from news_assets.web.operations.sessions import (
    COOKIE,
    LOG_OUT,
    MAX_NAME_CHARS,
    Access,
    Sessions,
    is_confirmed,
    looks_of,
    note,
    read_form,
    session_id,
)

_MAX_REASON_CHARS: Final = 300
_LISTED_RETRIES: Final = 20  # failures that were retried, of one article
_NOTHING_TO_WITHDRAW: Final = "no article {id} that is not withdrawn"
_log = logging.getLogger(__name__)

Render = Callable[..., Response]  # request, template, status, **values


@dataclass(frozen=True, slots=True)
class _Preview:
    """What a retry of a failure would do: the stage it begins with, those after it, and
    the address it fetches.
    """

    failure: Failure
    fetches: str | None
    then: Sequence[str]


class Actions:
    """Handlers; those of POST get the request's body, which is a form."""

    def __init__(
        self, archive: Archive, access: Access, sessions: Sessions, render: Render
    ) -> None:
        self._archive, self._lake = archive, archive.lake
        self._access = access
        self._sessions = sessions
        self._render = render

    # --- log-in -----------------------------------------------------------------------

    def login_page(self, request: Request) -> Response:
        """Return the form, or that the pages are read-only."""
        return self._login(request, "")

    def _login(self, request: Request, error: str, status: int = 200) -> Response:
        return self._render(
            request,
            "login.html",
            status,
            operator=self._sessions.operator(request),
            error=error,
            goes_to=_within(request.query_params.get("to", "")),
        )

    def login(self, request: Request, body: bytes) -> Response:
        """Begin a session with the right token."""
        form = read_form(body)
        name = " ".join(form.get("name", "").split())[:MAX_NAME_CHARS]
        if not self._sessions.is_token(form.get("token", "")):
            _log.warning("a log-in as %r was refused", name)
            return self._login(request, "This is not the token.", 403)
        response = RedirectResponse(_within(form.get("to", "")), 303)
        self._sessions.begin(request, response, name or "operator")
        return response

    def logout(self, request: Request, body: bytes) -> Response:
        """End the session."""
        who = self._sessions.operator(request)
        if who is not None and (cookie := request.cookies.get(COOKIE)):
            ended = session_id(cookie)
            now = datetime.now(UTC)
            self._lake.transact(lambda rows: note(rows, who, LOG_OUT, ended, now))
        response = RedirectResponse("/operations/login", 303)
        self._sessions.end(response)
        return response

    # --- one article ------------------------------------------------------------------

    def page(self, request: Request) -> Response:
        """Return what failed for an article, what a retry would do, and the actions."""
        article_id = request.path_params["article_id"]
        article = self._article(article_id)
        failures = self._lake.read(Failure, article_id=[article_id])
        if article is None and not failures:
            raise HTTPException(404, f"no article {article_id}")
        url = self._fetched_url(article_id, article)
        pages = self._lake.frame(
            StoredPage, None, ("article_id",), article_id=[article_id]
        )
        actions = self._lake.read(OperatorAction, article_id=[article_id])
        actions.sort(key=lambda one: one.acted_at)
        return self._render(
            request,
            "operate.html",
            article_id=article_id,
            article=article,
            previews=[_preview(failure, url) for failure in failures],
            has_page=not pages.is_empty(),
            retried=retried_failures(
                self._lake, article_id=article_id, limit=_LISTED_RETRIES
            ),
            looks=looks_of(self._access, datetime.now(UTC)),
            operator=self._sessions.operator(request),
            theme=_theme_form(self._archive, article_id),
            actions=actions,
        )

    def _fetched_url(self, article_id: str, article: RawArticle | None) -> str | None:
        """Return the address that a retry fetches; None for an item of an agenda, which
        is composed of its documents.
        """
        if article is not None:
            return None if article.meeting_id else article.url
        for entry in self._lake.read(FeedEntry, article_id=[article_id]):
            return entry.url
        return None

    def _article(self, article_id: str) -> RawArticle | None:
        return next(iter(self._lake.read(RawArticle, article_id=[article_id])), None)

    def retry(self, request: Request, body: bytes) -> Response:
        """Make the failures of an article due now, with all attempts left; the daemon
        then runs their stages.
        """
        who = self._sessions.check(request)
        article_id = request.path_params["article_id"]
        now = datetime.now(UTC)

        def work(rows: Rows) -> bool:
            found = make_due(rows, now, article_id=[article_id])
            if not found:
                return False
            names = ", ".join(sorted(one.stage for one in found))
            note(rows, who, "retry", names, now, found[0])
            return True

        if not self._lake.transact(work):
            raise HTTPException(404, f"no failure of {article_id}")
        _log.warning("%s retries %s", who, article_id)
        return _back(article_id)

    def withdraw(self, request: Request, body: bytes) -> Response:
        """Remove the text of an article from lake and index; without a confirmation,
        return the page with it.
        """
        who = self._sessions.check(request)
        article_id = request.path_params["article_id"]
        now = datetime.now(UTC)
        form = read_form(body)
        reason = " ".join(form.get("reason", "").split())[:_MAX_REASON_CHARS]
        if not reason:
            raise HTTPException(400, "reason: say why the article is withdrawn")
        if not is_confirmed(request, form):
            return self._confirm_withdrawal(request, article_id, reason)

        def work(rows: Rows) -> bool:
            for row in rows.read(RawArticle, article_id=[article_id]):
                if row.outcome != WITHDRAWN:
                    withdraw(rows, [row], reason, now)
                    note(rows, who, "withdraw", reason, now, row)
                    return True
            return False

        if not self._lake.transact(work):
            raise HTTPException(404, _NOTHING_TO_WITHDRAW.format(id=article_id))
        _log.warning("%s withdraws %s: %s", who, article_id, reason)
        self._delete_document(article_id)
        return _back(article_id)

    def _confirm_withdrawal(
        self, request: Request, article_id: str, reason: str
    ) -> Response:
        article = self._article(article_id)
        if article is None or article.outcome == WITHDRAWN:
            raise HTTPException(404, _NOTHING_TO_WITHDRAW.format(id=article_id))
        return self._render(
            request, "confirm_withdrawal.html", article=article, reason=reason
        )

    def bring_back(self, request: Request, body: bytes) -> Response:
        """Store a withdrawn article as it was before; the daemon puts it into the index
        again.
        """
        who = self._sessions.check(request)
        article_id = request.path_params["article_id"]
        now = datetime.now(UTC)
        article = self._article(article_id)
        if article is None or article.outcome != WITHDRAWN:
            raise HTTPException(404, f"no withdrawn article {article_id}")
        reason = f"was withdrawn: {article.reason}"
        try:
            undo_withdrawal(
                self._lake,
                article,
                lambda rows: note(rows, who, "bring back", reason, now, article),
            )
        except LakeError as error:
            raise HTTPException(409, str(error)) from error
        _log.warning("%s brings %s back", who, article_id)
        return _back(article_id)

    def _delete_document(self, article_id: str) -> None:
        """Delete the document and its receipt; where the index is unavailable, the
        sensors do so later.
        """
        try:
            self._access.delete_documents([article_id])
        except NewsAssetsError as error:
            _log.warning("%s is still in the index: %s", article_id, error)
            return
        self._lake.transact(
            lambda rows: rows.delete(IndexedDocument, article_id=[article_id])
        )


def _preview(failure: Failure, url: str | None) -> _Preview:
    names = [stage.name for stage in all_stages()]
    stages = [failure.stage]
    if failure.stage in names:
        stages = names[names.index(failure.stage) :]
    is_fetched = failure.stage == STAGES[0].name
    return _Preview(failure, url if is_fetched else None, stages)


def _within(path: str) -> str:
    """Return a path of this server's pages; that of the failures for any other address."""
    is_own = path.startswith("/") and not path.startswith("//")
    if is_own and path.isprintable() and "\\" not in path:
        return path
    return "/operations/failures"


def _back(article_id: str) -> Response:
    return RedirectResponse(f"/operations/articles/{article_id}", 303)


@dataclass(frozen=True, slots=True)
class _Option:
    """A theme to choose; `label` begins with the labels above it."""

    code: str
    label: str


@dataclass(frozen=True, slots=True)
class _ThemeForm:
    """The present theme of an article (`code` is empty for none), who labelled it, and
    the themes to choose.
    """

    code: str
    labels: tuple[str, ...]
    score: float
    labelled_by: str | None
    options: list[_Option]


def _theme_form(archive: Archive, article_id: str) -> _ThemeForm | None:
    """Return the form of an article; None where it is not enriched, or its desk has no
    desk file.
    """
    rows = archive.lake.read(EnrichedArticle, article_id=[article_id], outcome=["ok"])
    taxonomy = archive.taxonomy(rows[0].desk) if rows else None
    if taxonomy is None:
        return None
    [row] = rows
    language = (row.language or "").partition("-")[0] or None
    options = []
    for code in taxonomy.themes:
        labels = [taxonomy.themes[each].label(language) for each in taxonomy.path(code)]
        options.append(_Option(code, " › ".join(labels)))
    stored = archive.lake.read(ThemeLabel, article_id=[article_id])
    label = labels_in_force(stored).get(article_id)
    by = label.labelled_by if label else None
    return _ThemeForm(
        row.theme_code or "", row.theme_labels, row.theme_score, by, options
    )


_NO_CODE: Final = "code: send the code of a theme, or an empty one where no theme fits"


class LabelActions:
    """The handler of the form."""

    def __init__(self, archive: Archive, sessions: Sessions) -> None:
        self._archive, self._sessions = archive, sessions

    def store(self, request: Request, body: bytes) -> Response:
        """Store the theme that an operator accepts or chooses; an empty code is for no
        theme.
        """
        who = self._sessions.check(request)
        article_id = request.path_params["article_id"]
        now = datetime.now(UTC)
        form = read_form(body)
        if "code" not in form:
            raise HTTPException(400, _NO_CODE)
        article, taxonomy = self._labelled(article_id)
        code = form["code"] or None

        def work(rows: Rows) -> None:
            label = store_label(
                rows, article_id, article.desk, code, who, taxonomy, now
            )
            detail = f"{label.code or 'none'}, before {label.previous or 'none'}"
            note(rows, who, "label", detail, now, article)

        try:
            self._archive.lake.transact(work)
        except NewsAssetsError as error:
            raise HTTPException(400, str(error)) from error
        _log.warning("%s labels %s: %s", who, article_id, code or "none")
        return _back(article_id)

    def _labelled(self, article_id: str) -> tuple[RawArticle, Taxonomy]:
        """Return the article and the taxonomy of its desk. Raises HTTPException."""
        for article in self._archive.lake.read(RawArticle, article_id=[article_id]):
            taxonomy = self._archive.taxonomy(article.desk)
            if taxonomy is not None:
                return article, taxonomy
        raise HTTPException(404, f"no article {article_id} of a desk with a desk file")
