"""The `facts` records and entities of all documents in memory, as numbers: filters,
facets, recency, and groups of duplicates.

A column is indexed by the document's number `n`; deleted documents stay as gaps
(`is_alive` False). Documents are duplicates by the original that they name or by equal
text hashes; the leader of a group is its document with the lowest number.
"""

import json
import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from news_assets.clients.search.embedded.search_file import (
    CODED_FACETS,
    FACTS,
    NAMED_FACETS,
    Arrays,
    saved_arrays,
    without_surrogates,
)
from news_assets.clients.search.embedded.terms import Int64s
from news_assets.clients.search.index_texts import MAX_NAMES, most_first, time_counts
from news_assets.ports.search_index import FACETS, SearchQuery, values_of

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
            newest = [self._newest.get(key, 0) for key in keys.tolist()]
            found[:] = newest
        if not len(self._keys):
            return found
        last = len(self._keys) - 1
        places = np.searchsorted(self._keys, keys)
        at = np.minimum(places, last)
        known = np.where(self._keys[at] == keys, self._ns[at], 0)
        return np.where(known != 0, known, found)

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

    def forget(self, is_gone: Bools) -> None:
        """Forget the keys of documents, of a mask by number."""
        self._ns[is_gone.take(self._ns)] = 0
        gone = [key for key, n in self._newest.items() if is_gone[n]]
        for key in gone:
            del self._newest[key]

    def arrays(self) -> Arrays:
        """Return all keys and their documents, to be saved."""
        self._merge(self._keys[:0], self._ns[:0])
        return {"first_keys": [self._keys], "first_ns": [self._ns]}

    def take(self, found: Arrays) -> None:
        """Take saved arrays."""
        self._keys = found["first_keys"][0]
        self._ns = found["first_ns"][0]

    def _merge(self, keys: Int64s, ns: Int64s) -> None:
        count = len(self._newest)
        newest = np.fromiter(self._newest, np.int64, count)
        newest_ns = np.fromiter(self._newest.values(), np.int64, count)
        self._newest.clear()
        is_kept = self._ns != 0
        keys = np.concatenate([self._keys[is_kept], newest, keys])
        ns = np.concatenate([self._ns[is_kept], newest_ns, ns])
        # The first of equal keys stays first, which searchsorted finds.
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._ns = ns[order]


@dataclass(slots=True)
class Duplicates:
    """Groups of duplicates: the leader of each document, which is the first document of
    its group, and the original of each leader.

    The arrays are indexed by document number and may be longer than the number of
    documents. `has_copies`: the group has, or had, another document.
    """

    leader: Int64s = field(default_factory=lambda: np.zeros(1024, np.int64))
    original: Int64s = field(default_factory=lambda: np.zeros(1024, np.int64))
    has_copies: Bools = field(default_factory=lambda: np.zeros(1024, np.bool_))
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
        self._set_leaders(ns, self._parents(ns, originals, texts))
        is_copy = self.leader[ns] != ns
        copies = ns[is_copy]
        self.has_copies[copies] = True
        self.has_copies[self.leader[copies]] = True
        has_text = texts != 0
        self._first.add(originals, ns)
        self._first.add(texts[has_text], ns[has_text])
        is_original = originals == own
        self._set_originals(ns[is_original], is_alive)

    def _parents(self, ns: Int64s, originals: Int64s, texts: Int64s) -> Int64s:
        """Return the first document with the original of each of these, else with its
        text; itself if there is none.
        """
        by_original = self._first_with(originals, ns)
        by_text = self._first_with(texts, ns)
        by_text = np.where(texts != 0, by_text, ns)
        return np.where(by_original != ns, by_original, by_text)

    def remove(self, ns: Int64s, is_alive: Bools) -> Int64s:
        """Dissolve the groups of deleted documents; return the others of these groups,
        which are to be added again.

        A key of these groups that a document of another group has as well is forgotten
        with them, so that a later document may not join that one until the arrays are
        made again.
        """
        is_leader = np.zeros(len(self.leader), np.bool_)
        is_leader[self.leader[ns]] = True
        is_member = is_leader.take(self.leader)
        members = np.flatnonzero(is_member)
        self.leader[members] = members
        self.original[members] = 0
        self.has_copies[members] = False
        self._first.forget(is_member)
        return members[is_alive[members]]

    def arrays(self) -> Arrays:
        """Return all groups, to be saved."""
        return {
            "leader": [self.leader],
            "original": [self.original],
            "has_copies": [self.has_copies],
            **self._first.arrays(),
        }

    def take(self, found: Arrays) -> None:
        """Take saved arrays."""
        self.leader = found["leader"][0]
        self.original = found["original"][0]
        self.has_copies = found["has_copies"][0]
        self._first.take(found)

    def grow(self, capacity: int) -> None:
        """Make room for documents with numbers below `capacity`."""
        self.leader = _grown(self.leader, capacity)
        self.original = _grown(self.original, capacity)
        self.has_copies = _grown(self.has_copies, capacity)

    def _set_leaders(self, ns: Int64s, parents: Int64s) -> None:
        self.leader[ns] = parents
        while True:
            above = self.leader[parents]
            if np.array_equal(above, parents):
                return
            self.leader[ns] = parents = above  # halves the remaining path each time

    def _first_with(self, keys: Int64s, ns: Int64s) -> Int64s:
        """Return for each document the first one with its key, which may be itself."""
        distinct, firsts, of_key = np.unique(
            keys, return_index=True, return_inverse=True
        )
        known = self._first.look_up(distinct)
        first = np.where(known != 0, known, ns[firsts])
        return first[of_key]

    def _set_originals(self, ns: Int64s, is_alive: Bools) -> None:
        leaders = self.leader[ns]
        has_original = is_alive[self.original[leaders]]
        missing = np.flatnonzero(~has_original)
        missing = missing[::-1]  # the first of several is written last
        of_group = leaders[missing]
        self.original[of_group] = ns[missing]


# --- the table ------------------------------------------------------------------------


_Scalar = TypeVar("_Scalar", bound=np.generic)

# between the codes of a theme path, which is stored as one value
PATH_SEPARATOR = "\x1f"

CODE = np.dtype("<u4")  # of a name, as a document's `entities` are packed
# facets whose values are in the table `names`
NAMES = ("entity", *NAMED_FACETS)
# those whose values are in `codes`
_CODED = ("desk", "agency", "language", *CODED_FACETS)
# filters by the whole value of such a facet
_FILTERS = ("desk", "agency", *CODED_FACETS)
_COLUMNS = (*_CODED, *NAMED_FACETS, "theme", "day", "length", "published")
_EPOCH = date(1970, 1, 1).toordinal()  # of NumPy's days
_BATCH_ROWS = 250_000
_DENSE_FROM = 2  # entities of one in as many documents are found by a mask
_GROWTH = 1.25  # capacity of a grown column by its size


def _columns(size: int) -> dict[str, npt.NDArray[Any]]:
    columns = {}
    for name in _COLUMNS:
        columns[name] = np.zeros(size, FACTS[name])
    return columns


@dataclass(slots=True)
class _Growing:
    """An array that is appended to."""

    _room: npt.NDArray[Any]
    size: int = 0

    def append(self, values: npt.NDArray[Any]) -> None:
        """Append values."""
        end = self.size + len(values)
        if end > len(self._room):
            self._room = _grown(self._room, int(end * _GROWTH))
        self._room[self.size : end] = values
        self.size = end

    @property
    def values(self) -> npt.NDArray[Any]:
        """All values."""
        return self._room[: self.size]


@dataclass(slots=True)
class _Entities:
    """The codes of all documents' entities, in the order of the documents, and the
    position where the codes of each document end.
    """

    _codes: _Growing = field(default_factory=lambda: _Growing(np.zeros(1024, CODE)))
    _ends: _Growing = field(
        default_factory=lambda: _Growing(np.zeros(1024, np.int64), 1)
    )

    def add(self, ns: Int64s, packed: Sequence[bytes]) -> None:
        """Add the entities of new documents, in ascending order."""
        known = self._ends.size
        size = int(ns[-1]) + 1
        counts = np.zeros(size - known, np.int64)
        counts[ns - known] = [len(codes) // CODE.itemsize for codes in packed]
        ends = self._codes.size + np.cumsum(counts)
        codes = np.frombuffer(b"".join(packed), CODE)
        self._ends.append(ends)
        self._codes.append(codes)

    def arrays(self) -> Arrays:
        """Return all codes and ends, to be saved."""
        return {"entities": [self._codes.values], "entity_ends": [self._ends.values]}

    def take(self, found: Arrays) -> None:
        """Take saved arrays."""
        codes, ends = found["entities"][0], found["entity_ends"][0]
        self._codes = _Growing(codes, len(codes))
        self._ends = _Growing(ends, len(ends))

    def of(self, ns: Int64s) -> npt.NDArray[np.uint32]:
        """Return the codes of these documents' entities; documents ascend."""
        ends = self._ends.values
        if len(ns) * _DENSE_FROM > len(ends):
            return self._of_many(ns)
        firsts = ends.take(ns - 1)
        counts = self.counts(ns)
        offsets = np.repeat(firsts - (np.cumsum(counts) - counts), counts)
        codes: npt.NDArray[np.uint32] = self._codes.values.take(
            offsets + np.arange(len(offsets))
        )
        return codes

    def _of_many(self, ns: Int64s) -> npt.NDArray[np.uint32]:
        """Return the same for most documents, in half of the time."""
        ends = self._ends.values
        is_wanted = np.zeros(len(ends), np.bool_)
        is_wanted[ns] = True
        of_wanted = np.repeat(is_wanted[1:], np.diff(ends))
        codes: npt.NDArray[np.uint32] = self._codes.values[of_wanted]
        return codes

    def counts(self, ns: Int64s) -> Int64s:
        """Return how many entities each of these documents has."""
        ends = self._ends.values
        counts: Int64s = ends.take(ns) - ends.take(ns - 1)
        return counts

    def mask(self, code: int, size: int) -> Bools:
        """Return a mask, by document number, of the documents with this entity."""
        places = np.flatnonzero(self._codes.values == code)
        ns = np.searchsorted(self._ends.values, places, side="right")
        mask = np.zeros(size, np.bool_)
        mask[ns] = True
        return mask


@dataclass(slots=True)
class DocumentTable:
    """Facts of every document; `refresh` reads what was written since the last time.
    `maps_saved`: the first one maps the saved arrays.
    """

    connection: sqlite3.Connection
    maps_saved: bool = True
    size: int = 1  # one more than the highest number; numbers start at 1
    count: int = 0
    columns: dict[str, npt.NDArray[Any]] = field(default_factory=lambda: _columns(1))
    is_alive: Bools = field(default_factory=lambda: np.zeros(1, np.bool_))
    duplicates: Duplicates = field(default_factory=Duplicates)
    entities: _Entities = field(default_factory=_Entities)
    # kind and value, by code
    values: list[tuple[str, str]] = field(default_factory=lambda: [("", "")])
    _kinds: set[str] = field(default_factory=set)
    _codes: dict[tuple[str, str], int] = field(default_factory=dict)
    # `columns` are views of these longer arrays
    _capacity: dict[str, npt.NDArray[Any]] = field(
        default_factory=lambda: _columns(1024)
    )
    _capacity_alive: Bools = field(default_factory=lambda: np.zeros(1024, np.bool_))
    _length_sum: int = 0
    _last_deletion: int = 0

    def refresh(self) -> None:
        """Read new documents, codes and deletions."""
        if self.maps_saved:
            self.maps_saved = False
            self._map_saved()
        self._read_codes()
        self._read_deletions()
        cursor = self.connection.execute(
            "SELECT facts, entities FROM documents WHERE n >= ? ORDER BY n",
            (self.size,),
        )
        while rows := cursor.fetchmany(_BATCH_ROWS):
            facts, entities = zip(*rows, strict=True)
            self._add(np.frombuffer(b"".join(facts), FACTS), entities)
        # Postings of a part keep the numbers of deleted documents.
        find = "SELECT coalesce(max(last_n), 0) FROM parts"
        (last,) = self.connection.execute(find).fetchone()
        self._grow(max(self.size, last + 1))

    def arrays(self) -> Arrays:
        """Return all facts, to be saved."""
        numbers = (self.size, self.count, self._length_sum, self._last_deletion)
        found: dict[str, Sequence[npt.NDArray[Any]]] = {
            name: [column] for name, column in self._capacity.items()
        }
        found["numbers"] = [np.array(numbers, np.int64)]
        found["is_alive"] = [self._capacity_alive]
        return {**found, **self.entities.arrays(), **self.duplicates.arrays()}

    def _map_saved(self) -> None:
        found = saved_arrays(self.connection, tuple(self.arrays()))
        if found is None:
            return
        numbers = found["numbers"][0].tolist()
        size, self.count, self._length_sum, self._last_deletion = numbers
        self._capacity = {name: found[name][0] for name in self._capacity}
        self._capacity_alive = found["is_alive"][0]
        self.entities.take(found)
        self.duplicates.take(found)
        self._grow(size)

    def _read_codes(self) -> None:
        find = "SELECT code, kind, value FROM codes WHERE code >= ? ORDER BY code"
        for code, kind, value in self.connection.execute(find, (len(self.values),)):
            self.values.append((kind, value))
            self._kinds.add(kind)
            self._codes[kind, value] = code

    def _read_deletions(self) -> None:
        deletions = self.connection.execute(
            "SELECT deletion, n FROM deleted WHERE deletion > ? ORDER BY deletion",
            (self._last_deletion,),
        ).fetchall()
        if not deletions:
            return
        self._last_deletion = deletions[-1][0]
        known = [n for _, n in deletions if n < self.size]
        self._remove(np.array(known, np.int64))

    def _remove(self, ns: Int64s) -> None:
        alive = ns[self.is_alive[ns]]
        ns = np.unique(alive)
        lengths = self.columns["length"][ns]
        self.is_alive[ns] = False
        self.count -= len(ns)
        self._length_sum -= int(lengths.sum(dtype=np.int64))
        if len(ns):
            self._add_again(self.duplicates.remove(ns, self.is_alive))

    def _add_again(self, ns: Int64s) -> None:
        """Assign documents to their groups as if they were new."""
        listed = json.dumps(ns.tolist())
        find = "SELECT facts FROM documents WHERE n IN (SELECT value FROM json_each(?)) ORDER BY n"
        facts = [packed for (packed,) in self.connection.execute(find, (listed,))]
        if facts:
            self.duplicates.add(np.frombuffer(b"".join(facts), FACTS), self.is_alive)

    def _add(self, new: npt.NDArray[np.void], entities: Sequence[bytes]) -> None:
        ns = new["n"].astype(np.int64)
        last = int(ns[-1])
        self.entities.add(ns, entities)
        self._grow(last + 1)
        for name, column in self.columns.items():
            column[ns] = new[name]
        self.is_alive[ns] = True
        self.count += len(ns)
        lengths = new["length"]
        self._length_sum += int(lengths.sum(dtype=np.int64))
        self.duplicates.add(new, self.is_alive)

    def _grow(self, size: int) -> None:
        if size > len(self._capacity_alive):
            self._grow_capacity(int(size * _GROWTH))
        self.size = size
        self.is_alive = self._capacity_alive[:size]
        for name, column in self._capacity.items():
            self.columns[name] = column[:size]

    def _grow_capacity(self, capacity: int) -> None:
        for name, column in self._capacity.items():
            self._capacity[name] = _grown(column, capacity)
        self._capacity_alive = _grown(self._capacity_alive, capacity)
        self.duplicates.grow(capacity)

    def languages(self) -> list[str]:
        """Return the languages of the documents, as they state them."""
        found = []
        for kind, value in self.values:
            if kind == "language" and value:
                found.append(value)
        return found

    def in_languages(self, wanted: Collection[str]) -> Bools:
        """Return a mask of the documents that state one of these languages; empty for
        those without one.
        """
        return self._has_code(
            "language", lambda value: value in wanted, has_none="" in wanted
        )

    def average_length(self) -> float:
        """Return the average number of words of a document; 1 for an empty index."""
        if not self.count:
            return 1.0
        return self._length_sum / self.count

    def matching(self, query: SearchQuery) -> Bools:
        """Return a mask, by document number, of the documents that pass the query's
        filters.
        """
        mask: Bools = self.is_alive.copy()
        for kind in (*_FILTERS, *NAMED_FACETS):
            wanted = getattr(query, kind)
            if wanted is not None:
                codes = [self._code(kind, one) for one in values_of(wanted)]
                mask &= np.isin(self.columns[kind], codes)
        if query.entity is not None:
            code = self._name_code("entity", query.entity)
            mask &= self.entities.mask(code, self.size)
        if query.language is not None:
            mask &= self._of_language(query.language)
        if query.theme is not None:
            mask &= self._of_theme(values_of(query.theme))
        return mask & self.of_days(query.from_day, query.to_day)

    def _of_language(self, wanted: str) -> Bools:
        def is_wanted(value: str) -> bool:
            return _is_language(value.lower(), wanted.lower())

        return self._has_code("language", is_wanted)

    def _of_theme(self, wanted: Collection[str]) -> Bools:
        themes = frozenset(wanted)

        def is_wanted(path: str) -> bool:
            return not themes.isdisjoint(path.split(PATH_SEPARATOR))

        return self._has_code("theme", is_wanted)

    def of_days(self, first: date | None, last: date | None) -> Bools:
        """Return a mask of the documents of these days, inclusive; None is open."""
        days = self.columns["day"]
        mask = np.ones(self.size, np.bool_)
        if first is not None:
            mask &= days >= first.toordinal()
        if last is not None:
            mask &= days <= last.toordinal()
        return mask

    def _has_code(
        self, kind: str, is_wanted: Callable[[str], bool], *, has_none: bool = False
    ) -> Bools:
        """Return a mask of the documents with a value that is wanted, or without any."""
        wanted = np.zeros(len(self.values), np.bool_)
        for code, (known, value) in enumerate(self.values):
            if known == kind:
                wanted[code] = is_wanted(value)
        wanted[0] = has_none
        found: Bools = wanted.take(self.columns[kind])
        return found

    def _code(self, kind: str, value: str) -> int:
        """Return the code of a value of a facet; -1 for an unknown one."""
        if kind in NAMED_FACETS:
            return self._name_code(kind, value)
        return self._codes.get((kind, value), -1)

    def _name_code(self, kind: str, value: str) -> int:
        """Return the code of a name; -1 for an unknown one."""
        find = "SELECT code FROM names WHERE kind = ? AND value = ?"
        found = self.connection.execute(find, (kind, without_surrogates(value)))
        row = found.fetchone()
        if row is None:
            return -1
        return int(row[0])

    def facets(self, ns: Int64s) -> dict[str, dict[str, int]]:
        """Return the number of documents by value of each facet; copies of one text count
        once for a value, and themes at every level.
        """
        copies = self._copies_among(ns)
        found = {kind: self._counts(kind, ns, copies) for kind in _CODED}
        found["theme"] = self._themes(ns, copies)
        found["entity"] = self._entities(ns, copies)
        for kind in NAMED_FACETS:
            column = self.columns[kind]
            found[kind] = self._names(column.take(ns), copies.coded(column))
        found |= self._times(ns, copies)
        return {name: found[name] for name in FACETS}

    def _copies_among(self, ns: Int64s) -> "_Copies":
        has_copies = self.duplicates.has_copies.take(ns)
        copied = ns[np.flatnonzero(has_copies)]
        return _Copies(copied, self.duplicates.leader.take(copied))

    def language_counts(self, ns: Int64s) -> dict[str, int]:
        """Return the number of these documents by language."""
        no_ns = ns[:0]
        no_copies = _Copies(no_ns, no_ns)
        return self._counts("language", ns, no_copies)

    def _counts(self, kind: str, ns: Int64s, copies: "_Copies") -> dict[str, int]:
        if kind not in self._kinds:
            return {}
        column = self.columns[kind]
        counts = _group_counts(column.take(ns), copies.coded(column))
        counts[:1] = 0  # documents without a value
        found: dict[str, int] = {}
        for code in np.flatnonzero(counts).tolist():
            _, value = self.values[code]
            found[value] = int(counts[code])
        return most_first(found.items())

    def _themes(self, ns: Int64s, copies: "_Copies") -> dict[str, int]:
        """Return the counts by theme; a document counts for each theme of its path."""
        column = self.columns["theme"]
        size = len(self.values)
        of_copies = column.take(copies.ns)
        counts = np.bincount(column.take(ns), minlength=size)
        counts -= np.bincount(of_copies, minlength=size)
        themes: dict[str, int] = {}
        for code in np.flatnonzero(counts).tolist():
            for theme in self._path(code):
                themes[theme] = themes.get(theme, 0) + int(counts[code])
        for theme, count in self._themes_of_groups(of_copies, copies).items():
            themes[theme] = themes.get(theme, 0) + count
        return most_first(themes.items())

    def _themes_of_groups(
        self, coded: npt.NDArray[Any], copies: "_Copies"
    ) -> dict[str, int]:
        """Return the number of groups of copies by theme; `coded` are the themes of the
        copies.
        """
        leaders: dict[str, list[Int64s]] = {}
        for code in np.unique(coded).tolist():
            of_code = copies.leaders[coded == code]
            for theme in self._path(code):
                leaders.setdefault(theme, []).append(of_code)
        counts = {}
        for theme, of_theme in leaders.items():
            distinct = np.unique(np.concatenate(of_theme))
            counts[theme] = len(distinct)
        return counts

    def _path(self, code: int) -> list[str]:
        """Return the themes of a coded path; none for documents without a theme."""
        if not code:
            return []
        _, path = self.values[code]
        return path.split(PATH_SEPARATOR)

    def _entities(self, ns: Int64s, copies: "_Copies") -> dict[str, int]:
        counts = self.entities.counts(copies.ns)
        leaders = np.repeat(copies.leaders, counts)
        of_copies = _Coded(self.entities.of(copies.ns), leaders)
        return self._names(self.entities.of(ns), of_copies)

    def _names(self, codes: npt.NDArray[Any], copies: "_Coded") -> dict[str, int]:
        """Return the counts of the `MAX_NAMES` most frequent names."""
        counts = _group_counts(codes, copies)
        counts[:1] = 0
        found = np.flatnonzero(counts)
        if len(found) > MAX_NAMES:
            order = np.argpartition(-counts[found], MAX_NAMES)
            found = found[order[:MAX_NAMES]]
        listed = json.dumps(found.tolist())
        find = "SELECT value, code FROM names WHERE code IN (SELECT value FROM json_each(?))"
        rows = self.connection.execute(find, (listed,))
        return most_first((value, int(counts[code])) for value, code in rows)

    def _times(self, ns: Int64s, copies: "_Copies") -> dict[str, dict[str, int]]:
        """Return counts by month, by week and by day, newest first."""
        days = self.columns["day"].take(ns)
        first = int(days.min(initial=date.max.toordinal()))
        copied = copies.coded(self.columns["day"])
        by_day = _Coded(copied.codes - first, copied.leaders)
        counts = _group_counts(days - first, by_day)
        newest_first = np.flatnonzero(counts)[::-1]
        names = _day_names(newest_first + first)
        found = time_counts(
            dict(zip(names, counts[newest_first].tolist(), strict=True))
        )
        once = _distinct(by_day)
        once = _Coded(once.codes + first, once.leaders)
        for name in ("month", "week"):
            for value, count in _counted_twice(once, name).items():
                found[name][value] -= count
        return found

    def group_count(self, ns: Int64s) -> int:
        """Return the number of these documents, counting duplicates once."""
        leaders = self.duplicates.leader.take(ns)
        seen = np.zeros(self.size, np.bool_)
        seen[leaders] = True
        return int(np.count_nonzero(seen))


@dataclass(frozen=True, slots=True)
class _Coded:
    """Codes of documents that have copies, with the leaders of their groups."""

    codes: npt.NDArray[Any]
    leaders: Int64s


@dataclass(frozen=True, slots=True)
class _Copies:
    """The documents of an answer that have copies, with the leaders of their groups."""

    ns: Int64s
    leaders: Int64s

    def coded(self, column: npt.NDArray[Any]) -> _Coded:
        """Return their codes in a column."""
        return _Coded(column.take(self.ns), self.leaders)


def _distinct(copies: _Coded) -> _Coded:
    """Return each code of a group once."""
    if not len(copies.codes):
        return copies
    # numbers of documents have 32 bits
    pairs = np.unique((copies.codes.astype(np.int64) << 32) | copies.leaders)
    return _Coded(pairs >> 32, pairs & 0xFFFFFFFF)


def _group_counts(codes: npt.NDArray[Any], copies: _Coded) -> Int64s:
    """Return the number of groups by code, from the codes of all documents and of those
    among them that have copies.
    """
    counts: Int64s = np.bincount(codes)
    if len(copies.codes):
        size = len(counts)
        counts -= np.bincount(copies.codes, minlength=size)
        counts += np.bincount(_distinct(copies).codes, minlength=size)
    return counts


def _counted_twice(copies: _Coded, name: str) -> dict[str, int]:
    """Return by month or by week how often texts of several of its days are counted too
    often; codes are ordinals of days.
    """
    if not len(copies.codes):
        return {}
    spans = _weeks(copies.codes) if name == "week" else _months(copies.codes)
    least = int(spans.min())
    once = _distinct(_Coded(spans - least, copies.leaders)).codes
    more = np.bincount(spans - least) - np.bincount(once)
    found = {}
    for place in np.flatnonzero(more).tolist():
        found[_span_name(name, least + place)] = int(more[place])
    return found


def _weeks(ordinals: Int64s) -> Int64s:
    return (ordinals - 1) // 7  # day 1 was a Monday


def _months(ordinals: Int64s) -> Int64s:
    days = (ordinals - _EPOCH).astype("datetime64[D]")
    months: Int64s = days.astype("datetime64[M]").astype(np.int64)
    return months


def _span_name(name: str, number: int) -> str:
    if name == "week":
        return date.fromordinal(number * 7 + 1).isoformat()
    return str(np.datetime64(number, "M").astype(str))


def _day_names(ordinals: Int64s) -> list[str]:
    since_epoch = ordinals.astype(np.int64) - _EPOCH
    days = since_epoch.astype("datetime64[D]")
    names: list[str] = np.datetime_as_string(days).tolist()
    return names


def _is_language(value: str, wanted: str) -> bool:
    """Return whether a language passes the filter, both in lower case: `pt` takes
    `pt-br`, `pt-br` takes `pt` but not `pt-pt`.
    """
    if value == wanted:
        return True
    if value.startswith(f"{wanted}-"):
        return True
    if not value:
        return False
    return wanted.startswith(f"{value}-")


def _grown(array: npt.NDArray[_Scalar], size: int) -> npt.NDArray[_Scalar]:
    """Return a copy of an array with zeros up to this size."""
    grown = np.zeros(size, array.dtype)
    grown[: len(array)] = array
    return grown
