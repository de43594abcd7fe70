"""Articles by theme in the weeks before a day, by publisher and by weekday."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, Final

from news_assets.pipeline.stories.unusual import ThemeHabits
from news_assets.store.lake import Lake

_WEEKS: Final = 8
_OF_PUBLISHERS: Final = """
    SELECT desk || '/' || agency AS name, theme_path[1] AS theme, count(*) AS articles
    FROM enriched_articles
    WHERE day BETWEEN $first_day AND $before AND outcome = 'ok' AND theme_code IS NOT NULL
    GROUP BY ALL
"""
_OF_DAYS: Final = """
    SELECT day AS name, theme_path[1] AS theme, count(*) AS articles
    FROM enriched_articles
    WHERE day BETWEEN $first_day AND $day AND outcome = 'ok' AND theme_code IS NOT NULL
        AND date_diff('day', day, $day::DATE) % 7 = 0
    GROUP BY ALL
"""


def theme_habits(lake: Lake, day: date) -> ThemeHabits:
    """Return the articles by theme of level 1 in the _WEEKS before a day."""
    first_day = day - timedelta(weeks=_WEEKS)
    before = {"first_day": first_day, "before": day - timedelta(days=1)}
    with lake.latest() as reader:
        publishers = reader.rows_of(_OF_PUBLISHERS, before)
        days = reader.rows_of(_OF_DAYS, {"first_day": first_day, "day": day})
    return ThemeHabits(_by_name(publishers), _by_name(days))


def _by_name(rows: Sequence[dict[str, Any]]) -> dict[Any, dict[str, int]]:
    found: dict[Any, dict[str, int]] = defaultdict(dict)
    for row in rows:
        found[row["name"]][row["theme"]] = row["articles"]
    return dict(found)
