"""Compute unit vectors of texts with an exported model.

Imports only tokenizers, numpy and onnxruntime, at first use.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from news_assets.clients.embedding.exported_models import (
    GRAPH_FILE,
    TOKENIZER_FILE,
    about_model,
    exported_model,
)
from news_assets.clients.embedding.unigram import UnigramTokenizer
from news_assets.errors import EmbedError
from news_assets.ports.search_index import Embedder
from news_assets.records.reading import Embedded

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import onnxruntime  # type: ignore[import-untyped]  # it ships no types

    Vectors = npt.NDArray[np.float32]

# On a Zen 3 core texts of 256 tokens are as fast one at a time as in pairs, and a tenth
# faster than in eights: the activations between two layers have to stay in the cache.
_BATCH_TOKENS = 256
# Tokenising 1 MB takes a second. Languages have 2 to 5 characters per token, so this is
# far beyond the model's limit.
_MAX_CHARS_PER_TOKEN = 64
_TOKENISED_TEXTS = 64  # complete token lists in memory at a time


@dataclass(frozen=True, slots=True)
class _Tokens:
    """Token ids of one text up to the model's limit, and the token count of the whole
    text.
    """

    ids: list[int]
    count: int


class OnnxEmbedder:
    """A sentence-transformers model run by onnxruntime. Thread-safe.

    `model` is the name stored with each vector, `dim` the number of dimensions.
    """

    def __init__(self, folder: Path, threads: int) -> None:
        about = about_model(folder)
        self.model = about.model
        self.dim = about.dim
        self._about = about
        self._threads = threads
        self._tokenizer = _load_tokenizer(folder / TOKENIZER_FILE)
        self._tail_count = self._tokenizer.tail_count
        self._session = _load_session(folder / GRAPH_FILE)

    @classmethod
    def open(cls, model: str, models_dir: Path, threads: int) -> Self:
        """Return the model of this name or folder. Its first use exports it to
        `models_dir`, which takes seconds.

        Raises:
            EmbedError: The model does not exist, or cannot be exported or loaded.
        """
        folder = exported_model(model, models_dir)
        return cls(folder, threads)

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Return one unit vector per passage, in order.

        `token_count` is the length of the whole text with the model's prompt and
        special tokens; a text that exceeds the model's limit is cut. Of a text longer
        than _MAX_CHARS_PER_TOKEN characters per token of that limit only the beginning
        is tokenised, and its count is extrapolated. A lone surrogate is read as `?`.

        Raises:
            EmbedError: A text is blank, which has no vector, or the model failed.
        """
        return self._embed(texts, self._about.passage_prompt)

    def embed_query(self, query: str) -> Embedded:
        """Return the unit vector of a query, with the prompt that the model expects
        before queries.

        Raises:
            EmbedError: As for `embed`.
        """
        [embedded] = self._embed([query], self._about.query_prompt)
        return embedded

    def _embed(self, texts: Sequence[str], prompt: str) -> list[Embedded]:
        _refuse_blank(texts)
        if not texts:
            return []
        tokens: list[_Tokens] = []
        for start in range(0, len(texts), _TOKENISED_TEXTS):
            some = texts[start : start + _TOKENISED_TEXTS]
            tokens += self._tokens([prompt + _encodable(text) for text in some])
        vectors = self._vectors([one.ids for one in tokens])
        embedded: list[Embedded] = []
        for vector, one in zip(vectors, tokens, strict=True):
            is_cut = one.count > self._about.max_tokens
            embedded.append(Embedded(tuple(vector), one.count, is_cut))
        return embedded

    def _tokens(self, texts: Sequence[str]) -> list[_Tokens]:
        max_tokens = self._about.max_tokens
        heads = [_head(text, _MAX_CHARS_PER_TOKEN * max_tokens) for text in texts]
        ids_of_heads = self._tokenizer.encode(heads)
        tokens: list[_Tokens] = []
        for text, head, ids in zip(texts, heads, ids_of_heads, strict=True):
            count = len(ids)
            if count >= max_tokens:
                count = count * len(text) // len(head)
            elif head != text:
                [ids] = self._tokenizer.encode([text])
                count = len(ids)
            tokens.append(self._cut(ids, count))
        return tokens

    def _cut(self, ids: list[int], count: int) -> _Tokens:
        """Keep the beginning of a text and the special tokens at its end, as
        sentence-transformers does.
        """
        limit = self._about.max_tokens
        if len(ids) <= limit:
            return _Tokens(ids, count)
        tail = len(ids) - self._tail_count
        kept = limit - self._tail_count
        return _Tokens(ids[:kept] + ids[tail:], count)

    def _vectors(self, texts: Sequence[list[int]]) -> list[list[float]]:
        """Run texts of equal length in batches, without padding, each thread its own
        batches.

        onnxruntime's own threads share one matrix product and wait for each other: with
        other processes on the cores that took twice as long as one thread.
        """
        import numpy as np

        vectors = np.empty((len(texts), self.dim), np.float32)

        def run(batch: list[int]) -> None:
            ids = [texts[position] for position in batch]
            vectors[batch] = self._run(np.array(ids, np.int64))

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
        except (
            onnx_errors.Fail,
            onnx_errors.InvalidArgument,
            onnx_errors.RuntimeException,
        ) as error:
            raise EmbedError(
                f"model {self.model} failed on {ids.shape[0]} texts: {_first_line(error)}"
            ) from error
        return vectors  # type: ignore[no-any-return]  # onnxruntime has no types

    def _unit(self, vectors: "Vectors") -> "Vectors":
        import numpy as np

        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        bad = np.flatnonzero(~(np.isfinite(lengths[:, 0]) & (lengths[:, 0] > 0)))
        if bad.size:
            raise EmbedError(
                f"model {self.model} returned no finite vector for text {bad[0]}"
            )
        return vectors / lengths  # type: ignore[no-any-return]  # numpy types it Any


def _refuse_blank(texts: Sequence[str]) -> None:
    blank = [str(position) for position, text in enumerate(texts) if not text.strip()]
    if blank:
        raise EmbedError(
            f"cannot embed blank text: {', '.join(blank[:5])} of {len(texts)} (counted from 0)"
        )


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _head(text: str, chars: int) -> str:
    """Return the beginning of a long text, up to its last whole word."""
    if len(text) <= chars:
        return text
    head = text[:chars]
    if not head.strip():
        return head
    return head.rsplit(maxsplit=1)[0]


def _batches(texts: Sequence[list[int]]) -> Iterator[list[int]]:
    """Yield positions of texts of equal length, longest first, as many as fit a batch."""
    of_length: dict[int, list[int]] = {}
    for position, ids in enumerate(texts):
        of_length.setdefault(len(ids), []).append(position)
    for length in sorted(of_length, reverse=True):
        positions = of_length[length]
        size = max(1, _BATCH_TOKENS // length)
        for start in range(0, len(positions), size):
            yield positions[start : start + size]


class _PackageTokenizer:
    """A tokenizer of the package `tokenizers`, with the methods of `UnigramTokenizer`."""

    def __init__(self, path: Path) -> None:
        import tokenizers

        self._tokenizer = tokenizers.Tokenizer.from_file(str(path))
        is_special = self._tokenizer.encode("a").special_tokens_mask
        is_special.reverse()
        # they are kept when a text is cut
        self.tail_count = 0
        if 0 in is_special:
            self.tail_count = is_special.index(0)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        encoded = self._tokenizer.encode_batch_fast(list(texts))
        return [encoding.ids for encoding in encoded]


def _load_tokenizer(path: Path) -> UnigramTokenizer | _PackageTokenizer:
    return UnigramTokenizer.load(path) or _PackageTokenizer(path)


def _load_session(path: Path) -> "onnxruntime.InferenceSession":
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as onnx_errors

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # it keeps what the longest texts took, 40 MB, and is no faster
    options.enable_cpu_mem_arena = False
    # done by the export
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    )
    try:
        return onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
    except (
        onnx_errors.Fail,
        onnx_errors.InvalidGraph,
        onnx_errors.InvalidProtobuf,
        onnx_errors.NotImplemented,
    ) as error:
        reason = (
            f"{path} cannot be loaded: {_first_line(error)}; "
            "delete its folder to export it again"
        )
        raise EmbedError(reason) from error


def _first_line(error: BaseException) -> str:
    text = str(error).strip()
    if not text:
        return type(error).__name__
    return text.splitlines()[0]


RECENT_TEXTS = 2048  # with texts of 4,000 characters 12 MB


class RecentEmbedder:
    """An embedder that keeps the vectors of the passages that it was given last, up to
    RECENT_TEXTS. Thread-safe if the embedder is.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.model = embedder.model
        self.dim = embedder.dim
        self._embedder = embedder
        self._recent: OrderedDict[str, tuple[npt.NDArray[np.float32], Embedded]] = (
            OrderedDict()
        )
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Return one unit vector per passage, in order. Raises EmbedError."""
        with self._lock:
            found = {text: self._known(text) for text in texts if text in self._recent}
        missing = list(dict.fromkeys(text for text in texts if text not in found))
        if missing:
            made = dict(zip(missing, self._embedder.embed(missing), strict=True))
            found |= made
            self._keep(made)
        return [found[text] for text in texts]

    def embed_query(self, query: str) -> Embedded:
        """Return the unit vector of a query. Raises EmbedError."""
        return self._embedder.embed_query(query)

    def _known(self, text: str) -> Embedded:
        vector, about = self._recent[text]
        values = tuple(vector.tolist())
        return Embedded(values, about.token_count, about.is_cut)

    def _keep(self, made: dict[str, Embedded]) -> None:
        import numpy as np

        with self._lock:
            for text, one in made.items():
                # arrays take an eighth of the memory of tuples
                vector = np.array(one.vector, np.float32)
                self._recent[text] = vector, Embedded((), one.token_count, one.is_cut)
            while len(self._recent) > RECENT_TEXTS:
                self._recent.popitem(last=False)
