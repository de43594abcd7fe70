"""What becomes of rows and columns when an article is withdrawn.

A row that has an `article_id` is deleted with its article, and a column holds content,
unless the record says otherwise: `@stays_when_withdrawn` on the record, and `KEPT` on
the columns that such a row does not lose. A new record or column is thus cleared
without a line of code elsewhere.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from datetime import date
from types import NoneType
from typing import Annotated, Any, Final, TypeVar, get_args, get_type_hints

# in the Annotated of a column that holds no content
KEPT: Final = "kept when the article is withdrawn"

_Record = TypeVar("_Record")

_STAYING: dict[type, bool] = {}  # record -> whether its rows lose their content


def stays_when_withdrawn(
    *, loses_content: bool
) -> Callable[[type[_Record]], type[_Record]]:
    """Declare that the rows of a record stay; without `loses_content` as they are,
    because none of it is content.
    """

    def declare(record: type[_Record]) -> type[_Record]:
        _STAYING[record] = loses_content
        return record

    return declare


def is_deleted_with_article(record: type) -> bool:
    """Whether the rows of a record are deleted when their article is withdrawn."""
    if "article_id" not in {field.name for field in fields(record)}:
        return False
    return record not in _STAYING


def loses_content(record: type) -> bool:
    """Whether the rows of a record stay without their content when their article is
    withdrawn.
    """
    return _STAYING.get(record, False)


def content_columns(record: type) -> dict[str, Any]:
    """Return the columns of a record that hold content, each with its empty value.

    Raises:
        TypeError: A column has no empty value: mark it as KEPT, or allow None.
    """
    hints = get_type_hints(record, include_extras=True)
    found: dict[str, Any] = {}
    for name, hint in hints.items():
        if KEPT not in get_args(hint)[1:]:
            found[name] = _empty(record, name, hint)
    return found


def without_content(row: _Record) -> _Record:
    """Return the row of a withdrawn article without its content."""
    return replace(row, **content_columns(type(row)))  # type: ignore[type-var]


def _empty(record: type, name: str, hint: Any) -> Any:
    kinds = get_args(get_args(hint)[0]) or (get_args(hint)[0],)
    if NoneType in kinds:
        return None
    empty = {str: "", bytes: b"", int: 0, float: 0.0, bool: False}
    plain = get_args(hint)[0]
    if plain in empty:
        return empty[plain]
    if getattr(plain, "__origin__", None) is tuple:
        return ()
    raise TypeError(
        f"{record.__name__}.{name} has no empty value: mark it as KEPT, or allow None"
    )


# --- columns that several tables have -------------------------------------------------

Desk_ = Annotated[str, "key of the desk", KEPT]
Agency_ = Annotated[str, "key of the agency", KEPT]
Day_ = Annotated[
    date,
    "partition day: day of publication in the agency's time zone, or the day it was first seen",
    KEPT,
]
ArticleId = Annotated[
    str,
    "readable, stable id: agency, day, slug of the title and hash of the canonical URL",
    KEPT,
]
SourceId = Annotated[str, "id of the source", KEPT]
RowOutcome = Annotated[
    str,
    "ok, unchanged, gone, blocked, failed or skipped; of articles also withdrawn",
    KEPT,
]
Reason = Annotated[str | None, "reason for an outcome other than ok"]
MeetingId = Annotated[
    str,
    "id of the meeting, which never changes: agency, and vendor and vendor's id (or a hash) when"
    " first listed",
]
ItemId = Annotated[
    str,
    "id of the agenda item: that of its meeting, and the vendor's id or the place in the agenda",
]
MeetingDay = Annotated[
    date | None, "day of the meeting in the agency's time zone; none if it is not known"
]
