"""Lower and upper bounds of the products of many vectors with a query's vector, from
vectors of 8 bits a value.

`vectors.py` multiplies exactly only the rows that may be among the nearest by their
bounds.

A block of 8,192 rows is an ONNX graph of one integer product, for which numpy has no
fast routine. 100,000 rows of 384 dimensions take 3 ms on one core; as float32 they take
8 ms, because four times the bytes are read.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

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
_FINE = np.float32(
    2 * _QUERY_LEVELS
)  # the second digit costs .4 ms and leaves a third as many rows to multiply
_ROUNDING = 1e-5  # above the rounding error of float32 sums, for vectors of length 1
_OPSET, _IR_VERSION = 17, 8  # every onnxruntime version that is allowed reads these


@dataclass(frozen=True, slots=True)
class QuantisedQuery:
    """A vector of length 1 as two digits times a step; `error` is the length of the
    remainder.
    """

    digits: npt.NDArray[np.uint8]
    step: np.float32
    error: np.float32


@dataclass(frozen=True, slots=True)
class QuantisedBlock:
    """Rows as integer multiples of a step per row; `errors` are the lengths of the
    remainders.
    """

    session: "onnxruntime.InferenceSession"
    steps: Float32s
    lengths: Float32s
    errors: Float32s

    def bounds(self, query: QuantisedQuery) -> tuple[Float32s, Float32s]:
        """Return a lower and an upper bound of each row's product with the query
        (Cauchy-Schwarz).
        """
        digits = self.session.run(None, {"query": query.digits})[0].astype(np.float32)
        products = (digits[0] + digits[1] / _FINE) * (self.steps * query.step)
        margin = self.errors + self.lengths * query.error + np.float32(_ROUNDING)
        return products - margin, products + margin


def quantised_query(unit: Float32s) -> QuantisedQuery:
    """Return a vector of length 1 as `QuantisedBlock.bounds` takes it."""
    step = np.abs(unit).max() / np.float32(_QUERY_LEVELS)
    coarse = np.rint(unit / step)
    fine = np.rint((unit / step - coarse) * _FINE)
    return QuantisedQuery(
        digits=(np.stack([coarse, fine]) + _QUERY_ZERO).astype(np.uint8),
        step=step,
        error=np.linalg.norm(unit - (coarse + fine / _FINE) * step),
    )


def quantised_block(rows: Float32s) -> QuantisedBlock:
    """Return a block of these rows, which have a length of about 1."""
    steps = np.abs(rows).max(axis=1, keepdims=True) / np.float32(_ROW_LEVELS)
    levels = np.rint(rows / steps)
    kept = levels * steps
    return QuantisedBlock(
        session=_session(levels.astype(np.int8)),
        steps=steps[:, 0],
        lengths=_lengths(kept),
        errors=_lengths(rows - kept),
    )


def _lengths(rows: Float32s) -> Float32s:
    lengths: Float32s = np.sqrt(
        np.vecdot(rows, rows)
    )  # a fifth of the time of `np.linalg.norm(rows, axis=1)`
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
