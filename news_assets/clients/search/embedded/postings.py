"""Postings as they are read: sorted document numbers with weights, or a column with a
weight for every document.

A reader keeps the terms of fresh documents in memory, reads a term's rows of all parts
when it is first looked up, and extends the cached postings with newer documents.
`parts.py` writes postings.
"""

import sqlite3
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from news_assets.clients.search.embedded.duplicate_groups import Bools
from news_assets.clients.search.embedded.posting_parts import (
    ENTRY,
    POSTING,
    Entries,
    entries,
)
from news_assets.clients.search.embedded.terms import Int64s

_CACHE_BYTES = 128 * 2**20
# a term of one in 8 documents is smaller and combined faster as a column
DENSE_FROM = 8

Uint8s = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class ListedPostings:
    """A term of few documents: their numbers in ascending order, with the term's weight
    in each.
    """

    ns: Int64s
    weights: Uint8s

    @property
    def count(self) -> int:
        """The number of documents."""
        return len(self.ns)

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.ns.nbytes + self.weights.nbytes

    def weights_at(self, ns: Int64s, size: int) -> Uint8s:
        """Return the term's weight in each of these documents, 0 without it; numbers
        ascend and are below `size`.
        """
        if not len(self.ns):
            return np.zeros(len(ns), np.uint8)
        if len(ns) * 16 < len(self.ns):
            at = np.minimum(np.searchsorted(self.ns, ns), len(self.ns) - 1)
            found: Uint8s = np.where(self.ns[at] == ns, self.weights[at], np.uint8(0))
            return found
        return self.column(size).take(ns)

    def column(self, size: int) -> Uint8s:
        """Return the term's weight in every document."""
        column = np.zeros(size, np.uint8)
        column[self.ns] = self.weights
        return column

    def ns_within(self, mask: Bools) -> Int64s:
        """Return the documents that pass the mask."""
        return self.ns.take(np.flatnonzero(mask.take(self.ns)))

    def joined(self, ns: Int64s, weights: Uint8s) -> "Postings":
        """Return the postings extended by newer documents."""
        return ListedPostings(
            np.concatenate([self.ns, ns]), np.concatenate([self.weights, weights])
        )


@dataclass(frozen=True, slots=True)
class _ColumnPostings:
    """A term of many documents: its weight by document number. The column may be longer
    or shorter than the index.
    """

    weights: Uint8s
    count: int

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.weights.nbytes

    def weights_at(self, ns: Int64s, size: int) -> Uint8s:
        """Return the term's weight in each of these documents, 0 without it; numbers
        ascend and are below `size`.
        """
        return self.column(size).take(ns)

    def column(self, size: int) -> Uint8s:
        """Return the term's weight in every document."""
        return (
            self.weights[:size]
            if len(self.weights) >= size
            else _lengthened(self.weights, size)
        )

    def ns_within(self, mask: Bools) -> Int64s:
        """Return the documents that pass the mask."""
        return np.flatnonzero(mask & (self.column(len(mask)) > 0))

    def joined(self, ns: Int64s, weights: Uint8s) -> "Postings":
        """Return the postings extended by newer documents, in the same column if they
        fit.
        """
        column = self.weights
        if ns[-1] >= len(column):
            column = _lengthened(column, int(ns[-1]) * 9 // 8 + 1)
        column[ns] = weights
        return _ColumnPostings(column, self.count + len(ns))


Postings = ListedPostings | _ColumnPostings


def _lengthened(column: Uint8s, size: int) -> Uint8s:
    return np.concatenate([column, np.zeros(size - len(column), np.uint8)])


def postings_of(ns: Int64s, weights: Uint8s, size: int) -> Postings:
    """Return postings in the smaller form for an index of `size` documents."""
    listed = ListedPostings(ns, weights)
    return (
        _ColumnPostings(listed.column(size), len(ns))
        if len(ns) * DENSE_FROM > size
        else listed
    )


def union(forms: list[Postings], size: int) -> Postings:
    """Return the documents that have any of several terms, each with its highest
    weight.
    """
    if len(forms) == 1:
        return forms[0]
    weights = np.zeros(size, np.uint8)
    for form in forms:
        if isinstance(form, ListedPostings):
            weights[form.ns] = np.maximum(weights[form.ns], form.weights)
        else:
            np.maximum(weights, form.column(size), out=weights)
    count = int(np.count_nonzero(weights))
    if count * DENSE_FROM > size:
        return _ColumnPostings(weights, count)
    ns = np.flatnonzero(weights)
    return ListedPostings(ns, weights[ns])


@dataclass(slots=True)
class _Cached:
    """A term's postings, and the number of fresh entries that were searched for it."""

    postings: Postings
    fresh_seen: int = 0


@dataclass(slots=True)
class PostingsReader:
    """Looks terms up. Results change only with `refresh`, which reads what was written
    since.
    """

    connection: sqlite3.Connection
    size: int = 1  # one more than the highest document number
    _parts: tuple[tuple[int, int], ...] = ()
    _last_n: int = 0
    _fresh: Entries = field(default_factory=lambda: np.empty(0, ENTRY))
    # column `term` of `_fresh`, contiguous
    _fresh_terms: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    _fresh_count: int = 0
    # least recently used first
    _cache: dict[int, _Cached] = field(default_factory=dict)
    _cache_bytes: int = 0

    def refresh(self, size: int) -> None:
        """Read new parts and fresh documents."""
        self.size = size
        parts = tuple(
            self.connection.execute("SELECT part, first_n FROM parts ORDER BY first_n")
        )
        if parts != self._parts:
            self._parts, self._last_n, self._fresh_count = parts, 0, 0
            self._cache.clear()
            self._cache_bytes = 0
        rows = self.connection.execute(
            "SELECT n, terms FROM fresh WHERE n > ? ORDER BY n", (self._last_n,)
        ).fetchall()
        if rows:
            self._last_n = rows[-1][0]
            self._add_fresh(entries(rows))

    def _add_fresh(self, new: Entries) -> None:
        count = self._fresh_count + len(new)
        if count > len(self._fresh):
            grown = np.empty(2 * count, ENTRY)
            grown[: self._fresh_count] = self._fresh[: self._fresh_count]
            self._fresh, self._fresh_terms = grown, np.ascontiguousarray(grown["term"])
        self._fresh[self._fresh_count : count] = new
        self._fresh_terms[self._fresh_count : count] = new["term"]
        self._fresh_count = count

    def term(self, term: int) -> Postings:
        """Return the postings of one term, which may contain deleted documents."""
        cached = self._cache.pop(term, None)
        if cached is None:
            cached = _Cached(self._read_parts(term))
        else:
            self._cache_bytes -= cached.postings.nbytes
        self._add_new(term, cached)
        self._store(term, cached)
        return cached.postings

    def _add_new(self, term: int, cached: _Cached) -> None:
        at = cached.fresh_seen + np.flatnonzero(
            self._fresh_terms[cached.fresh_seen : self._fresh_count] == term
        )
        cached.fresh_seen = self._fresh_count
        if len(at):
            new = self._fresh[at]
            cached.postings = cached.postings.joined(
                new["n"].astype(np.int64), new["weight"]
            )

    def _read_parts(self, term: int) -> Postings:
        rows = self.connection.execute(
            "SELECT parts.first_n, postings FROM parts CROSS JOIN postings USING (part) WHERE term"
            " = ? ORDER BY parts.first_n",
            (term,),
        ).fetchall()
        postings = np.frombuffer(b"".join(data for _, data in rows), POSTING)
        counts = [len(data) // POSTING.itemsize for _, data in rows]
        firsts = np.repeat(np.array([first for first, _ in rows], np.int64), counts)
        return postings_of(
            firsts + postings["offset"],
            np.ascontiguousarray(postings["weight"]),
            self.size,
        )

    def _store(self, term: int, cached: _Cached) -> None:
        self._cache[term] = cached
        self._cache_bytes += cached.postings.nbytes
        while self._cache_bytes > _CACHE_BYTES and len(self._cache) > 1:
            oldest = self._cache.pop(next(iter(self._cache)))
            self._cache_bytes -= oldest.postings.nbytes
