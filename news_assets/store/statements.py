"""The SQL of a statement: the WHERE clause of a read by agency-days and by lists of
values, and literals in place of parameters.

Lists longer than _SHORT_LIST are joined as frames: 4,800 agency-days take 57 ms, as a
list parameter 1,340 ms. The range of their values is a condition too, which lets
DuckLake skip files and row groups by their statistics.

For each column that is compared with a constant by =, <, > or IN, DuckLake reads from
the catalog which files cannot have the value: 4 ms in a new lake, 20 ms among 500
files. So queries that run often compare columns that no file is told apart by (see
`Table.is_pruned_by`) by IS NOT DISTINCT FROM, which DuckLake does not look at.

Literals replace parameters because DuckDB checks of each value in a parameter whether it
is of pandas, which Python looks for on disk each time if it is not installed: 2 ms for
a read by desk, agency and day.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from news_assets.records.reading import AgencyDays
from news_assets.store.address import quoted
from news_assets.store.tables import Table, columns, polars_schema
from news_assets.text.limits import storable

if TYPE_CHECKING:
    import polars


_LISTED = ("VARCHAR[]", "FLOAT[]")
# Values that are compared one by one: five articles among 100,000 take 70 ms, joined as
# a frame 260 ms.
_SHORT_LIST = 20


@dataclass(slots=True)
class Selection:
    """Conditions joined by AND, the values of their `?` in order, and the frames they
    refer to.
    """

    table: Table
    conditions: list[str] = field(default_factory=list)
    params: list[Any] = field(default_factory=list)
    frames: "dict[str, polars.DataFrame]" = field(default_factory=dict)

    @property
    def where(self) -> str:
        """The WHERE clause, or an empty string for all rows."""
        return f" WHERE {' AND '.join(self.conditions)}" if self.conditions else ""

    @property
    def is_empty(self) -> bool:
        """Whether no row can match."""
        return "false" in self.conditions

    def add(self, condition: str, *params: object) -> None:
        """Add a condition."""
        self.conditions.append(condition)
        self.params.extend(params)


def select(
    table: Table, keys: AgencyDays | None, isin: Mapping[str, Collection[Any]]
) -> Selection:
    """Return the selection of the rows of these partitions that have one of the given
    values in each named column.

    An empty collection, also of keys, selects no row. None among the values matches
    NULL.

    Raises:
        ValueError: The table has no such column, or the column holds lists.
    """
    selection = Selection(table)
    if keys is not None:
        _add_keys(selection, keys)
    plain = {column.name for column in columns(table) if column.sql_type not in _LISTED}
    for name, values in isin.items():
        if name not in plain:
            raise ValueError(
                f"{table.name} cannot be read by {name!r}; choose from: {', '.join(sorted(plain))}"
            )
        add_values(selection, name, values)
    return selection


def _add_keys(selection: Selection, keys: AgencyDays) -> None:
    import polars as pl

    if not keys.pairs:
        selection.add("false")
        return
    agencies, days = zip(*sorted(keys.pairs), strict=True)
    selection.add('"desk" IS NOT DISTINCT FROM ?', keys.desk)
    selection.add('"day" BETWEEN ? AND ?', min(days), max(days))
    if len(keys.pairs) == 1:
        selection.add(_equals(selection.table, "agency"), agencies[0])
        return
    if selection.table.is_pruned_by("agency"):
        selection.add('"agency" BETWEEN ? AND ?', agencies[0], agencies[-1])
    selection.frames["selected_keys"] = pl.DataFrame(
        {"agency": agencies, "day": days},
        schema={"agency": pl.String, "day": pl.Date},
    )
    selection.add('("agency", "day") IN (FROM selected_keys)')


def _equals(table: Table, name: str) -> str:
    """Return the condition that a column has a given value, which is not NULL."""
    operator = "=" if table.is_pruned_by(name) else "IS NOT DISTINCT FROM"
    return f'"{name}" {operator} ?'


def add_values(selection: Selection, name: str, values: Collection[Any]) -> None:
    """Add the condition that a column has one of these values."""
    given = {
        storable(value) if isinstance(value, str) else value
        for value in values
        if value is not None
    }
    alternatives = []
    if given:
        alternatives.append(" AND ".join(_conditions(selection, name, sorted(given))))
    if None in values:
        alternatives.append(f'"{name}" IS NULL')
    selection.add(f"({' OR '.join(alternatives)})" if alternatives else "false")


def _conditions(selection: Selection, name: str, given: list[Any]) -> Iterator[str]:
    import polars as pl

    if len(given) == 1:
        selection.params.append(given[0])
        yield _equals(selection.table, name)
        return
    if selection.table.is_pruned_by(name):
        selection.params.extend((given[0], given[-1]))
        yield f'"{name}" BETWEEN ? AND ?'
        if type(given[0]) is date and (given[-1] - given[0]).days == len(given) - 1:
            return  # days in a row
    if len(given) <= _SHORT_LIST:
        selection.params.append(given)
        yield f'list_contains(?, "{name}")'
        return
    frame = f"selected_{name}"
    selection.frames[frame] = pl.DataFrame(
        {"value": given}, schema={"value": polars_schema(selection.table)[name]}
    )
    yield f'"{name}" IN (FROM {frame})'


# --- days of articles -----------------------------------------------------------------


_DAY = re.compile(r"(?<=-)\d{4}-\d\d-\d\d(?=-)")


def days_in(article_id: str) -> set[date]:
    """Return the days that are written in the id of an article; none in some ids of
    tests and of earlier programs.
    """
    found: set[date] = set()
    for text in _DAY.findall(article_id):
        with suppress(ValueError):  # 9999-99-99 in a slug
            found.add(date.fromisoformat(text))
    return found


# The rows of lakes from before there were notes.
NOTE_MOVES = """
    INSERT INTO moved_articles BY NAME
    SELECT DISTINCT article_id, day FROM "{}"
    WHERE NOT contains(article_id, concat('-', day, '-'))
        AND regexp_matches(article_id, '-\\d{{4}}-\\d\\d-\\d\\d-')
        AND (article_id, day) NOT IN (SELECT (article_id, day) FROM moved_articles)
"""


# --- literals -------------------------------------------------------------------------


# what is left as it is (strings, quoted names, comments), and a parameter
_PARAMETER = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\$(?P<name>\w+)|(?P<mark>\?)"""
)
_MAX_CHARS = 1000  # a longer text is passed as a parameter
_MAX_LISTED = 100
_BIGINT = range(-(2**63), 2**63)


def literal(value: object) -> str | None:
    """Return the literal of a value, of the type that a parameter would have; None if
    it has to be one.
    """
    if isinstance(value, list):
        return _list(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value) if value in _BIGINT else None
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, datetime):
        return f"TIMESTAMPTZ '{value.isoformat()}'" if value.tzinfo else None
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return None


def with_values(sql: str, values: Mapping[str, str]) -> str:
    """Return a statement with SQL texts in place of its parameters: `$name` by name,
    each `?` by its number.
    """
    count = 0

    def replaced(found: re.Match[str]) -> str:
        nonlocal count
        if found["name"]:
            return values[found["name"]]
        if found["mark"]:
            count += 1
            return values[str(count)]
        return found[0]

    return _PARAMETER.sub(replaced, sql)


def _text(value: str) -> str | None:
    if len(value) > _MAX_CHARS or not value.isprintable():
        return None
    return f"{quoted(value)}::VARCHAR"


def _list(values: list[object]) -> str | None:
    """Return the literal of a list of values of one type."""
    parts = [literal(value) for value in values[: _MAX_LISTED + 1]]
    is_plain = (
        0 < len(parts) <= _MAX_LISTED and len({type(value) for value in values}) == 1
    )
    if not is_plain or None in parts:
        return None
    return f"[{', '.join(map(str, parts))}]"
