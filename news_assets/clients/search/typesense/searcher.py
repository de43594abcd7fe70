"""Runs a query: which searches are sent, and how their responses become hits, count and facets.

All searches of a query are one request. A second and a third request follow only if no document has all words, or if
words find nothing and the query has a vector.
"""

from collections.abc import Callable
from dataclasses import dataclass

from news_assets.clients.search.typesense.connection import TypesenseConnection
from news_assets.clients.search.typesense.query import (
    Params,
    StemmedQuery,
    common_params,
    count_search,
    facet_search,
    page_searches,
    stemmed_query,
    vector_params,
    without_words,
)
from news_assets.clients.search.typesense.responses import facets_of, has_every_word, hits_of, no_facets
from news_assets.clients.search.typesense.schema import CollectionState
from news_assets.clients.search.typesense.typos import known_words
from news_assets.clients.search.vectors import check_query_vector
from news_assets.ports import SearchHit, SearchQuery

Found = tuple[tuple[SearchHit, ...], int, dict[str, dict[str, int]]]
_NOTHING: Found = ((), 0, no_facets())


@dataclass(frozen=True, slots=True)
class Searcher:
    """Searches an alias. `state` is the collection last seen behind it, `refreshed` reads it again."""

    connection: TypesenseConnection
    languages: tuple[str, ...]
    state: Callable[[], CollectionState | None]
    refreshed: Callable[[], CollectionState]

    def search(self, query: SearchQuery) -> Found:
        """Return hits, the number of matches, and facets."""
        has_vector = query.mode != "keyword" and query.vector is not None
        if has_vector and not self._check_vector(query):
            if query.mode == "vector":
                return _NOTHING
            has_vector = False
        stemmed = stemmed_query(query, self.languages)
        if has_vector and (query.mode == "vector" or not stemmed.stems):
            return self._by_vector(query)
        if stemmed.finds_nothing:
            return _NOTHING
        found = self._by_words(query, stemmed, has_vector)
        return self._by_vector(query) if found is None else found

    def _check_vector(self, query: SearchQuery) -> bool:
        """Return whether the index has vectors. Raises IndexingError if the query's vector does not fit them."""
        state, vector = self.state(), query.vector or ()
        if state is None or state.dim != len(vector):
            state = self.refreshed()  # another process may have stored the first vectors, or rebuilt the index
        if state.dim is not None:
            check_query_vector(self.connection.where, vector, state.dim)
        return state.dim is not None

    def _by_vector(self, query: SearchQuery) -> Found:
        common = without_words(common_params(self.connection.alias, query, StemmedQuery())) | vector_params(query)
        *pages, facets = self._send([*page_searches(common, query), facet_search(common)], query)
        return hits_of(pages, (), self.languages), int(pages[0]["found"]), facets_of(facets)

    def _by_words(self, query: SearchQuery, stemmed: StemmedQuery, has_vector: bool) -> Found | None:
        """Return the matches of the words, ranked with the vector if there is one; None to search by vector alone."""
        found, has_all = self._search_words(query, stemmed, has_vector)
        if stemmed.stems and not has_all:
            known = known_words(self.connection, self.connection.alias, stemmed, self.languages)
            if not known.stems:
                return None if has_vector else _NOTHING
            if known.stems != stemmed.stems:
                found, _ = self._search_words(query, known, has_vector)
        return None if has_vector and not found[1] else found

    def _search_words(self, query: SearchQuery, stemmed: StemmedQuery, has_vector: bool) -> tuple[Found, bool]:
        """Return the matches, and whether the best one has every word."""
        common = common_params(self.connection.alias, query, stemmed)
        paged = common | vector_params(query) if has_vector else common
        searches: list[Params] = [*page_searches(paged, query), facet_search(common)]
        if has_vector:
            searches.append(count_search(common))
        responses = self._send(searches, query)
        pages = responses[: len(page_searches(paged, query))]
        facets = responses[len(pages)]
        found = int(responses[-1 if has_vector else 0]["found"])
        return (hits_of(pages, stemmed.stems, self.languages), found, facets_of(facets)), has_every_word(facets)

    def _send(self, searches: list[Params], query: SearchQuery) -> list[Params]:
        """Return the responses; if the alias moved since the vector was checked, check it again."""
        responses = self.connection.search(searches)
        searched_name = responses[0].get("request_params", {}).get("collection_name")
        state = self.state()
        if state is not None and searched_name != state.name:
            self.refreshed()
            if query.mode != "keyword" and query.vector is not None:
                self._check_vector(query)
        return responses
