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
    name_words,
    names_in,
    shared_names,
    statements_of,
)
from news_assets.records.stories import Story, StoryChange
from news_assets.store.queries.edits import Edit
from news_assets.store.queries.story_contents import (
    NearStory,
    StoryArticle,
    StoryContents,
    StoryPublisher,
    stories_of_articles,
    story_contents,
)
from news_assets.web.archive import Archive
from news_assets.web.parameters import OneStory

_NEAREST: Final = 40  # articles, whose stories are looked at
_SHOWN: Final = 5  # stories about something alike
_THEMES: Final = 4
_SAME_MATTER: Final = 2  # words of names that stories about one matter share


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedValue:
    """A name or theme of a story."""

    value: Annotated[str, "the name, or the code of the theme"]
    count: Annotated[int, "number of publishers with the name, or of articles"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryView:
    """A story with its articles and publishers in order of publication.

    `changes` are what became of it, `shared` and `alone` what several publishers say
    and what only one says. `earlier` stories ended before it and share names with it.
    """

    story: Story
    articles: Sequence[StoryArticle]
    publishers: Sequence[StoryPublisher]
    edits: Sequence[Edit]
    changes: Sequence[StoryChange]
    shared: Sequence[Statement]
    alone: Sequence[Sentence]
    names: Sequence[SharedValue]
    themes: Sequence[SharedValue]
    earlier: Sequence[Story]
    related: Sequence[Story]


def story_view(archive: Archive, one: OneStory) -> StoryView | None:
    """Return a story, or the one that it became part of; None for an unknown one."""
    contents = story_contents(archive.lake, one.story_id)
    if contents is None:
        return None
    statements = statements_of(contents.tellings)
    names = shared_names(contents.tellings)
    near = _near(archive, contents)
    words = name_words(name for name, _ in names)
    earlier = [one.story for one in near if _is_earlier(one, contents.story, words)]
    related = [one.story for one in near if one.story not in earlier]
    return StoryView(
        story=contents.story,
        articles=contents.articles,
        publishers=contents.publishers,
        edits=contents.edits,
        changes=contents.changes,
        shared=statements.shared,
        alone=statements.alone,
        names=[SharedValue(value=name, count=count) for name, count in names],
        themes=_themes(contents.articles),
        earlier=earlier[:_SHOWN],
        related=related[:_SHOWN],
    )


def _near(archive: Archive, contents: StoryContents) -> list[NearStory]:
    hits = archive.near(contents.story.article_id, _NEAREST)
    ids = [hit.article_id for hit in hits]
    days = [hit.day for hit in hits]
    return stories_of_articles(archive.lake, ids, days, contents.story.story_id)


def _is_earlier(near: NearStory, story: Story, words: set[str]) -> bool:
    """Return whether a story is an earlier one of the same matter."""
    if near.story.last_day >= story.day:
        return False
    language = near.story.languages[0] if near.story.languages else ""
    own = name_words(names_in(near.text, language))
    return len(own & words) >= _SAME_MATTER


def _themes(articles: Sequence[StoryArticle]) -> list[SharedValue]:
    counts = Counter(one.theme_code for one in articles if one.theme_code)
    return [
        SharedValue(value=code, count=count)
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
