"""The words, names and numbers that articles are compared by, as codes of 20 bits."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from news_assets.text.prose import prose
from news_assets.text.words import fold, stem, stopwords, word_spans

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.uint32]

# codes of 35,000 articles share a value with one in forty others
CODES = 1 << 20
# what happened is in the first paragraphs: BCubed F1 of words alone on CSTNews .969 with
# all of them, .974 with 300
_WORDS = 200
_TEXT_CHARS = 6000  # that names and numbers are looked for in
# of the words with four letters or more; a headline with more capitals names nothing
_TITLE_CAPITALS = 0.7
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SENTENCE_START = re.compile(r"[.!?:;\n•|\"“‘«]|--|``")


@dataclass(frozen=True, slots=True)
class Features:
    """What an article is compared by.

    `words` are codes of stems with their counts, most frequent first; `names` and
    `numbers` are codes, ascending; `keys` are those that candidates are found by.
    """

    language: str
    words: "Codes"
    counts: "Codes"
    names: "Codes"
    numbers: "Codes"
    keys: "Codes"


class _Token(NamedTuple):
    word: str
    is_capital: bool
    begins: bool  # a sentence, or what looks like one


def features_of(title: str | None, text: str, language: str | None) -> Features:
    """Return the features of an article; `language` is a BCP 47 tag."""
    primary = (language or "").partition("-")[0].lower()
    headline = " ".join((title or "").split())
    body = prose(text[:_TEXT_CHARS])
    if body.casefold().startswith(headline.casefold()):
        headline = ""
    whole = f"{headline}\n{body}".strip()
    stems = Counter(_stems(whole, primary, _WORDS)).most_common()
    in_title = _stems(title or body[:_TEXT_CHARS].partition("\n")[0], primary, 20)
    names = _names(headline, body, primary)
    numbers = set(_numbers(whole))
    return Features(
        language=primary,
        words=_as_codes(_code("w", word) for word, _ in stems),
        counts=_as_codes(count for _, count in stems),
        names=_distinct("n", names),
        numbers=_distinct("#", numbers),
        keys=_distinct("", {*in_title, *names, *numbers}),
    )


def _code(kind: str, text: str) -> int:
    return crc32(f"{kind}{text}".encode("utf-8", "replace")) % CODES


def _as_codes(values: Iterable[int]) -> "Codes":
    import numpy as np

    return np.fromiter(values, np.uint32)


def _distinct(kind: str, texts: Collection[str]) -> "Codes":
    return _as_codes(sorted({_code(kind, text) for text in texts}))


def _stems(text: str, language: str, limit: int) -> list[str]:
    """Return the stems of the first words, without stop words and numbers."""
    stop = stopwords(language)
    first = [word for word, _, _ in word_spans(text[: 12 * limit])][:limit]
    return [stem(word, language) for word in first if _is_word(word, stop)]


def _is_word(word: str, stop: Collection[str]) -> bool:
    return len(word) > 1 and word not in stop and not word[0].isdigit()


def _numbers(text: str) -> Iterator[str]:
    """Yield the numbers of two digits or more, with a point for decimals."""
    for found in _NUMBER.findall(text):
        if len(found) > 1:
            yield found.replace(",", ".")


def _names(headline: str, body: str, language: str) -> set[str]:
    """Return the folded words that are written with a capital inside sentences, and
    nowhere without.
    """
    stop = stopwords(language)
    tokens = [*_headline_tokens(headline), *_tokens(body)]
    words = [token for token in tokens if _is_word(token.word, stop)]
    lower = {token.word for token in words if not token.is_capital}
    found = {token.word for token in words if token.is_capital and not token.begins}
    found |= _first_of_spans(tokens, stop)
    return {fold(word) for word in found - lower}


def _first_of_spans(tokens: list[_Token], stop: Collection[str]) -> set[str]:
    """Return the words that begin a sentence and a name of several words."""
    found: set[str] = set()
    for token, following in pairwise(tokens):
        is_span = following.is_capital and not following.begins
        if token.is_capital and token.begins and is_span:
            found.add(token.word)
    return {word for word in found if _is_word(word, stop)}


def _headline_tokens(headline: str) -> list[_Token]:
    tokens = _tokens(headline)
    long = [token for token in tokens if len(token.word) > 3]
    capitals = sum(token.is_capital for token in long)
    return tokens if capitals < _TITLE_CAPITALS * len(long) else []


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    last = 0
    for word, start, end in word_spans(text):
        begins = last == 0 or bool(_SENTENCE_START.search(text, last, start))
        found.append(_Token(word, text[start].isupper(), begins))
        last = end
    return found
