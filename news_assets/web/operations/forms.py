"""Reading the forms of operators, and the record of what they do."""

from datetime import datetime

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from news_assets.ports.services import Rows
from news_assets.records.alerts import OperatorAction
from news_assets.records.articles import RawArticle
from news_assets.records.derived import Failure


def read_form(body: bytes) -> QueryParams:
    """Return the fields of a form; of several with one name, `[]` gives the last and
    `getlist` all.
    """
    try:
        return QueryParams(body.decode())
    except UnicodeDecodeError as error:
        raise HTTPException(400, "the form cannot be read") from error


def note(
    rows: Rows,
    who: str,
    action: str,
    detail: str,
    now: datetime,
    about: RawArticle | Failure | None = None,
) -> None:
    """Store what an operator does in the same transaction; `about` names the article,
    if it is about one.
    """
    rows.append(
        [
            OperatorAction(
                acted_at=now,
                operator=who,
                action=action,
                article_id=about.article_id if about else "",
                desk=about.desk if about else "",
                agency=about.agency if about else "",
                detail=detail,
            )
        ]
    )
