"""Saved queries that send a story once: which of their due hits are sent, which wait for
the story or its publishers, and which another article of the story stands for.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from news_assets.pipeline.alerts.hits import due_at
from news_assets.pipeline.alerts.query_file import SavedQuery
from news_assets.ports.services import Reader
from news_assets.records.alerts import QueryHit
from news_assets.records.derived import Story, StoryMember

# an article has its story within seconds; one without a vector has none
_STORY_WITHIN: Final = timedelta(minutes=15)
_LOOK_AGAIN: Final = timedelta(minutes=5)
_SENT: Final = """
    SELECT DISTINCT query, story_id FROM query_hits JOIN story_members USING (article_id)
    WHERE told_at IS NOT NULL AND list_contains($queries, query)
        AND list_contains($stories, story_id)
"""


@dataclass(frozen=True, slots=True)
class SortedHits:
    """Due hits: `to_send`; `covered`, which are noted as sent without a message; and
    `waiting`, which have a later time. `stories` are those of articles by article_id;
    `by_story` are the names of the queries that send stories.
    """

    by_story: Collection[str]
    to_send: list[QueryHit] = field(default_factory=list)
    covered: list[QueryHit] = field(default_factory=list)
    waiting: list[QueryHit] = field(default_factory=list)
    stories: dict[str, Story] = field(default_factory=dict)


def sort_hits(
    rows: Reader,
    queries: Mapping[str, SavedQuery],
    hits: Sequence[QueryHit],
    now: datetime,
) -> SortedHits:
    """Sort due hits by what becomes of them now."""
    by_story = {name: query for name, query in queries.items() if query.tells_stories}
    ids = {hit.article_id for hit in hits if hit.query in by_story}
    found = SortedHits(by_story, stories=_stories(rows, ids))
    sent = _sent(rows, by_story, found.stories)
    for hit in sorted(hits, key=lambda one: (one.found_at, one.article_id)):
        query = by_story.get(hit.query)
        if query is None:
            found.to_send.append(hit)
        else:
            _sort_by_story(found, query, hit, sent, now)
    return found


def _sort_by_story(
    found: SortedHits,
    query: SavedQuery,
    hit: QueryHit,
    sent: set[tuple[str, str]],
    now: datetime,
) -> None:
    """Add a hit of a query that sends stories; `sent` has the query and story_id of each
    story that was sent, also of one that is sent now.
    """
    story = found.stories.get(hit.article_id)
    key = hit.query, story.story_id if story else ""
    if key in sent or _has_expired(query, story, hit, now):
        found.covered.append(hit)
        return
    later = _later(query, story, hit, now)
    if later is not None:
        found.waiting.append(replace(hit, due_at=later))
        return
    found.to_send.append(hit)
    if story is not None:
        sent.add(key)


def _stories(rows: Reader, article_ids: Collection[str]) -> dict[str, Story]:
    """Return the stories of these articles that have one, by article_id."""
    if not article_ids:
        return {}
    columns = ("article_id", "story_id")
    frame = rows.frame(StoryMember, None, columns, article_id=article_ids)
    of_article = dict(frame.iter_rows())
    stories = {
        story.story_id: story
        for story in rows.read(Story, story_id=set(of_article.values()))
    }
    return {
        article_id: stories[story_id]
        for article_id, story_id in of_article.items()
        if story_id in stories
    }


def _sent(
    rows: Reader, queries: Collection[str], stories: Mapping[str, Story]
) -> set[tuple[str, str]]:
    """Return the query and story_id of each story that was sent for a query."""
    if not stories:
        return set()
    ids = {story.story_id for story in stories.values()}
    given = {"queries": list(queries), "stories": list(ids)}
    return set(rows.query(_SENT, given).iter_rows())


def _has_expired(
    query: SavedQuery, story: Story | None, hit: QueryHit, now: datetime
) -> bool:
    """Return whether a hit has waited in vain for its story to reach the publishers."""
    is_reached = _publishers(story) >= query.publishers
    waited = now - hit.found_at
    return not is_reached and waited > timedelta(hours=query.max_age_hours)


def _later(
    query: SavedQuery, story: Story | None, hit: QueryHit, now: datetime
) -> datetime | None:
    """Return when a hit is looked at again; None if it is sent now."""
    if story is None and now - hit.found_at < _STORY_WITHIN:
        return now + _LOOK_AGAIN
    if _publishers(story) < query.publishers:
        return max(due_at(query, now), now + _LOOK_AGAIN)
    return None


def _publishers(story: Story | None) -> int:
    return story.publisher_count if story else 1
