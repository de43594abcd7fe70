"""What a story consists of: its articles in order of publication, its publishers with
their delays, what they edited, and what became of it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any, Final

from news_assets.pipeline.stories.statements import ArticleText
from news_assets.records.derived import Story, StoryChange, StoryMember
from news_assets.store.lake import Lake
from news_assets.store.queries.changes import Edit, edits_of
from news_assets.store.transaction import Snapshot

_ARTICLES: Final = """
    SELECT m.article_id, m.desk, m.agency, m.day, r.title, r.url, m.language,
        coalesce(r.published_at, m.first_seen_at) AS published_at, m.first_seen_at, m.is_copy,
        m.score, m.nearest_id, r.image_url IS NOT NULL AS has_image, e.theme_code
    FROM story_members m JOIN raw_articles r
        ON r.article_id = m.article_id AND r.day BETWEEN $first_day AND $last_day
    LEFT JOIN enriched_articles e
        ON e.article_id = m.article_id AND e.day BETWEEN $first_day AND $last_day
    WHERE m.story_id = $story_id ORDER BY published_at, m.article_id
"""
_TEXTS: Final = """
    SELECT article_id, text FROM raw_articles
    WHERE list_contains($ids, article_id) AND day BETWEEN $first_day AND $last_day
"""
_ENRICHED: Final = """
    SELECT article_id, entity_ids, theme_code FROM enriched_articles
    WHERE list_contains($ids, article_id) AND day BETWEEN $first_day AND $last_day
"""
_STORIES_OF: Final = """
    SELECT article_id, story_id FROM story_members
    WHERE list_contains($ids, article_id) AND day BETWEEN $first_day AND $last_day
"""
_MOST_MERGERS: Final = 50  # that an id is followed through
_COMPARED: Final = 12  # publishers whose sentences are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryArticle:
    """An article of a story."""

    article_id: Annotated[str, "id of the article"]
    desk: Annotated[str, "key of the desk"]
    agency: Annotated[str, "key of the agency"]
    day: Annotated[date, "day of publication"]
    title: Annotated[str | None, "headline"]
    url: Annotated[str, "address of the article"]
    language: Annotated[str, "primary language of the text"]
    published_at: Annotated[
        datetime, "time of publication, or of first sight where it states none"
    ]
    first_seen_at: Annotated[datetime, "time of the poll that first listed it"]
    is_copy: Annotated[bool, "it is a copy of another article of the story"]
    score: Annotated[float, "probability of belonging to the story when it joined"]
    nearest_id: Annotated[str | None, "article that it is nearest to"]
    revisions: Annotated[int, "how often its text changed"]
    has_image: Annotated[bool, "whether it has a main image"]
    theme_code: Annotated[str | None, "code of its most specific theme"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryPublisher:
    """A publisher of a story."""

    desk: Annotated[str, "key of the desk"]
    agency: Annotated[str, "key of the agency"]
    article_id: Annotated[str, "its first article"]
    published_at: Annotated[datetime, "time of that article"]
    delay_s: Annotated[float, "seconds after the story's first article"]
    article_count: Annotated[int, "number of its articles"]
    is_copying: Annotated[bool, "all its articles are copies of others"]
    edits: Annotated[int, "how often it changed their texts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryContents:
    """A story with its articles and publishers in order of publication, the edits of
    their texts, and what became of it.
    """

    story: Story
    articles: Sequence[StoryArticle]
    publishers: Sequence[StoryPublisher]
    edits: Sequence[Edit]
    changes: Sequence[StoryChange]
    texts: Sequence[ArticleText]


def story_contents(lake: Lake, story_id: str) -> StoryContents | None:
    """Return a story, or the one that it became part of; None for an unknown id."""
    with lake.latest() as reader:
        found = _present(reader, story_id)
        if found is None:
            return None
        days = {"first_day": found.day, "last_day": found.last_day}
        rows = reader.rows_of(_ARTICLES, {"story_id": found.story_id, **days})
        edits = edits_of(reader, [row["article_id"] for row in rows], **days)
        changes = reader.read(StoryChange, story_id=[found.story_id])
        changes += reader.read(StoryChange, other_id=[found.story_id])
        articles = _articles(rows, edits)
        texts = _texts(reader, articles, days)
    return StoryContents(
        story=found,
        articles=articles,
        publishers=_publishers(articles),
        edits=edits,
        changes=sorted(changes, key=lambda one: (one.changed_at, one.change_id)),
        texts=texts,
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


def _articles(
    rows: Sequence[dict[str, Any]], edits: Sequence[Edit]
) -> list[StoryArticle]:
    edited = [edit.article_id for edit in edits]
    return [
        StoryArticle(**row, revisions=edited.count(row["article_id"])) for row in rows
    ]


def _publishers(articles: Sequence[StoryArticle]) -> list[StoryPublisher]:
    """Return the publishers of articles, which are in order of publication."""
    of_publisher: dict[tuple[str, str], list[StoryArticle]] = {}
    for article in articles:
        key = article.desk, article.agency
        of_publisher.setdefault(key, []).append(article)
    found = []
    for (desk, agency), own in of_publisher.items():
        publisher = StoryPublisher(
            desk=desk,
            agency=agency,
            article_id=own[0].article_id,
            published_at=own[0].published_at,
            delay_s=(own[0].published_at - articles[0].published_at).total_seconds(),
            article_count=len(own),
            is_copying=all(article.is_copy for article in own),
            edits=sum(article.revisions for article in own),
        )
        found.append(publisher)
    return found


def _texts(
    reader: Snapshot, articles: Sequence[StoryArticle], days: dict[str, date]
) -> list[ArticleText]:
    """Return the first article of each of the first publishers, without copies, with
    its text.
    """
    first: dict[str, StoryArticle] = {}
    for article in articles:
        if not article.is_copy:
            first.setdefault(f"{article.desk}/{article.agency}", article)
    chosen = dict(list(first.items())[:_COMPARED])
    ids = [article.article_id for article in chosen.values()]
    texts = {
        row["article_id"]: row["text"]
        for row in reader.rows_of(_TEXTS, {"ids": ids, **days})
    }
    return [
        ArticleText(one.article_id, publisher, one.language, texts[one.article_id])
        for publisher, one in chosen.items()
        if texts.get(one.article_id)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class NearStory:
    """A story about something alike, with names and theme of its most central article."""

    story: Story
    name_ids: Collection[str]
    theme_code: str | None


def near_stories(
    lake: Lake, article_ids: Sequence[str], days: Collection[date], without: str
) -> list[NearStory]:
    """Return the stories of articles of these days in the order of the articles, but one
    story; only those of several articles.
    """
    with lake.latest() as reader:
        by_article = _stories_by_article(reader, article_ids, days)
        stories: dict[str, Story] = {}
        for article_id in article_ids:
            story = by_article.get(article_id)
            if story is not None and story.story_id != without:
                stories[story.story_id] = story
        enriched = _central_articles(reader, list(stories.values()))
    found: list[NearStory] = []
    for story in stories.values():
        name_ids, theme_code = enriched.get(story.article_id, ((), None))
        found.append(NearStory(story=story, name_ids=name_ids, theme_code=theme_code))
    return found


def story_by_article(
    lake: Lake, article_ids: Sequence[str], days: Collection[date]
) -> dict[str, Story]:
    """Return the stories of these articles of some days by article_id; only those of
    several articles.
    """
    with lake.latest() as reader:
        return _stories_by_article(reader, article_ids, days)


def _stories_by_article(
    reader: Snapshot, article_ids: Sequence[str], days: Collection[date]
) -> dict[str, Story]:
    if not article_ids:
        return {}
    given: dict[str, Any] = {"ids": list(article_ids)}
    given |= {"first_day": min(days), "last_day": max(days)}
    rows = reader.rows_of(_STORIES_OF, given)
    of_article = {row["article_id"]: row["story_id"] for row in rows}
    stories = reader.read(Story, story_id=set(of_article.values()))
    several = {one.story_id: one for one in stories if one.article_count > 1}
    return {
        article_id: several[story_id]
        for article_id, story_id in of_article.items()
        if story_id in several
    }


def _central_articles(
    reader: Snapshot, stories: Sequence[Story]
) -> dict[str, tuple[Collection[str], str | None]]:
    """Return names and theme of the most central articles of stories, by article_id."""
    if not stories:
        return {}
    given = {
        "ids": [one.article_id for one in stories],
        "first_day": min(one.day for one in stories),
        "last_day": max(one.last_day for one in stories),
    }
    rows = reader.rows_of(_ENRICHED, given)
    return {
        row["article_id"]: (row["entity_ids"] or (), row["theme_code"]) for row in rows
    }


def story_of_article(lake: Lake, article_id: str, day: date) -> Story | None:
    """Return the story of an article, if it has other articles too."""
    members = lake.frame(
        StoryMember, None, ("story_id",), article_id=[article_id], day=[day]
    )
    if members.is_empty():
        return None
    found = lake.read(Story, story_id=list(members["story_id"]))
    return next((story for story in found if story.article_count > 1), None)
