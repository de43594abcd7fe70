"""The server's answers as `SearchAnswer`: one hit for each story, with a snippet of our own, and facets.

Parsed JSON enters. The server's own snippets are not used: they are not escaped, and show stems.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from news_assets.clients.search.snippet import snippet
from news_assets.clients.search.typesense.documents import day_of
from news_assets.ports import SearchHit
from news_assets.text.words import shared_stem, word_spans

_FACET_NAMES = {"agency": "agency", "theme_path": "theme", "language": "language", "month": "month"}
_MARKED_CHARS = 60_000  # a longer text is looked through for words up to here

Answer = dict[str, Any]


def hits_of(pages: Iterable[Answer], stems: Sequence[str], languages: tuple[str, ...]) -> tuple[SearchHit, ...]:
    """Return the hits of a page: of each story the original where it matches, else the best."""
    marked = frozenset(stems)
    groups = (group["hits"] for page in pages for group in page["grouped_hits"])
    return tuple(_hit(_shown(hits), _score(hits[0]), marked, languages) for hits in groups if hits)


def _shown(hits: list[Answer]) -> Answer:
    originals = [hit["document"] for hit in hits if hit["document"].get("duplicate_of") is None]
    if not originals:
        document: Answer = hits[0]["document"]
        return document
    return min(originals, key=lambda one: (one["published_ts"], one["id"]))


def _score(hit: Answer) -> float:
    if "hybrid_search_info" in hit:
        return float(hit["hybrid_search_info"]["rank_fusion_score"])
    if "vector_distance" in hit and "text_match" not in hit:
        return 1.0 - float(hit["vector_distance"])
    return float(hit.get("text_match", 0))


def _hit(document: Answer, score: float, stems: frozenset[str], languages: tuple[str, ...]) -> SearchHit:
    text = document["text"] or document.get("summary") or ""
    return SearchHit(
        article_id=document["id"],
        title=document["title"],
        url=document["url"],
        desk=document["desk"],
        agency=document["agency"],
        day=day_of(document["day"]),
        score=score,
        snippet=snippet(text, _spans(text, stems, languages)),
        theme_code=document.get("theme_code"),
        language=document.get("language"),
    )


def _spans(text: str, stems: frozenset[str], languages: tuple[str, ...]) -> list[tuple[int, int]]:
    if not stems:
        return []
    found = word_spans(text[:_MARKED_CHARS])
    return [(start, end) for word, start, end in found if shared_stem(word, languages) in stems]


def facets_of(answer: Answer) -> dict[str, dict[str, int]]:
    """Return counts by facet value: the most frequent first, months from the newest."""
    counted = {one["field_name"]: one["counts"] for one in answer["facet_counts"]}
    return {ours: _counts(ours, counted.get(theirs, [])) for theirs, ours in _FACET_NAMES.items()}


def _counts(name: str, counts: list[Answer]) -> dict[str, int]:
    pairs = [(str(one["value"]), int(one["count"])) for one in counts]
    if name == "month":
        return dict(sorted(pairs, reverse=True))
    return dict(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))


def no_facets() -> dict[str, dict[str, int]]:
    """Return the facets of an answer without hits."""
    return {name: {} for name in _FACET_NAMES.values()}


def has_every_word(answer: Answer) -> bool:
    """Tell whether the best hit of a search has all the words that were sought."""
    hits = answer["hits"]
    return bool(hits) and hits[0].get("text_match_info", {}).get("num_tokens_dropped", 0) == 0
