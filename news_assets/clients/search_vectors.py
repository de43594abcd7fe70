"""Exact nearest neighbours: vectors in memory that catch up with what other processes wrote.

Bounds (`search_bounds.py`) leave a few hundred rows that may be among the nearest; these are multiplied in float32. The
answer is that of multiplying all of them.

Vectors enter as float16 rows of the search file; the nearest documents' numbers and cosines leave. Filters enter as a
mask over document numbers.
"""

import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from news_assets.clients.search_bounds import BLOCK_ROWS, Float32s, QuantisedBlock, quantised_block, quantised_query
from news_assets.clients.search_table import Bools
from news_assets.clients.search_terms import Int64s

_ROWS_AT_ONCE = 4096
# Of the rows: multiplying a copy of a tenth of 100,000 takes 2.7 ms, finding contenders among all 4 ms, all 8 ms.
_COPIED_BELOW = 0.1


@dataclass(slots=True)
class VectorMatrix:
    """Every vector as float32, one row each, in the order of document numbers; all but the newest in blocks as well.

    float32 because turning float16 into it takes ten times as long as multiplying it.
    """

    connection: sqlite3.Connection
    dim: int = 0
    count: int = 0
    _ns: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    _rows: Float32s = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    _blocks: list[QuantisedBlock] = field(default_factory=list)

    def refresh(self, dim: int) -> None:
        """Read vectors that came since the last time; deleted ones stay until the process ends and are masked."""
        if dim != self.dim:
            self.dim, self.count, self._rows = dim, 0, np.zeros((0, dim), np.float32)
            self._blocks.clear()
        last_n = int(self._ns[self.count - 1]) if self.count else 0
        (new_count,) = self.connection.execute("SELECT count(*) FROM vectors WHERE n > ?", (last_n,)).fetchone()
        if not new_count:
            return
        self._grow(self.count + new_count)
        cursor = self.connection.execute("SELECT n, vector FROM vectors WHERE n > ? ORDER BY n", (last_n,))
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            end = self.count + len(rows)
            self._ns[self.count : end] = [n for n, _ in rows]
            self._rows[self.count : end] = np.frombuffer(b"".join(v for _, v in rows), "<f2").reshape(-1, dim)
            self.count = end
        for start in range(self._quantised_count(), self.count - BLOCK_ROWS + 1, BLOCK_ROWS):
            self._blocks.append(quantised_block(self._rows[start : start + BLOCK_ROWS]))

    def _quantised_count(self) -> int:
        return len(self._blocks) * BLOCK_ROWS

    def _grow(self, count: int) -> None:
        if count > len(self._ns):
            capacity = max(count, len(self._ns) * 5 // 4)
            self._ns = np.concatenate([self._ns, np.zeros(capacity - len(self._ns), np.int64)])
            rows = np.empty((capacity, self.dim), np.float32)
            rows[: self.count] = self._rows[: self.count]
            self._rows = rows

    def nearest(self, query: Sequence[float], mask: Bools, limit: int) -> tuple[Int64s, Float32s]:
        """Return the numbers and cosines of the nearest documents that the mask lets pass, best first."""
        ns = self._ns[: self.count]
        unit = np.asarray(unit_vector(query), np.float32)
        is_passing = mask[ns]
        at = np.flatnonzero(is_passing)
        if self._blocks and len(at) > max(limit, _COPIED_BELOW * self.count):
            at = self._contenders(unit, is_passing, limit)
        cosines = self._cosines(unit, at)
        best = _best(cosines, limit)
        return ns[at[best]], cosines[best]

    def _cosines(self, unit: Float32s, at: Int64s) -> Float32s:
        copied = len(at) < _COPIED_BELOW * self.count
        cosines: Float32s = np.vecdot(self._rows[at] if copied else self._rows[: self.count], unit)
        return cosines if copied else cosines[at]

    def _contenders(self, unit: Float32s, is_passing: Bools, limit: int) -> Int64s:
        """Return the rows that may be among the nearest: not those certainly farther than `limit` others."""
        exact = np.vecdot(self._rows[self._quantised_count() : self.count], unit)
        asked = quantised_query(unit)
        bounds = [*(block.bounds(asked) for block in self._blocks), (exact, exact)]
        lower, upper = (np.concatenate(parts) for parts in zip(*bounds, strict=True))
        lower[~is_passing] = -np.inf
        return np.flatnonzero(is_passing & (upper >= _nth_highest(lower, limit)))


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
    length = math.hypot(*vector)
    if not math.isfinite(length) or length == 0.0:
        return None
    return tuple(value / length for value in vector)


def packed_vector(vector: Sequence[float]) -> bytes:
    """Return a unit vector as the search file keeps it."""
    return np.asarray(vector, "<f2").tobytes()
