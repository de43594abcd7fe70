"""Typesense's tokenizer and stemmer.

Without a locale (or with `en`), punctuation inside words is dropped (`guarda-chuva` is
one token) and accents folded; with any other locale, words end at punctuation and
accents stay.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

import Stemmer  # type: ignore[import-not-found]  # PyStemmer carries no types

STEMMERS = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil",
    "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
_WORD = re.compile(r"[\w\u0300-\u036f]+")  # with combining accents
MAX_CHARS = 100  # longer tokens are truncated
_RAW_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Analysis:
    """The tokenization of a field's texts; that of a query is its first field's."""

    locale: str = ""
    stem: bool = False

    @property
    def folds(self) -> bool:
        """Whether accents are folded."""
        return self.locale in ("", "en")

    def tokens(self, text: str) -> list[str]:
        """Return the tokens in order."""
        words = text.split() if self.folds else _WORD.findall(text)
        return [token for token in map(_known(self).__getitem__, words) if token]

    def spans(self, text: str) -> list[tuple[str, int, int]]:
        """Return the tokens with their spans in the text, without punctuation around
        them.
        """
        pattern = _RAW_WORD if self.folds else _WORD
        found = (
            (_known(self)[m.group()], m.start(), m.group())
            for m in pattern.finditer(text)
        )
        return [(token, *_inner(start, word)) for token, start, word in found if token]


def _inner(start: int, word: str) -> tuple[int, int]:
    kept = [at for at, letter in enumerate(word) if _folded(letter)] or [
        0,
        len(word) - 1,
    ]
    return start + kept[0], start + kept[-1] + 1


class _Tokens(dict[str, str]):
    """A cache of the tokens of words: an import has some hundred thousand words."""

    def __init__(self, analysis: Analysis) -> None:
        super().__init__()
        self._analysis = analysis

    def __missing__(self, word: str) -> str:
        token = fold(word) if self._analysis.folds else word.lower()
        if self._analysis.stem and token:
            token = stemmed(token, self._analysis.locale)
        self[word] = token[:MAX_CHARS]
        return self[word]


@lru_cache
def _known(analysis: Analysis) -> _Tokens:
    return _Tokens(analysis)


def fold(word: str) -> str:
    """Return the word in lower case without punctuation and accents; letters without an
    ASCII form stay.
    """
    return "".join(_folded(letter) for letter in word)


@lru_cache(maxsize=10_000)
def _folded(letter: str) -> str:
    if letter.isascii():
        return letter.lower() if letter.isalnum() else ""
    if unicodedata.combining(letter):
        # combining accents are kept: a decomposed text matches decomposed queries only
        return letter
    plain = "".join(
        part
        for part in unicodedata.normalize("NFKD", letter)
        if not unicodedata.combining(part)
    )
    if plain.isascii():
        return "".join(part for part in plain.lower() if part.isalnum())
    return "" if unicodedata.category(letter).startswith("P") else letter.lower()


def stemmed(token: str, locale: str) -> str:
    """Return the token's stem; English without a locale."""
    return str(_stemmer(STEMMERS[locale or "en"]).stemWord(token))


@lru_cache
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(language)
