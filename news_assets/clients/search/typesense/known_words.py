"""Queries of which few or no documents have all words: known words, spelling
corrections, and a ranking by some words.

The server knows no OR. It drops words from the ends of a query, so that it never finds
documents whose only words stand in between. Here each informative word begins a search
of its own, followed by the others, the rarest first; what these find is ranked by
BM25F, as in the embedded index.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import log
from typing import Any

from news_assets.clients.search.typesense.query import (
    CUTOFF_MS,
    Params,
    StemmedQuery,
    counting_search,
    search_from,
    word_params,
)
from news_assets.clients.search.typesense.responses import (
    Candidate,
    Ranking,
    ranking_of,
)
from news_assets.clients.search.typesense.server_requests import (
    HITS_PER_SEARCH,
    TypesenseConnection,
)
from news_assets.text.words import fold, shared_stem, words

MAX_CORRECTED_WORDS = 12
MIN_TYPO_CHARS = 4  # an edit of a shorter word makes another word
_MAX_WORD_CHARS = 24

MAX_STARTS = 8  # words that begin a search
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
        return log(
            1 + (self.total - self.counts[stem] + 0.5) / (self.counts[stem] + 0.5)
        )

    def by_rarity(self) -> list[str]:
        """Return the stems, the rarest first."""
        return sorted(
            dict.fromkeys(self.query.stems), key=lambda stem: self.counts[stem]
        )

    def informative(self) -> list[str]:
        """Return the stems of which a document needs one, the rarest first: without the
        commonest.
        """
        least = MIN_SHARE * sum(map(self.idf, self.by_rarity()))
        carried, kept = 0.0, []
        for stem in reversed(self.by_rarity()):
            carried += self.idf(stem)
            if carried >= least * (1 - 1e-9):  # float sums depend on their order
                kept.append(stem)
        return kept[::-1]


def known_words(
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
    unknown = [(word, stem) for word, stem in pairs if not counts[stem]][
        :MAX_CORRECTED_WORDS
    ]
    responses = iter(
        connection.search([search for pair in unknown for search in _near(name, *pair)])
    )
    corrected = {
        stem: _corrected(list(islice(responses, 2)), languages) for _, stem in unknown
    }
    new = [
        stem for stem in corrected.values() if stem is not None and stem not in counts
    ]
    counts |= _counts(connection, name, new)[0]
    kept = [
        (word, known)
        for word, stem in pairs
        if (known := corrected.get(stem, stem)) and counts[known]
    ]
    query = replace(
        stemmed,
        words=tuple(word for word, _ in kept),
        stems=tuple(stem for _, stem in kept),
    )
    return KnownWords(query, counts, total)


def _counts(
    connection: TypesenseConnection, name: str, stems: Iterable[str]
) -> tuple[dict[str, int], int]:
    """Return by stem how many documents have it, and the number of all."""
    distinct = list(dict.fromkeys(stems))
    responses = connection.search(
        [_word_search(name, stem) | {"per_page": 0} for stem in distinct]
    )
    counts = {
        stem: int(response["found"])
        for stem, response in zip(distinct, responses, strict=True)
    }
    return counts, max((int(response["out_of"]) for response in responses), default=0)


def _word_search(name: str, word: str) -> Params:
    return {
        "collection": name,
        "q": word,
        "search_cutoff_ms": CUTOFF_MS,
    } | word_params()


def _near(name: str, word: str, stem: str) -> list[Params]:
    """Return two searches: for words near the typed word, and for stems near the stem."""
    loose = {
        "num_typos": str(_typos(word)),
        "min_len_1typo": MIN_TYPO_CHARS,
        "typo_tokens_threshold": 1,
        "per_page": 1,
    }
    as_typed = {
        "query_by": "title,text",
        "include_fields": "title,text",
        "highlight_fields": "title,text",
    }
    by_stem = {
        "include_fields": "title_stems,stems",
        "highlight_fields": "title_stems,stems",
    }
    return [
        _word_search(name, fold(word)) | loose | as_typed,
        _word_search(name, stem) | loose | by_stem,
    ]


def _typos(word: str) -> int:
    return int(MIN_TYPO_CHARS <= len(word) <= _MAX_WORD_CHARS and word.isalpha())


def _corrected(
    responses: Sequence[dict[str, Any]], languages: tuple[str, ...]
) -> str | None:
    as_typed, by_stem = responses
    for token in _matched(as_typed):
        found = words(token)
        if len(found) == 1:
            return shared_stem(found[0], languages)
    return next(iter(_matched(by_stem)), None)


def _matched(response: dict[str, Any]) -> list[str]:
    """Return the matched tokens of the best hit."""
    highlights = (hit.get("highlight", {}) for hit in response["hits"])
    return [
        token
        for by_field in highlights
        for field in by_field.values()
        for token in field["matched_tokens"]
    ]


# --- some of the words ----------------------------------------------------------------


def ranking_by_some_words(
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
    starts, per_search = informative[:MAX_STARTS], min(depth, HITS_PER_SEARCH)
    searches = [search_from(common, query, start, per_search) for start in starts]
    counted, *responses = connection.search(
        [counting_search(common, query, informative), *searches]
    )
    candidates = _candidates(responses, [known.idf(start) for start in starts])
    documents = connection.documents(
        common["collection"], list(candidates), "id,title_stems,stems"
    )
    scores = _scores(documents, known)
    ranked = [
        replace(candidates[article_id], score=score)
        for article_id, score in scores.items()
    ]
    ranked.sort(key=lambda one: (-one.score, -one.published_ts))
    return replace(ranking_of([counted]), candidates=tuple(ranked[:depth]))


def _candidates(
    responses: Sequence[dict[str, Any]], weights: Sequence[float]
) -> dict[str, Candidate]:
    """Return the documents that the most informative words found, by id."""
    found: dict[str, Candidate] = {}
    shares: Counter[str] = Counter()
    for response, weight in zip(responses, weights, strict=False):
        for one in ranking_of([response]).candidates:
            found[one.article_id] = one
            shares[one.article_id] += weight  # type: ignore[assignment]  # typeshed knows counters of integers only
    return {
        article_id: found[article_id]
        for article_id, _ in shares.most_common(HITS_PER_SEARCH)
    }


def _scores(documents: Mapping[str, Params], known: KnownWords) -> dict[str, float]:
    """Return BM25F by id, plus the highest where every word occurs; without documents
    that have too few words.
    """
    weights = {
        article_id: _weights(document) for article_id, document in documents.items()
    }
    average = sum(one.total() for one in weights.values()) / max(len(weights), 1)
    idfs = {stem: known.idf(stem) for stem in known.by_rarity()}
    least = MIN_SHARE * sum(idfs.values())
    scores: dict[str, float] = {}
    complete = set()
    for article_id, of_document in weights.items():
        present = {stem: of_document[stem] for stem in idfs if of_document[stem]}
        k = K1 * (1 - B + B * of_document.total() / average)
        if sum(idfs[stem] for stem in present) >= least:
            scores[article_id] = sum(
                idfs[stem] * (K1 + 1) * tf / (tf + k) for stem, tf in present.items()
            )
        if len(present) == len(idfs):
            complete.add(article_id)
    highest = max(scores.values(), default=0.0)
    return {
        article_id: score + highest * (article_id in complete)
        for article_id, score in scores.items()
    }


def _weights(document: Params) -> Counter[str]:
    title, text = (
        str(document.get(name, "")).split() for name in ("title_stems", "stems")
    )
    return Counter(title * TITLE_WEIGHT + text)
