"""The stories around a day, loaded from the rows of their members."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from news_assets.pipeline.stories.assign import Placed, Stories
from news_assets.pipeline.stories.features import Features
from news_assets.pipeline.stories.packing import (
    pack_features,
    pack_vector,
    unpack_features,
    unpack_vector,
)
from news_assets.pipeline.stories.window import DAYS, Article, Window
from news_assets.ports.services import Reader
from news_assets.records.articles import RawArticle
from news_assets.records.stories import StoryChange, StoryMember

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_COLUMNS = ("article_id", "story_id", "model", "language", "vector", "features")


@dataclass(frozen=True, slots=True)
class Pending:
    """An article to place.

    `content_hash` and `model` are those of its vector, `former` the story that it was
    in until now.
    """

    row: RawArticle
    features: Features
    vector: "Floats"
    content_hash: str
    model: str
    former: str | None = None


class StoriesOfLake:
    """The stories of the members within DAYS of a day, except those of some articles.

    Members whose vector is of another model, or of another length, are not compared.
    """

    def __init__(
        self, reader: Reader, day: date, model: str, dim: int, without: Collection[str]
    ) -> None:
        self._model, self._dim = model, dim
        self.stories = Stories(Window(model, dim))
        self._position_of: dict[str, int] = {}
        for distance in range(-DAYS, DAYS + 1):
            self._load(reader, day + timedelta(days=distance), without)

    def _load(self, reader: Reader, day: date, without: Collection[str]) -> None:
        frame = reader.frame(
            StoryMember, None, _COLUMNS, day=[day], model=[self._model]
        )
        for key, story_id, _, language, vector, features in frame.iter_rows():
            if key in without:
                continue
            unpacked = unpack_vector(vector)
            if len(unpacked) == self._dim:
                codes = unpack_features(language, features)
                self._add(Article(key, day, unpacked, codes), story_id)

    def _add(self, article: Article, story_id: str) -> None:
        self._position_of[article.article_id] = len(self.stories.window.articles)
        self.stories.add(article, story_id)

    def place(
        self, pending: Pending, now: datetime
    ) -> tuple[StoryMember, list[StoryChange]]:
        """Return the row of an article with its story, and what it changed."""
        row = pending.row
        article = Article(row.article_id, row.day, pending.vector, pending.features)
        original = self._position_of.get(row.duplicate_of or "")
        if original is None:
            placed = self._placed(article, self._new_id(pending))
        else:
            placed = Placed(self.stories.story_of[original], 1.0, row.duplicate_of)
            self._add(article, placed.story_id)
        changes = [
            change_of("merged", other, placed.story_id, row, score, now)
            for other, score in placed.merged
        ]
        former = pending.former
        if former and former not in {placed.story_id, *dict(placed.merged)}:
            changes.append(change_of("moved", former, placed.story_id, row, None, now))
        return _member(pending, placed, now), changes

    def _placed(self, article: Article, new_id: str) -> Placed:
        self._position_of[article.article_id] = len(self.stories.window.articles)
        return self.stories.place(article, new_id)

    def _new_id(self, pending: Pending) -> str:
        """Return the id of the story that this article may begin."""
        if pending.former and not self.stories.has(pending.former):
            return pending.former
        first = story_id_of(pending.row.day, pending.row.article_id)
        if not self.stories.has(first):
            return first
        again = f"{pending.row.article_id} {pending.content_hash}"
        return story_id_of(pending.row.day, again)

    def split(self, story_id: str, day: date, now: datetime) -> dict[str, StoryChange]:
        """Split a story whose parts no article links any more; return what became of
        each article that left it.
        """
        moves: dict[str, StoryChange] = {}
        for part in self.stories.split(story_id)[1:]:
            articles = [self.stories.window.articles[position] for position in part]
            first = articles[0]
            new_id = story_id_of(first.day, f"{first.article_id} {story_id}")
            self.stories.move(part, new_id)
            change = StoryChange(
                change_id=_hash("split", story_id, new_id, first.article_id),
                story_id=story_id,
                kind="split",
                other_id=new_id,
                article_id=first.article_id,
                day=day,
                score=None,
                reason=f"no article links {len(part)} of its articles with the others",
                changed_at=now,
            )
            moves |= {article.article_id: change for article in articles}
        return moves


def story_id_of(day: date, first: str) -> str:
    """Return the id of a story that an article of this day begins."""
    return f"{day}-{_hash('story', first)}"


def _hash(*parts: str) -> str:
    text = "\n".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:12]


_REASONS = {
    "merged": "an article belongs to both, and their articles are about one event",
    "moved": "its text changed, or the articles around it",
}


def change_of(
    kind: str,
    story_id: str,
    other_id: str,
    row: RawArticle,
    score: float | None,
    now: datetime,
) -> StoryChange:
    """Return a merger, or the move of an article from a story to another one."""
    return StoryChange(
        change_id=_hash(kind, story_id, other_id, row.article_id),
        story_id=story_id,
        kind=kind,
        other_id=other_id,
        article_id=row.article_id,
        day=row.day,
        score=score,
        reason=_REASONS[kind],
        changed_at=now,
    )


def silence(
    kind: str, story_id: str, day: date, reason: str, now: datetime
) -> StoryChange:
    """Return the change of a story that is closed or reopened."""
    return StoryChange(
        change_id=_hash(kind, story_id, day.isoformat()),
        story_id=story_id,
        kind=kind,
        other_id=None,
        article_id=None,
        day=day,
        score=None,
        reason=reason,
        changed_at=now,
    )


def _member(pending: Pending, placed: Placed, now: datetime) -> StoryMember:
    row = pending.row
    return StoryMember(
        article_id=row.article_id,
        desk=row.desk,
        agency=row.agency,
        day=row.day,
        story_id=placed.story_id,
        first_seen_at=row.first_seen_at,
        content_hash=pending.content_hash,
        model=pending.model,
        score=round(placed.score, 4),
        nearest_id=placed.nearest,
        is_copy=row.duplicate_of is not None,
        language=pending.features.language,
        vector=pack_vector(pending.vector),
        features=pack_features(pending.features),
        placed_at=now,
        outcome="ok",
        reason=None,
        trace_id=row.trace_id,
    )


def ids_of(changes: Sequence[StoryChange]) -> set[str]:
    """Return the stories that these changes are about."""
    found = {change.story_id for change in changes}
    return found | {change.other_id for change in changes if change.other_id}
