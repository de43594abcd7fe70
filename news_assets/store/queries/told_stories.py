"""A story as it was told: its articles in order of publication, and what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from news_assets.records.stories import Story, StoryChange, StoryMember
from news_assets.store.lake import Lake
from news_assets.store.tables import made_of
from news_assets.store.transaction import Snapshot

_ARTICLES = """
WITH revised AS (
    SELECT article_id, count(*) AS revisions FROM article_revisions
    WHERE article_id IN (SELECT article_id FROM story_members WHERE story_id = $story_id)
        AND cause IS DISTINCT FROM 'method'
    GROUP BY article_id
)
SELECT m.article_id, m.desk, m.agency, m.day, r.title, r.url, m.language,
    coalesce(r.published_at, m.first_seen_at) AS told_at, m.first_seen_at, m.is_copy,
    m.score, m.nearest_id, coalesce(revised.revisions, 0) AS revisions
FROM story_members m JOIN raw_articles r USING (article_id)
LEFT JOIN revised USING (article_id)
WHERE m.story_id = $story_id ORDER BY told_at, m.article_id
"""
_MOST_MERGERS = 50  # that an id is followed through


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryArticle:
    """An article of a story.

    `told_at` is its time of publication, or that of first sight where it states none.
    `revisions` is how often its text changed.
    """

    article_id: str
    desk: str
    agency: str
    day: date
    title: str | None
    url: str
    language: str
    told_at: datetime
    first_seen_at: datetime
    is_copy: bool
    score: float
    nearest_id: str | None
    revisions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldStory:
    """A story with its articles in order of publication, and what became of it."""

    story: Story
    articles: Sequence[StoryArticle]
    changes: Sequence[StoryChange]


def told_story(lake: Lake, story_id: str) -> ToldStory | None:
    """Return a story, or the one that it became part of; None for an unknown id."""
    with lake.latest() as reader:
        found = _present(reader, story_id)
        if found is None:
            return None
        frame = reader.query(_ARTICLES, {"story_id": found.story_id})
        articles = made_of(StoryArticle, frame)
        changes = reader.read(StoryChange, story_id=[found.story_id])
        changes += reader.read(StoryChange, other_id=[found.story_id])
    return ToldStory(
        story=found,
        articles=articles,
        changes=sorted(changes, key=lambda one: (one.changed_at, one.change_id)),
    )


def _present(reader: Snapshot, story_id: str) -> Story | None:
    for _ in range(_MOST_MERGERS):
        stories = reader.read(Story, story_id=[story_id])
        if stories:
            return stories[0]
        merged = reader.read(StoryChange, story_id=[story_id], kind=["merged"])
        if not merged:
            return None
        story_id = merged[-1].other_id or story_id
    return None


def story_of_article(lake: Lake, article_id: str, day: date) -> Story | None:
    """Return the story of an article, if it has other articles too."""
    members = lake.frame(
        StoryMember, None, ("story_id",), article_id=[article_id], day=[day]
    )
    if members.is_empty():
        return None
    found = lake.read(Story, story_id=list(members["story_id"]))
    return next((story for story in found if story.article_count > 1), None)
