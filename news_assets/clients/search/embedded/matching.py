"""Evaluation of a query: match words, phrases and the vector, filter, rank, group duplicates, and read the hits."""

import sqlite3
from dataclasses import dataclass, field
from datetime import date

import numpy as np
import numpy.typing as npt

from news_assets.clients.search.embedded.duplicates import Bools
from news_assets.clients.search.embedded.postings import PostingsReader
from news_assets.clients.search.embedded.ranking import (
    LengthFactor,
    QueryWord,
    Ranked,
    best,
    fused,
    length_factor,
    query_word,
    with_every_word,
    with_some_words,
)
from news_assets.clients.search.embedded.table import DocumentTable
from news_assets.clients.search.embedded.terms import Int64s, corrections, query_terms, term_of
from news_assets.clients.search.embedded.vectors import VectorMatrix
from news_assets.clients.search.snippet import Highlighter, snippet
from news_assets.ports import SearchHit, SearchQuery
from news_assets.text.search_query import ENOUGH_MATCHES, ParsedQuery, parse_query, phrase_pattern
from news_assets.text.words import fold, stem, stopwords

CANDIDATES = 100  # per ranking that is fused, and of a vector search; more for a page further down
PHRASE_CANDIDATES = 1_000  # best documents with a phrase's words, whose texts are searched for the phrase

_COLUMNS = (
    "article_id, title, url, desk, agency, day, theme_code, language, coalesce(nullif(text, ''), summary, '') AS text"
)

_NOTHING = Ranked(np.empty(0, np.int64), np.empty(0))
_NO_HIGHLIGHTS = Highlighter((), lambda word, language: False)


@dataclass(frozen=True, slots=True)
class Listed:
    """One page of an answer: document numbers with scores, the number of matches, facets and the words to highlight."""

    page: tuple[tuple[int, float], ...]
    found: int
    facets: dict[str, dict[str, int]]
    highlighter: Highlighter


@dataclass(slots=True)
class Matcher:
    """Evaluates queries on the index as it was at the last `refresh`."""

    connection: sqlite3.Connection
    table: DocumentTable
    postings: PostingsReader
    vectors: VectorMatrix
    _factor: LengthFactor = field(default_factory=lambda: length_factor(np.zeros(1, np.uint16), 1.0))
    _vectors_are_fresh: bool = False

    def refresh(self) -> None:
        """Read what was written since; the table must have been refreshed before."""
        self.postings.refresh(self.table.size)
        self._vectors_are_fresh = False
        self._factor = length_factor(self.table.columns["length"], self.table.average_length())

    def listed(self, query: SearchQuery) -> Listed:
        """Return the page of documents that the query lists, with count and facets of all matches."""
        mask = self.table.matching(query)
        limit = max(CANDIDATES, 2 * (query.offset + query.limit))
        matched, highlighter = _NOTHING, _NO_HIGHLIGHTS
        if query.mode != "vector" or query.vector is None:
            matched, highlighter = self._by_words(query, mask)
        words_ns, words_scores = best(matched, self.table.columns["published"], limit)
        if query.mode == "keyword" or query.vector is None:
            return self._grouped(
                list(zip(words_ns.tolist(), words_scores.tolist(), strict=True)), matched.ns, highlighter, query
            )
        near_ns, cosines = self._by_vector(query.vector, mask, limit)
        if query.mode == "vector" or not len(matched.ns):
            return self._grouped(
                list(zip(near_ns.tolist(), cosines.tolist(), strict=True)), near_ns, highlighter, query
            )
        return self._grouped(fused(words_ns, words_scores, near_ns, cosines), matched.ns, highlighter, query)

    def _by_words(self, query: SearchQuery, mask: Bools) -> tuple[Ranked, Highlighter]:
        languages = tuple([query.language] if query.language else self.table.languages())
        parsed = parse_query(query.text, languages)
        for word in parsed.excluded:
            mask[self._word(query_terms(word, languages)).postings.ns_within(mask)] = False
        if not parsed.words:
            ns = np.flatnonzero(mask) if not query.text.strip() or parsed.excluded else _NOTHING.ns
            return Ranked(ns, np.zeros(len(ns))), _NO_HIGHLIGHTS
        forms, words = self._known_words(parsed, languages)
        if not words:
            return _NOTHING, _NO_HIGHLIGHTS
        matched = with_every_word(words, mask, self._factor)
        if len(matched.ns) < ENOUGH_MATCHES and len(words) > 1:
            matched = _first_then(matched, with_some_words(words, mask, self._factor))
        terms = frozenset(term for form in forms for term in query_terms(form, languages))
        return self._with_phrases(matched, parsed), Highlighter(forms, lambda *word: term_of(*word) in terms)

    def _known_words(self, parsed: ParsedQuery, languages: tuple[str, ...]) -> tuple[tuple[str, ...], list[QueryWord]]:
        """Return the words that the index has, as spelled there and looked up; typos are corrected, others dropped.

        Return nothing if words were dropped and only stop words remain, which are in every text.
        """
        spelled: list[str] = []
        found: list[QueryWord] = []
        for typed in parsed.words:
            forms = [typed]
            word = self._word(query_terms(typed, languages))
            if not word.postings.count:
                forms = self._corrected(typed, languages)
                word = self._word(tuple({term for form in forms for term in query_terms(form, languages)}))
            if word.postings.count:
                spelled += forms
                found.append(word)
        ignored = frozenset[str]().union(*map(stopwords, languages))
        if len(found) < len(parsed.words) and ignored.issuperset(spelled):
            return (), []
        return tuple(spelled), found

    def _corrected(self, word: str, languages: tuple[str, ...]) -> list[str]:
        """Return known words one edit away, else known stems: the text may have another form of the word."""
        found = corrections(self.connection, fold(word))
        if found:
            return found
        stems = {stem(word, language) for language in languages}
        return sorted({known for one in stems for known in corrections(self.connection, one)})

    def _word(self, terms: tuple[int, ...]) -> QueryWord:
        return query_word(terms, self.postings.term, self.table.count, self.table.size)

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

    def _by_vector(self, vector: tuple[float, ...], mask: Bools, limit: int) -> tuple[Int64s, npt.NDArray[np.float32]]:
        if not self._vectors_are_fresh:
            self.vectors.refresh(len(vector))
            self._vectors_are_fresh = True
        return self.vectors.nearest(vector, mask, limit)

    def _grouped(
        self, ranking: list[tuple[int, float]], matched: Int64s, highlighter: Highlighter, query: SearchQuery
    ) -> Listed:
        """Return the page of the ranking with one document per group of duplicates: the original if it matches."""
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
        return Listed(shown, self.table.group_count(matched), self.table.facets(matched), highlighter)


def _first_then(every: Ranked, some: Ranked) -> Ranked:
    """Return the documents with some words, with scores that rank those with every word first."""
    if not len(every.ns):
        return some
    scores = some.scores.copy()
    has_every = np.isin(some.ns, every.ns)
    scores[has_every] += scores.max(initial=0.0)
    return Ranked(some.ns, scores)


def hits_of(connection: sqlite3.Connection, listed: Listed) -> tuple[SearchHit, ...]:
    """Return the hits of a page, best first, with snippets."""
    find = f"SELECT {_COLUMNS} FROM documents JOIN texts USING (n) WHERE n = ?"
    return tuple(_hit(connection.execute(find, (n,)).fetchone(), score, listed.highlighter) for n, score in listed.page)


def _hit(row: tuple[str, ...], score: float, highlighter: Highlighter) -> SearchHit:
    article_id, title, url, desk, agency, day, theme_code, language, text = row
    return SearchHit(
        article_id=article_id,
        title=title,
        url=url,
        desk=desk,
        agency=agency,
        day=date.fromisoformat(day),
        score=score,
        snippet=snippet(text, highlighter.spans(text, language)),
        theme_code=theme_code,
        language=language,
    )
