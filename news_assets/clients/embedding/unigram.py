"""Token ids of a unigram model (SentencePiece), as the package `tokenizers` finds them,
in a thirtieth of its memory.

The 250,000 pieces of multilingual-e5-small take 290 MB in `tokenizers`, which keeps a
hash table for each node of their tree: more than the rest of a server or worker. Texts
are normalised and split into words by that package; only the best way to divide a word
into pieces is found here, once for each word. Of a piece only a hash of 64 bits is
kept: another string has that of one of the pieces with a chance of 10^-14.
"""

import json
from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Final

_UNKNOWN_PENALTY: Final = 10.0  # of SentencePiece: below the lowest score of a piece
_KEPT_WORDS: Final = 20_000
_MAX_KEPT_CHARS: Final = 40


class UnigramTokenizer:
    """The tokenizer of a file of the package `tokenizers`, given as its JSON, which
    loses its vocabulary.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        import tokenizers

        model = config["model"]
        vocabulary = model.pop("vocab")
        self._scores = array("d", (score for _, score in vocabulary))
        self._unknown = int(model["unk_id"])
        config["model"] = {
            **model,
            "vocab": vocabulary[self._unknown : self._unknown + 1],
            "unk_id": 0,
        }
        self._unknown_score = min(self._scores) - _UNKNOWN_PENALTY
        self._longest = max(len(piece) for piece, _ in vocabulary)
        hashes = array("q", (_hash(piece) for piece, _ in vocabulary))
        del vocabulary, model
        self._ids = array(
            "i", sorted(range(len(hashes)), key=hashes.__getitem__)
        )  # by the hashes of their pieces
        self._hashes = array("q", sorted(hashes))
        self._before, self._after = _special_ids(config["post_processor"])
        splitter = tokenizers.Tokenizer.from_str(json.dumps(config))
        self._normalizer, self._splitter = splitter.normalizer, splitter.pre_tokenizer
        self._kept = lru_cache(_KEPT_WORDS)(self._divided)

    @property
    def tail_count(self) -> int:
        """The number of special tokens at the end of a text."""
        return len(self._after)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of the tokens of each text, with the special ones."""
        return [[*self._before, *self._of_text(text), *self._after] for text in texts]

    def _of_text(self, text: str) -> list[int]:
        words = self._splitter.pre_tokenize_str(self._normalizer.normalize_str(text))
        found = (
            self._kept(word) if len(word) <= _MAX_KEPT_CHARS else self._divided(word)
            for word, _ in words
        )
        return list(chain.from_iterable(found))

    def _id_of(self, piece: str) -> int | None:
        hashed = _hash(piece)
        at = bisect_left(self._hashes, hashed)
        is_found = at < len(self._hashes) and self._hashes[at] == hashed
        return self._ids[at] if is_found else None

    def _divided(self, word: str) -> tuple[int, ...]:
        """Return the ids of the pieces with the greatest sum of scores; a character
        without a piece is unknown.
        """
        size = len(word)
        best = [0.0] * (
            size + 1
        )  # the sum up to each position, with where its last piece begins and its id
        begins, last = [-1] * (size + 1), [self._unknown] * (size + 1)
        for start in range(size):
            for end in range(start + 1, min(start + self._longest, size) + 1):
                number = self._id_of(word[start:end])
                if number is not None:
                    score = best[start] + self._scores[number]
                elif end == start + 1:
                    number, score = self._unknown, best[start] + self._unknown_score
                else:
                    continue
                if begins[end] < 0 or score > best[end]:
                    best[end], begins[end], last[end] = score, start, number
        pieces = list[int]()
        end = size
        while end > 0:
            # Unknown characters that follow each other are one token.
            if last[end] != self._unknown or not pieces or pieces[-1] != self._unknown:
                pieces.append(last[end])
            end = begins[end]
        return tuple(reversed(pieces))


def _hash(piece: str) -> int:
    # The hash of a `str` is that of its internal bytes, which have 1, 2 or 4 for a
    # character: some different strings have equal ones. UTF-8 has no such pairs.
    return hash(piece.encode())


def is_unigram(config: Mapping[str, Any]) -> bool:
    """Whether a tokenizer's file is one that `UnigramTokenizer` reads as `tokenizers`
    does.
    """
    model, processor = config["model"], config["post_processor"] or {}
    return (
        model.get("type") == "Unigram"
        and model["unk_id"] is not None
        and not model.get("byte_fallback")
        and not config["added_tokens"]
        and processor.get("type") == "TemplateProcessing"
    )


def _special_ids(processor: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    """Return the ids of the special tokens before and after a text."""
    parts = [part.get("SpecialToken") for part in processor["single"]]
    ids = [
        processor["special_tokens"][part["id"]]["ids"] if part else None
        for part in parts
    ]
    text_at = ids.index(None)
    before, after = ids[:text_at], ids[text_at + 1 :]
    return list(chain.from_iterable(filter(None, before))), list(
        chain.from_iterable(filter(None, after))
    )
