"""Exact nearest neighbours: bounds of every vector are in memory, and the oldest
vectors up to `KEPT_BYTES`.

The bounds are a lower and an upper one of each vector's product with the query's, from
vectors of 8 bits a value. They leave a few hundred rows that may be among the nearest,
which are multiplied in float32. The result equals that of multiplying all rows.
1,000,000 vectors of 384 dimensions take 1.3 GB, 1 GB of it bounds: the runtime keeps
the 8-bit rows twice. The search file stores vectors as float16.

A block of 8,192 rows is an ONNX graph of one integer product, for which numpy has no
fast routine. 100,000 rows of 384 dimensions take 3 ms on one core; as float32 they take
8 ms, because four times the bytes are read.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from news_assets.clients.search.embedded.document_table import Bools
from news_assets.clients.search.embedded.terms import Int64s
from news_assets.clients.search.index_texts import unit_vectors

if TYPE_CHECKING:
    import onnxruntime  # type: ignore[import-untyped]  # it ships no types


Float32s = npt.NDArray[np.float32]

# quantised in 20 ms; as many rows that are in no block yet are multiplied exactly in
# 0.7 ms
BLOCK_ROWS = 8_192

_ROW_LEVELS = 127
# some processors add two products in 16 bits, into which 2 * 127 * (64 + 63) fits
_QUERY_LEVELS = 63
_QUERY_ZERO = 64
# the second digit costs .4 ms and leaves a third as many rows to multiply
_FINE = np.float32(2 * _QUERY_LEVELS)
_ROUNDING = 1e-5  # above the rounding error of float32 sums, for vectors of length 1
_OPSET, _IR_VERSION = 17, 8  # every onnxruntime version that is allowed reads these


@dataclass(frozen=True, slots=True)
class _QuantisedQuery:
    """A vector of length 1 as two digits times a step; `error` is the length of the
    remainder.
    """

    digits: npt.NDArray[np.uint8]
    step: np.float32
    error: np.float32


@dataclass(frozen=True, slots=True)
class _QuantisedBlock:
    """Rows as integer multiples of a step per row; `errors` are the lengths of the
    remainders.
    """

    session: "onnxruntime.InferenceSession"
    steps: Float32s
    lengths: Float32s
    errors: Float32s

    def bounds(self, query: _QuantisedQuery) -> tuple[Float32s, Float32s]:
        """Return a lower and an upper bound of each row's product with the query
        (Cauchy-Schwarz).
        """
        [found] = self.session.run(None, {"query": query.digits})
        coarse, fine = found.astype(np.float32)
        products = (coarse + fine / _FINE) * (self.steps * query.step)
        margin = self.errors + self.lengths * query.error
        margin += np.float32(_ROUNDING)
        return products - margin, products + margin


def quantised_query(unit: Float32s) -> _QuantisedQuery:
    """Return a vector of length 1 as `_QuantisedBlock.bounds` takes it."""
    step = np.abs(unit).max() / np.float32(_QUERY_LEVELS)
    coarse = np.rint(unit / step)
    fine = np.rint((unit / step - coarse) * _FINE)
    return _QuantisedQuery(
        digits=(np.stack([coarse, fine]) + _QUERY_ZERO).astype(np.uint8),
        step=step,
        error=np.linalg.norm(unit - (coarse + fine / _FINE) * step),
    )


def quantised_block(rows: Float32s) -> _QuantisedBlock:
    """Return a block of these rows, which have a length of about 1."""
    steps = np.abs(rows).max(axis=1, keepdims=True) / np.float32(_ROW_LEVELS)
    levels = np.rint(rows / steps)
    kept = levels * steps
    return _QuantisedBlock(
        session=_session(levels.astype(np.int8)),
        steps=steps[:, 0],
        lengths=_lengths(kept),
        errors=_lengths(rows - kept),
    )


def _lengths(rows: Float32s) -> Float32s:
    # a fifth of the time of `np.linalg.norm(rows, axis=1)`
    lengths: Float32s = np.sqrt(np.vecdot(rows, rows))
    return lengths


def _session(levels: npt.NDArray[np.int8]) -> "onnxruntime.InferenceSession":
    """Return a session that multiplies by these rows; the runtime packs them for the
    processor once.
    """
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    count, dim = levels.shape
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["query", "rows", "zero"], ["products"])],
        "products",
        [helper.make_tensor_value_info("query", TensorProto.UINT8, [2, dim])],
        [helper.make_tensor_value_info("products", TensorProto.INT32, [2, count])],
        [
            numpy_helper.from_array(np.ascontiguousarray(levels.T), "rows"),
            numpy_helper.from_array(np.array(_QUERY_ZERO, np.uint8), "zero"),
        ],
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


# of float16 vectors; 300 rows take 3 ms from the file, .3 ms from memory
KEPT_BYTES = 256 * 2**20

_BATCH_ROWS = 4096
# filtered rows: reading all takes 2 ms, the bounds of 100,000 take 4 ms
_READ_BELOW = 500
_READ_BELOW_SHARE = 0.008  # of all rows, for the same reason


@dataclass(slots=True)
class VectorMatrix:
    """Every vector, in the order of document numbers: the newest as float32, the others
    in blocks of 8 bits a value.
    """

    connection: sqlite3.Connection
    dim: int = 0
    count: int = 0
    _ns: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    # the oldest rows
    _kept: npt.NDArray[np.float16] = field(
        default_factory=lambda: np.zeros((0, 0), np.float16)
    )
    _kept_count: int = 0
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
        self._kept_count = 0
        self._tail_count = 0
        self._kept = np.zeros((0, dim), np.float16)
        self._tail = np.zeros((BLOCK_ROWS + _BATCH_ROWS, dim), np.float32)
        self._blocks.clear()

    def _add(self, ns: Int64s, rows: Float32s) -> None:
        self._keep(rows)
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

    def _keep(self, rows: Float32s) -> None:
        end = self.count + len(rows)
        if self._kept_count < self.count:
            return  # an earlier row was not kept, and the kept rows are the oldest
        if end * self.dim * self._kept.itemsize > KEPT_BYTES:
            return
        if end > len(self._kept):
            room = np.zeros((end // 4 + len(rows), self.dim), np.float16)
            self._kept = np.concatenate([self._kept[: self.count], room])
        self._kept[self.count : end] = rows
        self._kept_count = end

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
        """Return the vectors of these rows, ascending: the oldest and newest from
        memory, the others from the file.
        """
        in_blocks = self.count - self._tail_count
        kept_count = min(self._kept_count, in_blocks)
        first_stored, first_newest = np.searchsorted(at, [kept_count, in_blocks])
        oldest = at[:first_stored]
        stored = at[first_stored:first_newest]
        newest = at[first_newest:] - in_blocks
        return np.concatenate(
            [
                self._kept[oldest].astype(np.float32),
                self._read(self._ns[stored]),
                self._tail[newest],
            ]
        )

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
        quantised = quantised_query(unit)
        lower: list[Float32s] = []
        upper: list[Float32s] = []
        for block in self._blocks:
            low, high = block.bounds(quantised)
            lower.append(low)
            upper.append(high)
        exact = np.vecdot(self._tail[: self._tail_count], unit)
        lowest = np.concatenate([*lower, exact])
        highest = np.concatenate([*upper, exact])
        passing = np.where(is_passing, lowest, np.float32(-np.inf))
        least = _nth_highest(passing, limit)
        return np.flatnonzero(is_passing & (highest >= least))


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
