"""What the lake holds, counted: rows of each stage by desk and agency. What is missing is judged elsewhere."""

from datetime import date
from typing import TYPE_CHECKING

from news_assets.store.lake import Lake

if TYPE_CHECKING:
    import polars

STAGES = ("entries", "articles", "failed", "copies", "enriched", "embedded", "indexed")

_COUNTS = """
    SELECT desk, agency, count(*) AS entries, 0 AS articles, 0 AS failed, 0 AS copies, 0 AS enriched, 0 AS embedded,
        0 AS indexed, max(day) AS last_day
    FROM entries WHERE day >= $1 AND day <= $2 GROUP BY ALL
UNION ALL BY NAME
    SELECT desk, agency, count(*) FILTER (outcome = 'ok') AS articles, count(*) FILTER (outcome <> 'ok') AS failed,
        count(duplicate_of) AS copies
    FROM raw_articles WHERE day >= $1 AND day <= $2 GROUP BY ALL
UNION ALL BY NAME
    SELECT desk, agency, count(*) AS enriched
    FROM enriched_articles WHERE day >= $1 AND day <= $2 AND outcome = 'ok' GROUP BY ALL
UNION ALL BY NAME
    SELECT desk, agency, count(*) AS embedded
    FROM article_embeddings WHERE day >= $1 AND day <= $2 AND outcome = 'ok' GROUP BY ALL
UNION ALL BY NAME
    SELECT desk, agency, count(*) AS indexed
    FROM indexed_documents WHERE day >= $1 AND day <= $2 AND outcome = 'ok' GROUP BY ALL
"""


def stage_counts(lake: Lake, first_day: date, last_day: date, desk: str | None = None) -> "polars.DataFrame":
    """Return desk, agency, one column per stage and the last day with an entry; ordered by desk and agency."""
    sums = ", ".join(f"coalesce(sum({stage}), 0)::BIGINT AS {stage}" for stage in STAGES)
    return lake.query(
        f"SELECT desk, agency, {sums}, max(last_day) AS last_day FROM ({_COUNTS}) "
        "WHERE $3 IS NULL OR desk = $3 GROUP BY ALL ORDER BY desk, agency",
        [first_day, last_day, desk],
    )
