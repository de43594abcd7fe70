"""Token ids of a unigram model (SentencePiece), as the package `tokenizers` finds them,
in a thirtieth of its memory.

The 250,000 pieces of multilingual-e5-small take 290 MB in `tokenizers`, which keeps a
hash table for each node of their tree: more than the rest of a server or worker. Texts
are normalised and split into words by that package; only the best way to divide a word
into pieces is found here, once for each word. Of a piece only a hash of 64 bits is
kept: another string has that of one of the pieces with a chance of 10^-13.

To read the pieces from the file of `tokenizers` takes 1.5 s of processor time. So they
are also kept in a file as they are used, which is mapped: all processes share it, and a
new one begins at once.
"""

import json
import mmap
import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Self

_FORMAT: Final = 1  # of the file of pieces
_SUFFIX: Final = ".pieces"
_ALIGNED: Final = 8  # bytes
_UNKNOWN_PENALTY: Final = 10.0  # of SentencePiece: below the lowest score of a piece
_KEPT_WORDS: Final = 20_000
_MAX_KEPT_CHARS: Final = 40
# the largest that fits the file's signed numbers; hashes are remainders
_PRIME: Final = 2**63 - 25


class UnigramTokenizer:
    """A tokenizer of `facts` and packed pieces, as `_packed` returns them."""

    def __init__(self, facts: Mapping[str, Any], pieces: memoryview) -> None:
        import tokenizers

        hashes_end = 8 * facts["count"]
        scores_end = 16 * facts["count"]
        ids_end = 20 * facts["count"]
        self._hashes = pieces[:hashes_end].cast("q")
        self._scores = pieces[hashes_end:scores_end].cast("d")  # by id
        # by the hashes of their pieces
        self._ids = pieces[scores_end:ids_end].cast("i")
        self._unknown = facts["unknown"]
        self._unknown_score = facts["unknown_score"]
        self._longest = facts["longest"]
        self._before = facts["before"]
        self._after = facts["after"]
        splitter = tokenizers.Tokenizer.from_str(json.dumps(facts["config"]))
        self._normalizer = splitter.normalizer
        self._splitter = splitter.pre_tokenizer
        self._kept = lru_cache(_KEPT_WORDS)(self._divided)

    @classmethod
    def load(cls, path: Path) -> Self | None:
        """Return the tokenizer of a file of `tokenizers`; None if it is of another
        kind.

        The pieces are stored beside it at the first time, where the folder can be
        written.
        """
        if found := _stored(path):
            return cls(*found)
        config = json.loads(path.read_bytes())
        if not _is_unigram(config):
            return None
        facts, pieces = _packed(config)
        with suppress(OSError):
            _store(path, facts, pieces)
        return cls(facts, memoryview(pieces))

    @property
    def tail_count(self) -> int:
        """The number of special tokens at the end of a text."""
        return len(self._after)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of the tokens of each text, with the special ones."""
        encoded = []
        for text in texts:
            ids = self._of_text(text)
            encoded.append([*self._before, *ids, *self._after])
        return encoded

    def _of_text(self, text: str) -> list[int]:
        normalised = self._normalizer.normalize_str(text)
        ids: list[int] = []
        for word, _ in self._splitter.pre_tokenize_str(normalised):
            if len(word) <= _MAX_KEPT_CHARS:
                ids += self._kept(word)
            else:
                ids += self._divided(word)
        return ids

    def _id_of(self, piece: str) -> int | None:
        hashed = _hash(piece)
        at = bisect_left(self._hashes, hashed)
        if at == len(self._hashes):
            return None
        if self._hashes[at] != hashed:
            return None
        return self._ids[at]

    def _divided(self, word: str) -> tuple[int, ...]:
        """Return the ids of the pieces with the greatest sum of scores; a character
        without a piece is unknown.
        """
        begins, last = self._best_pieces(word)
        pieces = list[int]()
        following: int | None = None
        end = len(word)
        while end > 0:
            piece = last[end]
            # Unknown characters that follow each other are one token.
            if piece != self._unknown or following != self._unknown:
                pieces.append(piece)
            following = piece
            end = begins[end]
        return tuple(reversed(pieces))

    def _best_pieces(self, word: str) -> tuple[list[int], list[int]]:
        """Return where the last piece of the best division up to each position begins,
        and its id.
        """
        size = len(word)
        best = [0.0] * (size + 1)  # sums of scores
        begins = [-1] * (size + 1)
        last = [self._unknown] * (size + 1)
        for start in range(size):
            for end in range(start + 1, min(start + self._longest, size) + 1):
                number = self._id_of(word[start:end])
                if number is not None:
                    score = best[start] + self._scores[number]
                elif end == start + 1:
                    number = self._unknown
                    score = best[start] + self._unknown_score
                else:
                    continue
                if begins[end] < 0 or score > best[end]:
                    best[end], begins[end], last[end] = score, start, number
        return begins, last


def _hash(piece: str) -> int:
    # Python's own hashes differ from process to process.
    return int.from_bytes(b"\1" + piece.encode()) % _PRIME


def _packed(config: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Return the facts and the pieces of the JSON of a file of `tokenizers`."""
    model = config["model"]
    vocabulary = model["vocab"]
    unknown = int(model["unk_id"])
    scores = array("d", (score for _, score in vocabulary))
    hashes = array("q", (_hash(piece) for piece, _ in vocabulary))
    ids = array("i", sorted(range(len(hashes)), key=hashes.__getitem__))
    before, after = _special_ids(config["post_processor"])
    facts = {
        "count": len(vocabulary),
        "unknown": unknown,
        "unknown_score": min(scores) - _UNKNOWN_PENALTY,
        "longest": max(len(piece) for piece, _ in vocabulary),
        "before": before,
        "after": after,
        "config": {
            **config,
            "model": {**model, "vocab": [vocabulary[unknown]], "unk_id": 0},
        },
    }
    return facts, array(
        "q", sorted(hashes)
    ).tobytes() + scores.tobytes() + ids.tobytes()


def _stored(path: Path) -> tuple[dict[str, Any], memoryview] | None:
    """Return the stored facts and pieces; None if there are none, or they are of
    another file or format.
    """
    try:
        with Path(f"{path}{_SUFFIX}").open("rb") as file:
            facts = json.loads(file.readline())
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            begins = file.tell()
        is_of_file = facts.pop("of") == _origin(path)
        pieces = mapped[begins:]
        if not is_of_file:
            return None
        if len(pieces) != 20 * facts["count"]:
            return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return facts, pieces


def _store(path: Path, facts: Mapping[str, Any], pieces: bytes) -> None:
    """Store facts and pieces; a reader finds all of them or none."""
    line = json.dumps({"of": _origin(path), **facts}).encode()
    padding = b" " * (-(len(line) + 1) % _ALIGNED)
    content = line + padding + b"\n" + pieces
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        whole = Path(folder) / "pieces"
        whole.write_bytes(content)
        whole.replace(f"{path}{_SUFFIX}")


def _origin(path: Path) -> list[int]:
    """Return what identifies the tokenizer's file: its size and time, since an exported
    file is replaced and never edited.
    """
    found = path.stat()
    return [_FORMAT, found.st_size, found.st_mtime_ns]


def _is_unigram(config: Mapping[str, Any]) -> bool:
    """Whether a tokenizer's file is one that `UnigramTokenizer` reads as `tokenizers`
    does.
    """
    model = config["model"]
    processor = config["post_processor"] or {}
    if model.get("type") != "Unigram":
        return False
    if model["unk_id"] is None:
        return False
    if model.get("byte_fallback"):
        return False
    if config["added_tokens"]:
        return False
    return processor.get("type") == "TemplateProcessing"


def _special_ids(processor: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    """Return the ids of the special tokens before and after a text."""
    before: list[int] = []
    after: list[int] = []
    ids = before
    for part in processor["single"]:
        special = part.get("SpecialToken")
        if special is None:  # the text
            ids = after
        else:
            ids += processor["special_tokens"][special["id"]]["ids"]
    return before, after
