"""Which documents match a query's words, and in what order: BM25F, every word first, some words only when too few.

Terms enter, looked up in `PostingsReader`; document numbers with scores leave. Vectors are ranked in
`search_vectors.py`; `fused` brings the two together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from news_assets.clients.search_postings import TermPostings
from news_assets.clients.search_table import Bools
from news_assets.clients.search_terms import Int64s

K1 = 1.5
B = 0.6
ENOUGH_MATCHES = 10  # with fewer documents that have every word, those that have some are listed as well
MIN_SHARE = 0.1  # of the words' weight (idf) that a document with only some of them must have; .3 lost recall@100
RRF_K = 60  # Cormack, Clarke, Büttcher 2009: reciprocal rank fusion

Float64s = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranked:
    """Documents that match, ascending by number, and their scores."""

    ns: Int64s
    scores: Float64s


@dataclass(frozen=True, slots=True)
class Group:
    """One word of the query: the documents that have it in any of its forms, and how rare it is."""

    postings: TermPostings
    idf: float


def group_of(terms: Sequence[int], look_up: Callable[[int], TermPostings], count: int, size: int) -> Group:
    """Return the documents that have any of a word's terms, each with the term it has most of."""
    forms = [postings for postings in map(look_up, terms) if len(postings.ns)]
    postings = forms[0] if len(forms) == 1 else _either(forms, size)
    df = min(len(postings.ns), count)
    return Group(postings, float(np.log(1 + (count - df + 0.5) / (df + 0.5))))


def _either(forms: Sequence[TermPostings], size: int) -> TermPostings:
    weights = np.zeros(size, np.uint8)
    for form in forms:
        weights[form.ns] = np.maximum(weights[form.ns], form.weights)
    ns = np.flatnonzero(weights)
    return TermPostings(ns, weights[ns])


def length_factor(lengths: npt.NDArray[np.uint16], is_alive: Bools) -> npt.NDArray[np.float32]:
    """Return BM25's K for each document: a weight counts half of what it can count at most when it reaches K."""
    average = float(lengths[is_alive].mean()) if is_alive.any() else 1.0
    return (K1 * (1 - B + B * lengths / max(average, 1.0))).astype(np.float32)


def with_every_word(groups: Sequence[Group], mask: Bools, factor: npt.NDArray[np.float32]) -> Ranked:
    """Return the documents that pass the mask and have every word."""
    by_rarity = sorted(groups, key=lambda group: len(group.postings.ns))
    ns, first = by_rarity[0].postings.ns, by_rarity[0].postings.weights
    passing = mask[ns]
    ns, weights = ns[passing], [first[passing]]
    for group in by_rarity[1:]:
        found = _weights_at(group.postings, ns, len(mask))
        has_it = found > 0
        ns, weights = ns[has_it], [*(kept[has_it] for kept in weights), found[has_it]]
    scores = np.zeros(len(ns))
    for group, found in zip(by_rarity, weights, strict=True):
        scores += _bm25(group.idf, found, factor[ns])
    return Ranked(ns, scores)


def _weights_at(postings: TermPostings, ns: Int64s, size: int) -> npt.NDArray[np.uint8]:
    if len(ns) * 16 < len(postings.ns):
        at = np.minimum(np.searchsorted(postings.ns, ns), len(postings.ns) - 1)
        found: npt.NDArray[np.uint8] = np.where(postings.ns[at] == ns, postings.weights[at], np.uint8(0))
        return found
    dense = np.zeros(size, np.uint8)
    dense[postings.ns] = postings.weights
    return dense[ns]


def with_some_words(groups: Sequence[Group], mask: Bools, factor: npt.NDArray[np.float32]) -> Ranked:
    """Return the documents that pass the mask and have words that carry `MIN_SHARE` of the query's weight."""
    scores, share = np.zeros(len(mask)), np.zeros(len(mask))
    for group in groups:
        ns = group.postings.ns
        scores[ns] += _bm25(group.idf, group.postings.weights, factor[ns])
        share[ns] += group.idf
    least = MIN_SHARE * sum(group.idf for group in groups)
    ns = np.flatnonzero(mask & (share >= least) & (scores > 0))
    return Ranked(ns, scores[ns])


def _bm25(idf: float, weights: npt.NDArray[np.uint8], factor: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    found = weights.astype(np.float32)
    return np.float32(idf * (K1 + 1)) * found / (found + factor)


def best(ranked: Ranked, published: npt.NDArray[np.int64], limit: int) -> tuple[Int64s, Float64s]:
    """Return the best documents in order; among equal scores the newest comes first."""
    ns, scores = ranked.ns, ranked.scores
    if len(ns) > limit:
        threshold = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        at = np.flatnonzero(scores >= threshold)
        ns, scores = ns[at], scores[at]
    order = np.lexsort((-ns, -published[ns], -scores))[:limit]
    return ns[order], scores[order]


def fused(lists: Sequence[Int64s]) -> list[tuple[int, float]]:
    """Return documents of several rankings in one, best first, by reciprocal rank fusion."""
    scores: dict[int, float] = {}
    for ranking in lists:
        for rank, n in enumerate(ranking.tolist(), start=1):
            scores[n] = scores.get(n, 0.0) + 1 / (RRF_K + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], -pair[0]))
