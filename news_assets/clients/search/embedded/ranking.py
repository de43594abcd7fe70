"""Which documents match a query's words, and in what order: BM25F, every word first, some words only when too few.

Terms enter, looked up in `PostingsReader`; document numbers with scores leave. Vectors are ranked in
`vectors.py`; `fused` brings the two together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from news_assets.clients.search.embedded.duplicates import Bools
from news_assets.clients.search.embedded.postings import ListedPostings, Postings, Uint8s, either
from news_assets.clients.search.embedded.terms import Int64s

K1 = 1.5
B = 0.6
ENOUGH_MATCHES = 10  # with fewer documents that have every word, those that have some are listed as well
MIN_SHARE = 0.1  # of the words' weight (idf) that a document with only some of them must have; .3 lost recall@100
RRF_K = 60  # Cormack, Clarke, Büttcher 2009: reciprocal rank fusion

Float32s = npt.NDArray[np.float32]
Float64s = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Documents that match, ascending by number, and their scores."""

    ns: Int64s
    scores: Float64s


@dataclass(frozen=True, slots=True)
class Group:
    """One word of the query: the documents that have it in any of its forms, and how rare it is."""

    postings: Postings
    idf: float


def group_of(terms: Sequence[int], look_up: Callable[[int], Postings], count: int, size: int) -> Group:
    """Return the documents that have any of a word's terms, each with the term it has most of."""
    forms = [postings for postings in map(look_up, terms) if postings.count]
    postings = either(forms, size)
    df = min(postings.count, count)
    return Group(postings, float(np.log(1 + (count - df + 0.5) / (df + 0.5))))


@dataclass(frozen=True, slots=True)
class LengthFactor:
    """BM25's K of every document: a weight counts half of what it can count at most when it reaches K."""

    lengths: npt.NDArray[np.uint16]
    by_length: Float32s  # documents come and go, and all K with them: computed for the lengths there can be

    def at(self, ns: Int64s) -> Float32s:
        """Return K of these documents."""
        return self.by_length.take(self.lengths.take(ns))


def length_factor(lengths: npt.NDArray[np.uint16], average: float) -> LengthFactor:
    """Return K for documents of these lengths in words, in an index whose documents have this many on average."""
    by_length = K1 * (1 - B + B * np.arange(0x10000) / max(average, 1.0))
    return LengthFactor(lengths, by_length.astype(np.float32))


def with_every_word(groups: Sequence[Group], mask: Bools, factor: LengthFactor) -> Ranked:
    """Return the documents that pass the mask and have every word."""
    by_rarity = sorted(groups, key=lambda group: group.postings.count)
    ns = _few_that_pass(by_rarity, mask)
    weights: list[Uint8s] = []
    for group in by_rarity:
        found = group.postings.weights_at(ns, len(mask))
        has_it = np.flatnonzero(found)
        if len(has_it) < len(ns):  # taking by number: by a mask it takes ten times as long
            ns, found, weights = ns.take(has_it), found.take(has_it), [kept.take(has_it) for kept in weights]
        weights.append(found)
    k = factor.at(ns)
    scores = np.zeros(len(ns))
    for group, found in zip(by_rarity, weights, strict=True):
        scores += _bm25(group.idf, found, k)
    return Ranked(ns, scores)


def _few_that_pass(by_rarity: Sequence[Group], mask: Bools) -> Int64s:
    """Return documents that pass the mask, all with every word among them: as few as are found at once."""
    rarest = by_rarity[0].postings
    if np.count_nonzero(mask) < rarest.count:
        return np.flatnonzero(mask)
    return rarest.ns_within(mask)


def with_some_words(groups: Sequence[Group], mask: Bools, factor: LengthFactor) -> Ranked:
    """Return the documents that pass the mask and have words that carry `MIN_SHARE` of the query's weight."""
    least = MIN_SHARE * sum(group.idf for group in groups)
    ns = _some_that_pass(_telling(groups, least), mask)
    k = factor.at(ns)
    scores, share = np.zeros(len(ns)), np.zeros(len(ns))
    for group in groups:
        found = group.postings.weights_at(ns, len(mask))
        scores += _bm25(group.idf, found, k)
        share += group.idf * (found > 0)
    at = np.flatnonzero((share >= least) & (scores > 0))
    return Ranked(ns.take(at), scores.take(at))


def _telling(groups: Sequence[Group], least: float) -> list[Group]:
    """Return the words a document needs one of: without the commonest, all of which together carry too little."""
    by_idf = sorted(groups, key=lambda group: group.idf)
    carried = np.cumsum([group.idf for group in by_idf])
    return by_idf[int(np.searchsorted(carried, least * (1 - 1e-9))) :]  # sums in another order differ in the last digit


def _some_that_pass(telling: Sequence[Group], mask: Bools) -> Int64s:
    passing = np.count_nonzero(mask)
    if passing < min(group.postings.count for group in telling):
        return np.flatnonzero(mask)
    has_one = np.zeros(len(mask), np.bool_)
    for group in telling:
        if isinstance(group.postings, ListedPostings):
            has_one[group.postings.ns] = True
        else:
            has_one |= group.postings.column(len(mask)) > 0
    return np.flatnonzero(has_one & mask)


def _bm25(idf: float, weights: Uint8s, k: Float32s) -> Float32s:
    found = weights.astype(np.float32)
    return np.float32(idf * (K1 + 1)) * found / (found + k)


def best(ranked: Ranked, published: npt.NDArray[np.int64], limit: int) -> tuple[Int64s, Float64s]:
    """Return the best documents in order; among equal scores the newest comes first, then the highest number."""
    at = np.arange(len(ranked.ns))
    if len(at) > limit:
        at, tied = _highest(ranked.scores, at, limit)
        newer, tied = _highest(published[ranked.ns[tied]], tied, limit - len(at))
        last = tied[len(tied) - (limit - len(at) - len(newer)) :]
        at = np.concatenate([at, newer, last])
    ns, scores = ranked.ns[at], ranked.scores[at]
    order = np.lexsort((-ns, -published[ns], -scores))
    return ns[order], scores[order]


def _highest(values: npt.NDArray[Any], at: Int64s, limit: int) -> tuple[Int64s, Int64s]:
    """Return which of the positions are certainly among the highest values, and which are tied for what is left."""
    if len(at) <= limit:
        return at, at[:0]
    nth = np.partition(values, len(values) - limit)[len(values) - limit]
    return at[np.flatnonzero(values > nth)], at[np.flatnonzero(values == nth)]


def fused(lists: Sequence[Int64s]) -> list[tuple[int, float]]:
    """Return documents of several rankings in one, best first, by reciprocal rank fusion."""
    scores: dict[int, float] = {}
    for ranking in lists:
        for rank, n in enumerate(ranking.tolist(), start=1):
            scores[n] = scores.get(n, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], -pair[0]))
