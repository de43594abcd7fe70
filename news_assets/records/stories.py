"""Rows of stories: the articles about one event, and what became of each story."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated

from news_assets.records.content import (
    Agency_,
    ArticleId,
    Day_,
    Desk_,
    Reason,
    RowOutcome,
    stays_when_withdrawn,
)

StoryId = Annotated[
    str, "id of the story, which never changes: day and hash of its first article"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryMember:
    """The story that an article is in, and what it is compared with others by."""

    article_id: ArticleId
    desk: Desk_
    agency: Agency_
    day: Day_
    story_id: StoryId
    first_seen_at: Annotated[datetime, "time of the poll that first listed the article"]
    content_hash: Annotated[str, "content_hash of the article that it was made from"]
    model: Annotated[str, "name of the model of the vector"]
    score: Annotated[
        float, "probability of belonging to the story when it joined; 1 if it began it"
    ]
    nearest_id: Annotated[
        str | None,
        "article_id of the article that it is nearest to; none if it began it",
    ]
    is_copy: Annotated[bool, "it is a copy of another article of the story"]
    language: Annotated[str, "primary language of the text; empty if it is not known"]
    vector: Annotated[bytes, "the unit vector in eight bits a dimension"]
    features: Annotated[
        bytes,
        "codes of its words, names and numbers, and of those that find candidates",
    ]
    placed_at: Annotated[datetime, "time when its story was found"]
    outcome: RowOutcome
    reason: Reason
    trace_id: Annotated[str, "id of the poll that found the entry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The articles about one event, across publishers, desks and languages.

    `article_id` is the most central one, so the row is made again when that is
    withdrawn.
    """

    story_id: StoryId
    article_id: Annotated[str, "the article that is nearest to all others"]
    title: Annotated[str | None, "its headline"]
    day: Annotated[date, "day of the story's first article"]
    last_day: Annotated[date, "day of its last article"]
    first_seen_at: Annotated[datetime, "time when its first article was first seen"]
    last_seen_at: Annotated[datetime, "time when its last article was first seen"]
    article_count: Annotated[int, "number of its articles"]
    publisher_count: Annotated[
        int, "number of publishers with an article that is no copy of another's"
    ]
    publishers: Annotated[
        tuple[str, ...], "`desk/agency` of each publisher, in order of first sight"
    ]
    languages: Annotated[tuple[str, ...], "languages of its articles"]
    is_closed: Annotated[bool, "no article has joined it for a week"]
    updated_at: Annotated[datetime, "time of the last change of the row"]


@stays_when_withdrawn(loses_content=False)
@dataclass(frozen=True, slots=True, kw_only=True)
class StoryChange:
    """What became of a story, beside articles that joined it."""

    change_id: Annotated[str, "hash of the kind, the stories and the article"]
    story_id: StoryId
    kind: Annotated[
        str,
        "merged (it is part of other_id now), split (other_id was part of it), moved (article_id"
        " went to other_id), closed or reopened",
    ]
    other_id: Annotated[str | None, "the other story"]
    article_id: Annotated[str | None, "the article that caused it"]
    day: Annotated[date, "day of that article, or the day after which it is closed"]
    score: Annotated[float | None, "probability that the decision rests on"]
    reason: Annotated[str, "why, in a sentence"]
    changed_at: Annotated[datetime, "time when it was found"]
