"""Queries whose words are in few documents, or in none, together: known words,
spelling corrections, and a ranking by some of the words.

The server knows no OR. It drops words from the ends of a query, so that it never finds
documents whose only words stand in between. Here each informative word begins a search
of its own, followed by the others, the rarest first; what these find is ranked by
BM25F, as in the embedded index.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log

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

_MAX_CORRECTED_WORDS = 12
MIN_TYPO_CHARS = 4  # an edit of a shorter word makes another word
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
        "min_len_1typo": MIN_TYPO_CHARS,
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
    return int(MIN_TYPO_CHARS <= len(word) <= _MAX_WORD_CHARS and word.isalpha())


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
    starts, per_search = informative[:_MAX_STARTS], min(depth, HITS_PER_SEARCH)
    searches = [counting_search(common, query, informative)]
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
    return replace(ranking_of([counted]), candidates=tuple(ranked[:depth]))


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


def _scores(documents: Mapping[str, Params], known: KnownWords) -> dict[str, float]:
    """Return BM25F by id, plus the highest where every word occurs; without documents
    that have too few words.
    """
    frequencies = {key: _frequencies(document) for key, document in documents.items()}
    lengths = [one.total() for one in frequencies.values()]
    average = sum(lengths) / max(len(lengths), 1)
    idfs = {stem: known.idf(stem) for stem in known.by_rarity()}
    least = MIN_SHARE * sum(idfs.values())
    scores: dict[str, float] = {}
    for article_id, of_document in frequencies.items():
        present = [stem for stem in idfs if of_document[stem]]
        if sum(idfs[stem] for stem in present) >= least:
            scores[article_id] = _bm25(of_document, present, idfs, average)
    highest = max(scores.values(), default=0.0)
    for article_id in scores:
        if all(frequencies[article_id][stem] for stem in idfs):
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
