"""Entries of each agency by day and hour, and polls of each source by outcome, counted
in SQL.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from news_assets.store.lake import Lake
from news_assets.store.transaction import Snapshot

if TYPE_CHECKING:
    import polars

_ENTRY_DAYS = """
    SELECT agency, day, count(DISTINCT article_id)::BIGINT AS entries
    FROM entries WHERE desk = $1 GROUP BY agency, day
"""

_ENTRY_TIMES = """
    SELECT agency, min(first_seen_at) AS first_seen_at, max(first_seen_at) AS newest_seen_at,
        max(least(published_at, first_seen_at)) AS last_entry_at
    FROM entries WHERE desk = $1 GROUP BY agency ORDER BY agency
"""

# Entries that were more than a day old when first seen were listed in bulk; their hour
# has no meaning.
_ENTRY_HOURS = """
    SELECT agency, hour(first_seen_at) AS utc_hour, count(*)::BIGINT AS entries
    FROM entries WHERE desk = $1 AND first_seen_at >= $2 AND day >= first_seen_at::DATE - 1
    GROUP BY ALL ORDER BY agency, utc_hour
"""

# Failures and empty listings are few: their times as lists replace a second scan of the
# polls, half of the work.
_POLL_HISTORY = """
    SELECT source_id, first_polled_at, first_answer_at, last_answer_at, entry_count,
        list_min(
            list_filter(empty_at, lambda t: t > coalesce(last_full_at, '-infinity'))
        ) AS empty_since,
        coalesce(len(failed_since), 0)::BIGINT AS failed_count,
        list_min(failed_since) AS failing_since
    FROM (
        SELECT *,
            list_filter(failed_at, lambda t: t > coalesce(last_answer_at, '-infinity'))
                AS failed_since
        FROM (
            SELECT source_id, min(polled_at) AS first_polled_at,
                min(polled_at) FILTER (answers) AS first_answer_at,
                max(polled_at) FILTER (answers) AS last_answer_at,
                max(polled_at) FILTER (is_listing AND entry_count > 0) AS last_full_at,
                arg_max(entry_count, polled_at) FILTER (is_listing) AS entry_count,
                list(polled_at) FILTER (is_listing AND entry_count = 0) AS empty_at,
                list(polled_at) FILTER (NOT answers) AS failed_at
            FROM (
                SELECT source_id, polled_at, entry_count, outcome = 'ok' AS is_listing,
                    outcome IN ('ok', 'unchanged') AS answers
                FROM polls WHERE desk = $1 AND polled_at >= $2
            )
            GROUP BY source_id
        )
    )
    ORDER BY source_id
"""


def entry_days(lake: Lake | Snapshot, desk: str, days: int) -> "polars.DataFrame":
    """Return agency, day and entries (articles listed) of each agency's last `days` up
    to its newest; no empty days.

    Polars takes a third of DuckDB's time to keep and order these rows.
    """
    import polars as pl

    is_recent = pl.col("day") > pl.col("day").max().over("agency") - pl.duration(
        days=days
    )
    return lake.query(_ENTRY_DAYS, [desk]).filter(is_recent).sort("agency", "day")


def entry_times(lake: Lake | Snapshot, desk: str) -> "polars.DataFrame":
    """Return agency, first_seen_at (of its first entry), newest_seen_at (of its newest)
    and last_entry_at.

    `last_entry_at` is when its latest entry was published, or first seen if no time or
    a future one is stated.
    """
    return lake.query(_ENTRY_TIMES, [desk])


def entry_hours(
    lake: Lake | Snapshot, desk: str, since: datetime
) -> "polars.DataFrame":
    """Return agency, utc_hour (0 to 23) and the number of fresh entries first seen in
    that hour.
    """
    return lake.query(_ENTRY_HOURS, [desk, since])


def poll_history(
    lake: Lake | Snapshot, desk: str, now: datetime, days: int = 30
) -> "polars.DataFrame":
    """Return a row for each source polled in the last `days`, with the columns of
    `PollHistory`.
    """
    return lake.query(_POLL_HISTORY, [desk, now - timedelta(days=days)])
