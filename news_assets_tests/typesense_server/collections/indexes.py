"""Indexes of a collection's fields: words and vectors by document number."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from news_assets_tests.typesense_server.collections.schema import Field

ELEMENT_GAP = 1000  # so that words of different array elements are never adjacent
Floats = NDArray[np.float32]


class TextIndex:
    """An inverted index of words, and the words of each document in order."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.analysis = field.analysis
        self.postings: defaultdict[str, set[int]] = defaultdict(set)
        self.elements: dict[int, list[list[str]]] = {}
        # candidates by token, until the words change
        self.near: dict[tuple[str, bool], dict[str, int]] = {}
        self._sorted: list[str] | None = None

    def add(self, number: int, value: Any) -> None:
        """Index one document's text or texts."""
        texts = value if self.field.is_array else [value]
        elements = [self.analysis.tokens(text) for text in texts]
        self.elements[number] = elements
        postings, known = self.postings, len(self.postings)
        for token in set().union(*elements):
            postings[token].add(number)
        if len(postings) > known:
            self._forget_order()

    def positions(self, number: int, word: str) -> list[int]:
        """Return the positions of a word in a document."""
        return [
            order * ELEMENT_GAP + position
            for order, tokens in enumerate(self.elements[number])
            for position, token in enumerate(tokens)
            if token == word
        ]

    def remove(self, number: int) -> None:
        """Remove a document."""
        for token in {
            token for tokens in self.elements.pop(number, []) for token in tokens
        }:
            self.postings[token].remove(number)
            if not self.postings[token]:
                del self.postings[token]
                self._forget_order()

    def _forget_order(self) -> None:
        self._sorted = None
        self.near.clear()

    def words(self) -> list[str]:
        """Return all words, sorted."""
        if self._sorted is None:
            self._sorted = sorted(self.postings)
        return self._sorted

    def starting_with(self, prefix: str) -> list[str]:
        """Return the words with this prefix."""
        words = self.words()
        start = bisect_left(words, prefix)
        end = bisect_left(words, prefix + "\U0010ffff", start)
        return words[start:end]

    def holding(self, tokens: Iterable[str]) -> set[int]:
        """Return the documents with all these words; none for no words."""
        postings = [self.postings.get(token, set()) for token in tokens]
        return postings[0].intersection(*postings[1:]) if postings else set()


class VectorIndex:
    """Vectors by document number. As in the server, a vector stays when an update
    removes it from its document.
    """

    def __init__(self, field: Field) -> None:
        self.field = field
        self._vectors: dict[int, Floats] = {}
        self._matrix: tuple[NDArray[np.int64], Floats] | None = None

    def add(self, number: int, value: Any) -> None:
        """Add or replace a vector."""
        with np.errstate(over="ignore"):
            vector = np.asarray(value, dtype=np.float32)
        self._vectors[number] = self._unit(vector)
        self._matrix = None

    def remove(self, number: int) -> None:
        """Remove a vector."""
        if self._vectors.pop(number, None) is not None:
            self._matrix = None

    def _unit(self, vector: Floats) -> Floats:
        if self.field.vec_dist == "ip":
            return vector
        with np.errstate(invalid="ignore"):
            return (vector / (np.linalg.norm(vector) + np.float32(1e-30))).astype(
                np.float32
            )

    def nearest(
        self, query: list[float], numbers: set[int] | None, count: int
    ) -> list[tuple[int, float]]:
        """Return the nearest documents with distances, and ties by number.

        Args:
            query: A vector of any length. It is cut or padded with zeros, as a hybrid
                search of the server reads beyond its end.
            numbers: Documents to search; None for all, with stale vectors.
            count: Maximum number of results.
        """
        labels, matrix = self._stacked()
        if not len(labels):
            return []
        fitted = np.zeros(self.field.num_dim, dtype=np.float32)
        fitted[: len(query)] = query[: self.field.num_dim]
        with np.errstate(invalid="ignore"):
            distances = np.maximum(
                np.float32(1) - matrix @ self._unit(fitted), np.float32(0)
            )
        order = np.argsort(distances, kind="stable")
        found = ((int(labels[at]), float(distances[at])) for at in order)
        return [pair for pair in found if numbers is None or pair[0] in numbers][:count]

    def _stacked(self) -> tuple[NDArray[np.int64], Floats]:
        if self._matrix is None:
            labels = np.array(sorted(self._vectors), dtype=np.int64)
            rows = [self._vectors[label] for label in labels]
            self._matrix = (
                labels,
                np.stack(rows)
                if rows
                else np.zeros((0, self.field.num_dim), dtype=np.float32),
            )
        return self._matrix


def index_of(field: Field) -> TextIndex | VectorIndex | None:
    """Return an empty index for the field, or None if it is not indexed."""
    if not field.index:
        return None
    if field.is_text:
        return TextIndex(field)
    return VectorIndex(field) if field.num_dim else None
