"""Keyword search: documents with a text score, composed of bit fields like the
server's.

score = words of the query << 59 | best field's score << 11 | that field's weight << 3 |
fields that match
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

from news_assets_tests.typesense_server.collections.collection import Collection
from news_assets_tests.typesense_server.collections.indexes import TextIndex
from news_assets_tests.typesense_server.search.query import (
    Options,
    ParsedQuery,
    QueryField,
)
from news_assets_tests.typesense_server.search.typos import candidates

COMBINATIONS = 100  # of typos in one query; the server has a limit too
WORD_CHOICES = 16  # of matching words in one document
EVERYTHING_SCORE = 100  # of every document, for a query without words
PHRASE_SCORE = 100_000
MAX_WEIGHT = 15
# number of words whose distance counts: as many as the score has bits for
NEAR_WORDS = 15
NEAR_STARTS = 50  # occurrences of the first word that are compared


@dataclass(frozen=True, slots=True)
class TextMatch:
    """The text score of a document, and the matched words with their query tokens."""

    score: int
    words: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Search:
    """A keyword search in some fields; `allowed` are the documents that match the
    filter.
    """

    collection: Collection
    fields: list[QueryField]
    options: Options
    allowed: set[int]
    found: dict[int, TextMatch] = field(default_factory=dict)

    def run(self, query: ParsedQuery) -> dict[int, TextMatch]:
        """Return the documents that match."""
        self.allowed = self.allowed - self._excluded(query)
        for phrase in query.phrases:
            self.allowed = self.allowed & set(self._with_phrase(phrase))
        if not query.tokens:
            return self._without_words(query)
        self._with_typos(query.tokens)
        if self.options.joins(has_found=bool(self.found)):
            for tokens in self._split_or_joined(query.tokens):
                self._with_typos(tokens)
        for tokens in _fewer(query.tokens, self.options.drop_tokens_mode):
            if len(self.found) >= self.options.drop_tokens_threshold:
                break
            self._with_typos(tokens)
        return self.found

    def _index(self, one: QueryField) -> TextIndex:
        return self.collection.text_index(one.name)

    def _excluded(self, query: ParsedQuery) -> set[int]:
        words = {
            number
            for token in query.excluded_tokens
            for one in self.fields
            for number in self._index(one).postings.get(token, ())
        }
        return words.union(
            *(self._with_phrase(phrase) for phrase in query.excluded_phrases)
        )

    def _with_phrase(self, phrase: tuple[str, ...]) -> dict[int, int]:
        """Return documents with these words next to each other, and the first field
        that has them.
        """
        found: dict[int, int] = {}
        for order, one in enumerate(self.fields):
            index = self._index(one)
            for number in index.holding(phrase):
                places = [set(index.positions(number, token)) for token in phrase]
                if any(
                    all(at + step in places[step] for step in range(len(phrase)))
                    for at in places[0]
                ):
                    found.setdefault(number, order)
        return found

    def _without_words(self, query: ParsedQuery) -> dict[int, TextMatch]:
        if not query.phrases:
            return {number: TextMatch(EVERYTHING_SCORE) for number in self.allowed}
        orders = self._with_phrase(query.phrases[0])
        return {
            number: TextMatch(PHRASE_SCORE + MAX_WEIGHT - orders[number])
            for number in self.allowed
        }

    def _split_or_joined(self, tokens: list[str]) -> Iterator[list[str]]:
        """Yield the tokens joined to one word, or one token split in two, for the first
        way that the index has.
        """
        postings = [self._index(one).postings for one in self.fields]
        ways: Iterator[list[str]] = iter([["".join(tokens)]])
        if len(tokens) == 1:
            ways = ([tokens[0][:at], tokens[0][at:]] for at in range(1, len(tokens[0])))
        yield from itertools.islice(
            (
                way
                for way in ways
                if any(all(word in words for word in way) for words in postings)
            ),
            1,
        )

    def _with_typos(self, tokens: list[str]) -> None:
        """Add documents that match all tokens, with more typos until there are enough."""
        limits = [self.options.typos_of(token) for token in tokens]
        for combination in itertools.islice(_by_sum(limits), COMBINATIONS):
            self._at(tokens, combination)
            if len(self.found) >= self.options.typo_tokens_threshold:
                return

    def _at(self, tokens: list[str], typos: tuple[int, ...]) -> None:
        per_token = []
        for position, (token, count) in enumerate(zip(tokens, typos, strict=True)):
            words = self._holders(token, count, position == len(tokens) - 1)
            if not words:
                return
            per_token.append(words)
        numbers = (
            (set(per_token[0]) & self.allowed)
            .difference(self.found)
            .intersection(*per_token[1:])
        )
        for number in numbers:
            self.found[number] = self._best(
                number, tokens, [words[number] for words in per_token]
            )

    def _holders(
        self, token: str, typos: int, is_last: bool
    ) -> dict[int, dict[str, int]]:
        """Return documents with their words that match the token, and the cost of each."""
        holders: dict[int, dict[str, int]] = {}
        for one in self.fields:
            index = self._index(one)
            if typos > one.num_typos:
                continue
            for word, cost in candidates(
                index, token, typos, one.is_prefix and is_last
            ).items():
                for number in index.postings[word]:
                    holders.setdefault(number, {})[word] = cost
        return holders

    def _best(
        self, number: int, tokens: list[str], words: list[dict[str, int]]
    ) -> TextMatch:
        choices = itertools.islice(itertools.product(*words), WORD_CHOICES)
        scored = (
            (self._score(number, tokens, choice, words), choice) for choice in choices
        )
        score, choice = max(scored, key=lambda pair: pair[0])
        every = tuple(
            (token, word)
            for token, of_token in zip(tokens, words, strict=True)
            for word in of_token
        )
        best = tuple(zip(tokens, choice, strict=True))
        return TextMatch(score, (*best, *(pair for pair in every if pair not in best)))

    def _score(
        self,
        number: int,
        tokens: list[str],
        choice: tuple[str, ...],
        costs: list[dict[str, int]],
    ) -> int:
        cost = sum(of_token[word] for word, of_token in zip(choice, costs, strict=True))
        scored = []
        for one in self.fields:
            index = self._index(one)
            present = [
                word
                for word, of_token in zip(choice, costs, strict=True)
                if number in index.postings.get(word, ())
                and one.accepts(of_token[word])
            ]
            if present:
                is_exact = cost == 0 and tokens in index.elements[number]
                distance = _spread(index, number, present)
                scored.append(
                    (_field_score(len(present), cost, distance, is_exact), one.weight)
                )
        best, weight = max(scored)
        return (
            min(len(tokens), 15) << 59 | best << 11 | weight << 3 | min(len(scored), 7)
        )


def _field_score(words: int, cost: int, distance: int, is_exact: bool) -> int:
    return (
        words << 40
        | words << 32
        | (255 - cost) << 24
        | (100 - distance) << 16
        | is_exact << 12
        | 1
    )


def _spread(index: TextIndex, number: int, words: list[str]) -> int:
    """Return the smallest distance of the words in the text, at most 100."""
    if len(words) == 1:
        return 0
    first, *others = (index.positions(number, word) for word in words[:NEAR_WORDS])
    starts = first[:NEAR_STARTS]
    return min(
        100,
        *(
            sum(min(abs(start - one) for one in other) for other in others)
            for start in starts
        ),
        100,
    )


def _by_sum(limits: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield every distribution of typos over the tokens, fewest first."""
    for total in range(sum(limits) + 1):
        yield from _spread_over(limits, total)


def _spread_over(limits: list[int], total: int) -> Iterator[tuple[int, ...]]:
    if not limits:
        if total == 0:
            yield ()
        return
    for last in range(max(0, total - sum(limits[:-1])), min(limits[-1], total) + 1):
        yield from ((*rest, last) for rest in _spread_over(limits[:-1], total - last))


def _fewer(tokens: list[str], mode: str) -> Iterator[list[str]]:
    """Yield the tokens with one after another dropped from the right, the left or both."""
    name, _, most = mode.partition(":")
    # longer queries are cut on the right alone
    if name == "both_sides" and len(tokens) > int(most or 3):
        name = "right_to_left"
    if name != "left_to_right":
        yield from (tokens[:count] for count in range(len(tokens) - 1, 0, -1))
    if name != "right_to_left":
        yield from (tokens[-count:] for count in range(len(tokens) - 1, 0, -1))
