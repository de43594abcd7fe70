"""Words of titles, and how much two forms of a title have in common."""

import re

from news_assets.text.html import plain_text
from news_assets.text.words import fold

MAX_CHARS = 400  # of a text that may be a title
MIN_WORDS = 3  # shorter titles are often names of sites and sections
# of an h1's words in another form of the title; newsrooms word the two differently
AGREES = 0.3
_LONG_WORD_CHARS = 4  # shorter ones are in all texts of a language

SEPARATOR = re.compile(r" (?:[|–—•·»≈-]|::) ")
SEPARATORS = " |–—•·»≈:-"
SLUG_BREAK = re.compile(r"[\W_]+")
_WORD = re.compile(r"\w+")

Words = frozenset[str]


def words_in(title: str) -> tuple[str, ...]:
    """Return the words of a title in lower case, in order."""
    return words_in_text(plain_text(title)[:MAX_CHARS])


def words_in_text(text: str) -> tuple[str, ...]:
    """Return the words of plain text of any length in lower case, in order."""
    return tuple(_WORD.findall(text.lower()))


def words_of(title: str) -> Words:
    """Return the different words of a title."""
    return frozenset(words_in(title))


def long_words(text: str) -> Words:
    """Return the different words of a title that are not in all texts of a language,
    without accents.
    """
    return frozenset(
        word for word in words_in(fold(text)) if len(word) >= _LONG_WORD_CHARS
    )


def agree(heading: Words, other: Words, share: float = AGREES) -> bool:
    """Whether a share of the words of a heading are in another form of the title."""
    return len(heading & other) >= share * len(heading) > 0


def agreement_of(heading: Words, other: Words) -> float:
    """Return the share of words in common; a site's name shares few with a title that
    ends in it.
    """
    return len(heading & other) / len(heading | other)


def place_of(name: str) -> str:
    """Return a name as letters and digits alone, as the parts of an address have it."""
    return "".join(_WORD.findall(fold(plain_text(name)[:MAX_CHARS]).lower())).replace(
        "_", ""
    )
