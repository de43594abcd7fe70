"""Unit vectors of texts from an exported model: texts enter, `Embedded` leave, in the same order.

Only tokenizers, numpy and onnxruntime are imported here, and only at first use. Where a model comes from and how it is
exported is said in `embedding_models.py` and `onnx_export.py`; which texts are embedded, in `pipeline/embed.py`.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Self

from news_assets.clients.embedding.models import GRAPH_FILE, TOKENIZER_FILE, about_model, exported_model
from news_assets.errors import EmbedError
from news_assets.records import Embedded

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import onnxruntime  # type: ignore[import-untyped]  # it ships no types
    import tokenizers

    Vectors = npt.NDArray[np.float32]

# On a Zen 3 core texts of 256 tokens go as fast one by one as in twos, and a tenth faster than in eights: what passes
# between two layers has to stay in the cache.
BATCH_TOKENS = 256
# Tokenising 1 MB takes a second. Languages have 2 to 5 characters a token, so this lies far behind the model's limit.
SEEN_CHARS_PER_TOKEN = 64
TOKENISED_TEXTS = 64  # whole token lists held at a time


@dataclass(frozen=True, slots=True)
class _Tokens:
    """What the model reads of one text, and how many tokens the whole text has."""

    ids: list[int]
    count: int


class OnnxEmbedder:
    """A sentence-transformers model run by onnxruntime; threads may share it.

    `model` is the name that is stored with each vector, `dim` the vectors' length.
    """

    def __init__(self, folder: Path, threads: int) -> None:
        about = about_model(folder)
        self.model = about.model
        self.dim = about.dim
        self._about = about
        self._threads = threads
        self._tokenizer = _load_tokenizer(folder / TOKENIZER_FILE)
        self._tail_count = _tail_count(self._tokenizer)
        self._session = _load_session(folder / GRAPH_FILE)

    @classmethod
    def open(cls, model: str, models_dir: Path, threads: int) -> Self:
        """Return the model of this name or folder; at its first use it is exported to `models_dir`, in seconds.

        Raises:
            EmbedError: There is no such model, or it cannot be exported or loaded.
        """
        return cls(exported_model(model, models_dir), threads)

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Return one unit vector a passage, in order.

        `token_count` counts the whole text with the model's prompt and its special tokens: what exceeds the model's
        limit is cut. Of a text longer than SEEN_CHARS_PER_TOKEN characters for each token of that limit only the
        beginning is tokenised, and its count is projected. Half of a surrogate pair is read as `?`.

        Raises:
            EmbedError: A text is blank, which has no vector, or the model gave none.
        """
        return self._embed(texts, self._about.passage_prompt)

    def embed_query(self, query: str) -> Embedded:
        """Return the unit vector of a query, behind the prompt that the model expects there.

        Raises:
            EmbedError: As for `embed`.
        """
        return self._embed([query], self._about.query_prompt)[0]

    def _embed(self, texts: Sequence[str], prompt: str) -> list[Embedded]:
        _refuse_blank(texts)
        tokens: list[_Tokens] = []
        for start in range(0, len(texts), TOKENISED_TEXTS):
            tokens += self._tokens([prompt + _encodable(text) for text in texts[start : start + TOKENISED_TEXTS]])
        vectors = self._vectors([found.ids for found in tokens]) if tokens else []
        return [
            Embedded(tuple(vector), found.count, found.count > self._about.max_tokens)
            for vector, found in zip(vectors, tokens, strict=True)
        ]

    def _tokens(self, texts: Sequence[str]) -> list[_Tokens]:
        seen_chars = SEEN_CHARS_PER_TOKEN * self._about.max_tokens
        heads = [_head(text, seen_chars) for text in texts]
        found = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(heads)]
        return [
            self._cut(ids, len(ids) * len(text) // len(head))
            if len(ids) >= self._about.max_tokens
            else self._whole(text)
            for text, head, ids in zip(texts, heads, found, strict=True)
        ]

    def _whole(self, text: str) -> _Tokens:
        ids = self._tokenizer.encode_batch_fast([text])[0].ids
        return self._cut(ids, len(ids))

    def _cut(self, ids: list[int], count: int) -> _Tokens:
        """The beginning of a text and the special tokens behind it, as sentence-transformers cuts it."""
        limit = self._about.max_tokens
        if len(ids) <= limit:
            return _Tokens(ids, count)
        return _Tokens(ids[: limit - self._tail_count] + ids[len(ids) - self._tail_count :], count)

    def _vectors(self, texts: Sequence[list[int]]) -> list[list[float]]:
        """Texts of one length share a batch, so that nothing is padded; each thread runs batches of its own.

        Threads within one matrix product wait for each other: with other processes on the cores that took twice as
        long as one thread alone.
        """
        import numpy as np

        vectors = np.empty((len(texts), self.dim), np.float32)

        def run(batch: list[int]) -> None:
            vectors[batch] = self._run(np.array([texts[i] for i in batch], np.int64))

        batches = list(_batches(texts))
        if self._threads == 1 or len(batches) == 1:
            for batch in batches:
                run(batch)
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                list(pool.map(run, batches))
        return self._unit(vectors).tolist()  # type: ignore[no-any-return]  # numpy types it Any

    def _run(self, ids: "npt.NDArray[np.int64]") -> "Vectors":
        from onnxruntime.capi import onnxruntime_pybind11_state as onnx_errors  # type: ignore[import-untyped]

        try:
            (vectors,) = self._session.run(None, {"input_ids": ids})
        except (onnx_errors.Fail, onnx_errors.InvalidArgument, onnx_errors.RuntimeException) as error:
            raise EmbedError(f"model {self.model} failed on {ids.shape[0]} texts: {_first_line(error)}") from error
        return vectors  # type: ignore[no-any-return]  # onnxruntime has no types

    def _unit(self, vectors: "Vectors") -> "Vectors":
        import numpy as np

        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        bad = np.flatnonzero(~(np.isfinite(lengths[:, 0]) & (lengths[:, 0] > 0)))
        if bad.size:
            raise EmbedError(f"model {self.model} gave no finite vector for text {bad[0]}")
        return vectors / lengths  # type: ignore[no-any-return]  # numpy types it Any


def _refuse_blank(texts: Sequence[str]) -> None:
    blank = [str(position) for position, text in enumerate(texts) if not text.strip()]
    if blank:
        raise EmbedError(f"nothing to embed: text {', '.join(blank[:5])} of {len(texts)} (from 0) is blank")


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _head(text: str, chars: int) -> str:
    """The beginning of a long text, up to its last whole word."""
    if len(text) <= chars:
        return text
    head = text[:chars]
    return head.rsplit(maxsplit=1)[0] if head.strip() else head


def _batches(texts: Sequence[list[int]]) -> Iterator[list[int]]:
    """Positions of texts of one length, longest first, as many as fit a batch."""
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    for length, group in groupby(order, key=lambda i: len(texts[i])):
        positions = list(group)
        size = max(1, BATCH_TOKENS // length)
        yield from (positions[start : start + size] for start in range(0, len(positions), size))


def _load_tokenizer(path: Path) -> "tokenizers.Tokenizer":
    import tokenizers

    return tokenizers.Tokenizer.from_file(str(path))


def _tail_count(tokenizer: "tokenizers.Tokenizer") -> int:
    """How many special tokens stand behind a text; they stay when it is cut."""
    mask = tokenizer.encode("a").special_tokens_mask
    return mask[::-1].index(0) if 0 in mask else 0


def _load_session(path: Path) -> "onnxruntime.InferenceSession":
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as onnx_errors

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # it was when exported
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except (
        onnx_errors.Fail,
        onnx_errors.InvalidGraph,
        onnx_errors.InvalidProtobuf,
        onnx_errors.NotImplemented,
    ) as error:
        reason = f"{path} cannot be loaded: {_first_line(error)}; delete its folder to have it exported again"
        raise EmbedError(reason) from error


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
