"""Exact nearest neighbours: bounds of every vector in memory, and as many of the vectors as have room there.

Bounds (`bounds.py`) leave a few hundred rows that may be among the nearest; these are multiplied in float32. The
answer is that of multiplying all of them. 1,000,000 vectors of 384 take 1.3 GB: 1 GB of bounds, twice their eight bits,
because the runtime keeps them as handed over as well; with all vectors as float32 beside them it was 2.5 GB.

Vectors enter as float16 rows of the search file, also those that other processes write; the nearest documents' numbers
and cosines leave. Filters enter as a mask over document numbers.
"""

import json
import math
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import numpy.typing as npt

from news_assets.clients.search.embedded.bounds import (
    BLOCK_ROWS,
    Float32s,
    QuantisedBlock,
    quantised_block,
    quantised_query,
)
from news_assets.clients.search.embedded.duplicates import Bools
from news_assets.clients.search.embedded.terms import Int64s

KEPT_BYTES = 256 * 2**20  # of vectors as they are stored; reading 300 of the others takes 3 ms, of these .3 ms

_ROWS_AT_ONCE = 4096
_READ_BELOW = 500  # rows that pass a filter; reading them all takes 2 ms, finding contenders among 100,000 takes 4 ms
_READ_BELOW_SHARE = 0.008  # of all rows, likewise


@dataclass(slots=True)
class VectorMatrix:
    """Every vector, in the order of document numbers: the newest as float32, the others in blocks of eight bits."""

    connection: sqlite3.Connection
    dim: int = 0
    count: int = 0
    _ns: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    _kept: npt.NDArray[np.float16] = field(default_factory=lambda: np.zeros((0, 0), np.float16))  # the oldest rows
    _kept_count: int = 0
    _tail: Float32s = field(default_factory=lambda: np.zeros((0, 0), np.float32))  # rows that are in no block yet
    _tail_count: int = 0
    _blocks: list[QuantisedBlock] = field(default_factory=list)

    def refresh(self, dim: int) -> None:
        """Read vectors that came since the last time; deleted ones stay until the process ends and are masked."""
        if dim != self.dim:
            self.dim, self.count, self._kept_count, self._tail_count = dim, 0, 0, 0
            self._kept = np.zeros((0, dim), np.float16)
            self._tail = np.zeros((BLOCK_ROWS + _ROWS_AT_ONCE, dim), np.float32)
            self._blocks.clear()
        last_n = int(self._ns[self.count - 1]) if self.count else 0
        cursor = self.connection.execute("SELECT n, vector FROM vectors WHERE n > ? ORDER BY n", (last_n,))
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            self._add(np.array([n for n, _ in rows]), _unpacked([packed for _, packed in rows], dim))

    def _add(self, ns: Int64s, rows: Float32s) -> None:
        if self.count + len(ns) > len(self._ns):
            self._ns = np.concatenate([self._ns[: self.count], np.zeros(self.count // 4 + len(ns), np.int64)])
        self._keep(rows)
        self._ns[self.count : self.count + len(ns)] = ns
        self._tail[self._tail_count : self._tail_count + len(ns)] = rows
        self.count += len(ns)
        self._tail_count += len(ns)
        while self._tail_count >= BLOCK_ROWS:
            self._blocks.append(quantised_block(self._tail[:BLOCK_ROWS]))
            self._tail_count -= BLOCK_ROWS
            self._tail[: self._tail_count] = self._tail[BLOCK_ROWS : BLOCK_ROWS + self._tail_count]

    def _keep(self, rows: Float32s) -> None:
        end = self.count + len(rows)
        if self._kept_count < self.count or end * self.dim * self._kept.itemsize > KEPT_BYTES:
            return
        if end > len(self._kept):
            room = np.zeros((end // 4 + len(rows), self.dim), np.float16)
            self._kept = np.concatenate([self._kept[: self.count], room])
        self._kept[self.count : end] = rows
        self._kept_count = end

    def nearest(self, query: Sequence[float], mask: Bools, limit: int) -> tuple[Int64s, Float32s]:
        """Return the numbers and cosines of the nearest documents that the mask lets pass, best first."""
        ns = self._ns[: self.count]
        unit = np.asarray(unit_vector(query), np.float32)
        is_passing = mask.take(ns)
        at = np.flatnonzero(is_passing)
        if self._blocks and len(at) > max(limit, _READ_BELOW, _READ_BELOW_SHARE * self.count):
            at = self._contenders(unit, is_passing, limit)
        cosines: Float32s = np.vecdot(self._rows(at), unit)
        best = _best(cosines, limit)
        return ns[at[best]], cosines[best]

    def _rows(self, at: Int64s) -> Float32s:
        """Return the vectors of these rows, ascending: the oldest from memory, the newest too, those between read."""
        in_blocks = self.count - self._tail_count
        kept, stored = np.searchsorted(at, [min(self._kept_count, in_blocks), in_blocks])
        oldest = self._kept[at[:kept]].astype(np.float32)
        return np.concatenate([oldest, self._read(self._ns[at[kept:stored]]), self._tail[at[stored:] - in_blocks]])

    def _read(self, ns: Int64s) -> Float32s:
        find = "SELECT vector FROM vectors WHERE n IN (SELECT value FROM json_each(?)) ORDER BY n"
        rows = self.connection.execute(find, (json.dumps(ns.tolist()),)).fetchall() if len(ns) else []
        return _unpacked([packed for (packed,) in rows], self.dim)

    def _contenders(self, unit: Float32s, is_passing: Bools, limit: int) -> Int64s:
        """Return the rows that may be among the nearest: not those certainly farther than `limit` others."""
        exact = np.vecdot(self._tail[: self._tail_count], unit)
        asked = quantised_query(unit)
        bounds = [*(block.bounds(asked) for block in self._blocks), (exact, exact)]
        lower, upper = (np.concatenate(parts) for parts in zip(*bounds, strict=True))
        least = _nth_highest(np.where(is_passing, lower, np.float32(-np.inf)), limit)
        return np.flatnonzero(is_passing & (upper >= least))


def _unpacked(vectors: Sequence[bytes], dim: int) -> Float32s:
    return np.frombuffer(b"".join(vectors), "<f2").reshape(-1, dim).astype(np.float32)


def _nth_highest(values: Float32s, n: int) -> np.float32:
    nth: np.float32 = np.partition(values, len(values) - n)[len(values) - n]
    return nth


def _best(cosines: Float32s, limit: int) -> Int64s:
    """Return positions of the highest values, best first; among equal ones the newest document first."""
    at = np.arange(len(cosines))
    if len(cosines) > limit:
        at = np.flatnonzero(cosines >= _nth_highest(cosines, limit))
    return at[np.lexsort((-at, -cosines[at]))][:limit]


def unit_vector(vector: Sequence[float]) -> tuple[float, ...] | None:
    """Return the vector at length 1; None where it has no direction: empty, all zeros, or not finite."""
    values = np.asarray(vector, np.float64)
    highest = float(np.abs(values).max(initial=0.0))
    if not math.isfinite(highest) or highest == 0.0:
        return None
    values = values / highest  # the squares of very large or small values would be none
    return tuple((values / np.linalg.norm(values)).tolist())


def packed_vectors(vectors: Sequence[Sequence[float] | None]) -> list[bytes | None]:
    """Return vectors at length 1 as the file keeps them; None where there is none, or one without a direction."""
    packed: list[bytes | None] = [None] * len(vectors)
    for positions, values in matrices(vectors):
        for position, one in zip(positions, _packed_rows(values), strict=True):
            packed[position] = one
    return packed


def matrices(vectors: Sequence[Sequence[float] | None]) -> Iterator[tuple[list[int], npt.NDArray[np.float64]]]:
    """Yield the vectors of each length as the rows of a matrix, with their positions; without those that are empty."""
    of_dim: dict[int, list[int]] = {}
    for position, vector in enumerate(vectors):
        if vector:
            of_dim.setdefault(len(vector), []).append(position)
    for dim, positions in of_dim.items():
        values = chain.from_iterable(vectors[position] or () for position in positions)
        yield positions, np.fromiter(values, np.float64, dim * len(positions)).reshape(-1, dim)


def _packed_rows(values: npt.NDArray[np.float64]) -> Iterator[bytes | None]:
    highest = np.abs(values).max(axis=1, keepdims=True)
    has_direction = np.isfinite(highest) & (highest > 0)
    scaled = np.divide(values, highest, out=np.zeros_like(values), where=has_direction)  # no square is too large then
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    packed = np.divide(scaled, norms, out=scaled, where=has_direction).astype("<f2")
    data, size = packed.tobytes(), packed.shape[1] * packed.itemsize
    for position, is_good in enumerate(has_direction[:, 0].tolist()):
        yield data[position * size : (position + 1) * size] if is_good else None
