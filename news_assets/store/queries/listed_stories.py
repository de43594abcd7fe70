"""The days with articles whose story is missing or outdated, over all desks."""

from collections.abc import Collection
from datetime import UTC, date, datetime, timedelta

from news_assets.pipeline.stories.window import DAYS
from news_assets.store.lake import Lake

# A story's articles are counted over all days: of those that lie on both sides of the
# first day only a part is newer.
_DAYS = """
WITH embedded AS (
    SELECT article_id, day, content_hash, model FROM article_embeddings
    WHERE day >= $first_day AND outcome = 'ok' AND list_contains($desks, desk)
), placed AS (
    SELECT article_id, day, content_hash, model FROM story_members
    WHERE day >= $first_day AND list_contains($desks, desk)
), counted AS (
    SELECT story_id, count(*) AS members, max(day) AS last_day FROM story_members
    GROUP BY story_id
)
SELECT day FROM (SELECT day, article_id, content_hash, model FROM embedded
    EXCEPT SELECT day, article_id, content_hash, model FROM placed)
UNION SELECT day FROM placed ANTI JOIN embedded USING (article_id)
UNION SELECT coalesce(counted.last_day, stories.day) AS day
FROM counted FULL JOIN stories USING (story_id)
WHERE stories.article_count IS DISTINCT FROM counted.members
    AND coalesce(counted.last_day, stories.last_day) >= $first_day
UNION SELECT $today::DATE AS day FROM stories WHERE NOT is_closed AND last_day < $silent_since
ORDER BY day
"""


def days_without_stories(
    lake: Lake, desks: Collection[str], first_day: date, now: datetime
) -> list[date]:
    """Return the days from `first_day` on of articles of these desks that have no story,
    or changed since, and of stories that are to be made again or closed.
    """
    today = now.astimezone(UTC).date()
    parameters = {
        "today": today,
        "desks": list(desks),
        "first_day": first_day,
        "silent_since": today - timedelta(days=DAYS),
    }
    return list(lake.query(_DAYS, parameters)["day"])
