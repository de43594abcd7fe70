"""Saved queries that operators made on a page: stored in the lake, and followed as
those of the file are.
"""

from datetime import datetime

from news_assets.pipeline.alerts.query_file import Alerts, SavedQuery
from news_assets.ports.services import Reader
from news_assets.records.alerts import StoredQuery


def stored_row(query: SavedQuery, who: str, now: datetime) -> StoredQuery:
    """Return the row of a query that an operator saves."""
    query_json = query.model_dump_json(exclude_defaults=True)
    return StoredQuery(
        name=query.name, query_json=query_json, saved_at=now, saved_by=who
    )


def query_of(row: StoredQuery) -> SavedQuery:
    """Return the query of a stored row."""
    return SavedQuery.model_validate_json(row.query_json)


def problem_of(query: SavedQuery, rules: Alerts) -> str:
    """Return what is wrong with a stored query beside the rules of the file; empty if
    nothing is.
    """
    if query.name in {one.name for one in rules.queries}:
        return (
            f"the file of NEWS_QUERIES has a query `{query.name}` too; save this one under another"
            " name"
        )
    if missing := [to for to in query.to if to not in rules.channels]:
        names = ", ".join(f"`{name}`" for name in missing)
        return (
            f"the query `{query.name}` goes to {names}, which the file of NEWS_QUERIES does not"
            " have; add the channel there, or delete the query"
        )
    return ""


def with_stored(rules: Alerts, rows: Reader) -> tuple[Alerts, dict[str, str]]:
    """Return the rules of the file with the stored queries, and what is wrong with some
    of these, by name.

    A stored query goes to those of its channels that the file has; without any, it is
    not followed.
    """
    problems: dict[str, str] = {}
    queries = list(rules.queries)
    names = {query.name for query in queries}
    for row in rows.read(StoredQuery):
        query = query_of(row)
        problem = problem_of(query, rules)
        if problem:
            problems[query.name] = problem
        channels = tuple(to for to in query.to if to in rules.channels)
        if channels and query.name not in names:
            queries.append(query.model_copy(update={"to": channels}))
    return rules.model_copy(update={"queries": tuple(queries)}), problems
