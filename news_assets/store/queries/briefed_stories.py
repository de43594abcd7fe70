"""What a briefing quotes of stories: their articles of some days, of each publisher one."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, Final

from news_assets.pipeline.stories.briefing import (
    BriefedStory,
    Briefing,
    Source,
    quotes_of,
)
from news_assets.store.lake import Lake
from news_assets.store.queries.ranked_stories import StoryItem

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
        told = BriefedStory(
            story_id=story.story_id,
            title=story.title or quotes[0].title,
            publisher_count=story.publisher_count,
            article_count=story.article_count,
            quotes=quotes,
        )
        briefed.append(told)
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
