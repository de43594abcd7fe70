"""The tokenizer in little memory gives what `tokenizers` gives."""

import json
from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from news_assets.clients.embedding.unigram import UnigramTokenizer, is_unigram

LETTERS = "abcé\u2581漢"
PIECES = st.dictionaries(
    st.text(LETTERS, min_size=1, max_size=5),
    st.floats(-20, -0.1),
    min_size=1,
    max_size=40,
)


def saved(pieces: list[tuple[str, float]], path: Path) -> Tokenizer:
    made = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=False))
    made.normalizer = normalizers.Sequence(
        [
            normalizers.Nmt(),
            normalizers.NFKC(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    special = [("<s>", 1), ("</s>", 2)]
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=special
    )
    made.save(str(path))
    return made


@settings(deadline=None, max_examples=60)
@given(
    PIECES,
    st.lists(st.text(LETTERS + "dz <s>\x00\ufdfa\u0301", max_size=30), max_size=5),
)
def test_any_text_is_divided_as_by_the_package(
    tmp_path_factory: pytest.TempPathFactory, pieces: dict[str, float], texts: list[str]
) -> None:
    path = tmp_path_factory.getbasetemp() / "unigram.json"
    named = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), *pieces.items()]
    package = saved(named, path)
    config = json.loads(path.read_bytes())
    assert is_unigram(config)
    own = UnigramTokenizer(config)
    assert own.encode(texts) == [one.ids for one in package.encode_batch_fast(texts)]
    assert own.tail_count == 1


def test_other_tokenizers_are_left_to_the_package(tmp_path: Path) -> None:
    other = tokenizers.Tokenizer(models.BPE())
    other.save(str(tmp_path / "other.json"))
    assert not is_unigram(json.loads((tmp_path / "other.json").read_bytes()))
