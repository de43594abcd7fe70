"""The articles of the days around, with what they are compared by, and the candidates
for a story among them.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from news_assets.pipeline.stories.features import (
    CODES,
    Features,
    Parts,
    above_unrelated,
    shared_of,
)
from news_assets.pipeline.stories.packing import (
    COUNT_BITS,
    Article,
    Columns,
    Kinds,
    bare,
    codes_of,
    columns_of,
    counts_of,
    features_from,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Positions = NDArray[np.intp]
    Floats = NDArray[np.float32]
    Bools = NDArray[np.bool_]
    Codes = NDArray[np.uint32]
    Array = NDArray[Any]

DAYS: Final = 7  # between two articles that are compared
_NEAREST = 40  # candidates by vector
_SHARING = 20  # candidates by shared names, numbers and words of the title
# a key in more articles of the window than this finds no candidates
_RARE = 200
# added to the articles of the window, so that no word is common in a young archive
_PRIOR = 500
# vectors that are multiplied at a time: as numbers of four bytes they stay in the cache
_BLOCK = 512
# share and stems of a text's rest that says what it is about: a copy has less of its own
_REST, _REST_WORDS = 0.15, 3
_UNSORTED = 100_000  # keys that are looked through one by one
_FEW = 50_000  # codes that are counted one by one: all counts take 3 ms


class _Column:
    """An array that grows at its end."""

    def __init__(self, kind: type, *shape: int) -> None:
        import numpy as np

        self._room: Array = np.zeros((64, *shape), kind)
        self._size = 0

    @property
    def values(self) -> "Array":
        """The array as it is now."""
        return self._room[: self._size]

    def extend(self, values: "Array") -> None:
        """Add these values."""
        import numpy as np

        size = self._size + len(values)
        if size > len(self._room):
            room = np.zeros((size + size // 4, *self._room.shape[1:]), self._room.dtype)
            room[: self._size] = self.values
            self._room = room
        self._room[self._size : size] = values
        self._size = size


class _Codes:
    """The codes of one kind of many articles, and how rare each code is."""

    def __init__(self) -> None:
        import numpy as np

        self.total = 0  # articles
        self.articles = np.zeros(CODES, np.int32)  # that have a code
        self.flat = _Column(np.uint32)
        self._ends = _Column(np.int64)
        self._lengths = _Column(np.int32)
        self._weights = np.zeros(CODES, np.float32)  # of the article that is compared

    def extend(self, codes: "Codes", lengths: "Array") -> None:
        """Add the codes of articles, each with its number of codes."""
        self._count(codes, 1, len(lengths))
        self._ends.extend(len(self.flat.values) + lengths.cumsum())
        self._lengths.extend(lengths)
        self.flat.extend(codes)

    def remove(self, positions: "Positions") -> None:
        """Count the codes of these articles no longer."""
        self._count(self.of(positions)[0], -1, -len(positions))

    def _count(self, codes: "Codes", step: int, articles: int) -> None:
        import numpy as np

        found = bare(codes)
        if len(found) < _FEW:
            np.add.at(self.articles, found, step)
        else:
            self.articles += step * np.bincount(found, minlength=CODES)
        self.total += articles

    def of(self, positions: "Positions") -> "tuple[Codes, Positions]":
        """Return the codes of these articles, and the index in `positions` of each one's
        article.
        """
        import numpy as np

        lengths = self._lengths.values[positions]
        starts = self._ends.values[positions] - lengths
        owners = np.repeat(np.arange(len(positions)), lengths)
        first = lengths.cumsum() - lengths
        at = np.arange(len(owners)) + (starts - first)[owners]
        return self.flat.values[at], owners

    def owners(self, at: "Positions") -> "Positions":
        """Return the positions of the articles that these codes of `flat` are of."""
        return self._ends.values.searchsorted(at, "right")

    def every_owner(self) -> "NDArray[np.uint32]":
        """Return the positions of the articles that the codes of `flat` are of."""
        import numpy as np

        lengths = self._lengths.values
        return np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)

    def idf(self, codes: "Codes") -> "Floats":
        """Return the weight of each code."""
        import numpy as np

        total = self.total + _PRIOR
        return np.log(total / (self.articles[codes] + np.float32(0.5)))

    def cosines(
        self,
        codes: "Codes",
        positions: "Positions",
        without: "tuple[Codes, Codes] | None" = None,
    ) -> "Floats":
        """Return the cosine of an article's codes with those of each of these, all
        `without` some codes and their counts.
        """
        import numpy as np

        theirs, owners = self.of(positions)
        if without is not None:
            codes, _ = _reduced(codes, *without)
            theirs, is_left = _reduced(theirs, *without)
            owners = owners[is_left]
        if not len(theirs) or not len(codes):
            return np.zeros(len(positions), np.float32)
        own_weights = self._weighted(codes)
        weights = self._weighted(theirs)
        own = bare(codes)
        self._weights[own] = own_weights
        products = weights * self._weights[bare(theirs)]
        self._weights[own] = 0
        dots = np.bincount(owners, products, minlength=len(positions))
        squares = np.bincount(owners, weights**2, minlength=len(positions))
        lengths = np.sqrt(squares * float(own_weights @ own_weights))
        return (dots / np.maximum(lengths, 1e-6)).astype(np.float32)  # type: ignore[no-any-return]  # numpy types it Any

    def _weighted(self, codes: "Codes") -> "Floats":
        import numpy as np

        idf = self.idf(bare(codes))
        counts = np.maximum(counts_of(codes), 1).astype(np.float32)
        return idf * (1 + np.log(counts))  # type: ignore[no-any-return]  # numpy types it Any


def _reduced(codes: "Codes", gone: "Codes", counts: "Codes") -> "tuple[Codes, Bools]":
    """Return codes less those in `gone`, of words as often as `counts`; and which of
    them are left.
    """
    import numpy as np

    if not len(gone):
        return codes, np.ones(len(codes), bool)
    at = np.minimum(gone.searchsorted(bare(codes)), len(gone) - 1)
    less = np.where(gone[at] == bare(codes), counts[at], 0)
    counted = np.maximum(counts_of(codes), 1)
    is_left = counted > less
    left = bare(codes) | ((counted - less) << np.uint32(COUNT_BITS))
    return left[is_left].astype(np.uint32), is_left


class _Postings:
    """Finds the articles that share keys: those of most by a sorted list of keys and
    articles, those of the newest one by one.
    """

    def __init__(self, keys: _Codes) -> None:
        import numpy as np

        self._keys = keys
        self._sorted = np.zeros(
            0, np.uint64
        )  # key in the upper half, article in the other
        self._is_wanted = np.zeros(CODES, bool)

    def find(self, keys: "Codes") -> "tuple[Codes, Positions]":
        """Return the keys that articles share, once for each article."""
        import numpy as np

        flat = self._keys.flat.values
        if len(flat) - len(self._sorted) > _UNSORTED:
            self._sort(flat)
        upper = keys.astype(np.uint64) << np.uint64(32)
        first = self._sorted.searchsorted(upper)
        last = self._sorted.searchsorted(upper + np.uint64(1 << 32))
        found = [
            self._sorted[start:end] for start, end in zip(first, last, strict=True)
        ]
        pairs = np.concatenate([*found, self._among_newest(keys, flat)])
        lower = np.uint64(0xFFFFFFFF)
        return (pairs >> np.uint64(32)).astype(np.uint32), (pairs & lower).astype(
            np.intp
        )

    def _among_newest(self, keys: "Codes", flat: "Codes") -> "NDArray[np.uint64]":
        import numpy as np

        self._is_wanted[keys] = True
        start = len(self._sorted)
        at = np.flatnonzero(self._is_wanted[flat[start:]]) + start
        self._is_wanted[keys] = False
        return self._pairs(flat[at], self._keys.owners(at))

    def _sort(self, flat: "Codes") -> None:
        import numpy as np

        self._sorted = np.zeros(0, np.uint64)
        pairs = self._pairs(flat, self._keys.every_owner())
        pairs.sort()
        self._sorted = pairs

    @staticmethod
    def _pairs(keys: "Codes", owners: "Array") -> "NDArray[np.uint64]":
        import numpy as np

        pairs = keys.astype(np.uint64)
        pairs <<= np.uint64(32)
        pairs |= owners.astype(np.uint64)
        return pairs


class Window:
    """Articles by position, in the order in which they were added."""

    def __init__(self, model: str, dim: int) -> None:
        import numpy as np

        self.model = model
        self.ids: list[str] = []
        self._steps = _Column(np.int8, dim)
        self._scales = _Column(np.float32)
        self._days = _Column(np.int32)
        self._is_present = _Column(bool)
        self._languages = _Column(np.int32)
        self._language_codes: dict[str, int] = {}
        self._kinds = [_Codes() for _ in Kinds._fields]
        self._words, self._names, self._numbers, self._keys, self._sentences = (
            self._kinds
        )
        self._postings = _Postings(self._keys)
        self._known: dict[str, Floats] = {}

    def add(self, article: Article) -> int:
        """Add an article and return its position."""
        self.extend(columns_of(article))
        return len(self.ids) - 1

    def extend(self, articles: Columns) -> None:
        """Add articles."""
        import numpy as np

        self.ids += articles.ids
        self._steps.extend(articles.steps)
        self._scales.extend(articles.scales)
        self._days.extend(articles.days)
        self._is_present.extend(np.ones(len(articles.ids), bool))
        languages = [self._language_code(one) for one in articles.languages]
        self._languages.extend(np.array(languages, np.int32))
        for kind, codes, lengths in zip(
            self._kinds, articles.codes, articles.lengths, strict=True
        ):
            kind.extend(codes, lengths)

    def _language_code(self, language: str) -> int:
        return self._language_codes.setdefault(language, len(self._language_codes))

    def remove(self, positions: Collection[int]) -> None:
        """Leave articles out of all that follows."""
        import numpy as np

        gone = np.array(list(positions), np.intp)
        self._is_present.values[gone] = False
        for kind in self._kinds:
            kind.remove(gone)

    def article(self, position: int) -> Article:
        """Return the article at a position."""
        import numpy as np

        at = np.array([position])
        languages = list(self._language_codes)
        codes = Kinds(*(kind.of(at)[0] for kind in self._kinds))
        return Article(
            self.ids[position],
            date.fromordinal(int(self._days.values[position])),
            self._steps.values[position] * self._scales.values[position],
            features_from(languages[self._languages.values[position]], codes),
        )

    def compare_soon(self, articles: Sequence[Article]) -> None:
        """Compute the cosines of these articles with all that are there, at once."""
        import numpy as np

        vectors = np.stack([one.vector for one in articles])
        cosines = np.ascontiguousarray(self._products(vectors.T, 0).T)
        ids = [one.article_id for one in articles]
        self._known = dict(zip(ids, cosines, strict=True))

    def candidates(self, article: Article) -> "Positions":
        """Return the positions of the articles that this one is compared with."""
        import numpy as np

        apart = np.abs(self._days.values - article.day.toordinal())
        is_near = self._is_present.values & (apart <= DAYS)
        cosines = np.where(is_near, self._cosines(article), -2)
        shared = np.where(is_near, self._shared_keys(article.features.keys), 0)
        found = np.concatenate(
            [_largest(cosines, _NEAREST), _largest(shared, _SHARING)]
        )
        return np.unique(found[is_near[found]])

    def _cosines(self, article: Article) -> "Floats":
        import numpy as np

        known = self._known.pop(article.article_id, None)
        if known is None:
            return self._products(article.vector, 0)
        return np.concatenate([known, self._products(article.vector, len(known))])

    def _products(self, vectors: "Floats", start: int) -> "Floats":
        """Return the cosines of a vector, or of several in columns, with the vectors
        from a position on.
        """
        import numpy as np

        steps = self._steps.values[start:]
        scales = self._scales.values[start:]
        found = np.empty((len(steps), *vectors.shape[1:]), np.float32)
        for at in range(0, len(steps), _BLOCK):
            block = slice(at, at + _BLOCK)
            np.dot(steps[block].astype(np.float32), vectors, out=found[block])
        return (found.T * scales).T

    def parts(self, article: Article, positions: "Positions") -> Parts:
        """Return what an article has in common with each of these."""
        import numpy as np

        codes = codes_of(article.features)
        cosines = self._steps.values[positions].astype(np.float32) @ article.vector
        cosines *= self._scales.values[positions]
        days = np.abs(self._days.values[positions] - article.day.toordinal())
        parts = Parts(
            vector=above_unrelated(cosines, self.model),
            words=self._words.cosines(codes.words, positions),
            names=self._names.cosines(codes.names, positions),
            numbers=self._numbers.cosines(codes.numbers, positions),
            days=(days / DAYS).astype(np.float32),
        )
        self._leave_out_shared(parts, article.features, positions)
        return parts

    def _leave_out_shared(
        self, parts: Parts, features: Features, positions: "Positions"
    ) -> None:
        """Compare articles that share sentences by the rest of their texts, unless one
        has hardly any.
        """
        import numpy as np

        codes = codes_of(features)
        own_length = counts_of(codes.words).sum()
        for sentences, sharing in self._sharing(features, positions):
            shared = shared_of(features, sentences)
            lengths = np.minimum(self._word_counts(positions[sharing]), own_length)
            words = lengths - shared.counts.sum()
            rest = words / np.maximum(lengths, 1)
            has_rest = (rest >= _REST) & (words >= _REST_WORDS)
            judged = sharing[has_rest]
            at = positions[judged]
            parts.vector[judged] *= rest[has_rest]
            of_words = shared.words, shared.counts
            parts.words[judged] = self._words.cosines(codes.words, at, of_words)
            of_names = shared.names, np.ones_like(shared.names)
            parts.names[judged] = self._names.cosines(codes.names, at, of_names)
            of_numbers = shared.numbers, np.ones_like(shared.numbers)
            parts.numbers[judged] = self._numbers.cosines(codes.numbers, at, of_numbers)

    def _word_counts(self, positions: "Positions") -> "Positions":
        import numpy as np

        words, owners = self._words.of(positions)
        found = np.bincount(owners, counts_of(words), minlength=len(positions))
        return found.astype(np.intp)

    def _sharing(
        self, features: Features, positions: "Positions"
    ) -> "list[tuple[frozenset[int], Positions]]":
        """Return sentences that articles share with an article, and which these are."""
        import numpy as np

        if not features.sentences:
            return []
        theirs, owners = self._sentences.of(positions)
        is_shared = np.isin(theirs, list(features.sentences))
        shared: dict[int, set[int]] = defaultdict(set)
        for owner, code in zip(
            owners[is_shared].tolist(), theirs[is_shared].tolist(), strict=True
        ):
            shared[owner].add(code)
        groups: dict[frozenset[int], list[int]] = defaultdict(list)
        for owner, codes in shared.items():
            groups[frozenset(codes)].append(owner)
        return [(codes, np.array(group)) for codes, group in groups.items()]

    def is_same_language(self, article: Article, positions: "Positions") -> "Bools":
        """Return whether each of these is in the language of an article."""
        language = self._language_code(article.features.language)
        return self._languages.values[positions] == language  # type: ignore[no-any-return]  # numpy types it Any

    def _shared_keys(self, keys: "Codes") -> "Floats":
        """Return the sum of the weights of the rare keys that each article shares."""
        import numpy as np

        rare = keys[self._keys.articles[keys] <= _RARE]
        found, owners = self._postings.find(rare)
        weights = self._keys.idf(found)
        shared = np.bincount(owners, weights, minlength=len(self.ids))
        return shared.astype(np.float32)


def _largest(values: "Floats", count: int) -> "Positions":
    """Return the positions of the largest positive values."""
    import numpy as np

    found = np.flatnonzero(values > 0)
    if len(found) <= count:
        return found
    return found[np.argpartition(values[found], -count)[-count:]]
