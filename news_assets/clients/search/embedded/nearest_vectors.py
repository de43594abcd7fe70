"""Exact nearest neighbours: bounds of every vector's product with the query's, and the
exact product of those that may be among the nearest.

Bounds are of vectors of 8 bits a value, in blocks of 8,192 columns, which are mapped from
the saved arrays. They leave some hundred vectors that may be among the nearest, which are
read from the search file as float16. The result equals that of multiplying all rows.

A block is multiplied by an ONNX graph of one integer product, for which numpy has no fast
routine: 100,000 rows of 384 dimensions take 5 ms on one core. The runtime multiplies a
vector without an offset where the rows are, without a copy.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from news_assets.clients.search.embedded.document_table import Bools
from news_assets.clients.search.embedded.search_file import (
    Arrays,
    changeable_array,
    saved_arrays,
)
from news_assets.clients.search.embedded.terms import Int64s
from news_assets.clients.search.index_texts import unit_vectors

if TYPE_CHECKING:
    import onnxruntime  # type: ignore[import-untyped]  # it ships no types


Float32s = npt.NDArray[np.float32]

# quantised in 20 ms; as many rows that are in no block yet are multiplied exactly in
# 0.7 ms
BLOCK_ROWS = 8_192

_LEVELS = 127
# some processors add two products in 16 bits, into which 2 * 127 * (64 + 63) fits
_FEWER_LEVELS = 63
_ROUNDING = 1e-5  # above the rounding error of float32 sums, for vectors of length 1
_OPSET, _IR_VERSION = 17, 8  # every onnxruntime version that is allowed reads these


@dataclass(frozen=True, slots=True)
class _QuantisedQuery:
    """A vector of length 1 as digits less an offset, times a step; `error` is the length
    of the remainder.
    """

    digits: npt.NDArray[np.uint8]
    offset: int
    step: np.float32
    error: np.float32


# of a row: its step, the sum of its levels, its length and the length of the remainder
_STEP, _SUM, _LENGTH, _ERROR = range(4)
# no product of two vectors of length 1 is outside of these bounds
_UNKNOWN_ERROR = 1.5


@dataclass(frozen=True, slots=True)
class _QuantisedBlock:
    """Rows as integer multiples of a step per row, a column of `levels` each; `scales` has
    four numbers of each.
    """

    levels: npt.NDArray[np.int8]
    scales: Float32s

    @property
    def count(self) -> int:
        """The number of rows."""
        return int(self.levels.shape[1])

    def bounds(self, query: _QuantisedQuery) -> tuple[Float32s, Float32s]:
        """Return a lower and an upper bound of each row's product with the query
        (Cauchy-Schwarz).
        """
        [[found]] = _session().run(None, {"query": query.digits, "rows": self.levels})
        steps, sums, lengths, errors = self.scales
        found -= query.offset * sums.astype(np.int32)
        products = found.astype(np.float32) * (steps * query.step)
        margin = errors + lengths * query.error + np.float32(_ROUNDING)
        return products - margin, products + margin


def quantised_query(unit: Float32s, levels: int) -> _QuantisedQuery:
    """Return a vector of length 1 as `_QuantisedBlock.bounds` takes it: at most so many
    steps from zero.
    """
    offset = levels + 1
    step = np.abs(unit).max() / np.float32(levels)
    steps = np.rint(unit / step)
    return _QuantisedQuery(
        digits=(steps + offset).astype(np.uint8).reshape(1, -1),
        offset=offset,
        step=step,
        error=np.linalg.norm(unit - steps * step),
    )


def quantised_block(rows: Float32s) -> _QuantisedBlock:
    """Return a block of these rows, which have a length of about 1."""
    steps = np.abs(rows).max(axis=1) / np.float32(_LEVELS)
    levels = np.rint(rows / steps[:, np.newaxis])
    kept = levels * steps[:, np.newaxis]
    sums = levels.sum(axis=1)
    scales = np.stack([steps, sums, _lengths(kept), _lengths(rows - kept)])
    columns = np.ascontiguousarray(levels.astype(np.int8).T)
    return _QuantisedBlock(columns, scales.astype(np.float32))


def _lengths(rows: Float32s) -> Float32s:
    # a fifth of the time of `np.linalg.norm(rows, axis=1)`
    lengths: Float32s = np.sqrt(np.vecdot(rows, rows))
    return lengths


@cache
def query_levels() -> int:
    """Return how many steps from zero a value of a query may have, so that this
    processor's products are right.
    """
    query = np.full((1, 64), 2 * _LEVELS + 1, np.uint8)
    rows = np.full((64, 64), _LEVELS, np.int8)
    [[found]] = _session().run(None, {"query": query, "rows": rows})
    is_exact = (found == 64 * _LEVELS * (2 * _LEVELS + 1)).all()
    return _LEVELS if is_exact else _FEWER_LEVELS


@cache
def _session() -> "onnxruntime.InferenceSession":
    """Return a session that multiplies a row of digits by the columns of a block."""
    import onnxruntime
    from onnx import TensorProto, helper

    tensor = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["query", "rows"], ["products"])],
        "products",
        [
            tensor("query", TensorProto.UINT8, [1, "dim"]),
            tensor("rows", TensorProto.INT8, ["dim", "count"]),
        ],
        [tensor("products", TensorProto.INT32, [1, "count"])],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = (
        1  # idle threads of the runtime spin
    )
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


_BATCH_ROWS = 4096
# filtered rows: reading all takes 2 ms, the bounds of 100,000 take 4 ms
_READ_BELOW = 500
_READ_BELOW_SHARE = 0.008  # of all rows, for the same reason

_NAMES = ("vector_ns", "vector_levels", "vector_scales")


@dataclass(slots=True)
class VectorMatrix:
    """Every vector, in the order of document numbers: the newest as float32, the others
    in blocks of 8 bits a value. `maps_saved`: the first blocks are the saved ones.
    """

    connection: sqlite3.Connection
    maps_saved: bool = True
    dim: int = 0
    count: int = 0
    _ns: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    # rows that are in no block yet
    _tail: Float32s = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    _tail_count: int = 0
    _blocks: list[_QuantisedBlock] = field(default_factory=list)

    def refresh(self, dim: int) -> None:
        """Read new vectors; deleted ones stay until the process ends and are masked."""
        if dim != self.dim:
            self._reset(dim)
        last_n = 0
        if self.count:
            last_n = int(self._ns[self.count - 1])
        cursor = self.connection.execute(
            "SELECT n, vector FROM vectors WHERE n > ? ORDER BY n", (last_n,)
        )
        while rows := cursor.fetchmany(_BATCH_ROWS):
            ns, vectors = zip(*rows, strict=True)
            self._add(np.array(ns), _unpacked(vectors, dim))

    def _reset(self, dim: int) -> None:
        self.dim = dim
        self.count = 0
        self._tail_count = 0
        self._tail = np.zeros((BLOCK_ROWS + _BATCH_ROWS, dim), np.float32)
        self._blocks.clear()
        found = saved_arrays(self.connection, _NAMES) if self.maps_saved else None
        if found is None:
            return
        ns, levels, scales = (found[name] for name in _NAMES)
        self._blocks.extend(map(_QuantisedBlock, levels, scales))
        self._ns = np.concatenate(ns)
        self.count = len(self._ns)

    def arrays(self) -> Arrays:
        """Return the blocks, to be saved; none without a block."""
        if not self._blocks:
            return {}
        in_blocks = self.count - self._tail_count
        levels = [block.levels for block in self._blocks]
        scales = [block.scales for block in self._blocks]
        ns = np.split(self._ns[:in_blocks], len(self._blocks))
        return dict(zip(_NAMES, (ns, levels, scales), strict=True))

    def share_of(self, is_alive: Bools) -> float:
        """Return which share of the vectors is of documents of a mask by number."""
        if not self.count:
            return 1.0
        return float(is_alive.take(self._ns[: self.count]).mean())

    def _add(self, ns: Int64s, rows: Float32s) -> None:
        end = self.count + len(ns)
        if end > len(self._ns):
            room = np.zeros(self.count // 4 + len(ns), np.int64)
            self._ns = np.concatenate([self._ns[: self.count], room])
        self._ns[self.count : end] = ns
        self.count = end
        tail_end = self._tail_count + len(ns)
        self._tail[self._tail_count : tail_end] = rows
        self._tail_count = tail_end
        while self._tail_count >= BLOCK_ROWS:
            self._make_block()

    def _make_block(self) -> None:
        """Move the oldest rows of the tail into a block."""
        block = quantised_block(self._tail[:BLOCK_ROWS])
        rest = self._tail[BLOCK_ROWS : self._tail_count]
        self._blocks.append(block)
        self._tail[: len(rest)] = rest
        self._tail_count = len(rest)

    def nearest(
        self, query: Sequence[float], mask: Bools, limit: int
    ) -> tuple[Int64s, Float32s]:
        """Return the numbers and cosines of the nearest documents that pass the mask,
        best first.
        """
        ns = self._ns[: self.count]
        unit = np.asarray(unit_vectors([query])[0], np.float32)
        is_passing = mask.take(ns)
        at = np.flatnonzero(is_passing)
        few = max(limit, _READ_BELOW, _READ_BELOW_SHARE * self.count)
        if self._blocks and len(at) > few:
            at = self._contenders(unit, is_passing, limit)
        cosines: Float32s = np.vecdot(self._rows(at), unit)
        best = _best(cosines, limit)
        return ns[at[best]], cosines[best]

    def _rows(self, at: Int64s) -> Float32s:
        """Return the vectors of these rows, ascending: those of blocks from the file, the
        newest from memory.
        """
        in_blocks = self.count - self._tail_count
        first_newest = np.searchsorted(at, in_blocks)
        stored = self._read(self._ns[at[:first_newest]])
        newest = self._tail[at[first_newest:] - in_blocks]
        return np.concatenate([stored, newest])

    def _read(self, ns: Int64s) -> Float32s:
        if not len(ns):
            return np.empty((0, self.dim), np.float32)
        find = "SELECT vector FROM vectors WHERE n IN (SELECT value FROM json_each(?)) ORDER BY n"
        listed = json.dumps(ns.tolist())
        rows = self.connection.execute(find, (listed,))
        vectors = [packed for (packed,) in rows]
        return _unpacked(vectors, self.dim)

    def _contenders(self, unit: Float32s, is_passing: Bools, limit: int) -> Int64s:
        """Return the rows that may be among the nearest: those whose upper bound
        reaches the `limit`-th lower bound.
        """
        query = quantised_query(unit, query_levels())
        bounds = [block.bounds(query) for block in self._blocks]
        exact = np.vecdot(self._tail[: self._tail_count], unit)
        bounds.append((exact, exact))
        lower = np.concatenate([low for low, _ in bounds])
        upper = np.concatenate([high for _, high in bounds])
        lower[~is_passing] = -np.inf
        least = _nth_highest(lower, limit)
        return np.flatnonzero(is_passing & (upper >= least))


def erase(connection: sqlite3.Connection, ns: Sequence[int]) -> None:
    """Overwrite the saved vectors of these documents with zeros that stand for any
    vector: a document that is stored still is read as one that may be among the nearest.
    """
    saved_ns, levels, scales = (changeable_array(connection, name) for name in _NAMES)
    if saved_ns is None or levels is None or scales is None:
        return
    sorted_ns = saved_ns.reshape(-1)
    places = np.searchsorted(sorted_ns, ns)
    rows = saved_ns.shape[1]
    for n, place in zip(ns, places.tolist(), strict=True):
        if place == len(sorted_ns) or sorted_ns[place] != n:
            continue
        block, row = divmod(place, rows)
        scales[block, _ERROR, row] = _UNKNOWN_ERROR  # first, for concurrent readers
        scales[block, :_ERROR, row] = 0
        levels[block, :, row] = 0


def _unpacked(vectors: Sequence[bytes], dim: int) -> Float32s:
    values = np.frombuffer(b"".join(vectors), "<f2")
    return values.reshape(-1, dim).astype(np.float32)


def _nth_highest(values: Float32s, n: int) -> np.float32:
    at = len(values) - n
    nth: np.float32 = np.partition(values, at)[at]
    return nth


def _best(cosines: Float32s, limit: int) -> Int64s:
    """Return the positions of the highest values, best first; of equal values the
    newest document first.
    """
    at = np.arange(len(cosines))
    if len(cosines) > limit:
        lowest = _nth_highest(cosines, limit)
        at = np.flatnonzero(cosines >= lowest)
    order = np.lexsort((-at, -cosines[at]))
    return at[order][:limit]


def packed_vectors(vectors: Sequence[Sequence[float] | None]) -> list[bytes | None]:
    """Return unit vectors as the file stores them; None for None and for a vector
    without a direction.
    """
    packed: list[bytes | None] = []
    for unit in unit_vectors(vectors):
        if unit is None:
            packed.append(None)
        else:
            packed.append(unit.astype("<f2").tobytes())
    return packed
