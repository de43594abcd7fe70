"""Search responses of the server as hits, with snippets made here, and facets.

The server's own snippets are not escaped, and highlight stems.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from news_assets.clients.search.snippet import snippet
from news_assets.clients.search.typesense.documents import day_of
from news_assets.ports import SearchHit
from news_assets.text.words import shared_stem, word_spans

_FACET_NAMES = {"agency": "agency", "theme_path": "theme", "language": "language", "month": "month"}
_HIGHLIGHTED_CHARS = 60_000  # only this part of a longer text is searched for matching words

Response = dict[str, Any]


def hits_of(pages: Iterable[Response], stems: Sequence[str], languages: tuple[str, ...]) -> tuple[SearchHit, ...]:
    """Return the hits of a page, one per story: the original if it matches, else the best document."""
    matching = frozenset(stems)
    groups = (group["hits"] for page in pages for group in page["grouped_hits"])
    return tuple(_hit(_shown(hits), _score(hits[0]), matching, languages) for hits in groups if hits)


def _shown(hits: list[Response]) -> Response:
    originals = [hit["document"] for hit in hits if hit["document"].get("duplicate_of") is None]
    if not originals:
        document: Response = hits[0]["document"]
        return document
    return min(originals, key=lambda one: (one["published_ts"], one["id"]))


def _score(hit: Response) -> float:
    if "hybrid_search_info" in hit:
        return float(hit["hybrid_search_info"]["rank_fusion_score"])
    if "vector_distance" in hit and "text_match" not in hit:
        return 1.0 - float(hit["vector_distance"])
    return float(hit.get("text_match", 0))


def _hit(document: Response, score: float, stems: frozenset[str], languages: tuple[str, ...]) -> SearchHit:
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
    found = word_spans(text[:_HIGHLIGHTED_CHARS])
    return [(start, end) for word, start, end in found if shared_stem(word, languages) in stems]


def facets_of(response: Response) -> dict[str, dict[str, int]]:
    """Return counts by facet value: the most frequent first, months newest first."""
    counts = {one["field_name"]: one["counts"] for one in response["facet_counts"]}
    return {ours: _counts(ours, counts.get(theirs, [])) for theirs, ours in _FACET_NAMES.items()}


def _counts(name: str, counts: list[Response]) -> dict[str, int]:
    pairs = [(str(one["value"]), int(one["count"])) for one in counts]
    if name == "month":
        return dict(sorted(pairs, reverse=True))
    return dict(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))


def no_facets() -> dict[str, dict[str, int]]:
    """Return the facets of an answer without hits."""
    return {name: {} for name in _FACET_NAMES.values()}


def has_every_word(response: Response) -> bool:
    """Return whether the best hit has all words of the query."""
    hits = response["hits"]
    return bool(hits) and hits[0].get("text_match_info", {}).get("num_tokens_dropped", 0) == 0
