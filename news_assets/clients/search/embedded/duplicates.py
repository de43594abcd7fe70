"""Which documents are duplicates of each other, as groups: each is led by the first of it that came.

Keys of documents enter, in the order of their numbers; leaders and originals leave. How texts are compared does not
belong here.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from news_assets.clients.search.embedded.terms import Int64s

Bools = npt.NDArray[np.bool_]

_MERGED_AT = 50_000  # keys; merging them into 2,000,000 sorted ones takes 30 ms, as a dict they would take 350 MB


@dataclass(slots=True)
class _FirstOf:
    """Of each key the document that had it first; sorted arrays, and a dict of the newest."""

    _keys: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    _ns: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    _newest: dict[int, int] = field(default_factory=dict)

    def look_up(self, keys: Int64s) -> Int64s:
        """Return the documents that had these keys first; 0 for a key that is new."""
        found = np.zeros(len(keys), np.int64)
        if self._newest:
            found[:] = [self._newest.get(key, 0) for key in keys.tolist()]
        if len(self._keys):
            at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            found = np.where(self._keys[at] == keys, self._ns[at], found)
        return found

    def add(self, keys: Int64s, ns: Int64s) -> None:
        """Take over keys, of which those that are known keep their document; `ns` ascend."""
        if len(keys) > _MERGED_AT:
            self._merge(keys, ns)
            return
        for key, n in zip(keys.tolist(), ns.tolist(), strict=True):
            self._newest.setdefault(key, n)
        if len(self._newest) > _MERGED_AT:
            self._merge(keys[:0], ns[:0])

    def _merge(self, keys: Int64s, ns: Int64s) -> None:
        newest = np.fromiter(self._newest, np.int64, len(self._newest))
        newest_ns = np.fromiter(self._newest.values(), np.int64, len(self._newest))
        self._newest.clear()
        keys, ns = np.concatenate([self._keys, newest, keys]), np.concatenate([self._ns, newest_ns, ns])
        order = np.argsort(keys, kind="stable")  # the first of several with one key stays first, and is found
        self._keys, self._ns = keys[order], ns[order]


@dataclass(slots=True)
class Duplicates:
    """Groups of duplicates; both arrays are indexed by document number and may be longer than there are documents."""

    leader: Int64s = field(default_factory=lambda: np.zeros(1024, np.int64))  # the first document of the group
    original: Int64s = field(default_factory=lambda: np.zeros(1024, np.int64))  # by leader: the one that is none
    _first_of: _FirstOf = field(default_factory=_FirstOf)

    def add(self, new: npt.NDArray[np.void], is_alive: Bools) -> None:
        """Settle each new document's group: its original's, else that of the first with its text, else its own.

        Duplicates whose original is not here share a group as well, and the original joins it when it comes.
        """
        ns = new["n"].astype(np.int64)
        originals = np.where(new["original_key"] != 0, new["original_key"], new["id_key"])
        texts = new["text_key"].astype(np.int64)
        by_original, by_text = self._first_with(originals, ns), self._first_with(texts, ns)
        parents = np.where(by_original != ns, by_original, np.where(texts != 0, by_text, ns))
        self._set_leaders(ns, parents)
        self._first_of.add(originals, ns)
        self._first_of.add(texts[texts != 0], ns[texts != 0])
        self._set_originals(ns[originals == new["id_key"]], is_alive)

    def _set_leaders(self, ns: Int64s, parents: Int64s) -> None:
        self.leader[ns] = parents
        while not np.array_equal(above := self.leader[parents], parents):  # each time twice as far up
            self.leader[ns] = parents = above

    def _first_with(self, keys: Int64s, ns: Int64s) -> Int64s:
        """Return for each document the first with its key, which may be itself."""
        _, firsts, of_key = np.unique(keys, return_index=True, return_inverse=True)
        known = self._first_of.look_up(keys[firsts])
        return np.where(known != 0, known, ns[firsts])[of_key]

    def _set_originals(self, ns: Int64s, is_alive: Bools) -> None:
        leaders = self.leader[ns]
        wanted = np.flatnonzero(~is_alive[self.original[leaders]])[::-1]  # backwards: of several, the first one stays
        self.original[leaders[wanted]] = ns[wanted]
