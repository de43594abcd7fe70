"""The keyword parameters of a search: parsed text, fields, and tolerance of typos."""

import re
from dataclasses import dataclass, field

from news_assets_tests.typesense_server.collections.tokens import Analysis

MAX_TYPO_CHARS = 60  # longer tokens are whole texts, not words
_PART = re.compile(r'(-?)"([^"]*)"|(\S+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryField:
    """A field to search. `weight` is 15 for the highest weight, 14 for the next."""

    name: str
    weight: int
    is_prefix: bool = True
    num_typos: int = 2

    def accepts(self, cost: int) -> bool:
        """Return whether a word of this cost (two for a typo, one for a prefix) matches
        in this field.
        """
        return cost // 2 <= self.num_typos and (cost % 2 == 0 or self.is_prefix)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Tolerance of typos and of missing words."""

    min_len_1typo: int = 4
    min_len_2typo: int = 7
    typo_tokens_threshold: int = 1
    drop_tokens_threshold: int = 1
    drop_tokens_mode: str = "right_to_left"
    split_join_tokens: str = "fallback"  # always, fallback or off

    def joins(self, *, has_found: bool) -> bool:
        """Return whether joined and split words are tried."""
        return self.split_join_tokens == "always" or (
            self.split_join_tokens != "off" and not has_found
        )

    def typos_of(self, token: str) -> int:
        """Return how many typos are accepted in a token."""
        if len(token) > MAX_TYPO_CHARS:
            return 0
        return (len(token) >= self.min_len_1typo) + (len(token) >= self.min_len_2typo)


@dataclass(slots=True)
class ParsedQuery:
    """Words and quoted phrases, and those excluded by a minus."""

    tokens: list[str] = field(default_factory=list)
    phrases: list[tuple[str, ...]] = field(default_factory=list)
    excluded_tokens: list[str] = field(default_factory=list)
    excluded_phrases: list[tuple[str, ...]] = field(default_factory=list)


def parse(text: str, analysis: Analysis) -> ParsedQuery:
    """Parse a query."""
    query = ParsedQuery()
    for minus, phrase, word in _PART.findall(text):
        if phrase:
            tokens = tuple(analysis.tokens(phrase))
            (query.excluded_phrases if minus else query.phrases).extend(
                [tokens] if tokens else []
            )
        elif word.startswith("-") and len(word) > 1:
            query.excluded_tokens.extend(analysis.tokens(word[1:]))
        else:
            query.tokens.extend(analysis.tokens(word))
    return query
