"""Which documents have a term, as it is written: fresh rows, folded into parts, parts merged into larger ones.

Packed terms of new documents are in `fresh`, one row each. At `FOLD_AT` of them they become a part: one row per term,
in the order of terms, so that writing is appending. `MERGE_AT` parts become one: a term that is looked up costs one
seek per part, and with 1,000,000 documents in parts of 2,000 that alone took 13 ms a word. How postings are read stands
in `postings.py`.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from news_assets.clients.search.embedded.terms import PACKED_TERM

FOLD_AT = 2_000  # documents; folding them takes 0.1 s, comparing a term with theirs .1 ms
MERGE_AT = 16  # parts; merging 16 of 2,000 documents takes 1 to 2 s, once in 32,000 documents
MAX_PART_SPAN = 0xFFFF  # numbers in a part are stored as 16-bit distances from its first
SMALL_PART_SPAN = MAX_PART_SPAN // 4  # what spans more is not merged again

POSTING = np.dtype([("offset", "<u2"), ("weight", "u1")])
ENTRY = np.dtype([("term", "<i8"), ("n", "<u4"), ("weight", "u1")])

Entries = npt.NDArray[np.void]


class _Part(NamedTuple):
    part: int
    first_n: int
    last_n: int
    document_count: int
    deleted_count: int


def fold_fresh(connection: sqlite3.Connection, fold_at: int | None = None) -> bool:
    """Make a part of the fresh documents once there are enough of them (`FOLD_AT`); return whether it did."""
    (count,) = connection.execute("SELECT count(*) FROM fresh").fetchone()
    if count < (fold_at or FOLD_AT):
        return False
    rows = connection.execute("SELECT n, terms FROM fresh ORDER BY n").fetchall()
    start = 0
    while start < len(rows):
        first_n = rows[start][0]
        stop = next((i for i in range(start, len(rows)) if rows[i][0] - first_n > MAX_PART_SPAN), len(rows))
        _write_part(connection, entries(rows[start:stop]), _Part(0, first_n, rows[stop - 1][0], stop - start, 0))
        start = stop
    connection.execute("DELETE FROM fresh")
    _purge_one_part(connection)
    _merge_some_parts(connection)
    return True


def entries(rows: Sequence[tuple[int, bytes]]) -> Entries:
    """Return one entry for each term of each document; rows are (number, packed terms)."""
    together = np.frombuffer(b"".join(terms for _, terms in rows), PACKED_TERM)
    found = np.empty(len(together), ENTRY)
    found["term"], found["weight"] = together["term"], together["weight"]
    found["n"] = np.repeat([n for n, _ in rows], [len(terms) // PACKED_TERM.itemsize for _, terms in rows])
    return found


def _write_part(connection: sqlite3.Connection, found: Entries, made: _Part) -> None:
    order = np.argsort(found["term"], kind="stable")
    terms = found["term"][order]
    postings = np.empty(len(order), POSTING)
    postings["offset"], postings["weight"] = found["n"][order] - made.first_n, found["weight"][order]
    starts = np.flatnonzero(terms[1:] != terms[:-1]) + 1
    cuts = np.concatenate([[0], starts, [len(order)]]) * POSTING.itemsize if len(order) else np.zeros(1, np.int64)
    data, firsts = postings.tobytes(), cuts[:-1].tolist()
    distinct = terms[cuts[:-1] // POSTING.itemsize].tolist()
    rows = ((term, data[start:end]) for term, start, end in zip(distinct, firsts, cuts[1:].tolist(), strict=True))
    _insert_part(connection, made, rows)


def _insert_part(connection: sqlite3.Connection, made: _Part, rows: Iterable[tuple[int, bytes]]) -> None:
    part = connection.execute(
        "INSERT INTO parts (first_n, last_n, document_count, deleted_count) VALUES (?, ?, ?, ?)", made[1:]
    ).lastrowid
    connection.executemany("INSERT INTO postings VALUES (?, ?, ?)", ((part, term, data) for term, data in rows))


def _delete_part(connection: sqlite3.Connection, part: int) -> None:
    connection.execute("DELETE FROM postings WHERE part = ?", (part,))
    connection.execute("DELETE FROM parts WHERE part = ?", (part,))


# --- rewriting -------------------------------------------------------------------------------------------------------


def _purge_one_part(connection: sqlite3.Connection) -> None:
    """Rewrite the part with the most deleted documents without them, if they are more than half of it."""
    row = connection.execute(
        "SELECT part, first_n, last_n, document_count, deleted_count FROM parts "
        "WHERE deleted_count * 2 > document_count ORDER BY deleted_count DESC LIMIT 1"
    ).fetchone()
    if row is None:
        return
    old = _Part(*row)
    rows = connection.execute("SELECT term, postings FROM postings WHERE part = ?", (old.part,)).fetchall()
    range_of = (old.first_n, old.last_n)
    alive = [n for (n,) in connection.execute("SELECT n FROM documents WHERE n BETWEEN ? AND ?", range_of)]
    _delete_part(connection, old.part)
    if alive:
        _write_part(
            connection,
            _alive_entries(rows, old.first_n, alive),
            old._replace(document_count=len(alive), deleted_count=0),
        )


def _alive_entries(rows: Sequence[tuple[int, bytes]], first_n: int, alive: Sequence[int]) -> Entries:
    postings = np.frombuffer(b"".join(data for _, data in rows), POSTING)
    found = np.empty(len(postings), ENTRY)
    found["term"] = np.repeat([term for term, _ in rows], [len(data) // POSTING.itemsize for _, data in rows])
    found["n"], found["weight"] = first_n + postings["offset"].astype(np.uint32), postings["weight"]
    return found[np.isin(found["n"], alive)]


def _merge_some_parts(connection: sqlite3.Connection) -> None:
    """Make one part of the oldest neighbours that are small, if there are enough of them."""
    run = _run_to_merge([_Part(*row) for row in connection.execute("SELECT * FROM parts ORDER BY first_n")])
    if not run:
        return
    rows = []
    distances = []
    for one in run:
        found = connection.execute("SELECT term, postings FROM postings WHERE part = ?", (one.part,)).fetchall()
        rows += found
        distances.append(np.full(len(found), one.first_n - run[0].first_n, np.uint16))
        _delete_part(connection, one.part)
    sums = (sum(one.document_count for one in run), sum(one.deleted_count for one in run))
    made = _Part(0, run[0].first_n, run[-1].last_n, *sums)
    _insert_part(connection, made, _merged(rows, np.concatenate(distances)))


def _run_to_merge(parts: Sequence[_Part]) -> list[_Part]:
    """Return the first neighbours worth merging: enough small ones, or all that fit where the next does not."""
    run: list[_Part] = []
    for one in parts:
        is_small = one.last_n - one.first_n <= SMALL_PART_SPAN
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


def _merged(rows: Sequence[tuple[int, bytes]], distances: npt.NDArray[np.uint16]) -> Iterator[tuple[int, bytes]]:
    """Yield each term's postings in one; `distances` are those of the rows' parts from the first part."""
    terms = np.array([term for term, _ in rows])
    order = np.argsort(terms, kind="stable")
    blobs = [rows[i][1] for i in order.tolist()]
    counts = np.array([len(blob) for blob in blobs]) // POSTING.itemsize
    postings = np.frombuffer(bytearray().join(blobs), POSTING)
    postings["offset"] += np.repeat(distances[order], counts)
    data = postings.tobytes()
    starts = np.flatnonzero(np.diff(terms[order], prepend=-1))
    cuts = np.append((np.cumsum(counts) - counts)[starts] * POSTING.itemsize, len(data)).tolist()
    for term, start, end in zip(terms[order[starts]].tolist(), cuts, cuts[1:], strict=False):
        yield term, data[start:end]


def delete_postings(connection: sqlite3.Connection, ns: Sequence[int]) -> None:
    """Forget documents that are still fresh; of those in parts, count that they are gone."""
    fresh = {n for n in ns if connection.execute("DELETE FROM fresh WHERE n = ?", (n,)).rowcount}
    connection.executemany(
        "UPDATE parts SET deleted_count = deleted_count + 1 WHERE ? BETWEEN first_n AND last_n",
        [(n,) for n in ns if n not in fresh],
    )
