"""Postings: written in parts, and read as sorted document numbers with weights, or as a
column with a weight for every document.

Table `fresh` has the packed terms of new documents, one row each. `FOLD_AT` of them are
folded into a part with one row per term, in the order of terms, so that rows are
appended. `MERGE_AT` parts are merged into one, because looking a term up costs one seek
per part: with 1,000,000 documents in parts of 2,000, 13 ms a word.

A reader keeps the terms of fresh documents in memory, reads a term's rows of all parts
when it is first looked up, and extends the cached postings with newer documents.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from news_assets.clients.search.embedded.document_table import Bools
from news_assets.clients.search.embedded.terms import PACKED_TERM, Int64s

FOLD_AT = 2_000  # documents; folding takes 0.1 s, comparing a term with theirs .1 ms
MERGE_AT = 16  # parts; merging 16 of 2,000 documents takes 1 to 2 s
# document numbers are stored as 16-bit offsets from the part's first
MAX_PART_SPAN = 0xFFFF
_SMALL_PART_SPAN = MAX_PART_SPAN // 4  # larger parts are not merged again

POSTING = np.dtype([("offset", "<u2"), ("weight", "u1")])
_ENTRY = np.dtype([("term", "<i8"), ("n", "<u4"), ("weight", "u1")])

_Entries = npt.NDArray[np.void]


class _Part(NamedTuple):
    part: int
    first_n: int
    last_n: int
    document_count: int
    deleted_count: int


def fold_fresh(connection: sqlite3.Connection, fold_at: int | None = None) -> bool:
    """Fold the fresh documents into a part if there are at least `fold_at` (`FOLD_AT`);
    return whether it did.
    """
    (count,) = connection.execute("SELECT count(*) FROM fresh").fetchone()
    if count < (fold_at or FOLD_AT):
        return False
    rows = connection.execute("SELECT n, terms FROM fresh ORDER BY n").fetchall()
    for some in _rows_of_parts(rows):
        first_n, _ = some[0]
        last_n, _ = some[-1]
        made = _Part(0, first_n, last_n, len(some), 0)
        _write_part(connection, entries(some), made)
    connection.execute("DELETE FROM fresh")
    _purge_one_part(connection)
    _merge_some_parts(connection)
    return True


def _rows_of_parts(
    rows: Sequence[tuple[int, bytes]],
) -> Iterator[Sequence[tuple[int, bytes]]]:
    """Yield the rows of each part: its documents' numbers lie near each other."""
    start = 0
    while start < len(rows):
        first_n, _ = rows[start]
        stop = start + 1
        while stop < len(rows) and rows[stop][0] - first_n <= MAX_PART_SPAN:
            stop += 1
        yield rows[start:stop]
        start = stop


def entries(rows: Sequence[tuple[int, bytes]]) -> _Entries:
    """Return one entry per term and document; rows are (document number, packed terms)."""
    packed = b"".join(terms for _, terms in rows)
    together = np.frombuffer(packed, PACKED_TERM)
    found = np.empty(len(together), _ENTRY)
    found["term"] = together["term"]
    found["weight"] = together["weight"]
    ns = [n for n, _ in rows]
    counts = [len(terms) // PACKED_TERM.itemsize for _, terms in rows]
    found["n"] = np.repeat(ns, counts)
    return found


def _write_part(connection: sqlite3.Connection, found: _Entries, made: _Part) -> None:
    order = np.argsort(found["term"], kind="stable")
    found = found[order]
    terms = found["term"]
    postings = np.empty(len(found), POSTING)
    postings["offset"] = found["n"] - made.first_n
    postings["weight"] = found["weight"]
    is_first = np.diff(terms, prepend=terms[:1] - 1)
    starts = np.flatnonzero(is_first)
    rows = _slices(postings.tobytes(), terms[starts].tolist(), starts)
    _insert_part(connection, made, rows)


def _slices(
    data: bytes, terms: Sequence[int], starts: Int64s
) -> Iterator[tuple[int, bytes]]:
    """Yield the packed postings of each term; `starts` are the positions of the first
    posting of each.
    """
    firsts = (starts * POSTING.itemsize).tolist()
    ends = [*firsts[1:], len(data)]
    for term, start, end in zip(terms, firsts, ends, strict=True):
        yield term, data[start:end]


def _insert_part(
    connection: sqlite3.Connection, made: _Part, rows: Iterable[tuple[int, bytes]]
) -> None:
    part = connection.execute(
        "INSERT INTO parts (first_n, last_n, document_count, deleted_count) VALUES (?, ?, ?, ?)",
        made[1:],
    ).lastrowid
    connection.executemany(
        "INSERT INTO postings VALUES (?, ?, ?)",
        ((part, term, data) for term, data in rows),
    )


def _delete_part(connection: sqlite3.Connection, part: int) -> None:
    connection.execute("DELETE FROM postings WHERE part = ?", (part,))
    connection.execute("DELETE FROM parts WHERE part = ?", (part,))


# --- rewriting ------------------------------------------------------------------------


def _purge_one_part(connection: sqlite3.Connection) -> None:
    """Rewrite the part with the most deleted documents without them, if more than half
    of it is deleted.
    """
    row = connection.execute(
        "SELECT part, first_n, last_n, document_count, deleted_count FROM parts "
        "WHERE deleted_count * 2 > document_count ORDER BY deleted_count DESC LIMIT 1"
    ).fetchone()
    if row is None:
        return
    old = _Part(*row)
    rows = connection.execute(
        "SELECT term, postings FROM postings WHERE part = ?", (old.part,)
    ).fetchall()
    numbers = connection.execute(
        "SELECT n FROM documents WHERE n BETWEEN ? AND ?", (old.first_n, old.last_n)
    )
    alive = [n for (n,) in numbers]
    _delete_part(connection, old.part)
    if alive:
        made = old._replace(document_count=len(alive), deleted_count=0)
        found = _alive_entries(rows, old.first_n, alive)
        _write_part(connection, found, made)


def _alive_entries(
    rows: Sequence[tuple[int, bytes]], first_n: int, alive: Sequence[int]
) -> _Entries:
    terms = [term for term, _ in rows]
    counts = [len(data) // POSTING.itemsize for _, data in rows]
    packed = b"".join(data for _, data in rows)
    postings = np.frombuffer(packed, POSTING)
    found = np.empty(len(postings), _ENTRY)
    found["term"] = np.repeat(terms, counts)
    found["n"] = first_n + postings["offset"].astype(np.uint32)
    found["weight"] = postings["weight"]
    is_alive = np.isin(found["n"], alive)
    return found[is_alive]


def _merge_some_parts(connection: sqlite3.Connection) -> None:
    """Merge the oldest run of small neighbouring parts, if there are enough of them."""
    stored = connection.execute("SELECT * FROM parts ORDER BY first_n")
    run = _run_to_merge([_Part(*row) for row in stored])
    if not run:
        return
    first = run[0]
    last = run[-1]
    rows = []
    offsets = []
    for one in run:
        found = connection.execute(
            "SELECT term, postings FROM postings WHERE part = ?", (one.part,)
        ).fetchall()
        rows += found
        offsets.append(np.full(len(found), one.first_n - first.first_n, np.uint16))
        _delete_part(connection, one.part)
    made = _Part(
        part=0,
        first_n=first.first_n,
        last_n=last.last_n,
        document_count=sum(one.document_count for one in run),
        deleted_count=sum(one.deleted_count for one in run),
    )
    _insert_part(connection, made, _merged(rows, np.concatenate(offsets)))


def _run_to_merge(parts: Sequence[_Part]) -> list[_Part]:
    """Return the first `MERGE_AT` small neighbours, or a shorter run of at least two
    that no further part fits into.
    """
    run: list[_Part] = []
    for one in parts:
        is_small = one.last_n - one.first_n <= _SMALL_PART_SPAN
        has_room = not run or one.last_n - run[0].first_n <= MAX_PART_SPAN
        if is_small and has_room:
            run.append(one)
        elif len(run) > 1:
            return run
        else:
            run = [one] if is_small else []
        if len(run) == MERGE_AT:
            return run
    return []


def _merged(
    rows: Sequence[tuple[int, bytes]], offsets: npt.NDArray[np.uint16]
) -> Iterator[tuple[int, bytes]]:
    """Yield the joined postings of each term; `offsets` are from the first part to each
    row's part.
    """
    terms = np.array([term for term, _ in rows])
    order = np.argsort(terms, kind="stable")
    terms = terms[order]
    packed = [rows[place][1] for place in order.tolist()]
    counts = np.array([len(data) // POSTING.itemsize for data in packed])
    postings = np.frombuffer(bytearray().join(packed), POSTING)
    postings["offset"] += np.repeat(offsets[order], counts)
    first_rows = np.flatnonzero(np.diff(terms, prepend=-1))
    places = np.cumsum(counts) - counts  # of the first posting of each row
    starts = places[first_rows]
    return _slices(postings.tobytes(), terms[first_rows].tolist(), starts)


def delete_postings(connection: sqlite3.Connection, ns: Sequence[int]) -> None:
    """Remove fresh documents; count those in parts as deleted."""
    in_parts = []
    for n in ns:
        deleted = connection.execute("DELETE FROM fresh WHERE n = ?", (n,)).rowcount
        if not deleted:
            in_parts.append((n,))
    connection.executemany(
        "UPDATE parts SET deleted_count = deleted_count + 1 WHERE ? BETWEEN first_n AND last_n",
        in_parts,
    )


# --- reading --------------------------------------------------------------------------


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
        if len(ns) * 16 >= len(self.ns):
            return self.column(size).take(ns)
        last = len(self.ns) - 1
        places = np.searchsorted(self.ns, ns)
        at = np.minimum(places, last)
        has_term = self.ns[at] == ns
        found: Uint8s = np.where(has_term, self.weights[at], np.uint8(0))
        return found

    def column(self, size: int) -> Uint8s:
        """Return the term's weight in every document."""
        column = np.zeros(size, np.uint8)
        column[self.ns] = self.weights
        return column

    def ns_within(self, mask: Bools) -> Int64s:
        """Return the documents that pass the mask."""
        passing = np.flatnonzero(mask.take(self.ns))
        return self.ns.take(passing)

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
        if len(self.weights) < size:
            return _lengthened(self.weights, size)
        return self.weights[:size]

    def ns_within(self, mask: Bools) -> Int64s:
        """Return the documents that pass the mask."""
        has_term = self.column(len(mask)) > 0
        return np.flatnonzero(mask & has_term)

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
    longer = np.zeros(size, np.uint8)
    longer[: len(column)] = column
    return longer


def postings_of(ns: Int64s, weights: Uint8s, size: int) -> Postings:
    """Return postings in the smaller form for an index of `size` documents."""
    listed = ListedPostings(ns, weights)
    if len(ns) * DENSE_FROM > size:
        return _ColumnPostings(listed.column(size), len(ns))
    return listed


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
    _fresh: _Entries = field(default_factory=lambda: np.empty(0, _ENTRY))
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
            self._parts = parts
            self._last_n = 0
            self._fresh_count = 0
            self._cache.clear()
            self._cache_bytes = 0
        rows = self.connection.execute(
            "SELECT n, terms FROM fresh WHERE n > ? ORDER BY n", (self._last_n,)
        ).fetchall()
        if rows:
            self._last_n = rows[-1][0]
            self._add_fresh(entries(rows))

    def _add_fresh(self, new: _Entries) -> None:
        count = self._fresh_count + len(new)
        if count > len(self._fresh):
            grown = np.empty(2 * count, _ENTRY)
            grown[: self._fresh_count] = self._fresh[: self._fresh_count]
            self._fresh = grown
            self._fresh_terms = np.ascontiguousarray(grown["term"])
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
