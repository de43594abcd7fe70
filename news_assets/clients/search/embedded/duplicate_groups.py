"""Groups of duplicate documents, by the original that they name or by equal text
hashes.

The leader of a group is its document with the lowest number.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from news_assets.clients.search.embedded.terms import Int64s

Bools = npt.NDArray[np.bool_]

# keys; merging them into 2,000,000 sorted ones takes 30 ms; a dict of all would take
# 350 MB
_MERGE_AT = 50_000


@dataclass(slots=True)
class _FirstDocuments:
    """The first document of each key: sorted arrays, and a dict of the newest keys."""

    _keys: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    _ns: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    _newest: dict[int, int] = field(default_factory=dict)

    def look_up(self, keys: Int64s) -> Int64s:
        """Return the first document of each of these keys; 0 for a new key."""
        found = np.zeros(len(keys), np.int64)
        if self._newest:
            found[:] = [self._newest.get(key, 0) for key in keys.tolist()]
        if len(self._keys):
            at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            found = np.where(self._keys[at] == keys, self._ns[at], found)
        return found

    def add(self, keys: Int64s, ns: Int64s) -> None:
        """Add keys with their documents, in ascending order; known keys keep their
        document.
        """
        if len(keys) > _MERGE_AT:
            self._merge(keys, ns)
            return
        for key, n in zip(keys.tolist(), ns.tolist(), strict=True):
            self._newest.setdefault(key, n)
        if len(self._newest) > _MERGE_AT:
            self._merge(keys[:0], ns[:0])

    def _merge(self, keys: Int64s, ns: Int64s) -> None:
        newest = np.fromiter(self._newest, np.int64, len(self._newest))
        newest_ns = np.fromiter(self._newest.values(), np.int64, len(self._newest))
        self._newest.clear()
        keys = np.concatenate([self._keys, newest, keys])
        ns = np.concatenate([self._ns, newest_ns, ns])
        # The first of equal keys stays first, which searchsorted finds.
        order = np.argsort(keys, kind="stable")
        self._keys, self._ns = keys[order], ns[order]


@dataclass(slots=True)
class Duplicates:
    """Both arrays are indexed by document number and may be longer than the number of
    documents.
    """

    # the first document of the group
    leader: Int64s = field(default_factory=lambda: np.zeros(1024, np.int64))
    # by leader
    original: Int64s = field(default_factory=lambda: np.zeros(1024, np.int64))
    _first: _FirstDocuments = field(default_factory=_FirstDocuments)

    def add(self, new: npt.NDArray[np.void], is_alive: Bools) -> None:
        """Assign each new document to the group of its original, of the first document
        with its text, or its own.

        Duplicates whose original is not indexed share a group, which the original joins
        once it is added.
        """
        ns = new["n"].astype(np.int64)
        named, own = new["original_key"], new["id_key"]
        originals = np.where(named != 0, named, own)
        texts = new["text_key"].astype(np.int64)
        by_original = self._first_with(originals, ns)
        by_text = np.where(texts != 0, self._first_with(texts, ns), ns)
        parents = np.where(by_original != ns, by_original, by_text)
        self._set_leaders(ns, parents)
        self._first.add(originals, ns)
        self._first.add(texts[texts != 0], ns[texts != 0])
        self._set_originals(ns[originals == own], is_alive)

    def _set_leaders(self, ns: Int64s, parents: Int64s) -> None:
        self.leader[ns] = parents
        while True:
            above = self.leader[parents]
            if np.array_equal(above, parents):
                return
            self.leader[ns] = parents = above  # halves the remaining path each time

    def _first_with(self, keys: Int64s, ns: Int64s) -> Int64s:
        """Return for each document the first one with its key, which may be itself."""
        _, firsts, of_key = np.unique(keys, return_index=True, return_inverse=True)
        known = self._first.look_up(keys[firsts])
        return np.where(known != 0, known, ns[firsts])[of_key]

    def _set_originals(self, ns: Int64s, is_alive: Bools) -> None:
        leaders = self.leader[ns]
        missing = np.flatnonzero(~is_alive[self.original[leaders]])
        missing = missing[::-1]  # the first of several is written last
        self.original[leaders[missing]] = ns[missing]
