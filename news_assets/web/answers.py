"""What lists and the API answer with, and parts of lists with the cursor of the next part. The
strings of the annotations are the descriptions in the document of the API.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Annotated, Any, Generic, TypeVar

from news_assets.pipeline.enrich.model.evidence import (
    Evidence,
    evidence_of,
    is_outdated,
)
from news_assets.pipeline.source_health import ANSWERS
from news_assets.records.articles import ArticleRevision, RawArticle
from news_assets.records.derived import EnrichedArticle
from news_assets.search import SearchHit, SearchMode
from news_assets.store.queries.copies import Copy, ItemAppearance
from news_assets.store.queries.news_links import NewsLink
from news_assets.store.queries.stored_meetings import AgendaPlace
from news_assets.store.queries.url_history import Event
from news_assets.web.parameters import ListParameters, cursor_of

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Generic[_Item]):
    """A part of a list. `next` is the cursor of the part that follows; none at the end."""

    items: Sequence[_Item]
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HitStory:
    """The story of a hit, with the other hits of it in the same part."""

    story_id: Annotated[str, "id of the story"]
    title: Annotated[str | None, "its headline"]
    publisher_count: Annotated[int, "number of its independent publishers"]
    article_count: Annotated[int, "number of its articles"]
    others: Annotated[Sequence[SearchHit], "hits that are not among the items"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPart:
    """A part of the hits, their total number, and counts by value of each facet.

    `mode` is how they were found: by words also while the model for searches by meaning is
    loaded. `appearances` are the others of the matter of a hit, by its article_id, the newest
    first: a matter of several meetings is one hit, as its item in the next meeting. `stories` are
    those of the hits, by article_id, where each story is wanted once.
    """

    items: Sequence[SearchHit]
    next: str | None
    found: int
    facets: Mapping[str, Mapping[str, int]]
    mode: SearchMode
    appearances: Mapping[str, Sequence[ItemAppearance]] = field(default_factory=dict)
    stories: Mapping[str, HitStory] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleView:
    """An article with everything that is stored about it.

    `copies` are the others with the same or nearly the same text, by time. `revisions`
    are replaced texts, newest first. `similar` are hits by meaning. `place` is the
    agenda item that the article is made of, if it is one. `reports_on` are the matters,
    meetings and laws that an article of news names.
    """

    article: RawArticle
    enriched: EnrichedArticle | None
    revisions: Sequence[ArticleRevision]
    copies: Sequence[Copy]
    events: Sequence[Event]
    similar: Sequence[SearchHit]
    has_page: bool
    place: AgendaPlace | None
    reports_on: Sequence[NewsLink] = ()

    @property
    def publications(self) -> Sequence[Copy]:
        """The copies and the article itself, by time."""
        article = self.article
        itself = Copy(
            article_id=article.article_id,
            desk=article.desk,
            agency=article.agency,
            day=article.day,
            url=article.url,
            published_at=article.published_at or article.first_seen_at,
            reason=article.duplicate_reason,
        )
        return sorted(
            (itself, *self.copies),
            key=lambda copy: (copy.published_at, copy.article_id),
        )

    @property
    def evidence(self) -> Sequence[Evidence]:
        """What in the text supports the sentences of a model's summary and key points."""
        row = self.enriched
        if row is None or is_outdated(row, self.article):
            return []
        return evidence_of(row, self.article.text or "")

    def is_silent(self, revision: ArticleRevision) -> bool:
        """Return whether the publisher replaced this text without stating a time of
        change since.
        """
        stated = self.article.updated_at
        return revision.cause != "method" and (
            stated is None or stated <= revision.fetched_at
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgencyItem:
    """An agency of a desk file."""

    desk: Annotated[str, "key of the desk"]
    agency: Annotated[str, "key of the agency"]
    name: Annotated[str, "name of the agency"]
    timezone: Annotated[str, "IANA time zone of its days"]
    language: Annotated[str, "BCP 47 code"]
    is_active: Annotated[bool, "whether its sources are polled"]
    sources: Annotated[int, "number of its sources"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceItem:
    """A source with its health; values of one that was never polled are none."""

    desk: Annotated[str, "key of the desk"]
    agency: Annotated[str, "key of the agency"]
    name: Annotated[str, "name of the agency"]
    type: Annotated[str | None, "type of the agency"]
    parent: Annotated[str | None, "key of the agency above it"]
    is_active: Annotated[bool, "whether it is polled"]
    reason: Annotated[str | None, "why it is not polled"]
    source_id: Annotated[str, "id of the source"]
    kind: Annotated[str, "kind of source"]
    url: Annotated[str, "address of the source"]
    polls: Annotated[
        Sequence[Mapping[str, Any]],
        "the last polls, newest last: polled_at, outcome, new_count",
    ]
    interval_s: Annotated[float | None, "pause between two polls in seconds"]
    next_poll_at: Annotated[datetime | None, "time of the next poll"]
    new_ratio: Annotated[
        float | None,
        "share of new entries in its listings, 0 to 1; null where meetings are listed",
    ]
    last_new_at: Annotated[datetime | None, "time of the last poll with a new entry"]
    last_reason: Annotated[str | None, "why the last poll failed"]
    silent_for: Annotated[
        str | None, "how long the agency has been silent beyond its habit"
    ]
    habit: Annotated[str | None, "the agency's usual silence"]

    @property
    def is_failing(self) -> bool:
        """Whether it is polled and did not answer the last time."""
        if not self.is_active or not self.polls:
            return False
        return self.polls[-1]["outcome"] not in ANSWERS


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageItem:
    """The articles of an agency on a day."""

    desk: Annotated[str, "key of the desk"]
    agency: Annotated[str, "key of the agency"]
    day: Annotated[date, "day of publication"]
    articles: Annotated[int, "number of articles"]
    failed: Annotated[int, "number of those that failed"]
    behind: Annotated[
        int, "number of articles that wait for a stage, or for the given one"
    ]


_T = TypeVar("_T")


def part_of(found: Sequence[_T], limit: int, cursor: Callable[[_T], str]) -> Part[_T]:
    """Return the first rows as a part; there is one row more if others follow."""
    return Part(
        items=found[:limit],
        next=cursor(found[limit - 1]) if len(found) > limit else None,
    )


def slice_of(items: Sequence[_T], parameters: ListParameters) -> Part[_T]:
    """Return a part of a list that is whole in memory. Raises ParameterError."""
    [begin] = parameters.position(int) or (0,)
    end = begin + parameters.limit
    return Part(
        items=items[begin:end], next=cursor_of(end) if end < len(items) else None
    )
