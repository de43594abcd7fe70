"""Stories of some days, those first that the most publishers tell and that are newest."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any, Final

from news_assets.store.lake import Lake

# twice as many publishers count as much as being published half a day later, so that the
# order does not change while time passes
_DOUBLING_S: Final = 12 * 3600
_RANKED: Final = """
    WITH passing AS (
        SELECT DISTINCT story_id FROM story_members
        WHERE day BETWEEN $first_day AND $last_day
            AND ($desk IS NULL OR desk = $desk)
            AND ($agency IS NULL OR agency = $agency)
            AND ($language IS NULL OR language = $language)
            AND ($ids IS NULL OR list_contains($ids, article_id))
            AND ($theme IS NULL OR article_id IN (
                SELECT article_id FROM enriched_articles
                WHERE day BETWEEN $first_day AND $last_day
                    AND list_contains(theme_path, $theme)))
    ), counted AS (
        SELECT story_id, avg(epoch(first_seen_at)) AS mean_s,
            greatest(1, count(DISTINCT (desk, agency)) FILTER (NOT is_copy))
                AS listed_publisher_count
        FROM story_members SEMI JOIN passing USING (story_id)
        WHERE day BETWEEN $first_day AND $last_day
        GROUP BY story_id HAVING listed_publisher_count >= $publishers
    ), ranked AS (
        SELECT *, log2(listed_publisher_count) + mean_s / $doubling_s AS rank FROM counted
    )
    SELECT story_id, article_id, title, day, last_day, first_seen_at, last_seen_at,
        publisher_count, article_count, publishers, languages, is_closed,
        listed_publisher_count, rank
    FROM ranked JOIN stories USING (story_id)
    WHERE $after_rank IS NULL OR rank < $after_rank
        OR (rank = $after_rank AND story_id > $after_id)
    ORDER BY rank DESC, story_id LIMIT $limit
"""
_THEMES: Final = """
    SELECT story_id, mode(theme_code) AS theme_code,
        any_value(m.language) FILTER (list_contains($central, m.article_id)) AS language
    FROM story_members m LEFT JOIN enriched_articles e
        ON e.article_id = m.article_id AND e.day BETWEEN $first_day AND $last_day
    WHERE m.day BETWEEN $first_day AND $last_day AND list_contains($ids, story_id)
    GROUP BY story_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryItem:
    """A story in a list."""

    story_id: Annotated[str, "id of the story"]
    article_id: Annotated[str, "its most central article, whose headline it has"]
    title: Annotated[str | None, "headline"]
    language: Annotated[str | None, "language of the headline"]
    day: Annotated[date, "day of its first article"]
    last_day: Annotated[date, "day of its last article"]
    first_seen_at: Annotated[datetime, "time when its first article was first seen"]
    last_seen_at: Annotated[datetime, "time when its last article was first seen"]
    publisher_count: Annotated[int, "number of its independent publishers"]
    article_count: Annotated[int, "number of its articles"]
    publishers: Annotated[
        tuple[str, ...], "`desk/agency` of each publisher, in order of first sight"
    ]
    languages: Annotated[tuple[str, ...], "languages of its articles"]
    theme_code: Annotated[str | None, "the most frequent theme of its articles"]
    is_closed: Annotated[bool, "no article has joined it for a week"]
    listed_publisher_count: Annotated[
        int, "number of independent publishers with an article of the listed days"
    ]
    rank: Annotated[
        float, "higher for more publishers and newer articles; lists are ordered by it"
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryFilters:
    """What the stories of a list pass: an article of these days that passes all of the
    filters, and so many independent publishers in these days. None: any. `language` is
    a primary one; `article_ids` are those with some words.
    """

    first_day: date
    last_day: date
    publishers: int = 1
    desk: str | None = None
    agency: str | None = None
    theme: str | None = None
    language: str | None = None
    article_ids: Collection[str] | None = None


def ranked_stories(
    lake: Lake,
    filters: StoryFilters,
    *,
    after: tuple[float, str] | None = None,
    limit: int,
) -> list[StoryItem]:
    """Return stories by rank, the highest first; with `after` those after this rank and
    story_id.
    """
    after_rank, after_id = after or (None, None)
    ids = filters.article_ids
    days = {"first_day": filters.first_day, "last_day": filters.last_day}
    given: dict[str, Any] = days | {
        "publishers": filters.publishers,
        "desk": filters.desk,
        "agency": filters.agency,
        "theme": filters.theme,
        "language": filters.language,
        "ids": None if ids is None else list(ids),
        "doubling_s": _DOUBLING_S,
        "after_rank": after_rank,
        "after_id": after_id,
        "limit": limit,
    }
    with lake.latest() as reader:
        rows = reader.rows_of(_RANKED, given)
        first_days = [filters.first_day, *(row["day"] for row in rows)]
        last_days = [filters.last_day, *(row["last_day"] for row in rows)]
        shown = {
            "ids": [row["story_id"] for row in rows],
            "central": [row["article_id"] for row in rows],
            "first_day": min(first_days),
            "last_day": max(last_days),
        }
        themes = {row["story_id"]: row for row in reader.rows_of(_THEMES, shown)}
    found = []
    for row in rows:
        of_story = themes.get(row["story_id"], {"theme_code": None, "language": None})
        lists = {name: tuple(row[name]) for name in ("publishers", "languages")}
        found.append(StoryItem(**row | of_story | lists))
    return found
