"""How well a name fits what somebody wrote of it: with other accents, in part, or misspelt."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Final

from news_assets.text.words import fold

_WORD: Final = re.compile(r"\w+")
_MAX_WORDS: Final = 12  # of either side, of _MAX_CHARS each
_MAX_CHARS: Final = 40
# share of letters that a misspelt word has in common with the right one
_NEAR: Final = 0.75
_IN_PART: Final = 0.9
_MISSPELT: Final = 0.8


def fitness(wanted: str, names: Iterable[str]) -> float:
    """Return how well the best of these names fits: 1 for the same words, less for a part
    of them, less for misspelt ones, 0 if a word is like none of them.
    """
    wanted_words = _words_of(wanted)
    if not wanted_words:
        return 0.0
    return max(
        (_fitness_of(wanted_words, _words_of(name)) for name in names), default=0.0
    )


def _words_of(text: str) -> list[str]:
    words = _WORD.findall(fold(text.lower()).replace("_", " "))
    return [word[:_MAX_CHARS] for word in words[:_MAX_WORDS]]


def _fitness_of(wanted_words: list[str], name: list[str]) -> float:
    if wanted_words == name:
        return 1.0
    nearness = [_nearness(word, name) for word in wanted_words]
    if min(nearness) < _NEAR:
        return 0.0
    share = len(wanted_words) / max(len(wanted_words), len(name))
    if min(nearness) == 1:
        return _IN_PART + (1 - _IN_PART) * share / 2
    return _MISSPELT * sum(nearness) / len(nearness) + share / 20


def _nearness(word: str, name: list[str]) -> float:
    best = 0.0
    for one in name:
        if one.startswith(word):
            return 1.0
        best = max(best, SequenceMatcher(None, word, one).ratio())
    return best
