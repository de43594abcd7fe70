"""The stories around a day, loaded from the rows of their members."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from news_assets.pipeline.stories.assign import Placed, Stories
from news_assets.pipeline.stories.features import Features
from news_assets.pipeline.stories.packing import (
    Article,
    pack_features,
    pack_vector,
    unpack_columns,
    vector_bytes,
)
from news_assets.pipeline.stories.window import DAYS, Window
from news_assets.ports.services import Reader
from news_assets.records.articles import RawArticle
from news_assets.records.derived import StoryChange, StoryMember

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_STATE = ("article_id", "story_id", "content_hash", "day")
_COLUMNS = ("article_id", "story_id", "content_hash", "language", "vector", "features")


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
    It can be loaded again, for another day too: only what changed is read then.
    """

    def __init__(self, model: str, dim: int) -> None:
        self._model, self._dim = model, dim
        self._clear()

    def _clear(self) -> None:
        self.stories = Stories(Window(self._model, self._dim))
        self._position_of: dict[str, int] = {}
        self._states: list[str] = []  # content_hash by position

    def load(self, reader: Reader, day: date, without: Collection[str]) -> None:
        """Bring the stories to the state of a reader."""
        if 2 * len(self._position_of) < len(self._states):
            self._clear()
        days = [day + timedelta(days=n) for n in range(-DAYS, DAYS + 1)]
        frame = reader.frame(StoryMember, None, _STATE, day=days, model=[self._model])
        wanted: set[str] = set()
        missing: dict[date, list[str]] = defaultdict(list)
        for key, story_id, state, of_day in frame.iter_rows():
            if key in without:
                continue
            wanted.add(key)
            if not self._has(key, story_id, state):
                missing[of_day].append(key)
        changed = {key for keys in missing.values() for key in keys}
        self._remove((self._position_of.keys() - wanted) | changed)
        for of_day in sorted(missing):
            self._read(reader, of_day, missing[of_day])

    def _has(self, key: str, story_id: str, state: str) -> bool:
        """Whether an article is there, with this content_hash; it is put into its story."""
        position = self._position_of.get(key)
        if position is None or self._states[position] != state:
            return False
        if self.stories.story_of[position] != story_id:
            self.stories.move([position], story_id)
        return True

    def _remove(self, keys: Collection[str]) -> None:
        gone = [self._position_of.pop(key) for key in keys & self._position_of.keys()]
        if gone:
            self.stories.remove(gone)

    def _read(self, reader: Reader, day: date, keys: Sequence[str]) -> None:
        import numpy as np
        import polars as pl

        frame = reader.frame(StoryMember, None, _COLUMNS, day=[day], article_id=keys)
        size = pl.col("vector").bin.size()
        frame = frame.filter(size == vector_bytes(self._dim))
        if frame.is_empty():
            return
        ids = frame["article_id"].to_list()
        articles = unpack_columns(
            ids=ids,
            days=np.full(len(ids), day.toordinal(), np.int32),
            languages=frame["language"].to_list(),
            vectors=frame["vector"].to_list(),
            features=frame["features"].to_list(),
        )
        self._position_of |= {key: n for n, key in enumerate(ids, len(self._states))}
        self._states += frame["content_hash"].to_list()
        self.stories.extend(articles, frame["story_id"].to_list())

    def expect(self, pending: Sequence[Pending]) -> None:
        """Prepare for articles that are placed next."""
        self.stories.window.compare_soon([_article(one) for one in pending])

    def place(
        self, pending: Pending, now: datetime
    ) -> tuple[StoryMember, list[StoryChange]]:
        """Return the row of an article with its story, and what it changed."""
        row, article = pending.row, _article(pending)
        original = self._position_of.get(row.duplicate_of or "")
        if original is None:
            placed = self.stories.place(article, self._new_id(pending))
        else:
            placed = Placed(self.stories.story_of[original], 1.0, row.duplicate_of)
            self.stories.add(article, placed.story_id)
        self._position_of[row.article_id] = len(self._states)
        self._states.append(pending.content_hash)
        changes = [
            _change_of("merged", other, placed.story_id, row, score, now)
            for other, score in placed.merged
        ]
        former = pending.former
        if former and former not in {placed.story_id, *dict(placed.merged)}:
            changes.append(_change_of("moved", former, placed.story_id, row, None, now))
        return _member(pending, placed, now), changes

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
            ids = [self.stories.window.ids[position] for position in part]
            first = self.stories.window.article(part[0])
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
            moves |= dict.fromkeys(ids, change)
        return moves


def _article(pending: Pending) -> Article:
    row = pending.row
    return Article(row.article_id, row.day, pending.vector, pending.features)


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


def _change_of(
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
