"""Flesch's reading ease, fitted to the language.

English: Flesch 1948. Portuguese: Martins et al. 1996, which adds 42 because Portuguese
words have more syllables.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

_BASE = {"en": 206.835, "pt": 248.835}
_PER_SENTENCE_WORD, _PER_WORD_SYLLABLE = 1.015, 84.6

_ENGLISH_NUCLEUS = re.compile(r"[aeiouy]+")
_SILENT_E = re.compile(r"(?:[^laeiouy]e|[^aeiouytd]ed|[^aeiouysxz]es)$")
_SOUNDED_PAIR = re.compile(r"i[ao](?!us|n)|eo(?!u)|ua(?!l?$)|ying")
_PORTUGUESE_NUCLEUS = re.compile(
    r"(?:(?<=[qg])u(?=[aeioáéíóâêôãõ]))|ão|ãe|õe|[aeoáéóâêôàãõ][iu](?![nmr]\b)|[aeiouáéíóúâêôàãõü]"
)
_GLIDE = re.compile(r"(?<=[qg])u")


def readability(
    words: Sequence[str], sentence_count: int, language: str | None
) -> float | None:
    """Return Flesch's reading ease, 0 (hard) to 100 (easy).

    None without words or for a language without a formula.
    """
    base = _BASE.get((language or "").partition("-")[0])
    if base is None or not words:
        return None
    syllables = sum(syllable_count(word, language) for word in words) / len(words)
    ease = (
        base
        - _PER_SENTENCE_WORD * len(words) / max(sentence_count, 1)
        - _PER_WORD_SYLLABLE * syllables
    )
    return round(min(max(ease, 0.0), 100.0), 1)


@lru_cache(maxsize=100_000)
def syllable_count(word: str, language: str | None) -> int:
    """Return the approximate number of syllables of a lower-cased word, at least 1."""
    if (language or "").partition("-")[0] == "pt":
        return max(
            1,
            sum(
                not _GLIDE.match(word, nucleus.start())
                for nucleus in _PORTUGUESE_NUCLEUS.finditer(word)
            ),
        )
    count = len(_ENGLISH_NUCLEUS.findall(word)) + len(_SOUNDED_PAIR.findall(word))
    return max(1, count - bool(_SILENT_E.search(word)))
