"""Search responses of the server as rankings, one ranking of both kinds without copies,
and its hits.

Copies are collapsed here: the server's own `group_by` made a vector search take 126 ms
in place of 7. Snippets are made here: the server's own are not escaped, and highlight
stems.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from news_assets.clients.search.hit_texts import snippet, with_words
from news_assets.clients.search.stored_documents import (
    MAX_NAMES,
    month_counts,
    most_first,
)
from news_assets.clients.search.typesense.document_lines import day_of
from news_assets.clients.search.typesense.query import ALPHA, StemmedQuery
from news_assets.ports.search_index import FACETS, Explanation, SearchHit
from news_assets.text.words import shared_stem, word_spans

_FIELDS = {"theme": "theme_path", "entity": "entities"}  # of facets with another name
# only this part of a longer text is searched for matching words
_HIGHLIGHTED_CHARS = 60_000

Response = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document of a ranking."""

    article_id: str
    text_hash: str | None
    duplicate_of: str | None
    published_ts: int
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """The best matches of one search, best first, and number and facets of all."""

    candidates: tuple[Candidate, ...]
    found: int
    facets: dict[str, dict[str, int]]


def no_facets() -> dict[str, dict[str, int]]:
    """Return the facets of an answer without hits."""
    return {name: {} for name in FACETS}


NOTHING = Ranking((), 0, no_facets())


def ranking_of(responses: Sequence[Response]) -> Ranking:
    """Return the ranking of `query.ranking_searches`."""
    candidates: list[Candidate] = []
    for response in responses:
        candidates += map(_candidate, response["hits"])
    first = responses[0]
    return Ranking(tuple(candidates), int(first["found"]), _facets_of(first))


def _candidate(hit: Response) -> Candidate:
    document = hit["document"]
    return Candidate(
        document["id"],
        document.get("text_hash"),
        document.get("duplicate_of"),
        document["published_ts"],
        _score(hit),
    )


def _score(hit: Response) -> float:
    if "vector_distance" in hit:
        return 1.0 - float(hit["vector_distance"])
    return float(hit.get("text_match", 0))


def fused(
    by_words: Sequence[Candidate], by_vector: Sequence[Candidate]
) -> list[Candidate]:
    """Return one ranking of both, as the server fuses them; documents with the same
    score by words have one rank.
    """
    if not (by_words and by_vector):
        return [*by_words, *by_vector]
    ranks: dict[float, int] = {}
    for one in by_words:
        ranks.setdefault(one.score, len(ranks) + 1)
    scores = {one.article_id: (1 - ALPHA) / ranks[one.score] for one in by_words}
    for rank, one in enumerate(by_vector, 1):
        scores[one.article_id] = scores.get(one.article_id, 0.0) + ALPHA / rank
    every = {one.article_id: one for one in (*by_words, *by_vector)}
    rescored = [replace(one, score=scores[key]) for key, one in every.items()]
    return sorted(rescored, key=lambda one: (-one.score, -one.published_ts))


def newest(
    by_words: Sequence[Candidate], by_vector: Sequence[Candidate]
) -> list[Candidate]:
    """Return the documents with the words, else those nearest to the vector, newest
    first.
    """
    return sorted(by_words or by_vector, key=lambda one: -one.published_ts)


def copies_of(candidates: Iterable[Candidate]) -> dict[str, str]:
    """Return by id a key that is the same for copies of one text.

    Copies have the same text hash, or one names the other, or both name the same
    original.
    """
    leaders: dict[str, str] = {}

    def leader(key: str) -> str:
        while (above := leaders.setdefault(key, key)) != key:
            key = above
        return key

    listed = list(candidates)
    for one in listed:
        for key in filter(None, (one.duplicate_of, one.text_hash)):
            leaders[leader(key)] = leader(one.article_id)
    return {one.article_id: leader(one.article_id) for one in listed}


def collapsed(
    candidates: Iterable[Candidate], copies: Mapping[str, str]
) -> list[Candidate]:
    """Return one document of each text with its best score: the original if it is among
    these, else the best.
    """
    groups: dict[str, list[Candidate]] = {}
    for one in candidates:
        groups.setdefault(copies[one.article_id], []).append(one)
    return [replace(_shown(group), score=group[0].score) for group in groups.values()]


def _shown(group: list[Candidate]) -> Candidate:
    originals = [one for one in group if one.duplicate_of is None]
    return min(
        originals, key=lambda one: (one.published_ts, one.article_id), default=group[0]
    )


def hits_of(
    page: Iterable[Candidate],
    documents: Mapping[str, Response],
    query: StemmedQuery,
    languages: tuple[str, ...],
    explained: Mapping[str, Explanation],
) -> tuple[SearchHit, ...]:
    """Return the hits of a page; a document that was deleted since it was ranked is
    left out.

    Args:
        page: The documents, in order.
        documents: Their stored fields, by id.
        query: The words of the query.
        languages: Languages of the stems.
        explained: Ranks by id; hits without them have no explanation.
    """
    hits = []
    for one in page:
        document = documents.get(one.article_id)
        if document is None:
            continue
        explanation = explained.get(one.article_id)
        if explanation is not None:
            explanation = _with_words(explanation, document, query, languages)
        hits.append(_hit(document, one.score, query, languages, explanation))
    return tuple(hits)


def _hit(
    document: Response,
    score: float,
    query: StemmedQuery,
    languages: tuple[str, ...],
    explanation: Explanation | None,
) -> SearchHit:
    text = document["text"] or document.get("summary") or ""
    return SearchHit(
        article_id=document["id"],
        title=document["title"],
        url=document["url"],
        desk=document["desk"],
        agency=document["agency"],
        day=day_of(document["day"]),
        score=score,
        snippet=snippet(text, _spans(text, frozenset(query.stems), languages)),
        theme_code=document.get("theme_code"),
        language=document.get("language"),
        explanation=explanation,
    )


def _with_words(
    explanation: Explanation,
    document: Response,
    query: StemmedQuery,
    languages: tuple[str, ...],
) -> Explanation:
    labels = [document.get("section", "")]
    labels += [*document.get("tags", ()), *document.get("keywords", ())]
    fields = {
        "title": document["title"],
        "text": document["text"],
        "summary": document.get("summary") or "",
        "labels": "\n".join(labels),
    }
    pairs = zip(query.words, query.stems, strict=True)
    stems = {word: (stem,) for word, stem in pairs}
    return with_words(
        explanation, stems, fields, lambda word: shared_stem(word, languages)
    )


def _spans(
    text: str, stems: frozenset[str], languages: tuple[str, ...]
) -> list[tuple[int, int]]:
    if not stems:
        return []
    return [
        (start, end)
        for word, start, end in word_spans(text[:_HIGHLIGHTED_CHARS])
        if shared_stem(word, languages) in stems
    ]


def _facets_of(response: Response) -> dict[str, dict[str, int]]:
    """Return counts by facet value: the most frequent first, days and months newest
    first.
    """
    listed = {one["field_name"]: one["counts"] for one in response["facet_counts"]}
    counts: dict[str, dict[str, int]] = {}
    for facet in FACETS:
        values = listed.get(_FIELDS.get(facet, facet), ())
        pairs = [(str(one["value"]), int(one["count"])) for one in values]
        counts[facet] = most_first(pairs)
    for name in ("entity", "matter"):
        counts[name] = dict(islice(counts[name].items(), MAX_NAMES))
    days = sorted(counts["day"].items(), key=lambda pair: -int(pair[0]))
    counts["day"] = {day_of(int(day)).isoformat(): count for day, count in days}
    counts["month"] = month_counts(counts["day"])
    return counts
