"""Articles to stories, one after the other.

An article joins the story that it belongs to most probably: on average over the
likeliest half of the story's articles, and over three at least. Two stories that an
article belongs to become one where their articles are about one event too, and a story
that has fallen into two is split.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from news_assets.pipeline.stories.features import probabilities
from news_assets.pipeline.stories.packing import Article, Columns
from news_assets.pipeline.stories.window import Window

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Positions = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Probabilities: to join a story, and to make one of two stories."""

    join: float = 0.3
    merge: float = 0.3


THRESHOLDS: Final = Thresholds()
# of a story, the newest in the window: bounds the work for stories of hundreds
_COMPARED = 40
_STORIES = 8  # that an article is compared with in whole
# of a story's articles, the likeliest of which the mean is taken. BCubed F1 on ECB+:
# the likeliest alone .886 with a precision of .90, all .853 and .97, these .891 and .95
_LIKELIEST, _LIKELIEST_SHARE = 3, 0.5


@dataclass(frozen=True, slots=True)
class Placed:
    """What became of an article: its story and how sure that is, the article that it is
    nearest to, and the stories that became part of its own.
    """

    story_id: str
    score: float
    nearest: str | None = None
    merged: tuple[tuple[str, float], ...] = ()


class Stories:
    """The stories of a window's articles."""

    def __init__(self, window: Window, thresholds: Thresholds = THRESHOLDS) -> None:
        self.window = window
        self.story_of: dict[int, str] = {}  # by position
        self._thresholds = thresholds
        self._members: dict[str, list[int]] = {}

    def has(self, story_id: str) -> bool:
        """Return whether a story of this id has articles."""
        return story_id in self._members

    def add(self, article: Article, story_id: str) -> None:
        """Add an article that has a story."""
        self._put(self.window.add(article), story_id)

    def extend(self, articles: Columns, story_ids: Sequence[str]) -> None:
        """Add articles that have stories."""
        first = len(self.window.ids)
        self.window.extend(articles)
        for position, story_id in enumerate(story_ids, first):
            self._put(position, story_id)

    def place(self, article: Article, new_id: str) -> Placed:
        """Find the story of an article and add it; without one it begins `new_id`."""
        found = [
            one for one in self._scores(article) if one[1] >= self._thresholds.join
        ]
        if not found:
            self.add(article, new_id)
            return Placed(new_id, 1.0)
        story_id, score, nearest = found[0]
        merged = tuple(self._merge(story_id, [one for one, _, _ in found[1:]]))
        self.add(article, story_id)
        return Placed(story_id, score, self.window.ids[nearest], merged)

    def remove(self, positions: Collection[int]) -> None:
        """Take articles out."""
        for position in positions:
            self._take(position)
        self.window.remove(positions)

    def _take(self, position: int) -> None:
        story_id = self.story_of.pop(position)
        self._members[story_id].remove(position)
        if not self._members[story_id]:
            del self._members[story_id]

    def split(self, story_id: str) -> list[list[int]]:
        """Return the parts of a story of which no article is about one event with one
        of another part, the largest first; a single article is no part.
        """
        import numpy as np

        members = np.array(self._members.get(story_id, ()), np.intp)
        parts: list[list[int]] = []
        remaining = set(members.tolist())
        while remaining:
            part = self._connected(min(remaining), members)
            remaining -= part
            parts.append(sorted(part))
        parts = [part for part in parts if len(part) > 1]
        return sorted(parts, key=lambda part: (-len(part), part[0]))

    def move(self, positions: Collection[int], story_id: str) -> None:
        """Put articles that have a story into another one."""
        for position in positions:
            self._take(position)
            self._put(position, story_id)

    def _connected(self, start: int, members: "Positions") -> set[int]:
        found = {start}
        waiting = [start]
        while waiting:
            article = self.window.article(waiting.pop())
            near = members[
                self._probabilities(article, members) >= self._thresholds.join
            ]
            new = set(near.tolist()) - found
            found |= new
            waiting += new
        return found

    def _put(self, position: int, story_id: str) -> None:
        self.story_of[position] = story_id
        self._members.setdefault(story_id, []).append(position)

    def _scores(self, article: Article) -> list[tuple[str, float, int]]:
        """Return the likeliest stories of an article, best first: id, mean probability
        and position of the nearest article.
        """
        import numpy as np

        positions = self.window.candidates(article)
        if not len(positions):
            return []
        near = self._probabilities(article, positions)
        nearest: dict[str, int] = {}
        for n in np.argsort(-near, kind="stable"):
            nearest.setdefault(self.story_of[int(positions[n])], int(positions[n]))
        likeliest = list(nearest)[:_STORIES]
        groups = [self._members[story_id][-_COMPARED:] for story_id in likeliest]
        of_all = self._probabilities(article, np.concatenate(groups).astype(np.intp))
        ends = np.cumsum([len(group) for group in groups])[:-1]
        found = [
            (story_id, _linkage(of_group), nearest[story_id])
            for story_id, of_group in zip(
                likeliest, np.split(of_all, ends), strict=True
            )
        ]
        return sorted(found, key=lambda one: (-one[1], one[0]))

    def _probabilities(self, article: Article, positions: "Positions") -> "Floats":
        parts = self.window.parts(article, positions)
        same = self.window.is_same_language(article, positions)
        return probabilities(parts, same)

    def _merge(
        self, story_id: str, others: Sequence[str]
    ) -> Iterator[tuple[str, float]]:
        """Make these stories parts of another where their articles are about one event."""
        import numpy as np

        for other in others:
            members = np.array(self._members[story_id][-_COMPARED:])
            scores = [
                _linkage(self._probabilities(self.window.article(p), members))
                for p in self._members[other][-_COMPARED:]
            ]
            score = sum(scores) / len(scores)
            if score >= self._thresholds.merge:
                for position in self._members.pop(other):
                    self._put(position, story_id)
                yield other, score


def _linkage(probabilities: "Floats") -> float:
    """Return how probably an article belongs to a story, by its probabilities with the
    story's articles.
    """
    import numpy as np

    share = int(np.ceil(_LIKELIEST_SHARE * len(probabilities)))
    likeliest = np.sort(probabilities)[-max(_LIKELIEST, share) :]
    return float(likeliest.mean())
