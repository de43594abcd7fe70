"""Stories of some days, those first that the most publishers tell and that are newest;
what a briefing quotes of them; themes of the weeks before; and the days whose stories are
missing or outdated.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Final

from news_assets.pipeline.stories.briefing import (
    BriefedStory,
    Briefing,
    Source,
    quotes_of,
)
from news_assets.pipeline.stories.unusual import ThemeHabits
from news_assets.pipeline.stories.window import DAYS
from news_assets.store.lake import Lake
from news_assets.store.transaction import Snapshot

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
            AND ($names IS NULL OR article_id IN (
                SELECT article_id FROM enriched_articles
                WHERE day BETWEEN $first_day AND $last_day
                    AND list_has_any(entity_ids, $names)))
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
    a primary one; `article_ids` are those with some words, `names` the ids of a person,
    body or place.
    """

    first_day: date
    last_day: date
    publishers: int = 1
    desk: str | None = None
    agency: str | None = None
    theme: str | None = None
    language: str | None = None
    article_ids: Collection[str] | None = None
    names: Collection[str] | None = None


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
        "names": None if filters.names is None else list(filters.names),
        "doubling_s": _DOUBLING_S,
        "after_rank": after_rank,
        "after_id": after_id,
        "limit": limit,
    }
    with lake.latest() as reader:
        rows = reader.rows_of(_RANKED, given)
        themes = _themes_of(reader, rows, filters)
    found = []
    for row in rows:
        of_story = themes.get(row["story_id"], {"theme_code": None, "language": None})
        lists = {name: tuple(row[name]) for name in ("publishers", "languages")}
        found.append(StoryItem(**row | of_story | lists))
    return found


def _themes_of(
    reader: Snapshot, rows: Sequence[dict[str, Any]], filters: StoryFilters
) -> dict[str, dict[str, Any]]:
    """Return theme and language of the central articles of stories, by story_id."""
    first_days = [filters.first_day]
    last_days = [filters.last_day]
    for row in rows:
        first_days.append(row["day"])
        last_days.append(row["last_day"])
    central = {
        "ids": [row["story_id"] for row in rows],
        "central": [row["article_id"] for row in rows],
        "first_day": min(first_days),
        "last_day": max(last_days),
    }
    return {row["story_id"]: row for row in reader.rows_of(_THEMES, central)}


_ARTICLES: Final = 5  # of a story, each of another publisher
_TEXT_CHARS: Final = 20_000  # of an article
_QUOTED: Final = """
    SELECT m.story_id, m.article_id, m.desk, m.agency, coalesce(r.title, '') AS title,
        coalesce(nullif(r.canonical_url, ''), r.url) AS url,
        coalesce(r.published_at, m.first_seen_at) AS published_at, m.language,
        left(r.text, $chars) AS text
    FROM story_members m JOIN raw_articles r ON r.article_id = m.article_id AND r.day = m.day
    WHERE m.day BETWEEN $first_day AND $last_day AND list_contains($ids, m.story_id)
        AND NOT m.is_copy AND r.outcome = 'ok' AND r.text IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY m.story_id, m.desk, m.agency
        ORDER BY NOT list_contains($central, m.article_id), m.first_seen_at, m.article_id) = 1
    ORDER BY NOT list_contains($central, m.article_id), m.first_seen_at, m.article_id
"""


def briefing_of(
    lake: Lake,
    stories: Sequence[StoryItem],
    days: tuple[date, date],
    query: str,
    name_of: Callable[[str], str],
) -> Briefing:
    """Return the briefing of these stories in their order, with articles from the first
    to the last of `days`; a story that none of its articles sums up is left out.
    """
    sources = _sources(lake, stories, days)
    briefed = []
    for story in stories:
        quotes = quotes_of(sources[story.story_id][:_ARTICLES], name_of)
        if not quotes:
            continue
        one = BriefedStory(
            story_id=story.story_id,
            title=story.title or quotes[0].title,
            publisher_count=story.publisher_count,
            article_count=story.article_count,
            quotes=quotes,
        )
        briefed.append(one)
    first_day, last_day = days
    return Briefing(
        first_day=first_day, last_day=last_day, query=query, stories=briefed
    )


def _sources(
    lake: Lake, stories: Sequence[StoryItem], days: tuple[date, date]
) -> dict[str, list[Source]]:
    """Return the articles of each story: its most central one, and then in the order of
    first sight.
    """
    given: dict[str, Any] = {
        "ids": [story.story_id for story in stories],
        "central": [story.article_id for story in stories],
        "first_day": days[0],
        "last_day": days[1],
        "chars": _TEXT_CHARS,
    }
    found: dict[str, list[Source]] = defaultdict(list)
    for row in lake.query(_QUOTED, given).iter_rows(named=True):
        found[row.pop("story_id")].append(Source(**row))
    return found


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


# A story's articles are counted from the first day of all stories with newer ones: of
# those that lie on both sides of $first_day only a part is newer. `is_closed = false` lets
# DuckLake skip files; NOT does not.
_EARLIEST = "SELECT min(day) FROM stories WHERE last_day >= $first_day"
_DAYS = """
WITH embedded AS (
    SELECT article_id, day, content_hash, model FROM article_embeddings
    WHERE day >= $first_day AND outcome = 'ok' AND list_contains($desks, desk)
), placed AS (
    SELECT article_id, day, content_hash, model FROM story_members
    WHERE day >= $first_day AND list_contains($desks, desk)
), counted AS (
    SELECT story_id, count(*) AS members, max(day) AS last_day FROM story_members
    WHERE day >= $earliest GROUP BY story_id
), stored AS (
    SELECT story_id, article_count, day, last_day FROM stories
    WHERE last_day >= $first_day
)
SELECT day FROM (SELECT day, article_id, content_hash, model FROM embedded
    EXCEPT SELECT day, article_id, content_hash, model FROM placed)
UNION SELECT day FROM placed ANTI JOIN embedded USING (article_id)
UNION SELECT coalesce(counted.last_day, stored.day) AS day
FROM counted FULL JOIN stored USING (story_id)
WHERE stored.article_count IS DISTINCT FROM counted.members
    AND coalesce(counted.last_day, stored.last_day) >= $first_day
UNION SELECT $today::DATE AS day FROM stories
WHERE is_closed = false AND last_day < $silent_since
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
    with lake.latest() as reader:
        earliest = reader.query(_EARLIEST, {"first_day": first_day}).item() or first_day
        parameters["earliest"] = min(first_day, earliest)
        return list(reader.query(_DAYS, parameters)["day"])
