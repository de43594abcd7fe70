"""The tokenizer in little memory gives what `tokenizers` gives."""

from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from news_assets.clients.embedding.unigram import UnigramTokenizer

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
    Path(f"{path}.pieces").unlink(missing_ok=True)
    for _ in ("from the file of the package", "from the stored pieces"):
        own = UnigramTokenizer.load(path)
        assert own is not None
        assert own.encode(texts) == [
            one.ids for one in package.encode_batch_fast(texts)
        ]
        assert own.tail_count == 1


def test_other_tokenizers_are_left_to_the_package(tmp_path: Path) -> None:
    other = tokenizers.Tokenizer(models.BPE())
    other.save(str(tmp_path / "other.json"))
    assert UnigramTokenizer.load(tmp_path / "other.json") is None


PLAIN = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), ("a", -1.0), ("b", -2.0)]


def ids_of(path: Path) -> list[list[int]]:
    tokenizer = UnigramTokenizer.load(path)
    assert tokenizer is not None
    return tokenizer.encode(["ab"])


@pytest.mark.parametrize(
    "damage", [b"", b"{}\n", b"[1]\n", b'{"of": [1], "count": 2}\n']
)
def test_pieces_that_cannot_be_read_are_stored_again(
    tmp_path: Path, damage: bytes
) -> None:
    path = tmp_path / "unigram.json"
    saved(PLAIN, path)
    ids, pieces = ids_of(path), (tmp_path / "unigram.json.pieces").read_bytes()
    (tmp_path / "unigram.json.pieces").write_bytes(damage)
    assert ids_of(path) == ids
    assert (tmp_path / "unigram.json.pieces").read_bytes() == pieces


def test_pieces_of_another_file_are_not_used(tmp_path: Path) -> None:
    path = tmp_path / "unigram.json"
    saved(PLAIN, path)
    before = ids_of(path)
    saved([*PLAIN, ("ab", -0.5)], path)
    assert ids_of(path) != before
