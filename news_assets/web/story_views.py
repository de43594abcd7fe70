"""What the page of a story shows: its articles and publishers, what they all say and what
only one says, what happened in order, and stories about something alike.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

from news_assets.pipeline.stories.statements import (
    Sentence,
    Statement,
    statements_of,
)
from news_assets.records.derived import Story, StoryChange
from news_assets.store.queries.edits import Edit
from news_assets.store.queries.names import NameFilters, NameItem, listed_names
from news_assets.store.queries.story_contents import (
    NearStory,
    StoryArticle,
    StoryContents,
    StoryPublisher,
    near_stories,
    story_contents,
)
from news_assets.web.archive import Archive
from news_assets.web.parameters import OneStory

_NEAREST: Final = 40  # articles, whose stories are looked at
_SHOWN: Final = 5  # stories about something alike
_THEMES: Final = 4
_NAMES: Final = 12
_SAME_MATTER: Final = 2  # names that stories about one matter share


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedTheme:
    """A theme of a story."""

    theme_code: Annotated[str, "code of the theme"]
    articles: Annotated[int, "number of the story's articles with it"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryView:
    """A story with its articles and publishers in order of publication.

    `changes` are what became of it, `shared` and `alone` what several publishers say
    and what only one says; `names` are those that several publishers name, if there are
    several. `earlier` stories ended before it and share names with it.
    """

    story: Story
    articles: Sequence[StoryArticle]
    publishers: Sequence[StoryPublisher]
    edits: Sequence[Edit]
    changes: Sequence[StoryChange]
    shared: Sequence[Statement]
    alone: Sequence[Sentence]
    names: Sequence[NameItem]
    themes: Sequence[CountedTheme]
    earlier: Sequence[Story]
    related: Sequence[Story]


def story_view(archive: Archive, one: OneStory) -> StoryView | None:
    """Return a story, or the one that it became part of; None for an unknown one."""
    contents = story_contents(archive.lake, one.story_id)
    if contents is None:
        return None
    statements = statements_of(contents.texts)
    names = _names(archive, contents)
    near = _near(archive, contents)
    name_ids = {one.name_id for one in names}
    earlier = [one.story for one in near if _is_earlier(one, contents.story, name_ids)]
    related = [one.story for one in near if one.story not in earlier]
    return StoryView(
        story=contents.story,
        articles=contents.articles,
        publishers=contents.publishers,
        edits=contents.edits,
        changes=contents.changes,
        shared=statements.shared,
        alone=statements.alone,
        names=names[:_NAMES],
        themes=_themes(contents.articles),
        earlier=earlier[:_SHOWN],
        related=related[:_SHOWN],
    )


def _near(archive: Archive, contents: StoryContents) -> list[NearStory]:
    hits = archive.near(contents.story.article_id, _NEAREST)
    ids = [hit.article_id for hit in hits]
    days = [hit.day for hit in hits]
    return near_stories(archive.lake, ids, days, contents.story.story_id)


def _names(archive: Archive, contents: StoryContents) -> list[NameItem]:
    """Return the names that the most publishers have; without those of one alone, if
    there are several.
    """
    filters = NameFilters(
        first_day=contents.story.day,
        last_day=contents.story.last_day,
        article_ids=[one.article_id for one in contents.articles],
    )
    listed = listed_names(archive.lake, filters, archive.known_names)
    fewest = min(2, contents.story.publisher_count)
    found = [one for one in listed if one.publishers >= fewest]
    return sorted(found, key=lambda one: (-one.publishers, one.name_id))


def _is_earlier(near: NearStory, story: Story, name_ids: set[str]) -> bool:
    """Return whether a story is an earlier one of the same matter."""
    if near.story.last_day >= story.day:
        return False
    return len(name_ids.intersection(near.name_ids)) >= _SAME_MATTER


def _themes(articles: Sequence[StoryArticle]) -> list[CountedTheme]:
    counts = Counter(one.theme_code for one in articles if one.theme_code)
    return [
        CountedTheme(theme_code=code, articles=count)
        for code, count in counts.most_common(_THEMES)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryEvent:
    """An event of a story; of article, edit and change it has one."""

    at: datetime
    article: StoryArticle | None = None
    edit: Edit | None = None
    change: StoryChange | None = None


def events_of_story(view: StoryView) -> list[StoryEvent]:
    """Return articles, edits and what became of the story in the order of time."""
    events = [StoryEvent(at=one.published_at, article=one) for one in view.articles]
    events += [StoryEvent(at=one.replaced_at, edit=one) for one in view.edits]
    events += [StoryEvent(at=one.changed_at, change=one) for one in view.changes]
    return sorted(events, key=lambda one: one.at)
