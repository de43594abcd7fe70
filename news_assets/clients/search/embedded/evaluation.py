"""Evaluation of a query: match words, phrases and the vector, filter, rank, group
duplicates, and read the hits.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import NamedTuple

import numpy as np

from news_assets.clients.search.embedded.document_table import Bools, DocumentTable
from news_assets.clients.search.embedded.nearest_vectors import VectorMatrix
from news_assets.clients.search.embedded.postings import PostingsReader
from news_assets.clients.search.embedded.ranking import (
    TEXT_CANDIDATES,
    VECTOR_SHARE,
    LengthFactor,
    QueryWord,
    Scored,
    TreeMatcher,
    best,
    fused,
    highest_score,
    length_factor,
    query_word,
    scored,
    with_every_word,
    with_some_words,
)
from news_assets.clients.search.embedded.terms import (
    Int64s,
    corrections,
    query_terms,
    term_of,
)
from news_assets.clients.search.index_texts import (
    Highlighter,
    ranks,
    snippet,
    with_words,
)
from news_assets.ports.search_index import (
    Explanation,
    SearchHit,
    SearchQuery,
    SearchSort,
)
from news_assets.text.query_parser import (
    ParsedQuery,
    parse_operators,
    parse_query,
    phrase_pattern,
)
from news_assets.text.query_tree import (
    ENOUGH_MATCHES,
    Node,
    Prefix,
    words_of_part,
    written_parts,
)
from news_assets.text.words import fold, stem, stopwords

# per ranking that is fused, and of a vector search; more for a page further down
_CANDIDATES = 100
# best documents with a phrase's words, whose texts are searched for the phrase
_PHRASE_CANDIDATES = 1_000


_NOTHING = Scored(np.empty(0, np.int64), np.empty(0))


@dataclass(frozen=True, slots=True)
class _MatchedWords:
    """The words of a query that the index has: their terms by the word as typed, and
    how to highlight them.
    """

    terms: Mapping[str, frozenset[int]]
    highlighter: Highlighter


_NO_WORDS = _MatchedWords({}, Highlighter((), lambda word, language: False))


@dataclass(frozen=True, slots=True)
class _MatchedPage:
    """One page of an answer: document numbers with scores, the number of matches,
    facets and the words of the query that the index has.

    `languages` are counts of the documents with the words, or of the nearest.
    `published` are the Unix seconds of publication of the documents of the page.
    `ranks` has these documents if explanations are wanted, else none.
    """

    page: tuple[tuple[int, float], ...]
    found: int
    facets: dict[str, dict[str, int]]
    words: _MatchedWords
    ranks: Mapping[int, Explanation]
    published: Mapping[int, int]
    languages: dict[str, int]


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

    def matched_page(self, query: SearchQuery) -> _MatchedPage:
        """Return the page of documents that the query lists, with count and facets of
        all matches.
        """
        vector = query.vector if query.mode != "keyword" else None
        mask = self.table.matching(query)
        matched, words = self._matched(query, mask)  # removes documents from the mask
        if query.mode == "vector" and vector is not None:
            matched = _NOTHING
        # the same number on every page, so that pages are of one ranking
        nearest = max(_CANDIDATES, query.limit)
        near = _NOTHING
        if vector is not None:
            near = self._by_vector(vector, mask, nearest)
        found = _with_either(matched, near)

        end = query.offset + query.limit
        by_words = self._best(matched, nearest + 2 * end)
        if query.sort == "date":
            ordered = self._best(self._without_copies(found), 2 * end, "date")
        else:
            ordered = _both(by_words, near, nearest)
        page = self._page(ordered, found.ns, query)

        searched = matched if len(matched.ns) else near
        counted = self._counted(page, found, searched, words)
        if query.explain:
            return replace(counted, ranks=self._ranks_of_page(page, by_words, near))
        return counted

    def _counted(
        self,
        page: tuple[tuple[int, float], ...],
        matches: Scored,
        searched: Scored,
        words: _MatchedWords,
    ) -> _MatchedPage:
        """Return a page with what is said of all matches, and of those whose languages
        are counted.
        """
        published = self.table.columns["published"]
        return _MatchedPage(
            page=page,
            found=self.table.group_count(matches.ns),
            facets=self.table.facets(matches.ns),
            words=words,
            ranks={},
            published={n: int(published[n]) for n, _ in page},
            languages=self.table.language_counts(searched.ns),
        )

    def _matched(self, query: SearchQuery, mask: Bools) -> tuple[Scored, _MatchedWords]:
        """Return the documents that the text of a query finds. Those that it excludes,
        or that do not match its operators, are removed from `mask`.
        """
        tree = parse_operators(query.text)
        if tree is not None:
            return self._by_operators(query, tree, mask)
        if query.mode == "vector" and query.vector is not None:
            return _NOTHING, _NO_WORDS
        return self._by_words(query, mask)

    def _by_words(
        self, query: SearchQuery, mask: Bools
    ) -> tuple[Scored, _MatchedWords]:
        """Return the documents with the words of the query; those with an excluded word
        are removed from `mask`.
        """
        languages = tuple(self.table.languages())
        if query.language:
            languages = (query.language,)
        parsed = parse_query(query.text, languages)
        self._exclude(parsed, languages, mask)
        if not parsed.words:
            return self._without_words(query, parsed, mask), _NO_WORDS
        forms, known = self._known_words(parsed, languages)
        words = list(known.values())
        if not words:
            return _NOTHING, _NO_WORDS
        matched = with_every_word(words, mask, self._factor)
        if len(words) > 1 and self._are_few(query, parsed, languages, words, matched):
            some = with_some_words(words, mask, self._factor)
            matched = _first_then(matched, some)
        terms_of = {typed: word.terms for typed, word in known.items()}
        terms = frozenset[int]().union(*terms_of.values())
        highlighter = Highlighter(forms, lambda *word: term_of(*word) in terms)
        return self._with_phrases(matched, parsed), _MatchedWords(terms_of, highlighter)

    def _without_words(
        self, query: SearchQuery, parsed: ParsedQuery, mask: Bools
    ) -> Scored:
        """Return all documents that pass the mask; none for a text that has no word."""
        if query.text.strip() and not parsed.excluded:
            return _NOTHING
        ns = np.flatnonzero(mask)
        return Scored(ns, np.zeros(len(ns)))

    def _exclude(
        self, parsed: ParsedQuery, languages: tuple[str, ...], mask: Bools
    ) -> None:
        """Remove the documents with an excluded word from a mask."""
        for excluded in parsed.excluded:
            word = self._word(query_terms(excluded, languages))
            mask[word.postings.ns_within(mask)] = False

    def _are_few(
        self,
        query: SearchQuery,
        parsed: ParsedQuery,
        languages: tuple[str, ...],
        words: list[QueryWord],
        matched: Scored,
    ) -> bool:
        """Return whether too few documents have every word. Filters do not make them
        few, so that a value of a facet has as many hits as its count says.
        """
        if len(matched.ns) >= ENOUGH_MATCHES:
            return False
        if not query.is_filtered:
            return True
        everything = self.table.is_alive.copy()
        self._exclude(parsed, languages, everything)
        every = with_every_word(words, everything, self._factor)
        return len(every.ns) < ENOUGH_MATCHES

    def _by_operators(
        self, query: SearchQuery, tree: Node, mask: Bools
    ) -> tuple[Scored, _MatchedWords]:
        """Return the documents that match a tree, ranked by the words that they may
        have; the others are removed from `mask`.
        """
        today = query.today or datetime.now(UTC).date()
        matcher = TreeMatcher(self.connection, self.table, self.postings, today)
        words, found = self._words_of_tree(tree, matcher)
        mask &= matcher.possible(tree)
        ranked = scored(np.flatnonzero(mask), words, self.table.size, self._factor)
        is_certain = matcher.certain(tree)
        uncertain = np.flatnonzero(~is_certain.take(ranked.ns))
        if not len(uncertain):
            return ranked, found
        unread = _at(ranked, uncertain)
        some = self._best(unread, TEXT_CANDIDATES, query.sort)
        is_certain[matcher.confirmed(tree, some.ns)] = True
        mask &= is_certain
        kept = np.flatnonzero(mask.take(ranked.ns))
        return _at(ranked, kept), found

    def _words_of_tree(
        self, tree: Node, matcher: TreeMatcher
    ) -> tuple[list[QueryWord], _MatchedWords]:
        """Return the words that a hit may have, looked up, and how to mark them."""
        languages = tuple(self.table.languages())
        terms: dict[str, frozenset[int]] = {}
        typed: list[str] = []
        beginnings: list[str] = []
        for part in written_parts(tree):
            if isinstance(part, Prefix):
                beginnings.append(part.start)
                terms[f"{part.start}*"] = matcher.terms_of_prefix(part)
                continue
            for word in words_of_part(part):
                typed.append(word)
                terms[word] = frozenset(query_terms(word, languages))
        words = [self._word(tuple(found)) for found in terms.values()]
        every = frozenset[int]().union(*terms.values())
        is_match = _matches_of(every, tuple(beginnings))
        highlighter = Highlighter((*dict.fromkeys(typed), *beginnings), is_match)
        return words, _MatchedWords(terms, highlighter)

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
                word = self._word_of_forms(forms, languages)
            if word.postings.count:
                spelled += forms
                found[typed] = word
        if len(found) == len(parsed.words):
            return tuple(spelled), found
        ignored = frozenset[str]().union(*map(stopwords, languages))
        if ignored.issuperset(spelled):
            return (), {}
        return tuple(spelled), found

    def _word_of_forms(
        self, forms: Iterable[str], languages: tuple[str, ...]
    ) -> QueryWord:
        terms: dict[int, None] = {}
        for form in forms:
            terms |= dict.fromkeys(query_terms(form, languages))
        return self._word(tuple(terms))

    def _corrected(self, word: str, languages: tuple[str, ...]) -> list[str]:
        """Return known words one edit away, else known stems: the text may have another
        form of the word.
        """
        found = corrections(self.connection, fold(word))
        if found:
            return found
        for language in languages:
            found += corrections(self.connection, stem(word, language))
        return sorted(set(found))

    def _word(self, terms: tuple[int, ...]) -> QueryWord:
        table = self.table
        return query_word(terms, self.postings.term, table.count, table.size)

    def _with_phrases(self, matched: Scored, parsed: ParsedQuery) -> Scored:
        """Return the best of these documents whose texts have the phrases."""
        if not parsed.phrases:
            return matched
        patterns = phrase_pattern(parsed.phrases)
        ranked = self._best(matched, _PHRASE_CANDIDATES)
        find = "SELECT title || char(10) || text FROM texts WHERE n = ?"
        kept = []
        for place, n in enumerate(ranked.ns.tolist()):
            (text,) = self.connection.execute(find, (n,)).fetchone()
            folded = fold(text).lower()
            if all(pattern.search(folded) for pattern in patterns):
                kept.append(place)
        found = _at(ranked, np.array(kept, np.int64))
        return _at(found, np.argsort(found.ns))

    def _best(
        self, matched: Scored, limit: int, sort: SearchSort = "relevance"
    ) -> Scored:
        return best(matched, self.table.columns["published"], limit, sort)

    def _by_vector(self, vector: tuple[float, ...], mask: Bools, limit: int) -> Scored:
        if not self._vectors_are_fresh:
            self.vectors.refresh(len(vector))
            self._vectors_are_fresh = True
        ns, cosines = self.vectors.nearest(vector, mask, limit)
        return Scored(ns, cosines)

    def _without_copies(self, matched: Scored) -> Scored:
        """Return the documents without those whose original is among them."""
        duplicates, ns = self.table.duplicates, matched.ns
        leaders = duplicates.leader.take(ns)
        originals = duplicates.original.take(leaders)
        is_original = originals == ns
        is_alone = ~np.isin(originals, ns)
        return _at(matched, np.flatnonzero(is_original | is_alone))

    def _page(
        self, ranked: Scored, matched: Int64s, query: SearchQuery
    ) -> tuple[tuple[int, float], ...]:
        """Return the page of the ranking with one document per group of duplicates: the
        original if it matches.
        """
        is_match = np.zeros(self.table.size, np.bool_)
        is_match[matched] = True
        duplicates = self.table.duplicates
        end = query.offset + query.limit
        groups: dict[int, tuple[int, float]] = {}
        for n, score in zip(ranked.ns.tolist(), ranked.scores.tolist(), strict=True):
            leader = int(duplicates.leader[n])
            if leader not in groups:
                original = int(duplicates.original[leader])
                shown = original if is_match[original] else n
                groups[leader] = shown, score
            if len(groups) == end:
                break
        return tuple(groups.values())[query.offset : end]

    def _ranks_of_page(
        self, page: Iterable[tuple[int, float]], by_words: Scored, near: Scored
    ) -> dict[int, Explanation]:
        """Return the ranks of the documents of a page; a copy has the rank of its group."""
        leader = self.table.duplicates.leader
        rankings = []
        for ranked in (by_words, near):
            of_groups = leader.take(ranked.ns).tolist()
            rankings.append(zip(of_groups, ranked.scores.tolist(), strict=True))
        of_group = ranks(*rankings)
        found = {}
        for n, _ in page:
            group = int(leader[n])
            if group in of_group:
                found[n] = of_group[group]
        return found


def _matches_of(
    terms: frozenset[int], beginnings: tuple[str, ...]
) -> Callable[[str, str | None], bool]:
    """Return what decides whether a word has one of these terms or beginnings."""

    def is_match(word: str, language: str | None) -> bool:
        if fold(word).startswith(beginnings):
            return True
        return term_of(word, language) in terms

    return is_match


def _at(ranked: Scored, places: Int64s) -> Scored:
    return Scored(ranked.ns[places], ranked.scores[places])


def _with_either(matched: Scored, near: Scored) -> Scored:
    """Return the documents with the words and the nearest ones, ascending."""
    near = _at(near, np.argsort(near.ns))
    places = np.searchsorted(matched.ns, near.ns)
    if len(matched.ns):
        last = len(matched.ns) - 1
        following = matched.ns[np.minimum(places, last)]
        is_new = np.flatnonzero(following != near.ns)
        near = _at(near, is_new)
        places = places[is_new]
    ns = np.insert(matched.ns, places, near.ns)
    scores = np.insert(matched.scores, places, near.scores)
    return Scored(ns, scores)


def _both(by_words: Scored, near: Scored, count: int) -> Scored:
    """Return one ranking of both; `count` of those by words are fused."""
    if not len(by_words.ns):
        return near
    if not len(near.ns):
        return by_words
    return _fused_with_rest(by_words, near, count)


def _fused_with_rest(by_words: Scored, near: Scored, count: int) -> Scored:
    """Return the fusion of the best `count` by words with the nearest, and the others
    with the words.
    """
    best_ones = Scored(by_words.ns[:count], by_words.scores[:count])
    both = fused(best_ones, near)
    is_rest = ~np.isin(by_words.ns, both.ns)
    rest = _at(by_words, np.flatnonzero(is_rest))
    shares = (1 - VECTOR_SHARE) * rest.scores / highest_score(by_words)
    ns = np.concatenate([both.ns, rest.ns])
    scores = np.concatenate([both.scores, shares])
    order = np.argsort(-scores, kind="stable")
    return _at(Scored(ns, scores), order)


def _first_then(every: Scored, some: Scored) -> Scored:
    """Return the documents with some words, with scores that rank those with every word
    first.
    """
    if not len(every.ns):
        return some
    scores = some.scores.copy()
    has_every = np.isin(some.ns, every.ns)
    scores[has_every] += scores.max(initial=0.0)
    return Scored(some.ns, scores)


def hits_of(
    connection: sqlite3.Connection, matched: _MatchedPage
) -> tuple[SearchHit, ...]:
    """Return the hits of a page in order, with snippets, and with explanations if the
    page has ranks.
    """
    find = f"SELECT {_COLUMNS} FROM documents JOIN texts USING (n) WHERE n = ?"
    hits = []
    for n, score in matched.page:
        row = _Row(*connection.execute(find, (n,)).fetchone())
        hit = _hit(row, score, matched.words, matched.ranks.get(n))
        published_at = datetime.fromtimestamp(matched.published[n], UTC)
        hits.append(replace(hit, published_at=published_at))
    return tuple(hits)


class _Row(NamedTuple):
    article_id: str
    title: str
    url: str
    desk: str
    agency: str
    day: str
    theme_code: str | None
    language: str | None
    text: str
    summary: str | None
    labels: str


_COLUMNS = ", ".join(_Row._fields)


def _hit(
    row: _Row, score: float, words: _MatchedWords, explanation: Explanation | None
) -> SearchHit:
    shown = row.text or row.summary or ""
    spans = words.highlighter.spans(shown, row.language)
    if explanation is not None:
        explanation = _with_words(explanation, row, words)
    return SearchHit(
        article_id=row.article_id,
        title=row.title,
        url=row.url,
        desk=row.desk,
        agency=row.agency,
        day=date.fromisoformat(row.day),
        score=score,
        snippet=snippet(shown, spans),
        theme_code=row.theme_code,
        language=row.language,
        explanation=explanation,
    )


def _with_words(
    explanation: Explanation, row: _Row, words: _MatchedWords
) -> Explanation:
    fields = {
        "title": row.title,
        "text": row.text,
        "summary": row.summary or "",
        "labels": row.labels,
    }
    return with_words(
        explanation, words.terms, fields, lambda word: term_of(word, row.language)
    )
