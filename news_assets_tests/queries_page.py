"""Print docs/queries.md, the text of each query over several tables, as it is sent.

Run: `make docs`, or `python -m news_assets_tests.queries_page > docs/queries.md`.
"""

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType

from news_assets.store.queries import (
    backlog,
    changes,
    copies,
    freshness,
    listed_articles,
    listed_failures,
    news_links,
    poll_health,
    report,
    spending,
    stored_meetings,
    story_contents,
    story_lists,
)

_INTRO = """# Queries

The text of each query that joins or counts rows in the lake, as DuckDB gets it: `$name`, `$1` and `?` are its parameters.
`IS NOT DISTINCT FROM` means `=` here. DuckLake compares the value of a `=` with the statistics of each file, which takes longer
than to read the few rows.
`make docs` generates this page from `news_assets/store/queries`.
"""
_MODULES = (
    backlog,
    listed_articles,
    listed_failures,
    copies,
    changes,
    stored_meetings,
    poll_health,
    freshness,
    spending,
    report,
    story_contents,
    news_links,
    story_lists,
)
# queries that are composed, by the function that composes them
_COMPOSED: Mapping[ModuleType, Mapping[str, Callable[[], str]]] = {
    backlog: {
        "differing_sql": backlog.differing_sql,
        "stale_sql": lambda: backlog.stale_sql(backlog.GIVEN_KEYS),
    },
    freshness: {"expected_sql": freshness.expected_sql},
    listed_articles: {
        "days_sql": lambda: listed_articles.days_sql(_before_days()),
        "newest_sql": lambda: listed_articles.newest_sql(listed_articles.CONDITIONS),
        "stage_counts_sql": listed_articles.stage_counts_sql,
    },
    stored_meetings: {
        "selected_sql": lambda: stored_meetings.selected_sql(stored_meetings.CONDITIONS)
    },
    report: {"desks_sql": report.desks_sql},
    spending: {"spending_sql": lambda: spending.spending_sql(spending.CONDITIONS)},
}
_WIDTH = 100
_INDENT = 4
_CLAUSES = frozenset(
    (
        "WITH",
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP",
        "ORDER",
        "HAVING",
        "LIMIT",
        "UNION",
        "JOIN",
        "LEFT",
        "FULL",
        "ANTI",
    )
)
_MODIFIERS = frozenset(("LEFT", "FULL", "ANTI", "DISTINCT"))
_STATEMENT = re.compile(r"\s*(SELECT|WITH)\b[^{]*\bFROM\b(?!.*{\w+})", re.DOTALL)
_PIECE = re.compile(r"'(?:[^']|'')*'|(?<!\()\s+(?!\))|\(|\)|[^()\s']+")


def queries_page() -> str:
    """Return the page as Markdown."""
    return "\n".join((_INTRO, *map(_section, _MODULES)))


def _before_days() -> list[str]:
    return [name for name in listed_articles.CONDITIONS if name != "first_day"]


def _section(module: ModuleType) -> str:
    name = module.__name__.rpartition(".")[2]
    about = " ".join((module.__doc__ or "").partition("\n\n")[0].split())
    parts = [f"## {name}", "", about, ""]
    for query, sql in _queries(module):
        parts += [f"### {name}: {query}", ""]
        composing = getattr(module, query, None)
        if composing is not None and inspect.isfunction(composing):
            parts += [" ".join((inspect.getdoc(composing) or "").split()), ""]
        parts += ["```sql", laid_out(sql), "```", ""]
    return "\n".join(parts)


def _queries(module: ModuleType) -> Iterator[tuple[str, str]]:
    """Yield the name and text of each statement of a module; what is only a part of one
    is left out.
    """
    composed = _COMPOSED.get(module, {})
    texts = [sql for one in _MODULES for sql in _statements(one).values()]
    texts += [compose() for compose in composed.values()]
    for name, sql in _statements(module).items():
        if not any(sql in text and sql != text for text in texts):
            yield name.strip("_").lower(), sql
    for name, compose in composed.items():
        yield name, compose()


def _statements(module: ModuleType) -> dict[str, str]:
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, str) and _STATEMENT.match(value)
    }


def laid_out(sql: str) -> str:
    """Return a statement with a line for each clause, and subqueries indented."""
    layout = _Layout()
    pieces = _PIECE.findall(" ".join(sql.split()))
    for piece, following in zip(pieces, [*pieces[1:], ""], strict=True):
        layout.add(piece, following)
    layout.end_line()
    return "\n".join(layout.lines)


class _Layout:
    """Lines of a statement that is read piece by piece."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._line = ""
        self._previous = ""
        # for each open parenthesis, whether it encloses a subquery
        self._nested: list[bool] = []

    def add(self, piece: str, following: str) -> None:
        if piece == "(":
            self._open(following)
        elif piece == ")":
            self._close()
        else:
            is_clause = piece in _CLAUSES and self._previous not in _MODIFIERS
            if is_clause and (not self._nested or self._nested[-1]):
                self.end_line()
            self._line += piece
        if piece.strip():
            self._previous = piece

    def _open(self, following: str) -> None:
        is_subquery = following in _CLAUSES
        self._line += "("
        if is_subquery:
            self.end_line()
        self._nested.append(is_subquery)

    def _close(self) -> None:
        if self._nested[-1]:
            self.end_line()
        self._nested.pop()
        self._line += ")"

    def end_line(self) -> None:
        """Begin another line."""
        text = self._line.strip()
        if text:
            self.lines += _wrapped(text, _INDENT * sum(self._nested))
        self._line = ""


def _wrapped(line: str, indent: int) -> list[str]:
    kept = re.sub(r"'(?:[^']|'')*'", lambda text: text[0].replace(" ", "\0"), line)
    found = textwrap.wrap(
        kept,
        _WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + _INDENT),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [part.replace("\0", " ") for part in found]


if __name__ == "__main__":
    sys.stdout.write(queries_page())
