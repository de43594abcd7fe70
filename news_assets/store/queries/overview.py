"""Rows of each stage, counted by desk and agency."""

from datetime import date
from typing import TYPE_CHECKING

from news_assets.pipeline import stages
from news_assets.records.reading import WITHDRAWN
from news_assets.store.lake import Lake
from news_assets.store.tables import table_of

if TYPE_CHECKING:
    import polars

_IN_DAYS = "day >= $1 AND day <= $2"


def count_columns() -> tuple[str, ...]:
    """Return the columns with counts: entries, articles, failed, copies, and one for
    each derived stage.
    """
    return (
        "entries",
        "articles",
        "failed",
        "copies",
        *(stage.done for stage in stages.derived_stages()),
    )


def stage_counts(
    lake: Lake, first_day: date, last_day: date, desk: str | None = None
) -> "polars.DataFrame":
    """Return desk, agency, the count columns and the last day with an entry; ordered by
    desk and agency.
    """
    counts = " UNION ALL BY NAME ".join(
        [
            f"""SELECT desk, agency, count(*) AS entries, max(day) AS last_day
                FROM entries WHERE {_IN_DAYS} GROUP BY ALL""",
            f"""SELECT desk, agency, count(*) FILTER (outcome = 'ok') AS articles,
                count(*) FILTER (outcome NOT IN ('ok', '{WITHDRAWN}')) AS failed,
                count(duplicate_of) AS copies
                FROM raw_articles WHERE {_IN_DAYS} GROUP BY ALL""",
            *(
                f"SELECT desk, agency, count(*) AS {stage.done} FROM {table_of(stage.record).name} "
                f"WHERE {_IN_DAYS} AND outcome = 'ok' GROUP BY ALL"
                for stage in stages.derived_stages()
            ),
        ]
    )
    sums = ", ".join(
        f"coalesce(sum({column}), 0)::BIGINT AS {column}" for column in count_columns()
    )
    return lake.query(
        f"SELECT desk, agency, {sums}, max(last_day) AS last_day FROM ({counts}) "
        "WHERE $3 IS NULL OR desk = $3 GROUP BY ALL ORDER BY desk, agency",
        [first_day, last_day, desk],
    )
