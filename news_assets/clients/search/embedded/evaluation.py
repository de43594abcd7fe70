"""Evaluation of a query: match words, phrases and the vector, filter, rank, group
duplicates, and read the hits.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

import numpy as np

from news_assets.clients.search.embedded.duplicate_groups import Bools
from news_assets.clients.search.embedded.nearest_vectors import VectorMatrix
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
from news_assets.clients.search.embedded.terms import (
    Int64s,
    corrections,
    query_terms,
    term_of,
)
from news_assets.clients.search.hit_texts import Highlighter, ranks, snippet, with_words
from news_assets.ports.search import Explanation, SearchHit, SearchQuery, SearchSort
from news_assets.text.search_query import (
    ENOUGH_MATCHES,
    ParsedQuery,
    parse_query,
    phrase_pattern,
)
from news_assets.text.words import fold, stem, stopwords

# per ranking that is fused, and of a vector search; more for a page further down
CANDIDATES = 100
# best documents with a phrase's words, whose texts are searched for the phrase
PHRASE_CANDIDATES = 1_000

_COLUMNS = "article_id, title, url, desk, agency, day, theme_code, language, text, summary, labels"

_NOTHING = Ranked(np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True, slots=True)
class Asked:
    """The words of a query that the index has: their terms by the word as typed, and
    how to highlight them.
    """

    terms: Mapping[str, frozenset[int]]
    highlighter: Highlighter


_NO_WORDS = Asked({}, Highlighter((), lambda word, language: False))


@dataclass(frozen=True, slots=True)
class Listed:
    """One page of an answer: document numbers with scores, the number of matches,
    facets and the words asked for.

    `ranks` has the documents of the page if explanations are asked for, else none.
    """

    page: tuple[tuple[int, float], ...]
    found: int
    facets: dict[str, dict[str, int]]
    asked: Asked
    ranks: Mapping[int, Explanation]


@dataclass(slots=True)
class Matcher:
    """Evaluates queries on the index as it was at the last `refresh`."""

    connection: sqlite3.Connection
    table: DocumentTable
    postings: PostingsReader
    vectors: VectorMatrix
    _factor: LengthFactor = field(
        default_factory=lambda: length_factor(np.zeros(1, np.uint16), 1.0)
    )
    _vectors_are_fresh: bool = False

    def refresh(self) -> None:
        """Read what was written since; the table must have been refreshed before."""
        self.postings.refresh(self.table.size)
        self._vectors_are_fresh = False
        self._factor = length_factor(
            self.table.columns["length"], self.table.average_length()
        )

    def listed(self, query: SearchQuery) -> Listed:
        """Return the page of documents that the query lists, with count and facets of
        all matches.
        """
        mask = self.table.matching(query)
        vector = query.vector if query.mode != "keyword" else None
        by_date = query.sort == "date"
        end = query.offset + query.limit
        limit = CANDIDATES if by_date else max(CANDIDATES, 2 * end)
        matched, asked = _NOTHING, _NO_WORDS
        if query.mode != "vector" or vector is None:
            matched, asked = self._by_words(query, mask)
        near = _NOTHING if vector is None else self._by_vector(vector, mask, limit)
        by_words = self._best(matched, limit)
        if not len(matched.ns):
            matched = near
        if by_date:
            ranked = self._best(self._without_copies(matched), 2 * end, "date")
        elif len(near.ns) and len(by_words.ns):
            ranked = fused(by_words, near)
        else:
            ranked = by_words if len(by_words.ns) else near
        explained = self._ranks(by_words, near) if query.explain else {}
        return self._grouped(ranked, matched.ns, asked, query, explained)

    def _by_words(self, query: SearchQuery, mask: Bools) -> tuple[Ranked, Asked]:
        languages = tuple(
            [query.language] if query.language else self.table.languages()
        )
        parsed = parse_query(query.text, languages)
        for word in parsed.excluded:
            mask[self._word(query_terms(word, languages)).postings.ns_within(mask)] = (
                False
            )
        if not parsed.words:
            ns = (
                np.flatnonzero(mask)
                if not query.text.strip() or parsed.excluded
                else _NOTHING.ns
            )
            return Ranked(ns, np.zeros(len(ns))), _NO_WORDS
        forms, known = self._known_words(parsed, languages)
        words = list(known.values())
        if not words:
            return _NOTHING, _NO_WORDS
        matched = with_every_word(words, mask, self._factor)
        if len(matched.ns) < ENOUGH_MATCHES and len(words) > 1:
            matched = _first_then(matched, with_some_words(words, mask, self._factor))
        terms = frozenset[int]().union(*(word.terms for word in words))
        asked = Asked(
            {typed: word.terms for typed, word in known.items()},
            Highlighter(forms, lambda *word: term_of(*word) in terms),
        )
        return self._with_phrases(matched, parsed), asked

    def _known_words(
        self, parsed: ParsedQuery, languages: tuple[str, ...]
    ) -> tuple[tuple[str, ...], dict[str, QueryWord]]:
        """Return the words that the index has, as spelled there and, as typed, looked
        up; typos are corrected.

        Return nothing if words were dropped and only stop words remain, which are in
        every text.
        """
        spelled: list[str] = []
        found: dict[str, QueryWord] = {}
        for typed in parsed.words:
            forms = [typed]
            word = self._word(query_terms(typed, languages))
            if not word.postings.count:
                forms = self._corrected(typed, languages)
                word = self._word(
                    tuple(
                        {
                            term
                            for form in forms
                            for term in query_terms(form, languages)
                        }
                    )
                )
            if word.postings.count:
                spelled += forms
                found[typed] = word
        ignored = frozenset[str]().union(*map(stopwords, languages))
        if len(found) < len(parsed.words) and ignored.issuperset(spelled):
            return (), {}
        return tuple(spelled), found

    def _corrected(self, word: str, languages: tuple[str, ...]) -> list[str]:
        """Return known words one edit away, else known stems: the text may have another
        form of the word.
        """
        found = corrections(self.connection, fold(word))
        if found:
            return found
        stems = {stem(word, language) for language in languages}
        return sorted(
            {known for one in stems for known in corrections(self.connection, one)}
        )

    def _word(self, terms: tuple[int, ...]) -> QueryWord:
        return query_word(terms, self.postings.term, self.table.count, self.table.size)

    def _with_phrases(self, matched: Ranked, parsed: ParsedQuery) -> Ranked:
        if not parsed.phrases:
            return matched
        patterns = phrase_pattern(parsed.phrases)
        ranked = self._best(matched, PHRASE_CANDIDATES)
        ns, scores = ranked.ns, ranked.scores
        find = "SELECT title || char(10) || text FROM texts WHERE n = ?"
        kept = [
            i
            for i, n in enumerate(ns.tolist())
            if all(
                pattern.search(
                    fold(self.connection.execute(find, (n,)).fetchone()[0]).lower()
                )
                for pattern in patterns
            )
        ]
        order = np.argsort(ns[kept])
        return Ranked(ns[kept][order], scores[kept][order])

    def _best(
        self, matched: Ranked, limit: int, sort: SearchSort = "relevance"
    ) -> Ranked:
        return best(matched, self.table.columns["published"], limit, sort)

    def _by_vector(self, vector: tuple[float, ...], mask: Bools, limit: int) -> Ranked:
        if not self._vectors_are_fresh:
            self.vectors.refresh(len(vector))
            self._vectors_are_fresh = True
        return Ranked(*self.vectors.nearest(vector, mask, limit))

    def _without_copies(self, matched: Ranked) -> Ranked:
        """Return the documents without those whose original is among them."""
        originals = self._originals(matched.ns)
        kept = np.flatnonzero(
            (originals == matched.ns) | ~np.isin(originals, matched.ns)
        )
        return Ranked(matched.ns[kept], matched.scores[kept])

    def _originals(self, ns: Int64s) -> Int64s:
        duplicates = self.table.duplicates
        return duplicates.original.take(duplicates.leader.take(ns))

    def _ranks(self, by_words: Ranked, near: Ranked) -> dict[int, Explanation]:
        """Return the ranks of each group of duplicates, by its leader."""
        leader = self.table.duplicates.leader
        of_words, of_vector = (
            zip(leader.take(ranked.ns).tolist(), ranked.scores.tolist(), strict=True)
            for ranked in (by_words, near)
        )
        return ranks(of_words, of_vector)

    def _grouped(
        self,
        ranked: Ranked,
        matched: Int64s,
        asked: Asked,
        query: SearchQuery,
        explained: Mapping[int, Explanation],
    ) -> Listed:
        """Return the page of the ranking with one document per group of duplicates: the
        original if it matches.
        """
        is_match = np.zeros(self.table.size, np.bool_)
        is_match[matched] = True
        leaders, originals = (
            self.table.duplicates.leader,
            self.table.duplicates.original,
        )
        groups: dict[int, tuple[int, float]] = {}
        for n, score in zip(ranked.ns.tolist(), ranked.scores.tolist(), strict=True):
            leader = int(leaders[n])
            if leader not in groups:
                original = int(originals[leader])
                groups[leader] = (original if is_match[original] else n, score)
            if len(groups) == query.offset + query.limit:
                break
        page = tuple(groups.values())[query.offset : query.offset + query.limit]
        of_page = {
            n: explained[int(leaders[n])]
            for n, _ in page
            if int(leaders[n]) in explained
        }
        return Listed(
            page,
            self.table.group_count(matched),
            self.table.facets(matched),
            asked,
            of_page,
        )


def _first_then(every: Ranked, some: Ranked) -> Ranked:
    """Return the documents with some words, with scores that rank those with every word
    first.
    """
    if not len(every.ns):
        return some
    scores = some.scores.copy()
    has_every = np.isin(some.ns, every.ns)
    scores[has_every] += scores.max(initial=0.0)
    return Ranked(some.ns, scores)


def hits_of(connection: sqlite3.Connection, listed: Listed) -> tuple[SearchHit, ...]:
    """Return the hits of a page in order, with snippets, and with explanations if the
    page has ranks.
    """
    find = f"SELECT {_COLUMNS} FROM documents JOIN texts USING (n) WHERE n = ?"
    return tuple(
        _hit(connection.execute(find, (n,)).fetchone(), n, score, listed)
        for n, score in listed.page
    )


def _hit(row: tuple[str, ...], n: int, score: float, listed: Listed) -> SearchHit:
    (
        article_id,
        title,
        url,
        desk,
        agency,
        day,
        theme_code,
        language,
        text,
        summary,
        labels,
    ) = row
    shown = text or summary or ""
    explanation = None
    if n in listed.ranks:
        fields = {
            "title": title,
            "text": text,
            "summary": summary or "",
            "labels": labels,
        }
        explanation = with_words(
            listed.ranks[n],
            listed.asked.terms,
            fields,
            lambda word: term_of(word, language),
        )
    return SearchHit(
        article_id=article_id,
        title=title,
        url=url,
        desk=desk,
        agency=agency,
        day=date.fromisoformat(day),
        score=score,
        snippet=snippet(shown, listed.asked.highlighter.spans(shown, language)),
        theme_code=theme_code,
        language=language,
        explanation=explanation,
    )
