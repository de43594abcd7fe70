"""Which documents a search finds, and their scores: keyword ranking by BM25F, its fusion
with the vector ranking by weighted scores, and the matches of trees of operators.

Documents with every word of the query match. If they are fewer than `ENOUGH_MATCHES`,
documents with some of the words match as well.

Of a tree, words, fields and days are decided by the postings and the table. Phrases,
beginnings of words and NEAR are decided by the texts of the best `TEXT_CANDIDATES`
documents that may match, as their words are in the postings without places.
"""

import sqlite3
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt

from news_assets.clients.search.embedded.document_table import Bools, DocumentTable
from news_assets.clients.search.embedded.postings import (
    ListedPostings,
    Postings,
    PostingsReader,
    Uint8s,
    union,
)
from news_assets.clients.search.embedded.terms import Int64s, field_term, term_of
from news_assets.errors import QueryError
from news_assets.ports.search_index import SearchSort
from news_assets.text.query_parser import WIDE_PREFIX
from news_assets.text.query_tree import (
    And,
    Days,
    FieldValue,
    Near,
    Node,
    Not,
    Or,
    Phrase,
    Prefix,
    Searchable,
    Word,
    has_text,
    holds,
)
from news_assets.text.words import stem

K1 = 1.5
B = 0.6
# of the sum of the words' idf, which a document with some of them needs; .3 lowered
# recall@100
MIN_SHARE = 0.1
# Hybrid scores are convex combinations (Bruch, Gai, Ingber 2023: An Analysis of Fusion
# Functions for Hybrid Retrieval).
# MRR@10 with multilingual-e5-small on known items (pt), Quati (pt), Cranfield (en) and
# SIB-200 (pt, documents en):
#     words .867 .885 .563 .695     reciprocal rank fusion .885 .938 .562 .896
#     vectors .874 .969 .550 .987   scores .901 .969 .568 .990
# .65 to .75 are as good on these sets; .5 and less lose to vectors across languages
VECTOR_SHARE = 0.7
_SPAN_RANK = 100  # the cosine at this rank counts nothing
# of cosines, for few documents of one cosine; on these sets it is .02 to .13
_MIN_SPAN = 0.05

_Float32s = npt.NDArray[np.float32]
_Floats = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Scored:
    """Documents and their scores: in ascending order of number, after `best` and `fused`
    best first.
    """

    ns: Int64s
    scores: npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class QueryWord:
    """One word of a query: the documents that have one of its terms, and its inverse
    document frequency.
    """

    postings: Postings
    idf: float
    terms: frozenset[int] = frozenset()


def query_word(
    terms: Collection[int], look_up: Callable[[int], Postings], count: int, size: int
) -> QueryWord:
    """Return the word of these terms in an index of `count` documents with numbers
    below `size`.
    """
    found = [look_up(term) for term in terms]
    postings = union([one for one in found if one.count], size)
    df = min(postings.count, count)
    odds = (count - df + 0.5) / (df + 0.5)
    idf = float(np.log(1 + odds))
    return QueryWord(postings, idf, frozenset(terms))


@dataclass(frozen=True, slots=True)
class LengthFactor:
    """BM25's K of every document: the weight at which a term scores half of its
    maximum.
    """

    lengths: npt.NDArray[np.uint16]
    # of every possible length, because each write changes the average
    by_length: _Float32s

    def at(self, ns: Int64s) -> _Float32s:
        """Return K of these documents."""
        return self.by_length.take(self.lengths.take(ns))


def length_factor(lengths: npt.NDArray[np.uint16], average: float) -> LengthFactor:
    """Return K for documents of these lengths in words, with this average length."""
    shares = B * np.arange(0x10000) / max(average, 1.0)
    by_length = K1 * (1 - B + shares)
    return LengthFactor(lengths, by_length.astype(np.float32))


def with_every_word(
    words: Sequence[QueryWord], mask: Bools, factor: LengthFactor
) -> Scored:
    """Return the documents that pass the mask and have every word."""
    by_rarity = sorted(words, key=lambda word: word.postings.count)
    ns = _candidates(by_rarity, mask)
    weights: list[Uint8s] = []
    for word in by_rarity:
        found = word.postings.weights_at(ns, len(mask))
        has_it = np.flatnonzero(found)
        if len(has_it) < len(ns):  # a boolean mask would take ten times as long
            ns = ns.take(has_it)
            found = found.take(has_it)
            weights = [kept.take(has_it) for kept in weights]
        weights.append(found)
    k = factor.at(ns)
    scores = np.zeros(len(ns))
    for word, found in zip(by_rarity, weights, strict=True):
        scores += _bm25(word.idf, found, k)
    return Scored(ns, scores)


def scored(
    ns: Int64s, words: Sequence[QueryWord], size: int, factor: LengthFactor
) -> Scored:
    """Return these documents, ascending, with the score of the words that they have;
    numbers are below `size`.
    """
    k = factor.at(ns)
    scores = np.zeros(len(ns))
    for word in words:
        scores += _bm25(word.idf, word.postings.weights_at(ns, size), k)
    return Scored(ns, scores)


def _candidates(by_rarity: Sequence[QueryWord], mask: Bools) -> Int64s:
    """Return documents that pass the mask, among them all with every word: the smaller
    of two supersets.
    """
    rarest = by_rarity[0].postings
    if np.count_nonzero(mask) < rarest.count:
        return np.flatnonzero(mask)
    return rarest.ns_within(mask)


def with_some_words(
    words: Sequence[QueryWord], mask: Bools, factor: LengthFactor
) -> Scored:
    """Return the documents that pass the mask and whose words have `MIN_SHARE` of the
    query's idf.
    """
    least = MIN_SHARE * sum(word.idf for word in words)
    ns = _with_one_word(_informative(words, least), mask)
    k = factor.at(ns)
    scores = np.zeros(len(ns))
    share = np.zeros(len(ns))
    for word in words:
        found = word.postings.weights_at(ns, len(mask))
        scores += _bm25(word.idf, found, k)
        share += word.idf * (found > 0)
    at = np.flatnonzero((share >= least) & (scores > 0))
    return Scored(ns.take(at), scores.take(at))


def _informative(words: Sequence[QueryWord], least: float) -> list[QueryWord]:
    """Return the words without the most frequent ones, whose weights (IDF) add up to
    less than `least`. A hit has at least one of those returned.
    """
    by_idf = sorted(words, key=lambda word: word.idf)
    sums = np.cumsum([word.idf for word in by_idf])
    # A little less, because float sums depend on their order.
    lowest = least * (1 - 1e-9)
    first = int(np.searchsorted(sums, lowest))
    return by_idf[first:]


def _with_one_word(informative: Sequence[QueryWord], mask: Bools) -> Int64s:
    passing = np.count_nonzero(mask)
    if passing < min(word.postings.count for word in informative):
        return np.flatnonzero(mask)
    has_one = np.zeros(len(mask), np.bool_)
    for word in informative:
        if isinstance(word.postings, ListedPostings):
            has_one[word.postings.ns] = True
        else:
            has_one |= word.postings.column(len(mask)) > 0
    return np.flatnonzero(has_one & mask)


def _bm25(idf: float, weights: Uint8s, k: _Float32s) -> _Float32s:
    found = weights.astype(np.float32)
    highest = np.float32(idf * (K1 + 1))
    return highest * found / (found + k)


def best(
    ranked: Scored,
    published: Int64s,
    limit: int,
    sort: SearchSort = "relevance",
) -> Scored:
    """Return the best documents in order; of equal scores, or by date, the newest
    first, then the highest number.
    """
    by = ranked.scores
    if sort == "date":
        by = np.zeros(len(ranked.ns))
    at = np.arange(len(ranked.ns))
    if len(at) > limit:
        at = _best_places(by, ranked.ns, published, limit)
    ns = ranked.ns[at]
    scores = ranked.scores[at]
    order = np.lexsort((-ns, -published[ns], -by[at]))
    return Scored(ns[order], scores[order])


def _best_places(scores: _Floats, ns: Int64s, published: Int64s, limit: int) -> Int64s:
    """Return the positions of the best `limit` documents, in any order; of equal ones
    the newest, then the last.
    """
    better, tied = _highest(scores, np.arange(len(scores)), limit)
    missing = limit - len(better)
    newer, tied = _highest(published[ns[tied]], tied, missing)
    missing -= len(newer)
    last = tied[len(tied) - missing :]
    return np.concatenate([better, newer, last])


def _highest(values: npt.NDArray[Any], at: Int64s, limit: int) -> tuple[Int64s, Int64s]:
    """Return the positions of the values above the `limit`-th highest, and of those
    equal to it.
    """
    if len(at) <= limit:
        return at, at[:0]
    place = len(values) - limit
    nth = np.partition(values, place)[place]
    above = np.flatnonzero(values > nth)
    equal = np.flatnonzero(values == nth)
    return at[above], at[equal]


def fused(by_words: Scored, near: Scored, vector_share: float = VECTOR_SHARE) -> Scored:
    """Return one ranking of both, from the shares that a document has of the highest
    score of each; all best first.

    `near` is not empty. `vector_share`: weight of its scores; the scores by words
    have the rest.
    """
    of_vectors = vector_share * _shares_of_cosines(near.scores)
    scores = dict(zip(near.ns.tolist(), of_vectors.tolist(), strict=True))
    of_words = (1 - vector_share) * by_words.scores / highest_score(by_words)
    for n, share in zip(by_words.ns.tolist(), of_words.tolist(), strict=True):
        scores[n] = scores.get(n, 0.0) + share
    ns = sorted(scores, key=lambda n: -scores[n])
    ordered = [scores[n] for n in ns]
    return Scored(np.array(ns, np.int64), np.array(ordered))


def highest_score(by_words: Scored) -> float:
    """Return the highest score of a ranking by words; 1 if every score is 0."""
    return float(by_words.scores.max(initial=0)) or 1.0


def _shares_of_cosines(cosines: _Floats) -> _Floats:
    """Return where each cosine is between the lowest one that counts (0) and the best
    (1); they are in descending order.
    """
    best_cosine = cosines[0]
    counted = cosines[:_SPAN_RANK]
    lowest = min(counted[-1], best_cosine - _MIN_SPAN)
    shares: _Floats = (cosines - lowest) / (best_cosine - lowest)
    return np.clip(shares, 0, 1)


# --- trees of operators ---------------------------------------------------------------

# documents whose texts are read; a thousand of 2 kB take 0.1 s
TEXT_CANDIDATES = 1_000
_MAX_BEGINNINGS = 500  # words with one beginning

_TermOf = Callable[[str], int]


@dataclass(slots=True)
class TreeMatcher:
    """Matches trees on the index as it was at the last refresh."""

    connection: sqlite3.Connection
    table: DocumentTable
    postings: PostingsReader
    today: date
    _decided: dict[Node, Bools] = field(default_factory=dict)

    def possible(self, node: Node) -> Bools:
        """Return a mask, by document number, that every match passes.

        Raises:
            QueryError: Too many words have a beginning.
        """
        return self._mask(node, is_possible=True)

    def certain(self, node: Node) -> Bools:
        """Return a mask that only matches pass."""
        return self._mask(node, is_possible=False)

    def confirmed(self, node: Node, ns: Int64s) -> Int64s:
        """Return the documents, of these, whose texts match."""
        kept = []
        for n in ns.tolist():
            if self._is_match(node, n):
                kept.append(n)
        return np.array(kept, np.int64)

    def terms_of_prefix(self, prefix: Prefix) -> frozenset[int]:
        """Return the terms of the words of the index that have a beginning."""
        find = "SELECT word FROM words WHERE word >= ? AND word < ? LIMIT ?"
        bounds = (prefix.start, f"{prefix.start}\U0010ffff", _MAX_BEGINNINGS + 1)
        rows = self.connection.execute(find, bounds).fetchall()
        if len(rows) > _MAX_BEGINNINGS:
            raise QueryError(
                WIDE_PREFIX, prefix.column, count=_MAX_BEGINNINGS, start=prefix.start
            )
        terms: set[int] = set()
        for (word,) in rows:
            terms.update(term_of(word, one) for one in self.table.languages())
            terms.add(term_of(word, None))
        return frozenset(terms)

    def _mask(self, node: Node, *, is_possible: bool) -> Bools:
        match node:
            case And(parts):
                found = self._everything()
                for part in parts:
                    found &= self._mask(part, is_possible=is_possible)
                return found
            case Or(parts):
                found = self._nothing()
                for part in parts:
                    found |= self._mask(part, is_possible=is_possible)
                return found
            case Not(part):
                return ~self._mask(part, is_possible=not is_possible)
            case Word() | FieldValue() | Days():
                return self._exact(node)
        if is_possible:
            return self._possible_text(node)
        return self._nothing()

    def _everything(self) -> Bools:
        return np.ones(self.table.size, np.bool_)

    def _nothing(self) -> Bools:
        return np.zeros(self.table.size, np.bool_)

    def _possible_text(self, node: Node) -> Bools:
        """Return the documents with the words of a phrase, of NEAR, or with a beginning."""
        match node:
            case Phrase(words, in_title):
                parts = tuple(Word(word, in_title) for word in words)
                return self._mask(And(parts), is_possible=True)
            case Near(left, right):
                return self._mask(And((left, right)), is_possible=True)
            case Prefix():
                return self._with_any(self.terms_of_prefix(node))
        return self._everything()

    def _exact(self, node: Node) -> Bools:
        if node not in self._decided:
            self._decided[node] = self._decide(node)
        return self._decided[node]

    def _decide(self, node: Node) -> Bools:
        match node:
            case Word(text, in_title):
                return self._with_word(text, in_title=in_title)
            case Days(last=last):
                return self.table.of_days(node.first_day(self.today), last)
            case FieldValue(field, value, words):
                found = self._everything()
                for word in words:
                    found &= self._with_any([field_term(field, word)])
                whole = self._with_any([field_term(field, value)])
                return found | whole if words else whole
        return self._nothing()

    def _with_word(self, word: str, *, in_title: bool) -> Bools:
        """Return the documents with a word as stemmed in their own language."""
        languages: dict[int, list[str]] = {}
        for language in (*self.table.languages(), ""):
            stemmed = stem(word, language)
            term = field_term("title", stemmed) if in_title else term_of(word, language)
            languages.setdefault(term, []).append(language)
        found = self._nothing()
        for term, of_term in languages.items():
            passing = self._with_any([term])
            if len(languages) > 1:
                passing &= self.table.in_languages(of_term)
            found |= passing
        return found

    def _with_any(self, terms: "frozenset[int] | list[int]") -> Bools:
        found = self._nothing()
        for term in terms:
            found |= self._postings(term).column(self.table.size) > 0
        return found

    def _postings(self, term: int) -> Postings:
        return self.postings.term(term)

    def _is_match(self, node: Node, n: int) -> bool:
        document: Searchable | None = None

        def decide(part: Node) -> bool:
            nonlocal document
            if isinstance(part, Word | FieldValue | Days):
                return bool(self._exact(part)[n])
            if document is None:
                document = self._read(n)
            return has_text(part, document)

        return holds(node, decide)

    def _read(self, n: int) -> Searchable:
        find = "SELECT title, text, summary, labels, language FROM texts WHERE n = ?"
        row = self.connection.execute(find, (n,)).fetchone()
        title, text, summary, labels, language = row
        day = date.fromordinal(int(self.table.columns["day"][n]))
        rest = f"{summary or ''}\n{labels}"
        return Searchable(language, day, title, text, rest)
