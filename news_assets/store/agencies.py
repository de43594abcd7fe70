"""How each source of a desk is going, out of `sources` and `polls`: the lake in, a row for each source out.

What is wrong with a source, or silent, is judged in `health.py`.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from news_assets.store.lake import Lake

if TYPE_CHECKING:
    import polars

LAST_POLLS = 10
POLL_DAYS = 30

_SOURCES = f"""
    SELECT s.source_id, s.desk, coalesce(p.polls, []) AS polls, s.interval_s, s.next_poll_at, p.new_ratio,
        s.last_new_at, s.last_polled_at, s.last_outcome, s.last_reason
    FROM sources s
    LEFT JOIN (
        SELECT source_id,
            list_reverse(arg_max(
                {{'polled_at': polled_at, 'outcome': outcome, 'new_count': new_count}}, polled_at, {LAST_POLLS}
            )) AS polls,
            sum(new_count) / nullif(sum(entry_count), 0) AS new_ratio
        FROM polls WHERE polled_at >= $since AND ($desk IS NULL OR desk = $desk) GROUP BY source_id
    ) p USING (source_id)
    WHERE $desk IS NULL OR s.desk = $desk
    ORDER BY s.source_id
"""


def source_records(lake: Lake, now: datetime, desk: str | None = None) -> "polars.DataFrame":
    """Return one row for each source that was ever polled, ordered by source_id.

    Columns: source_id, desk, polls (the last ten of the last 30 days, oldest first: polled_at, outcome, new_count),
    interval_s, next_poll_at, new_ratio (new among the entries that the listings of these days had, 0 to 1; None where
    they had none), last_new_at, last_polled_at, last_outcome and last_reason.
    """
    return lake.query(_SOURCES, {"since": now - timedelta(days=POLL_DAYS), "desk": desk})
