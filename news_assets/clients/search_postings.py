"""Which documents have a term: written in parts, read as arrays.

Packed terms of documents enter; sorted document numbers with weights leave. Which terms are asked for, and what a
weight is worth, is decided elsewhere.

The newest documents' terms lie in `fresh`, one row each. At `FOLD_AT` of them they become a part: one row per term, in
the order of terms, so that writing is appending. A reader keeps the fresh terms in memory and fetches the parts' rows
of a term as it needs them.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from news_assets.clients.search_terms import PACKED_TERM, Int64s

FOLD_AT = 2_000  # documents; folding them takes 0.1 s, comparing a term with theirs .1 ms
MAX_PART_SPAN = 0xFFFF  # numbers in a part are stored as 16-bit distances from its first
CACHE_BYTES = 96 * 2**20

_POSTING = np.dtype([("offset", "<u2"), ("weight", "u1")])
_ENTRY = np.dtype([("term", "<i8"), ("n", "<u4"), ("weight", "u1")])

Uint8s = npt.NDArray[np.uint8]
Entries = npt.NDArray[np.void]


@dataclass(frozen=True, slots=True)
class TermPostings:
    """Documents that have a term, ascending, with the term's weight in each."""

    ns: Int64s
    weights: Uint8s


NO_POSTINGS = TermPostings(np.empty(0, np.int64), np.empty(0, np.uint8))


# --- writing ---------------------------------------------------------------------------------------------------------


def fold_fresh(connection: sqlite3.Connection) -> bool:
    """Make a part of the fresh documents once there are enough of them; return whether it did."""
    (count,) = connection.execute("SELECT count(*) FROM fresh").fetchone()
    if count < FOLD_AT:
        return False
    rows = connection.execute("SELECT n, terms FROM fresh ORDER BY n").fetchall()
    start = 0
    while start < len(rows):
        first_n = rows[start][0]
        stop = next((i for i in range(start, len(rows)) if rows[i][0] - first_n > MAX_PART_SPAN), len(rows))
        _write_part(connection, _entries(rows[start:stop]), first_n, rows[stop - 1][0], stop - start)
        start = stop
    connection.execute("DELETE FROM fresh")
    _purge_one_part(connection)
    return True


def _entries(rows: Sequence[tuple[int, bytes]]) -> Entries:
    packed = [np.frombuffer(terms, PACKED_TERM) for _, terms in rows]
    entries = np.empty(sum(map(len, packed)), _ENTRY)
    if packed:
        together = np.concatenate(packed)
        entries["term"], entries["weight"] = together["term"], together["weight"]
        entries["n"] = np.repeat([n for n, _ in rows], [len(terms) for terms in packed])
    return entries


def _write_part(connection: sqlite3.Connection, entries: Entries, first_n: int, last_n: int, count: int) -> None:
    part = connection.execute(
        "INSERT INTO parts (first_n, last_n, document_count) VALUES (?, ?, ?)", (first_n, last_n, count)
    ).lastrowid
    ordered = entries[np.argsort(entries["term"], kind="stable")]
    postings = np.empty(len(ordered), _POSTING)
    postings["offset"], postings["weight"] = ordered["n"] - first_n, ordered["weight"]
    starts = np.flatnonzero(np.diff(ordered["term"], prepend=-1))
    ends = np.append(starts[1:], len(ordered)) * _POSTING.itemsize
    data = postings.tobytes()
    connection.executemany(
        "INSERT INTO postings VALUES (?, ?, ?)",
        (
            (part, term, data[start:end])
            for term, start, end in zip(
                ordered["term"][starts].tolist(), (starts * _POSTING.itemsize).tolist(), ends.tolist(), strict=True
            )
        ),
    )


def _purge_one_part(connection: sqlite3.Connection) -> None:
    """Rewrite the part with the most deleted documents without them, if they are more than half of it."""
    row = connection.execute(
        "SELECT part, first_n, last_n, document_count - deleted_count FROM parts "
        "WHERE deleted_count * 2 > document_count ORDER BY deleted_count DESC LIMIT 1"
    ).fetchone()
    if row is None:
        return
    part, first_n, last_n, count = row
    rows = connection.execute("SELECT term, postings FROM postings WHERE part = ?", (part,)).fetchall()
    alive = [n for (n,) in connection.execute("SELECT n FROM documents WHERE n BETWEEN ? AND ?", (first_n, last_n))]
    connection.execute("DELETE FROM postings WHERE part = ?", (part,))
    connection.execute("DELETE FROM parts WHERE part = ?", (part,))
    if count:
        entries = _entries_of_part(rows, first_n)
        _write_part(connection, entries[np.isin(entries["n"], alive)], first_n, last_n, count)


def _entries_of_part(rows: Sequence[tuple[int, bytes]], first_n: int) -> Entries:
    postings = np.frombuffer(b"".join(data for _, data in rows), _POSTING)
    entries = np.empty(len(postings), _ENTRY)
    entries["term"] = np.repeat([term for term, _ in rows], [len(data) // _POSTING.itemsize for _, data in rows])
    entries["n"], entries["weight"] = postings["offset"].astype(np.uint32) + first_n, postings["weight"]
    return entries


def delete_postings(connection: sqlite3.Connection, ns: Sequence[int]) -> None:
    """Forget documents that are still fresh; of those in parts, count that they are gone."""
    fresh = {n for n in ns if connection.execute("DELETE FROM fresh WHERE n = ?", (n,)).rowcount}
    connection.executemany(
        "UPDATE parts SET deleted_count = deleted_count + 1 WHERE ? BETWEEN first_n AND last_n",
        [(n,) for n in ns if n not in fresh],
    )


# --- reading ---------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class PostingsReader:
    """Looks terms up. `refresh` catches up with what was written; between two refreshes answers stay the same."""

    connection: sqlite3.Connection
    _parts: tuple[tuple[int, int], ...] = ()
    _last_n: int = 0
    _fresh_terms: Int64s = field(default_factory=lambda: NO_POSTINGS.ns)
    _fresh: TermPostings = NO_POSTINGS
    _of_parts: dict[int, TermPostings] = field(default_factory=dict)
    _cached: dict[int, TermPostings] = field(default_factory=dict)
    _cached_bytes: int = 0

    def refresh(self) -> None:
        """Read new parts and fresh documents."""
        self._cached.clear()
        parts = tuple(self.connection.execute("SELECT part, first_n FROM parts ORDER BY first_n"))
        if parts != self._parts:
            self._parts, self._last_n = parts, 0
            self._fresh_terms, self._fresh = NO_POSTINGS.ns, NO_POSTINGS
            self._of_parts.clear()
            self._cached_bytes = 0
        rows = self.connection.execute("SELECT n, terms FROM fresh WHERE n > ? ORDER BY n", (self._last_n,)).fetchall()
        if rows:
            self._last_n = rows[-1][0]
            new = _entries(rows)
            self._fresh_terms = np.concatenate([self._fresh_terms, new["term"]])
            self._fresh = _joined(self._fresh, TermPostings(new["n"].astype(np.int64), new["weight"]))

    def term(self, term: int) -> TermPostings:
        """Return the postings of one term; deleted documents may be among them."""
        found = self._cached.get(term)
        if found is None:
            found = self._cached[term] = self._read(term)
        return found

    def _read(self, term: int) -> TermPostings:
        stored = self._of_parts.get(term)
        if stored is None:
            stored = self._keep(term, self._read_parts(term))
        at = np.flatnonzero(self._fresh_terms == term)
        if not len(at):
            return stored
        return _joined(stored, TermPostings(self._fresh.ns[at], self._fresh.weights[at]))

    def _read_parts(self, term: int) -> TermPostings:
        rows = self.connection.execute(
            "SELECT parts.first_n, postings FROM parts CROSS JOIN postings USING (part) WHERE term = ? "
            "ORDER BY parts.first_n",
            (term,),
        ).fetchall()
        if not rows:
            return NO_POSTINGS
        postings = np.frombuffer(b"".join(data for _, data in rows), _POSTING)
        firsts = np.repeat([first for first, _ in rows], [len(data) // _POSTING.itemsize for _, data in rows])
        return TermPostings(firsts + postings["offset"], np.ascontiguousarray(postings["weight"]))

    def _keep(self, term: int, postings: TermPostings) -> TermPostings:
        size = postings.ns.nbytes + postings.weights.nbytes + 300
        if self._cached_bytes + size > CACHE_BYTES:
            self._of_parts.clear()
            self._cached.clear()
            self._cached_bytes = 0
        self._cached_bytes += size
        self._of_parts[term] = postings
        return postings


def _joined(first: TermPostings, second: TermPostings) -> TermPostings:
    return TermPostings(np.concatenate([first.ns, second.ns]), np.concatenate([first.weights, second.weights]))
