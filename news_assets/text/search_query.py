"""A query without operators, parsed into words, phrases and exclusions; and the tree of a
search with operators: what parts it has, and which of its words rank and mark a hit.

A text without operators has "quoted phrases" and a leading minus at most.
`query_parser` reads OR, NEAR, fields, beginnings of words and brackets.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Literal

from news_assets.text.words import fold, stopwords, words

MAX_QUERY_CHARS = 4_000
MAX_WORDS = 32  # enough for a pasted article to find itself
# if fewer documents have every word, those with some of the words match as well
ENOUGH_MATCHES = 10

_TOKEN = re.compile(r'(?<!\S)(-)?(?:"([^"]*)"|([^\s"]+))|"([^"]*)"|([^\s"]+)')


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """Words that should occur, phrases that must, and words that must not; all
    lower-cased.
    """

    words: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...] = ()
    excluded: tuple[str, ...] = ()


def parse_query(text: str, languages: tuple[str, ...]) -> ParsedQuery:
    """Return the query without the stop words of these languages, unless it has no
    other words.
    """
    found: list[str] = []
    phrases: list[tuple[str, ...]] = []
    excluded: list[str] = []
    for match in _TOKEN.finditer(text[:MAX_QUERY_CHARS]):
        minus, *spellings = match.groups(default="")
        token = words("".join(spellings))  # exactly one spelling is not empty
        if minus:
            excluded += token
            continue
        found += token
        if '"' in match[0] and len(token) > 1:
            phrases.append(tuple(map(fold, token)))
    content = _without_stopwords(found, languages)
    return ParsedQuery(
        tuple(content[:MAX_WORDS]),
        tuple(phrases[:MAX_WORDS]),
        tuple(excluded[:MAX_WORDS]),
    )


def _without_stopwords(found: list[str], languages: tuple[str, ...]) -> list[str]:
    distinct = list(dict.fromkeys(found))
    ignored = _folded_stopwords(languages)
    return [word for word in distinct if fold(word) not in ignored] or distinct


@lru_cache
def _folded_stopwords(languages: tuple[str, ...]) -> frozenset[str]:
    folded: set[str] = set()
    for language in languages:
        folded.update(map(fold, stopwords(language)))
    return frozenset(folded)


def phrase_pattern(phrases: tuple[tuple[str, ...], ...]) -> list[re.Pattern[str]]:
    """Return a pattern per phrase, for folded and lower-cased text."""
    found: list[re.Pattern[str]] = []
    for phrase in phrases:
        found.append(
            re.compile(r"(?<!\w)" + r"[\W_]+".join(map(re.escape, phrase)) + r"(?!\w)")
        )
    return found


ValueField = Literal["author", "publisher", "theme"]


@dataclass(frozen=True, slots=True)
class Word:
    """A word in any inflection, lower-cased."""

    text: str
    in_title: bool = False


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words next to each other, as written but for accents and case; folded."""

    words: tuple[str, ...]
    in_title: bool = False


@dataclass(frozen=True, slots=True)
class Prefix:
    """Words that begin with some letters, folded. `column` is where it stands."""

    start: str
    in_title: bool = False
    column: int = 1


@dataclass(frozen=True, slots=True)
class Near:
    """Two words or phrases that are at most `distance` words apart, in any order;
    neighbours are 1 apart.
    """

    left: "Node"
    right: "Node"
    distance: int


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A value of the document's author, publisher or theme: a whole key or code
    (`value`), or words of a name; folded.
    """

    field: ValueField
    value: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Days:
    """Days of publication, inclusive; None is open. `recent` is a number of days that
    end today, in place of the first.
    """

    first: date | None = None
    last: date | None = None
    recent: int | None = None

    def first_day(self, today: date) -> date | None:
        """Return the first day; None if every earlier day passes."""
        if self.recent is None:
            return self.first
        return today - timedelta(days=self.recent - 1)


@dataclass(frozen=True, slots=True)
class Not:
    """What does not match a part."""

    part: "Node"


@dataclass(frozen=True, slots=True)
class And:
    """What matches every part."""

    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """What matches a part."""

    parts: tuple["Node", ...]


Written = Word | Phrase | Prefix  # what stands in a text
Node = Written | Near | FieldValue | Days | Not | And | Or


def written_parts(node: Node) -> Iterator[Written]:
    """Yield the words, phrases and prefixes that a hit may have, in their order; not
    those it must not have.
    """
    match node:
        case Word() | Phrase() | Prefix():
            yield node
        case Near(left, right):
            yield from written_parts(left)
            yield from written_parts(right)
        case And(parts) | Or(parts):
            for part in parts:
                yield from written_parts(part)


def words_of_part(part: Written) -> tuple[str, ...]:
    """Return the words of a part; of a prefix its letters."""
    match part:
        case Word(text):
            return (text,)
        case Phrase(words):
            return words
        case Prefix(start):
            return (start,)
