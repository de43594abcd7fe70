"""One query put to the server: which searches are sent, and what becomes of their answers.

A `SearchQuery` enters; hits, their number and facets leave. All searches for one query go in one request; a second and
a third follow only where no document has all words, or where words find nothing and the vector is left.
"""

from collections.abc import Callable
from dataclasses import dataclass

from news_assets.clients.search.embedded.vectors import unit_vector
from news_assets.clients.search.typesense.answers import facets_of, has_every_word, hits_of, no_facets
from news_assets.clients.search.typesense.connection import TypesenseConnection
from news_assets.clients.search.typesense.errors import REBUILD, failure
from news_assets.clients.search.typesense.query import (
    Params,
    SoughtWords,
    common_params,
    count_search,
    facet_search,
    near_params,
    page_searches,
    sought_words,
    without_words,
)
from news_assets.clients.search.typesense.schema import CollectionState
from news_assets.clients.search.typesense.typos import known_words
from news_assets.errors import IndexingError
from news_assets.ports import SearchHit, SearchQuery

Found = tuple[tuple[SearchHit, ...], int, dict[str, dict[str, int]]]
_NOTHING: Found = ((), 0, no_facets())


@dataclass(frozen=True, slots=True)
class Searcher:
    """Searches under an alias. `state` is what was last seen behind it, `refreshed` looks again."""

    connection: TypesenseConnection
    languages: tuple[str, ...]
    state: Callable[[], CollectionState | None]
    refreshed: Callable[[], CollectionState]

    def answered(self, query: SearchQuery) -> Found:
        """Return hits, how many there are in all, and facets."""
        is_near = query.mode != "keyword" and query.vector is not None
        if is_near and not self._checked_vector(query):
            if query.mode == "vector":
                return _NOTHING
            is_near = False
        sought = sought_words(query, self.languages)
        if is_near and (query.mode == "vector" or not sought.stems):
            return self._by_vector(query)
        if sought.finds_nothing:
            return _NOTHING
        found = self._by_words(query, sought, is_near)
        return self._by_vector(query) if found is None else found

    def _checked_vector(self, query: SearchQuery) -> bool:
        """Tell whether there are vectors to compare the query's with."""
        state = self.state()
        if state is None or state.dim != len(query.vector or ()):
            state = self.refreshed()  # another process may have stored the first vectors, or rebuilt the index
        if state.dim is None:
            return False
        if len(query.vector or ()) != state.dim:
            raise failure(
                self.connection.where,
                f"the query has {len(query.vector or ())} dimensions, the index has {state.dim}; "
                f"use the model the index was made with, or embed everything with the other, then {REBUILD}",
            )
        if unit_vector(query.vector or ()) is None:
            raise IndexingError("the query's vector is empty, all zeros or holds a value that is not finite")
        return True

    def _by_vector(self, query: SearchQuery) -> Found:
        common = without_words(common_params(self.connection.alias, query, SoughtWords())) | near_params(query)
        *pages, facets = self._ask([*page_searches(common, query), facet_search(common)], query)
        return hits_of(pages, (), self.languages), int(pages[0]["found"]), facets_of(facets)

    def _by_words(self, query: SearchQuery, sought: SoughtWords, is_near: bool) -> Found | None:
        """Return what the words find, ranked with the vector if there is one; None where only that is left."""
        found, has_all = self._asked(query, sought, is_near)
        if sought.stems and not has_all:
            known = known_words(self.connection, self.connection.alias, sought, self.languages)
            if not known.stems:
                return None if is_near else _NOTHING
            if known.stems != sought.stems:
                found, _ = self._asked(query, known, is_near)
        return None if is_near and not found[1] else found

    def _asked(self, query: SearchQuery, sought: SoughtWords, is_near: bool) -> tuple[Found, bool]:
        """Return what is found, and whether the best has every word."""
        common = common_params(self.connection.alias, query, sought)
        paged = common | near_params(query) if is_near else common
        searches: list[Params] = [*page_searches(paged, query), facet_search(common)]
        if is_near:
            searches.append(count_search(common))
        answers = self._ask(searches, query)
        pages = answers[: len(page_searches(paged, query))]
        facets = answers[len(pages)]
        found = int(answers[-1 if is_near else 0]["found"])
        return (hits_of(pages, sought.stems, self.languages), found, facets_of(facets)), has_every_word(facets)

    def _ask(self, searches: list[Params], query: SearchQuery) -> list[Params]:
        """Return the answers; where the alias moved since the vector was checked, it is checked again."""
        answers = self.connection.search(searches)
        answered_by = answers[0].get("request_params", {}).get("collection_name")
        state = self.state()
        if state is not None and answered_by != state.name:
            self.refreshed()
            if query.mode != "keyword" and query.vector is not None:
                self._checked_vector(query)
        return answers
