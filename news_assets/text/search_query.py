"""Parses the text of a query without operators into words, phrases and exclusions.

Such a text has "quoted phrases" and a leading minus at most. `query_parser` reads OR,
NEAR, fields, beginnings of words and brackets.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

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
