"""Pagination, and the JSON of a search result."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from news_assets_tests.typesense_server.collections.collection import Collection
from news_assets_tests.typesense_server.collections.documents import names_of, shown
from news_assets_tests.typesense_server.errors import ApiError
from news_assets_tests.typesense_server.search.facets import groups
from news_assets_tests.typesense_server.search.highlights import highlights
from news_assets_tests.typesense_server.search.sorting import Hit

MAX_PER_PAGE = 250


@dataclass(slots=True)
class Page:
    """A page of hits: `size` after the first `start`, and none after the first `most`."""

    start: int
    size: int
    most: int
    shown_as: dict[str, int]

    @classmethod
    def of(cls, params: dict[str, str]) -> "Page":
        """Return the page of a search.

        Raises:
            ApiError: 422, for more than 250 hits.
        """
        size = int(params.get("limit", params.get("per_page", "10")))
        if size > MAX_PER_PAGE:
            raise ApiError(
                422, f"Only upto {MAX_PER_PAGE} hits can be fetched per page."
            )
        number = int(params.get("page", "1")) or 1
        most = int(params.get("limit_hits", "0")) or 1 << 60
        if "offset" in params and "page" not in params:
            return cls(
                int(params["offset"]), size, most, {"offset": int(params["offset"])}
            )
        return cls((number - 1) * size, size, most, {"page": number})

    @property
    def last(self) -> int:
        """The number of hits up to the end of the page."""
        return self.start + self.size

    def cut(self, items: list[Any]) -> list[Any]:
        """Return the items on this page."""
        return items[: self.most][self.start : self.last]


def answer(
    collection: Collection,
    params: dict[str, str],
    page: Page,
    hits: list[Hit],
    found: int,
    counts: list[dict[str, Any]],
    grouped_by: list[str],
) -> dict[str, Any]:
    """Return the response body."""
    head = {
        "facet_counts": counts,
        "found": found,
        "out_of": len(collection.documents),
        **page.shown_as,
        "request_params": {
            "collection_name": collection.name,
            "first_q": params.get("q", ""),
            "per_page": page.size,
            "q": params.get("q", ""),
        },
        "search_cutoff": False,
        "search_time_ms": 0,
    }
    for name in names_of(params.get("exclude_fields", "")):
        head.pop(name, None)
    if not grouped_by:
        return head | {
            "hits": [_hit(collection, params, hit) for hit in page.cut(hits)]
        }
    joins = params.get("group_missing_values", "true") == "true"
    found_groups = groups(collection, grouped_by, hits, joins)
    limit = int(params.get("group_limit", "3"))
    shown_groups = [
        {
            "found": len(of_group),
            "group_key": key,
            "hits": [_hit(collection, params, hit) for hit in of_group[:limit]],
        }
        for key, of_group in page.cut(found_groups)
    ]
    return head | {
        "found": len(found_groups),
        "found_docs": found,
        "grouped_hits": shown_groups,
    }


def _hit(collection: Collection, params: dict[str, str], hit: Hit) -> dict[str, Any]:
    document = shown(
        collection.documents[hit.number],
        params.get("include_fields", ""),
        params.get("exclude_fields", ""),
    )
    by_field, listed = highlights(collection, document, hit.words, params)
    body: dict[str, Any] = {"document": document, "highlight": by_field}
    if params.get("enable_highlight_v1", "true") == "true":
        body["highlights"] = listed
    if hit.is_curated:
        body["curated"] = True
    if hit.text_score is not None:
        body |= {
            "text_match": hit.text_score,
            "text_match_info": _match_info(hit.text_score, hit.tokens_asked),
        }
    if hit.fusion is not None:
        body["hybrid_search_info"] = {
            "rank_fusion_score": float(np.float32(hit.fusion))
        }
    if hit.distance is not None:
        body["vector_distance"] = hit.distance
    return body


def _match_info(score: int, tokens_asked: int) -> dict[str, Any]:
    """Decode the bits of a score as the server does."""
    field_score, matched = (score >> 11) & ((1 << 48) - 1), score >> 59
    return {
        "best_field_score": str(field_score),
        "best_field_weight": score >> 3 & 0xFF,
        "fields_matched": score & 7,
        "num_tokens_dropped": tokens_asked - matched,
        "score": str(score),
        "tokens_matched": matched,
        "typo_prefix_score": 255 - (field_score >> 24 & 0xFF),
    }
