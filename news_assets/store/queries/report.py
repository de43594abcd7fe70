"""The counts of the daily report.

Rows are grouped by DuckDB; only those of the newest articles are returned whole.
"""

from collections.abc import Collection, Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from news_assets.pipeline import stages
from news_assets.pipeline.report_contents import (
    HISTORY_DAYS,
    DayCounts,
    DeskCounts,
    Headline,
)
from news_assets.store.lake import Lake
from news_assets.store.queries.spending import spending_on
from news_assets.store.tables import made_of, table_of

if TYPE_CHECKING:
    import polars as pl

_SHOWN_REASONS = 12
_SHOWN_HEADLINES = 12

_OF_DESKS = "list_contains($desks::VARCHAR[], desk)"
_SEEN = f"{_OF_DESKS} AND first_seen_at >= $start AND first_seen_at < $end"
_DESKS = f"""
WITH articles AS (SELECT desk, article_id, outcome, duplicate_of FROM raw_articles WHERE {_SEEN}),
good AS (SELECT desk, article_id FROM articles WHERE outcome = 'ok')
    SELECT desk, count(DISTINCT agency) AS agencies, count(*) AS entries
    FROM entries WHERE {_SEEN} GROUP BY desk
UNION ALL BY NAME
    SELECT desk, count(DISTINCT article_id) AS waiting
    FROM entries ANTI JOIN raw_articles USING (article_id) WHERE {_SEEN} GROUP BY desk
UNION ALL BY NAME
    SELECT desk, count(*) FILTER (outcome = 'ok') AS articles,
        count(*) FILTER (outcome = 'ok' AND duplicate_of IS NOT NULL) AS copies
    FROM articles GROUP BY desk
"""
_DERIVED = """
UNION ALL BY NAME
    SELECT desk, count(*) AS {done}
    FROM good SEMI JOIN (FROM {table} WHERE outcome = 'ok' AND day BETWEEN $first_day AND $last_day)
    USING (article_id) GROUP BY desk
"""
_COUNTS = ("agencies", "entries", "waiting", "articles", "copies")

_HOURS = f"""
SELECT desk, hour(first_seen_at) AS h, count(*)
FROM entries WHERE {_SEEN} GROUP BY ALL ORDER BY ALL
"""

_OUTCOMES = f"""
SELECT desk, outcome, count(*)
FROM raw_articles WHERE {_SEEN} GROUP BY ALL ORDER BY ALL
"""

_REASONS = f"""
SELECT outcome, coalesce(reason, 'no reason given') AS reason, count(*) AS n
FROM raw_articles WHERE {_SEEN} AND outcome <> 'ok' GROUP BY ALL
ORDER BY n DESC, outcome, reason LIMIT {_SHOWN_REASONS}
"""

_THEMES = f"""
SELECT CASE WHEN theme_code IS NOT NULL THEN theme_labels[1] END AS label, count(*) AS n
FROM enriched_articles
SEMI JOIN (SELECT article_id FROM raw_articles WHERE {_SEEN} AND outcome = 'ok')
USING (article_id) WHERE outcome = 'ok' AND day BETWEEN $first_day AND $last_day
GROUP BY ALL ORDER BY n DESC, label
"""

_POLLED = f"{_OF_DESKS} AND polled_at >= $start AND polled_at < $end"

_POLLS = f"""
SELECT desk, outcome, count(*), sum(new_count)::BIGINT, sum(updated_count)::BIGINT
FROM polls WHERE {_POLLED} GROUP BY ALL ORDER BY ALL
"""

_POLL_REASONS = f"""
SELECT source_id, outcome, coalesce(reason, 'no reason given') AS reason, count(*) AS n
FROM polls WHERE {_POLLED} AND outcome NOT IN ('ok', 'unchanged')
GROUP BY ALL ORDER BY n DESC, source_id, reason LIMIT {_SHOWN_REASONS}
"""

_HISTORY = f"""
SELECT first_seen_at::DATE AS seen_on, outcome, count(*) FROM raw_articles
WHERE {_OF_DESKS} AND first_seen_at >= $history AND first_seen_at < $end GROUP BY ALL ORDER BY ALL
"""

_NEWEST = f"""
WITH newest AS (
    SELECT desk, agency, first_seen_at, coalesce(title, url) AS title, url, article_id
    FROM raw_articles WHERE {_SEEN} AND outcome = 'ok' AND duplicate_of IS NULL
    ORDER BY first_seen_at DESC, article_id LIMIT {_SHOWN_HEADLINES}
)
SELECT n.desk, n.agency, n.first_seen_at, n.title, n.url,
    CASE WHEN e.theme_code IS NOT NULL THEN e.theme_labels[-1] END AS theme
FROM newest n
LEFT JOIN (FROM enriched_articles WHERE day BETWEEN $first_day AND $last_day) e
    USING (article_id)
ORDER BY n.first_seen_at DESC, n.article_id
"""

_DAYS = f"SELECT min(day), max(day) FROM raw_articles WHERE {_SEEN}"


def count_day(lake: Lake, day: date, desks: Collection[str]) -> DayCounts:
    """Return the counts of these desks on this UTC day."""
    query = _DayQuery(lake, day, desks)
    return DayCounts(
        day=day,
        desks=tuple(_desk_counts(query)),
        hours=query.rows(_HOURS),
        outcomes=query.rows(_OUTCOMES),
        reasons=query.rows(_REASONS),
        themes=query.rows(_THEMES),
        polls=query.rows(_POLLS),
        poll_reasons=query.rows(_POLL_REASONS),
        history=query.rows(_HISTORY),
        newest=tuple(made_of(Headline, query.frame(_NEWEST))),
        spending=tuple(spending_on(lake, day, desks)),
    )


class _DayQuery:
    """Runs the queries above for one day of some desks."""

    def __init__(self, lake: Lake, day: date, desks: Collection[str]) -> None:
        start = datetime.combine(day, time(), UTC)
        end = start + timedelta(days=1)
        self._lake = lake
        self._params: dict[str, Any] = {
            "desks": list(desks),
            "start": start,
            "end": end,
            "history": end - timedelta(days=HISTORY_DAYS),
        }
        # Later stages are read only in the months in which the articles were published.
        first_day, last_day = self.frame(_DAYS).row(0)
        self._params |= {"first_day": first_day, "last_day": last_day}

    def frame(self, sql: str) -> "pl.DataFrame":
        """Return the result of a query; DuckDB refuses parameters that a query does not
        name.
        """
        named = {name for name in self._params if f"${name}" in sql}
        return self._lake.query(sql, {name: self._params[name] for name in named})

    def rows(self, sql: str) -> tuple[Any, ...]:
        """Return the rows of a query's result."""
        return tuple(self.frame(sql).iter_rows())


def _desk_counts(query: _DayQuery) -> Iterator[DeskCounts]:
    done = [stage.done for stage in stages.derived_stages()]
    for row in query.frame(desks_sql()).iter_rows(named=True):
        yield DeskCounts(
            desk=row["desk"],
            **{name: row[name] for name in _COUNTS},
            derived={name: row[name] for name in done},
        )


def desks_sql() -> str:
    """Return the query for the counts of each desk."""
    counts = _DESKS
    names = list(_COUNTS)
    for stage in stages.derived_stages():
        table = table_of(stage.record).name
        counts += _DERIVED.format(done=stage.done, table=table)
        names.append(stage.done)
    sums = ", ".join(f"coalesce(sum({name}), 0)::BIGINT AS {name}" for name in names)
    return f"SELECT desk, {sums} FROM ({counts}) GROUP BY desk ORDER BY desk"
