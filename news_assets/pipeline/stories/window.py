"""The articles of the days around, with what they are compared by, and the candidates
for a story among them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final

from news_assets.pipeline.stories.features import CODES, Features
from news_assets.pipeline.stories.score import Parts, above_unrelated

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Positions = NDArray[np.intp]
    Floats = NDArray[np.float32]
    Bools = NDArray[np.bool_]
    Codes = NDArray[np.uint32]

DAYS: Final = 7  # between two articles that are compared
_NEAREST = 40  # candidates by vector
_SHARING = 20  # candidates by shared names, numbers and words of the title
# a key in more articles of the window than this finds no candidates
_RARE = 200
# added to the articles of the window, so that no word is common in a young archive
_PRIOR = 500


@dataclass(frozen=True, slots=True)
class Article:
    """An article to compare. `vector` has unit length."""

    article_id: str
    day: date
    vector: "Floats"
    features: Features


class _Codes:
    """The codes of one kind of many articles, and how rare each code is."""

    def __init__(self) -> None:
        import numpy as np

        self.of: list[Codes] = []
        self.articles = np.zeros(CODES, np.int32)  # that have a code

    def add(self, codes: "Codes") -> None:
        self.of.append(codes)
        self.articles[codes] += 1

    def remove(self, position: int) -> None:
        self.articles[self.of[position]] -= 1

    def idf(self, codes: "Codes") -> "Floats":
        """Return the weight of each code."""
        import numpy as np

        total = len(self.of) + _PRIOR
        return np.log(total / (self.articles[codes] + 0.5)).astype(np.float32)


class Window:
    """Articles by position, in the order in which they were added."""

    def __init__(self, model: str, dim: int) -> None:
        import numpy as np

        self.model = model
        self.articles: list[Article] = []
        self._vectors = np.zeros((64, dim), np.float32)
        self._days = np.zeros(64, np.int32)
        self._is_present = np.zeros(64, bool)
        self._words, self._names, self._numbers, self._keys = (
            _Codes() for _ in range(4)
        )
        self._weights = np.zeros(CODES, np.float32)  # of the article that is compared
        self._is_wanted = np.zeros(CODES, bool)  # a key: a table that a cache holds
        self._keys_flat = np.zeros(1024, np.uint32)
        self._owners = np.zeros(1024, np.int32)
        self._key_count = 0

    def add(self, article: Article) -> int:
        """Add an article and return its position."""
        position = len(self.articles)
        if position == len(self._days):
            self._grow()
        self.articles.append(article)
        self._vectors[position] = article.vector
        self._days[position] = article.day.toordinal()
        self._is_present[position] = True
        features = article.features
        self._words.add(features.words)
        self._names.add(features.names)
        self._numbers.add(features.numbers)
        self._keys.add(features.keys)
        self._add_keys(features.keys, position)
        return position

    def remove(self, position: int) -> None:
        """Leave an article out of all that follows."""
        self._is_present[position] = False
        for codes in (self._words, self._names, self._numbers, self._keys):
            codes.remove(position)

    def candidates(self, article: Article) -> "Positions":
        """Return the positions of the articles that this one is compared with."""
        import numpy as np

        count = len(self.articles)
        apart = np.abs(self._days[:count] - article.day.toordinal())
        is_near = self._is_present[:count] & (apart <= DAYS)
        cosines = np.where(is_near, self._vectors[:count] @ article.vector, -2)
        shared = np.where(is_near, self._shared_keys(article.features.keys), 0)
        found = np.concatenate(
            [_largest(cosines, _NEAREST), _largest(shared, _SHARING)]
        )
        return np.unique(found[is_near[found]])

    def parts(self, article: Article, positions: "Positions") -> Parts:
        """Return what an article has in common with each of these."""
        import numpy as np

        features = article.features
        cosines = self._vectors[positions] @ article.vector
        days = np.abs(self._days[positions] - article.day.toordinal())
        return Parts(
            vector=above_unrelated(cosines, self.model),
            words=self._word_cosines(features, positions),
            names=self._cosines(self._names, features.names, positions),
            numbers=self._cosines(self._numbers, features.numbers, positions),
            days=(days / DAYS).astype(np.float32),
        )

    def is_same_language(self, article: Article, positions: "Positions") -> "Bools":
        """Return whether each of these is in the language of an article."""
        import numpy as np

        language = article.features.language
        return np.array(
            [self.articles[p].features.language == language for p in positions], bool
        )

    def _grow(self) -> None:
        import numpy as np

        more = len(self._days)
        self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
        self._days = np.concatenate([self._days, np.zeros(more, np.int32)])
        self._is_present = np.concatenate([self._is_present, np.zeros(more, bool)])

    def _add_keys(self, keys: "Codes", position: int) -> None:
        import numpy as np

        end = self._key_count + len(keys)
        while end > len(self._keys_flat):
            self._keys_flat = np.concatenate([self._keys_flat, self._keys_flat])
            self._owners = np.concatenate([self._owners, self._owners])
        self._keys_flat[self._key_count : end] = keys
        self._owners[self._key_count : end] = position
        self._key_count = end

    def _shared_keys(self, keys: "Codes") -> "Floats":
        """Return the sum of the weights of the rare keys that each article shares."""
        import numpy as np

        count = len(self.articles)
        rare = keys[self._keys.articles[keys] <= _RARE]
        self._is_wanted[rare] = True
        flat = self._keys_flat[: self._key_count]
        hits = np.flatnonzero(self._is_wanted[flat])
        self._is_wanted[rare] = False
        weights = self._keys.idf(flat[hits])
        shared = np.bincount(self._owners[hits], weights, minlength=count)
        return shared.astype(np.float32)

    def _word_cosines(self, features: Features, positions: "Positions") -> "Floats":
        counts = [self.articles[p].features.counts for p in positions]
        return self._cosines(
            self._words, features.words, positions, features.counts, counts
        )

    def _cosines(
        self,
        kind: _Codes,
        codes: "Codes",
        positions: "Positions",
        own_counts: "Codes | None" = None,
        their_counts: "Sequence[Codes] | None" = None,
    ) -> "Floats":
        """Return the cosine of an article's codes with those of each of these."""
        import numpy as np

        theirs = [kind.of[p] for p in positions]
        if not theirs or not len(codes):
            return np.zeros(len(positions), np.float32)
        weights = _weighted(kind.idf(codes), own_counts)
        flat = np.concatenate(theirs)
        flat_counts = None if their_counts is None else np.concatenate(their_counts)
        flat_weights = _weighted(kind.idf(flat), flat_counts)
        owners = np.repeat(np.arange(len(theirs)), [len(one) for one in theirs])
        self._weights[codes] = weights
        products = flat_weights * self._weights[flat]
        self._weights[codes] = 0
        dots = np.bincount(owners, products, minlength=len(theirs))
        squares = np.bincount(owners, flat_weights**2, minlength=len(theirs))
        lengths = np.sqrt(squares * float(weights @ weights))
        return (dots / np.maximum(lengths, 1e-6)).astype(np.float32)  # type: ignore[no-any-return]  # numpy types it Any


def _weighted(idf: "Floats", counts: "Codes | None") -> "Floats":
    import numpy as np

    if counts is None:
        return idf
    return (idf * (1 + np.log(counts))).astype(np.float32)  # type: ignore[no-any-return]  # numpy types it Any


def _largest(values: "Floats", count: int) -> "Positions":
    """Return the positions of the largest positive values."""
    import numpy as np

    if len(values) > count:
        found = np.argpartition(values, -count)[-count:]
    else:
        found = np.arange(len(values))
    return found[values[found] > 0]
