"""Runs a query: which searches are sent, and how their responses become hits, count and
facets.

The searches by words and by vector are one request, and the texts of the page another.
If few documents have all words, requests for the known words, and for documents with
some of them, come between.

The server knows no OR. It drops words from the ends of a query, so that it never finds
documents whose only words stand in between. Here each informative word begins a search
of its own, followed by the others, the rarest first; what these find is ranked by
BM25F, as in the embedded index.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from math import log

from news_assets.clients.search.index_texts import check_query_vector, ranks
from news_assets.clients.search.typesense.collection import CollectionState
from news_assets.clients.search.typesense.search_requests import (
    CANDIDATES,
    COUNTED,
    CUTOFF_MS,
    NOTHING,
    SHOWN,
    Candidate,
    Correction,
    Params,
    Ranking,
    StemmedQuery,
    collapsed,
    common_params,
    copies_of,
    counting_search,
    facets_search,
    fused,
    hits_of,
    newest,
    no_facets,
    ranking_of,
    ranking_searches,
    search_among,
    search_from,
    stemmed_query,
    stems_of_tree,
    vector_params,
    with_filter,
    word_params,
)
from news_assets.clients.search.typesense.server import (
    HITS_PER_SEARCH,
    TypesenseConnection,
    quoted,
)
from news_assets.clients.search.typesense.tree_filters import (
    READ_FIELDS,
    TreeFilter,
    is_exact,
    is_match,
)
from news_assets.ports.search_index import Explanation, SearchHit, SearchQuery
from news_assets.text.query_parser import parse_operators
from news_assets.text.query_tree import ENOUGH_MATCHES, Node
from news_assets.text.words import fold, shared_stem, words

_MAX_CORRECTED_WORDS = 12
_MIN_TYPO_CHARS = 4  # an edit of a shorter word makes another word
_MAX_WORD_CHARS = 24

_MAX_STARTS = 8  # words that begin a search
MIN_SHARE, K1, B, TITLE_WEIGHT = 0.1, 1.5, 0.6, 3  # as in the embedded index


@dataclass(frozen=True, slots=True)
class KnownWords:
    """A query whose stems the index has. `counts` are documents by stem, `total` those
    of the index.
    """

    query: StemmedQuery
    counts: Mapping[str, int]
    total: int

    def idf(self, stem: str) -> float:
        """Return the inverse document frequency of BM25."""
        count = self.counts[stem]
        return log(1 + (self.total - count + 0.5) / (count + 0.5))

    def by_rarity(self) -> list[str]:
        """Return the stems, the rarest first."""
        stems = dict.fromkeys(self.query.stems)
        return sorted(stems, key=lambda stem: self.counts[stem])

    def informative(self) -> list[str]:
        """Return the stems without the most frequent ones, the rarest first. A hit has
        at least one of them.
        """
        least = MIN_SHARE * sum(map(self.idf, self.by_rarity()))
        total, kept = 0.0, []
        for stem in reversed(self.by_rarity()):
            total += self.idf(stem)
            if total >= least * (1 - 1e-9):  # float sums depend on their order
                kept.append(stem)
        return kept[::-1]


def _known_words(
    connection: TypesenseConnection,
    name: str,
    stemmed: StemmedQuery,
    languages: tuple[str, ...],
) -> KnownWords:
    """Return the query with unknown words corrected, or dropped if no known word is
    near.
    """
    counts, total = _counts(connection, name, stemmed.stems)
    pairs = list(zip(stemmed.words, stemmed.stems, strict=True))
    unknown = [(word, stem) for word, stem in pairs if not counts[stem]]
    corrected = _corrections(
        connection, name, unknown[:_MAX_CORRECTED_WORDS], languages
    )
    new = [stem for stem in corrected.values() if stem and stem not in counts]
    counts |= _counts(connection, name, new)[0]
    kept_words, kept_stems = [], []
    for word, stem in pairs:
        known = corrected.get(stem, stem)
        if known and counts[known]:
            kept_words.append(word)
            kept_stems.append(known)
    query = replace(stemmed, words=tuple(kept_words), stems=tuple(kept_stems))
    return KnownWords(query, counts, total)


def _corrections(
    connection: TypesenseConnection,
    name: str,
    unknown: Sequence[tuple[str, str]],
    languages: tuple[str, ...],
) -> dict[str, str | None]:
    """Return by unknown stem a stem of the index that is near; None if none is.

    Args:
        connection: The server.
        name: The collection or alias.
        unknown: Words and their stems.
        languages: Languages of the stems.
    """
    searches: list[Params] = []
    for word, stem in unknown:
        searches += _near(name, word, stem)
    responses = connection.search(searches)
    found = {}
    for (_, stem), as_typed, by_stem in zip(
        unknown, responses[::2], responses[1::2], strict=True
    ):
        found[stem] = _corrected(as_typed, by_stem, languages)
    return found


def _counts(
    connection: TypesenseConnection, name: str, stems: Iterable[str]
) -> tuple[dict[str, int], int]:
    """Return by stem how many documents have it, and the number of all."""
    distinct = list(dict.fromkeys(stems))
    searches = [_word_search(name, stem) | {"per_page": 0} for stem in distinct]
    counts, total = {}, 0
    for stem, response in zip(distinct, connection.search(searches), strict=True):
        counts[stem] = int(response["found"])
        total = max(total, int(response["out_of"]))
    return counts, total


def _word_search(name: str, word: str) -> Params:
    search = {"collection": name, "q": word, "search_cutoff_ms": CUTOFF_MS}
    return search | word_params()


def _near(name: str, word: str, stem: str) -> list[Params]:
    """Return two searches: for words near the typed word, and for stems near the stem."""
    loose = {
        "num_typos": str(_typos(word)),
        "min_len_1typo": _MIN_TYPO_CHARS,
        "typo_tokens_threshold": 1,
        "per_page": 1,
    }
    shown = ("include_fields", "highlight_fields")
    by_word = dict.fromkeys(("query_by", *shown), "title,text")
    by_stem = dict.fromkeys(shown, "title_stems,stems")
    return [
        _word_search(name, fold(word)) | loose | by_word,
        _word_search(name, stem) | loose | by_stem,
    ]


def _typos(word: str) -> int:
    return int(_MIN_TYPO_CHARS <= len(word) <= _MAX_WORD_CHARS and word.isalpha())


def _corrected(
    as_typed: Params, by_stem: Params, languages: tuple[str, ...]
) -> str | None:
    """Return the stem of the best match of the typed word, else that of the stem."""
    for token in _matched(as_typed):
        found = words(token)
        if len(found) == 1:
            return shared_stem(found[0], languages)
    return next(iter(_matched(by_stem)), None)


def _matched(response: Params) -> list[str]:
    """Return the matched tokens of the best hit."""
    tokens: list[str] = []
    for hit in response["hits"]:
        for field in hit.get("highlight", {}).values():
            tokens += field["matched_tokens"]
    return tokens


# --- some of the words ----------------------------------------------------------------


def _ranking_by_some_words(
    connection: TypesenseConnection, common: Params, known: KnownWords, depth: int
) -> Ranking:
    """Return the documents with some of the words; those with every word are first.

    Args:
        connection: The server.
        common: The parameters of a search for all words.
        known: The words.
        depth: How many documents to rank; at most `HITS_PER_SEARCH` are.
    """
    query = replace(known.query, stems=tuple(known.by_rarity()))
    informative = known.informative()
    starts = informative[:_MAX_STARTS]
    per_search = min(depth, HITS_PER_SEARCH)
    counting = counting_search(common, query, informative)
    searches = [counting]
    searches += [search_from(common, query, start, per_search) for start in starts]
    counted, *responses = connection.search(searches)
    weights = [known.idf(start) for start in starts]
    candidates = _candidates(responses, weights)
    documents = connection.documents(
        common["collection"], list(candidates), "id,title_stems,stems"
    )
    ranked = []
    for article_id, score in _scores(documents, known).items():
        ranked.append(replace(candidates[article_id], score=score))
    ranked.sort(key=lambda one: (-one.score, -one.published_ts))
    return replace(
        ranking_of([counted]), candidates=tuple(ranked[:depth]), counted_by=counting
    )


def _candidates(
    responses: Sequence[Params], weights: Sequence[float]
) -> dict[str, Candidate]:
    """Return the documents that the most informative words found, by id."""
    found: dict[str, Candidate] = {}
    shares: dict[str, float] = {}
    for response, weight in zip(responses, weights, strict=True):
        for one in ranking_of([response]).candidates:
            found[one.article_id] = one
            shares[one.article_id] = shares.get(one.article_id, 0.0) + weight
    best = sorted(shares, key=lambda article_id: -shares[article_id])
    return {article_id: found[article_id] for article_id in best[:HITS_PER_SEARCH]}


def _scores(
    documents: Mapping[str, Params], known: KnownWords, *, has_least: bool = True
) -> dict[str, float]:
    """Return BM25F by id, plus the highest where every word occurs; if there is a least
    share of words, without documents that have too few.
    """
    frequencies = {key: _frequencies(document) for key, document in documents.items()}
    lengths = [one.total() for one in frequencies.values()]
    average = sum(lengths) / max(len(lengths), 1)
    idfs = {stem: known.idf(stem) for stem in known.by_rarity()}
    least = MIN_SHARE * sum(idfs.values()) if has_least else 0.0
    scores: dict[str, float] = {}
    complete = []  # documents with every word
    for article_id, of_document in frequencies.items():
        present = [stem for stem in idfs if of_document[stem]]
        if sum(idfs[stem] for stem in present) < least:
            continue
        scores[article_id] = _bm25(of_document, present, idfs, average)
        if len(present) == len(idfs):
            complete.append(article_id)
    highest = max(scores.values(), default=0.0)
    for article_id in complete:
        scores[article_id] += highest
    return scores


def _bm25(
    frequencies: Counter[str],
    present: Iterable[str],
    idfs: Mapping[str, float],
    average: float,
) -> float:
    k = K1 * (1 - B + B * frequencies.total() / average)
    score = 0.0
    for stem in present:
        tf = frequencies[stem]
        score += idfs[stem] * (K1 + 1) * tf / (tf + k)
    return score


def _frequencies(document: Params) -> Counter[str]:
    """Return how often a document has each stem; one of the title counts several times."""
    title = str(document.get("title_stems", "")).split()
    text = str(document.get("stems", "")).split()
    return Counter(title * TITLE_WEIGHT + text)


# --- a search -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Found:
    """The hits of a page, and the number and facets of all; `languages` are counts of
    the documents with the words, or of the nearest.
    """

    hits: tuple[SearchHit, ...]
    found: int
    facets: dict[str, dict[str, int]]
    languages: dict[str, int]


@dataclass(frozen=True, slots=True)
class Searcher:
    """Searches the collection that an alias names. `state` returns its last known
    state, and `refreshed` reads it again.
    """

    connection: TypesenseConnection
    languages: tuple[str, ...]
    state: Callable[[], CollectionState | None]
    refreshed: Callable[[], CollectionState]

    def search(self, query: SearchQuery) -> _Found:
        """Return a page of the hits."""
        vector = query.vector if query.mode != "keyword" else None
        if vector is not None and not self._check_vector(vector):
            if query.mode == "vector":
                return _Found((), 0, no_facets(), {})
            vector = None
        tree = parse_operators(query.text)
        if tree is not None:
            return self._page(query, stems_of_tree(tree, self.languages), vector, tree)
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
        tree: Node | None = None,
    ) -> _Found:
        """Return the page; where copies make it incomplete, more documents are ranked."""
        end = query.offset + query.limit
        depth = max(CANDIDATES, end)
        in_order = newest if query.sort == "date" else fused
        while True:
            if tree is None:
                rankings = self._rankings(query, stemmed, vector, depth)
            else:
                rankings = self._rankings_of_tree(query, tree, stemmed, vector, depth)
            by_words, by_vector, known = rankings
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
        found, facets = self._counted(by_words, by_vector)
        languages = (by_words if by_words.found else by_vector).facets["language"]
        return _Found(self._hits(page, known, explained), found, facets, languages)

    def _counted(
        self, by_words: Ranking, by_vector: Ranking
    ) -> tuple[int, dict[str, dict[str, int]]]:
        """Return number and facets of the documents of both rankings; known copies
        count once.
        """
        if not by_words.found:
            by_words, by_vector = by_vector, NOTHING
        further = self._further(by_words, by_vector)
        every = (*by_words.candidates, *further)
        groups: dict[str, list[str]] = {}
        for article_id, text in copies_of(every).items():
            groups.setdefault(text, []).append(article_id)
        copied = [group for group in groups.values() if len(group) > 1]
        new = [one.article_id for one in further]
        ids = [*new, *(article_id for group in copied for article_id in group)]
        found = by_words.found + len(new) - (len(every) - len(groups))
        if not ids:
            return found, by_words.facets
        distinct = list(dict.fromkeys(ids))
        documents = self.connection.documents(self.connection.alias, distinct, COUNTED)
        return found, Correction(documents, new, copied).corrected(by_words.facets)

    def _further(self, by_words: Ranking, by_vector: Ranking) -> list[Candidate]:
        """Return the nearest documents that are not among all those with the words."""
        known = {one.article_id for one in by_words.candidates}
        others = [one for one in by_vector.candidates if one.article_id not in known]
        if not others or not by_words.counted_by:
            return []
        found: set[str] = set()
        for start in range(0, len(others), HITS_PER_SEARCH):
            some = others[start : start + HITS_PER_SEARCH]
            ids = [one.article_id for one in some]
            search = search_among(by_words.counted_by, ids)
            (response,) = self.connection.search([search])
            found.update(str(hit["document"]["id"]) for hit in response["hits"])
        return [one for one in others if one.article_id not in found]

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
            near = self._vector_searches(query, vector)
        responses = self.connection.search([*words, *near])
        of_words = responses[: len(words)]
        of_vector = responses[len(words) :]
        by_vector = ranking_of(of_vector) if of_vector else NOTHING
        if not of_words:
            return NOTHING, by_vector, StemmedQuery()
        counted_by = common_params(self.connection.alias, query, stemmed)
        by_words = replace(ranking_of(of_words), counted_by=counted_by)
        if by_words.found < ENOUGH_MATCHES and stemmed.stems:
            by_words, stemmed = self._by_known_words(query, stemmed, depth, by_words)
        return by_words, by_vector, stemmed

    def _rankings_of_tree(
        self,
        query: SearchQuery,
        tree: Node,
        stemmed: StemmedQuery,
        vector: tuple[float, ...] | None,
        depth: int,
    ) -> tuple[Ranking, Ranking, StemmedQuery]:
        """Return the rankings of the documents that match a tree, by the words that they
        may have and by vector.
        """
        today = query.today or datetime.now(UTC).date()
        alias, blank = self.connection.alias, StemmedQuery()
        filters = TreeFilter(self.languages, today).of(tree)
        newest_first = replace(query, sort="date")
        common = with_filter(common_params(alias, newest_first, blank), filters)
        ranked = self._ranked_by_words(query, stemmed, common, depth)
        if not is_exact(tree):
            ranked = self._confirmed(ranked, tree, common, today)
            ids = [one.article_id for one in ranked.candidates]
            common = with_filter(common, f"id:[{','.join(map(quoted, ids))}]")
        if vector is None or not ranked.candidates:
            return ranked, NOTHING, stemmed
        k = max(CANDIDATES, query.limit)
        by_vector = self._nearest_among(common, vector, k)
        return ranked if query.mode == "hybrid" else NOTHING, by_vector, stemmed

    def _nearest_among(
        self, common: Params, vector: tuple[float, ...], k: int
    ) -> Ranking:
        """Return the `k` documents nearest to a vector of those that pass the filters."""
        params = _unsorted(common) | vector_params(vector, k)
        return ranking_of(self.connection.search(ranking_searches(params, k)))

    def _ranked_by_words(
        self, query: SearchQuery, stemmed: StemmedQuery, common: Params, depth: int
    ) -> Ranking:
        """Return what passes the filters: the best by BM25F first, then the newest; or
        only the newest first.
        """
        depth = max(depth, HITS_PER_SEARCH)
        searches = ranking_searches(common, depth)
        counts, total = _counts(self.connection, common["collection"], stemmed.stems)
        stems = tuple(stem for stem in stemmed.stems if counts[stem])
        starts: list[str] = []
        known = KnownWords(StemmedQuery(stems=stems), counts, total)
        if query.sort == "relevance" and stems:
            starts = known.by_rarity()[:_MAX_STARTS]
        sought = _unsorted(common) | word_params()
        searches += [
            search_from(sought, known.query, start, HITS_PER_SEARCH) for start in starts
        ]
        responses = self.connection.search(searches)
        listed = ranking_of(responses[: len(responses) - len(starts)])
        if not starts:
            return listed
        weights = [*map(known.idf, starts), 0.0]
        of_starts = responses[len(responses) - len(starts) :]
        found = _candidates([*of_starts, responses[0]], weights)
        best = self._scored(common["collection"], found, known)
        rest = _without_score(listed.candidates, found)
        return replace(listed, candidates=(*best, *rest))

    def _scored(
        self, collection: str, found: Mapping[str, Candidate], known: KnownWords
    ) -> list[Candidate]:
        """Return these documents with their BM25F, the best first."""
        documents = self.connection.documents(
            collection, list(found), "id,title_stems,stems"
        )
        scores = _scores(documents, known, has_least=False)
        scored: list[Candidate] = []
        for article_id, one in found.items():
            scored.append(replace(one, score=scores.get(article_id, 0.0)))
        return sorted(scored, key=lambda one: (-one.score, -one.published_ts))

    def _confirmed(
        self, ranked: Ranking, tree: Node, common: Params, today: date
    ) -> Ranking:
        """Return the best documents of a ranking whose texts match, with their number
        and facets.
        """
        some = ranked.candidates[:HITS_PER_SEARCH]
        ids = [one.article_id for one in some]
        if not ids:
            return NOTHING
        alias = common["collection"]
        stored = self.connection.documents(alias, ids, READ_FIELDS)
        kept = [
            key for key in ids if key in stored and is_match(tree, stored[key], today)
        ]
        if not kept:
            return NOTHING
        of_kept = with_filter(common, f"id:[{','.join(map(quoted, kept))}]")
        counted = ranking_of(self.connection.search([facets_search(of_kept)]))
        wanted = frozenset(kept)
        candidates = tuple(one for one in some if one.article_id in wanted)
        return replace(counted, candidates=candidates)

    def _by_known_words(
        self, query: SearchQuery, stemmed: StemmedQuery, depth: int, by_words: Ranking
    ) -> tuple[Ranking, StemmedQuery]:
        """Return a ranking by corrected words, or by some of the words, if these find
        more.
        """
        if by_words.found and len(stemmed.stems) == 1:
            return by_words, stemmed
        alias = self.connection.alias
        known = _known_words(self.connection, alias, stemmed, self.languages)
        stems = known.query.stems
        if not stems:
            return NOTHING, stemmed
        if stems != stemmed.stems:
            searches = self._word_searches(query, known.query, depth)
            by_words = ranking_of(self.connection.search(searches))
            counted_by = common_params(alias, query, known.query)
            by_words = replace(by_words, counted_by=counted_by)
        if len(stems) == 1 or self._are_enough(query, known.query, by_words):
            return by_words, known.query
        common = common_params(alias, replace(query, sort="relevance"), known.query)
        return _ranking_by_some_words(
            self.connection, common, known, depth
        ), known.query

    def _are_enough(
        self, query: SearchQuery, stemmed: StemmedQuery, by_words: Ranking
    ) -> bool:
        """Return whether enough documents have every word. Filters do not make them few,
        so that a value of a facet has as many hits as its count says.
        """
        if by_words.found >= ENOUGH_MATCHES or not query.is_filtered:
            return by_words.found >= ENOUGH_MATCHES
        everything = SearchQuery(text=query.text)
        common = common_params(self.connection.alias, everything, stemmed)
        (response,) = self.connection.search([common | {"per_page": 0}])
        return int(response["found"]) >= ENOUGH_MATCHES

    def _word_searches(
        self, query: SearchQuery, stemmed: StemmedQuery, depth: int
    ) -> list[Params]:
        common = common_params(self.connection.alias, query, stemmed)
        return ranking_searches(common, depth)

    def _vector_searches(
        self, query: SearchQuery, vector: tuple[float, ...]
    ) -> list[Params]:
        by_score = replace(query, sort="relevance")
        common = common_params(self.connection.alias, by_score, StemmedQuery())
        k = max(CANDIDATES, query.limit)
        return ranking_searches(common | vector_params(vector, k), k)


def _unsorted(common: Params) -> Params:
    """Return parameters without their order: the best come first then."""
    return {name: one for name, one in common.items() if name != "sort_by"}


def _without_score(
    listed: Iterable[Candidate], found: Collection[str]
) -> list[Candidate]:
    """Return the listed documents that were not found, with the score 0."""
    rest: list[Candidate] = []
    for one in listed:
        if one.article_id not in found:
            rest.append(replace(one, score=0.0))
    return rest


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
