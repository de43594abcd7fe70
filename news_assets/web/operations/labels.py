"""Labels of themes that operators give: the form on the page of an article, and storing
them.
"""

import logging
from dataclasses import dataclass
from datetime import UTC, datetime

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from news_assets.errors import NewsAssetsError
from news_assets.pipeline.enrich.enriched_rows import labels_in_force, store_label
from news_assets.ports.services import Rows
from news_assets.records.articles import RawArticle
from news_assets.records.derived import EnrichedArticle, ThemeLabel
from news_assets.web.archive import Archive
from news_assets.web.operations.forms import note, read_form
from news_assets.web.operations.sessions import Sessions

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Option:
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
    options: list[Option]


def theme_form(archive: Archive, article_id: str) -> _ThemeForm | None:
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
        options.append(Option(code, " › ".join(labels)))
    label = labels_in_force(archive.lake.read(ThemeLabel, article_id=[article_id])).get(
        article_id
    )
    by = label.labelled_by if label else None
    return _ThemeForm(
        row.theme_code or "", row.theme_labels, row.theme_score, by, options
    )


class LabelActions:
    """The handler of the form."""

    def __init__(self, archive: Archive, sessions: Sessions) -> None:
        self._archive, self._sessions = archive, sessions

    def store(self, request: Request, body: bytes) -> Response:
        """Store the theme that an operator accepts or chooses; an empty code is for no
        theme.
        """
        who, article_id = (
            self._sessions.check(request),
            request.path_params["article_id"],
        )
        form, now = read_form(body), datetime.now(UTC)
        if "code" not in form:
            raise HTTPException(
                400,
                "code: send the code of a theme, or an empty one where no theme fits",
            )
        article = next(
            iter(self._archive.lake.read(RawArticle, article_id=[article_id])), None
        )
        taxonomy = self._archive.taxonomy(article.desk) if article else None
        if article is None or taxonomy is None:
            raise HTTPException(
                404, f"no article {article_id} of a desk with a desk file"
            )
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
        return RedirectResponse(f"/operations/articles/{article_id}", 303)
