"""What a query finds: its words, phrases and vector put to the index, filtered, ranked and grouped.

A `SearchQuery` enters; a `Listed` leaves, which says which documents are shown. Their texts are read in
`hits.py`.
"""

import sqlite3
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from news_assets.clients.search.embedded.duplicates import Bools
from news_assets.clients.search.embedded.hits import Listed
from news_assets.clients.search.embedded.postings import PostingsReader
from news_assets.clients.search.embedded.ranking import (
    ENOUGH_MATCHES,
    Group,
    LengthFactor,
    Ranked,
    best,
    fused,
    group_of,
    length_factor,
    with_every_word,
    with_some_words,
)
from news_assets.clients.search.embedded.table import DocumentTable
from news_assets.clients.search.embedded.terms import Int64s, query_terms
from news_assets.clients.search.embedded.typos import corrections
from news_assets.clients.search.embedded.vectors import VectorMatrix
from news_assets.clients.search.query import ParsedQuery, parse_query, phrase_pattern
from news_assets.clients.search.snippet import Marker
from news_assets.ports import SearchQuery
from news_assets.text.words import fold, stem, stopwords

CANDIDATES = 100  # of each ranking that are fused, and of a vector search that are counted; more where a page asks
PHRASE_CANDIDATES = 1_000  # best documents with a phrase's words whose text is read for the phrase itself

_NOTHING = Ranked(np.empty(0, np.int64), np.empty(0))
_NO_MARKS = Marker((), frozenset())


@dataclass(slots=True)
class Matcher:
    """Puts queries to the index, as it was at the last `refresh`."""

    connection: sqlite3.Connection
    table: DocumentTable
    postings: PostingsReader
    vectors: VectorMatrix
    _factor: LengthFactor = field(default_factory=lambda: length_factor(np.zeros(1, np.uint16), 1.0))
    _vectors_are_fresh: bool = False

    def refresh(self) -> None:
        """Catch up with what was written; the table has done so already."""
        self.postings.refresh(self.table.size)
        self._vectors_are_fresh = False
        self._factor = length_factor(self.table.columns["length"], self.table.average_length())

    def listed(self, query: SearchQuery) -> Listed:
        """Return which documents the query lists, how many there are, and their facets."""
        mask = self.table.matching(query)
        wanted = max(CANDIDATES, 2 * (query.offset + query.limit))
        matched, marker = _NOTHING, _NO_MARKS
        if query.mode != "vector" or query.vector is None:
            matched, marker = self._by_words(query, mask)
        words_ns, words_scores = best(matched, self.table.columns["published"], wanted)
        if query.mode == "keyword" or query.vector is None:
            return self._grouped(
                list(zip(words_ns.tolist(), words_scores.tolist(), strict=True)), matched.ns, marker, query
            )
        near_ns, cosines = self._by_vector(query.vector, mask, wanted)
        if query.mode == "vector" or not len(matched.ns):
            return self._grouped(list(zip(near_ns.tolist(), cosines.tolist(), strict=True)), near_ns, marker, query)
        return self._grouped(fused([words_ns, near_ns]), matched.ns, marker, query)

    # --- words -------------------------------------------------------------------------------------------------------

    def _by_words(self, query: SearchQuery, mask: Bools) -> tuple[Ranked, Marker]:
        languages = tuple([query.language] if query.language else self.table.languages())
        parsed = parse_query(query.text, languages)
        for word in parsed.excluded:
            mask[self._group(query_terms(word, languages)).postings.ns_within(mask)] = False
        if not parsed.words:
            ns = np.flatnonzero(mask) if not query.text.strip() or parsed.excluded else _NOTHING.ns
            return Ranked(ns, np.zeros(len(ns))), _NO_MARKS
        words, groups = self._known_words(parsed, languages)
        if not groups:
            return _NOTHING, _NO_MARKS
        matched = with_every_word(groups, mask, self._factor)
        if len(matched.ns) < ENOUGH_MATCHES and len(groups) > 1:
            matched = _first_then(matched, with_some_words(groups, mask, self._factor))
        terms = frozenset(term for word in words for term in query_terms(word, languages))
        return self._with_phrases(matched, parsed), Marker(words, terms)

    def _known_words(self, parsed: ParsedQuery, languages: tuple[str, ...]) -> tuple[tuple[str, ...], list[Group]]:
        """Return the words to look for, typing mistakes corrected, and where they are; unknown ones are left out.

        Where that leaves nothing but stop words, there is nothing to look for: they are in every text.
        """
        words: list[str] = []
        groups: list[Group] = []
        for word in parsed.words:
            forms = [word]
            group = self._group(query_terms(word, languages))
            if not group.postings.count:
                forms = self._corrected(word, languages)
                group = self._group(tuple({term for form in forms for term in query_terms(form, languages)}))
            if group.postings.count:
                words += forms
                groups.append(group)
        idle = frozenset[str]().union(*map(stopwords, languages))
        if len(groups) < len(parsed.words) and idle.issuperset(words):
            return (), []
        return tuple(words), groups

    def _corrected(self, word: str, languages: tuple[str, ...]) -> list[str]:
        """Return known words one mistake away, else known stems: the text may have another form of the word."""
        found = corrections(self.connection, fold(word))
        if found:
            return found
        stems = {stem(word, language) for language in languages}
        return sorted({known for one in stems for known in corrections(self.connection, one)})

    def _group(self, terms: tuple[int, ...]) -> Group:
        return group_of(terms, self.postings.term, self.table.count, self.table.size)

    def _with_phrases(self, matched: Ranked, parsed: ParsedQuery) -> Ranked:
        if not parsed.phrases:
            return matched
        patterns = phrase_pattern(parsed.phrases)
        ns, scores = best(matched, self.table.columns["published"], PHRASE_CANDIDATES)
        find = "SELECT title || char(10) || text FROM texts WHERE n = ?"
        kept = [
            i
            for i, n in enumerate(ns.tolist())
            if all(
                pattern.search(fold(self.connection.execute(find, (n,)).fetchone()[0]).lower()) for pattern in patterns
            )
        ]
        order = np.argsort(ns[kept])
        return Ranked(ns[kept][order], scores[kept][order])

    # --- vectors -----------------------------------------------------------------------------------------------------

    def _by_vector(self, vector: tuple[float, ...], mask: Bools, limit: int) -> tuple[Int64s, npt.NDArray[np.float32]]:
        if not self._vectors_are_fresh:
            self.vectors.refresh(len(vector))
            self._vectors_are_fresh = True
        return self.vectors.nearest(vector, mask, limit)

    # --- groups ------------------------------------------------------------------------------------------------------

    def _grouped(self, ranking: list[tuple[int, float]], matched: Int64s, marker: Marker, query: SearchQuery) -> Listed:
        """Return the page of the ranking, one document for each group of duplicates."""
        is_match = np.zeros(self.table.size, np.bool_)
        is_match[matched] = True
        leaders, originals = self.table.duplicates.leader, self.table.duplicates.original
        page: dict[int, tuple[int, float]] = {}
        for n, score in ranking:
            leader = int(leaders[n])
            if leader not in page:
                original = int(originals[leader])
                page[leader] = (original if is_match[original] else n, score)
            if len(page) == query.offset + query.limit:
                break
        shown = tuple(page.values())[query.offset : query.offset + query.limit]
        return Listed(shown, self.table.group_count(matched), self.table.facets(matched), marker)


def _first_then(every: Ranked, some: Ranked) -> Ranked:
    """Return documents with some words, those with every word before the others."""
    if not len(every.ns):
        return some
    scores = some.scores.copy()
    has_every = np.isin(some.ns, every.ns)
    scores[has_every] += scores.max(initial=0.0)
    return Ranked(some.ns, scores)
