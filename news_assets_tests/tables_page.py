"""Print docs/tables.md, the reference of the lake's tables, from the declared records.

Run: `make docs`, or `python -m news_assets_tests.tables_page > docs/tables.md`.
"""

import inspect
import sys

from news_assets.pipeline.stages import STAGES
from news_assets.records.articles import FeedEntry
from news_assets.store.tables import TABLES, Column, Table, columns

_INTRO = """# Tables

The tables of the lake, with DuckDB's column types. `_at` columns are UTC times, `_hash` columns lower-case hex.
`news-assets export TABLE` writes the rows of a table. `make docs` generates this page from the declared records.
"""
_ASSETS = {FeedEntry: "feed_entries"} | {stage.record: stage.name for stage in STAGES}


def tables_page() -> str:
    """Return the page as Markdown."""
    return "\n".join((_INTRO, _contents(), *map(_section, TABLES)))


def _contents() -> str:
    rows = (
        f"| [{table.name}](#{table.name}) | {_purpose(table)} |" for table in TABLES
    )
    return "\n".join(("| table | rows |", "|---|---|", *rows, ""))


def _section(table: Table) -> str:
    key = ", ".join(f"`{name}`" for name in table.key) or "none, rows are only appended"
    facts = [f"Key: {key}."]
    if table.partition_column:
        facts.append(f"Files by month of `{table.partition_column}`.")
    if table.record in _ASSETS:
        facts.append(f"Written by the asset `{_ASSETS[table.record]}`.")
    header = ("| column | type | nullable | meaning |", "|---|---|---|---|")
    rows = map(_row, columns(table))
    return "\n".join(
        (
            f"## {table.name}",
            "",
            _purpose(table),
            "",
            " ".join(facts),
            "",
            *header,
            *rows,
            "",
        )
    )


def _purpose(table: Table) -> str:
    first_paragraph = (inspect.getdoc(table.record) or "").partition("\n\n")[0]
    return " ".join(first_paragraph.split())


def _row(column: Column) -> str:
    meaning = column.meaning.replace("|", "\\|")
    return f"| `{column.name}` | {column.sql_type} | {'yes' if column.is_nullable else ''} | {meaning} |"


if __name__ == "__main__":
    sys.stdout.write(tables_page())
