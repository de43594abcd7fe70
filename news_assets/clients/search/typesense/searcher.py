"""Runs a query: which searches are sent, and how their responses become hits, count and
facets.

The searches by words and by vector are one request, and the texts of the page another.
If few documents have all words, requests for the known words, and for documents with
some of them, come between (`words.py`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from news_assets.clients.search.hit_texts import ranks
from news_assets.clients.search.stored_documents import check_query_vector
from news_assets.clients.search.typesense.collection_schema import CollectionState
from news_assets.clients.search.typesense.known_words import (
    known_words,
    ranking_by_some_words,
)
from news_assets.clients.search.typesense.query import (
    CANDIDATES,
    SHOWN,
    Params,
    StemmedQuery,
    common_params,
    ranking_searches,
    stemmed_query,
    vector_params,
)
from news_assets.clients.search.typesense.responses import (
    NOTHING,
    Candidate,
    Ranking,
    collapsed,
    copies_of,
    fused,
    hits_of,
    newest,
    no_facets,
    ranking_of,
)
from news_assets.clients.search.typesense.server_requests import TypesenseConnection
from news_assets.ports.search_index import Explanation, SearchHit, SearchQuery
from news_assets.text.search_query import ENOUGH_MATCHES

Found = tuple[tuple[SearchHit, ...], int, dict[str, dict[str, int]]]


@dataclass(frozen=True, slots=True)
class Searcher:
    """Searches the collection that an alias names. `state` returns its last known
    state, and `refreshed` reads it again.
    """

    connection: TypesenseConnection
    languages: tuple[str, ...]
    state: Callable[[], CollectionState | None]
    refreshed: Callable[[], CollectionState]

    def search(self, query: SearchQuery) -> Found:
        """Return hits, the number of matches, and facets."""
        vector = query.vector if query.mode != "keyword" else None
        if vector is not None and not self._check_vector(vector):
            if query.mode == "vector":
                return (), 0, no_facets()
            vector = None
        stemmed = stemmed_query(query, self.languages)
        if vector is not None and (query.mode == "vector" or not stemmed.stems):
            stemmed = StemmedQuery(is_blank=False)
        return self._page(query, stemmed, vector)

    def _check_vector(self, vector: tuple[float, ...]) -> bool:
        """Return whether the index has vectors. Raises IndexingError if the query's
        vector does not fit them.

        If a rebuild changes the dimensions meanwhile, the server refuses the vector, as
        it is sent without words.
        """
        state = self.state()
        if state is None or state.dim != len(vector):
            # Another process may have stored the first vectors, or rebuilt the index.
            state = self.refreshed()
        if state.dim is not None:
            check_query_vector(self.connection.where, vector, state.dim)
        return state.dim is not None

    def _page(
        self,
        query: SearchQuery,
        stemmed: StemmedQuery,
        vector: tuple[float, ...] | None,
    ) -> Found:
        """Return the page; if copies leave it incomplete, from a deeper ranking."""
        end = query.offset + query.limit
        depth = max(CANDIDATES, end)
        in_order = newest if query.sort == "date" else fused
        while True:
            by_words, by_vector, known = self._rankings(query, stemmed, vector, depth)
            ranked = in_order(by_words.candidates, by_vector.candidates)
            copies = copies_of(ranked)
            shown = collapsed(ranked, copies)
            is_all = max(len(by_words.candidates), len(by_vector.candidates)) < depth
            if len(shown) >= end or is_all:
                break
            depth *= 2
        if query.sort == "date":
            shown = newest(shown, ())
        page = shown[query.offset : end]
        explained: dict[str, Explanation] = {}
        if query.explain:
            explained = _explained(query, page, by_words, by_vector, copies)
        counted = by_words if by_words.found else by_vector
        texts = {copies[one.article_id] for one in counted.candidates}
        repeated = len(counted.candidates) - len(texts)
        hits = self._hits(page, known, explained)
        return hits, counted.found - repeated, counted.facets

    def _hits(
        self,
        page: list[Candidate],
        known: StemmedQuery,
        explained: Mapping[str, Explanation],
    ) -> tuple[SearchHit, ...]:
        ids = [one.article_id for one in page]
        documents = self.connection.documents(self.connection.alias, ids, SHOWN)
        return hits_of(page, documents, known, self.languages, explained)

    def _rankings(
        self,
        query: SearchQuery,
        stemmed: StemmedQuery,
        vector: tuple[float, ...] | None,
        depth: int,
    ) -> tuple[Ranking, Ranking, StemmedQuery]:
        """Return the rankings by words and by vector, and the words that the index has."""
        words = []
        if not stemmed.finds_nothing:
            words = self._word_searches(query, stemmed, depth)
        near = []
        if vector is not None:
            near = self._vector_searches(query, vector, depth)
        responses = self.connection.search([*words, *near])
        of_words, of_vector = responses[: len(words)], responses[len(words) :]
        by_vector = ranking_of(of_vector) if of_vector else NOTHING
        if not of_words:
            return NOTHING, by_vector, StemmedQuery()
        by_words = ranking_of(of_words)
        if by_words.found < ENOUGH_MATCHES and stemmed.stems:
            by_words, stemmed = self._by_known_words(query, stemmed, depth, by_words)
        return by_words, by_vector, stemmed

    def _by_known_words(
        self, query: SearchQuery, stemmed: StemmedQuery, depth: int, by_words: Ranking
    ) -> tuple[Ranking, StemmedQuery]:
        """Return a ranking by corrected words, or by some of the words, if these find
        more.
        """
        if by_words.found and len(stemmed.stems) == 1:
            return by_words, stemmed
        alias = self.connection.alias
        known = known_words(self.connection, alias, stemmed, self.languages)
        stems = known.query.stems
        if not stems:
            return NOTHING, stemmed
        if stems != stemmed.stems:
            searches = self._word_searches(query, known.query, depth)
            by_words = ranking_of(self.connection.search(searches))
        if by_words.found >= ENOUGH_MATCHES or len(stems) == 1:
            return by_words, known.query
        common = common_params(alias, replace(query, sort="relevance"), known.query)
        return ranking_by_some_words(self.connection, common, known, depth), known.query

    def _word_searches(
        self, query: SearchQuery, stemmed: StemmedQuery, depth: int
    ) -> list[Params]:
        common = common_params(self.connection.alias, query, stemmed)
        return ranking_searches(common, depth)

    def _vector_searches(
        self, query: SearchQuery, vector: tuple[float, ...], depth: int
    ) -> list[Params]:
        by_score = replace(query, sort="relevance")
        common = common_params(self.connection.alias, by_score, StemmedQuery())
        k = CANDIDATES if query.sort == "date" else depth
        return ranking_searches(common | vector_params(vector, k), k)


def _explained(
    query: SearchQuery,
    page: list[Candidate],
    by_words: Ranking,
    by_vector: Ranking,
    copies: Mapping[str, str],
) -> dict[str, Explanation]:
    """Return the ranks of each document of the page; sorted by date, the server has no
    ranks by words.
    """
    of_words: list[tuple[str, float]] = []
    if query.sort == "relevance":
        of_words = _scores_of_texts(by_words, copies)
    found = ranks(of_words, _scores_of_texts(by_vector, copies))
    explained = {}
    for one in page:
        text = copies[one.article_id]
        explained[one.article_id] = found.get(text, Explanation(words={}))
    return explained


def _scores_of_texts(
    ranking: Ranking, copies: Mapping[str, str]
) -> list[tuple[str, float]]:
    """Return the scores of a ranking, in its order, by the key of each text."""
    return [
        (copies[one.article_id], one.score)
        for one in ranking.candidates
        if one.article_id in copies
    ]
